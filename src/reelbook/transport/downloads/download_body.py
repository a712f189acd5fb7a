"""One answer of a file host, read into a part on disk."""

from __future__ import annotations

import asyncio
import email.utils
import re
import time
import zlib
from collections.abc import Callable
from typing import Protocol

import httpx

from .file_validation import Told
from .partial_download import Misfit, Part

PIECE_BYTES = 1 << 19
MAX_BYTES = 64 << 30
MAX_UNTOLD_BYTES = 4 << 30
"""How long a body may get of which nobody said how long it is: some never end."""

LATER = frozenset({408, 409, 425, 429})
RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15}|\*)")


class Again(Exception):
    """Not this time, but perhaps the next; `wait` is how long the host asks to be left alone, in seconds."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason, wait)
        self.reason, self.wait = reason, wait

    def __str__(self) -> str:
        return self.reason


class Hopeless(Exception):
    """Asking again would bring the same."""


async def received(
    response: httpx.Response,
    part: Part,
    start: int | None,
    *,
    moved: Callable[[int], None],
    room: Callable[[int], None],
) -> Told:
    """The rest of the file, from where it was asked for; returns what HTTP said of the whole."""
    _refuse(response)
    told = await asyncio.to_thread(_begun, response, part, start)
    if told.length is not None:
        await asyncio.to_thread(room, told.length - part.size)
    sink = _sink(response, part)
    buffer = bytearray()
    try:
        async for piece in response.aiter_raw():
            moved(len(piece))
            buffer += piece
            if len(buffer) >= PIECE_BYTES:
                full, buffer = buffer, bytearray()
                await asyncio.to_thread(sink.write, bytes(full))
                _limit(told, part)
    finally:
        # Also of an answer that broke off: the next attempt goes on from there.
        if buffer:
            await asyncio.to_thread(sink.write, bytes(buffer))
    if isinstance(sink, _Inflated):
        return Told(await asyncio.to_thread(sink.ended), told.content_type)
    if told.length is not None and part.size != told.length:
        raise Again(f"{part.size:,} of {told.length:,} bytes arrived")
    return told


def _refuse(response: httpx.Response) -> None:
    """An answer without a file becomes Again or Hopeless."""
    status = response.status_code
    if status in (200, 206):
        return
    said = f"the file host answered {status}"
    if status in LATER or status >= 500 or 200 <= status < 300:
        raise Again(said, _retry_after(response.headers.get("retry-after", "")))
    if status in (412, 416):
        raise Misfit(said)
    reason = {401: "not for us", 403: "the address has expired, or is not for us", 404: "not there", 410: "gone"}
    raise Hopeless(f"{said}: {reason[status]}" if status in reason else said)


def _begun(response: httpx.Response, part: Part, start: int | None) -> Told:
    """What is told of the whole file; the part is emptied unless the answer continues it."""
    validator = response.headers.get("etag")
    if response.status_code == 206:
        length = _continued(response, part, start, validator)
    else:
        length = _length(response)
        part.start_over(None if _encoding(response) else validator, length)
    if length is not None and length > MAX_BYTES:
        raise Hopeless(f"it is said to have {length:,} bytes, more than any result has")
    return Told(length, response.headers.get("content-type", ""))


def _continued(response: httpx.Response, part: Part, start: int | None, validator: str | None) -> int | None:
    found = RANGE.fullmatch(response.headers.get("content-range", "").strip())
    if found is None or _encoding(response):
        raise Misfit("a part of the file came that does not say which")
    first, total = int(found[1]), None if found[3] == "*" else int(found[3])
    if start is None:
        if first:
            raise Misfit("a part of the file came where the whole was asked for")
        part.start_over(validator, total)
        return total
    if first != start:
        raise Misfit(f"the file was asked for from byte {start:,}, and came from byte {first:,}")
    # A host must name the version it continues, and it must be the one that is here.
    if validator != part.validator or (None not in (total, part.total) and total != part.total):
        raise Misfit("the file has changed since the first part of it arrived")
    return total if total is not None else part.total


def _length(response: httpx.Response) -> int | None:
    if _encoding(response) or "transfer-encoding" in response.headers:
        return None
    told = response.headers.get("content-length", "")
    return int(told) if told.isdecimal() else None


def _limit(told: Told, part: Part) -> None:
    if told.length is None and part.size > MAX_UNTOLD_BYTES:
        raise Hopeless(f"it does not end: {part.size:,} bytes arrived")


def _retry_after(text: str) -> float:
    """Seconds, from a number or a date.

    >>> _retry_after("7"), _retry_after(""), _retry_after("Thu, 01 Jan 1970 00:00:00 GMT")
    (7.0, 0.0, 0.0)
    """
    if text.isdecimal():
        return float(text[:9])
    try:
        return max(email.utils.parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return 0.0


def _encoding(response: httpx.Response) -> str:
    """How the bytes are wrapped for the way, though we asked for them as they are."""
    said: str = response.headers.get("content-encoding", "").strip().lower()
    return "" if said == "identity" else said


class _Sink(Protocol):
    def write(self, content: bytes) -> None: ...


def _sink(response: httpx.Response, part: Part) -> _Sink:
    encoding = _encoding(response)
    if encoding in ("gzip", "x-gzip"):
        return _Inflated(part)
    if encoding:
        raise Again(f"the file came wrapped as {encoding[:20]!r}, though we asked for it as it is")
    return part


class _Inflated:
    """Bytes unwrapped on their way into a part, a little at a time: a small body may unfold into a huge one."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._inflating = zlib.decompressobj(wbits=31)
        self._as_it_is = False

    def write(self, content: bytes) -> None:
        # Some hosts say gzip of everything, also of what they send as it is.
        self._as_it_is = self._as_it_is or (self._part.size == 0 and not content.startswith(b"\x1f\x8b"))
        if self._as_it_is:
            self._part.write(content)
            return
        try:
            while content:
                if self._inflating.eof:
                    self._inflating = zlib.decompressobj(wbits=31)
                self._keep(content)
                content = self._inflating.unconsumed_tail or self._inflating.unused_data
        except zlib.error:
            raise Again("what came is said to be gzip, and is damaged") from None

    def ended(self) -> int | None:
        """The length of the file, which gzip knows, with a checksum."""
        if self._as_it_is:
            return None
        while not self._inflating.eof and self._keep(b""):
            pass
        if not self._inflating.eof:
            raise Again("the file broke off")
        return self._part.size

    def _keep(self, content: bytes) -> int:
        piece = self._inflating.decompress(content, PIECE_BYTES)
        self._part.write(piece)
        _limit(Told(None, ""), self._part)
        return len(piece)
