"""Downloads result files: right after a run, complete or not at all, and checked by their bytes.

Whether it opens decides: a picture is decoded, and of a video all packets that its index lists must be there. Then the
length that HTTP declared for these bytes. `file_size` of the File object, a hint by another program at another time, counts
only where the other two say nothing. A content type never decides what a file is; it only leads to rejection, as of a
web page instead of a video.
"""

from __future__ import annotations

import asyncio
import io
import mimetypes
import os
import re
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

import httpx

from ..errors import DownloadFailed, ReelbookError
from ..media.bounded_open import MAX_PIXELS, PICTURES
from ..media.metadata.file_marks import read_marks
from ..models.base import File
from ..models.file_kinds import BINARY, EMPTY, HEAD_BYTES, MP4, PAGE, FileKind, sniff_kind
from ..storage.shelf import Shelf, hash_file
from ..util.data_address import DataAddressError, is_data_address, parse_data_address
from .answers import get_pause
from .http import load_certificates

MAX_CONNECTIONS, MAX_ATTEMPTS = 4, 5
PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.5, 15.0
STALL_SECONDS, MIN_BYTES = 20.0, 16_384
"""How many bytes must arrive within this time; a slower host counts as stalled."""
CONTENT_RANGE = re.compile(r"bytes (\d{1,15})-\d{1,15}/(\d{1,15}|\*)")
TO_DECODE = frozenset({".png", ".jpg", ".gif", ".webp", ".avif", ".tif"})


class Failure(Exception):
    """Why a file has not arrived. `is_final`: another attempt would change nothing."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class DownloadedFile:
    """A complete file on the shelf, with the type of its bytes, whatever was declared."""

    sha256: str
    path: Path
    size: int
    content_type: str
    marks: str
    """The marks that it carries, as words."""


class _Part:
    """The bytes of a file that have arrived, in a file of their own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115
        self.start_over()

    def start_over(self, etag: str = "", total: int | None = None) -> None:
        """Drop what has arrived, because the whole file comes now; `total` is its length, where the host says it."""
        self.file.seek(0)
        self.file.truncate()
        self.size, self.etag, self.total = 0, etag, total

    @property
    def is_resumable(self) -> bool:
        """Whether the rest can be asked for: the host has given a strong name to this version of the file."""
        return self.size > 0 and self.etag.startswith('"')


