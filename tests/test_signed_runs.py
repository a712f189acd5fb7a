"""Runs whose service signs its files: every way out of the library leaves the signature valid."""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import reelbook as rb
from reelbook.display.run_text import describe_file, describe_run
from reelbook.media.metadata.provenance import read
from reelbook.models.base import Input
from reelbook.transport import poller
from tests.media.makers import TYPES, signed_file, state_of
from tests.support import Served, as_data_uri, png
from tests.transport.variants import Hosted, Reply

SIGNED = "signed by Acme Video GmbH, ai-marked"
FILES = ("boat.mp4", "boat.png", "boat.jpg", "boat.webp")


@cache
def made_once(name: str) -> bytes:
    """The content of a signed file of the kind that its name says."""
    with tempfile.TemporaryDirectory() as folder:
        return signed_file(Path(folder) / name).read_bytes()


class Maker:
    """A service that signs what it makes, with a client of it."""

    def __init__(self, hosted: Hosted, client: rb.Client, folder: Path) -> None:
        self.hosted, self.client, self.folder = hosted, client, folder

    def run(self, name: str = "boat.mp4") -> rb.Run:
        """A run that has made a signed file of the kind that the name says."""
        path = self.folder / name.replace(".jpg", ".jpeg")
        content = made_once(path.name)
        path.write_bytes(content)
        file = {"url": f"{self.hosted.base_url}/{name}", "content_type": TYPES[path.suffix[1:]]}
        self.hosted.on("GET", f"/{name}", Reply(200, content, {"content-type": file["content_type"]}))
        request: Input
        if name.endswith(".mp4"):
            request, output = rb.TextToVideo(prompt="a boat", num_frames=9, seed=7), {"video": file, "seed": 7}
        else:
            request = rb.SmartResize(image_url="https://example.org/a.png", target_sizes=["24x16"], prompt=name)
            output = {"images": [file], "results": [], "description": ""}
        self.hosted.queue(request.endpoint_id, request_id=f"request-{name}", output=output)
        self.hosted.on("POST", "/models/run", {"requestId": f"request-{name}"})
        return self.client.run(request)


@pytest.fixture
def maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Maker]:
    # Its runs are over as soon as they are asked for.
    monkeypatch.setattr(poller, "FIRST_SECONDS", 0.02)
    (tmp_path / "made").mkdir()
    with Hosted() as hosted, rb.connect(hosted.base_url, api_key="a-key", library=tmp_path / "library") as client:
        yield Maker(hosted, client, tmp_path / "made")


def files_below(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.suffix[1:] in TYPES}


def states(folder: Path) -> set[str]:
    """The states of all signed media below a folder."""
    found = files_below(folder)
    assert found
    return {state_of(content, Path(name).suffix) for name, content in found.items()}


def test_every_way_out_leaves_a_signed_file_as_it_came(maker: Maker, tmp_path: Path) -> None:
    """`save`, `export` and a library that takes in this one: byte for byte, and its run is found by its content.

    In an export by a record beside the file, without any library and wherever the folder went.
    """
    runs = {name: maker.run(name) for name in FILES}
    saved = {name: run.media[0].save(tmp_path / "saved" / name) for name, run in runs.items()}
    originals = {(maker.folder / name.replace(".jpg", ".jpeg")).read_bytes() for name in FILES}
    rb.library().export(tmp_path / "export")
    (tmp_path / "other").mkdir()
    other = rb.library(tmp_path / "other")
    other.adopt(rb.library().folder)

    for folder in (tmp_path / "saved", tmp_path / "export", tmp_path / "other"):
        assert originals <= set(files_below(folder).values()), folder
        assert states(folder) == {"Trusted"}, folder
    assert {*other.frame["marks"]} == {SIGNED}
    assert list((tmp_path / "saved").glob("*.json")) == []
    for name, run in runs.items():
        renamed = shutil.copyfile(saved[name], tmp_path / f"another{saved[name].suffix}")
        for path in (run.media[0].path, saved[name], renamed):
            told = rb.provenance(path)
            assert (told.input, told.request_id, told.credits) == (run.input, run.request_id, run.credits), path
            assert told.note == f"found by its content: run {run.id} of {rb.library().folder} has made it", path
        (path,) = (tmp_path / "export").glob(f"*{Path(name).suffix}")
        told = read(path)
        assert (told.model, told.request_id, told.credits) == (run.endpoint_id, run.request_id, run.credits), path
        assert told.note == f"found by its content in {path.name}.reelbook.json"


def test_a_signed_file_that_was_changed_or_is_of_nobody_here_says_so(maker: Maker, tmp_path: Path) -> None:
    """Whether or not there is a library; what a sidecar says is not believed of another content."""
    saved = maker.run().video.save(tmp_path / "boat.mp4")
    saved.write_bytes(saved.read_bytes()[:-1] + b"\xff")
    rb.library().export(tmp_path / "export")
    (film,) = (tmp_path / "export").glob("*.mp4")
    film.write_bytes(film.read_bytes() + bytes(8))

    with pytest.raises(
        rb.ReelbookError,
        match=r"its maker has signed it \(Acme Video GmbH, as stated\).*no run .* of this content.*rb\.connect\(library=",
    ):
        rb.provenance(saved)
    with pytest.raises(rb.ReelbookError, match="its maker has signed it"):
        read(saved)
    with pytest.raises(rb.ReelbookError, match=rf"{film.name}\.reelbook\.json does not match it: the file was changed"):
        rb.provenance(film)


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


def test_an_unsigned_file_has_its_record_inside_and_nothing_beside_it(shared: Served, tmp_path: Path) -> None:
    """As before."""
    served = shared.with_own_account()
    with rb.connect(served.base_url, api_key=served.key, library=tmp_path / "library") as client:
        run = client.run(rb.SmartResize(image_url=as_data_uri(png(16, 16)), target_sizes=["16x16"]))
        rb.library().export(tmp_path / "export")

    (exported,) = (tmp_path / "export").glob("*.png")
    assert read(exported).request_id == run.request_id
    assert [*tmp_path.rglob("*.reelbook.json")] == []


def test_details_of_a_run_say_who_has_signed_its_file(maker: Maker) -> None:
    """As the certificate states, with the mark, and whether the signature is valid."""
    run = maker.run("boat.webp")

    line = dict(describe_run(run).outputs)["marks"]

    assert line == (
        "signed by Acme Video GmbH, as stated, ai-marked (trainedAlgorithmicMedia), "
        "the signature is valid; who the signer is was not verified"
    )
    assert dict(describe_file(run.media[0]).outputs)["marks"] == line


def test_without_the_c2pa_library_a_signature_and_a_mark_are_still_seen(maker: Maker) -> None:
    """Who has signed the file, and whether that is valid, only the library says."""
    run = maker.run("boat.mp4")
    code = (
        "import sys; sys.modules['c2pa'] = None\n"
        "import reelbook as rb\n"
        "from pathlib import Path\n"
        "from reelbook.display.run_text import format_marks\n"
        "from reelbook.media.local_file import LocalFile\n"
        "from reelbook.models.base import File\n"
        "print(format_marks([LocalFile(Path(sys.argv[1]), File(url=''))]))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, str(run.video.path)], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.stdout.strip(), done.stderr) == (
        "signed (C2PA), ai-marked (trainedAlgorithmicMedia)",
        "",
    )
