"""Results brought home: at once, as a whole or not at all, and without believing what anybody says of them."""

from __future__ import annotations

import asyncio
import binascii
import hashlib
import io
import random
import time
from base64 import b64decode
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote_to_bytes, urlsplit

import httpx

from ...errors import DownloadFailed, ReelbookError
from ...models.service_file import File
from .allowed_hosts import Hosts
from .container_check import Damaged
from .download_body import Again, Hopeless, received
from .file_validation import Told, judged
from .partial_download import Misfit, Part

CONNECTIONS = 4
ATTEMPTS = 6
PAUSE_SECONDS, PAUSE_GROWTH, LONGEST_PAUSE = 0.3, 3.0, 15.0
STALL_SECONDS, LEAST_BYTES = 20.0, 16_384
"""What must arrive within so long; a host that drips less is as good as silent."""
MAX_STALLS = 3
"""So often a host may fall silent before it is given up: its files can be fetched another time, and a cell waits for them."""
CONNECT_SECONDS = 10.0
QUIET_SECONDS = 3.0
"""After so long without the least pace, the wait is said."""
WHOLE_SECONDS, SLOWEST_BYTES = 600.0, 50_000
"""How long one file may take: so many seconds, and one more for every so many bytes."""
WORTHWHILE_BYTES = 1 << 20
"""An attempt that brought so much is no failure, even if it broke off."""
MAX_REDIRECTS = 5
SAME_AGAIN = 3
"""So often the same bad bytes are fetched before we believe that there are no others."""


class Shelving(Protocol):
    """Where files are kept. `part` and `place` may raise OSError, and `explained` has the words for it."""

    def part(self, key: str) -> Path: ...
    def place(self, part: Path, sha256: str, suffix: str) -> Path: ...
    def keep(self, content: bytes, suffix: str) -> Path: ...
    def room(self, wanted: int) -> None: ...
    def explained(self, error: OSError, wanted: int) -> str: ...


@dataclass(frozen=True, slots=True)
class Brought:
    """A file that is here now, whole."""

    sha256: str
    path: Path
    size: int
    content_type: str
    """What its bytes are, whatever anybody said."""


@dataclass(slots=True)
class Fetching:
    """One file on its way."""

    part: Part
    since: float = field(default_factory=time.monotonic)
    """When it last moved by as much as it must."""

    @property
    def words(self) -> str:
        """How much is here, and for how long the host has been too slow."""
        total = f" of {self.part.total / 1000:,.0f}" if self.part.total else ""
        here = f"{self.part.size / 1000:,.0f}{total} kB" if self.part.size else ""
        quiet = time.monotonic() - self.since
        waits = f"waiting for its host for {quiet:.0f} s" if quiet > QUIET_SECONDS else ""
        return ", ".join(filter(None, (here, waits)))


