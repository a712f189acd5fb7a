"""Where a file comes from: read back from engines' files and from copies, and written without touching a pixel."""

from __future__ import annotations

import struct
import tempfile
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reelbook as rb
from reelbook.media.local_file import LocalFile
from reelbook.media.metadata.provenance import read, write
from reelbook.models import images
from reelbook.models.base import File, Input
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.models.text_to_video import TextToVideo
from tests.media.making import FACTS, KINDS, MODEL, boxes, content, plain, signed
from tests.media.test_packets import FTYP, MOOV, box, chunk, picture
from tests.models.inputs import INPUTS
from tests.service.engines.playing import second_opinion
from tests.support import Served, as_data_uri, examples, png

BOAT = TextToVideo(prompt="a paper boat", num_frames=49, seed=7)
ODD: dict[str, bytes] = {
    "png without pixels": b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", bytes(13)) + chunk(b"IEND", b""),
    "png that claims 200 MB": b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 200_000_000) + b"iTXtXML:com.adobe.xmp\0",
    "png with a broken packet": picture("png")[:33] + chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0no zlib"),
    "jpeg of fillings": b"\xff\xd8" + b"\xff" * 200_000,
    "jpeg with a full packet": picture("jpeg", xmp=b"<!--" + b"x" * 65_400 + b"--></rdf:RDF>"),
    "webp without a lossless picture": b"RIFF\x16\0\0\0WEBPVP8L\x0a\0\0\0" + bytes(10),
    "webp that claims 2 GB": b"RIFF\x0c\0\0\0WEBPVP8 \0\0\0\x7f",
    "webp with a packet that is none": picture("webp", xmp=b"no packet"),
    "mp4 without an index": FTYP,
    "mp4 with a long box of 2^63": FTYP + struct.pack(">I4sQ", 1, b"moov", 2**63),
    "mp4 with a box without an end": FTYP + MOOV + box(b"mdat", b"packets", size=0),
    "mp4 of a million boxes": FTYP + box(b"free") * 1_000_000,
    "a gif": b"GIF89a" + bytes(30),
    "a webm": b"\x1aE\xdf\xa3" + bytes(30),
    "anything": b"anything",
    "empty": b"",
    "a png cut short": b"\x89PNG\r\n\x1a\n",
    "a jpeg cut short": b"\xff\xd8\xff\xe0\xff\xff",
}
"""Files that are not built as they begin, or of kinds that take no record."""


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class TestReading:
    """What is told of a file."""

    def test_an_engines_file_tells_model_input_and_seed(self, kind: str, tmp_path: Path) -> None:
        """The input comes back typed, equal to what was asked, ready to be asked again."""
        told = read(signed(tmp_path / f"boat.{kind}"))

        assert (told.model, told.input, told.seed) == (MODEL, BOAT, 7)
        assert (told.engine, told.engine_version) == ("sketch", "1")
        assert (told.request_id, told.credits, told.made_at) == (None, None, None)

    def test_a_copy_tells_the_run_as_well(self, kind: str, tmp_path: Path) -> None:
        """Request, credits, their source, the service and the time, beside what the engine said."""
        write(signed(tmp_path / f"boat.{kind}"), tmp_path / f"copy.{kind}", FACTS)

        told = read(tmp_path / f"copy.{kind}")

        assert (told.request_id, told.credits, told.credits_source) == ("request-12345678", 53, "charged")
        assert (told.service, told.made_at) == ("https://host.example/api", datetime(2026, 3, 1, 12, 30, tzinfo=UTC))
        assert (told.input, told.engine, told.engine_version) == (BOAT, "sketch", "1")

    def test_a_file_that_tells_nothing_says_so(self, kind: str, tmp_path: Path) -> None:
        """The error names the file and another place to look."""
        path = plain(tmp_path / f"boat.{kind}")

        with pytest.raises(rb.ReelbookError, match=rf"boat\.{kind} carries no provenance.*rb\.library\(\)"):
            read(path)

    @pytest.mark.parametrize("name", ["missing.png", "", "x\0y.png"])
    def test_a_file_that_is_not_there_says_so(self, name: str, tmp_path: Path) -> None:
        """A missing file, a folder, and a path that cannot be one."""
        with pytest.raises(rb.ReelbookError, match="cannot be opened"):
            read(tmp_path / name)

    def test_what_this_session_knows_counts_too(self, tmp_path: Path) -> None:
        """The file of a run tells what its bytes say and what its run knows."""
        file = LocalFile(signed(tmp_path / "boat.png"), File(url="https://host.example/boat.png"), FACTS)

        told = file.provenance

        assert (told.engine, told.request_id, told.credits, told.input) == ("sketch", "request-12345678", 53, BOAT)


