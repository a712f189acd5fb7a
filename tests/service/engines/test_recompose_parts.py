"""The steps of smart resize, each by itself: leeway, strips, added background, reports."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from reelbook_service.engines.recompose.deform import Strips, bent
from reelbook_service.engines.recompose.extend import extended
from reelbook_service.engines.recompose.leeway import Leeway, strip_sizes
from reelbook_service.engines.recompose.texture import texture
from tests.tools.scenes import scene

NOTHING = np.zeros((4, 4), np.float32)


@pytest.fixture(scope="module")
def hills() -> Image.Image:
    return scene("balloon", height=120).picture


@given(st.lists(st.tuples(st.floats(0.02, 3), st.floats(0.02, 3)), min_size=2, max_size=60), st.floats(0.05, 20))
def test_strips_share_a_change_by_their_leeway(gives: list[tuple[float, float]], growth: float) -> None:
    """Together they grow as asked, none vanishes or turns round, and who gives more changes more."""
    stretch, squeeze = np.array(gives).T

    sizes = strip_sizes(Leeway(stretch, squeeze), growth)

    assert sizes.mean() == pytest.approx(growth)
    assert (sizes > 0).all()
    order = np.argsort(stretch if growth > 1 else squeeze)
    changes = np.log(sizes[order]) * (1 if growth >= 1 else -1)
    assert (np.diff(changes) > -1e-6).all()


def test_a_picture_in_its_own_size_is_not_touched(hills: Image.Image) -> None:
    """One strip a side at full size gives the same pixels."""
    width, height = hills.size

    same = bent(hills, Strips((0.0, width), (0, width)), Strips((0.0, height), (0, height)))

    assert same.tobytes() == hills.tobytes()


def test_strips_of_one_scale_are_a_plain_resize(hills: Image.Image) -> None:
    """Cut into strips or not, an even scale looks the same: the strips show no seams."""
    width, height = hills.size
    whole = hills.resize((150, 300), Image.Resampling.BICUBIC)

    edges = (0, 30, 75, 120, 150)
    cut = bent(hills, Strips(tuple(edge * width / 150 for edge in edges), edges), Strips((0.0, height), (0, 300)))

    assert np.abs(np.asarray(cut).astype(int) - np.asarray(whole)).max() <= 2


def test_a_clear_picture_is_resampled_without_dark_fringes() -> None:
    """Hidden black beside solid white does not leak into it."""
    picture = Image.new("RGBA", (60, 60))
    picture.paste((255, 255, 255, 255), (20, 20, 40, 40))

    small = np.asarray(bent(picture, Strips((0.0, 30.0, 60.0), (0, 17, 37)), Strips((0.0, 60.0), (0, 37))))

    assert small[small[..., 3] > 8][:, :3].min() > 240


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
@pytest.mark.parametrize(
    ("target", "offset"),
    [((500, 120), (90, 0)), ((213, 400), (0, 280)), ((213, 130), (0, 0)), ((3000, 120), (2787, 0))],
)
def test_added_background_leaves_the_picture_as_it_is(
    hills: Image.Image, mode: str, target: tuple[int, int], offset: tuple[int, int]
) -> None:
    """The picture stands in the result pixel for pixel, and no place around it is left empty."""
    inner = hills.convert(mode)

    result = extended(inner, target, offset, NOTHING, seed=1)

    box = (*offset, offset[0] + inner.width, offset[1] + inner.height)
    assert (result.size, result.mode) == (target, mode)
    assert result.crop(box).tobytes() == inner.tobytes()
    assert np.asarray(result).max(-1).min() > 20


def test_added_background_is_clear_where_the_edge_is(hills: Image.Image) -> None:
    """Beside a clear upper half the added part is clear above and solid below."""
    inner = hills.convert("RGBA")
    inner.paste((255, 255, 255, 0), (0, 0, inner.width, 60))

    alpha = np.asarray(extended(inner, (400, 120), (100, 0), NOTHING, seed=1).getchannel("A"))

    assert alpha[:55].max() == 0
    assert alpha[65:].min() == 255


def test_added_background_depends_on_the_seed_alone(hills: Image.Image) -> None:
    """The same seed gives the same background, another seed another."""
    one, same, other = (extended(hills, (500, 120), (90, 0), NOTHING, seed=seed) for seed in (1, 1, 2))

    assert one.tobytes() == same.tobytes()
    assert one.tobytes() != other.tobytes()


def test_texture_goes_on_without_a_copy() -> None:
    """Sand stays as lively as it was and grain by grain another; it does not begin again before its time."""
    draw = np.random.default_rng(3)
    sand = Image.fromarray(draw.normal(128, 12, (100, 240)).clip(0, 255).astype(np.uint8)).convert("RGB")

    made = texture(sand, 20, 200, np.random.default_rng(1))

    assert made.shape == (200, 240)
    assert 8 < made.std() < 15
    assert abs(np.corrcoef(made[:100].ravel(), np.asarray(sand.convert("L")).ravel())[0, 1]) < 0.1
    assert abs(np.corrcoef(made[:100].ravel(), made[100:].ravel())[0, 1]) < 0.1


def test_shapes_are_no_texture() -> None:
    """Beside letters nothing is invented, and beside a plain wall there is nothing to continue."""
    letters = scene("sign", height=240).picture.crop((80, 75, 280, 155))
    wall = Image.new("RGB", (240, 100), (120, 130, 140))

    assert not texture(letters, 20, 200, np.random.default_rng(1)).any()
    assert not texture(wall, 20, 200, np.random.default_rng(1)).any()
