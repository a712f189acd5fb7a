"""A contact sheet of the engine for visual review: many prompts, three frames each.

python -m tests.tools.sketch_sheet OUT.jpg [PROMPT …]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from PIL import Image, ImageDraw

from reelbook.models.text_to_video import TextToVideo
from reelbook_service.engines.sketch.engine import Painter
from reelbook_service.engines.sketch.words import expanded, scene_of

PROMPTS = (
    "a red sailing boat on the sea at sunset, gulls overhead",
    "three red balloons over a mountain lake at dawn",
    "a paper boat on a rainy street",
    "a black cat walking in a garden with butterflies",
    "a steam train crossing a bridge in autumn",
    "a lighthouse in a storm at night",
    "two children flying a yellow kite on the beach",
    "a neon city at night in the rain, cars driving left",
    "a rocket flying through space past a planet",
    "a whale and fish under water",
    "a white horse galloping over a meadow",
    "a campfire and a tent under the northern lights",
    "a snowman in falling snow, camera zooms out",
    "hot air balloons over the desert at golden hour",
    "a candle and a cup of tea on a table",
    "a windmill in a tulip field",
    "a dinosaur in the jungle in the fog",
    "a village by a river under a rainbow",
    "a robot dancing on the moon",
    "an erupting volcano",
    "a man with a red umbrella walking in the rain",
    "cherry blossom in a park with a fountain",
    "dolphins jumping near a tropical island",
    "zorblax of the quixotic frobnication",
)

MOMENTS = (0, 48, 112)
_CELL, _CAPTION = (256, 144), 14


def finished_painter(request: TextToVideo, seed: int) -> Painter:
    """A painter that has prepared everything, for single frames without a clip."""
    prompt = expanded(request.prompt) if request.expand_prompt else request.prompt
    painter = Painter(request, scene_of(prompt, request.negative_prompt), seed)
    for _ in painter.prepare():
        pass
    return painter


def stills(prompt: str, moments: Sequence[int] = MOMENTS, *, seed: int = 7, **options: object) -> list[Image.Image]:
    """Painted frames of a clip, without encoding."""
    request = TextToVideo.model_validate({"prompt": prompt, "num_frames": 121, **options})
    painter = finished_painter(request, seed)
    return [painter.frame(moment) for moment in moments]


def sheet(prompts: Sequence[str], columns: int = 2) -> Image.Image:
    """All prompts with their stills and captions."""
    width, height = _CELL[0] * len(MOMENTS), _CELL[1] + _CAPTION
    lines = -(-len(prompts) // columns)
    picture = Image.new("RGB", (columns * (width + 8), lines * height), (250, 250, 248))
    pen = ImageDraw.Draw(picture)
    for index, prompt in enumerate(prompts):
        left, top = (index % columns) * (width + 8), (index // columns) * height
        pen.text((left + 2, top + 2), prompt, fill=(30, 30, 34))
        for place, still in enumerate(stills(prompt, seed=7 + index)):
            picture.paste(still.resize(_CELL, Image.Resampling.LANCZOS), (left + place * _CELL[0], top + _CAPTION))
    return picture


def main(arguments: Sequence[str]) -> None:
    """Write the sheet to the file of the first argument."""
    target, *prompts = arguments
    sheet(prompts or PROMPTS).save(target, quality=42)


if __name__ == "__main__":
    main(sys.argv[1:])
