"""What is measured of files: known figures of known films, and what happens to files that cannot be read."""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from reelbook.errors import ReelbookError
from reelbook.media.measuring import measures
from reelbook.media.measuring.measures import measure_files
from reelbook.media.measuring.metrics import METRICS, Measured, measure_file
from tests.clips import Pixels
from tests.media.moving import flat, noise, panned, picture, written
from tests.support import examples


def number(path: Path, metric: str, *, reference: Path | None = None) -> float:
    """One figure of one file, which must be there."""
    figures = measure_file(path, [metric], reference=reference)
    assert figures["error"] is None
    value = figures[metric]
    assert isinstance(value, (int, float))
    return value


def luma(pixels: Pixels) -> NDArray[np.float64]:
    """How light each pixel is, worked out once more."""
    red, green, blue = np.moveaxis(pixels.astype(np.float64), 2, 0)
    light: NDArray[np.float64] = 0.299 * red + 0.587 * green + 0.114 * blue
    return light


def ssim_by_hand(one: Pixels, other: Pixels) -> float:
    """SSIM by its definition, one window after another."""
    a, b = luma(one), luma(other)
    c1, c2 = 6.5025, 58.5225
    found = []
    for top in range(0, a.shape[0] - 7, 4):
        for left in range(0, a.shape[1] - 7, 4):
            x, y = (plane[top : top + 8, left : left + 8].ravel() for plane in (a, b))
            ((xx, xy), (_, yy)) = np.cov(x, y)
            above = (2 * x.mean() * y.mean() + c1) * (2 * xy + c2)
            found.append(above / ((x.mean() ** 2 + y.mean() ** 2 + c1) * (xx + yy + c2)))
    return float(np.mean(found))


@settings(max_examples=examples(8, 15), deadline=None)
@given(st.integers(0, 2**32 - 1), st.tuples(*[st.integers(0, 255)] * 3), st.integers(0, 60))
def test_light_and_colour_are_what_their_formulas_say(seed: int, colour: tuple[int, int, int], spread: int) -> None:
    """Four figures of any picture, worked out once more from its pixels in twice the precision."""
    random = np.random.default_rng(seed)
    pixels = (np.array(colour) + random.integers(-spread, spread + 1, (16, 512, 3))).clip(0, 255).astype(np.uint8)
    light, (red, green, blue) = luma(pixels), np.moveaxis(pixels.astype(np.float64), 2, 0)
    rg, yb = red - green, (red + green) / 2 - blue
    inner = light[1:-1, 1:-1]
    laplacian = light[:-2, 1:-1] + light[2:, 1:-1] + light[1:-1, :-2] + light[1:-1, 2:] - 4 * inner

    with TemporaryDirectory() as folder:
        path = picture(Path(folder) / "any.png", pixels)
        figures = measure_file(path, ["sharpness", "brightness", "contrast", "colourfulness"])

    assert figures == {
        "sharpness": pytest.approx(laplacian.var(), rel=1e-4, abs=1e-4),
        "brightness": pytest.approx(light.mean(), rel=1e-5, abs=1e-4),
        "contrast": pytest.approx(light.std(), rel=1e-4, abs=1e-3),
        "colourfulness": pytest.approx(
            math.hypot(rg.std(), yb.std()) + 0.3 * math.hypot(rg.mean(), yb.mean()), rel=1e-4, abs=1e-3
        ),
        "error": None,
    }