class TestPicturesOfInputs:
    """Source pictures in a record."""

    def test_a_picture_in_a_data_address_is_known_by_its_content(self, tmp_path: Path) -> None:
        """It is not put into its own result; the library has it under the hash of its bytes."""
        source = png(400, 300, "teal") + bytes(4000)
        asked = ImageToVideo(prompt="closer", image_url=as_data_uri(source))
        write(plain(tmp_path / "clip.mp4"), tmp_path / "copy.mp4", {"model": asked.endpoint_id, "input": asked})

        told = read(tmp_path / "copy.mp4").input

        assert isinstance(told, ImageToVideo)
        assert told.image_url == images.Image.from_library(sha256(source).hexdigest())
        assert (tmp_path / "copy.mp4").stat().st_size < (tmp_path / "clip.mp4").stat().st_size + 2000

    def test_no_folder_of_yours_is_told_to_others(self, tmp_path: Path) -> None:
        """Of a picture that is known by its path alone, the file keeps the name."""
        asked = ImagesToVideo(images=["/home/jane/secret plan/a.png"])
        write(plain(tmp_path / "clip.mp4"), tmp_path / "copy.mp4", {"model": asked.endpoint_id, "input": asked})

        assert b"secret plan" not in (tmp_path / "copy.mp4").read_bytes()
        assert read(tmp_path / "copy.mp4").input == ImagesToVideo(images=["a.png"])

    @pytest.mark.parametrize("path", ["/home/you/.private/a.png", "../../a.png", "~/a.png", r"C:\Users\you\a.png"])
    def test_a_strangers_file_names_no_picture_in_your_folders(self, path: str, tmp_path: Path) -> None:
        """Asked again, the input of a file from somebody else must not send what lies somewhere on this machine."""
        values = {"prompt": "closer", "image_url": path}
        write(plain(tmp_path / "a.png"), tmp_path / "b.png", {"model": ImageToVideo.endpoint_id, "input": values})

        told = read(tmp_path / "b.png").input

        assert isinstance(told, ImageToVideo)
        assert told.image_url == "a.png"


