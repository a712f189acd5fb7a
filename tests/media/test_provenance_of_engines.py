"""What the embedded service makes, fetched as anybody would, tells where it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reelbook.media.metadata.provenance import read, write
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.models.smart_resize import SmartResize
from reelbook.models.text_to_video import TextToVideo
from tests.media.making import content
from tests.service.engines.playing import second_opinion
from tests.support import Served, deep


def fetched(served: Served, file: dict[str, Any], path: Path) -> Path:
    path.write_bytes(served.http.get(file["url"]).content)
    return path


def test_a_joined_film_tells_its_pictures(shared: Served, dot: str, tmp_path: Path) -> None:
    """An MP4 from the stitch engine: model and input as they were asked; it is the same with the run's facts in it."""
    asked = ImagesToVideo(images=[dot, {"url": dot, "frames": 3}], fps=12)
    output = shared.done(asked.endpoint_id, asked.wire())
    path = fetched(shared, output["video"], tmp_path / "clip.mp4")

    write(path, tmp_path / "copy.mp4", {"request_id": "r-1", "credits": 53})

    told, copied = read(path), read(tmp_path / "copy.mp4")
    assert (told.model, told.input, told.seed, told.request_id) == (asked.endpoint_id, asked, None, None)
    assert (copied.input, copied.engine, copied.request_id, copied.credits) == (asked, told.engine, "r-1", 53)
    assert content(tmp_path / "copy.mp4") == content(path)
    assert second_opinion(tmp_path / "copy.mp4") == (15, "")


@pytest.mark.parametrize("kind", ["jpeg", *deep(("png",), ("webp",))])
def test_a_resized_picture_tells_its_source_and_seed(kind: str, shared: Served, dot: str, tmp_path: Path) -> None:
    """A picture of each format from the recompose engine, before and after the run's facts are written into it."""
    asked = SmartResize(image_url=dot, target_sizes=["32x16"], output_format=kind, prompt="a teal dot", seed=11)
    output = shared.done(asked.endpoint_id, asked.wire())
    path = fetched(shared, output["images"][0], tmp_path / f"a.{kind}")

    write(path, tmp_path / f"b.{kind}", {"request_id": "r-1", "credits": 11})

    told, copied = read(path), read(tmp_path / f"b.{kind}")
    assert (told.model, told.input, told.seed) == (asked.endpoint_id, asked, 11)
    assert (copied.input, copied.seed, copied.request_id, copied.credits) == (asked, 11, "r-1", 11)
    assert content(tmp_path / f"b.{kind}") == content(path)


def test_a_painted_clip_tells_the_seed_that_was_drawn(shared: Served, tmp_path: Path) -> None:
    """Asked without a seed, the file names the one that was used, with which it can be made again."""
    asked = TextToVideo(prompt="a paper boat", num_frames=9, resolution="480p", aspect_ratio="1:1")
    output = shared.done(asked.endpoint_id, asked.wire())

    told = read(fetched(shared, output["video"], tmp_path / "clip.mp4"))

    assert isinstance(told.input, TextToVideo)
    assert (told.input, told.seed) == (asked, output["seed"])
    assert told.input.revised(seed=told.seed).seed == output["seed"]
