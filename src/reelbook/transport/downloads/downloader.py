"""Downloads result files: right after a run, complete or not at all, and validated by their bytes."""

from __future__ import annotations

import asyncio
import hashlib
import io
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import httpx

from ...errors import DownloadFailed, ReelbookError
from ...models.service_file import File
from ...util.data_address import DataAddressError, is_data_address, parse_data_address
from ..exchange import trusted_certificates
from .allowed_hosts import AllowedHosts
from .container_format import Damaged
from .download_body import PermanentFailure, TemporaryFailure, read_body
from .file_validation import Declared, validate
from .partial_download import Mismatch, PartialDownload

MAX_CONNECTIONS = 4
MAX_ATTEMPTS = 6
PAUSE_SECONDS, PAUSE_GROWTH, MAX_PAUSE_SECONDS = 0.3, 3.0, 15.0
STALL_SECONDS, MIN_BYTES = 20.0, 16_384
"""How many bytes must arrive within this time; a slower host counts as stalled."""
MAX_STALLS = 3
"""How often a host may stall before the download fails: the file can be downloaded another time, and a cell waits for it."""
CONNECT_SECONDS = 10.0
QUIET_SECONDS = 3.0
"""After so long without `MIN_BYTES`, the progress text reports the wait."""
TOTAL_SECONDS, MIN_BYTES_PER_SECOND = 600.0, 50_000
"""How long one file may take: so many seconds, and one more per so many bytes."""
PROGRESS_BYTES = 1 << 20
"""An attempt that received so much resets the count of failures, even if it broke off."""
MAX_REDIRECTS = 5
MAX_SAME_BYTES = 3
"""How often the same invalid bytes are downloaded before the file counts as invalid."""


class MediaStore(Protocol):
    """Where files are stored. `part` and `place` may raise OSError, which `format_disk_error` turns into a sentence."""

    def part(self, key: str) -> Path: ...
    def place(self, part: Path, sha256: str, suffix: str) -> Path: ...
    def keep(self, content: bytes, suffix: str) -> Path: ...
    def check_space(self, wanted: int) -> None: ...
    def format_disk_error(self, error: OSError, wanted: int) -> str: ...


@dataclass(frozen=True, slots=True)
class DownloadedFile:
    """A complete file on the shelf."""

    sha256: str
    path: Path
    size: int
    content_type: str
    """The type of its bytes, whatever was declared."""


@dataclass(slots=True)
class ActiveDownload:
    """A download in progress."""

    part: PartialDownload
    progress_at: float = field(default_factory=time.monotonic)
    """When `MIN_BYTES` last arrived."""

    @property
    def text(self) -> str:
        """How much has arrived, and for how long the host has been too slow."""
        total = f" of {self.part.total / 1000:,.0f}" if self.part.total else ""
        here = f"{self.part.size / 1000:,.0f}{total} kB" if self.part.size else ""
        quiet = time.monotonic() - self.progress_at
        waits = f"waiting for its host for {quiet:.0f} s" if quiet > QUIET_SECONDS else ""
        return ", ".join(filter(None, (here, waits)))


