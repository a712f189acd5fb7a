"""Source pictures on their way: read and checked before anything is sent, then uploaded or put into the request."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image as Pillow

from reelbook.errors import InvalidInput
from reelbook.models.base import Input
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images import Image
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.models.text_to_video import TextToVideo
from reelbook.transport import picture_sources as room
from reelbook.transport.answers import ServiceInfo
from reelbook.transport.picture_sources import Source, Uploads, build_request_input, read_sources

DOT = np.zeros((2, 3), np.uint8)


def png(seed: int = 0, side: int = 4) -> bytes:
    out = io.BytesIO()
    Pillow.fromarray(np.random.default_rng(seed).integers(0, 256, (side, side, 3), np.uint8)).save(out, "PNG")
    return out.getvalue()


def as_data(content: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def closer(picture: Any) -> ImageToVideo:
    return ImageToVideo(prompt="closer", image_url=picture)


def nothing(sha256: str) -> Path | None:
    """A library without pictures."""
    return None


def read(request: Input, library: Callable[[str], Path | None] = nothing) -> dict[Any, Source]:
    return asyncio.run(read_sources(request, library=library))


def refusal(request: Input, library: Callable[[str], Path | None] = nothing) -> str:
    with pytest.raises(InvalidInput) as caught:
        read(request, library)
    return str(caught.value)


class Service:
    """Stands in for a service, to count its uploads."""

    def __init__(self, *features: str) -> None:
        self.base_url, self.features = "https://service.example.org", frozenset(features)
        self.uploaded: list[tuple[bytes, str, str]] = []

    async def service_info(self) -> ServiceInfo:
        return ServiceInfo("a-service", features=self.features)

    async def upload(self, content: bytes, name: str, content_type: str) -> str:
        await asyncio.sleep(0)
        self.uploaded.append((content, name, content_type))
        return f"file_{len(self.uploaded):04x}"


def sent(service: Service, request: Input, uploads: Uploads | None = None) -> dict[str, Any]:
    async def body() -> dict[str, Any]:
        sources = await read_sources(request, library=nothing)
        return await build_request_input(cast(Any, service), request, sources, uploads or Uploads())

    return asyncio.run(body())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a notebook runs, with a picture beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "boats").mkdir()
    (tmp_path / "boats" / "Paper Boat.png").write_bytes(png())
    return tmp_path


def test_every_kind_of_picture_is_read_with_its_place(folder: Path) -> None:
    """From a path, from memory, from the library, and from the address that holds it; what is elsewhere is not."""
    content, kept = png(), folder / "kept.png"
    kept.write_bytes(png(7))
    images = [
        "boats/Paper Boat.png",
        "~/boats/Paper Boat.png",
        (folder / "boats" / "Paper Boat.png").as_uri(),
        content,
        as_data(content).upper().split(",")[0] + "," + as_data(content).split(",")[1].rstrip("="),
        Image.from_library(sha(png(7))),
        "https://example.org/a.png",
        "file_0a",
    ]

    found = read(ImagesToVideo(images=images), lambda sha256: kept if sha256 == sha(png(7)) else None)

    assert [place[1] for place in found] == [0, 1, 2, 3, 4, 5]
    assert {source.sha256 for source in found.values()} == {sha(content), sha(png(7))}
    assert all(sha(source.content) == source.sha256 for source in found.values())
    assert {(source.content_type, source.suffix) for source in found.values()} == {("image/png", ".png")}
    assert read(TextToVideo(prompt="a")) == {}


PROBLEMS: list[tuple[str, str]] = [
    ("boats/paper boot.png", "Did you mean 'Paper Boat.png'?"),
    ("boats/xyz.png", "there is no such file in"),
    ("ships/boat.png", "ships. Check the path."),
    ("boats/Paper Boat.png/x.png", "there is no such file in"),
    ("boats", "is 'boats', which cannot be read (Is a directory)."),
    ("empty.png", "is 'empty.png', which is empty; PNG, JPEG, WebP and GIF can be sent."),
    ("scan.tif", "is 'scan.tif', which is a TIFF;"),
    ("short.png", "is a PNG that is damaged or cut short"),
    ("large.png", "is 'large.png', which has 50.1 MB; the limit is 50 MB. Make it smaller."),
    ("s3://bucket/boat.png", "only http and https addresses are fetched. Download it"),
    (base64.b64encode(png(0, 40)).decode().replace("/", "_"), "begins with data:image/png;base64,"),
    ("a\0b", "there is no such file in"),
    ("data:image/png;base64,AAAA", "is no picture;"),
    ("data:image/png;base64,A!AA", "is a data: address whose base64 is damaged or cut short."),
    (f"sha256:{'0' * 64}", "which this library does not have. Give the picture itself."),
    (f"sha256:{sha(png(2))}", "is a picture whose copy in the library is damaged. Give the picture itself."),
]


def test_what_cannot_be_read_is_told_by_its_field_with_a_way_out(folder: Path) -> None:
    """All bad pictures of an input at once, in one sentence or two each, before anything is sent."""
    (folder / "empty.png").touch()
    (folder / "short.png").write_bytes(png()[:12])
    (folder / "damaged.png").write_bytes(png(1))
    Pillow.fromarray(DOT).save(folder / "scan.tif")
    with (folder / "large.png").open("wb") as file:
        file.truncate(50_100_000)
    pictures = [Image.from_library(text[7:]) if text.startswith("sha256:") else text for text, _ in PROBLEMS]

    with pytest.raises(InvalidInput) as caught:
        read(
            ImagesToVideo(images=["boats/Paper Boat.png", *pictures]),
            lambda sha256: folder / "damaged.png" if sha256 == sha(png(2)) else None,
        )

    problems = caught.value.problems
    assert [problem.field for problem in problems] == [
        f"images[{number}].url" for number in range(1, len(PROBLEMS) + 1)
    ]
    for problem, (_, words) in zip(problems, PROBLEMS, strict=True):
        assert words in problem.message
        assert len(problem.message) < 600


def test_a_large_file_is_not_held_and_has_to_be_what_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep may have thousands of them; one that has changed since would be sent under another's name."""
    monkeypatch.setattr(room, "MAX_CACHED_BYTES", 10)
    path = folder / "boats" / "Paper Boat.png"
    (source,) = read(closer(path)).values()
    assert source.cached is None
    assert source.content == png()

    path.write_bytes(png(5))

    with pytest.raises(InvalidInput, match=r"has changed since .* Nothing was sent; run it again"):
        _ = source.content


