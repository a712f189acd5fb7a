"""Source pictures on their way: read and checked before anything is sent, then uploaded or put into the request."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image as Pillow

import reelbook as rb
from reelbook.errors import InvalidInput
from reelbook.models.base import Input
from reelbook.models.images import Image
from reelbook.transport import picture_sources as room
from reelbook.transport.answers import ServiceAnswer
from reelbook.transport.http import RetryPolicy
from reelbook.transport.picture_sources import Source, build_request_input, read_sources
from reelbook.transport.service_calls import ServiceCalls
from tests.clips import film, number_of
from tests.support import Served


def png(seed: int = 0, side: int = 4) -> bytes:
    out = io.BytesIO()
    Pillow.fromarray(np.random.default_rng(seed).integers(0, 256, (side, side, 3), np.uint8)).save(out, "PNG")
    return out.getvalue()


def as_data(content: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def show(*pictures: Any) -> rb.ImagesToVideo:
    return rb.ImagesToVideo(images=list(pictures))


def read(request: Input, library: Callable[[str], Path | None] = lambda _: None) -> dict[Any, Source]:
    return asyncio.run(read_sources(request, library=library))


class Service(ServiceCalls):
    """The calls of a service whose network is pretended, to count its uploads."""

    def __init__(self, *features: str) -> None:
        super().__init__(cast(Any, self))
        self.features, self.policy = features, RetryPolicy()
        self.uploaded: list[tuple[str, bytes, str]] = []

    async def free(self, method: str, path: str, *, upload: Any = None, is_large: bool = False) -> ServiceAnswer:
        await asyncio.sleep(0)
        if upload is None:
            return ServiceAnswer(200, {}, json.dumps({"features": self.features}).encode())
        self.uploaded.append(upload)
        return ServiceAnswer(200, {}, json.dumps({"file_id": f"file_{len(self.uploaded):04x}"}).encode())


def sent(service: Service, request: Input) -> list[str]:
    """The addresses of the pictures in what is sent."""

    async def body() -> dict[str, Any]:
        sources = await read_sources(request, library=lambda _: None)
        return await build_request_input(service, request, sources)

    return [image["url"] for image in asyncio.run(body())["images"]]


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
    address, body = as_data(content).split(",")
    pictures = [
        "boats/Paper Boat.png", "~/boats/Paper Boat.png", (folder / "boats" / "Paper Boat.png").as_uri(), content,
        f"{address.upper()},{body.rstrip('=')}", Image.from_library(sha(png(7))), "https://example.org/a.png", "file_0a",
    ]  # fmt: skip

    found = read(show(*pictures), lambda sha256: kept if sha256 == sha(png(7)) else None)

    assert [place[1] for place in found] == [0, 1, 2, 3, 4, 5]
    assert [source.content for source in found.values()] == [content] * 5 + [png(7)]
    assert all(sha(source.content) == source.sha256 for source in found.values())
    assert {(source.content_type, source.suffix) for source in found.values()} == {("image/png", ".png")}
    assert read(rb.TextToVideo(prompt="a")) == {}


PROBLEMS: list[tuple[str, str]] = [
    ("boats/paper boot.png", "Did you mean 'Paper Boat.png'?"),
    ("boats/xyz.png", "there is no such file in"),
    ("ships/boat.png", "ships. Check the path."),
    ("boats", "is 'boats', which cannot be read (Is a directory)."),
    ("empty.png", "is 'empty.png', which is empty; PNG, JPEG, WebP and GIF can be sent."),
    ("scan.tif", "is 'scan.tif', which is a TIFF;"),
    ("short.png", "is a PNG that is damaged or cut short"),
    ("large.png", "is 'large.png', which has 50.1 MB; the limit is 50 MB. Make it smaller."),
    ("s3://bucket/boat.png", "only http and https addresses are fetched. Download it"),
    (base64.b64encode(png(0, 40)).decode().replace("/", "_"), "cannot be read (File name too long)"),
    ("data:image/png;base64,AAAA", "is no picture;"),
    ("data:image/png;base64,A!AA", "is a data: address whose base64 is damaged or cut short."),
    (f"sha256:{'0' * 64}", "which this library does not have. Give the picture itself."),
    (f"sha256:{sha(png(2))}", "is a picture whose copy in the library is damaged. Give the picture itself."),
    ("half.mp4", "is a video that cannot be read: it is damaged or cut short"),
    ("text.mp4", "is a video that cannot be read"),
]


def test_what_cannot_be_read_is_told_by_its_field_with_a_way_out(folder: Path) -> None:
    """All bad pictures of an input at once, in one sentence or two each, before anything is sent."""
    clip = film(folder / "whole.mp4", frames=25, noise=20).path.read_bytes()
    files = {"empty.png": b"", "short.png": png()[:12], "damaged.png": png(1), "half.mp4": clip[: len(clip) // 2]}
    files["text.mp4"] = b"ffconcat version 1.0\nfile /etc/passwd\n"
    for name, content in files.items():
        (folder / name).write_bytes(content)
    Pillow.fromarray(np.zeros((2, 3), np.uint8)).save(folder / "scan.tif")
    with (folder / "large.png").open("wb") as file:
        file.truncate(50_100_000)
    pictures = [Image.from_library(text[7:]) if text.startswith("sha256:") else text for text, _ in PROBLEMS]

    with pytest.raises(InvalidInput) as caught:
        read(show(*pictures), lambda sha256: folder / "damaged.png" if sha256 == sha(png(2)) else None)

    problems = caught.value.problems
    assert [problem.field for problem in problems] == [f"images[{number}].url" for number in range(len(PROBLEMS))]
    for problem, (_, words) in zip(problems, PROBLEMS, strict=True):
        assert words in problem.message
        assert len(problem.message) < 600


def test_pictures_go_up_once_where_uploads_are_taken_and_again_when_they_are_lost(folder: Path) -> None:
    """Their names at the service stand where they were; a file's own name stays here."""
    service = Service("uploads", "idempotency")
    pictures = show("boats/Paper Boat.png", png(), as_data(png(1)), "https://example.org/a.png", "file_0a")

    first = sent(service, pictures)
    service.forget_uploads("The source file_0001 could not be fetched.")

    assert first == ["file_0001", "file_0001", "file_0002", "https://example.org/a.png", "file_0a"]
    assert sent(service, pictures) == ["file_0003", "file_0003", *first[2:]]
    assert service.uploaded == [(f"{sha(png(seed))}.png", png(seed), "image/png") for seed in (0, 1, 0)]


