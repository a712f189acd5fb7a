"""What the embedded service makes, fetched as anybody would, tells where it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reelbook.media.metadata.provenance import read
from reelbook.models.text_to_video import TextToVideo
from tests.support import Served


def fetched(served: Served, file: dict[str, Any], path: Path) -> Path:
    path.write_bytes(served.http.get(file["url"]).content)
    return path


def test_a_painted_clip_tells_the_seed_that_was_drawn(shared: Served, tmp_path: Path) -> None:
    """Asked without a seed, the file names the one that was used, with which it can be made again."""
    asked = TextToVideo(prompt="a paper boat", num_frames=9, resolution="480p", aspect_ratio="1:1")
    output = shared.done(asked.endpoint_id, asked.wire())

    told = read(fetched(shared, output["video"], tmp_path / "clip.mp4"))

    assert isinstance(told.input, TextToVideo)
    assert (told.input, told.seed) == (asked, output["seed"])
    assert told.input.revised(seed=told.seed).seed == output["seed"]
