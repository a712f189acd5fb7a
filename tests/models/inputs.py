"""Inputs and JSON values for the tests of models, drawn by hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from reelbook.models.base import Input
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images import Image
from reelbook.models.images_to_video import Frame, ImagesToVideo
from reelbook.models.smart_resize import Size, SmartResize
from reelbook.models.text_to_video import LoRA, TextToVideo
from tests.spec import tables

NAMES: dict[str, Any] = {
    kind.__name__: kind for kind in (TextToVideo, ImageToVideo, SmartResize, ImagesToVideo, LoRA, Frame, Size, Image)
}
"""What `eval(repr(input))` needs to know."""

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
TWENTIETHS = st.integers(0, 20).map(lambda count: count * 0.05)
"""Multiples of 0.05 with the noise of floating point, such as 0.15000000000000002."""
PICTURES = st.one_of(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=20),
    st.sampled_from(["https://example.org/a.png", "data:image/png;base64,AAAA", "file_0a1b", "~/boat.png"]),
    st.integers(0, 2**256 - 1).map(lambda number: Image.from_library(f"{number:064x}")),
)
"""Paths, addresses, and pictures that are known by their content."""
SEEDS = st.none() | st.integers()


@st.composite
def _passes(draw: st.DrawFn) -> dict[str, int]:
    steps = draw(st.integers(2, 12))
    skipped = draw(st.integers(1, min(11, steps - 1)))
    return {"second_pass_num_inference_steps": steps, "second_pass_skip_initial_steps": skipped}


@st.composite
def _covered_sizes(draw: st.DrawFn) -> Size:
    width, height = draw(st.sampled_from(sorted(tables.GAPS["presets"]["at_1K"].values())))
    factor = draw(st.sampled_from([1, 2, 4]))
    return Size(draw(st.integers(16, width * factor)), draw(st.integers(16, height * factor)))


COVERED_SIZES = _covered_sizes()
"""Target sizes that at least one canvas covers."""

LORAS = st.builds(LoRA, path=TEXTS, scale=st.floats(0, 4), weight_name=st.none() | TEXTS)
FRAMES = st.builds(Frame, url=PICTURES, frames=st.integers(1, 1000))

TEXT_TO_VIDEO = st.builds(
    lambda passes, **values: TextToVideo(**values, **passes),
    passes=_passes(),
    prompt=TEXTS,
    negative_prompt=TEXTS,
    loras=st.lists(LORAS, max_size=2),
    resolution=st.sampled_from(["480p", "720p"]),
    aspect_ratio=st.sampled_from(["9:16", "1:1", "16:9"]),
    seed=SEEDS,
    num_frames=st.integers(9, 1441),
    frame_rate=st.integers(1, 60),
    reverse_video=st.booleans(),
    enable_detail_pass=st.booleans(),
    temporal_adain_factor=TWENTIETHS,
    tone_map_compression_ratio=TWENTIETHS,
)
IMAGE_TO_VIDEO = st.builds(
    ImageToVideo,
    prompt=TEXTS,
    image_url=PICTURES,
    duration=st.sampled_from(["5", "10"]),
    cfg_scale=st.floats(0, 1),
    negative_prompt=TEXTS,
)
SMART_RESIZE = st.builds(
    SmartResize,
    image_url=PICTURES,
    target_sizes=st.lists(COVERED_SIZES, min_size=1, max_size=4),
    prompt=TEXTS,
    resolution=st.sampled_from(["1K", "2K", "4K"]),
    num_images_per_size=st.integers(1, 4),
    seed=SEEDS,
    sync_mode=st.booleans(),
)
IMAGES_TO_VIDEO = st.builds(
    ImagesToVideo, images=st.lists(FRAMES | PICTURES, min_size=1, max_size=4), fps=st.floats(1, 120)
)

INPUTS: st.SearchStrategy[Input] = st.one_of(TEXT_TO_VIDEO, IMAGE_TO_VIDEO, SMART_RESIZE, IMAGES_TO_VIDEO)
"""Any valid input of any model."""

_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
JSON_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)
"""Anything that JSON can write."""