class Downloader:
    """Downloads files to the shelf, a few at a time. It has no key, so no file host can learn one.

    `service` returns the service's own address, the only host of a private network that is allowed by default.
    """

    def __init__(self, shelf: MediaStore, service: Callable[[], str]) -> None:
        self._shelf = shelf
        self._hosts = AllowedHosts(service)
        self._active: dict[tuple[str, str], ActiveDownload] = {}
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)
        self._client: httpx.AsyncClient | None = None

    async def download(self, file: File, request_id: str) -> DownloadedFile:
        """Download a file to the shelf; any failure raises `DownloadFailed`."""
        try:
            if is_data_address(file.url):
                return await asyncio.to_thread(self._store_data, file)
            part = await self._acquire(_key(request_id, file.url))
            active = self._active[request_id, file.url] = ActiveDownload(part)
            try:
                return await self._download(file, part, active)
            except OSError as error:
                wanted = max((part.total or file.file_size or part.size) - part.size, 0)
                raise PermanentFailure(self._shelf.format_disk_error(error, wanted)) from None
            finally:
                self._active.pop((request_id, file.url), None)
                if not part.is_released:
                    # In a thread: after a cancellation, another thread may still be writing, and this waits for it.
                    await asyncio.shield(asyncio.to_thread(part.release))
        except OSError as error:
            raise DownloadFailed(request_id, _format_url(file.url), self._shelf.format_disk_error(error, 0)) from None
        except (PermanentFailure, Damaged, ReelbookError) as error:
            raise DownloadFailed(request_id, _format_url(file.url), str(error)) from None

    async def _acquire(self, key: str) -> PartialDownload:
        """Lock the part of this key and return it; after a cancellation it is released, as nobody else knows of it."""
        acquiring = asyncio.ensure_future(asyncio.to_thread(PartialDownload.acquire, self._shelf.part, key))
        try:
            return await asyncio.shield(acquiring)
        except asyncio.CancelledError:
            with suppress(OSError):
                await asyncio.to_thread((await acquiring).release)
            raise

    def format_progress(self, request_id: str) -> str:
        """The progress of a run's downloads as text; empty for none."""
        return next((one.text for (run, _), one in [*self._active.items()] if run == request_id), "")

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def _download(self, file: File, part: PartialDownload, active: ActiveDownload) -> DownloadedFile:
        """Attempt the download until it succeeds or a limit is reached; each attempt resumes where the last one broke off."""
        clock = asyncio.get_running_loop().time
        failures, stalls, used = 0, 0, 0.0
        invalid: Counter[str] = Counter()
        while True:
            size, wait = part.size, 0.0
            # The time spent waiting for a connection does not count.
            async with self._slots:
                began = clock()
                try:
                    declared = await self._attempt(file.url, part, used, active)
                    return await asyncio.to_thread(self._store, file, part, declared)
                except (TemporaryFailure, httpx.HTTPError, httpx.InvalidURL, TimeoutError, Mismatch, Damaged) as error:
                    reason = _reason(error)
                    stalls += isinstance(error, (TimeoutError, httpx.TimeoutException))
                    if isinstance(error, Damaged):
                        invalid[part.sha256] += 1
                    if isinstance(error, (Damaged, Mismatch)):
                        await asyncio.to_thread(part.start_over)
                    wait = error.wait if isinstance(error, TemporaryFailure) else 0.0
                used += clock() - began
            if part.is_resumable and part.size - size >= PROGRESS_BYTES:
                failures = stalls = 0
            failures += 1
            if failures >= MAX_ATTEMPTS or stalls >= MAX_STALLS or max(invalid.values(), default=0) >= MAX_SAME_BYTES:
                raise PermanentFailure(reason)
            # Jitter, so that many that failed together do not retry together.
            pause = min(PAUSE_SECONDS * PAUSE_GROWTH ** (failures - 1), MAX_PAUSE_SECONDS) * random.uniform(0.5, 1.5)
            used += max(pause, wait)
            if used >= _allowed_seconds(part):
                request = f", and asks to wait {wait:,.0f} s" if wait > pause else ""
                raise PermanentFailure(
                    f"{reason}{request}; {_allowed_seconds(part) / 60:,.0f} minutes are all we give it"
                )
            await _sleep(max(pause, wait))

    async def _attempt(self, url: str, part: PartialDownload, used: float, active: ActiveDownload) -> Declared:
        """One request with its redirects, as long as enough bytes arrive."""
        clock = asyncio.get_running_loop().time
        began, marked, count = clock(), 0, 0

        def on_bytes(more: int) -> None:
            nonlocal marked, count
            count += more
            if count - marked >= MIN_BYTES:
                marked, active.progress_at = count, time.monotonic()
                timeout.reschedule(min(clock() + STALL_SECONDS, began + _allowed_seconds(part) - used))

        start = await asyncio.to_thread(part.prepare_resume) if part.is_resumable else None
        headers = {} if start is None else {"range": f"bytes={start}-", "if-range": part.validator or ""}
        async with asyncio.timeout(min(STALL_SECONDS, _allowed_seconds(part) - used)) as timeout:
            for _ in range(MAX_REDIRECTS + 1):
                async with self._open(_parse_web_address(url), headers) as response:
                    if not response.has_redirect_location:
                        return await read_body(
                            response, part, start, on_bytes=on_bytes, check_space=self._shelf.check_space
                        )
                    # By the name in the URL: the response has only the IP address of the connection.
                    url = str(httpx.URL(url).join(response.headers["location"]))
        raise TemporaryFailure(f"it was redirected more than {MAX_REDIRECTS} times")

    @asynccontextmanager
    async def _open(self, url: httpx.URL, headers: Mapping[str, str]) -> AsyncIterator[httpx.Response]:
        """The response of the first allowed IP address that accepts a connection."""
        client = self._client = self._client or _client()
        tries = await self._hosts.resolve_requests(url)
        if not tries:
            raise TemporaryFailure("its host has no address")
        for place, one in enumerate(tries, 1):
            request = client.build_request(
                "GET", one.url, headers={**headers, **one.headers}, extensions=one.extensions
            )
            try:
                response = await client.send(request, stream=True)
                break
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if place == len(tries):
                    raise
        try:
            yield response
        finally:
            await response.aclose()

    def _store(self, file: File, part: PartialDownload, declared: Declared) -> DownloadedFile:
        with part.path.open("rb") as content:
            kind = validate(content, file, declared)
        path = part.move_to_shelf(lambda path, sha256: self._shelf.place(path, sha256, kind.suffix))
        part.release()
        return DownloadedFile(part.sha256, path, part.size, kind.content_type)

    def _store_data(self, file: File) -> DownloadedFile:
        """Store a file that the answer itself contains as a `data:` address."""
        try:
            content = parse_data_address(file.url, padded=True)
        except DataAddressError as error:
            raise PermanentFailure(f"the answer holds it as a data: address {error}") from None
        content_type = file.url[5:].partition(",")[0].partition(";")[0]
        kind = validate(io.BytesIO(content), file, Declared(len(content), content_type))
        path = self._shelf.keep(content, kind.suffix)
        return DownloadedFile(hashlib.sha256(content).hexdigest(), path, len(content), kind.content_type)


