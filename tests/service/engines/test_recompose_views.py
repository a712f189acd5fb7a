"""What smart resize shows of a picture: its subjects, what a prompt asks for, and the background that it adds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from reelbook_service.engines.recompose import Composition, extended, source_of
from reelbook_service.engines.recompose_view import View, parse_prompt
from reelbook_service.engines.saliency import saliency_of
from tests.support import deep
from tests.tools.scenes import NAMES, Scene, scene

SHAPES = ((540, 540), (540, 960), (300, 600), (728, 90))

Box = tuple[int, int, int, int]


def composition(picture: Image.Image, shape: tuple[int, int], prompt: str = "", seed: int = 1) -> Composition:
    return next(source_of(picture, prompt, seed).compositions(shape, 1))


def view(picture: Image.Image, shape: tuple[int, int], prompt: str = "") -> View:
    chosen = composition(picture, shape, prompt).view
    assert chosen is not None
    return chosen


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
        *((name, 0) for name in NAMES[::4]),
        *deep(*((name, 0) for name in NAMES if name not in NAMES[::4]), *((name, 1) for name in NAMES)),
    ],
)
def test_the_subject_stays_whole_and_in_shape(name: str, seed: int) -> None:
    """In a square, two upright shapes and a banner: 95% of each subject's box, with the proportions of the picture."""
    drawn = scene(name, height=240, seed=seed)
    width, height = drawn.picture.size
    for shape in SHAPES:
        shown = view(drawn.picture, shape)

        assert shown.width * width / (shown.height * height) == pytest.approx(shape[0] / shape[1])
        assert all(kept(shown, subject) >= 0.95 for subject in drawn.subjects)


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

    made = composition(picture, shape)

    assert made.view is not None
    assert made.view.added > 0.33
    (width, height), (left, top) = made.layout()
    ghosts = magenta(made.drawn())
    assert ghosts[top : top + height, left : left + width].sum() > 0.02 * shape[0] * shape[1]
    ghosts[top : top + height, left : left + width] = False
    assert ghosts.mean() < 0.001


def test_a_subject_that_the_border_cuts_stays_at_the_border() -> None:
    """A figure that stands on the lower edge still does so where there is background to add."""
    picture = speckled(300, 300)
    ImageDraw.Draw(picture).rectangle((100, 130, 200, 300), fill=(230, 30, 210))

    shown = view(picture, (150, 500))

    assert shown.added > 0
    assert shown.top + shown.height == pytest.approx(1, abs=0.03)


def test_nothing_stands_out_of_an_even_surface() -> None:
    """A plain picture has no subject, and every shape of it is as plain."""
    plain = Image.new("RGB", (200, 120), (90, 140, 200))

    results = [composition(plain, shape).drawn() for shape in SHAPES]

    assert saliency_of(plain).boxes == ()
    assert all(result.getcolors() == [(result.width * result.height, (90, 140, 200))] for result in results)


def seams(drawn: Scene, shape: tuple[int, int]) -> list[float]:
    """How much stronger the picture changes across its seams with added background than inside."""
    made = composition(drawn.picture, shape)
    size, offset = made.layout()
    lines = np.asarray(made.drawn().convert("L")).astype(float)
    axis = 0 if size[0] < shape[0] else 1
    steps = np.abs(np.diff(lines, axis=1 - axis)).mean(axis)
    first, last = offset[axis], offset[axis] + size[axis]
    usual = np.percentile(steps[first + 2 : last - 2], 95)
    return [float(steps[at - 1] / usual) for at in (first, last) if 0 < at < shape[axis]]


def test_added_background_joins_without_a_seam() -> None:
    """Where the picture ends and the added part begins, the step is no larger than inside the picture."""
    ratios = seams(scene("house", height=360), (728, 90)) + seams(scene("sign", height=360), (180, 480))

    assert len(ratios) >= 3
    assert max(ratios) <= 1


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
@pytest.mark.parametrize(
    ("target", "offset"),
    [((500, 120), (90, 0)), ((213, 400), (0, 280)), ((213, 130), (0, 0)), ((3000, 120), (2787, 0))],
)
def test_added_background_leaves_the_picture_as_it_is(
    mode: str, target: tuple[int, int], offset: tuple[int, int]
) -> None:
    """The picture stands in the result pixel for pixel, no place around it is left empty, and the seed decides."""
    inner = scene("balloon", height=120).picture.convert(mode)

    result, same, other = (extended(inner, target, offset, (0.2, 0.2), seed=seed) for seed in (1, 1, 2))

    box = (*offset, offset[0] + inner.width, offset[1] + inner.height)
    assert (result.size, result.mode) == (target, mode)
    assert result.crop(box).tobytes() == inner.tobytes()
    assert np.asarray(result).max(-1).min() > 20
    assert result.tobytes() == same.tobytes() != other.tobytes()


