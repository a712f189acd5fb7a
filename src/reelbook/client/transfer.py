"""Results brought home: streamed beside their final place, checked, and only then given their name."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import os
import tempfile
from pathlib import Path
from urllib.parse import unquote_to_bytes

import httpx

from ..errors import DownloadFailed
from ..models.files import File

DEADLINE_SECONDS = 300.0
ATTEMPTS = 3
SUFFIXES = (
    (b"ftyp", 4, ".mp4"),
    (b"\x89PNG", 0, ".png"),
    (b"\xff\xd8\xff", 0, ".jpg"),
    (b"WEBP", 8, ".webp"),
    (b"GIF8", 0, ".gif"),
)


async def download(file: File, folder: Path, request_id: str) -> Path:
    """The file in this folder, under a name made of its content; a name from the service is never used."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            if file.url.startswith("data:"):
                return await asyncio.to_thread(_shelved, folder, _data(file.url))
            async with asyncio.timeout(DEADLINE_SECONDS):
                return await _streamed(file, folder)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, _Incomplete, binascii.Error) as error:
            if attempt == ATTEMPTS:
                reason = str(error) or type(error).__name__
                raise DownloadFailed(request_id, file.url[:200], reason) from None
            await asyncio.sleep(0.2 * attempt)
    raise AssertionError("the loop above returns or raises")


class _Incomplete(Exception):
    """What arrived is not the whole file."""


async def _streamed(file: File, folder: Path) -> Path:
    # A client without a key: files can live at other hosts, which must never see it.
    async with (
        httpx.AsyncClient(follow_redirects=True, max_redirects=5, timeout=30, trust_env=False) as client,
        client.stream("GET", file.url) as response,
    ):
        if response.status_code != 200:
            raise _Incomplete(f"the address answered {response.status_code}")
        digest, size = hashlib.sha256(), 0
        descriptor, name = tempfile.mkstemp(suffix=".part", dir=folder)
        part = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as out:
                async for chunk in response.aiter_bytes():
                    digest.update(chunk)
                    size += len(chunk)
                    out.write(chunk)
                out.flush()
                os.fsync(out.fileno())
            told = response.headers.get("content-length", file.file_size)
            if size == 0 or (told is not None and size != int(told)):
                raise _Incomplete(f"{size:,} bytes arrived of {told}")
            return _placed(part, folder, digest.hexdigest())
        finally:
            part.unlink(missing_ok=True)


def _shelved(folder: Path, content: bytes) -> Path:
    descriptor, name = tempfile.mkstemp(suffix=".part", dir=folder)
    with os.fdopen(descriptor, "wb") as out:
        out.write(content)
    return _placed(Path(name), folder, hashlib.sha256(content).hexdigest())


def _placed(part: Path, folder: Path, digest: str) -> Path:
    with part.open("rb") as file:
        head = file.read(16)
    suffix = next((suffix for magic, at, suffix in SUFFIXES if head[at:].startswith(magic)), ".bin")
    return part.replace(folder / f"{digest}{suffix}")


def _data(url: str) -> bytes:
    head, _, body = url.partition(",")
    return base64.b64decode(body, validate=True) if head.endswith(";base64") else unquote_to_bytes(body)
