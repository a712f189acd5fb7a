"""Pictures in described inputs: which places of a form take one, and what a person may put there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticCustomError

from ...errors import Problem
from ..images import Image, is_picture, picture_of, with_replaced
from ..picture_encoding import NotAPicture, is_one_array
from ..problems import Loc, kept, subject
from ..value_types import ordered
from .container_rules import rules_for_entry, rules_for_field
from .frozen_json import DEEPEST, Record
from .schema_fields import spoken
from .schema_judge import Defs, Rule

Speaking = Sequence[Mapping[str, Any]]

_WORDS = {"image", "images", "picture", "pictures", "photo", "photos"}
_ADDRESSES = {"uri", "url", "uri-reference", "iri"}
_NAMED = re.compile(r"(.*[_-])?(image|picture|photo)[_-]?(url|uri)s?", re.IGNORECASE)
_SCHEME = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_PLACEHOLDER = Image("picture")
"""Stands where a bad picture was given, which has been told and is not to be told again."""


def takes_picture(rule: Rule, name: str, defs: Defs) -> bool:
    """Whether a field of this name, or an entry of such a field, is a place for a picture.

    >>> takes_picture({"type": "string"}, "image_url", {}), takes_picture({"type": "string"}, "prompt", {})
    (True, False)
    """
    return _is_place(spoken([rule], defs), name)


def has_pictures(rule: Rule, defs: Defs) -> bool:
    """Whether anywhere in a form there is a place for a picture.

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
        if _is_place([part], name):
            return True
        fields = part.get("properties")
        waiting += fields.items() if isinstance(fields, Mapping) else ()
        waiting += [(name, value) for word, value in part.items() if word != "properties"]
    return False


def taken(values: Mapping[Any, Any], rule: Rule, defs: Defs) -> tuple[dict[Any, Any], list[Problem]]:
    """The values with an `Image` wherever a form has a place for a picture and a person gave one.

    >>> taken({"image_url": "boat.png"}, {"properties": {"image_url": {"type": "string"}}}, {})[0]["image_url"].kind
    'path'
    """
    walk = _Walk(defs)
    return walk.record(values, spoken([rule], defs), ()), walk.problems


def pictures_in(value: Any, rule: Rule, defs: Defs) -> Iterator[tuple[Loc, str]]:
    """Every picture in a frozen value with its place: each `Image`, and each address at a place for pictures.

    >>> list(pictures_in(Record({"image_url": "https://a.org/b"}), {"properties": {"image_url": {"type": "string"}}}, {}))
    [(('image_url',), 'https://a.org/b')]
    """
    yield from _found(value, spoken([rule], defs), defs, "", ())


def _found(value: Any, speaking: Speaking, defs: Defs, name: str, loc: Loc) -> Iterator[tuple[Loc, str]]:
    if isinstance(value, Record):
        for inner, item in value.items():
            yield from _found(item, _for_field(speaking, inner, defs), defs, inner, (*loc, inner))
    elif isinstance(value, tuple):
        for place, item in enumerate(value):
            yield from _found(item, _for_entry(speaking, place, defs), defs, name, (*loc, place))
    elif isinstance(value, Image) or (isinstance(value, str) and value and _is_place(speaking, name)):
        yield loc, value


class _Walk:
    """Values as a person gave them, gone through together with the rules that speak of each place."""

    def __init__(self, defs: Defs) -> None:
        self.defs = defs
        self.problems: list[Problem] = []
        self.around: set[int] = set()

    def value(self, value: Any, speaking: Speaking, name: str, loc: Loc) -> Any:
        if _is_plain(value):
            return value
        if _is_place(speaking, name) and is_picture(value):
            return value if isinstance(value, str) and _is_no_path(value, speaking) else self.picture(value, loc)
        if len(loc) >= DEEPEST or id(value) in self.around or isinstance(value, (str, bytes, bytearray)):
            # Whoever freezes the value says what is wrong with its depth.
            return value
        self.around.add(id(value))
        held = self.inside(value, speaking, name, loc)
        self.around.discard(id(value))
        return held

    def inside(self, value: Any, speaking: Speaking, name: str, loc: Loc) -> Any:
        if isinstance(value, BaseModel):
            return self.record(_dumped(value), speaking, loc)
        if isinstance(value, Mapping):
            return self.record(value, speaking, loc)
        if is_picture(value):
            # Only lists of pictures are looked into: an array of numbers is a list, too, and can be long.
            entries = _for_entry(speaking, 0, self.defs)
            if not _is_place(entries, name):
                return value
            if not hasattr(value, "__array__") or is_one_array(value):
                return self.told(loc, "needs a list and has one picture: put it in brackets.", value, ())
        try:
            entries_given = ordered(value)
        except PydanticCustomError:
            return value
        return tuple([
            item if _is_plain(item) else self.value(item, _for_entry(speaking, place, self.defs), name, (*loc, place))
            for place, item in enumerate(entries_given)
        ])  # fmt: skip

    def record(self, values: Mapping[Any, Any], speaking: Speaking, loc: Loc) -> dict[Any, Any]:
        return {
            name: self.value(item, _for_field(speaking, name, self.defs), name, (*loc, name))
            if isinstance(name, str)
            else item
            for name, item in values.items()
        }

    def picture(self, value: Any, loc: Loc) -> Any:
        try:
            return picture_of(value)
        except NotAPicture as error:
            return self.told(loc, str(error), value, _PLACEHOLDER)

    def told(self, loc: Loc, reason: str, value: Any, instead: Any) -> Any:
        self.problems.append(Problem(loc, f"{subject(loc)} {reason}", "picture", kept(value)))
        return instead


def _is_plain(value: Any) -> bool:
    """Whether nothing is to be done with a value, wherever it stands."""
    return value is None or isinstance(value, (bool, int, float, Image))


def _is_place(speaking: Iterable[Mapping[str, Any]], name: str) -> bool:
    """Whether these rules, for a field or the entries of a field of this name, speak of a picture."""
    return any(_speaks_of_picture(rule, name) for rule in speaking)


def _speaks_of_picture(rule: Mapping[str, Any], name: str) -> bool:
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
    """The words of a name, however it is put together.

    >>> _words("sourceImage_url")
    ['source', 'image', 'url']
    """
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", text[:200])]


def _is_no_path(text: str, speaking: Speaking) -> bool:
    """Whether a text means something of its own to the service: nothing, a choice, or a scheme that it may know."""
    own = [choice for rule in speaking for choice in (*rule.get("enum", ()), rule.get("const"), rule.get("default"))]
    return not text or text in own or bool(_SCHEME.match(text))


def _for_field(speaking: Speaking, name: str, defs: Defs) -> Speaking:
    return spoken([part for rule in speaking for part in rules_for_field(rule, name)], defs)


def _for_entry(speaking: Speaking, place: int, defs: Defs) -> Speaking:
    return spoken([rules_for_entry(rule, place) for rule in speaking], defs)


def _dumped(value: BaseModel) -> dict[str, Any]:
    """A value of ours as JSON has it, with its pictures as they are."""
    dumped = value.model_dump(mode="json", exclude_none=True)
    pictures = getattr(value, "__reel_pictures__", None)
    return with_replaced(dumped, dict(pictures())) if pictures else dumped