def test_pictures_go_inside_where_no_uploads_are_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As addresses that hold them, as far as they fit."""
    assert sent(Service(), show("boats/Paper Boat.png")) == [as_data(png())]

    monkeypatch.setattr(room, "MAX_REQUEST_BYTES", 30_000)
    large = png(0, 50)
    sent(Service(), show(large, large))
    for pictures in ([large] * 4, [png(seed, 50) for seed in range(4)], [as_data(large)] * 4):
        with pytest.raises(InvalidInput, match=r"the request has 0.0 MB; the limit is 0.03 MB, and .* Give fewer"):
            sent(Service(), show(*pictures))


def test_many_runs_with_one_picture_upload_it_once() -> None:
    """Also those that begin while it is on its way."""
    service, request = Service("uploads"), show(png())

    async def runs() -> None:
        sources = await read_sources(request, library=lambda _: None)
        await asyncio.gather(*(build_request_input(service, request, sources) for _ in range(64)))

    asyncio.run(runs())
    assert len(service.uploaded) == 1


# The path of a video where a picture is asked for: it stands for its last frame, as `run.video` does.


def test_a_path_of_a_video_is_its_last_frame(tmp_path: Path) -> None:
    """The same bytes that the file itself gives, so that it is the same run; and what is in the file counts."""
    clip, odd = film(tmp_path / "clip.mp4", frames=9), tmp_path / "odd.mp4"
    odd.write_bytes(png())
    content, _ = clip.__reel_picture__()

    *frames, picture = read(show(clip.path, rb.Frame(url=clip.path, frames=3), clip.path.as_uri(), odd)).values()

    assert [(frame.content, frame.content_type) for frame in frames] == [(content, "image/png")] * 3
    assert picture.content == png()
    assert number_of(clip.still(1.0)) == 8


def test_a_clip_in_a_table_and_the_run_that_made_it_are_one_source(shared: Served, tmp_path: Path) -> None:
    """Neither is paid again for the other; in sweeps, too."""
    served = shared.with_own_account()
    with rb.connect(served.base_url, api_key=served.key, library=tmp_path / "library") as client:
        table = rb.sweep(show(png(0, 16)), fps=[5.0, 6.0]).run(budget=106, progress=False)

        def again(picture: Any) -> rb.ImagesToVideo:
            return rb.ImagesToVideo(images=[rb.Frame(url=picture, frames=2)], fps=2.0)

        first = client.run(again(table.output_video[1]))
        second = client.run(again(table.reel.run(1).video))
        both = rb.sweep(again(table.output_video[1]), fps=[2.0, 3.0])
        due = both.credits_due
        swept = both.run(budget=106, progress=False)

    assert (second.id, second.from_library) == (first.id, True)
    assert (due, list(swept["status"])) == (53, ["completed"] * 2)
    assert len([line for line in served.charges() if line["kind"] == "reserve"]) == 4
