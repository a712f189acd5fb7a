"""A schema as found in a description, made whole: it holds all that it refers to, in one dialect, and can be judged by."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from ...errors import BadDescription
from ..problems import shown
from ..value_types import MAX_DIGITS
from .references import Document, Home, kind_in_words, mapping, short, step

MAX_LEVELS = 40
"""How deeply a schema may nest; those of services have less than ten levels."""
MAX_RULES = 10_000
"""How many rules a schema may have; those of services have less than a hundred."""
MAX_IN_PLACE = 24
"""How many rules may lead to one another without a step into the value."""

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
ONE_RULE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")
RULES_IN_A_LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
RULES_BY_NAME = ("properties", "patternProperties", "dependentSchemas")
LEFT_BEHIND = ("$defs", "definitions", "$id", "$schema", "$anchor", "$dynamicAnchor", "$comment", "$vocabulary")
"""What is resolved here, or ties a schema to the place where it was found."""
Check = tuple[Callable[[Any], bool], str]

ABOUT = ("title", "description", "default", "deprecated", "example", "examples", "readOnly", "writeOnly")
"""What is said about a value without judging it, besides extensions."""


def normal(source: Any, document: Document, place: str, *, is_3_0: bool) -> dict[str, Any]:
    """The schema with everything it refers to under `$defs`, as JSON Schema 2020-12.

    >>> text = {"type": "string", "nullable": True}
    >>> document = Document({"components": {"schemas": {"Text": text}}})
    >>> normal({"properties": {"seed": {"$ref": "#/components/schemas/Text"}}}, document, "#", is_3_0=True)
    {'properties': {'seed': {'$ref': '#/$defs/Text'}}, '$defs': {'Text': {'type': ['string', 'null']}}}
    """
    reader = _Reader(document, is_3_0)
    root = reader.whole(source, place)
    if isinstance(root, bool):
        root = {} if root else {"not": {}}
    if set(root) == {"$ref"}:
        name = name_of(root["$ref"])
        root = reader.defs[name]
        if reader.uses[name] == 1:
            del reader.defs[name]
    _check_in_place(root, reader.defs)
    return {**root, "$defs": reader.defs} if reader.defs else root


def about(rule: Mapping[str, Any]) -> dict[str, Any]:
    """What a rule says without judging: title, description, default, extensions …

    >>> about({"type": "string", "title": "Picture", "x-media": "image"})
    {'title': 'Picture', 'x-media': 'image'}
    """
    return {word: value for word, value in rule.items() if word in ABOUT or word.startswith("x-")}


class _Reader:
    """One schema on its way to be whole."""

    def __init__(self, document: Document, is_3_0: bool) -> None:
        self.document, self.is_3_0 = document, is_3_0
        self.count = 0
        self.defs: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.uses: Counter[str] = Counter()
        self.waiting: list[tuple[str, Any, str, Home]] = []

    def whole(self, source: Any, place: str) -> Any:
        root = self.rule(source, place, 0, (source,) if isinstance(source, Mapping) else ())
        # One after the other, not one inside the other: references may form long chains.
        while self.waiting:
            name, target, at, home = self.waiting.pop()
            self.defs[name] = self.rule(target, at, 0, home)
        return root

    def rule(self, source: Any, place: str, level: int, home: Home) -> Any:
        self.count += 1
        if self.count > MAX_RULES:
            raise BadDescription(f"The schema has more than {MAX_RULES:,} rules.")
        if isinstance(source, bool):
            return source
        if level > MAX_LEVELS:
            raise BadDescription(f"The schema nests more than {MAX_LEVELS} levels deep at {short(place)}.")
        found = mapping(source, place)
        if "$defs" in found or "definitions" in found:
            home = (found, *home)
        found = _with_places_as_prefix(_with_bounds_as_numbers(_as_3_1(found) if self.is_3_0 else found))
        out = {
            word: self.keyword(word, value, step(place, word), level, home)
            for word, value in found.items()
            if word not in LEFT_BEHIND
        }
        if "properties" in out:
            self.arrange(out, found["properties"], place, home)
        return out

    def keyword(self, word: str, value: Any, place: str, level: int, home: Home) -> Any:
        if word == "$ref":
            return self.reference(value, place, home)
        if word in ("$dynamicRef", "$recursiveRef"):
            raise BadDescription(f"`{word}` at {short(place)} cannot be followed; only `$ref` is.")
        if word in ONE_RULE or word in UNEVALUATED:
            return self.rule(value, place, level + 1, home)
        if word in RULES_IN_A_LIST:
            if not isinstance(value, list) or not value:
                found = "an empty list" if value == [] else kind_in_words(value)
                raise BadDescription(f"{short(place)} should be a list of schemas and is {found}.")
            return [self.rule(part, step(place, at), level + 1, home) for at, part in enumerate(value)]
        if word in RULES_BY_NAME:
            parts = mapping(value, place)
            return {_text(name, place): self.rule(parts[name], step(place, name), level + 1, home) for name in parts}
        is_fine, wanted = CHECKS.get(word, _ANYTHING)
        if not is_fine(value):
            raise BadDescription(f"{short(place)} should be {wanted} and is {shown(value)}.")
        return _copied(value, place, 0)

    def reference(self, ref: Any, place: str, home: Home) -> str:
        target, called = self.document.target(ref, place, home)
        if id(target) not in self.names:
            self.names[id(target)] = _free_name(called, set(self.names.values()))
            self.waiting.append((self.names[id(target)], target, ref, home))
        self.uses[self.names[id(target)]] += 1
        return f"#/$defs/{self.names[id(target)]}"

    def arrange(self, out: dict[str, Any], sources: Mapping[str, Any], place: str, home: Home) -> None:
        """Put fields in the order that is wished for, and ask for none that only the service writes."""
        out["properties"] = ordered(out["properties"], order_of(out))
        written = [name for name in out.get("required", ()) if self.is_read_only(sources.get(name), place, home)]
        if written:
            out["required"] = [name for name in out["required"] if name not in written]

    def is_read_only(self, source: Any, place: str, home: Home) -> bool:
        if isinstance(source, Mapping) and "$ref" in source and "readOnly" not in source:
            source = self.document.target(source["$ref"], place, home)[0]
        return isinstance(source, Mapping) and source.get("readOnly") is True


def order_of(rule: Mapping[str, Any]) -> Sequence[str]:
    """The order of fields that an object's rule lists in an extension such as `x-order`; empty where it lists none."""
    words = [word for word in rule if word.startswith("x-") and "order" in word.split("-")]
    lists = [rule[word] for word in words if _is_names(rule[word])]
    return lists[0] if lists else ()


