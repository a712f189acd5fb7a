"""A CBOR decoder for C2PA manifests, with limits for untrusted input."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from ...util.containers import MalformedFile

_MAX_DEPTH, _MAX_ITEMS = 40, 200_000
_FLOATS = {25: ">e", 26: ">f", 27: ">d"}
_SIMPLE = {20: False, 21: True, 22: None, 23: None}
_BREAK = object()


def decode(content: bytes) -> Any:
    """Decode the value at the start of the bytes. Tags are dropped, and so are map entries with unhashable keys.

    >>> decode(bytes.fromhex("a26161016162820203"))
    {'a': 1, 'b': [2, 3]}
    """
    return _Reader(content).value(0)


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content, self._at, self._items = content, 0, 0

    def value(self, depth: int) -> Any:
        """The next value; `_BREAK` at the end of one of indefinite length."""
        self._items += 1
        if depth > _MAX_DEPTH or self._items > _MAX_ITEMS:
            raise MalformedFile("its manifest is too deep or too long")
        first = self._taken(1)[0]
        kind, detail = first >> 5, first & 31
        if kind == 7:
            return self._simple(detail)
        count = self._count(detail)
        if kind in (0, 1):
            return -1 - (count or 0) if kind else count
        if kind in (2, 3):
            content = self._taken(count) if count is not None else self._chunks(depth)
            return content if kind == 2 else content.decode("utf-8", "replace")
        if kind == 4:
            return self._items_of(count, lambda: self.value(depth + 1))
        if kind == 5:
            pairs = self._items_of(count, lambda: self._pair(depth + 1))
            return {key: value for key, value in pairs if isinstance(key, (str, int, bytes))}
        return self.value(depth + 1)

    def _pair(self, depth: int) -> Any:
        key = self.value(depth)
        return key if key is _BREAK else (key, self.value(depth))

    def _items_of(self, count: int | None, read: Callable[[], Any]) -> list[Any]:
        found: list[Any] = []
        while count is None or len(found) < count:
            item = read()
            if item is _BREAK:
                return found
            found.append(item)
        return found

    def _chunks(self, depth: int) -> bytes:
        parts = self._items_of(None, lambda: self.value(depth + 1))
        return b"".join(part if isinstance(part, bytes) else str(part).encode() for part in parts)

    def _count(self, detail: int) -> int | None:
        if detail < 24:
            return detail
        if detail < 28:
            return int.from_bytes(self._taken(1 << (detail - 24)))
        if detail == 31:
            return None
        raise MalformedFile("its manifest is damaged")

    def _simple(self, detail: int) -> Any:
        if detail in _FLOATS:
            return struct.unpack(_FLOATS[detail], self._taken(1 << (detail - 24)))[0]
        if detail == 24:
            return self._taken(1)[0]
        return _BREAK if detail == 31 else _SIMPLE.get(detail)

    def _taken(self, count: int) -> bytes:
        part = self._content[self._at : self._at + count]
        if len(part) < count:
            raise MalformedFile("its manifest ends too early")
        self._at += count
        return part
