"""Extension of a picture beyond its edges: its calm background mirrored, and blurred more the farther away it is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

from ..saliency import Map

CALM = 0.2
"""The importance from which cells are not repeated."""

FINE = 1 / 40
"""The size of the details that end at the picture's edge, as a share of that edge; larger ones fade slowly."""

SMALL = 48
"""Pixels along the edge in the softest copy of its colours."""

_TURNS = {
    # How to turn the picture so that its left, upper or lower edge comes to lie on the right, and how to turn back.
    (0, 0): (Image.Transpose.FLIP_LEFT_RIGHT, Image.Transpose.FLIP_LEFT_RIGHT),
    (1, 0): (Image.Transpose.ROTATE_270, Image.Transpose.ROTATE_90),
    (1, 1): (Image.Transpose.ROTATE_90, Image.Transpose.ROTATE_270),
}


def extended(
    inner: Image.Image,
    target: tuple[int, int],
    offset: tuple[int, int],
    calm: tuple[float, float] = (0, 0),
    *,
    seed: int,
    plain: bool = False,
) -> Image.Image:
    """The inner picture at its offset in the target, whose rest is added background along one axis.

    `calm` is the share of the picture at either end of that axis that may be repeated. `plain` leaves the added
    parts without structure.
    """
    result = Image.new(inner.mode, target)
    result.paste(inner, offset)
    axis = 0 if inner.width < target[0] else 1
    for end, length in enumerate((offset[axis], target[axis] - offset[axis] - inner.size[axis])):
        if not length:
            continue
        there, back = _TURNS.get((axis, end), (None, None))
        upright = inner if there is None else inner.transpose(there)
        reach = 0.0 if plain else 0.65 * calm[end] * upright.width
        band = _band(upright.convert("RGB"), length, reach, np.random.default_rng([seed % 2**64, end]), plain=plain)
        if inner.mode == "RGBA":
            edge = upright.getchannel("A").crop((upright.width - 1, 0, upright.width, upright.height))
            band.putalpha(edge.resize(band.size))
        place = end * (target[axis] - length)
        result.paste(band if back is None else band.transpose(back), (place, 0) if axis == 0 else (0, place))
    return result


def calm_ends(importance: Map, box: tuple[float, float, float, float], axis: int) -> tuple[float, float]:
    """How much of a part of the picture is calm at either end of an axis, as shares of that part.

    `box` is left, top, right and bottom of the part, as shares of the picture.
    """
    rows, columns = importance.shape
    across, down = (
        slice(int(low * cells), max(int(low * cells) + 1, round(high * cells)))
        for low, high, cells in ((box[0], box[2], columns), (box[1], box[3], rows))
    )
    profile = importance[down, across].max(axis)
    busy = np.flatnonzero(profile > CALM)
    if not len(busy):
        return 1.0, 1.0
    return float(busy[0]) / len(profile), float(len(profile) - 1 - busy[-1]) / len(profile)


def _band(picture: Image.Image, length: int, reach: float, draw: np.random.Generator, *, plain: bool) -> Image.Image:
    """A band to the right of the picture, which repeats no more than `reach` pixels of it."""
    height, fine = picture.height, max(1.5, picture.height * FINE)
    away = np.arange(length) + 0.5
    # Mirrored, and stretched more and more, so that it never comes to what must not be repeated.
    source = (reach * (1 - np.exp(-away / reach)) if reach >= 1 else 0 * away).astype(int)
    depth = min(picture.width, max(int(reach) + 1, round(6 * fine)))
    strip = picture.crop((picture.width - depth, 0, *picture.size)).transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    sharp, blurred = (
        Image.fromarray(np.asarray(layer)[:, np.minimum(source, depth - 1)])
        for layer in (strip, strip.filter(ImageFilter.GaussianBlur(fine)))
    )
    # The colours along the edge, softer and softer.
    usual = strip.crop((0, 0, max(1, int(reach)), height)).resize((1, min(SMALL, height)), Image.Resampling.BOX)
    scale = max(0.25 * height, 0.7 * reach) * (0.25 if plain else 1)
    for radius, start, end in ((1, 0.0, 0.8), (4, 0.4, 2.0)):
        soft = usual.resize((9, usual.height)).filter(ImageFilter.GaussianBlur(radius)).crop((4, 0, 5, usual.height))
        soft = soft.resize((1, height), Image.Resampling.BICUBIC).resize((length, height))
        blurred = Image.composite(soft, blurred, _ramp(away / scale, start, end, height))
    if plain:
        return blurred
    # Details end soon; grain as strong as theirs keeps the rest from looking like fog.
    grey = np.asarray(strip.convert("L"), np.float32)
    spread = float(np.median(np.abs(grey - np.asarray(strip.filter(ImageFilter.GaussianBlur(fine)).convert("L")))))
    noise = draw.normal(0, min(5.0, spread * min(1.0, height / 600)), (max(2, height // 2), max(2, length // 2)))
    grain = Image.fromarray(np.float32(noise)).resize((length, height), Image.Resampling.BICUBIC)
    pixels = np.asarray(blurred, np.float32) + np.asarray(grain)[..., None] * np.minimum(1, away / fine)[:, None]
    band = Image.fromarray(np.clip(pixels + 0.5, 0, 255).astype(np.uint8))
    return Image.composite(band, sharp, _ramp(away / max(fine, 0.7 * reach), 0, 1.4, height))


def _ramp(away: npt.NDArray[np.floating], start: float, end: float, height: int) -> Image.Image:
    """A mask that rises from the picture's edge outwards."""
    share = np.clip((away - start) / (end - start), 0, 1)
    mask = Image.fromarray(np.rint(255 * share * share * (3 - 2 * share)).astype(np.uint8)[None])
    return mask.resize((len(away), height))
