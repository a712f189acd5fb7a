"""The parts of a description, and what its references lead to. Nothing outside of it is ever fetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from ...errors import BadDescription
from ..problems import shown

Home = tuple[Mapping[str, Any], ...]
"""The schemas around a place that may hold what it refers to, innermost first."""


class Document:
    """A description as a whole."""

    def __init__(self, root: Any) -> None:
        self.root = mapping(root, "The description")

    def target(self, ref: Any, place: str, home: Home = ()) -> tuple[Any, str]:
        """What a reference leads to in the end, and its name there.

        >>> Document({"a": {"$ref": "#/b"}, "b": {"type": "string"}}).target("#/a", "#/c")
        ({'type': 'string'}, 'b')
        """
        seen: set[str] = set()
        while True:
            tokens = _tokens(ref, place)
            if ref in seen:
                raise BadDescription(f"The reference {shown(ref)} at {short(place)} goes round in a circle.")
            seen.add(ref)
            # The description as a whole is no schema, so `#` alone means the schema that one is in.
            found = [item for root in ((self.root, *home) if tokens else home) for item in _at(root, tokens)]
            if not found:
                raise BadDescription(f"The reference {shown(ref)} at {short(place)} leads to nothing.")
            if not (isinstance(found[0], Mapping) and set(found[0]) == {"$ref"}):
                return found[0], tokens[-1] if tokens else "Input"
            ref = found[0]["$ref"]

    def resolved(self, node: Any, place: str, home: Home = ()) -> Mapping[str, Any]:
        """An object of the description, or the one that it refers to."""
        found = mapping(node, place)
        return mapping(self.target(found["$ref"], place, home)[0], place) if "$ref" in found else found


def mapping(value: Any, place: str) -> Mapping[str, Any]:
    """The value, if it is an object whose names are text.

    >>> mapping([], "#/paths")
    Traceback (most recent call last):
    reelbook.errors.BadDescription: #/paths should be an object and is a list.
    """
    if not isinstance(value, Mapping):
        raise BadDescription(f"{short(place)} should be an object and is {kind_in_words(value)}.")
    for name in value:
        if not isinstance(name, str):
            raise BadDescription(
                f"{short(place)} has the name {shown(name)}, which is {kind_in_words(name)} and no text."
            )
    return value


def kind_in_words(value: Any) -> str:
    """What a value is, for a sentence.

    >>> kind_in_words([]), kind_in_words(None), kind_in_words(0.5)
    ('a list', 'null', 'a number')
    """
    known = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return "null" if value is None else known.get(type(value), f"of the type {type(value).__name__}")


def short(place: str, most: int = 120) -> str:
    """A place, without its middle where it is long."""
    return place if len(place) <= most else f"{place[: most // 2]}…{place[-most // 2 :]}"


def step(place: str, name: str | int) -> str:
    """The place one step further in, as a JSON pointer."""
    return f"{place}/{str(name).replace('~', '~0').replace('/', '~1')}"


def _tokens(ref: Any, place: str) -> list[str]:
    if not isinstance(ref, str):
        raise BadDescription(f"The reference at {short(place)} should be text and is {kind_in_words(ref)}.")
    if not ref.startswith("#"):
        raise BadDescription(
            f"The description refers to {shown(ref)} at {short(place)}, outside of itself. Only references of the form "
            "`#/…` are followed; nothing was fetched. Ask the service for a description that is complete."
        )
    path = unquote(ref[1:])
    if path and not path.startswith("/"):
        raise BadDescription(f"The reference {shown(ref)} at {short(place)} names an anchor; only `#/…` is followed.")
    return [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]]


def _at(root: Any, tokens: Sequence[str]) -> list[Any]:
    """What is at a pointer: one thing, or none."""
    for token in tokens:
        if isinstance(root, Mapping) and token in root:
            root = root[token]
        elif isinstance(root, list) and token.isdecimal() and int(token[:9]) < len(root):
            root = root[int(token[:9])]
        else:
            return []
    return [root]
