"""Schemas from a description as self-contained JSON Schema 2020-12, checked for validity and size."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeGuard

from ...errors import BadDescription
from ...util.printable import replace_surrogates
from ..problems import format_literal
from ..value_types import MAX_DIGITS
from .references import Document, Scope, child_pointer, format_json_kind, require_mapping, shorten_place
from .schema_view import ONE_RULE, RULES_BY_NAME, RULES_IN_A_LIST, UNEVALUATED, get_annotations, in_place_rules

MAX_LEVELS = 40
"""Maximum nesting of a schema; those of services have fewer than ten levels."""
MAX_RULES = 10_000
"""Maximum number of rules in a schema; those of services have fewer than a hundred."""
MAX_IN_PLACE = 24
"""Maximum number of rules that refer to one another without a step into the value."""

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
DROPPED_KEYWORDS = ("$defs", "definitions", "$id", "$schema", "$anchor", "$dynamicAnchor", "$comment", "$vocabulary")
"""Keywords that are resolved here, or have a meaning only in the original document."""
Check = tuple[Callable[[Any], bool], str]


def normalise(source: Any, document: Document, place: str, *, is_3_0: bool) -> dict[str, Any]:
    """The schema as JSON Schema 2020-12, with everything it refers to under `$defs`.

    >>> text = {"type": "string", "nullable": True}
    >>> document = Document({"components": {"schemas": {"Text": text}}})
    >>> normalise({"properties": {"seed": {"$ref": "#/components/schemas/Text"}}}, document, "#", is_3_0=True)
    {'properties': {'seed': {'$ref': '#/$defs/Text'}}, '$defs': {'Text': {'type': ['string', 'null']}}}
    """
    reader = _Normaliser(document, is_3_0)
    root = reader.normalise(source, place)
    if isinstance(root, bool):
        root = {} if root else {"not": {}}
    if set(root) == {"$ref"}:
        name = root["$ref"].removeprefix("#/$defs/")
        root = reader.defs[name]
        if reader.uses[name] == 1:
            del reader.defs[name]
    _check_in_place(root, reader.defs)
    return {**root, "$defs": reader.defs} if reader.defs else root


class _Normaliser:
    """Normalises one schema, and collects its definitions."""

    def __init__(self, document: Document, is_3_0: bool) -> None:
        self.document, self.is_3_0 = document, is_3_0
        self.count = 0
        self.defs: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.uses: Counter[str] = Counter()
        self.pending: list[tuple[str, Any, str, Scope]] = []

    def normalise(self, source: Any, place: str) -> Any:
        root = self.rule(source, place, 0, (source,) if isinstance(source, Mapping) else ())
        # A loop rather than recursion: references may form long chains.
        while self.pending:
            name, target, at, scope = self.pending.pop()
            self.defs[name] = self.rule(target, at, 0, scope)
        return root

    def rule(self, source: Any, place: str, level: int, scope: Scope) -> Any:
        self.count += 1
        if self.count > MAX_RULES:
            raise BadDescription(f"The schema has more than {MAX_RULES:,} rules.")
        if isinstance(source, bool):
            return source
        if level > MAX_LEVELS:
            raise BadDescription(f"The schema nests more than {MAX_LEVELS} levels deep at {shorten_place(place)}.")
        found = require_mapping(source, place)
        if "$defs" in found or "definitions" in found:
            scope = (found, *scope)
        found = _convert_tuple_items(_convert_exclusive_bounds(_convert_3_0(found) if self.is_3_0 else found))
        out = {
            word: self.keyword(word, value, child_pointer(place, word), level, scope)
            for word, value in found.items()
            if word not in DROPPED_KEYWORDS
        }
        if "properties" in out:
            self.arrange(out, found["properties"], place, scope)
        return out

    def keyword(self, word: str, value: Any, place: str, level: int, scope: Scope) -> Any:
        if word == "$ref":
            return self.reference(value, place, scope)
        if word in ("$dynamicRef", "$recursiveRef"):
            raise BadDescription(f"`{word}` at {shorten_place(place)} cannot be followed; only `$ref` is.")
        if word in ONE_RULE or word in UNEVALUATED:
            return self.rule(value, place, level + 1, scope)
        if word in RULES_IN_A_LIST:
            if not isinstance(value, list) or not value:
                found = "an empty list" if value == [] else format_json_kind(value)
                raise BadDescription(f"{shorten_place(place)} should be a list of schemas and is {found}.")
            return [self.rule(part, child_pointer(place, at), level + 1, scope) for at, part in enumerate(value)]
        if word in RULES_BY_NAME:
            parts = require_mapping(value, place)
            return {
                _require_utf8(name, place): self.rule(parts[name], child_pointer(place, name), level + 1, scope)
                for name in parts
            }
        is_fine, wanted = CHECKS.get(word, _ANYTHING)
        if not is_fine(value):
            raise BadDescription(f"{shorten_place(place)} should be {wanted} and is {format_literal(value)}.")
        return _copy_json(value, place, 0)

    def reference(self, ref: Any, place: str, scope: Scope) -> str:
        target, called = self.document.target(ref, place, scope)
        if id(target) not in self.names:
            self.names[id(target)] = _free_name(called, set(self.names.values()))
            self.pending.append((self.names[id(target)], target, ref, scope))
        self.uses[self.names[id(target)]] += 1
        return f"#/$defs/{self.names[id(target)]}"

    def arrange(self, out: dict[str, Any], sources: Mapping[str, Any], place: str, scope: Scope) -> None:
        """Sort the fields by their stated order, and make read-only ones not required."""
        out["properties"] = sort_fields(out["properties"], field_order(out))
        written = [name for name in out.get("required", ()) if self.is_read_only(sources.get(name), place, scope)]
        if written:
            out["required"] = [name for name in out["required"] if name not in written]

    def is_read_only(self, source: Any, place: str, scope: Scope) -> bool:
        if isinstance(source, Mapping) and "$ref" in source and "readOnly" not in source:
            source = self.document.target(source["$ref"], place, scope)[0]
        return isinstance(source, Mapping) and source.get("readOnly") is True


def field_order(rule: Mapping[str, Any]) -> Sequence[str]:
    """The field names in an extension such as `x-order`; empty where there is none."""
    words = [word for word in rule if word.startswith("x-") and "order" in word.split("-")]
    lists = [rule[word] for word in words if _is_names(rule[word])]
    return lists[0] if lists else ()


def sort_fields(fields: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The fields in the given order, then by their own `x-order` number, then in their original order.

    >>> list(sort_fields({"a": {}, "b": {"x-order": 1}, "c": {"x-order": 0}, "d": {}}, ["d"]))
    ['d', 'c', 'b', 'a']
    """
    places = {name: place for place, name in reversed(list(enumerate(names)))}

    def place(name: str) -> tuple[float, float]:
        own = fields[name].get("x-order") if isinstance(fields[name], Mapping) else None
        return places.get(name, math.inf), own if _is_number(own) else math.inf

    return {name: fields[name] for name in sorted(fields, key=place)}


