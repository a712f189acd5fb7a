"""Reading of request bodies within limits: JSON objects and uploaded files."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO, Any

from pydantic_core import from_json
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HTTPRequest
from starlette.types import Message

from reelbook.models.file_kinds import HEAD_BYTES, sniff_kind

from . import spec_decisions
from .refusals import Refusal

MAX_DRAINED_BYTES = 256 * spec_decisions.MIB
"""How much of a body that is too large is still read: a client that is still sending would not see the response."""


async def read_body(http: HTTPRequest, media_type: str, max_bytes: int) -> bytes:
    """The body, which has to be of this type."""
    if http.headers.get("content-type", "").partition(";")[0].strip().lower() != media_type:
        words = f"The body must be {media_type}: send it with the header content-type: {media_type}."
        raise Refusal("bad_request", words)
    return b"".join([chunk async for chunk in read_limited(http, max_bytes)])


async def read_json_object(http: HTTPRequest) -> dict[str, Any]:
    """The body as a JSON object."""
    body = await read_body(http, "application/json", spec_decisions.MAX_BODY_BYTES)
    # Validating each value takes time that delays other requests, and any two values have a comma between them.
    if body.count(b",") > spec_decisions.MAX_COMMAS:
        words = (
            f"The body has more than {spec_decisions.MAX_COMMAS:,} commas, so it holds more values than are taken here."
        )
        raise Refusal("too_large", words)
    try:
        value = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        # It names a line and a column, and never contains the body.
        problem = str(error).strip().rstrip(".")[:200]
        raise Refusal("bad_request", f"The body is not well-formed JSON: {problem}.") from None
    if not isinstance(value, dict):
        raise Refusal("bad_request", "The body must be a JSON object, in braces.")
    return value


async def read_limited(http: HTTPRequest, max_bytes: int) -> AsyncIterator[bytes]:
    """The chunks of the body; raises a refusal where it exceeds the limit, or takes too long."""
    size, chunks = 0, http.stream()
    deadline = asyncio.get_running_loop().time() + spec_decisions.BODY_SECONDS
    try:
        while size <= MAX_DRAINED_BYTES:
            async with asyncio.timeout_at(deadline):
                chunk = await anext(chunks, None)
            if chunk is None:
                break
            size += len(chunk)
            if size <= max_bytes:
                yield chunk
    except ClientDisconnect:
        raise Refusal("bad_request", "The connection ended before the body did.") from None
    except TimeoutError:
        raise Refusal("bad_request", f"The body did not arrive within {spec_decisions.BODY_SECONDS:g} s.") from None
    if size > max_bytes:
        raise Refusal(
            "too_large",
            f"The body is larger than {max_bytes:,} bytes, the most that is taken here. Upload pictures as files, or make them smaller.",
        )


async def save_upload(http: HTTPRequest, path: Path) -> str:
    """Write the file of a multipart body to a path, and return the content type of its bytes."""
    if not http.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise Refusal("bad_request", "An upload is a multipart/form-data body with one file in it.")
    # The limit includes the multipart framing, so it is slightly larger than that of a file.
    body = read_limited(http, spec_decisions.MAX_UPLOAD_BYTES + 64 * 1024)

    async def receive() -> Message:
        chunk = await anext(body, b"")
        return {"type": "http.request", "body": chunk, "more_body": bool(chunk)}

    try:
        async with HTTPRequest(http.scope, receive).form(max_files=1, max_fields=100) as form:
            upload = next((part for part in form.values() if isinstance(part, UploadFile)), None)
            if upload is None:
                raise Refusal("bad_request", "The multipart body holds no file. Send one as a part with a file name.")
            if (upload.size or 0) > spec_decisions.MAX_UPLOAD_BYTES:
                most = spec_decisions.MAX_UPLOAD_BYTES // 1_000_000
                raise Refusal("too_large", f"The file is larger than {most} MB, the most that is taken here.")
            kind = sniff_kind(await upload.read(HEAD_BYTES))
            await upload.seek(0)
            await asyncio.to_thread(_copy, upload.file, path)
            return kind.content_type
    except HTTPException:
        words = "The multipart body is not well-formed, or holds more than one file."
        raise Refusal("bad_request", words) from None


def _copy(source: IO[bytes], path: Path) -> None:
    with path.open("wb") as out:
        shutil.copyfileobj(source, out)
