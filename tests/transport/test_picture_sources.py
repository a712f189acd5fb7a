"""Source pictures on their way: read and checked before anything is sent, then uploaded or put into the request."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.figure
import numpy as np
import pytest
from PIL import Image as Pillow

from reelbook.errors import InvalidInput, ServiceError
from reelbook.models.base import Input
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images import Image
from reelbook.models.images_to_video import Frame, ImagesToVideo
from reelbook.models.text_to_video import TextToVideo
from reelbook.transport import picture_sources as room
from reelbook.transport.http import Http
from reelbook.transport.picture_sources import Source, Uploads, build_request_input, read_sources
from reelbook.transport.response_parsing import ServiceInfo
from reelbook.transport.service_calls import ServiceCalls
from tests.support import KEY, Served

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
    """Stands in for a service, to count its uploads and to misbehave."""

    def __init__(self, *features: str, refuse: Exception | None = None) -> None:
        self.base_url, self.refuse = "https://service.example.org", refuse
        self.features = frozenset(features)
        self.uploaded: list[tuple[bytes, str, str]] = []

    async def service_info(self) -> ServiceInfo:
        return ServiceInfo("a-service", features=self.features)

    async def upload(self, content: bytes, name: str, content_type: str) -> str:
        await asyncio.sleep(0)
        if self.refuse:
            raise self.refuse
        self.uploaded.append((content, name, content_type))
        return f"file_{len(self.uploaded):04x}"


def sent(service: Service, request: Input) -> dict[str, Any]:
    async def both() -> dict[str, Any]:
        return await build_request_input(service, request, await read_sources(request, library=nothing))

    return asyncio.run(both())


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
        as_data(content),
        Image.from_library(sha(png(7))),
        "https://example.org/a.png",
        "file_0a",
    ]

    found = read(ImagesToVideo(images=images), lambda sha256: kept if sha256 == sha(png(7)) else None)

    assert [place[1] for place in found] == [0, 1, 2, 3, 4, 5]
    assert {source.sha256 for source in found.values()} == {sha(content), sha(png(7))}
    assert all(source.loc == place and sha(source.content) == source.sha256 for place, source in found.items())
    assert {(source.content_type, source.suffix) for source in found.values()} == {("image/png", ".png")}
    assert [source.size for source in found.values()][:5] == [len(content)] * 5
    assert read(TextToVideo(prompt="a")) == {}


@pytest.mark.parametrize(
    "address",
    [
        as_data(png(3)),
        as_data(png(3)).upper().split(",")[0] + "," + as_data(png(3)).split(",")[1],
        as_data(png(3)).rstrip("="),
        "data:image/png;base64," + base64.urlsafe_b64encode(png(3)).decode(),
        "data:," + "".join(f"%{byte:02x}" for byte in png(3)),
    ],
    ids=["plain", "capitals", "unpadded", "for addresses", "in percents"],
)
def test_an_address_that_holds_the_picture_is_known_by_its_content(address: str) -> None:
    """However it is written, so that the same picture is the same run."""
    assert read(closer(address))["image_url",].sha256 == sha(png(3))


def test_a_path_is_read_when_the_run_is_sent_and_not_before(folder: Path) -> None:
    """What counts is the picture that lies there then."""
    request = closer("boats/Paper Boat.png")

    (folder / "boats" / "Paper Boat.png").write_bytes(png(9))

    assert read(request)["image_url",].sha256 == sha(png(9))


PROBLEMS: dict[str, tuple[str, list[str]]] = {
    "a name misspelt": ("boats/paper boot.png", ["is 'boats/paper boot.png', and there is no such file in", "Did you mean 'boats/Paper Boat.png'?"]),
    "another ending": ("boats/Paper Boat.jpg", ["Did you mean 'boats/Paper Boat.png'?"]),
    "a name of nothing": ("boats/xyz.png", ["there is no such file in", "Check the path."]),
    "no such folder": ("ships/boat.png", ["and there is no folder", "ships. Check the path."]),
    "a file as a folder": ("boats/Paper Boat.png/x.png", ["there is no folder"]),
    "a folder": ("boats", ["is 'boats', a folder. Give one picture in it."]),
    "an empty file": ("empty.png", ["is 'empty.png', which is empty; PNG, JPEG, WebP and GIF can be sent."]),
    "no picture": ("notes.png", ["is 'notes.png', which is no picture;"]),
    "another kind": ("scan.tif", ["is 'scan.tif', which is a TIFF;", "PIL.Image.open"]),
    "cut short": ("short.png", ["is a PNG that is damaged or cut short"]),
    "a large file": ("large.png", ["is 'large.png', which has 50.1 MB; the limit is 50 MB. Make it smaller."]),
    "a pipe": ("pipe", ["is 'pipe', which is not an ordinary file."]),
    "another protocol": ("s3://bucket/boat.png", ["is 's3://bucket/boat.png'; only http and https addresses are fetched. Download it"]),
    "somebody else's home": ("~nobody-of-that-name/a.png", ["nobody of that name has a home folder here"]),
    "base64 alone": (base64.b64encode(png(0, 40)).decode().replace("/", "_"), ["too long for a path", "data:image/png;base64,"]),
    "a name that cannot be": ("a\0b", ["cannot be read (embedded null byte)"]),
    "data that is no picture": ("data:image/png;base64,AAAA", ["is no picture;"]),
    "damaged base64": ("data:image/png;base64,A!AA", ["is a data: address whose base64 is damaged or cut short."]),
    "data without a comma": ("data:image/png;base64", ["is a data: address without the comma"]),
    "a picture that the library lacks": (f"sha256:{'0' * 64}", ["is the picture 000000000000…, which this library does not have. Give the picture itself."]),
}  # fmt: skip


@pytest.mark.parametrize("case", PROBLEMS)
def test_what_cannot_be_read_is_told_with_a_way_out(case: str, folder: Path) -> None:
    """By its field, in one sentence or two, before anything is sent."""
    picture, words = PROBLEMS[case]
    (folder / "empty.png").touch()
    (folder / "notes.png").write_text("hello")
    (folder / "short.png").write_bytes(png()[:12])
    Pillow.fromarray(DOT).save(folder / "scan.tif")
    os.mkfifo(folder / "pipe")
    with (folder / "large.png").open("wb") as file:
        file.truncate(50_100_000)

    told = refusal(closer(picture))

    assert told.startswith("ImageToVideo: `image_url` ")
    assert all(part in told for part in words), told
    assert "(is" not in told, "a sentence within a sentence"
    assert len(told) < 600


def test_every_bad_picture_is_told_by_its_place(folder: Path) -> None:
    """All of them at once, the same one too."""
    with pytest.raises(InvalidInput) as caught:
        read(ImagesToVideo(images=["boats/Paper Boat.png", "x.png", Frame(url="boats", frames=2), "x.png"]))

    assert [problem.field for problem in caught.value.problems] == ["images[1].url", "images[2].url", "images[3].url"]
    assert [problem.value for problem in caught.value.problems] == ["x.png", "boats", "x.png"]


def test_a_damaged_copy_in_the_library_is_not_sent(folder: Path) -> None:
    """Its content is not what its name says."""
    (folder / "kept.png").write_bytes(png(1))

    told = refusal(closer(Image.from_library(sha(png(2)))), lambda _: folder / "kept.png")

    assert "copy in the library is damaged" in told


def test_a_large_file_is_not_held_and_has_to_be_what_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep may have thousands of them; one that has changed since would be sent under another's name."""
    monkeypatch.setattr(room, "MAX_CACHED_BYTES", 10)
    path = folder / "boats" / "Paper Boat.png"
    (source,) = read(closer(path)).values()
    assert source.cached is None
    assert source.content == png()

    path.write_bytes(png(5))

    with pytest.raises(
        InvalidInput, match=r"`image_url`: the file .* has changed since .* Nothing was sent; run it again"
    ):
        _ = source.content
    path.unlink()
    with pytest.raises(InvalidInput, match="could no longer be read"):
        _ = source.content


