"""Uploads of pictures to services: each picture once, cached by the id or URL that the service returned."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ..errors import ServiceError

if TYPE_CHECKING:
    from .response_parsing import ServiceInfo

_NO_UPLOADS_STATUSES = (404, 405, 501)
"""The statuses of a service that advertises uploads and accepts none."""


class UploadCalls(Protocol):
    """The calls that uploads need."""

    @property
    def base_url(self) -> str: ...
    async def service_info(self) -> ServiceInfo: ...
    async def upload(self, content: bytes, name: str, content_type: str) -> str: ...


class PictureToUpload(Protocol):
    """A picture to upload."""

    @property
    def sha256(self) -> str: ...
    @property
    def content_type(self) -> str: ...
    @property
    def suffix(self) -> str: ...
    @property
    def content(self) -> bytes: ...


class Uploads:
    """The pictures that one client has uploaded, and their addresses at the services; each picture is uploaded once.

    Not shared between clients, because another account of the same service cannot use the addresses.
    """

    def __init__(
        self, *, max_concurrent: int = 4, reuse_seconds: float = 24 * 3600, now: Callable[[], float] = time.monotonic
    ) -> None:
        # A service stores an upload for some days; how many is unknown.
        self._reuse_seconds, self._now = reuse_seconds, now
        self._known: dict[tuple[str, str], tuple[str, float]] = {}
        self._in_progress: dict[tuple[str, str], asyncio.Task[str | None]] = {}
        self._without_uploads: set[str] = set()
        self._slots = asyncio.Semaphore(max_concurrent)

    async def get_or_upload(self, calls: UploadCalls, picture: PictureToUpload) -> str | None:
        """The picture's address at the service, after uploading it if necessary; None for a service without uploads."""
        info = await calls.service_info()
        service = info.id or calls.base_url
        if "uploads" not in info.features or service in self._without_uploads:
            return None
        key = (service, picture.sha256)
        address, since = self._known.get(key, ("", 0.0))
        if address and self._now() - since < self._reuse_seconds:
            return address
        if key not in self._in_progress:
            self._in_progress[key] = task = asyncio.create_task(self._upload(calls, picture, key))
            # Retrieved, in case all callers were cancelled.
            task.add_done_callback(lambda task: task.cancelled() or task.exception())
        # Shielded, because cancelling one caller must not cancel the others that wait for the same picture.
        return await asyncio.shield(self._in_progress[key])

    def forget_mentioned(self, message: str) -> bool:
        """Forget the uploads that an error message of a service mentions, because it no longer has them.

        Returns whether there were any; the same run, sent again, then uploads its pictures again.
        """
        mentioned = [key for key, (address, _) in self._known.items() if address in message]
        for key in mentioned:
            del self._known[key]
        return bool(mentioned)

    async def _upload(self, calls: UploadCalls, picture: PictureToUpload, key: tuple[str, str]) -> str | None:
        try:
            async with self._slots:
                content = await asyncio.to_thread(lambda: picture.content)
                address = await calls.upload(content, f"{picture.sha256[:16]}{picture.suffix}", picture.content_type)
        except ServiceError as error:
            if error.status not in _NO_UPLOADS_STATUSES:
                raise
            self._without_uploads.add(key[0])
            return None
        finally:
            del self._in_progress[key]
        self._known[key] = (address, self._now())
        return address
