"""Resolution of JSON references within a description. Nothing outside it is ever fetched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from ...errors import BadDescription
from ..problems import format_literal

Scope = tuple[Mapping[str, Any], ...]
"""The enclosing schemas in which a reference may be resolved, innermost first."""


class Document:
    """An OpenAPI document whose references can be resolved."""

    def __init__(self, root: Any) -> None:
        self.root = require_mapping(root, "The description")

    def target(self, ref: Any, place: str, scope: Scope = ()) -> tuple[Any, str]:
        """The target of a chain of references, and its name there.

        >>> Document({"a": {"$ref": "#/b"}, "b": {"type": "string"}}).target("#/a", "#/c")
        ({'type': 'string'}, 'b')
        """
        seen: set[str] = set()
        while True:
            tokens = _pointer_tokens(ref, place)
            if ref in seen:
                raise BadDescription(
                    f"The reference {format_literal(ref)} at {shorten_place(place)} goes round in a circle."
                )
            seen.add(ref)
            # The document root is not a schema, so `#` alone refers to the enclosing schema.
            targets = [item for root in ((self.root, *scope) if tokens else scope) for item in _find_at(root, tokens)]
            if not targets:
                raise BadDescription(f"The reference {format_literal(ref)} at {shorten_place(place)} leads to nothing.")
            if not (isinstance(targets[0], Mapping) and set(targets[0]) == {"$ref"}):
                return targets[0], tokens[-1] if tokens else "Input"
            ref = targets[0]["$ref"]

    def resolved(self, node: Any, place: str, scope: Scope = ()) -> Mapping[str, Any]:
        """The object itself, or the object that its `$ref` points to."""
        found = require_mapping(node, place)
        return require_mapping(self.target(found["$ref"], place, scope)[0], place) if "$ref" in found else found


def require_mapping(value: Any, place: str) -> Mapping[str, Any]:
    """The value; raises unless it is an object whose names are text.

    >>> require_mapping([], "#/paths")
    Traceback (most recent call last):
    reelbook.errors.BadDescription: #/paths should be an object and is a list.
    """
    if not isinstance(value, Mapping):
        raise BadDescription(f"{shorten_place(place)} should be an object and is {format_json_kind(value)}.")
    for name in value:
        if not isinstance(name, str):
            raise BadDescription(
                f"{shorten_place(place)} has the name {format_literal(name)}, which is {format_json_kind(name)} and no text."
            )
    return value


def format_json_kind(value: Any) -> str:
    """The JSON type of a value, for a sentence.

    >>> format_json_kind([]), format_json_kind(None), format_json_kind(0.5)
    ('a list', 'null', 'a number')
    """
    known = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return "null" if value is None else known.get(type(value), f"of the type {type(value).__name__}")


def shorten_place(place: str, max_length: int = 120) -> str:
    """The place, with its middle elided where it is long."""
    return place if len(place) <= max_length else f"{place[: max_length // 2]}…{place[-max_length // 2 :]}"


def child_pointer(place: str, name: str | int) -> str:
    """The JSON pointer of a child."""
    return f"{place}/{str(name).replace('~', '~0').replace('/', '~1')}"


def _pointer_tokens(ref: Any, place: str) -> list[str]:
    if not isinstance(ref, str):
        raise BadDescription(f"The reference at {shorten_place(place)} should be text and is {format_json_kind(ref)}.")
    if not ref.startswith("#"):
        raise BadDescription(
            f"The description refers to {format_literal(ref)} at {shorten_place(place)}, outside of itself. Only references of the form "
            "`#/…` are followed; nothing was fetched. Ask the service for a description that is complete."
        )
    path = unquote(ref[1:])
    if path and not path.startswith("/"):
        raise BadDescription(
            f"The reference {format_literal(ref)} at {shorten_place(place)} names an anchor; only `#/…` is followed."
        )
    return [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]]


def _find_at(root: Any, tokens: Sequence[str]) -> list[Any]:
    """The target of a pointer as a list of one item; empty where it does not exist."""
    for token in tokens:
        if isinstance(root, Mapping) and token in root:
            root = root[token]
        elif isinstance(root, list) and token.isdecimal() and int(token[:9]) < len(root):
            root = root[int(token[:9])]
        else:
            return []
    return [root]
