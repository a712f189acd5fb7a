"""A contact sheet: every drawn scene in four shapes, for visual review.

python -m tests.tools.recompose_sheet OUT.jpg
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from PIL import Image

from reelbook_service.engines.recompose import source_of
from tests.tools.scenes import NAMES, scene

SHAPES = ((1080, 1080), (1080, 1920), (300, 600), (728, 90))
HEIGHT, BANNER, GAP, GROUND = 200, 640, 12, (124, 124, 124)


def sheet(pictures: Iterable[Image.Image], *, prompt: str = "", seed: int = 1, variants: int = 1) -> Image.Image:
    """The pictures, each beside its four shapes; further variants are in rows below."""
    blocks = [_block(picture, prompt, seed, variant, variants) for picture in pictures for variant in range(variants)]
    columns, (width, height) = 2, blocks[0].size
    rows = -(-len(blocks) // columns)
    combined = Image.new("RGB", (columns * (width + GAP) - GAP, rows * (height + GAP) - GAP), GROUND)
    for place, block in enumerate(blocks):
        combined.paste(block, (place % columns * (width + GAP), place // columns * (height + GAP)))
    return combined


def _block(picture: Image.Image, prompt: str, seed: int, variant: int, variants: int) -> Image.Image:
    """A picture and its shapes: the upright ones side by side, the banner below."""
    analysed = source_of(picture, prompt, seed)
    drawn = [analysed.drawn(analysed.views(shape, variants)[variant], shape) for shape in SHAPES]
    source = picture.copy()
    source.thumbnail((BANNER - 433, HEIGHT))
    block = Image.new("RGB", (BANNER, HEIGHT + 5 + BANNER * 90 // 728), GROUND)
    block.paste(source)
    left = BANNER
    for upright in drawn[2::-1]:
        small = upright.resize((HEIGHT * upright.width // upright.height, HEIGHT), Image.Resampling.LANCZOS)
        left -= small.width
        block.paste(small, (left, 0))
        left -= 6
    block.paste(drawn[3].resize((BANNER, BANNER * 90 // 728), Image.Resampling.LANCZOS), (0, HEIGHT + 5))
    return block


def main(target: Path) -> None:
    """Write the sheet to a file."""
    sheet(scene(name, height=1080).picture for name in NAMES).save(target, quality=72)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