def _convert_3_0(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema of OpenAPI 3.0 converted to 3.1: `$ref` has no siblings but annotations, `nullable` becomes a type."""
    if "$ref" in source:
        return {"$ref": source["$ref"], **get_annotations(source)}
    rest = {word: value for word, value in source.items() if word != "nullable"}
    if source.get("nullable") is not True:
        return rest
    if isinstance(source.get("type"), str):
        return {**rest, "type": [source["type"], "null"]}
    if not {"allOf", "anyOf", "oneOf"} & set(source):
        return rest
    validating = {word: value for word, value in rest.items() if word not in get_annotations(rest)}
    return {"anyOf": [validating, {"type": "null"}], **get_annotations(rest)}


def _convert_exclusive_bounds(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema with numeric exclusive bounds, from the older `exclusiveMinimum: true` beside `minimum`."""
    found = dict(source)
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(found.get(exclusive), bool):
            counts = found.pop(exclusive)
            if counts and bound in found:
                found[exclusive] = found.pop(bound)
    return found


def _convert_tuple_items(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema with `prefixItems` in place of the older list in `items`, as FastAPI once wrote tuples."""
    if not isinstance(source.get("items"), list):
        return source
    found = {word: value for word, value in source.items() if word not in ("items", "additionalItems")}
    places = {"prefixItems": source["items"]} if source["items"] else {}
    others = {"items": source["additionalItems"]} if "additionalItems" in source else {}
    return {**found, **places, **others}


def _check_in_place(root: Any, defs: Mapping[str, Any]) -> None:
    """Raise where rules refer to themselves, or form too long a chain, without a step into the value."""
    heights: dict[int, int] = {}
    visiting: set[int] = set()

    def height(rule: Any) -> int:
        if not isinstance(rule, Mapping):
            return 0
        if id(rule) not in heights:
            if id(rule) in visiting:
                raise BadDescription("A schema refers to itself in a circle and never says what it takes.")
            visiting.add(id(rule))
            if len(visiting) <= MAX_IN_PLACE:
                heights[id(rule)] = 1 + max((height(part) for part in in_place_rules(rule, defs)), default=0)
            visiting.discard(id(rule))
            if heights.get(id(rule), math.inf) > MAX_IN_PLACE:
                raise BadDescription(f"More than {MAX_IN_PLACE} schemas in a row only refer to one another.")
        return heights[id(rule)]

    for rule in (root, *defs.values()):
        height(rule)


def _free_name(called: str, taken: Collection[str]) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", called)[:100] or "Part"
    return next(
        name for name in (plain, *(f"{plain}_{count}" for count in range(2, len(taken) + 3))) if name not in taken
    )


def _copy_json(value: Any, place: str, level: int) -> Any:
    """A copy of a keyword's value; raises where it is not JSON."""
    if level > MAX_LEVELS:
        raise BadDescription(f"{shorten_place(place)} nests more than {MAX_LEVELS} levels deep.")
    if isinstance(value, Mapping):
        return {
            _require_utf8(name, place): _copy_json(item, child_pointer(place, name), level + 1)
            for name, item in require_mapping(value, place).items()
        }
    if isinstance(value, (list, tuple)):
        return [_copy_json(item, child_pointer(place, at), level + 1) for at, item in enumerate(value)]
    if isinstance(value, str):
        # Replace unpaired surrogates, which cannot be displayed.
        return replace_surrogates(value)
    if value is None or isinstance(value, bool) or (_is_number(value) and abs(value) < 10**MAX_DIGITS):
        return value
    raise BadDescription(
        f"{shorten_place(place)} is {format_json_kind(value)}, which JSON cannot say: {format_literal(value)}."
    )


def _require_utf8(name: str, place: str) -> str:
    """The name; raises where UTF-8 cannot encode it."""
    if name != replace_surrogates(name):
        raise BadDescription(
            f"{shorten_place(place)} has the name {format_literal(name)}, which cannot be written as UTF-8."
        )
    return name


def _is_number(value: Any) -> TypeGuard[float]:
    return (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, float) and math.isfinite(value)
    )


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _is_type(value: Any) -> bool:
    return value in TYPES if isinstance(value, str) else _is_names(value) and value != [] and set(value) <= set(TYPES)


_ANYTHING: Check = (lambda value: True, "anything")
_NUMBER: Check = (_is_number, "a number")
_COUNT: Check = (_is_count, "a whole number from 0")
_TEXT: Check = (lambda value: isinstance(value, str), "text")
_BOOLEAN: Check = (lambda value: isinstance(value, bool), "true or false")

CHECKS: Mapping[str, Check] = {
    "type": (_is_type, f"one of {', '.join(TYPES)}, or a list of them"),
    "enum": (lambda value: isinstance(value, list), "a list"),
    "required": (_is_names, "a list of names"),
    "dependentRequired": (
        lambda value: isinstance(value, Mapping) and all(map(_is_names, value.values())),
        "lists of names",
    ),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _NUMBER),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _COUNT),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _COUNT),
    **dict.fromkeys(("title", "description", "pattern"), _TEXT),
    **dict.fromkeys(("uniqueItems", "readOnly"), _BOOLEAN),
}
"""The check of each keyword whose value is not itself a rule."""
