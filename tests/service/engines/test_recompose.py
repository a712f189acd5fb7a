"""Smart resize by geometry, as the service calls it: a job goes in, files come out."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from reelbook.models.smart_resize import Size, SmartResize, preset_for
from reelbook_service.engines.protocol import EngineTask, OutputFile
from reelbook_service.engines.recompose import recompose
from tests.heard import Heard, Log, Progress
from tests.service.engines.moving import encoded
from tests.support import deep
from tests.tools.scenes import scene

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
    return scene("boat", height=180).picture


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
