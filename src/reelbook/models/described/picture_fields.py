"""Source pictures in described inputs: which fields accept one, and conversion of their values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticCustomError

from ...errors import Problem
from ..images import Image, is_picture, parse_picture, replace_pictures
from ..picture_encoding import NotAPicture, is_one_array
from ..problems import Loc, compact_value, format_subject
from ..value_types import coerce_tuple
from .frozen_json import MAX_DEPTH, Record
from .schema_view import Defs, Rule, find_applicable_rules, rules_for_step

Rules = Sequence[Mapping[str, Any]]

_WORDS = {"image", "images", "picture", "pictures", "photo", "photos"}
_ADDRESSES = {"uri", "url", "uri-reference", "iri"}
_NAMED = re.compile(r"(.*[_-])?(image|picture|photo)[_-]?(url|uri)s?", re.IGNORECASE)
_SCHEME = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_PLACEHOLDER = Image("picture")
"""Replaces a bad picture, so that it is reported only once."""


def takes_picture(rule: Rule, name: str, defs: Defs) -> bool:
    """Whether a field of this name, or an entry of such a field, takes a picture.

    >>> takes_picture({"type": "string"}, "image_url", {}), takes_picture({"type": "string"}, "prompt", {})
    (True, False)
    """
    return _takes_picture(find_applicable_rules([rule], defs), name)


def has_pictures(rule: Rule, defs: Defs) -> bool:
    """Whether any field of a rule, at any depth, takes a picture.

    >>> has_pictures({"properties": {"frames": {"items": {"type": "string", "x-media": "image"}}}}, {})
    True
    """
    seen: set[int] = set()
    waiting: list[tuple[str, Any]] = [("", rule), *(("", part) for part in defs.values())]
    while waiting:
        name, part = waiting.pop()
        if id(part) in seen or not isinstance(part, (Mapping, list, tuple)):
            continue
        seen.add(id(part))
        if not isinstance(part, Mapping):
            waiting += [(name, item) for item in part]
            continue
        if _takes_picture([part], name):
            return True
        fields = part.get("properties")
        waiting += fields.items() if isinstance(fields, Mapping) else ()
        waiting += [(name, value) for word, value in part.items() if word != "properties"]
    return False


def to_images(values: Mapping[Any, Any], rule: Rule, defs: Defs) -> tuple[dict[Any, Any], list[Problem]]:
    """The values with an `Image` wherever a picture was given for a picture field.

    >>> to_images({"image_url": "boat.png"}, {"properties": {"image_url": {"type": "string"}}}, {})[0]["image_url"].kind
    'path'
    """
    walk = _PictureReader(defs)
    return walk.record(values, find_applicable_rules([rule], defs), ()), walk.problems


def find_pictures(value: Any, rule: Rule, defs: Defs) -> Iterator[tuple[Loc, str]]:
    """Every picture in a frozen value with its place: each `Image`, and each address in a picture field.

    >>> list(find_pictures(Record({"image_url": "https://a.org/b"}), {"properties": {"image_url": {"type": "string"}}}, {}))
    [(('image_url',), 'https://a.org/b')]
    """
    yield from _find_pictures(value, find_applicable_rules([rule], defs), defs, "", ())


def _find_pictures(value: Any, rules: Rules, defs: Defs, name: str, loc: Loc) -> Iterator[tuple[Loc, str]]:
    if isinstance(value, Record):
        for inner, item in value.items():
            yield from _find_pictures(item, _for_step(rules, inner, defs), defs, inner, (*loc, inner))
    elif isinstance(value, tuple):
        for place, item in enumerate(value):
            yield from _find_pictures(item, _for_step(rules, place, defs), defs, name, (*loc, place))
    elif isinstance(value, Image) or (isinstance(value, str) and value and _takes_picture(rules, name)):
        yield loc, value


class _PictureReader:
    """Converts the pictures in values, tracking the rules that apply at each path."""

    def __init__(self, defs: Defs) -> None:
        self.defs = defs
        self.problems: list[Problem] = []
        self.open_ids: set[int] = set()

    def value(self, value: Any, rules: Rules, name: str, loc: Loc) -> Any:
        if _is_plain(value):
            return value
        if _takes_picture(rules, name) and is_picture(value):
            return value if isinstance(value, str) and _is_no_path(value, rules) else self.picture(value, loc)
        if len(loc) >= MAX_DEPTH or id(value) in self.open_ids or isinstance(value, (str, bytes, bytearray)):
            # `freeze` reports values that nest too deeply.
            return value
        self.open_ids.add(id(value))
        result = self.inside(value, rules, name, loc)
        self.open_ids.discard(id(value))
        return result

    def inside(self, value: Any, rules: Rules, name: str, loc: Loc) -> Any:
        if isinstance(value, BaseModel):
            return self.record(_dump(value), rules, loc)
        if isinstance(value, Mapping):
            return self.record(value, rules, loc)
        if is_picture(value):
            # Only lists of pictures are searched: an array of numbers is a list, too, and can be long.
            entries = _for_step(rules, 0, self.defs)
            if not _takes_picture(entries, name):
                return value
            if not hasattr(value, "__array__") or is_one_array(value):
                return self.add_problem(loc, "needs a list and has one picture: put it in brackets.", value, ())
        try:
            entries_given = coerce_tuple(value)
        except PydanticCustomError:
            return value
        return tuple([
            item if _is_plain(item) else self.value(item, _for_step(rules, place, self.defs), name, (*loc, place))
            for place, item in enumerate(entries_given)
        ])  # fmt: skip

    def record(self, values: Mapping[Any, Any], rules: Rules, loc: Loc) -> dict[Any, Any]:
        return {
            name: self.value(item, _for_step(rules, name, self.defs), name, (*loc, name))
            if isinstance(name, str)
            else item
            for name, item in values.items()
        }

    def picture(self, value: Any, loc: Loc) -> Any:
        try:
            return parse_picture(value)
        except NotAPicture as error:
            return self.add_problem(loc, str(error), value, _PLACEHOLDER)

    def add_problem(self, loc: Loc, reason: str, value: Any, instead: Any) -> Any:
        self.problems.append(Problem(loc, f"{format_subject(loc)} {reason}", "picture", compact_value(value)))
        return instead


def _is_plain(value: Any) -> bool:
    """Whether a value needs no conversion anywhere."""
    return value is None or isinstance(value, (bool, int, float, Image))


def _takes_picture(rules: Iterable[Mapping[str, Any]], name: str) -> bool:
    """Whether any of these rules, for a field of this name or its entries, describes a picture."""
    return any(_describes_picture(rule, name) for rule in rules)


def _describes_picture(rule: Mapping[str, Any], name: str) -> bool:
    types = rule.get("type", "string")
    if types != "string" and not (isinstance(types, (list, tuple)) and "string" in types):
        return False
    if "x-media" in rule:
        return bool(rule["x-media"] == "image")
    if "type" not in rule or "enum" in rule or "const" in rule:
        return False
    return _NAMED.fullmatch(name) is not None or (
        str(rule.get("format")) in _ADDRESSES and not _WORDS.isdisjoint(_words(f"{name} {rule.get('title')}"))
    )


def _words(text: str) -> list[str]:
    """The words of a name in camel case or with separators, in lower case.

    >>> _words("sourceImage_url")
    ['source', 'image', 'url']
    """
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", text[:200])]


def _is_no_path(text: str, rules: Rules) -> bool:
    """Whether a text is not a path: it is empty, one of the rule's values, or has a URL scheme."""
    own = [choice for rule in rules for choice in (*rule.get("enum", ()), rule.get("const"), rule.get("default"))]
    return not text or text in own or bool(_SCHEME.match(text))


def _for_step(rules: Rules, step: str | int, defs: Defs) -> Rules:
    return find_applicable_rules(rules_for_step(rules, step), defs)


def _dump(value: BaseModel) -> dict[str, Any]:
    """A pydantic value as JSON, with its pictures unchanged."""
    dumped = value.model_dump(mode="json", exclude_none=True)
    pictures = getattr(value, "__reel_pictures__", None)
    return replace_pictures(dumped, dict(pictures())) if pictures else dumped