def test_pictures_go_up_where_uploads_are_taken_and_each_once(folder: Path) -> None:
    """Their names at the service stand where they were; a file's own name stays here."""
    service = Service("uploads", "idempotency")
    show = ImagesToVideo(images=["boats/Paper Boat.png", png(), png(1), "https://example.org/a.png", "file_0a"], fps=10)

    body = sent(service, show)

    assert [image["url"] for image in body["images"]] == ["file_0001", "file_0001", "file_0002", "https://example.org/a.png", "file_0a"]  # fmt: skip
    assert [image["frames"] for image in body["images"]] == [10] * 5
    assert service.uploaded == [(png(), f"{sha(png())[:16]}.png", "image/png"), (png(1), f"{sha(png(1))[:16]}.png", "image/png")]  # fmt: skip


def test_pictures_go_inside_where_no_uploads_are_taken(folder: Path) -> None:
    """As addresses that hold them."""
    body = sent(Service("idempotency"), closer("boats/Paper Boat.png"))

    assert body == {**closer("x").wire(), "image_url": as_data(png())}


@pytest.mark.parametrize("status", [404, 405, 501])
def test_uploads_that_are_not_there_after_all_go_inside(status: int, folder: Path) -> None:
    """The service is not asked a second time."""
    service = Service("uploads", refuse=ServiceError("no", status=status))

    async def twice() -> list[str]:
        uploads = Uploads()
        bodies = []
        for seed in (0, 1):
            request = closer(png(seed))
            bodies.append(
                await build_request_input(service, request, await read_sources(request, library=nothing), uploads)
            )
            service.refuse = None
        return [body["image_url"] for body in bodies]

    assert asyncio.run(twice()) == [as_data(png(0)), as_data(png(1))]
    assert service.uploaded == []


