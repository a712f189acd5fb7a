"""Files that were brought home: what they hold, and stills from them."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import av
import pytest
from PIL import Image

import reelbook as rb
from reelbook.media.local_file import Probe
from tests.clips import at, film, number_of
from tests.media.making import FACTS
from tests.support import png


@pytest.fixture(scope="module")
def clip_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # One keyframe in ten, so that stills between keyframes are asked for too.
    path = tmp_path_factory.mktemp("films") / "clip.mp4"
    film(path, options={"g": "10"})
    return path


def test_a_picture_has_one_frame_and_no_rate(tmp_path: Path) -> None:
    """The probe of a picture is its size."""
    (tmp_path / "picture.png").write_bytes(png(32, 16))
    picture = at(tmp_path / "picture.png")

    assert picture.probe == Probe(32, 16, 1, None)
    assert (str(picture.probe), picture.probe.seconds, picture.is_video) == ("32×16", 0.0, False)


def test_a_still_by_time_is_the_frame_on_the_screen(clip_path: Path) -> None:
    """A frame is on the screen from its own time until the next one's, however its time is rounded."""
    clip = at(clip_path)

    for number in range(25):
        assert number_of(clip.still(seconds=number / 24)) == number
        assert number_of(clip.still(seconds=(number + 0.9) / 24)) == number


class TestSaving:
    """Copies under names of yours."""

    def test_a_copy_is_saved_under_a_name_or_into_a_folder(self, clip_path: Path, tmp_path: Path) -> None:
        """`save` takes a file's name or a folder, says where the copy is, and leaves the original."""
        clip = at(clip_path)

        named, placed = clip.save(tmp_path / "boat.mp4"), clip.save(tmp_path)

        assert (named, placed) == (tmp_path / "boat.mp4", tmp_path / "clip.mp4")
        assert named.read_bytes() == placed.read_bytes() == clip_path.read_bytes()

    def test_in_a_folder_a_copy_gets_a_readable_name(self, tmp_path: Path) -> None:
        """Prompt or model, seed and size; several files of one run do not take each other's place."""
        (tmp_path / "out").mkdir()
        names = []
        for digest, colour in (("9f86d081" * 8, "red"), ("60303ae2" * 8, "blue")):
            (tmp_path / f"{digest}.png").write_bytes(png(32, 16, colour))
            facts = {**FACTS, "model": "svc/video-gen/v2.1/master/smart resize/"}
            names.append(replace(at(tmp_path / f"{digest}.png"), facts=facts).save(tmp_path / "out").name)
            names.append(replace(at(tmp_path / f"{digest}.png"), facts={"model": "a/b"}).save(f"{tmp_path}/new/").name)

        assert names == [
            "a-paper-boat_seed-7_32x16.png", "b_32x16.png",
            "a-paper-boat_seed-7_32x16~2.png", "b_32x16~2.png",
        ]  # fmt: skip
        assert len(list((tmp_path / "new").iterdir())) == 2

    @pytest.mark.parametrize(
        "model", ["../../etc/passwd", "svc/..", "/", "a\\b", "x" * 500, "船/größer", "svc/.hidden", "a\0b"]
    )
    def test_a_readable_name_stays_in_its_folder(self, model: str, tmp_path: Path) -> None:
        """A service may call its models anything; a name made of that is a name, and not a way to somewhere."""
        (tmp_path / "a.png").write_bytes(png())
        hostile = {"model": model, "request_id": "../../x", "seed": "../7"}

        saved = replace(at(tmp_path / "a.png"), facts=hostile).save(f"{tmp_path}/out/")

        assert saved.parent == tmp_path / "out"
        assert re.fullmatch(r"\w[\w-]{0,200}\.png", saved.name)

    @pytest.mark.parametrize("name", ["boat.png", "boat.webm", "boat.JPG"])
    def test_a_suffix_of_another_kind_is_refused(self, name: str, clip_path: Path, tmp_path: Path) -> None:
        """A film called a picture opens nowhere; saving does not convert."""
        with pytest.raises(
            rb.ReelbookError, match=r"is not a \.\w+ file, and saving does not convert it\. .*ends in \.mp4"
        ):
            at(clip_path).save(tmp_path / name)

        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("name", "saved"),
        [("boat", "boat.mp4"), ("boat.v2", "boat.v2.mp4"), ("boat.MP4", "boat.MP4"), ("boat.m4v", "boat.m4v"), (".x", ".x.mp4")],
    )  # fmt: skip
    def test_a_name_without_a_suffix_gets_one(self, name: str, saved: str, clip_path: Path, tmp_path: Path) -> None:
        """So that the system knows what to open it with; one that means the same kind stays."""
        assert at(clip_path).save(tmp_path / name) == tmp_path / saved
        assert (tmp_path / saved).exists()

    @pytest.mark.parametrize("place", ["file/boat.mp4", "x" * 300, "file/"])
    def test_a_place_that_cannot_be_written_to_says_so(self, place: str, clip_path: Path, tmp_path: Path) -> None:
        """A file where a folder should be, also as the folder itself, and a name that is too long."""
        (tmp_path / "file").write_bytes(b"")

        with pytest.raises(rb.ReelbookError, match=r"could not be .* Choose a place that can be written to"):
            at(clip_path).save(f"{tmp_path}/{place}")

        assert not list(tmp_path.rglob("*.part"))


