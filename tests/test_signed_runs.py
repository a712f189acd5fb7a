"""Runs whose service signs its files: every way out of the library leaves the signature valid."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

import reelbook as rb
from tests.client.variants import Hosted, Reply
from tests.media.makers import TYPES, signed_file, state_of

FILES = ("boat.mp4", "boat.png", "boat.jpg", "boat.webp")


class Maker:
    """A service that signs what it makes, with a client of it."""

    def __init__(self, hosted: Hosted, client: rb.Client, folder: Path) -> None:
        self.hosted, self.client, self.folder = hosted, client, folder

    def run(self, name: str = "boat.mp4") -> rb.Run:
        """A run that has made a signed file of the kind that the name says."""
        path = self.folder / name.replace(".jpg", ".jpeg")
        content = signed_file(path).read_bytes()
        file = {"url": f"{self.hosted.base_url}/{name}", "content_type": TYPES[path.suffix[1:]]}
        self.hosted.on("GET", f"/{name}", Reply(200, content, {"content-type": file["content_type"]}))
        request: rb.Input
        if name.endswith(".mp4"):
            request, output = rb.TextToVideo(prompt="a boat", num_frames=9, seed=7), {"video": file, "seed": 7}
        else:
            request = rb.SmartResize(image_url="https://example.org/a.png", target_sizes=["24x16"], prompt=name)
            output = {"images": [file], "results": [], "description": ""}
        self.hosted.queue(request.endpoint_id, request_id=f"request-{name}", output=output)
        self.hosted.on("POST", "/models/run", {"requestId": f"request-{name}"})
        return self.client.run(request)


@pytest.fixture
def maker(tmp_path: Path) -> Iterator[Maker]:
    (tmp_path / "made").mkdir()
    with Hosted() as hosted, rb.connect(hosted.base_url, api_key="a-key", library=tmp_path / "library") as client:
        yield Maker(hosted, client, tmp_path / "made")


def files_below(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.suffix[1:] in TYPES}


def states(folder: Path) -> set[str]:
    """The states of all signed media below a folder; posters of reports are copies that nobody has signed."""
    found = {name: content for name, content in files_below(folder).items() if ".poster." not in name}
    assert found
    return {state_of(content, Path(name).suffix) for name, content in found.items()}


@pytest.mark.parametrize("name", FILES)
def test_every_way_out_leaves_a_signed_file_as_it_came(maker: Maker, name: str, tmp_path: Path) -> None:
    """`save`, `export`, a report in a folder, and a library that takes in this one."""
    run = maker.run(name)
    original = (maker.folder / name.replace(".jpg", ".jpeg")).read_bytes()

    saved = run.media[0].save(tmp_path / "saved" / name)
    rb.library().export(tmp_path / "export")
    rb.library().frame.reel.report(tmp_path / "report", folder=True)
    (tmp_path / "other").mkdir()
    rb.library(tmp_path / "other").adopt(rb.library().folder)

    for folder in (saved.parent, tmp_path / "export", tmp_path / "report", tmp_path / "other"):
        assert original in files_below(folder).values(), folder
        assert states(folder) == {"Trusted"}, folder


def test_a_signed_picture_is_uploaded_as_it_is(maker: Maker, tmp_path: Path) -> None:
    """From a path, from a run, from a file of a run, from its bytes and through an `Image`."""
    run = maker.run("boat.png")
    original = (maker.folder / "boat.png").read_bytes()
    path = run.media[0].save(tmp_path / "boat.png")
    ways = [path, str(path), run, run.media[0], original, rb.Image.of(path), rb.Image.of(original)]

    sent = []
    for number, way in enumerate(ways):
        maker.hosted.on("POST", "/models/run", {"requestId": f"r-{number}"})
        request = rb.SmartResize(image_url=way, target_sizes=["24x16"], prompt=f"way {number}")
        maker.hosted.queue(
            request.endpoint_id,
            request_id=f"r-{number}",
            output={"images": [{"url": f"{maker.hosted.base_url}/boat.png"}]},
        )
        maker.client.run(request)
        sent.append(maker.hosted.seen("POST", "/models/run")[-1].json["input"]["image_url"])

    assert len(set(sent)) == 1
    assert sent[0].startswith("data:image/png;base64,")
    assert base64.b64decode(sent[0].partition(",")[2]) == original
