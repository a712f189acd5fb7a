"""Videos that stitch makes of pictures, as players see them."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from reelbook.models.images_to_video import Frame, ImagesToVideo
from reelbook_service.engines.protocol import EngineTask, OutputFile, PictureError
from reelbook_service.engines.stitch import MOST_PIXELS, on_canvas, stitch
from tests.heard import Heard, Log, Progress
from tests.service.engines.moving import encoded
from tests.service.engines.playing import Playback, played, second_opinion
from tests.support import deep

COLOURS = {"red": (220, 30, 30), "green": (30, 180, 60), "blue": (40, 60, 230), "white": (250, 250, 250)}
SMALL = (64, 36)


def plate(colour: str, size: tuple[int, int] = SMALL) -> Image.Image:
    return Image.new("RGB", size, COLOURS[colour])


def address(name: str) -> str:
    return f"https://example.org/{name}.png"


PLATES = {address(colour): encoded(plate(colour)) for colour in COLOURS}


def a_job(
    folder: Path, show: Sequence[tuple[str, int]], fps: float = 24, sources: Mapping[str, bytes] = PLATES
) -> EngineTask[ImagesToVideo]:
    images = [Frame(url=address(name), frames=count) for name, count in show]
    return EngineTask(ImagesToVideo(images=images, fps=fps), 0, folder, sources)


def news_and_video(job: EngineTask[ImagesToVideo]) -> tuple[list[Progress | Log], OutputFile]:
    heard = Heard()
    made: OutputFile = stitch(job, heard)["video"]
    return heard.news, made


def video(folder: Path, show: Sequence[tuple[str, int]], fps: float = 24, **options: Any) -> OutputFile:
    return news_and_video(a_job(folder, show, fps, **options))[1]


def nearest(pixel: Any) -> str:
    """The colour of the plate that a pixel was part of."""
    return min(COLOURS, key=lambda name: sum((int(a) - b) ** 2 for a, b in zip(pixel, COLOURS[name], strict=True)))


def names(playback: Playback) -> list[str]:
    return [nearest(pixel) for pixel in playback.frames]


SHOWS: list[Any] = [
    [("red", 1)],
    [("red", 1), ("green", 1), ("red", 1), ("blue", 1), ("blue", 1)],
    [("red", 2), ("green", 24), ("blue", 3)],
    [("white", 2), ("red", 251)],
    *deep(([("white", 249), ("red", 250), ("green", 251)],), ([("blue", 1), ("white", 1441), ("red", 1)],)),
]


@pytest.mark.parametrize("show", SHOWS, ids=lambda show: "-".join(str(count) for _, count in show))
def test_every_picture_is_held_for_exactly_its_frames(tmp_path: Path, show: list[tuple[str, int]]) -> None:
    """Each cut falls on exactly the frame that was asked for, from holds of one frame to holds of a minute."""
    made = video(tmp_path, show)

    playback = played(made.path)
    total = sum(count for _, count in show)
    assert names(playback) == [name for name, count in show for _ in range(count)]
    assert playback.times == [Fraction(number, 24) for number in range(total)]
    assert playback.size == SMALL
    assert playback.duration == Fraction(total, 24)
    assert playback.messages == []
    assert second_opinion(made.path) == (total, "")
    assert dict(made.facts) == {"width": 64, "height": 36, "frames": total, "fps": 24.0, "duration": total / 24}
    assert made.content_type == "video/mp4"


def a_landscape(seed: int = 1, size: tuple[int, int] = (320, 180)) -> Image.Image:
    """Soft shapes with a little noise, like a photograph."""
    random = np.random.default_rng(seed)
    pixels = np.full((size[1], size[0], 3), 120.0)
    for cells, strength in ((4, (40, 30, 20)), (16, (20, 20, 20)), (64, (8, 8, 8))):
        rough = Image.fromarray(random.normal(0, 1, (cells, cells)).astype(np.float32))
        pixels += np.asarray(rough.resize(size, Image.Resampling.BICUBIC))[..., None] * strength
    pixels += random.normal(0, 2, (*pixels.shape[:2], 1))
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def a_page(size: tuple[int, int] = (320, 180)) -> Image.Image:
    page = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(page)
    for line in range(12):
        draw.text((8, 6 + 14 * line), "The sum of the parts is more than 1,234.50", fill="black")
    return page


def decibels(shown: np.ndarray[Any, Any], wanted: Image.Image) -> float:
    error = np.mean((shown.astype(float) - np.asarray(wanted.convert("RGB"), float)) ** 2)
    return float(10 * np.log10(255**2 / error))


@pytest.mark.parametrize(
    ("picture", "at_least"), [(a_landscape(), 38), (a_page(), 42)], ids=["a photograph", "black text on white"]
)
@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_first_and_last_frame_are_the_picture(tmp_path: Path, picture: Image.Image, at_least: float, kind: str) -> None:
    """A frame looks like its picture from the first to the last of its hold, text better still; nobody sees a step."""
    data = encoded(picture, kind, quality=95)
    made = video(tmp_path, [("a", 30)], sources={address("a"): data})

    playback = played(made.path, whole=True)
    shown = Image.open(io.BytesIO(data))
    assert decibels(playback.frames[0], shown) >= at_least
    assert min(decibels(frame, Image.fromarray(playback.frames[0])) for frame in playback.frames[1:]) > 50


@pytest.mark.parametrize(
    ("first", "size"),
    [
        ((1, 1), (2, 2)),
        ((17, 33), (18, 34)),
        ((9000, 20), (8192, 18)),
        ((20, 9000), (18, 8192)),
        *deep(((2, 7), (2, 8)), ((16, 16), (16, 16))),
    ],
)
def test_any_size_of_the_first_picture_works(tmp_path: Path, first: tuple[int, int], size: tuple[int, int]) -> None:
    """The video has the first picture's size, made even, however small or long it is."""
    sources = {address("first"): encoded(plate("green", first)), **PLATES}

    made = video(tmp_path, [("first", 3), ("red", 2)], sources=sources)

    playback = played(made.path)
    assert playback.size == size == (made.facts["width"], made.facts["height"])
    assert names(playback) == ["green"] * 3 + ["red"] * 2
    assert playback.messages == []
    assert second_opinion(made.path) == (5, "")