def test_a_picture_too_large_for_a_request_is_told_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """And goes up where that is possible, even one that was written as an address."""
    monkeypatch.setattr(room, "MAX_EMBEDDED_BYTES", 5_000)
    large = png(0, 50)

    for picture in (large, as_data(large)):
        with pytest.raises(InvalidInput) as caught:
            sent(Service(), closer(picture))
        assert "`image_url` has 0.0 MB. This service takes no uploads, and inside a request the limit is 0.005 MB: give a smaller picture, or an http(s) address." in str(caught.value)  # fmt: skip
        assert sent(Service("uploads"), closer(picture))["image_url"] == "file_0001"


def test_pictures_too_many_for_a_request_are_told_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them would fit; together they do not, nor does one that is repeated."""
    monkeypatch.setattr(room, "MAX_REQUEST_BYTES", 30_000)
    each = png(0, 50)

    assert len(each) < 8_000
    sent(Service(), ImagesToVideo(images=[each] * 2))
    for images in ([each] * 4, [png(seed, 50) for seed in range(4)], [as_data(each)] * 4):
        with pytest.raises(InvalidInput, match=r"^ImagesToVideo: With its pictures inside, the request has 0.0 MB; the limit is 0.0 MB\. Give fewer"):  # fmt: skip
            sent(Service(), ImagesToVideo(images=images))
    sent(Service("uploads"), ImagesToVideo(images=[each] * 4))


def answered(served: Served, uploads: Uploads, request: Input) -> dict[str, Any]:
    """What a real service says in the end about an input of ours."""

    async def body() -> dict[str, Any]:
        http = Http(KEY)
        try:
            calls = ServiceCalls(http, served.base_url)
            return await build_request_input(calls, request, await read_sources(request, library=nothing), uploads)
        finally:
            await http.close()

    endpoint_id = request.endpoint_id
    request_id = served.submitted(endpoint_id, asyncio.run(body()))
    deadline = time.monotonic() + 60
    # Asked again and again, as the specification has it.
    while served.get(f"/{endpoint_id}/requests/{request_id}/status").json()["status"] != "COMPLETED":
        assert time.monotonic() < deadline, "the run did not end in time"
        threading.Event().wait(0.02)
    return dict(served.result(endpoint_id, request_id).json())


@pytest.mark.parametrize("spec_only", [False, True], ids=["with uploads", "by the specification alone"])
def test_a_real_service_reads_what_is_sent(
    spec_only: bool, shared: Served, shared_spec_only: Served, folder: Path
) -> None:
    """Whether it takes uploads or knows nothing but its specification."""
    served, uploads = shared_spec_only if spec_only else shared, Uploads()
    figure = matplotlib.figure.Figure(figsize=(0.5, 0.5), dpi=64)
    pictures = [png(0, 16), np.random.default_rng(0).random((16, 16)), figure, "boats/Paper Boat.png"]

    output = answered(served, uploads, ImagesToVideo(images=[Frame(url=picture, frames=1) for picture in pictures]))

    assert output["video"]["content_type"] == "video/mp4", output
    assert len(uploads._known) == (0 if spec_only else 4)


class Gated(Service):
    """A service whose uploads wait for a signal, so that they can be made to overlap."""

    def __init__(self) -> None:
        super().__init__("uploads")
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def upload(self, content: bytes, name: str, content_type: str) -> str:
        self.begun.set()
        await self.go.wait()
        return await super().upload(content, name, content_type)


def test_many_runs_with_one_picture_upload_it_once() -> None:
    """Also those that begin while it is on its way."""
    (source,) = read(closer(png())).values()

    async def runs() -> tuple[set[str | None], int]:
        uploads, service = Uploads(), Gated()
        waiting = [asyncio.ensure_future(uploads.get_or_upload(service, source)) for _ in range(64)]
        await service.begun.wait()
        service.go.set()
        names = {*await asyncio.gather(*waiting), await uploads.get_or_upload(service, source)}
        return names, len(service.uploaded)

    assert asyncio.run(runs()) == ({"file_0001"}, 1)


def test_what_a_service_no_longer_has_goes_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Told by its own words about the file, or after a day, as services remove uploads after some; with a moved clock."""
    one, other = (next(iter(read(closer(png(seed))).values())) for seed in (0, 1))
    now = [0.0]
    monkeypatch.setattr(room, "time", SimpleNamespace(monotonic=lambda: now[0]))

    async def runs() -> list[str | bool | None]:
        uploads, service = Uploads(), Service("uploads")
        names: list[str | bool | None] = [await uploads.get_or_upload(service, source) for source in (one, other)]
        names.append(uploads.forget_mentioned("The prompt is too long."))
        names.append(uploads.forget_mentioned("The source file_0001 could not be fetched."))
        names += [await uploads.get_or_upload(service, source) for source in (one, other)]
        now[0] = room.REUSE_SECONDS - 1
        names.append(await uploads.get_or_upload(service, one))
        now[0] += 2
        return [*names, await uploads.get_or_upload(service, one)]

    assert asyncio.run(runs()) == [
        "file_0001", "file_0002", False, True, "file_0003", "file_0002", "file_0003", "file_0004",
    ]  # fmt: skip