class TestWriting:
    """Copies with more in them."""

    def test_what_is_shown_stays_the_same(self, kind: str, tmp_path: Path) -> None:
        """Every pixel, packet, frame and time of the copy is that of the original."""
        for number, original in enumerate([signed(tmp_path / f"signed.{kind}"), plain(tmp_path / f"plain.{kind}")]):
            copy = tmp_path / f"copy-{number}.{kind}"

            write(original, copy, FACTS)

            assert copy.read_bytes() != original.read_bytes()
            assert content(copy) == content(original)

    @pytest.mark.parametrize("movflags", ["faststart", "", "frag_keyframe+empty_moov"])
    def test_a_film_plays_and_starts_as_before(self, movflags: str, tmp_path: Path) -> None:
        """Its boxes are the same in the same order, before ours; another decoder finds all frames and no fault."""
        original = plain(tmp_path / "clip.mp4", movflags=movflags)

        write(original, tmp_path / "copy.mp4", FACTS)

        before, after = boxes(original), boxes(tmp_path / "copy.mp4")
        assert [box for box in after if box[0] != "uuid"] == before
        assert [kind for kind, _ in after].count("uuid") == 1
        assert content(tmp_path / "copy.mp4") == content(original)
        assert second_opinion(tmp_path / "copy.mp4") == (5, "")

    def test_writing_twice_replaces_our_record(self, kind: str, tmp_path: Path) -> None:
        """A copy of a copy is the copy, and with other facts it has only those."""
        first, second, third = (tmp_path / f"{number}.{kind}" for number in range(3))
        write(signed(tmp_path / f"boat.{kind}"), first, FACTS)

        write(first, second, FACTS)
        write(first, third, {"request_id": "another"})

        assert second.read_bytes() == first.read_bytes()
        told = read(third)
        assert (told.request_id, told.credits, told.input) == ("another", None, BOAT)
        assert b"request-12345678" not in third.read_bytes()

    @pytest.mark.parametrize("name", ODD)
    def test_what_cannot_take_more_is_copied_as_it_is(self, name: str, tmp_path: Path) -> None:
        """Other kinds, claims beyond the file, parts in masses: a plain copy, soon, and no file beside it."""
        (tmp_path / "odd.bin").write_bytes(ODD[name])

        write(tmp_path / "odd.bin", tmp_path / "to" / "odd.bin", FACTS)

        assert [path.read_bytes() for path in (tmp_path / "to").iterdir()] == [ODD[name]]

    def test_a_copy_that_fails_leaves_what_was_there(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A full disk in the middle of a copy: the old file stays whole, and no part of the new one is left."""
        original = signed(tmp_path / "boat.png")
        (tmp_path / "copy.png").write_bytes(b"old")

        def full(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("reelbook.media.metadata.provenance.copy_pieces", full)
        with pytest.raises(rb.ReelbookError, match=r"could not be saved to .*No space left on device.*save it again"):
            write(original, tmp_path / "copy.png", FACTS)

        assert sorted(path.name for path in tmp_path.iterdir()) == ["boat.png", "copy.png"]
        assert (tmp_path / "copy.png").read_bytes() == b"old"

    def test_the_original_is_never_written_over(self, tmp_path: Path) -> None:
        """The library keeps the bytes that were received, whose hash is their name."""
        original = signed(tmp_path / "boat.png")
        (tmp_path / "link.png").symlink_to(original)

        for target in (original, tmp_path / "link.png"):
            with pytest.raises(rb.ReelbookError, match="is the original itself"):
                write(original, target, FACTS)


@pytest.fixture(scope="module")
def originals() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        yield [plain(Path(folder) / f"original.{kind}") for kind in KINDS]


@settings(max_examples=examples(25, 60), deadline=None)
@given(asked=INPUTS, place=st.integers(0, len(KINDS) - 1))
def test_an_input_survives_the_trip_through_a_file(originals: list[Path], asked: Input, place: int) -> None:
    """Any input of any model comes back equal from any kind of file; of a path that has folders, its name."""
    original = originals[place]
    copy = original.with_stem("copy")

    write(original, copy, {"model": asked.endpoint_id, "input": asked, "credits": 53})

    told = read(copy)
    without = {where: without_folders(picture) for where, picture in images.pictures_of(asked)}
    assert told.input == type(asked).model_validate(images.replace_pictures(asked.wire(), without))
    assert told.input == asked or without != dict(images.pictures_of(asked))
    assert told.credits == 53


def without_folders(picture: str) -> str:
    if not isinstance(picture, images.Image) or picture.sha256 is not None:
        return picture
    name = picture.replace("\\", "/").rpartition("/")[2]
    kept = images.Image.of(name) if name else ""
    return name if isinstance(kept, images.Image) and kept.sha256 is None else "unknown"


def test_a_painted_clip_tells_the_seed_that_was_drawn(shared: Served, tmp_path: Path) -> None:
    """Asked of the embedded service without a seed, it names the one that was used, with which it can be made again."""
    asked = TextToVideo(prompt="a paper boat", num_frames=9, resolution="480p", aspect_ratio="1:1")
    output = shared.done(asked.endpoint_id, asked.wire())
    (tmp_path / "clip.mp4").write_bytes(shared.http.get(output["video"]["url"]).content)

    told = read(tmp_path / "clip.mp4")

    assert (told.input, told.seed) == (asked, output["seed"])
