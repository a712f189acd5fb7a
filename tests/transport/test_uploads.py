"""Uploads: each picture goes up once for each service, and again when the service has lost it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from reelbook.transport import picture_sources
from reelbook.transport.picture_sources import Source, Uploads
from reelbook.transport.response_parsing import ServiceInfo


def picture(sha256: str = "0" * 64) -> Source:
    """A picture that was read."""
    return Source(("image_url",), sha256, "image/png", ".png", 9, "a picture", cached=b"a picture")


INFO = ServiceInfo("a-service", features=frozenset({"uploads"}))


@dataclass
class Service:
    """Stands in for a service whose uploads wait for a signal, so that they can be made to overlap."""

    info: ServiceInfo = INFO
    base_url: str = "https://service.example.org"
    uploaded: list[str] = field(default_factory=list)
    going: int = 0
    most: int = 0
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def service_info(self) -> ServiceInfo:
        return self.info

    async def upload(self, content: bytes, name: str, content_type: str) -> str:
        self.going += 1
        self.most = max(self.most, self.going)
        await self.go.wait()
        self.going -= 1
        self.uploaded.append(name)
        return f"file_{len(self.uploaded):04x}"


def pictures(count: int) -> list[Source]:
    return [picture(f"{number:064x}") for number in range(count)]


async def until_going(service: Service, count: int) -> None:
    async with asyncio.timeout(10):
        while service.going < count:
            await asyncio.sleep(0)


def test_many_runs_with_one_picture_upload_it_once() -> None:
    """Also those that begin while it is on its way."""

    async def runs() -> tuple[list[str | None], Service]:
        uploads, service = Uploads(), Service()
        waiting = [asyncio.ensure_future(uploads.get_or_upload(service, picture())) for _ in range(64)]
        await until_going(service, 1)
        service.go.set()
        return [*await asyncio.gather(*waiting), await uploads.get_or_upload(service, picture())], service

    names, service = asyncio.run(runs())

    assert set(names) == {"file_0001"}
    assert service.uploaded == [f"{'0' * 16}.png"]


def test_what_a_service_no_longer_knows_goes_up_again() -> None:
    """Told by its own words about the file."""

    async def runs() -> list[str | bool | None]:
        uploads, service = Uploads(), Service()
        service.go.set()
        one, other = pictures(2)
        before = [await uploads.get_or_upload(service, one), await uploads.get_or_upload(service, other)]
        forgotten = [
            uploads.forget_mentioned("The prompt is too long."),
            uploads.forget_mentioned("The source file_0001 could not be fetched."),
        ]
        return [
            *before,
            *forgotten,
            await uploads.get_or_upload(service, one),
            await uploads.get_or_upload(service, other),
        ]

    assert asyncio.run(runs()) == ["file_0001", "file_0002", False, True, "file_0003", "file_0002"]


def test_an_upload_is_not_relied_on_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Services remove them after some days; with a moved clock."""

    async def runs() -> list[str | None]:
        now = [0.0]
        monkeypatch.setattr(picture_sources, "time", SimpleNamespace(monotonic=lambda: now[0]))
        monkeypatch.setattr(picture_sources, "REUSE_SECONDS", 100)
        uploads, service = Uploads(), Service()
        service.go.set()
        names = []
        for now[0] in (0, 99, 100, 150):
            names.append(await uploads.get_or_upload(service, picture()))
        return names

    assert asyncio.run(runs()) == ["file_0001", "file_0001", "file_0002", "file_0002"]
