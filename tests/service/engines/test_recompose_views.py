"""What smart resize shows of a picture: its subjects, what a prompt asks for, and the background that it adds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from reelbook_service.engines.recompose import source_of
from reelbook_service.engines.recompose_view import View, Wish, parse_prompt
from reelbook_service.engines.saliency import saliency_of
from tests.support import deep
from tests.tools.scenes import NAMES, scene

SHAPES = ((540, 540), (540, 960), (300, 600), (728, 90))

Box = tuple[int, int, int, int]


def view(picture: Image.Image, shape: tuple[int, int], prompt: str = "") -> View:
    return source_of(picture, prompt, seed=1).views(shape, 1)[0]


def drawn(picture: Image.Image, shape: tuple[int, int]) -> Image.Image:
    return source_of(picture, "", seed=1).drawn(view(picture, shape), shape)


def box_of(mask: Image.Image) -> Box:
    box = mask.point(lambda value: 255 if value > 127 else 0).getbbox()
    assert box is not None
    return box


def kept(shown: View, subject: Image.Image) -> float:
    """How much of the subject's box the result shows."""
    left, top, right, bottom = box_of(subject)
    first, upper, last, lower = shown.box
    across = min(right, last * subject.width) - max(left, first * subject.width)
    down = min(bottom, lower * subject.height) - max(top, upper * subject.height)
    return max(0.0, across) * max(0.0, down) / ((right - left) * (bottom - top))


def centre(picture: Image.Image, prompt: str = "") -> tuple[float, float]:
    """Where the subject's middle comes in a square, in parts of the result."""
    shown, (x, y) = view(picture, (240, 240), prompt), saliency_of(picture).centre
    return (x - shown.left) / shown.width, (y - shown.top) / shown.height


@pytest.fixture(scope="module")
def boat() -> Image.Image:
    return scene("boat", height=240).picture


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        *((name, 0) for name in NAMES[::2]),
        *deep(*((name, 0) for name in NAMES if name not in NAMES[::2]), *((name, 1) for name in NAMES)),
    ],
)
def test_the_subject_stays_whole_and_in_shape(name: str, seed: int) -> None:
    """In a square, two upright shapes and a banner: 95% of each subject's box, with the proportions of the picture."""
    subjects = scene(name, height=240, seed=seed)
    width, height = subjects.picture.size
    for shape in SHAPES:
        shown = view(subjects.picture, shape)

        assert shown.width * width / (shown.height * height) == pytest.approx(shape[0] / shape[1])
        assert all(kept(shown, subject) >= 0.95 for subject in subjects.subjects)


def speckled(width: int, height: int, seed: int = 3) -> Image.Image:
    """A rough wall."""
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

    shown = view(picture, shape)

    assert shown.added > 0.33
    (width, height), (left, top) = shown.layout(shape)
    ghosts = magenta(drawn(picture, shape))
    assert ghosts[top : top + height, left : left + width].sum() > 0.02 * shape[0] * shape[1]
    ghosts[top : top + height, left : left + width] = False
    assert ghosts.mean() < 0.001


KEEPS_LEFT, KEEPS_TOP = "keeps the left side", "keeps the top side"


@pytest.mark.parametrize(
    ("prompt", "followed"),
    [
        ("Please keep the left side!", [KEEPS_LEFT]),
        ("don't crop the top", [KEEPS_TOP]),
        ("keep the left and keep the top", [KEEPS_LEFT, KEEPS_TOP]),
        ("show the whole picture", ["leaves nothing out"]),
        ("do not cut anything", ["leaves nothing out"]),
        ("centre the boat", ["centres the subject"]),
        ("centered, close-up", ["centres the subject", "comes closer"]),
    ],
)
def test_what_geometry_can_do_is_understood(prompt: str, followed: list[str]) -> None:
    """Plain words become preferences, and nothing of the prompt is left over."""
    assert parse_prompt(prompt) == Wish(tuple(followed), ())


@pytest.mark.parametrize("prompt", ["make it snow", "in the style of an old master", "not centred", "日没"])
def test_what_geometry_cannot_do_is_reported(prompt: str) -> None:
    """It changes nothing, and the words come back in the description."""
    wish = parse_prompt(prompt)

    assert wish.followed == ()
    assert prompt in wish.described()


def test_wishes_act(boat: Image.Image) -> None:
    """A kept side stays, a centred subject is in the middle, closer is larger, and nothing is cut that may not be."""
    upright, (x, y) = (180, 320), saliency_of(boat).centre
    middle = view(boat, (240, 240), "centre the boat")

    assert view(boat, upright).left > 0 >= view(boat, upright, "keep the left side").left
    assert (x - middle.left) / middle.width == pytest.approx(0.5, abs=0.05)
    assert (y - middle.top) / middle.height == pytest.approx(0.5, abs=0.05)
    assert view(boat, (240, 240), "close-up").width < view(boat, (240, 240)).width
    assert view(boat, upright, "show everything").visible == pytest.approx((1.0, 1.0))