class Downloads:
    """Brings files to the shelf, a few at a time. It has no key, so no file host can learn one.

    `service` tells the service's own address, the one host of a private network that is dialled unasked.
    """

    def __init__(self, shelf: Shelving, service: Callable[[], str]) -> None:
        self._shelf = shelf
        self._hosts = Hosts(service)
        self._under_way: dict[tuple[str, str], Fetching] = {}
        self._doors = asyncio.Semaphore(CONNECTIONS)
        self._client: httpx.AsyncClient | None = None

    async def bring(self, file: File, request_id: str) -> Brought:
        """The file on the shelf; every way of not getting it there is a DownloadFailed."""
        try:
            if _is_data(file.url):
                return await asyncio.to_thread(self._kept, file)
            part = await asyncio.to_thread(Part.owned, self._shelf.part, _key(request_id, file.url))
            fetching = self._under_way[request_id, file.url] = Fetching(part)
            try:
                return await self._tried(file, part, fetching)
            except OSError as error:
                wanted = max((part.total or file.file_size or part.size) - part.size, 0)
                raise Hopeless(self._shelf.explained(error, wanted)) from None
            finally:
                self._under_way.pop((request_id, file.url), None)
                # Not by ourselves: where we were cancelled, a thread may still be writing, and this waits for it.
                await asyncio.shield(asyncio.to_thread(part.release))
        except OSError as error:
            raise DownloadFailed(request_id, _shown(file.url), self._shelf.explained(error, 0)) from None
        except (Hopeless, Damaged, ReelbookError) as error:
            raise DownloadFailed(request_id, _shown(file.url), str(error)) from None

    def progress(self, request_id: str) -> str:
        """How far the files of a run are, in a few words; empty where there is nothing to say."""
        return next((one.words for (run, _), one in [*self._under_way.items()] if run == request_id), "")

    async def close(self) -> None:
        """Give the connections back."""
        if self._client is not None:
            await self._client.aclose()

    async def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            # In a thread, because the certificates take a while to read; the second of two that come at once has no use.
            client = await asyncio.to_thread(_client)
            self._client = self._client or client
        return self._client

    async def _tried(self, file: File, part: Part, fetching: Fetching) -> Brought:
        """As many attempts as make sense, each going on where the last one broke off."""
        clock = asyncio.get_running_loop().time
        failures, stalls, used = 0, 0, 0.0
        refused: Counter[str] = Counter()
        while True:
            size, wait = part.size, 0.0
            # The time for which others have the connections does not count.
            async with self._doors:
                began = clock()
                try:
                    told = await self._attempt(file.url, part, used, fetching)
                    return await asyncio.to_thread(self._placed, file, part, told)
                except (Again, httpx.HTTPError, httpx.InvalidURL, TimeoutError, Misfit, Damaged) as error:
                    reason = _reason(error)
                    stalls += isinstance(error, (TimeoutError, httpx.TimeoutException))
                    if isinstance(error, Damaged):
                        refused[part.sha256] += 1
                    if isinstance(error, (Damaged, Misfit)):
                        await asyncio.to_thread(part.start_over)
                    wait = error.wait if isinstance(error, Again) else 0.0
                used += clock() - began
            if part.resumable and part.size - size >= WORTHWHILE_BYTES:
                failures = stalls = 0
            failures += 1
            if failures >= ATTEMPTS or stalls >= MAX_STALLS or max(refused.values(), default=0) >= SAME_AGAIN:
                raise Hopeless(reason)
            # Jitter, so that many that stumbled together do not come back together.
            pause = min(PAUSE_SECONDS * PAUSE_GROWTH ** (failures - 1), LONGEST_PAUSE) * random.uniform(0.5, 1.5)
            used += max(pause, wait)
            if used >= _allowed(part):
                asked = f", and asks to wait {wait:,.0f} s" if wait > pause else ""
                raise Hopeless(f"{reason}{asked}; {_allowed(part) / 60:,.0f} minutes are all we give it")
            await _rest(max(pause, wait))

    async def _attempt(self, url: str, part: Part, used: float, fetching: Fetching) -> Told:
        """One request and what it redirects to, as long as bytes keep coming."""
        clock = asyncio.get_running_loop().time
        began, marked, count = clock(), 0, 0

        def moved(more: int) -> None:
            nonlocal marked, count
            count += more
            if count - marked >= LEAST_BYTES:
                marked, fetching.since = count, time.monotonic()
                patience.reschedule(min(clock() + STALL_SECONDS, began + _allowed(part) - used))

        start = await asyncio.to_thread(part.go_on) if part.resumable else None
        headers = {} if start is None else {"range": f"bytes={start}-", "if-range": part.validator or ""}
        async with asyncio.timeout(min(STALL_SECONDS, _allowed(part) - used)) as patience:
            for _ in range(MAX_REDIRECTS + 1):
                async with self._answer(_web_address(url), headers) as response:
                    if not response.has_redirect_location:
                        return await received(response, part, start, moved=moved, room=self._shelf.room)
                    # By the name that was asked: the response knows only the address that was dialled.
                    url = str(httpx.URL(url).join(response.headers["location"]))
        raise Again(f"it was redirected more than {MAX_REDIRECTS} times")

    @asynccontextmanager
    async def _answer(self, url: httpx.URL, headers: Mapping[str, str]) -> AsyncIterator[httpx.Response]:
        """The answer of the first checked address that takes the connection."""
        client = await self._opened()
        tries = await self._hosts.requests(url)
        if not tries:
            raise Again("its host has no address")
        for place, one in enumerate(tries, 1):
            asked = client.build_request("GET", one.url, headers={**headers, **one.headers}, extensions=one.extensions)
            try:
                response = await client.send(asked, stream=True)
                break
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if place == len(tries):
                    raise
        try:
            yield response
        finally:
            await response.aclose()

    def _placed(self, file: File, part: Part, told: Told) -> Brought:
        with part.path.open("rb") as content:
            kind = judged(content, file, told)
        path = part.handed_over(lambda path, sha256: self._shelf.place(path, sha256, kind.suffix))
        return Brought(part.sha256, path, part.size, kind.content_type)

    def _kept(self, file: File) -> Brought:
        """What came within the answer itself goes to the shelf like everything else."""
        content, content_type = _data(file.url)
        kind = judged(io.BytesIO(content), file, Told(len(content), content_type))
        path = self._shelf.keep(content, kind.suffix)
        return Brought(hashlib.sha256(content).hexdigest(), path, len(content), kind.content_type)


