"""Steps of an animated picture as the bytes of a GIF or a WebP."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import astuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor

from .sheet_colours import get_colours

KINDS = (".gif", ".webp")
COLOURS, SAMPLES, SAMPLE_SIDE = 255, 8, 480
CLEAR = 255
"""The number in the palette that means: as it was before."""
PACKING = np.array([1 << 16, 1 << 8, 1], np.uint32)
"""Makes one number of the three of a colour."""
ALIKE = 6
"""How far a colour may be from the one that is shown, of 255, before it is drawn anew. Less is the grain of a film."""
QUALITY = 72


def encode_animation(
    steps: Sequence[Image.Image],
    hundredths: int,
    kind: str,
    comment: str,
    *,
    dithered: bool = False,
    like: Sequence[Image.Image] = (),
    tell: Callable[[int], object] | None = None,
) -> bytes:
    """The steps as a file, each shown for so many hundredths of a second, in a loop without end.

    `tell` hears of each step of a GIF that is drawn; the colours are those of the steps `like`, if they are given.
    Dots between two colours make one that the palette lacks. That suits pictures; in a film they would swarm.
    """
    out = io.BytesIO()
    if kind == ".webp":
        steps[0].save(
            out,
            "WEBP",
            save_all=True,
            append_images=steps[1:],
            duration=hundredths * 10,
            loop=0,
            quality=QUALITY,
            method=2,
        )
    else:
        first, *others = _numbered(steps, like or steps, dithered, tell)
        first.save(
            out, "GIF", save_all=True, append_images=others, duration=hundredths * 10, loop=0, disposal=1,
            transparency=CLEAR, optimize=False, comment=comment.encode(),
        )  # fmt: skip
    return out.getvalue()


def _numbered(
    steps: Sequence[Image.Image], like: Sequence[Image.Image], dithered: bool, tell: Callable[[int], object] | None
) -> list[Image.Image]:
    """The steps in the colours of one palette; what has hardly changed since it was drawn stays as it is."""
    ours = [ImageColor.getrgb(colour) for colour in dict.fromkeys(astuple(get_colours()))]
    palette = _palette(like, ours)
    dither = Image.Dither.FLOYDSTEINBERG if dithered else Image.Dither.NONE
    found: list[Image.Image] = []
    shown: NDArray[np.int16] | None = None
    for place, step in enumerate(steps):
        numbers = np.array(step.quantize(palette=palette, dither=dither))
        values = np.asarray(step, np.int16)
        packed = np.asarray(step, np.uint32) @ PACKING
        for number, colour in enumerate(ours, COLOURS - len(ours)):
            # Pillow takes the nearest colour nearly; letters and ground are to be exact.
            numbers[packed == np.dot(colour, PACKING)] = number
        if shown is None:
            shown = values.copy()
        else:
            near = np.abs(values - shown) <= ALIKE
            same = near[..., 0] & near[..., 1] & near[..., 2]
            numbers[same] = CLEAR
            shown[~same] = values[~same]
        picture = Image.fromarray(numbers, "P")
        picture.putpalette(palette.getpalette() or [])
        found.append(picture)
        if tell is not None:
            tell(place)
    return found


def _palette(steps: Sequence[Image.Image], ours: Sequence[tuple[int, ...]]) -> Image.Image:
    """The colours that suit all steps, and at the end ours."""
    count = min(SAMPLES, len(steps))
    chosen = [steps[round(place * (len(steps) - 1) / max(count - 1, 1))] for place in range(count)]
    small = [
        step.resize((min(step.width, SAMPLE_SIDE), min(step.height, SAMPLE_SIDE)), Image.Resampling.NEAREST)
        for step in chosen
    ]
    sample = Image.new("RGB", (small[0].width, sum(step.height for step in small)))
    top = 0
    for step in small:
        sample.paste(step, (0, top))
        top += step.height
    found = sample.quantize(COLOURS - len(ours), method=Image.Quantize.MEDIANCUT)
    values = (found.getpalette() or [])[: 3 * (COLOURS - len(ours))]
    values += [0] * (3 * (COLOURS - len(ours)) - len(values))
    found.putpalette(values + [part for colour in ours for part in colour])
    return found