@pytest.mark.deep
def test_a_huge_picture_fits_into_a_worker(tmp_path: Path) -> None:
    """Forty megapixels with transparency make a video that players take, within the 512 MiB of a worker."""
    (tmp_path / "huge.png").write_bytes(encoded(Image.new("RGBA", (7300, 5470), (40, 60, 230, 255)), compress_level=1))
    script = f"""
from pathlib import Path
from tests.support import peak_mib
from tests.service.engines.test_stitch import address, a_job, news_and_video, stitch
folder = Path({str(tmp_path)!r})
job = a_job(folder, [("a", 2)], sources={{address("a"): (folder / "huge.png").read_bytes()}})
news, made = news_and_video(job)
print(peak_mib(), made.path)
print(news[1:4])
"""

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3]
    ).stdout

    mebibytes, path = done.split()[:2]
    assert int(mebibytes) <= 512
    playback = played(Path(path))
    assert playback.size[0] * playback.size[1] <= MOST_PIXELS
    assert abs(playback.size[0] / playback.size[1] - 7300 / 5470) < 0.01
    assert names(playback) == ["blue", "blue"]


def stitching_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("stitch")]


@pytest.mark.parametrize("place", [0, 1, 5])
@pytest.mark.parametrize("data", [b"", b"not a picture", encoded(a_landscape())[:-3000]], ids=["empty", "text", "cut"])
def test_a_broken_picture_is_named(tmp_path: Path, data: bytes, place: int) -> None:
    """A file that is no picture, or only part of one, ends the run with an error that says which; no thread is left."""
    sources = {address(str(number)): encoded(a_landscape(number)) for number in range(6)} | {address(str(place)): data}

    with pytest.raises(PictureError, match=f"{place}.png"):
        video(tmp_path, [(str(number), 2) for number in range(6)], sources=sources)

    assert stitching_threads() == []


def ringed(size: tuple[int, int]) -> Image.Image:
    """A bright picture with a blue ring near its edge, so that nothing can be cut off unseen."""
    picture = Image.new("RGB", size, "white")
    picture.paste((0, 0, 255), (2, 2, size[0] - 2, size[1] - 2))
    picture.paste((255, 255, 255), (size[0] // 8, size[1] // 8, size[0] - size[0] // 8, size[1] - size[1] // 8))
    return picture


@pytest.mark.parametrize("size", [(100, 180), (180, 100), (400, 1000), (2000, 90), (40, 40), (321, 181)])
def test_a_picture_of_another_shape_is_shown_whole(size: tuple[int, int]) -> None:
    """It is scaled evenly, as large as fits, in the middle; nothing of it is cut off."""
    frame = np.asarray(on_canvas(ringed(size), (320, 180))).astype(int)

    assert frame.shape == (180, 320, 3)
    blue = (frame[..., 2] - frame[..., 0]) > 128
    rows, columns = np.flatnonzero(blue.any(axis=1)), np.flatnonzero(blue.any(axis=0))
    scale = min(320 / size[0], 180 / size[1])
    assert len(columns) == pytest.approx((size[0] - 4) * scale, abs=4 + scale)
    assert len(rows) == pytest.approx((size[1] - 4) * scale, abs=4 + scale)
    assert (columns[0] + columns[-1]) / 2 == pytest.approx(159.5, abs=3)
    assert (rows[0] + rows[-1]) / 2 == pytest.approx(89.5, abs=3)
