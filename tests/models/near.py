"""JSON values near what a schema allows: mostly right, often by a hair's breadth wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random
from typing import Any

NUMBERS = [0, 1, 2, -1, 0.5, 0.05, 0.15, 0.30000000000000004, 49.0, 8, 8.0, 64, 1e300, 2**53 + 1]
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
        if not isinstance(rule, Mapping) or self.random.random() < self.noise:
            return self.anything(depth)
        if "$ref" in rule:
            return self.value(self.defs[rule["$ref"].removeprefix("#/$defs/")], depth)
        for word in ("anyOf", "oneOf"):
            if word in rule and "properties" not in rule:
                return self.value(self.random.choice(rule[word]), depth)
        if "allOf" in rule and "properties" not in rule:
            return self.value(self.random.choice(rule["allOf"]), depth)
        if "enum" in rule or "const" in rule:
            return self.random.choice(rule.get("enum", [rule.get("const")]))
        kinds = rule.get("type", "object" if "properties" in rule else None)
        kind = self.random.choice(kinds) if isinstance(kinds, list) else kinds
        if kind in ("integer", "number"):
            return self.number(rule, kind)
        if kind == "string":
            return self.text(rule)
        made = {"array": self.array, "object": self.record}.get(kind)
        return (
            made(rule, depth)
            if made
            else self.random.choice([True, False])
            if kind == "boolean"
            else self.anything(depth)
        )

    def anything(self, depth: int) -> Any:
        """Any small JSON value."""
        if depth < DEEPEST and self.random.random() < 0.2:
            inner = [self.anything(depth + 2) for _ in range(self.random.randint(0, 2))]
            return self.random.choice([inner, {self.random.choice(["a", "b", "zz"]): item for item in inner}])
        return self.random.choice([None, True, False, *NUMBERS, *TEXTS])

    def number(self, rule: Mapping[str, Any], kind: str) -> Any:
        """A number in the bounds, on them, or just beyond."""
        low, high = (
            rule.get("minimum", rule.get("exclusiveMinimum", -3)),
            rule.get("maximum", rule.get("exclusiveMaximum", 50)),
        )
        step = rule.get("multipleOf", 1 if kind == "integer" else 0.25)
        on_step = round((low + (high - low) * self.random.random()) / step) * step
        beyond = [on_step, low, high, low - step, high + step, low + step / 2]
        drawn = self.random.choice(beyond) if self.random.random() < self.noise * 2 else round(on_step, 6)
        return int(drawn) if self.random.random() < 0.7 and float(drawn).is_integer() else drawn

    def text(self, rule: Mapping[str, Any]) -> str:
        """A text that fits, or now and then any, or one whose length is just beyond a bound."""
        least, most = rule.get("minLength", 0), rule.get("maxLength", 100)
        if self.random.random() < self.noise * 2:
            return str(self.random.choice([*TEXTS, "x" * max(least - 1, 0), "x" * (most + 1)]))
        fitting = [text for text in TEXTS if least <= len(text) <= most and re.search(rule.get("pattern", ""), text)]
        return str(self.random.choice(fitting or ["x" * least]))

    def array(self, rule: Mapping[str, Any], depth: int) -> list[Any]:
        """A list, sometimes one entry too long, too short, or with an entry twice."""
        if depth > DEEPEST:
            return []
        first = rule.get("prefixItems", [])
        least, most = rule.get("minItems", 0), rule.get("maxItems", 3)
        size = self.random.choice([least - 1, most + 1] if self.random.random() < self.noise * 2 else [least, most])
        size = len(first) if first and self.random.random() > self.noise else max(size, 0)
        made = [
            self.value(first[at] if at < len(first) else rule.get("items", {}), depth + 1) for at in range(min(size, 6))
        ]
        return made + made[:1] if self.random.random() < self.noise else made

    def record(self, rule: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """An object with some of its fields, now and then without one that it needs, or with one too many."""
        fields, needed = rule.get("properties", {}), rule.get("required", ())
        keep = 0.5 if depth <= DEEPEST else 0.0
        made = {
            name: self.value(fields.get(name, {}), depth + 1)
            for name in dict.fromkeys((*fields, *needed))
            if self.random.random() < (1 - self.noise / 3 if name in needed else keep)
        }
        others = rule.get("additionalProperties", True)
        if others is not False and self.random.random() < 0.3:
            names = self.random.sample(["x_1", "12x34", "other", "a"], self.random.randint(1, 3))
            made |= {name: self.value(others, depth + 1) for name in names}
        elif self.random.random() < self.noise / 3:
            made["unheard_of"] = 1
        return made
