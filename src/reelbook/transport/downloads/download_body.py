"""Reads one response of a file host into a partial download."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Callable
from typing import Protocol

import httpx

from ..responses import parse_retry_after
from .file_validation import Declared
from .partial_download import Mismatch, PartialDownload

PIECE_BYTES = 1 << 19
MAX_BYTES = 64 << 30
MAX_UNDECLARED_BYTES = 4 << 30
"""The largest body without a declared length: some never end."""

RETRY_STATUSES = frozenset({408, 409, 425, 429})
CONTENT_RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15}|\*)")


class TemporaryFailure(Exception):
    """A retry may succeed; `wait` is the pause that the host asks for, in seconds."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason, wait)
        self.reason, self.wait = reason, wait

    def __str__(self) -> str:
        return self.reason


class PermanentFailure(Exception):
    """A retry would fail again."""


async def read_body(
    response: httpx.Response,
    part: PartialDownload,
    start: int | None,
    *,
    on_bytes: Callable[[int], None],
    check_space: Callable[[int], None],
) -> Declared:
    """Read the rest of the file into `part`, from the requested offset; returns what HTTP declares about the whole file."""
    _refuse(response)
    declared = await asyncio.to_thread(_start_part, response, part, start, check_space)
    sink = _sink(response, part)
    buffer = bytearray()
    try:
        async for piece in response.aiter_raw():
            on_bytes(len(piece))
            buffer += piece
            if len(buffer) >= PIECE_BYTES:
                full, buffer = buffer, bytearray()
                await asyncio.to_thread(sink.write, bytes(full))
                _check_limit(declared, part)
    finally:
        # Also of a response that broke off: the next attempt resumes there.
        if buffer:
            await asyncio.to_thread(sink.write, bytes(buffer))
    if isinstance(sink, _Gunzip):
        return Declared(await asyncio.to_thread(sink.finish), declared.content_type)
    if declared.length is not None and part.size != declared.length:
        raise TemporaryFailure(f"{part.size:,} of {declared.length:,} bytes arrived")
    return declared


def _refuse(response: httpx.Response) -> None:
    """Raise the error of a response without a file."""
    status = response.status_code
    if status in (200, 206):
        return
    message = f"the file host answered {status}"
    if status in RETRY_STATUSES or status >= 500 or 200 <= status < 300:
        raise TemporaryFailure(message, parse_retry_after(response.headers) or 0.0)
    if status in (412, 416):
        raise Mismatch(message)
    reason = {401: "not for us", 403: "the address has expired, or is not for us", 404: "not there", 410: "gone"}
    raise PermanentFailure(f"{message}: {reason[status]}" if status in reason else message)


def _start_part(
    response: httpx.Response, part: PartialDownload, start: int | None, check_space: Callable[[int], None]
) -> Declared:
    """What HTTP declares about the whole file; empties the part unless the response continues it."""
    validator = response.headers.get("etag")
    if response.status_code == 206:
        length = _continue_part(response, part, start, validator)
    else:
        length = _declared_length(response)
        part.start_over(None if _encoding(response) else validator, length)
    if length is not None and length > MAX_BYTES:
        raise PermanentFailure(f"it is said to have {length:,} bytes, more than any result has")
    if length is not None:
        check_space(length - part.size)
    return Declared(length, response.headers.get("content-type", ""))


def _continue_part(
    response: httpx.Response, part: PartialDownload, start: int | None, validator: str | None
) -> int | None:
    found = CONTENT_RANGE.fullmatch(response.headers.get("content-range", "").strip())
    if found is None or _encoding(response):
        raise Mismatch("a part of the file came that does not say which")
    first, total = int(found[1]), None if found[3] == "*" else int(found[3])
    if start is None:
        if first:
            raise Mismatch("a part of the file came where the whole was asked for")
        part.start_over(validator, total)
        return total
    if first != start:
        raise Mismatch(f"the file was asked for from byte {start:,}, and came from byte {first:,}")
    # A host must report the version that it continues, and it must be the one on disk.
    if validator != part.validator or (None not in (total, part.total) and total != part.total):
        raise Mismatch("the file has changed since the first part of it arrived")
    return total if total is not None else part.total


def _declared_length(response: httpx.Response) -> int | None:
    if _encoding(response) or "transfer-encoding" in response.headers:
        return None
    length = response.headers.get("content-length", "")
    return int(length) if length.isdecimal() else None


def _check_limit(declared: Declared, part: PartialDownload) -> None:
    if declared.length is None and part.size > MAX_UNDECLARED_BYTES:
        raise PermanentFailure(f"it does not end: {part.size:,} bytes arrived")


def _encoding(response: httpx.Response) -> str:
    """The content encoding of the bytes, though identity was requested; empty for none."""
    encoding: str = response.headers.get("content-encoding", "").strip().lower()
    return "" if encoding == "identity" else encoding


class _Sink(Protocol):
    def write(self, content: bytes) -> None: ...


def _sink(response: httpx.Response, part: PartialDownload) -> _Sink:
    encoding = _encoding(response)
    if encoding in ("gzip", "x-gzip"):
        return _Gunzip(part)
    if encoding:
        raise TemporaryFailure(f"the file came wrapped as {encoding[:20]!r}, though we asked for it as it is")
    return part


class _Gunzip:
    """Decompresses bytes into a part, in pieces: a small body may decompress to a huge one."""

    def __init__(self, part: PartialDownload) -> None:
        self._part = part
        self._decompressor = zlib.decompressobj(wbits=31)
        self._is_plain = False

    def write(self, content: bytes) -> None:
        # Some hosts declare gzip for everything, also for what they send uncompressed.
        self._is_plain = self._is_plain or (self._part.size == 0 and not content.startswith(b"\x1f\x8b"))
        if self._is_plain:
            self._part.write(content)
            return
        try:
            while content:
                if self._decompressor.eof:
                    self._decompressor = zlib.decompressobj(wbits=31)
                self._decompress(content)
                content = self._decompressor.unconsumed_tail or self._decompressor.unused_data
        except zlib.error:
            raise TemporaryFailure("what came is said to be gzip, and is damaged") from None

    def finish(self) -> int | None:
        """The length of the decompressed file, which gzip verifies by a checksum; None if it was not gzip."""
        if self._is_plain:
            return None
        while not self._decompressor.eof and self._decompress(b""):
            pass
        if not self._decompressor.eof:
            raise TemporaryFailure("the file broke off")
        return self._part.size

    def _decompress(self, content: bytes) -> int:
        piece = self._decompressor.decompress(content, PIECE_BYTES)
        self._part.write(piece)
        _check_limit(Declared(None, ""), self._part)
        return len(piece)
