"""The state of an explorer, and the files that are saved from it."""

from __future__ import annotations

import errno
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PIL import Image

import reelbook as rb
from reelbook.errors import ReelbookError
from reelbook.media import frame_range
from reelbook.media.local_file import LocalFile
from reelbook.models.base import File
from tests.clips import at, film, number_of
from tests.support import png

FACTS = {
    "model": "svc/text-to-video", "input": {"prompt": "a paper boat"}, "seed": 7, "request_id": "abcdefgh-1234",
    "credits": 53, "made_at": datetime(2026, 11, 24, tzinfo=UTC),
}  # fmt: skip


@pytest.fixture
def clip(tmp_path: Path) -> LocalFile:
    """A clip as a run has it."""
    return LocalFile(film(tmp_path / f"{'c0ffee00' * 8}.mp4").path, File(url=""), FACTS)


def test_files_have_readable_names_and_provenance(clip: LocalFile, tmp_path: Path) -> None:
    """A still, a range and a GIF say which frames of which run they are, in their names and inside."""
    explorer = clip.explore(tmp_path / "saved")
    explorer.frame, explorer.range = 12, (3, 9)

    still, part, gif = explorer.save_still(), explorer.save_clip(), explorer.save_gif()

    stem = "a-paper-boat_seed-7_64x48"
    assert [path.name for path in explorer.saved] == [
        f"{stem}_frame-13-of-25.png", f"{stem}_frames-4-10-of-25.mp4", f"{stem}_frames-4-10-of-25.gif",
    ]  # fmt: skip
    with Image.open(still) as picture:
        assert (picture.size, number_of(picture)) == ((64, 48), 12)
    assert [number_of(frame) for frame in at(part).frames()] == [*range(3, 10)]
    assert gif.read_bytes().startswith(b"GIF8")
    assert [(rb.provenance(path).seed, rb.provenance(path).part) for path in (still, part)] == [
        (7, "frame 13 of 25"), (7, "frames 4-10 of 25"),
    ]  # fmt: skip


def test_no_file_is_written_over(clip: LocalFile, tmp_path: Path) -> None:
    """In a folder each file has a name of its own, and what is there already is not made again; a given name is used."""
    explorer = clip.explore(tmp_path / "saved")

    first, again_first = explorer.save_still(), explorer.save_still()
    first.write_bytes(b"another file")
    second = explorer.save_still()
    whole, again = explorer.save_clip(), explorer.save_clip()

    assert second.name == first.name.replace(".png", "~2.png")
    assert again_first == first
    assert again == whole
    assert clip.clip(tmp_path / "part", 2, 5) == tmp_path / "part.mp4"
    assert clip.gif(str(tmp_path / "part.gif"), 2, 5, width=32) == tmp_path / "part.gif"


def test_the_image_is_the_frame_on_the_screen(clip: LocalFile) -> None:
    """For any field that takes a picture, like the explorer itself."""
    explorer = clip.explore()
    explorer.frame = 9

    boat = rb.ImageToVideo(image_url=explorer.image, prompt="it sails on")
    explorer.frame = 20

    assert isinstance(boat.image_url, rb.Image)
    assert boat.image_url.label == "frame 10 of c0ffee00….mp4"
    assert boat.image_url != explorer.image == rb.Image.of(explorer)


def test_the_whole_clip_is_saved_as_it_is(clip: LocalFile, tmp_path: Path) -> None:
    """Without a loss; only its metadata are added."""
    explorer = clip.explore(tmp_path / "saved")
    explorer.range = (0, 24)

    path = explorer.save_clip()

    assert explorer.range is None
    assert rb.provenance(path).part is None
    assert [a.tobytes() for a in at(path).frames()] == [b.tobytes() for b in clip.frames()]


def test_errors_say_what_to_do(clip: LocalFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames that are not there, a range of one, a picture, a file that is gone, a full disk."""
    explorer = clip.explore(tmp_path / "saved")
    for wrong in (25, -1, True, "3"):
        with pytest.raises(ReelbookError, match="the frames 0 to 24"):
            explorer.frame = wrong  # type: ignore[assignment]
    with pytest.raises(ReelbookError, match="no range from 3 to 99"):
        explorer.range = (3, 99)
    with pytest.raises(ReelbookError, match="frame 3 alone, which is a still"):
        clip.clip(tmp_path, 3, 3)
    picture = tmp_path / "picture.png"
    picture.write_bytes(png())
    with pytest.raises(ReelbookError, match="is a picture"):
        LocalFile(picture, File(url="")).gif(tmp_path)

    def fill(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(frame_range, "encode_clip", fill)
        with pytest.raises(ReelbookError, match=r"No space left on device\). Choose a place"):
            clip.clip(tmp_path / "saved", 2, 4)
    clip.path.unlink()
    with pytest.raises(ReelbookError, match="is not there any more"):
        clip.clip(tmp_path, 2, 4)
    with pytest.raises(ReelbookError, match="cannot be read"):
        explorer.save_still()

    assert not (tmp_path / "saved").exists() or list((tmp_path / "saved").iterdir()) == []


def test_a_picture_is_explored_and_copied(tmp_path: Path) -> None:
    """It has one frame, and its copy is itself."""
    path = tmp_path / "picture.png"
    path.write_bytes(png())
    explorer = LocalFile(path, File(url="")).explore(tmp_path / "saved")

    assert explorer.frames == 1
    assert explorer.save_still().read_bytes() == path.read_bytes()
    assert explorer.image == rb.Image.of(path.read_bytes())
