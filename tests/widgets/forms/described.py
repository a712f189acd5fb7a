"""What forms are tried on: our four models, seven described ones, and values of every sort for their fields."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from reelbook.errors import InvalidInput
from reelbook.models.base import Input
from reelbook.models.catalog import CATALOG
from reelbook.models.described import describe
from tests.models.inputs import COVERED_SIZES, JSON_VALUES, PICTURES, TEXTS

FOLDER = Path(__file__).parent / "descriptions"
DESCRIPTIONS: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))
}
OURS: dict[str, type[Input]] = {row.input.__name__: row.input for row in CATALOG}
KINDS: dict[str, Any] = {**OURS, **{name: describe(document) for name, document in DESCRIPTIONS.items()}}
"""Every input that forms are tried on, by a short name."""
FEW = ("TextToVideo", "ImagesToVideo", "hostile_words", "scene_tree", "segmenter", "voice_cloner")
EACH_KIND = [pytest.param(name, marks=() if name in FEW else pytest.mark.deep) for name in KINDS]
"""A few that have every kind of control among them, with all sorts of names; and for `make deep` the others."""
SCHEMAS: dict[str, dict[str, Any]] = {name: kind.model_json_schema() for name, kind in KINDS.items()}


def described(fields: Mapping[str, Any], **more: Any) -> Any:
    """The class of a model with these fields."""
    schema = {"type": "object", "properties": fields, **more}
    post = {"requestBody": {"content": {"application/json": {"schema": schema}}}}
    return describe({"openapi": "3.1.0", "paths": {"/svc/made-up": {"post": post}}})


TELLING = st.sampled_from([
    "", " ", "a", '"', "'", "\\", "\n", "'''\n\"\"\"", "null", "1", "{}", "</script>", "\u202egnp.exe", "grün", "😀", "x" * 200,
])  # fmt: skip
"""Texts that are easily taken for something else."""
DEEPEST = 3


class Values:
    """Draws values that the rules of one schema accept."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema
        self.defs: Mapping[str, Any] = schema.get("$defs", {})

    def field(self, name: str) -> st.SearchStrategy[Any]:
        """Values for one field."""
        rule = self.schema["properties"][name]
        is_valid = jsonschema_rs.Draft202012Validator({"$defs": self.defs, "allOf": [rule]}).is_valid
        return self.of(rule, name, 1).filter(is_valid)

    def objects(self) -> st.SearchStrategy[Any]:
        """Objects for the whole; what is said across fields may still refuse some."""
        return self.of(self.schema)

    def of(self, rule: Mapping[str, Any], name: str = "", depth: int = 0) -> st.SearchStrategy[Any]:
        """Values for one rule, mostly right already."""
        rule = self.flat(rule)
        if "anyOf" in rule:
            return st.one_of([self.of(part, name, depth) for part in self.shallow(rule["anyOf"], depth)])
        if "enum" in rule or "const" in rule:
            return st.sampled_from(rule["enum"] if "enum" in rule else [rule["const"]])
        return self.kind(rule["type"], rule, name, depth) if "type" in rule else JSON_VALUES

    def kind(self, kind: str, rule: Mapping[str, Any], name: str, depth: int) -> st.SearchStrategy[Any]:
        match kind:
            case "integer":
                return wholes(rule)
            case "number":
                return reals(rule)
            case "string":
                return texts(rule, name)
            case "boolean":
                return st.booleans()
            case "array":
                return self.lists(rule, name, depth)
            case "object":
                return self.records(rule, depth)
            case _:
                return st.none()

    def lists(self, rule: Mapping[str, Any], name: str, depth: int) -> st.SearchStrategy[Any]:
        least, most = rule.get("minItems", 0), rule.get("maxItems", 3)
        if depth > DEEPEST and not least:
            return st.just([])
        return st.lists(self.of(rule["items"], name, depth + 1), min_size=least, max_size=min(most, least + 3))

    def records(self, rule: Mapping[str, Any], depth: int) -> st.SearchStrategy[Any]:
        fields = rule.get("properties", {})
        needed = rule.get("required", ())
        held = st.fixed_dictionaries(
            {name: self.of(fields[name], name, depth + 1) for name in needed},
            optional={
                name: self.of(part, name, depth + 1)
                for name, part in fields.items()
                if name not in needed and (depth <= DEEPEST or leads_no_deeper(part))
            },
        )
        # Where fields are listed and nothing is said about others, there are no others.
        others = rule.get("additionalProperties", not fields)
        # A form draws the fields that are listed, so none has others of its own.
        if depth == 0 or depth > DEEPEST or others is False:
            return held
        more = st.dictionaries(TEXTS, JSON_VALUES if others is True else self.of(others, "", depth + 1), max_size=2)
        return st.builds(lambda one, rest: {**rest, **one}, held, more)

    def shallow(self, parts: Sequence[Any], depth: int) -> Sequence[Any]:
        return ([part for part in parts if leads_no_deeper(part)] or parts) if depth > DEEPEST else parts

    def flat(self, rule: Mapping[str, Any]) -> Mapping[str, Any]:
        """The rule with what it refers to."""
        while "$ref" in rule:
            notes = {name: value for name, value in rule.items() if name != "$ref"}
            rule = {**self.defs[rule["$ref"].removeprefix("#/$defs/")], **notes}
        return rule