class Downloader:
    """Downloads files to the shelf, a few at a time. It has no key, so no file host can learn one."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)
        self._client: httpx.AsyncClient | None = None

    async def download(self, file: File, request_id: str) -> DownloadedFile:
        """Download a file to the shelf; any failure raises `DownloadFailed`."""
        try:
            with self._shelf.new_part(file.file_size or 0) as path:
                part = _Part(path)
                with part.file:
                    if is_data_address(file.url):
                        return await asyncio.to_thread(self._store, file, part)
                    return await self._download(file, part)
        except DataAddressError as error:
            reason = f"the answer holds it as a data: address {error}"
        except (Failure, ReelbookError) as error:
            reason = str(error).rstrip(".")
        raise DownloadFailed(request_id, _format_url(file.url), reason)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def _download(self, file: File, part: _Part) -> DownloadedFile:
        """Attempt the download until it succeeds or a limit is reached; each attempt resumes where the last one broke off."""
        failures = 0
        while True:
            try:
                async with self._slots:
                    await self._attempt(file.url, part)
                    return await asyncio.to_thread(self._store, file, part)
            except Failure as failure:
                failures += 1
                if failure.is_final or failures == MAX_ATTEMPTS:
                    raise
            await asyncio.sleep(get_pause(failures, first=PAUSE_SECONDS, most=MAX_PAUSE_SECONDS))

    async def _attempt(self, url: str, part: _Part) -> None:
        """One request with its redirects, as long as enough bytes arrive."""
        clock, unmarked = asyncio.get_running_loop().time, 0
        headers = {"range": f"bytes={part.size}-", "if-range": part.etag} if part.is_resumable else {}
        try:
            async with (
                asyncio.timeout(STALL_SECONDS) as timeout,
                self._open_client().stream("GET", url, headers=headers) as response,
            ):
                _start_part(response, part)
                # Unpacked, because some hosts compress what was asked for as it is.
                async for piece in response.aiter_bytes():
                    part.size += part.file.write(piece)
                    unmarked += len(piece)
                    if unmarked >= MIN_BYTES:
                        unmarked = 0
                        timeout.reschedule(clock() + STALL_SECONDS)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol):
            raise Failure("files are fetched over http and https only", is_final=True) from None
        except (TimeoutError, httpx.TimeoutException):
            raise Failure(f"its host was silent or too slow for {STALL_SECONDS:g} s") from None
        except httpx.HTTPError as error:
            is_unanswered = isinstance(error, httpx.ConnectError)
            raise Failure("nobody answered there" if is_unanswered else "the connection broke off") from None
        if part.total not in (None, part.size):
            raise Failure(f"{part.size:,} of {part.total:,} bytes arrived")

    def _store(self, file: File, part: _Part) -> DownloadedFile:
        if is_data_address(file.url):
            part.size = part.total = part.file.write(parse_data_address(file.url, padded=True))
        part.file.flush()
        try:
            with part.path.open("rb") as content:
                kind = validate(content, file, part.total)
        except Failure:
            part.start_over()
            raise
        part.file.close()
        sha256 = hash_file(part.path)
        path = self._shelf.place(part.path, sha256, kind.suffix)
        return DownloadedFile(sha256, path, part.size, kind.content_type, str(read_marks(path)))

    def _open_client(self) -> httpx.AsyncClient:
        # No connection limit, because httpx can still count those of cancelled requests; the semaphore limits them.
        self._client = self._client or httpx.AsyncClient(
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            verify=load_certificates(),
            trust_env=False,
            headers={"user-agent": "reelbook", "accept": "*/*", "accept-encoding": "identity"},
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=MAX_CONNECTIONS),
            timeout=httpx.Timeout(STALL_SECONDS, connect=10.0),
            follow_redirects=True,
            max_redirects=5,
        )
        return self._client


def _start_part(response: httpx.Response, part: _Part) -> None:
    """Empty the part, unless the response continues it; raises `Failure` for a response without a file."""
    headers, status = response.headers, response.status_code
    if status == 206:
        parts = CONTENT_RANGE.fullmatch(headers.get("content-range", "").strip())
        if parts is None or int(parts[1]) != part.size or (part.size and headers.get("etag") != part.etag):
            part.start_over()
            raise Failure("another part of the file came than was asked for")
        part.total = part.total if parts[2] == "*" else int(parts[2])
    elif status == 200:
        length = headers.get("content-length", "")
        # That of compressed bytes says nothing, and neither do their parts.
        is_plain = headers.get("content-encoding", "identity") == "identity"
        total = int(length) if is_plain and length.isdecimal() else None
        part.start_over(headers.get("etag", "") if is_plain else "", total)
    else:
        is_passing = status < 300 or status in (408, 409, 412, 416, 425, 429) or status >= 500
        words = " (the address has expired, or is not for us)" if status in (401, 403) else ""
        raise Failure(f"the file host answered {status}{words}", is_final=not is_passing)


def _format_url(url: str) -> str:
    """A URL for messages, without its query and credentials, which can grant access."""
    return "a data: address" if is_data_address(url) else re.sub(r"//[^/]*@", "//", url.partition("?")[0])[:200]


def validate(content: BinaryIO, file: File, length: int | None) -> FileKind:
    """The kind of a complete file; raises `Failure` for one that is incomplete or a text in place of a file.

    `length` is what HTTP, or a `data:` address, declares for these bytes.
    """
    size = content.seek(0, io.SEEK_END)
    content.seek(0)
    kind, expected = sniff_kind(content.read(HEAD_BYTES)), _declared_type(file)
    is_text = expected.startswith("text/") or expected.endswith(("xml", "json", "yaml"))
    reason = ""
    if kind == EMPTY:
        reason = "it is empty"
    elif length not in (None, size):
        reason = f"{size:,} of {length:,} bytes arrived"
    elif kind.content_type.startswith("text/") and not is_text:
        # Failing hosts may answer 200 with a page.
        reason = f"{'a web page' if kind == PAGE else 'a text'} came instead of {expected or 'a file'}"
    else:
        try:
            is_whole = _is_whole(content, kind)
        except Exception:
            # Decoders raise anything for a damaged file.
            reason = f"it breaks off, or is damaged: it does not open as {kind.content_type}"
        else:
            if not is_whole and length is None and file.file_size != size:
                reason = "its host names no length, and such a file does not show whether it is whole"
    if reason:
        raise Failure(reason)
    return kind


def _declared_type(file: File) -> str:
    """The content type that the service declares, or that a file name implies; empty for neither."""
    declared = (file.content_type or "").partition(";")[0].strip().lower()
    if declared not in ("", BINARY.content_type):
        return declared
    names = (file.file_name or "", "" if is_data_address(file.url) else urlsplit(file.url).path)
    return next(filter(None, (mimetypes.guess_type(name.lower())[0] for name in names)), "")


def _is_whole(content: BinaryIO, kind: FileKind) -> bool:
    """Whether a file opens to its end; false where nothing here can tell, and any error for a damaged one."""
    content.seek(0)
    if kind.suffix in TO_DECODE:
        from PIL import Image

        with Image.open(content, formats=PICTURES) as picture:
            if picture.width * picture.height > MAX_PIXELS:
                return False
            for number in range(min(getattr(picture, "n_frames", 1), 500)):
                picture.seek(number)
                picture.load()
        return True
    if kind != MP4:
        return False
    import av

    with av.open(content, "r", format="mp4") as container:
        stream = container.streams.video[0]
        listed, sizes = stream.frames, [0 if packet.is_corrupt else packet.size for packet in container.demux(stream)]
    if sum(size > 0 for size in sizes) < listed:
        raise ValueError("packets are missing")
    content.seek(-16, io.SEEK_END)
    # One in fragments lists none, but may have an index behind them.
    return listed > 0 or content.read()[4:8] == b"mfro"
