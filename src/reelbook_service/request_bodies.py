"""Reading of request bodies within limits: JSON objects and uploaded files."""

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
from .service_files import sniff_content_type

MAX_DRAINED_BYTES = 256 * spec_decisions.MIB
"""How much of a body that is too large is still read: a client that is still sending would not see the response."""


async def read_json_object(http: HTTPRequest) -> dict[str, Any]:
    """The body as a JSON object."""
    kind = http.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal("bad_request", "The body must be JSON: send the header content-type: application/json with it.")
    try:
        async with asyncio.timeout(spec_decisions.BODY_SECONDS):
            body = b"".join([chunk async for chunk in read_limited(http, spec_decisions.MAX_BODY_BYTES)])
    except TimeoutError:
        raise Refusal("bad_request", f"The body did not arrive within {spec_decisions.BODY_SECONDS:g} s.") from None
    # Validating each value takes time that delays other requests, and any two values have a comma between them.
    if body.count(b",") > spec_decisions.MAX_COMMAS:
        words = (
            f"The body has more than {spec_decisions.MAX_COMMAS:,} commas, so it holds more values than are taken here."
        )
        raise Refusal("too_large", words)
    try:
        value = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise Refusal("bad_request", f"The body is not well-formed JSON: {_format_parse_error(error)}.") from None
    if not isinstance(value, dict):
        raise Refusal("bad_request", "The body must be a JSON object, in braces.")
    return value


async def read_limited(http: HTTPRequest, max_bytes: int) -> AsyncIterator[bytes]:
    """The chunks of the body; raises a refusal where it exceeds the limit."""
    size = 0
    try:
        async for chunk in http.stream():
            size += len(chunk)
            if size <= max_bytes:
                yield chunk
            elif size > MAX_DRAINED_BYTES:
                break
    except ClientDisconnect:
        raise Refusal("bad_request", "The connection ended before the body did.") from None
    if size > max_bytes:
        raise Refusal(
            "too_large",
            f"The body is larger than {max_bytes:,} bytes, the most that is taken here. Upload pictures as files, or make them smaller.",
        )


async def save_upload(http: HTTPRequest, path: Path) -> str:
    """Write the first file of a multipart body to a path, and return the content type of its bytes."""
    kind, options = parse_options_header(http.headers.get("content-type", ""))
    boundary = options.get(b"boundary")
    if kind != b"multipart/form-data" or not boundary:
        raise Refusal("bad_request", "An upload is a multipart/form-data body with one file in it.")
    with path.open("wb") as out:
        writer = _FirstFile(out.write)
        # The limit includes the multipart framing, so it is slightly larger than that of a file.
        try:
            parser = MultipartParser(boundary, writer.callbacks())
            async with asyncio.timeout(spec_decisions.BODY_SECONDS):
                async for chunk in read_limited(http, spec_decisions.MAX_UPLOAD_BYTES + 64 * 1024):
                    parser.write(chunk)
            parser.finalize()
        except TimeoutError:
            raise Refusal("bad_request", f"The file did not arrive within {spec_decisions.BODY_SECONDS:g} s.") from None
        except FormParserError:
            raise Refusal("bad_request", "The multipart body is not well-formed.") from None
    if not writer.found or not writer.ended:
        raise Refusal("bad_request", "The multipart body holds no file. Send one as a part with a file name.")
    if path.stat().st_size > spec_decisions.MAX_UPLOAD_BYTES:
        raise Refusal(
            "too_large",
            f"The file is larger than {spec_decisions.MAX_UPLOAD_BYTES // 1_000_000} MB, the most that is taken here.",
        )
    with path.open("rb") as file:
        return sniff_content_type(file.read(16))


class _FirstFile:
    """Parser callbacks that write the first file part of a multipart body."""

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


def _format_parse_error(error: ValueError) -> str:
    """The parser's message, which names a line and a column and never contains the body."""
    return str(error).strip().rstrip(".")[:200]