def ordered(fields: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The fields as listed, then by their own `x-order` number, then as they come.

    >>> list(ordered({"a": {}, "b": {"x-order": 1}, "c": {"x-order": 0}, "d": {}}, ["d"]))
    ['d', 'c', 'b', 'a']
    """
    places = {name: place for place, name in reversed(list(enumerate(names)))}

    def place(name: str) -> tuple[float, float]:
        own = fields[name].get("x-order") if isinstance(fields[name], Mapping) else None
        return places.get(name, math.inf), own if _is_number(own) else math.inf

    return {name: fields[name] for name in sorted(fields, key=place)}


def parts_in_place(rule: Mapping[str, Any], defs: Mapping[str, Any]) -> Iterator[Any]:
    """The rules that judge the same value as a rule does, on its behalf."""
    if "$ref" in rule:
        yield defs[name_of(rule["$ref"])]
    for word in ("allOf", "anyOf", "oneOf"):
        yield from rule.get(word, ())
    yield from (rule[word] for word in ("not", "if", "then", "else") if word in rule)
    yield from rule.get("dependentSchemas", {}).values()


def _as_3_1(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema of OpenAPI 3.0 in the words of 3.1: nothing counts beside `$ref`, and `nullable` is one more type."""
    if "$ref" in source:
        return {"$ref": source["$ref"], **about(source)}
    rest = {word: value for word, value in source.items() if word != "nullable"}
    if source.get("nullable") is not True:
        return rest
    if isinstance(source.get("type"), str):
        return {**rest, "type": [source["type"], "null"]}
    if not {"allOf", "anyOf", "oneOf"} & set(source):
        return rest
    judging = {word: value for word, value in rest.items() if word not in about(rest)}
    return {"anyOf": [judging, {"type": "null"}], **about(rest)}


def _with_bounds_as_numbers(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same schema without the older `exclusiveMinimum: true`, which changed what `minimum` means."""
    found = dict(source)
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(found.get(exclusive), bool):
            counts = found.pop(exclusive)
            if counts and bound in found:
                found[exclusive] = found.pop(bound)
    return found


def _with_places_as_prefix(source: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same schema without the older list of rules in `items`, one for each place, as FastAPI once wrote tuples."""
    if not isinstance(source.get("items"), list):
        return source
    found = {word: value for word, value in source.items() if word not in ("items", "additionalItems")}
    places = {"prefixItems": source["items"]} if source["items"] else {}
    others = {"items": source["additionalItems"]} if "additionalItems" in source else {}
    return {**found, **places, **others}


def _check_in_place(root: Any, defs: Mapping[str, Any]) -> None:
    """Refuse rules that lead back to themselves, or on and on, without a step into the value."""
    heights: dict[int, int] = {}
    around: set[int] = set()

    def height(rule: Any) -> int:
        if not isinstance(rule, Mapping):
            return 0
        if id(rule) not in heights:
            if id(rule) in around:
                raise BadDescription("A schema refers to itself in a circle and never says what it takes.")
            around.add(id(rule))
            if len(around) <= MAX_IN_PLACE:
                heights[id(rule)] = 1 + max((height(part) for part in parts_in_place(rule, defs)), default=0)
            around.discard(id(rule))
            if heights.get(id(rule), math.inf) > MAX_IN_PLACE:
                raise BadDescription(f"More than {MAX_IN_PLACE} schemas in a row only refer to one another.")
        return heights[id(rule)]

    for rule in (root, *defs.values()):
        height(rule)


def name_of(ref: str) -> str:
    """The name in `$defs` that a reference of a whole schema leads to.

    >>> name_of("#/$defs/LoRA")
    'LoRA'
    """
    return ref.removeprefix("#/$defs/")


def _free_name(called: str, taken: Collection[str]) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", called)[:100] or "Part"
    return next(
        name for name in (plain, *(f"{plain}_{count}" for count in range(2, len(taken) + 3))) if name not in taken
    )


def _copied(value: Any, place: str, level: int) -> Any:
    """A copy of what is no rule, all of it JSON."""
    if level > MAX_LEVELS:
        raise BadDescription(f"{short(place)} nests more than {MAX_LEVELS} levels deep.")
    if isinstance(value, Mapping):
        return {
            _text(name, place): _copied(item, step(place, name), level + 1)
            for name, item in mapping(value, place).items()
        }
    if isinstance(value, (list, tuple)):
        return [_copied(item, step(place, at), level + 1) for at, item in enumerate(value)]
    if isinstance(value, str):
        # Half of a surrogate pair could not be shown.
        return value.encode(errors="replace").decode()
    if value is None or isinstance(value, bool) or (_is_number(value) and abs(value) < 10**MAX_DIGITS):
        return value
    raise BadDescription(f"{short(place)} is {kind_in_words(value)}, which JSON cannot say: {shown(value)}.")


def _text(name: str, place: str) -> str:
    """A name, if it could be sent."""
    if name != name.encode(errors="replace").decode():
        raise BadDescription(f"{short(place)} has the name {shown(name)}, which cannot be written as UTF-8.")
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
"""What a keyword may hold, where it is no rule itself."""