@pytest.mark.parametrize("rate", [12, 24])
def test_motion_is_per_second_whatever_the_rate(tmp_path: Path, rate: int) -> None:
    """A fade of 48 levels a second has a motion of 48, at 12 frames a second and at 24."""
    fade = [flat(20 + 48 // rate * place) for place in range(rate)]

    assert number(written(tmp_path / "fade.mkv", fade, rate=rate), "motion") == pytest.approx(48, abs=0.01)


@pytest.mark.parametrize("amount", [0.02, 0.2, 1.0])
def test_ssim_and_psnr_are_what_their_definitions_say(tmp_path: Path, amount: float) -> None:
    """Two pictures that are more or less alike, by formulas written once more in this file."""
    one = noise(1)
    other = (one * (1 - amount) + noise(2) * amount).astype(np.uint8)
    squared = (one.astype(np.float64) - other) ** 2

    figures = measure_file(
        picture(tmp_path / "one.png", one), ["ssim", "psnr"], reference=picture(tmp_path / "other.png", other)
    )

    assert figures["ssim"] == pytest.approx(ssim_by_hand(one, other), abs=1e-5)
    assert figures["psnr"] == pytest.approx(10 * math.log10(255**2 / squared.mean()), abs=1e-5)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("text.mp4", b"I am not a film"),
        ("empty.mp4", b""),
        ("text.png", b"I am not a picture"),
        ("torn.png", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"),
        ("playlist.mp4", b"#EXTM3U\n#EXTINF:1,\n/etc/passwd\n"),
        ("nothing.webm", None),
        ("none.bin", b"\x00" * 100),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, name: str, content: bytes | None) -> None:
    """No figures, no exception, and a sentence that names the file and what to do."""
    if content is not None:
        (tmp_path / name).write_bytes(content)

    figures = measure_file(tmp_path / name, reference=tmp_path / name)

    assert list(figures) == [*METRICS, "error"]
    assert {value for key, value in figures.items() if key != "error"} == {None}
    assert name in str(figures["error"])
    assert "rb.attach" in str(figures["error"])


def test_a_broken_reference_is_named(tmp_path: Path) -> None:
    """The error is about the file that cannot be read."""
    (tmp_path / "broken.mp4").write_bytes(b"I am not a film")

    figures = measure_file(picture(tmp_path / "still.png", flat(90)), ["ssim"], reference=tmp_path / "broken.mp4")

    assert figures["ssim"] is None
    assert "broken.mp4 cannot be read" in str(figures["error"])


def test_an_unknown_metric_is_named_with_the_nearest() -> None:
    """A typo is answered with what was probably meant."""
    with pytest.raises(ReelbookError, match=r"no metric 'sharpnes'\. Did you mean 'sharpness'"):
        measure_file("any.mp4", ["sharpnes"])


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (2000, 3), (3, 2000), (17, 33)])
def test_pictures_of_any_shape_can_be_measured(tmp_path: Path, size: tuple[int, int]) -> None:
    """The smallest and the most slender have all their figures too."""
    path = picture(tmp_path / "odd.png", noise(1, size))

    figures = measure_file(path, reference=path)

    assert figures["error"] is None
    assert (figures["width"], figures["height"], figures["psnr"]) == (*size, math.inf)


# --- Many files ---

FEW = ["sharpness", "motion"]


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three small films that differ; nobody changes them."""
    folder = tmp_path_factory.mktemp("clips")
    return [
        written(folder / f"{speed}.mp4", panned(speed, (speed, 0), frames=6, size=(64, 48)), crf=20)
        for speed in (1, 2, 3)
    ]


def test_figures_come_in_the_order_of_the_files(clips: list[Path], tmp_path: Path) -> None:
    """Good files and bad ones, one of them twice; each with what it gives by itself, and progress on the way."""
    (tmp_path / "bad.mp4").write_bytes(b"I am not a film")
    paths = [clips[2], tmp_path / "bad.mp4", clips[0], clips[2]]
    steps: list[tuple[int, int]] = []

    figures = measure_files(paths, FEW, progress=lambda done, of: steps.append((done, of)))

    assert figures == [measure_file(path, FEW) for path in paths]
    assert steps == [(0, 3), (1, 3), (2, 3), (3, 3)]
    with pytest.raises(ReelbookError, match=r"There is no reference at .*nowhere\.mp4"):
        measure_files(clips, ["ssim"], reference="nowhere.mp4")


def test_what_was_measured_once_is_not_measured_again(
    clips: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of files on a shelf: another metric is measured, another reference too; of files elsewhere nothing is kept."""
    asked: list[tuple[str, tuple[str, ...]]] = []

    def count(path: str, names: tuple[str, ...], *, reference: str | None = None) -> Measured:
        asked.append((Path(path).name, names))
        return measure_file(path, names, reference=reference)

    monkeypatch.setattr(measures, "measure_file", count)
    shelf = tmp_path / "library" / "media"
    shelf.mkdir(parents=True)
    first, second = (shelf / f"{name * 32}.mp4" for name in ("ab", "cd"))
    for clip, path in zip(clips, (first, second), strict=False):
        path.write_bytes(clip.read_bytes())

    measure_files([first], ["sharpness"])
    figures = measure_files([first], [*FEW, "ssim"], reference=second)
    again = measure_files([first], [*FEW, "ssim"], reference=second)
    measure_files([first], [*FEW, "ssim"], reference=clips[2])
    measure_files([clips[0], clips[0]], ["motion"])
    measure_files([clips[0]], ["motion"])

    assert asked == [
        (first.name, ("sharpness",)), (first.name, (*FEW, "ssim")), (first.name, (*FEW, "ssim")),
        ("1.mp4", ("motion",)), ("1.mp4", ("motion",)),
    ]  # fmt: skip
    assert figures == again == [measure_file(first, [*FEW, "ssim"], reference=second)]
    assert {path.parent.name for path in (tmp_path / "library").rglob("*.json")} == {"measures"}


def test_an_interrupt_gives_the_prompt_back(clips: list[Path]) -> None:
    """What has not begun is cancelled."""

    def interrupt(done: int, of: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_files(clips, FEW, progress=interrupt)
