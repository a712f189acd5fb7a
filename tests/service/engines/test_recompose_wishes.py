"""What a prompt can steer, and what is said about the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from reelbook_service.engines.recompose.analysed_picture import AnalysedPicture
from reelbook_service.engines.recompose.composition import Composition
from reelbook_service.engines.recompose.wishes import parse_prompt
from tests.tools.scenes import scene


def composition(picture: Image.Image, shape: tuple[int, int], prompt: str) -> Composition:
    view = next(AnalysedPicture(picture, parse_prompt(prompt), 1).views(shape, 1))
    assert view.composition is not None
    return view.composition


def centre(made: Composition, picture: Image.Image, prompt: str = "") -> tuple[float, float]:
    """Where the subject's middle comes, in parts of the result."""
    seen = AnalysedPicture(picture, parse_prompt(prompt), 1).analysis.centre
    across = made.offset[0] + made.across.place(seen[0] * picture.width)
    down = made.offset[1] + made.down.place(seen[1] * picture.height)
    return across / made.target[0], down / made.target[1]


@pytest.fixture(scope="module")
def boat() -> Image.Image:
    return scene("boat", height=240).picture


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
        ("no distortion", {"rigid": True}),
        ("never stretch anything", {"rigid": True}),
    ],
)
def test_what_geometry_can_do_is_understood(prompt: str, changed: dict[str, Any]) -> None:
    """Plain words become aims, and nothing of the prompt is left over."""
    wish = parse_prompt(prompt)

    assert {name: getattr(wish.aims, name) for name in changed} == changed
    assert wish.followed
    assert wish.beyond == ()


@pytest.mark.parametrize(
    "prompt", ["make it snow", "replace the boat by a horse", "in the style of an old master", "not centred", "日没"]
)
def test_what_geometry_cannot_do_is_said(prompt: str) -> None:
    """The aims stay as they are, and the words come back in the description."""
    wish = parse_prompt(prompt)

    assert wish.aims == parse_prompt("").aims
    assert wish.followed == ()
    assert prompt in wish.described()


def test_a_mixed_wish_is_followed_in_part() -> None:
    """Both halves are told apart, and both are told."""
    words = parse_prompt("keep the left side; add a rainbow").described()

    assert "keeps the left side" in words
    assert "“add a rainbow”" in words


def test_no_wish_says_nothing() -> None:
    """An empty prompt changes nothing and adds no words."""
    assert parse_prompt("") == parse_prompt(" , ; ")
    assert parse_prompt("").described() == ""


def test_a_kept_side_is_in_the_picture(boat: Image.Image) -> None:
    """Left alone, the upright crop drops the left border; wished for, it stays."""
    alone = composition(boat, (180, 320), "")
    wished = composition(boat, (180, 320), "keep the left side")

    assert alone.across.source[0] > 0
    assert wished.across.source[0] == 0


def test_more_sky_lowers_the_boat_and_more_water_raises_it(boat: Image.Image) -> None:
    """The same picture in the same shape, its subject lower or higher."""
    high, middle, low = (
        centre(composition(boat, (240, 240), prompt), boat)[1] for prompt in ("more water", "", "more sky")
    )

    assert high < middle - 0.04 < middle + 0.04 < low


def test_the_subject_goes_where_it_is_put(boat: Image.Image) -> None:
    """Left, right and centre of a square."""
    left, right, middle = (
        centre(composition(boat, (240, 240), prompt), boat)[0]
        for prompt in ("boat on the left", "boat on the right", "centre the boat")
    )

    assert left < 0.42 < middle < 0.58 < right


def test_closer_is_larger_and_wider_is_smaller(boat: Image.Image) -> None:
    """The subject's real size follows the wish."""
    wide, usual, close = (composition(boat, (240, 240), prompt).scale for prompt in ("zoom out", "", "close-up"))

    assert wide <= usual < close


def test_nothing_is_bent_when_that_is_the_wish(boat: Image.Image) -> None:
    """Every strip has the one scale of the whole picture."""
    usual = composition(boat, (240, 240), "")
    rigid = composition(boat, (240, 240), "no distortion")

    assert not usual.across.uniform
    assert rigid.across.uniform
    assert rigid.down.uniform
    assert rigid.across.growth(0, 400) == pytest.approx(rigid.down.growth(0, 240), rel=0.02)


def test_the_whole_picture_stays_when_nothing_may_be_cut(boat: Image.Image) -> None:
    """Even upright, all of a wide picture is there."""
    made = composition(boat, (180, 320), "show everything")

    assert made.visible == pytest.approx((1.0, 1.0))


def test_a_plain_background_has_no_structure() -> None:
    """What is added is far calmer than without the wish."""
    picture = scene("house", height=240).picture

    calm = []
    for prompt in ("", "plain background"):
        view = next(AnalysedPicture(picture, parse_prompt(prompt), 1).views((728, 90), 1))
        assert view.composition is not None
        added = np.asarray(view.drawn().convert("L")).astype(float)[:, : view.composition.offset[0] - 20]
        calm.append(added.std())

    assert calm[1] < 0.6 * calm[0]


def test_a_colour_that_is_named_is_kept() -> None:
    """Of two balls the crop takes the one whose colour was named."""
    picture = Image.new("RGB", (480, 160), (206, 210, 214))
    draw = ImageDraw.Draw(picture)
    draw.ellipse((40, 40, 120, 120), fill=(40, 70, 200))
    draw.ellipse((360, 40, 440, 120), fill=(214, 40, 40))

    red, blue = (composition(picture, (100, 160), f"focus on the {colour} ball") for colour in ("red", "blue"))

    assert red.across.source[0] < 360 < 440 < red.across.source[-1]
    assert red.across.source[0] > 120
    assert blue.across.source[-1] < 360