def leads_no_deeper(rule: Any) -> bool:
    """Whether nothing inside a value has rules of its own."""
    return not {"$ref", "items", "properties"} & rule.keys()


def wholes(rule: Mapping[str, Any]) -> st.SearchStrategy[int]:
    """Whole numbers in bounds and on steps; the bounds themselves and the very large among them."""
    step = int(rule.get("multipleOf", 1))
    ends = {word: rule[word] for word in ("minimum", "maximum") if word in rule}
    ends |= {"minimum": rule["exclusiveMinimum"] + 1} if "exclusiveMinimum" in rule else {}
    ends |= {"maximum": rule["exclusiveMaximum"] - 1} if "exclusiveMaximum" in rule else {}
    least = math.ceil(ends["minimum"] / step) if step > 1 and "minimum" in ends else ends.get("minimum")
    most = math.floor(ends["maximum"] / step) if step > 1 and "maximum" in ends else ends.get("maximum")
    telling = [
        count
        for count in (least, most, 2**53 + 1, -(2**53) - 1, 2**64 + 1, 10**30 + 7)
        if count is not None and (least is None or count >= least) and (most is None or count <= most)
    ]
    drawn = st.integers(least, most)
    return (drawn | st.sampled_from(telling) if telling else drawn).map(lambda count: count * step)


def reals(rule: Mapping[str, Any]) -> st.SearchStrategy[float]:
    """Numbers in bounds and on steps."""
    low, high = rule.get("minimum", rule.get("exclusiveMinimum")), rule.get("maximum", rule.get("exclusiveMaximum"))
    if "multipleOf" in rule:
        step = rule["multipleOf"]
        counts = st.integers(
            -100 if low is None else math.ceil(low / step), 100 if high is None else math.floor(high / step)
        )
        return counts.map(lambda count: round(count * step, 9))
    drawn = st.floats(
        low,
        high,
        exclude_min="exclusiveMinimum" in rule,
        exclude_max="exclusiveMaximum" in rule,
        allow_nan=False,
        allow_infinity=False,
    )
    telling = [
        number
        for number in (0, 1, 0.5, 24.0, 1e-7, 1e21)
        if (low is None or number > low) and (high is None or number < high)
    ]
    return drawn | st.sampled_from(telling) if telling else drawn


def texts(rule: Mapping[str, Any], name: str) -> st.SearchStrategy[str]:
    """Texts of the right length and form; for a picture, what names one."""
    if rule.get("x-media") == "size":
        return COVERED_SIZES.map(str)
    if "pattern" in rule:
        return st.from_regex(re.compile(rule["pattern"].replace("$", r"\Z"), re.ASCII))
    least, most = rule.get("minLength", 0), rule.get("maxLength", math.inf)
    if rule.get("x-media") == "image" or "image" in name:
        return PICTURES.map(str).filter(lambda text: least <= len(text) <= most)
    drawn = st.text(st.characters(codec="utf-8"), min_size=least, max_size=int(min(most, least + 20)))
    return drawn | TELLING.filter(lambda text: least <= len(text) <= most)


def beyond(rule: Any, values: Values) -> Iterator[Any]:
    """Values that a rule refuses by one keyword each: just past a bound, off the steps, one entry too many."""
    rule = values.flat(rule)
    alone = [part for part in map(values.flat, rule.get("anyOf", ())) if part != {"type": "null"}]
    if len(alone) == 1:
        yield from beyond(alone[0], values)
    step = rule.get("multipleOf", 1)
    yield from (rule[word] + sign * step for word, sign in (("minimum", -1), ("maximum", 1)) if word in rule)
    yield from (rule[word] for word in ("exclusiveMinimum", "exclusiveMaximum") if word in rule)
    if "multipleOf" in rule:
        yield rule.get("minimum", 0) + step / 3 if step < 1 else rule.get("minimum", 0) + step // 2
    if rule.get("type") == "integer":
        yield 0.5
    if rule.get("minLength"):
        yield "x" * (rule["minLength"] - 1)
    if "maxLength" in rule:
        yield "x" * (rule["maxLength"] + 1)
    if "pattern" in rule:
        yield "\u0000 no such form"


def accepted(kind: type[Input], values: Mapping[str, Any]) -> Input | None:
    """The input that the class makes of these values; None where it refuses them."""
    try:
        return kind(**values)
    except InvalidInput:
        return None


@lru_cache(maxsize=64)
def inputs(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """Values for the fields of a kind that its class accepts as a whole, as JSON."""
    kind = KINDS[name]
    return Values(SCHEMAS[name]).objects().filter(lambda values: accepted(kind, values) is not None)


@lru_cache(maxsize=64)
def samples(name: str, count: int = 16) -> tuple[dict[str, Any], ...]:
    """The same few valid values each time, the smallest first."""
    found: list[dict[str, Any]] = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(inputs(name))
    def gather(values: dict[str, Any]) -> None:
        found.append(values)

    gather()
    return tuple(sorted(found, key=lambda values: (len(values), len(repr(values)))))
