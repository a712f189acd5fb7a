"""The posters and clips of a form's runs: sent to the page on request, in parts, and never saved."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ....display.embedding import MIME_TYPES
from ....display.formatting import format_size
from ....media.posters import get_poster, make_thumbnail

if TYPE_CHECKING:
    from ....media.local_file import LocalFile
    from ..form import Form

CHUNK_BYTES = 4_000_000
"""Bytes of one message."""
MAX_BYTES = 100_000_000
SMALL, POSTER_SIDES = (192, 108), (320, 640)
"""The box of a small poster, and the longest sides of the others."""
MAX_REQUESTS = 500
MISSING = "This file is not here any more. Pick the run up with rb.attach, which fetches it anew."
UNKNOWN = "There is no such file in this form."
UNREADABLE = "This file cannot be read as a clip or a picture."

Find = Callable[[str], Sequence["LocalFile"]]


class FileRequest(NamedTuple):
    """A poster or a clip requested by the page."""

    is_clip: bool
    run: str
    file: int
    longest: int = 0
    """The longest side of a poster; 0 means a small one."""


class RunFileSender:
    """Sends posters, then clips. The page identifies a file by run and position; its paths are never read."""

    def __init__(self, form: Form, find: Find) -> None:
        self._form: Form | None = form
        self._find: Find | None = find
        self._requests: list[FileRequest] = []
        self._is_busy = False
        self._guard = threading.Lock()

    def queue_poster(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Queue a poster: `{do: "poster", run, file, longest}`."""
        longest = content.get("longest")
        place = _parse_file(content)
        if place and type(longest) is int and longest in (0, *POSTER_SIDES):
            self._queue(FileRequest(False, *place, longest))

    def queue_clip(self, content: dict[str, Any], _: list[memoryview]) -> None:
        """Queue a file: `{do: "bring", run, file}`."""
        place = _parse_file(content)
        if place:
            self._queue(FileRequest(True, *place))

    def close(self) -> None:
        """Stop sending, and release the form."""
        with self._guard:
            self._form, self._find = None, None
            self._requests.clear()

    def _queue(self, request: FileRequest) -> None:
        with self._guard:
            form = self._form
            # A file being sent is sent once more: the requesting view may have missed its beginning.
            if form is None or request in self._requests or len(self._requests) >= MAX_REQUESTS:
                return
            self._requests.append(request)
            is_first, self._is_busy = not self._is_busy, True
        if is_first:
            form.in_background("clips", self._work)

    def _work(self) -> None:
        while (request := self._next_request()) is not None:
            try:
                self._send_clip(request) if request.is_clip else self._send_poster(request)
            # Any decoder error is a fault of this file, and the others are waiting.
            except Exception:
                self._send(_failure_message(request, UNREADABLE))

    def _next_request(self) -> FileRequest | None:
        with self._guard:
            request = min(self._requests, key=lambda request: request.is_clip, default=None)
            if request is None:
                self._is_busy = False
            else:
                self._requests.remove(request)
            return request

    def _send_poster(self, request: FileRequest) -> None:
        file = self._find_file(request)
        if file is None:
            self._send(_failure_message(request, UNKNOWN))
            return
        content = (
            make_thumbnail(file.path, *SMALL)
            if request.longest == 0
            else get_poster(file.path, longest=request.longest)
        )
        if content is None:
            self._send(_failure_message(request, UNREADABLE if file.path.exists() else MISSING))
            return
        self._send({"poster": [request.run, request.file, request.longest]}, content)

    def _send_clip(self, request: FileRequest) -> None:
        file = self._find_file(request)
        why = UNKNOWN if file is None else _reason_not_sent(file.path)
        if file is None or why:
            self._send(_failure_message(request, why))
            return
        kind = MIME_TYPES[file.path.suffix.lower()]
        of = max(1, -(-file.path.stat().st_size // CHUNK_BYTES))
        for number, part in enumerate(_read_parts(file.path)):
            if not self._send({"clip": [request.run, request.file], "part": number, "of": of, "kind": kind}, part):
                return

    def _find_file(self, request: FileRequest) -> LocalFile | None:
        find = self._find
        files = find(request.run) if find else ()
        return files[request.file] if request.file < len(files) else None

    def _send(self, content: dict[str, Any], part: bytes | None = None) -> bool:
        """Send a message to the page; return False once closed."""
        form = self._form
        if form is not None:
            form.send(content, None if part is None else [part])
        return form is not None


def _parse_file(content: dict[str, Any]) -> tuple[str, int] | None:
    """The run and the place of the file; None if the message is malformed."""
    run, file = content.get("run"), content.get("file")
    return (run, file) if isinstance(run, str) and type(file) is int and file >= 0 else None


def _failure_message(request: FileRequest, words: str) -> dict[str, Any]:
    if request.is_clip:
        return {"clip": [request.run, request.file], "words": words}
    return {"poster": [request.run, request.file, request.longest], "words": words}


def _reason_not_sent(path: Path) -> str:
    """The reason why a file is not sent; empty if it is."""
    try:
        count = path.stat().st_size
    except OSError:
        return MISSING
    if path.suffix.lower() not in MIME_TYPES:
        return UNREADABLE
    return f"This file has {format_size(count)}, too much to play here. It is {path}." if count > MAX_BYTES else ""


def _read_parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while part := file.read(CHUNK_BYTES):
            yield part
