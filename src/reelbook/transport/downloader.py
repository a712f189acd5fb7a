"""Downloads result files: right after a run, complete or not at all, and validated by their bytes."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
import re
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from ..errors import DownloadFailed, ReelbookError
from ..models.base import File
from ..storage.shelf import Shelf
from ..util.data_address import DataAddressError, is_data_address, parse_data_address
from .answers import parse_retry_after
from .file_validation import Damaged, validate
from .http import MAX_RETRY_AFTER_SECONDS, get_pause, trusted_certificates

MAX_CONNECTIONS = 4
MAX_ATTEMPTS = 6
"""How often a download may fail. A host that stalls and a file that is damaged count twice: a cell waits for it, and the
file can be downloaded another time."""
PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.3, 15.0
STALL_SECONDS, MIN_BYTES = 20.0, 16_384
"""How many bytes must arrive within this time; a slower host counts as stalled."""
CONNECT_SECONDS = 10.0
QUIET_SECONDS = 3.0
"""After so long without `MIN_BYTES`, the progress text reports the wait."""
TOTAL_SECONDS = 3600.0
"""How long one file may take."""
PROGRESS_BYTES = 1 << 20
"""An attempt that received so much resets the count of failures, even if it broke off."""
MAX_REDIRECTS = 5
MAX_BYTES = 8 << 30
"""The largest file; some never end."""
RETRY_STATUSES = frozenset({408, 409, 412, 416, 425, 429})
REFUSALS = {401: "not for us", 403: "the address has expired, or is not for us", 404: "not there", 410: "gone"}
CONTENT_RANGE = re.compile(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15}|\*)")


class TemporaryFailure(Exception):
    """A retry may succeed; `wait` is the pause that the host asks for, in seconds."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class PermanentFailure(Exception):
    """A retry would fail again."""


@dataclass(frozen=True, slots=True)
class DownloadedFile:
    """A complete file on the shelf."""

    sha256: str
    path: Path
    size: int
    content_type: str
    """The type of its bytes, whatever was declared."""


class _Part:
    """The bytes of a file that have arrived, in a file of their own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.progress_at = time.monotonic()
        """When `MIN_BYTES` last arrived."""
        self._file = open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115
        self.start_over()

    def start_over(self, validator: str | None = None, total: int | None = None) -> None:
        """Drop what has arrived, because the whole file comes now."""
        self._file.seek(0)
        self._file.truncate()
        self._hash, self.size = hashlib.sha256(), 0
        self.validator, self.total = validator, total
        """The name that the host gives to this version of the file, and its length, where the host says them."""

    def write(self, content: bytes) -> None:
        self._file.write(content)
        self._hash.update(content)
        self.size += len(content)
        if self.size > MAX_BYTES:
            raise PermanentFailure(f"it does not end: {self.size:,} bytes arrived")

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    @property
    def is_resumable(self) -> bool:
        """Whether the rest can be asked for: the host has given a strong name to this version of the file."""
        return self.size > 0 and self.validator is not None and not self.validator.startswith("W/")

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    @property
    def text(self) -> str:
        """How much has arrived, and for how long the host has been too slow."""
        total = f" of {self.total / 1000:,.0f}" if self.total else ""
        here = f"{self.size / 1000:,.0f}{total} kB" if self.size else ""
        quiet = time.monotonic() - self.progress_at
        waits = f"waiting for its host for {quiet:.0f} s" if quiet > QUIET_SECONDS else ""
        return ", ".join(filter(None, (here, waits)))


class Downloader:
    """Downloads files to the shelf, a few at a time. It has no key, so no file host can learn one."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._active: dict[tuple[str, str], _Part] = {}
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)
        self._client: httpx.AsyncClient | None = None

    async def download(self, file: File, request_id: str) -> DownloadedFile:
        """Download a file to the shelf; any failure raises `DownloadFailed`."""
        wanted = file.file_size or 0
        try:
            if is_data_address(file.url):
                return await asyncio.to_thread(self._store_data, file)
            part = _Part(self._shelf.part(uuid.uuid4().hex))
            self._active[request_id, file.url] = part
            try:
                return await self._download(file, part)
            finally:
                wanted = max((part.total or wanted or part.size) - part.size, 0)
                self._active.pop((request_id, file.url), None)
                part.close()
                part.path.unlink(missing_ok=True)
        except OSError as error:
            reason = self._shelf.format_disk_error(error, wanted)
            raise DownloadFailed(request_id, _format_url(file.url), reason) from None
        except (PermanentFailure, Damaged, ReelbookError) as error:
            raise DownloadFailed(request_id, _format_url(file.url), str(error)) from None

    def format_progress(self, request_id: str) -> str:
        """The progress of a run's downloads as text; empty for none."""
        return next((part.text for (run, _), part in [*self._active.items()] if run == request_id), "")

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def _download(self, file: File, part: _Part) -> DownloadedFile:
        """Attempt the download until it succeeds or a limit is reached; each attempt resumes where the last one broke off."""
        failures, deadline = 0, time.monotonic() + TOTAL_SECONDS
        while True:
            size = part.size
            async with self._slots:
                try:
                    await self._attempt(file.url, part)
                    return await asyncio.to_thread(self._store, file, part)
                except (httpx.InvalidURL, httpx.UnsupportedProtocol):
                    raise PermanentFailure(
                        f"files are fetched over http and https only, and not from {_format_url(file.url)!r}"
                    ) from None
                except (TemporaryFailure, httpx.HTTPError, TimeoutError, Damaged) as error:
                    reason, wait = _reason(error), getattr(error, "wait", 0.0)
                    weight = 2 if isinstance(error, (TimeoutError, httpx.TimeoutException, Damaged)) else 1
                    if isinstance(error, Damaged):
                        part.start_over()
            if part.is_resumable and part.size - size >= PROGRESS_BYTES:
                failures = 0
            pause = max(get_pause(failures, first=PAUSE_SECONDS, most=MAX_PAUSE_SECONDS), wait)
            failures += weight
            if wait > MAX_RETRY_AFTER_SECONDS:
                raise PermanentFailure(f"{reason}, and asks to wait {wait:,.0f} s")
            if failures >= MAX_ATTEMPTS or time.monotonic() + pause > deadline:
                raise PermanentFailure(reason)
            await _sleep(pause)

    async def _attempt(self, url: str, part: _Part) -> None:
        """One request with its redirects, as long as enough bytes arrive."""
        clock, client, headers = asyncio.get_running_loop().time, self._open_client(), {}
        if part.is_resumable:
            headers = {"range": f"bytes={part.size}-", "if-range": part.validator or ""}
        async with asyncio.timeout(STALL_SECONDS) as timeout, client.stream("GET", url, headers=headers) as response:

            def on_progress() -> None:
                part.progress_at = time.monotonic()
                timeout.reschedule(clock() + STALL_SECONDS)

            await self._read(response, part, on_progress)

    async def _read(self, response: httpx.Response, part: _Part, on_progress: Callable[[], None]) -> None:
        """Read a response into the part."""
        _refuse(response)
        _start_part(response, part)
        if part.total is not None:
            self._shelf.check_space(part.total - part.size)
        unmarked = 0
        # Unpacked, because some hosts compress what was asked for as it is.
        async for piece in response.aiter_bytes():
            part.write(piece)
            unmarked += len(piece)
            if unmarked >= MIN_BYTES:
                unmarked = 0
                on_progress()
        if part.total not in (None, part.size):
            raise TemporaryFailure(f"{part.size:,} of {part.total:,} bytes arrived")

    def _store(self, file: File, part: _Part) -> DownloadedFile:
        part.flush()
        with part.path.open("rb") as content:
            kind = validate(content, file, part.total)
        part.close()
        path = self._shelf.place(part.path, part.sha256, kind.suffix)
        return DownloadedFile(part.sha256, path, part.size, kind.content_type)

    def _store_data(self, file: File) -> DownloadedFile:
        """Store a file that the answer itself contains as a `data:` address."""
        try:
            content = parse_data_address(file.url, padded=True)
        except DataAddressError as error:
            raise PermanentFailure(f"the answer holds it as a data: address {error}") from None
        kind = validate(io.BytesIO(content), file, len(content))
        path = self._shelf.keep(content, kind.suffix)
        return DownloadedFile(hashlib.sha256(content).hexdigest(), path, len(content), kind.content_type)

    def _open_client(self) -> httpx.AsyncClient:
        # Nothing of this machine is sent: no key, no cookie, no login from .netrc. No connection limit either,
        # because httpx can still count those of cancelled requests; the semaphore limits them.
        self._client = self._client or httpx.AsyncClient(
            headers={"user-agent": "reelbook", "accept": "*/*", "accept-encoding": "identity"},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=MAX_CONNECTIONS),
            timeout=httpx.Timeout(STALL_SECONDS, connect=CONNECT_SECONDS),
            verify=trusted_certificates(),
            follow_redirects=True,
            max_redirects=MAX_REDIRECTS,
            trust_env=False,
        )
        return self._client