def _client() -> httpx.AsyncClient:
    # Nothing of this machine is sent: no key, no cookie, no login from .netrc. No connection limit either,
    # because httpx can still count those of cancelled requests; the semaphore limits them.
    return httpx.AsyncClient(
        headers={"user-agent": "reelbook", "accept": "*/*", "accept-encoding": "identity"},
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=MAX_CONNECTIONS),
        timeout=httpx.Timeout(STALL_SECONDS, connect=CONNECT_SECONDS),
        verify=trusted_certificates(),
        follow_redirects=False,
        trust_env=False,
    )


def _allowed_seconds(part: PartialDownload) -> float:
    """How many seconds a file of this size may take, by the length that HTTP declares and not by the service's hint."""
    return TOTAL_SECONDS + max(part.total or 0, part.size) / MIN_BYTES_PER_SECOND


async def _sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


def _key(request_id: str, url: str) -> str:
    return hashlib.sha256(f"{request_id}\n{url}".encode(errors="surrogatepass")).hexdigest()


def _parse_web_address(url: str) -> httpx.URL:
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL:
        raise PermanentFailure("that is no web address") from None
    if address.scheme not in ("http", "https") or not address.host:
        raise PermanentFailure(f"files are fetched over http and https only, not from {_format_url(url)!r}")
    return address


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
    if isinstance(error, (TemporaryFailure, Mismatch, Damaged)):
        return str(error)
    if isinstance(error, (TimeoutError, httpx.TimeoutException)):
        return f"its host was silent or too slow for {STALL_SECONDS:g} s"
    if isinstance(error, httpx.ConnectError):
        return "nobody answered there"
    if isinstance(error, httpx.InvalidURL):
        return "it redirects to what is no web address"
    return "the connection broke off"
