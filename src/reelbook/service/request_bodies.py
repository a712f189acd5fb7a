"""Bodies of requests, read with limits: JSON objects and uploaded files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pydantic_core import from_json
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HTTPRequest

from . import spec_decisions
from .refusals import Refusal
from .service_files import sniffed_type

MAX_DRAINED = 256 * spec_decisions.MIB
"""How much of a body that is too large is still read: a client that is sending would not see our answer."""


async def json_object(http: HTTPRequest) -> dict[str, Any]:
    """The body as a JSON object."""
    kind = http.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal("bad_request", "The body must be JSON: send the header content-type: application/json with it.")
    try:
        async with asyncio.timeout(spec_decisions.BODY_SECONDS):
            body = b"".join([chunk async for chunk in limited(http, spec_decisions.MAX_BODY)])
    except TimeoutError:
        raise Refusal("bad_request", f"The body did not arrive within {spec_decisions.BODY_SECONDS:g} s.") from None
    # Reading and judging each value takes time that others wait, and there is a comma between any two.
    if body.count(b",") > spec_decisions.MAX_COMMAS:
        words = (
            f"The body has more than {spec_decisions.MAX_COMMAS:,} commas, so it holds more values than are taken here."
        )
        raise Refusal("too_large", words)
    try:
        value = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise Refusal("bad_request", f"The body is not well-formed JSON: {_where(error)}.") from None
    if not isinstance(value, dict):
        raise Refusal("bad_request", "The body must be a JSON object, in braces.")
    return value


async def limited(http: HTTPRequest, most: int) -> AsyncIterator[bytes]:
    """The body piece by piece, refused when it is too long."""
    size = 0
    try:
        async for chunk in http.stream():
            size += len(chunk)
            if size <= most:
                yield chunk
            elif size > MAX_DRAINED:
                break
    except ClientDisconnect:
        raise Refusal("bad_request", "The connection ended before the body did.") from None
    if size > most:
        raise Refusal(
            "too_large",
            f"The body is larger than {most:,} bytes, the most that is taken here. Upload pictures as files, or make them smaller.",
        )


async def uploaded_file(http: HTTPRequest, path: Path) -> str:
    """Write the first file of a multipart body to a path; says its content type, by its bytes."""
    kind, options = parse_options_header(http.headers.get("content-type", ""))
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise Refusal("bad_request", "An upload is a multipart/form-data body with one file in it.")
    with path.open("wb") as out:
        writer = _FirstFile(out.write)
        # The limit counts the wrapping as well, hence a little more than a file may have.
        try:
            parser = MultipartParser(boundary, writer.callbacks())
            async with asyncio.timeout(spec_decisions.BODY_SECONDS):
                async for chunk in limited(http, spec_decisions.MAX_UPLOAD + 64 * 1024):
                    parser.write(chunk)
            parser.finalize()
        except TimeoutError:
            raise Refusal("bad_request", f"The file did not arrive within {spec_decisions.BODY_SECONDS:g} s.") from None
        except FormParserError:
            raise Refusal("bad_request", "The multipart body is not well-formed.") from None
    if not writer.found or not writer.ended:
        raise Refusal("bad_request", "The multipart body holds no file. Send one as a part with a file name.")
    if path.stat().st_size > spec_decisions.MAX_UPLOAD:
        raise Refusal(
            "too_large",
            f"The file is larger than {spec_decisions.MAX_UPLOAD // 1_000_000} MB, the most that is taken here.",
        )
    with path.open("rb") as file:
        return sniffed_type(file.read(16))


class _FirstFile:
    """Follows a multipart body and passes on the bytes of the first part that is a file."""

    def __init__(self, write: Any) -> None:
        self._write = write
        self.found = self.ended = self._inside = False
        self._header = self._value = b""
        self._disposition = b""

    def callbacks(self) -> Any:
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._field,
            "on_header_value": self._text,
            "on_header_end": self._header_end,
            "on_headers_finished": self._headers_finished,
            "on_part_data": self._data,
            "on_part_end": self._end,
        }

    def _begin(self) -> None:
        self._header = self._value = self._disposition = b""

    def _field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _text(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header = self._value = b""

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._inside = not self.found and b"filename" in options
        self.found = self.found or self._inside

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._inside:
            self._write(data[start:end])

    def _end(self) -> None:
        self.ended = self.ended or self._inside
        self._inside = False


def _where(error: ValueError) -> str:
    """The parser's finding, which names a line and a column and never shows the body."""
    return str(error).strip().rstrip(".")[:200]
