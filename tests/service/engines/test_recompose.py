"""Smart resize by geometry: the files that come out, and what they show of a picture and of a prompt."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from reelbook.models.smart_resize import Size, SmartResize, preset_for
from reelbook_service.engines.protocol import EngineTask, OutputFile
from reelbook_service.engines.recompose import recompose, source_of
from reelbook_service.engines.recompose_view import View, Wish, parse_prompt
from reelbook_service.engines.saliency import saliency_of
from tests.heard import Heard, Log, Progress
from tests.service.engines.moving import encoded
from tests.support import deep
from tests.tools.scenes import NAMES, scene

URL = "https://example.org/picture.png"


def job(
    folder: Path, picture: bytes, sizes: Iterable[str | tuple[int, int]], seed: int = 7, **fields: Any
) -> EngineTask[Any]:
    folder.mkdir(exist_ok=True)
    asked = SmartResize.model_validate({"image_url": URL, "target_sizes": list(sizes), "seed": seed, **fields})
    return EngineTask(asked, seed, folder, {URL: picture})


def run(todo: EngineTask[Any]) -> tuple[dict[str, Any], list[Progress | Log]]:
    """The output of a job, and all it told on the way."""
    heard = Heard()
    return recompose(todo, heard), heard.news


def made(todo: EngineTask[Any]) -> list[Path]:
    return [image.path for image in run(todo)[0]["images"]]


def seen(path: Path) -> Image.Image:
    """The picture in a file, decoded whole."""
    picture = Image.open(io.BytesIO(path.read_bytes()))
    picture.load()
    return picture


@pytest.fixture(scope="module")
def boat() -> Image.Image:
    return scene("boat", height=240).picture


@pytest.mark.parametrize(("count", "pixels"), [(3, 100_000), *deep((30, 4_000_000))])
def test_every_size_is_met_to_the_pixel(tmp_path: Path, count: int, pixels: int) -> None:
    """Sizes drawn at random, up to a tenth of a megapixel or four, and the results have exactly these pixels."""
    draw = np.random.default_rng(30)
    sizes: list[tuple[int, int]] = []
    while len(sizes) < count:
        width, height = (int(side) for side in np.exp(draw.uniform(np.log(16), np.log(5000), 2)))
        if width * height <= pixels and preset_for(Size(width, height)):
            sizes.append((width, height))

    paths = made(job(tmp_path, encoded(scene("pair", height=240).picture), sizes, output_format="jpeg"))

    assert [seen(path).size for path in paths] == sizes


def test_images_are_flat_in_the_order_of_the_sizes_and_results_point_to_them(tmp_path: Path, boat: Image.Image) -> None:
    """The variants of the first size come first; each result names its own, its canvas and the real scale."""
    todo = job(tmp_path, encoded(boat), ["300x600", "1080x1920"], num_images_per_size=2)

    output, _ = run(todo)

    images: list[OutputFile] = output["images"]
    assert [image.path.name for image in images] == [
        "300x600-1.png", "300x600-2.png", "1080x1920-1.png", "1080x1920-2.png"
    ]  # fmt: skip
    assert [(image.facts["width"], image.facts["height"]) for image in images] == [(300, 600)] * 2 + [(1080, 1920)] * 2
    assert {image.content_type for image in images} == {"image/png"}
    first, second = output["results"]
    assert (first["width"], first["height"], first["aspect_ratio"], first["resolution"]) == (300, 600, "9:16", "1K")
    assert (second["aspect_ratio"], second["resolution"]) == ("9:16", "2K")
    assert [first["images"], second["images"]] == [images[:2], images[2:]]
    assert second["scale"] > 1 > 0 < first["scale"]
    assert "4 pictures" in output["description"]
    assert "geometry" in output["description"]


@pytest.mark.parametrize("output_format", ["png", "webp"])
@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_a_picture_of_the_right_size_passes_through(
    tmp_path: Path, boat: Image.Image, output_format: str, mode: str
) -> None:
    """Every pixel and every transparency stays as it was; also under a wish that geometry cannot grant."""
    picture = boat.convert(mode)
    if mode == "RGBA":
        picture.putalpha(Image.linear_gradient("L").resize(picture.size))

    paths = made(job(tmp_path, encoded(picture), [picture.size], output_format=output_format, prompt="make it snow"))

    result = seen(paths[0])
    assert result.mode == mode
    assert result.tobytes() == picture.tobytes()


@pytest.mark.parametrize("output_format", ["png", "webp"])
def test_transparency_is_kept(tmp_path: Path, boat: Image.Image, output_format: str) -> None:
    """A figure cut out stays cut out: clear around it, also in what is added, and solid inside."""
    figure = boat.convert("RGBA")
    figure.putalpha(Image.new("L", boat.size))
    figure.paste((200, 30, 30, 255), (110, 40, 190, 140))

    paths = made(job(tmp_path, encoded(figure), ["200x400", "400x90"], output_format=output_format))

    for path in paths:
        alpha = np.asarray(seen(path).getchannel("A"))
        assert alpha[0].max() == alpha[-1].max() == alpha[:, 0].max() == alpha[:, -1].max() == 0
        assert (alpha > 250).mean() > 0.05


# What it shows: subjects, wishes, and the background that it adds.

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
