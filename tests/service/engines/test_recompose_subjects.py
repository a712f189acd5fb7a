"""What becomes of the subject: ten drawn scenes, each with its subjects marked, in four shapes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from reelbook_service.engines.recompose.analysed_picture import AnalysedPicture
from reelbook_service.engines.recompose.composition import Composition
from reelbook_service.engines.recompose.deform import bent
from reelbook_service.engines.recompose.importance import analyse
from reelbook_service.engines.recompose.wishes import parse_prompt
from tests.support import deep
from tests.tools.scenes import NAMES, Scene, scene

SHAPES = ((540, 540), (540, 960), (300, 600), (728, 90))
KEPT, BENT = 0.95, 1.12

Box = tuple[int, int, int, int]


def composition(picture: Image.Image, shape: tuple[int, int], prompt: str = "", seed: int = 1) -> Composition:
    view = next(AnalysedPicture(picture, parse_prompt(prompt), seed).views(shape, 1))
    assert view.composition is not None
    return view.composition


def box_of(mask: Image.Image) -> Box:
    box = mask.point(lambda value: 255 if value > 127 else 0).getbbox()
    assert box is not None
    return box


def kept(made: Composition, subject: Image.Image) -> float:
    """How much of the subject's box the result shows."""
    left, top, right, bottom = box_of(subject)
    across = min(right, made.across.source[-1]) - max(left, made.across.source[0])
    down = min(bottom, made.down.source[-1]) - max(top, made.down.source[0])
    return max(0.0, across) * max(0.0, down) / ((right - left) * (bottom - top))


def bend(made: Composition, subject: Image.Image) -> float:
    """How many times too wide or too high the subject comes out: its mask goes the way of the picture."""
    shapes = []
    for mask in (subject, bent(subject, made.across, made.down)):
        left, top, right, bottom = box_of(mask)
        shapes.append((right - left) / (bottom - top))
    return max(shapes[0] / shapes[1], shapes[1] / shapes[0])


def pixels_worth(made: Composition, subject: Image.Image) -> float:
    """What rounding to whole pixels can add to the bend of a small subject."""
    left, top, right, bottom = box_of(bent(subject, made.across, made.down))
    return 1.5 / min(right - left, bottom - top)


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        *((name, 0) for name in NAMES[::4]),
        *deep(*((name, 0) for name in NAMES if name not in NAMES[::4]), *((name, 1) for name in NAMES)),
    ],
)
def test_the_subject_stays_whole_and_in_shape(name: str, seed: int) -> None:
    """In a square, two upright shapes and a banner: 95% of each subject's box, its proportions within 12%."""
    drawn = scene(name, height=240, seed=seed)

    made = [composition(drawn.picture, shape) for shape in SHAPES]

    for each in made:
        for subject in drawn.subjects:
            assert kept(each, subject) >= KEPT
            assert bend(each, subject) <= BENT + pixels_worth(each, subject)


def test_a_plain_crop_of_the_middle_would_fail(  # The control: the measure above can tell good from bad.
) -> None:
    """Cut from the middle of the picture, the bird loses more than half, and squeezing bends it threefold."""
    drawn = scene("bird", height=360)
    width, height = drawn.picture.size
    left, top, right, bottom = box_of(drawn.subjects[0])
    middle = (width / 2 - height * 9 / 32, width / 2 + height * 9 / 32)

    shown = max(0.0, min(right, middle[1]) - max(left, middle[0])) / (right - left)
    squeezed = box_of(drawn.subjects[0].resize((height * 9 // 16, height)))

    assert shown < 0.5
    assert (right - left) / (bottom - top) > 3 * (squeezed[2] - squeezed[0]) / (squeezed[3] - squeezed[1])


def speckled(width: int, height: int, seed: int = 3) -> Image.Image:
    """A wall so rough that nothing on it can be stretched unseen."""
    noise = np.random.default_rng(seed).integers(90, 170, (height // 3, width // 3), np.uint8)
    return Image.fromarray(noise).resize((width, height), Image.Resampling.BILINEAR).convert("RGB")


def magenta(picture: Image.Image) -> NDArray[np.bool_]:
    red, green, blue = (channel.astype(int) for channel in np.moveaxis(np.asarray(picture), -1, 0))
    return np.asarray((red - green > 60) & (blue - green > 60))


@pytest.mark.parametrize("shape", [(728, 90), (120, 700)])
def test_added_background_never_shows_the_subject_again(shape: tuple[int, int]) -> None:
    """More than a third of the canvas is invented, and in all of that there is no second disc, whole or in part."""
    picture = speckled(360, 240)
    ImageDraw.Draw(picture).ellipse((120, 60, 240, 180), fill=(230, 30, 210))

    view = next(AnalysedPicture(picture, parse_prompt(""), 5).views(shape, 1))
    result = view.drawn()

    made = view.composition
    assert made is not None
    assert made.added > 0.33
    (left, top), (width, height) = made.offset, made.inner
    ghosts = magenta(result)
    assert ghosts[top : top + height, left : left + width].sum() > 0.02 * shape[0] * shape[1]
    ghosts[top : top + height, left : left + width] = False
    assert ghosts.mean() < 0.001


def test_a_subject_that_the_border_cuts_stays_at_the_border() -> None:
    """A figure that stands on the lower edge still does so where there is background to add."""
    picture = speckled(300, 300)
    ImageDraw.Draw(picture).rectangle((100, 130, 200, 300), fill=(230, 30, 210))

    made = composition(picture, (150, 500))

    assert made.added > 0
    assert made.offset[1] + made.inner[1] == 500


def test_two_subjects_are_seen_as_two_and_both_are_kept() -> None:
    """Two people far apart are two boxes, each where a person is."""
    drawn = scene("pair", height=360)

    boxes = sorted(analyse(drawn.picture).boxes, key=lambda box: box.left)

    assert len(boxes) == 2
    for box, subject in zip(boxes, drawn.subjects, strict=True):
        left, _, right, _ = (side / drawn.picture.width for side in box_of(subject))
        assert box.left <= left < right <= box.right


def test_nothing_stands_out_of_an_even_surface() -> None:
    """A plain picture has no subject, and every shape of it is as plain."""
    plain = Image.new("RGB", (200, 120), (90, 140, 200))

    results = [next(AnalysedPicture(plain, parse_prompt(""), 1).views(shape, 1)).drawn() for shape in SHAPES]

    assert analyse(plain).boxes == ()
    assert all(result.getcolors() == [(result.width * result.height, (90, 140, 200))] for result in results)


def seams(drawn: Scene, shape: tuple[int, int]) -> list[float]:
    """How much stronger the picture changes across its seams with added background than inside."""
    view = next(AnalysedPicture(drawn.picture, parse_prompt(""), 1).views(shape, 1))
    made = view.composition
    assert made is not None
    lines = np.asarray(view.drawn().convert("L")).astype(float)
    axis = 0 if made.inner[0] < shape[0] else 1
    steps = np.abs(np.diff(lines, axis=1 - axis)).mean(axis)
    first, last = made.offset[axis], made.offset[axis] + made.inner[axis]
    usual = np.percentile(steps[first + 2 : last - 2], 95)
    return [float(steps[at - 1] / usual) for at in (first, last) if 0 < at < shape[axis]]


def test_added_background_joins_without_a_seam() -> None:
    """Where the picture ends and the added part begins, the step is no larger than inside the picture."""
    ratios = seams(scene("house", height=360), (728, 90)) + seams(scene("sign", height=360), (180, 480))

    assert len(ratios) >= 3
    assert max(ratios) <= 1
