"""Pictures at a service: each uploaded once, and known by the name that the service gave it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from ..errors import ServiceError

_NO_UPLOADS = (404, 405, 501)
"""What a service answers that advertises uploads and takes none after all."""


class Offer(Protocol):
    """What a service says of itself."""

    @property
    def id(self) -> str | None: ...
    @property
    def features(self) -> frozenset[str]: ...


class Calls(Protocol):
    """What is needed of a service to upload to it."""

    @property
    def base_url(self) -> str: ...
    async def nature(self) -> Offer: ...
    async def upload(self, content: bytes, name: str, content_type: str) -> str: ...


class Content(Protocol):
    """One picture."""

    @property
    def sha256(self) -> str: ...
    @property
    def content_type(self) -> str: ...
    @property
    def suffix(self) -> str: ...
    @property
    def content(self) -> bytes: ...


class Uploads:
    """What services call the pictures that were uploaded to them; each picture goes up once.

    One for each client: to another account of the same service the names mean nothing.
    """

    def __init__(
        self, *, at_once: int = 4, lasting: float = 24 * 3600, now: Callable[[], float] = time.monotonic
    ) -> None:
        # A service keeps an upload for some days; which, only it knows.
        self._lasting, self._now = lasting, now
        self._known: dict[tuple[str, str], tuple[str, float]] = {}
        self._under_way: dict[tuple[str, str], asyncio.Task[str | None]] = {}
        self._takes_none: set[str] = set()
        self._turns = asyncio.Semaphore(at_once)

    async def address(self, calls: Calls, picture: Content) -> str | None:
        """What the service calls this picture, uploaded first if need be; None where it takes no uploads."""
        nature = await calls.nature()
        service = nature.id or calls.base_url
        if "uploads" not in nature.features or service in self._takes_none:
            return None
        key = (service, picture.sha256)
        address, since = self._known.get(key, ("", 0.0))
        if address and self._now() - since < self._lasting:
            return address
        if key not in self._under_way:
            self._under_way[key] = task = asyncio.create_task(self._upload(calls, picture, key))
            # Where all who waited are gone, nobody asks how it ended.
            task.add_done_callback(lambda task: task.cancelled() or task.exception())
        # Whoever waits may be cancelled; the others who wait for the same picture must not be.
        return await asyncio.shield(self._under_way[key])

    def forget(self, words: str) -> bool:
        """Forget the uploads that these words of a service mention, because it no longer has them.

        Says whether there were any; then the same run, sent again, uploads its pictures anew.
        """
        mentioned = [key for key, (address, _) in self._known.items() if address in words]
        for key in mentioned:
            del self._known[key]
        return bool(mentioned)

    async def _upload(self, calls: Calls, picture: Content, key: tuple[str, str]) -> str | None:
        try:
            async with self._turns:
                content = await asyncio.to_thread(lambda: picture.content)
                address = await calls.upload(content, f"{picture.sha256[:16]}{picture.suffix}", picture.content_type)
        except ServiceError as error:
            if error.status not in _NO_UPLOADS:
                raise
            self._takes_none.add(key[0])
            return None
        finally:
            del self._under_way[key]
        self._known[key] = (address, self._now())
        return address