def _client() -> httpx.AsyncClient:
    # Nothing of this machine goes along: no key, no cookie, no login from .netrc. No limit of its own either,
    # because connections of cancelled requests can stay counted; the semaphore is what keeps them few.
    return httpx.AsyncClient(
        headers={"user-agent": "reelbook", "accept": "*/*", "accept-encoding": "identity"},
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=CONNECTIONS),
        timeout=httpx.Timeout(STALL_SECONDS, connect=CONNECT_SECONDS),
        follow_redirects=False,
        trust_env=False,
    )


def _allowed(part: Part) -> float:
    """How long a file of this size may take in all. By the length that HTTP told: a hint must not keep us here."""
    return WHOLE_SECONDS + max(part.total or 0, part.size) / SLOWEST_BYTES


async def _rest(seconds: float) -> None:
    await asyncio.sleep(seconds)


def _key(request_id: str, url: str) -> str:
    return hashlib.sha256(f"{request_id}\n{url}".encode(errors="surrogatepass")).hexdigest()


def _web_address(url: str) -> httpx.URL:
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL:
        raise Hopeless("that is no web address") from None
    if address.scheme not in ("http", "https") or not address.host:
        raise Hopeless(f"files are fetched over http and https only, not from {_shown(url)!r}")
    return address


def _is_data(url: str) -> bool:
    return url[:5].lower() == "data:"


def _data(url: str) -> tuple[bytes, str]:
    """The bytes within a `data:` address, and what it calls them.

    >>> _data("data:text/plain;base64,aGVsbG8="), _data("data:,a%20b")
    ((b'hello', 'text/plain'), (b'a b', ''))
    """
    head, comma, body = url[5:].partition(",")
    content = unquote_to_bytes(body)
    if head.lower().endswith(";base64"):
        try:
            content = b64decode(b"".join(content.split()), validate=True)
        except binascii.Error:
            raise Hopeless("the data within the answer is damaged") from None
    if not comma:
        raise Hopeless("the data within the answer is cut off")
    return content, head.partition(";")[0]


def _shown(url: str) -> str:
    """An address as it may be shown: what follows its path, or stands before its host, can be a right to read."""
    if _is_data(url):
        return f"{url[:40].partition(',')[0]},…"
    try:
        parts = urlsplit(url)
    except ValueError:
        return url[:60]
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"[:200]


def _reason(error: Exception) -> str:
    if isinstance(error, (Again, Misfit, Damaged)):
        return str(error)
    if isinstance(error, (TimeoutError, httpx.TimeoutException)):
        return f"its host was silent or too slow for {STALL_SECONDS:g} s"
    if isinstance(error, httpx.ConnectError):
        return "nobody answered there"
    if isinstance(error, httpx.InvalidURL):
        return "it redirects to what is no web address"
    return "the connection broke off"