def _refuse(response: httpx.Response) -> None:
    """Raise the error of a response without a file."""
    status = response.status_code
    if status in (200, 206):
        return
    message = f"the file host answered {status}"
    if status in RETRY_STATUSES or status >= 500 or 200 <= status < 300:
        raise TemporaryFailure(message, parse_retry_after(response.headers) or 0.0)
    raise PermanentFailure(f"{message}: {REFUSALS[status]}" if status in REFUSALS else message)


def _start_part(response: httpx.Response, part: _Part) -> None:
    """Empty the part, unless the response continues it."""
    headers = response.headers
    if response.status_code == 206:
        parts = CONTENT_RANGE.fullmatch(headers.get("content-range", "").strip())
        if parts is None or int(parts[1]) != part.size or (part.size and headers.get("etag") != part.validator):
            part.start_over()
            raise TemporaryFailure("another part of the file came than was asked for")
        part.total = part.total if parts[3] == "*" else int(parts[3])
    elif headers.get("content-encoding", "identity") == "identity":
        length = headers.get("content-length", "")
        part.start_over(headers.get("etag"), int(length) if length.isdecimal() else None)
    else:
        part.start_over()  # The length is that of the compressed bytes.


async def _sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


def _format_url(url: str) -> str:
    """A URL for messages, without its query and credentials, which can grant access."""
    if is_data_address(url):
        return f"{url[:40].partition(',')[0]},…"
    try:
        parts = urlsplit(url)
    except ValueError:
        return url[:60]
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"[:200]


def _reason(error: Exception) -> str:
    match error:
        case TemporaryFailure() | Damaged():
            return str(error)
        case TimeoutError() | httpx.TimeoutException():
            return f"its host was silent or too slow for {STALL_SECONDS:g} s"
        case httpx.ConnectError():
            return "nobody answered there"
        case httpx.TooManyRedirects():
            return f"it was redirected more than {MAX_REDIRECTS} times"
        case httpx.DecodingError():
            return "what came is said to be compressed, and is damaged"
    return "the connection broke off"
