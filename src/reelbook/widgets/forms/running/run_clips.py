"""The posters and clips of a form's runs: brought to the page when it asks for one, a part at a time, and never saved."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ....display.embedding import KINDS
from ....display.formatting import size
from ....media.posters import poster, thumb

if TYPE_CHECKING:
    from ....media.local_file import LocalFile
    from ..form import Form

CHUNK = 4_000_000
"""Bytes of one message."""
MAX_BYTES = 100_000_000
SMALL, LONGEST = (192, 108), (320, 640)
"""The box of a small poster, and how long the others may be."""
MAX_ORDERS = 500
GONE = "This file is not here any more. Pick the run up with rb.attach, which fetches it anew."
UNKNOWN = "There is no such file in this form."
UNREADABLE = "This file cannot be read as a clip or a picture."

Find = Callable[[str], Sequence["LocalFile"]]


class Order(NamedTuple):
    """One thing that the page has asked for."""

    is_clip: bool
    run: str
    file: int
    longest: int = 0
    """Of a poster; 0 means a small one."""


class Clips:
    """Sends posters and clips, posters first. A file is named by its run and its place: a path is never looked at."""

    def __init__(self, form: Form, find: Find) -> None:
        self._form: Form | None = form
        self._find: Find | None = find
        self._orders: list[Order] = []
        self._is_busy = False
        self._guard = threading.Lock()

    def poster(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """The page wants to see a run: `{do: "poster", run, file, longest}`."""
        longest = content.get("longest")
        place = _place(content)
        if place and type(longest) is int and longest in (0, *LONGEST):
            self._take(Order(False, *place, longest))

    def bring(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """The page wants the file itself: `{do: "bring", run, file}`."""
        place = _place(content)
        if place:
            self._take(Order(True, *place))

    def close(self) -> None:
        """Nothing more is sent, and nothing is held."""
        with self._guard:
            self._form, self._find = None, None
            self._orders.clear()

    def _take(self, order: Order) -> None:
        with self._guard:
            form = self._form
            # One that is being sent is sent once more: whoever asks may have missed its beginning.
            if form is None or order in self._orders or len(self._orders) >= MAX_ORDERS:
                return
            self._orders.append(order)
            is_first, self._is_busy = not self._is_busy, True
        if is_first:
            form.in_background("clips", self._work)

    def _work(self) -> None:
        while (order := self._next()) is not None:
            try:
                self._bring(order) if order.is_clip else self._show(order)
            # Whatever a decoder stumbles over, it is this file, and the others are waiting.
            except Exception:
                self._send(_words(order, UNREADABLE))

    def _next(self) -> Order | None:
        with self._guard:
            order = min(self._orders, key=lambda order: order.is_clip, default=None)
            if order is None:
                self._is_busy = False
            else:
                self._orders.remove(order)
            return order

    def _show(self, order: Order) -> None:
        file = self._file(order)
        if file is None:
            self._send(_words(order, UNKNOWN))
            return
        content = thumb(file.path, *SMALL) if order.longest == 0 else poster(file.path, longest=order.longest)
        if content is None:
            self._send(_words(order, UNREADABLE if file.path.exists() else GONE))
            return
        self._send({"poster": [order.run, order.file, order.longest]}, content)

    def _bring(self, order: Order) -> None:
        file = self._file(order)
        why = UNKNOWN if file is None else _why_not(file.path)
        if file is None or why:
            self._send(_words(order, why))
            return
        kind = KINDS[file.path.suffix.lower()]
        of = max(1, -(-file.path.stat().st_size // CHUNK))
        for number, part in enumerate(_parts(file.path)):
            if not self._send({"clip": [order.run, order.file], "part": number, "of": of, "kind": kind}, part):
                return

    def _file(self, order: Order) -> LocalFile | None:
        find = self._find
        files = find(order.run) if find else ()
        return files[order.file] if order.file < len(files) else None

    def _send(self, content: dict[str, Any], part: bytes | None = None) -> bool:
        """Says whether there is still somebody to send to."""
        form = self._form
        if form is not None:
            form.send(content, None if part is None else [part])
        return form is not None


def _place(content: dict[str, Any]) -> tuple[str, int] | None:
    """Which file is meant; None where the message makes no sense."""
    run, file = content.get("run"), content.get("file")
    return (run, file) if isinstance(run, str) and type(file) is int and file >= 0 else None


def _words(order: Order, words: str) -> dict[str, Any]:
    if order.is_clip:
        return {"clip": [order.run, order.file], "words": words}
    return {"poster": [order.run, order.file, order.longest], "words": words}


def _why_not(path: Path) -> str:
    """Why a file is not brought; empty for one that is."""
    try:
        count = path.stat().st_size
    except OSError:
        return GONE
    if path.suffix.lower() not in KINDS:
        return UNREADABLE
    return f"This file has {size(count)}, too much to play here. It is {path}." if count > MAX_BYTES else ""


def _parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while part := file.read(CHUNK):
            yield part
