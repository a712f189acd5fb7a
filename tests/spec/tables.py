"""The specification's tables as data, and what a JSON schema says differently.

`service.json` holds what the specification shows, `gaps.json` what this project decided where it shows nothing.
Models and service are compared with the same rows, so this module knows neither of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Schema = Mapping[str, Any]

HERE = Path(__file__).parent
SERVICE: dict[str, Any] = json.loads((HERE / "service.json").read_text(encoding="utf-8"))
GAPS: dict[str, Any] = json.loads((HERE / "gaps.json").read_text(encoding="utf-8"))

ABSENT = "absent"
"""What stands for a default that is not there; no default of the tables is this text."""

LIMITS = ("minimum", "maximum", "multipleOf", "maxLength", "minItems", "maxItems", "pattern")
"""The limits that a row may carry, in JSON Schema's words."""
UNSAID = (
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "format",
    "uniqueItems",
    "minProperties",
    "maxProperties",
)
"""Limits that no row carries, so that a schema which has one says too much."""
SHORTEST_DESCRIPTION = 15


@dataclass(frozen=True)
class Row:
    """One field of a table."""

    name: str
    types: frozenset[str]
    required: bool | None
    """None where the table does not say."""
    default: Any = ABSENT
    choices: tuple[Any, ...] | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)
    object: str | None = None
    """The table that describes this field, where it is one of the named objects."""
    items: tuple[Row, ...] = ()
    """What the entries of a list may be."""

    @property
    def nullable(self) -> bool:
        return "null" in self.types

    @property
    def kind(self) -> str:
        """Its JSON type, apart from null."""
        (kind,) = self.types - {"null"}
        return kind


@dataclass(frozen=True)
class Model:
    """One model of the specification, with the gaps filled."""

    id: str
    category: str
    rate_card: str
    base_credits: int
    minimum_credits: int
    multipliers: Mapping[str, str]
    input: tuple[Row, ...]
    output: tuple[Row, ...]


def _row(told: Mapping[str, Any]) -> Row:
    return Row(
        name=told.get("name", ""),
        types=frozenset(told.get("types", ["object"])),
        required=told.get("required"),
        default=told.get("default", ABSENT),
        choices=tuple(told["choices"]) if "choices" in told else None,
        limits={word: told[word] for word in LIMITS if word in told},
        object=told.get("object"),
        items=tuple(_row(item) for item in told.get("items", ())),
    )


def _rows(told: Sequence[Mapping[str, Any]], gaps: Mapping[str, Mapping[str, Any]]) -> tuple[Row, ...]:
    return tuple(_row({**row, **gaps.get(row["name"], {})}) for row in told)


MODELS: tuple[Model, ...] = tuple(
    Model(
        **{
            name: told[name]
            for name in ("id", "category", "rate_card", "base_credits", "minimum_credits", "multipliers")
        },
        input=_rows(told["input"], GAPS["inputs"].get(told["id"], {})),
        output=_rows(told["output"], GAPS["outputs"].get(told["id"], {})),
    )
    for told in SERVICE["models"]
)
OBJECTS: Mapping[str, tuple[Row, ...]] = {
    name: tuple(map(_row, rows)) for name, rows in {**SERVICE["objects"], **GAPS["objects"]}.items()
}


def model(endpoint_id: str) -> Model:
    """The tables of one model."""
    return next(found for found in MODELS if found.id == endpoint_id)


# --- Values that the tables allow, and values that they refuse ---


def sample(row: Row) -> Any:
    """A value that the row allows."""
    if row.choices:
        return row.choices[0]
    if row.default not in (ABSENT, []):
        return row.default
    match row.kind:
        case "object":
            return smallest(OBJECTS[row.object or ""])
        case "array":
            return [sample(row.items[0])] if row.items else []
        case "integer" | "number":
            return row.limits.get("minimum", 7)
        case "boolean":
            return True
        case _:
            return "640x480" if "pattern" in row.limits else "https://example.org/boat.png"


def smallest(rows: Sequence[Row]) -> dict[str, Any]:
    """An object with the required fields only."""
    return {row.name: sample(row) for row in rows if row.required}


