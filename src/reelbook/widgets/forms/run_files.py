"""The posters and clips of a form's runs: sent to the page on request, in parts, and never saved."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...media.posters import get_poster, make_thumbnail
from ..send_file import find_refusal, make_messages

if TYPE_CHECKING:
    from ...media.local_file import LocalFile
    from .form import Form

SMALL, POSTER_SIDES = (192, 108), (320, 640)
"""The box of a small poster, and the longest sides of the others."""
MAX_REQUESTS = 500
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
            self._send(_failure_message(request, find_refusal(file.path, f"The file {file.path}") or UNREADABLE))
            return
        self._send({"poster": [request.run, request.file, request.longest]}, content)

    def _send_clip(self, request: FileRequest) -> None:
        file = self._find_file(request)
        why = UNKNOWN if file is None else find_refusal(file.path, f"The file {file.path}")
        if file is None or why:
            self._send(_failure_message(request, why))
            return
        for message, part in make_messages(file.path, [request.run, request.file]):
            if not self._send(message, part):
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
