"""JSON values near what a schema allows: mostly right, often by a hair's breadth wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

NUMBERS = [0, 1, 2, -1, 0.5, 0.05, 0.15, 0.30000000000000004, 49.0, 8, 64, 1e300, 2**53 + 1]
TEXTS = ["", "a", "ab", "abcdef", "7", "true", "null", "#a0b1c2", "1080x1920", "grün", "😀", "a\n", "xy"]
DEEPEST = 5


class Near:
    """Draws values for the rules of one schema."""

    def __init__(self, schema: Mapping[str, Any], random: Random) -> None:
        self.defs: Mapping[str, Any] = schema.get("$defs", {})
        self.random = random
        # Of many fields one is nearly always wrong, so some values must be drawn with more care.
        self.noise = random.choice([0.0, 0.01, 0.1])

    def value(self, rule: Any, depth: int = 0) -> Any:
        """A value for a rule, now and then anything at all."""
        if not isinstance(rule, Mapping) or self.is_noisy():
            return self.anything(depth)
        if "$ref" in rule:
            return self.value(self.defs[rule["$ref"].removeprefix("#/$defs/")], depth)
        if "anyOf" in rule:
            return self.value(self.random.choice(rule["anyOf"]), depth)
        if "enum" in rule or "const" in rule:
            return self.random.choice(rule.get("enum", [rule.get("const")]))
        match rule.get("type"):
            case "integer" | "number":
                return self.number(rule)
            case "string":
                return self.text(rule)
            case "array":
                least, most = rule.get("minItems", 0), rule.get("maxItems", 3)
                size = self.random.choice([least - 1, most + 1] if self.is_noisy() else [least, most])
                entries = [self.value(rule.get("items"), depth + 1) for _ in range(min(size, 6))]
                return [] if depth > DEEPEST else entries + entries[:1] if self.is_noisy() else entries
            case "object":
                return self.record(rule, depth)
            case "boolean":
                return self.random.choice([True, False])
        return self.anything(depth)

    def is_noisy(self) -> bool:
        return self.random.random() < self.noise

    def anything(self, depth: int) -> Any:
        """Any small JSON value."""
        if depth < DEEPEST and self.random.random() < 0.2:
            inner = [self.anything(depth + 2) for _ in range(self.random.randint(0, 2))]
            return self.random.choice([inner, {self.random.choice(["a", "b", "zz"]): item for item in inner}])
        return self.random.choice([None, True, False, *NUMBERS, *TEXTS])

    def number(self, rule: Mapping[str, Any]) -> Any:
        """A number in the bounds, on them, or just beyond."""
        low = rule.get("minimum", rule.get("exclusiveMinimum", -3))
        high = rule.get("maximum", rule.get("exclusiveMaximum", 50))
        step = rule.get("multipleOf", 1 if rule["type"] == "integer" else 0.25)
        on_step = round(round((low + (high - low) * self.random.random()) / step) * step, 6)
        drawn = self.random.choice([low, high, low - step, high + step, low + step / 2]) if self.is_noisy() else on_step
        return int(drawn) if self.random.random() < 0.7 and float(drawn).is_integer() else drawn

    def text(self, rule: Mapping[str, Any]) -> str:
        """A text that fits, or now and then any, or one whose length is just beyond a bound."""
        least, most = rule.get("minLength", 0), rule.get("maxLength", 100)
        beyond = [*TEXTS, "x" * max(least - 1, 0), "x" * (most + 1)]
        fitting = [text for text in TEXTS if least <= len(text) <= most and re.search(rule.get("pattern", ""), text)]
        return str(self.random.choice(beyond if self.is_noisy() else fitting or ["x" * least]))

    def record(self, rule: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """An object with some of its fields, now and then without one that it needs, or with one too many."""
        fields, needed = rule.get("properties", {}), rule.get("required", ())
        keep = 0.5 if depth <= DEEPEST else 0.0
        names = [name for name in fields if self.random.random() < (1 - self.noise / 3 if name in needed else keep)]
        others = rule.get("additionalProperties", True)
        if others is not False and self.random.random() < 0.3:
            names += self.random.sample(["x_1", "12x34", "other", "a"], self.random.randint(1, 3))
        names += ["unheard_of"] if self.random.random() < self.noise / 3 else []
        return {name: self.value(fields.get(name, others), depth + 1) for name in names}


def values_near(schema: dict[str, Any], seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Objects near what a schema allows."""
    drawn = (Near(schema, random).value(schema) for random in map(Random, range(seed, seed + count)))
    return (value for value in drawn if isinstance(value, dict))