def test_added_background_is_clear_where_the_edge_is() -> None:
    """Next to a clear upper half the added part is clear above and solid below."""
    inner = scene("balloon", height=120).picture.convert("RGBA")
    inner.paste((255, 255, 255, 0), (0, 0, inner.width, 60))

    alpha = np.asarray(extended(inner, (400, 120), (100, 0), seed=1).getchannel("A"))

    assert alpha[:55].max() == 0
    assert alpha[65:].min() == 255


@pytest.mark.parametrize(
    ("prompt", "changed"),
    [
        ("keep left", {"edges": frozenset({"left"})}),
        ("Please keep the left side!", {"edges": frozenset({"left"})}),
        ("don't crop the top", {"edges": frozenset({"top"})}),
        ("keep the left and keep the lower edge", {"edges": frozenset({"left", "bottom"})}),
        ("show the whole picture", {"whole": True}),
        ("do not cut anything", {"whole": True}),
        ("centre the boat", {"place": (0.5, 0.5)}),
        ("centered", {"place": (0.5, 0.5)}),
        ("put the boat on the right", {"place": (0.67, None)}),
        ("room on the left for a headline", {"place": (0.67, None)}),
        ("more sky", {"place": (None, 0.66)}),
        ("less sky", {"place": (None, 0.36)}),
        ("more space above, subject on the left", {"place": (0.33, 0.66)}),
        ("close-up", {"closeness": 0.8}),
        ("zoom out a little", {"closeness": -0.8}),
        ("no distortion", {}),
        ("never stretch anything", {}),
    ],
)
def test_what_geometry_can_do_is_understood(prompt: str, changed: dict[str, Any]) -> None:
    """Plain words become preferences, and nothing of the prompt is left over."""
    wish = parse_prompt(prompt)

    assert {name: getattr(wish, name) for name in changed} == changed
    assert wish.followed
    assert wish.beyond == ()


@pytest.mark.parametrize(
    "prompt", ["make it snow", "replace the boat by a horse", "in the style of an old master", "not centred", "日没"]
)
def test_what_geometry_cannot_do_is_said(prompt: str) -> None:
    """It changes nothing, and the words come back in the description."""
    wish = parse_prompt(prompt)

    assert replace(wish, beyond=()) == parse_prompt("")
    assert prompt in wish.described()


def test_a_mixed_wish_is_followed_in_part() -> None:
    """The description names what is done and what is not; without a wish it is empty."""
    words = parse_prompt("keep the left side; centre it, more sky; add a rainbow").described()

    assert "it keeps the left side, centres the subject and leaves more room above." in words
    assert "“add a rainbow”" in words
    assert parse_prompt(" , ; ").described() == ""


def test_a_kept_side_is_in_the_picture(boat: Image.Image) -> None:
    """Left alone, the upright crop drops the left border; wished for, it stays."""
    assert view(boat, (180, 320)).left > 0
    assert view(boat, (180, 320), "keep the left side").left <= 0


def test_more_sky_lowers_the_boat_and_more_water_raises_it(boat: Image.Image) -> None:
    """The same picture in the same shape, its subject lower or higher."""
    high, middle, low = (centre(boat, prompt)[1] for prompt in ("more water", "", "more sky"))

    assert high < middle - 0.04 < middle + 0.04 < low


def test_the_subject_goes_where_it_is_put(boat: Image.Image) -> None:
    """Left, right and centre of a square."""
    left, right, middle = (
        centre(boat, prompt)[0] for prompt in ("boat on the left", "boat on the right", "centre the boat")
    )

    assert left < 0.42 < middle < 0.58 < right


def test_closer_is_larger_and_wider_is_smaller(boat: Image.Image) -> None:
    """The subject's real size follows the wish."""
    wide, usual, close = (composition(boat, (240, 240), prompt).scale for prompt in ("zoom out", "", "close-up"))

    assert wide <= usual < close


def test_the_whole_picture_stays_when_nothing_may_be_cut(boat: Image.Image) -> None:
    """Even upright, all of a wide picture is there."""
    assert view(boat, (180, 320), "show everything").visible == pytest.approx((1.0, 1.0))


def test_a_plain_background_has_no_structure() -> None:
    """What is added is far calmer than without the wish."""
    picture = scene("house", height=240).picture

    calm = []
    for prompt in ("", "plain background"):
        made = composition(picture, (728, 90), prompt)
        added = np.asarray(made.drawn().convert("L")).astype(float)[:, : made.layout()[1][0] - 20]
        calm.append(np.abs(np.diff(added, axis=1)).mean())

    assert calm[1] < 0.6 * calm[0]