def with_companions(endpoint_id: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values, with every field that must be smaller or larger than one of them moved out of its way."""
    moved = dict(values)
    rows = {row.name: row for row in model(endpoint_id).input}
    for rule in GAPS["smaller_than"]:
        smaller, larger = rule["smaller"], rule["larger"]
        if rule["model"] == endpoint_id and smaller in values:
            moved.setdefault(larger, rows[larger].limits["maximum"])
        if rule["model"] == endpoint_id and larger in values:
            moved.setdefault(smaller, rows[smaller].limits["minimum"])
    return moved


def edges(row: Row) -> Iterator[tuple[Any, bool]]:
    """Numbers at a row's bounds, just inside and just outside, and whether each is allowed."""
    step = row.limits.get("multipleOf") or (1 if row.kind == "integer" else 0.0001)
    for word, inward in (("minimum", step), ("maximum", -step)):
        if word in row.limits:
            bound = row.limits[word]
            yield bound, True
            yield bound + inward, True
            yield bound - inward, False
            if row.kind == "number":
                yield bound - inward / 1_000, False


WRONG: Mapping[str, tuple[Any, ...]] = {
    "integer": ("49", "", True, False, 49.5, [], [49], {}, None),
    "number": ("0.5", "", True, False, [], [0.5], {}, None),
    "boolean": (1, 0, 1.0, "true", "", [], {}, None),
    "string": (5, 5.0, True, [], ["5"], {}, None),
    "array": ("https://example.org/boat.png", 5, True, {}, {"0": "640x480"}, None),
    "object": ("https://example.org/boat.png", 5, True, [], [["path", "a"]], None),
}
"""For each JSON type, values of every other one."""


def wrong_types(row: Row) -> list[Any]:
    """Values of types that the row does not allow."""
    return [value for value in WRONG[row.kind] if not (value is None and row.nullable)]


# --- What a JSON schema says differently ---


def differences(
    rows: Sequence[Row],
    schema: Schema,
    document: Schema | None = None,
    *,
    closed: bool = True,
    liberal: bool = False,
) -> list[str]:
    """What an object's JSON schema says differently from a table, as sentences; empty where they agree.

    `document` is what `$ref` points into, such as a whole OpenAPI description; the schema itself if left out.
    `closed` asks that unknown fields be refused, as an input does; an answer may have more of them.
    `liberal` is for what is only read: such a schema may accept more than the table, and unknown fields as well.
    """
    root = schema if document is None else document
    return list(_Comparison(root, closed and not liberal, liberal).of_object(rows, schema))


def undescribed(schema: Schema, document: Schema | None = None) -> list[str]:
    """The fields whose description is missing or too short to help."""
    root = schema if document is None else document
    told: Schema = followed(schema, root).get("properties", {})
    return [
        name
        for name, rule in told.items()
        if len({**followed(rule, root), **rule}.get("description", "").strip()) < SHORTEST_DESCRIPTION
    ]


def followed(rule: Any, root: Schema) -> Schema:
    """The rule that a reference leads to, or the rule itself."""
    while isinstance(rule, Mapping) and "$ref" in rule:
        target: Any = root
        for step in rule["$ref"].removeprefix("#/").split("/"):
            target = target[step.replace("~1", "/").replace("~0", "~")]
        rule = target
    assert isinstance(rule, Mapping), f"{rule!r} is no schema"
    return rule


def same(value: Any, other: Any) -> bool:
    """Whether two JSON values are equal: 24 and 24.0 are, 1 and true are not."""
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


@dataclass(frozen=True)
class _Comparison:
    """One walk through a schema and its tables."""

    root: Schema
    closed: bool
    liberal: bool

    def of_object(self, rows: Sequence[Row], schema: Schema) -> Iterator[str]:
        schema = followed(schema, self.root)
        told: Schema = schema.get("properties", {})
        yield from (f"`{name}` is not in the table" for name in told if name not in {row.name for row in rows})
        for row in rows:
            if row.name not in told:
                yield f"`{row.name}` is missing"
                continue
            yield from self.of_row(row, told[row.name])
            if row.required is not None and row.required != (row.name in schema.get("required", ())):
                yield f"`{row.name}` is {'' if row.required else 'not '}required in the table, and the schema disagrees"
        if self.closed and schema.get("additionalProperties") is not False:
            yield "unknown fields are not refused"

    def of_row(self, row: Row, rule: Schema) -> Iterator[str]:
        rule = {**followed(rule, self.root), **{word: said for word, said in rule.items() if word != "$ref"}}
        branches = [followed(branch, self.root) for branch in (*rule.get("anyOf", ()), *rule.get("oneOf", ()))] or [
            rule
        ]
        types = frozenset().union(*map(_types, branches))
        if types != row.types and not (self.liberal and (types >= row.types or not types)):
            yield f"`{row.name}` has the types {sorted(types)}, and in the table {sorted(row.types)}"
        concrete = [branch for branch in branches if _types(branch) != {"null"}]
        if len(concrete) != 1:
            yield f"`{row.name}` has {len(concrete)} forms, and in the table one"
            return
        rule = {**rule, **concrete[0]}
        if not self.liberal:
            yield from self.of_default(row, rule)
            yield from _limit_differences(row, rule)
        if row.object:
            where = f"in `{row.name}`: " if row.name else ""
            yield from (where + line for line in self.of_object(OBJECTS[row.object], rule))
        if row.items:
            yield from self.of_items(row, rule)

    def of_default(self, row: Row, rule: Schema) -> Iterator[str]:
        default = rule.get("default", ABSENT)
        # A field that may be null and has no default in the table is null when it is left out.
        # In an answer nothing is left out for its default's sake, so there a default says nothing.
        unsaid = row.default == ABSENT and ((row.nullable and default is None) or not self.closed)
        if not unsaid and not same(default, row.default):
            yield f"`{row.name}` has the default {default!r}, and in the table {row.default!r}"

    def of_items(self, row: Row, rule: Schema) -> Iterator[str]:
        items = followed(rule.get("items", {}), self.root)
        forms = items.get("anyOf", [items])
        if len(forms) != len(row.items):
            yield f"the entries of `{row.name}` have {len(forms)} forms, and in the table {len(row.items)}"
            return
        for item, form in zip(row.items, forms, strict=True):
            yield from (f"an entry of `{row.name}`: {line}" for line in self.of_row(item, form))


def _types(rule: Schema) -> frozenset[str]:
    if "type" in rule:
        return frozenset([rule["type"]] if isinstance(rule["type"], str) else rule["type"])
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    return frozenset(names[type(value)] for value in _choices(rule) or ())


def _choices(rule: Schema) -> tuple[Any, ...] | None:
    if "const" in rule:
        return (rule["const"],)
    return tuple(rule["enum"]) if "enum" in rule else None


def _limit_differences(row: Row, rule: Schema) -> Iterator[str]:
    if _choices(rule) != row.choices:
        yield f"`{row.name}` has the choices {_choices(rule)}, and in the table {row.choices}"
    for word in (*LIMITS, *UNSAID):
        said, told = rule.get(word, ABSENT), row.limits.get(word, ABSENT)
        if not same(said, told):
            yield f"`{row.name}` has the {word} {said!r}, and in the table {told!r}"
