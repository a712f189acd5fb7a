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
TRANSPARENT = 255
"""The palette index of pixels that are as in the step before."""
COLOUR_WEIGHTS = np.array([1 << 16, 1 << 8, 1], np.uint32)
"""Combine the three values of a colour into one number."""
MAX_DIFFERENCE = 6
"""Change of a colour value, of 255, above which a pixel is drawn again. Less is film grain."""
QUALITY = 72


def encode_animation(
    steps: Sequence[Image.Image],
    hundredths: int,
    kind: str,
    comment: str,
    *,
    dithered: bool = False,
    colour_steps: Sequence[Image.Image] = (),
    on_step: Callable[[int], object] | None = None,
) -> bytes:
    """The content of a file with these steps, each displayed for so many hundredths of a second, in an endless loop.

    `on_step` is called with the number of each step of a GIF that is drawn; the palette is chosen from `colour_steps`,
    by default from all steps. Dithering suits pictures; in a film the dots would flicker.
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
        first, *others = _quantise(steps, colour_steps or steps, dithered, on_step)
        first.save(
            out, "GIF", save_all=True, append_images=others, duration=hundredths * 10, loop=0, disposal=1,
            transparency=TRANSPARENT, optimize=False, comment=comment.encode(),
        )  # fmt: skip
    return out.getvalue()


def _quantise(
    steps: Sequence[Image.Image],
    colour_steps: Sequence[Image.Image],
    dithered: bool,
    on_step: Callable[[int], object] | None,
) -> list[Image.Image]:
    """The steps in the colours of one palette; pixels that are nearly unchanged are transparent."""
    fixed = [ImageColor.getrgb(colour) for colour in dict.fromkeys(astuple(get_colours()))]
    palette = _choose_palette(colour_steps, fixed)
    dither = Image.Dither.FLOYDSTEINBERG if dithered else Image.Dither.NONE
    found: list[Image.Image] = []
    drawn: NDArray[np.int16] | None = None
    for place, step in enumerate(steps):
        numbers = np.array(step.quantize(palette=palette, dither=dither))
        values = np.asarray(step, np.int16)
        packed = np.asarray(step, np.uint32) @ COLOUR_WEIGHTS
        for number, colour in enumerate(fixed, COLOURS - len(fixed)):
            # Pillow finds the nearest colour only approximately; letters and background have to be exact.
            numbers[packed == np.dot(colour, COLOUR_WEIGHTS)] = number
        if drawn is None:
            drawn = values.copy()
        else:
            near = np.abs(values - drawn) <= MAX_DIFFERENCE
            same = near[..., 0] & near[..., 1] & near[..., 2]
            numbers[same] = TRANSPARENT
            drawn[~same] = values[~same]
        picture = Image.fromarray(numbers, "P")
        picture.putpalette(palette.getpalette() or [])
        found.append(picture)
        if on_step is not None:
            on_step(place)
    return found


def _choose_palette(steps: Sequence[Image.Image], fixed: Sequence[tuple[int, ...]]) -> Image.Image:
    """A palette for all steps, with the fixed colours at the end."""
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
    found = sample.quantize(COLOURS - len(fixed), method=Image.Quantize.MEDIANCUT)
    values = (found.getpalette() or [])[: 3 * (COLOURS - len(fixed))]
    values += [0] * (3 * (COLOURS - len(fixed)) - len(values))
    found.putpalette(values + [part for colour in fixed for part in colour])
    return found