def test_pictures_go_up_once_where_uploads_are_taken_and_again_when_they_are_lost(folder: Path) -> None:
    """Their names at the service stand where they were; a file's own name stays here."""
    service, uploads = Service("uploads", "idempotency"), Uploads()
    show = ImagesToVideo(
        images=["boats/Paper Boat.png", png(), as_data(png(1)), "https://example.org/a.png", "file_0a"]
    )

    bodies = [sent(service, show, uploads)]
    uploads.forget_mentioned("The source file_0001 could not be fetched.")
    bodies.append(sent(service, show, uploads))

    assert [[image["url"] for image in body["images"]] for body in bodies] == [
        [first, first, "file_0002", "https://example.org/a.png", "file_0a"] for first in ("file_0001", "file_0003")
    ]
    names = [f"{sha(png(seed))[:16]}.png" for seed in (0, 1, 0)]
    assert service.uploaded == [(png(seed), name, "image/png") for seed, name in zip((0, 1, 0), names, strict=True)]


def test_pictures_go_inside_where_no_uploads_are_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As addresses that hold them, as far as they fit."""
    service, uploads = Service(), Uploads()
    assert sent(service, closer("boats/Paper Boat.png"), uploads)["image_url"] == as_data(png())
    assert service.uploaded == []

    monkeypatch.setattr(room, "MAX_REQUEST_BYTES", 30_000)
    large = png(0, 50)
    sent(service, ImagesToVideo(images=[large] * 2), uploads)
    for images in ([large] * 4, [png(seed, 50) for seed in range(4)], [as_data(large)] * 4):
        with pytest.raises(InvalidInput, match=r"the request has 0.0 MB; the limit is 0.03 MB, and .* Give fewer"):
            sent(service, ImagesToVideo(images=images), uploads)


def test_many_runs_with_one_picture_upload_it_once() -> None:
    """Also those that begin while it is on its way."""
    (source,) = read(closer(png())).values()
    service = Service("uploads")

    async def runs() -> set[str | None]:
        uploads = Uploads()
        return {*await asyncio.gather(*(uploads.get_or_upload(cast(Any, service), source) for _ in range(64)))}

    assert asyncio.run(runs()) == {"file_0001"}
    assert len(service.uploaded) == 1