class TestAsSource:
    """Files as source pictures of other runs."""

    def test_a_picture_gives_its_own_bytes(self, tmp_path: Path) -> None:
        """Nothing is decoded and encoded again on the way."""
        (tmp_path / "boat.webp").write_bytes(png(kind="WEBP"))

        assert at(tmp_path / "boat.webp").__reel_picture__() == (png(kind="WEBP"), "boat.webp")

    def test_a_film_gives_its_last_frame(self, clip_path: Path) -> None:
        """As a PNG, so that a clip can be continued from where it ends."""
        data, label = at(clip_path).__reel_picture__()

        with Image.open(io.BytesIO(data)) as picture:
            assert (picture.format, picture.size, number_of(picture)) == ("PNG", (64, 48), 24)
        assert label == "last frame of clip.mp4"


def test_a_playlist_that_is_called_a_film_leads_nowhere(clip_path: Path, tmp_path: Path) -> None:
    """FFmpeg would follow a text named `.mp4` to other files of this machine; it is told what to expect."""
    playlist = tmp_path / "clip.mp4"
    (tmp_path / "secret.mp4").write_bytes(clip_path.read_bytes())
    playlist.write_text("ffconcat version 1.0\nfile secret.mp4\n")
    with av.open(str(playlist)) as control:
        assert control.format.name == "concat"

    with pytest.raises(rb.ReelbookError, match="cannot be read as a video"):
        at(playlist).still()


@pytest.mark.parametrize("name", ["clip.mp4", "picture.png", "unknown.bin"])
@pytest.mark.parametrize("content", [b"", b"\0\0\0\x20ftypisom" + bytes(200), b"<html>expired</html>"])
def test_a_file_that_cannot_be_read_says_so(tmp_path: Path, name: str, content: bytes) -> None:
    """Whatever a decoder stumbles over arrives as one of our errors, which names the file and the way on."""
    (tmp_path / name).write_bytes(content)
    broken = at(tmp_path / name)

    for ask in (lambda: broken.probe, broken.still, lambda: list(broken.frames())):
        with pytest.raises(rb.ReelbookError, match=rf"{name} cannot be read as a (video|picture).*rb\.attach"):
            ask()


def test_a_film_that_breaks_off_says_so(clip_path: Path, tmp_path: Path) -> None:
    """A film whose second half is missing has no last frame."""
    content = bytearray(clip_path.read_bytes())
    movie_data = content.index(b"mdat") + 4
    index = content.index(b"moov") - 4
    middle = (movie_data + index) // 2
    content[middle:index] = bytes(index - middle)
    (tmp_path / "clip.mp4").write_bytes(content)

    with pytest.raises(rb.ReelbookError, match=r"rb\.attach"):
        at(tmp_path / "clip.mp4").still(1.0)
