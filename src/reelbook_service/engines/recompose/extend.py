"""Extension of a picture beyond its edges: its calm background mirrored, and blurred more the farther away it is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

from ..saliency import Map

Floats = npt.NDArray[np.float32]

CALM = 0.2
"""The importance from which cells are not repeated."""

FINE = 1 / 40
"""The size of the details that end at the picture's edge, as a share of that edge; larger ones fade slowly."""

DEEP = 6
"""The depth of the part of the picture whose grain is measured, in those details."""

MAX_GRAIN = 7.0
"""The strongest grain that is added, in levels of brightness."""

SMALL = 200
"""Cells along the edge in the softest copy of its colours."""

CHUNK = 256
"""Columns that are computed at a time, to save memory; the grain repeats after them."""

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
        band = _band(
            upright.convert("RGB"), length, reach, None if plain else np.random.default_rng([seed % 2**64, end])
        )
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


def _band(picture: Image.Image, length: int, reach: float, generator: np.random.Generator | None) -> Image.Image:
    """A band to the right of the picture, which repeats no more than `reach` pixels of it; plain without a generator."""
    height, fine = picture.height, max(1.5, picture.height * FINE)
    away = np.arange(length) + 0.5
    # Mirrored, and stretched more and more, so that it never comes to what must not be repeated.
    source = (reach * (1 - np.exp(-away / reach)) if reach >= 1 else 0 * away).astype(int)
    depth = min(picture.width, max(int(reach) + 1, round(DEEP * fine)))
    strip = picture.crop((picture.width - depth, 0, picture.width, height))
    blurred = strip.filter(ImageFilter.GaussianBlur(fine))
    # From here on the first column touches the picture.
    near = np.asarray(blurred)[:, ::-1][:, np.minimum(source, depth - 1)]
    usual = np.asarray(blurred, np.float32)[:, depth - max(1, int(reach)) :].mean(1)
    scale = max(0.25 * height, 0.7 * reach) * (1 if generator else 0.25)
    ground = _softened(Image.fromarray(near), usual, away / scale)
    grain = _grain(strip, fine / 3, generator) if generator else np.zeros((height, CHUNK), np.float32)
    detail = (np.asarray(strip, np.float32) - np.asarray(blurred, np.float32))[:, ::-1]
    fading = np.exp(-2 * away / max(fine, 0.7 * reach)).astype(np.float32)
    for first in range(0, length, CHUNK):
        part = slice(first, min(first + CHUNK, length))
        box = (first, 0, part.stop, height)
        pixels = np.asarray(ground.crop(box), np.float32)
        pixels = pixels + (grain[:, : part.stop - first] * (1 - fading[part]))[..., None]
        if fading[first] > 0.003:
            pixels += detail[:, np.minimum(source[part], depth - 1)] * fading[part, None]
        ground.paste(Image.fromarray(np.clip(pixels + 0.5, 0, 255).astype(np.uint8)), box)
    return ground


def _softened(ground: Image.Image, line: Floats, away: npt.NDArray[np.floating]) -> Image.Image:
    """The ground, replaced more and more by the colours of a line across it, which are blurred along it."""
    width, height = ground.size
    cells = min(SMALL, height)
    line = np.asarray(Image.fromarray(np.rint(line).astype(np.uint8)[:, None]).resize((1, cells), Image.Resampling.BOX))
    colours = line[:, 0].astype(np.float32)
    for part, start, end in ((30, 0.0, 0.8), (9, 0.4, 2.0)):
        for _ in range(3):
            colours = _smooth(colours, max(1, cells // part))
        soft = Image.fromarray(np.rint(colours).astype(np.uint8)[:, None]).resize((1, height), Image.Resampling.BICUBIC)
        ramp = np.clip((away - start) / (end - start), 0, 1)
        cover = Image.fromarray(np.rint(255 * ramp * ramp * (3 - 2 * ramp)).astype(np.uint8)[None])
        ground = Image.composite(soft.resize((width, height)), ground, cover.resize((width, height)))
    return ground


def _grain(strip: Image.Image, size: float, generator: np.random.Generator) -> Floats:
    """Noise with the contrast that details of this size have in each line of the strip."""
    grey = strip.crop((max(0, strip.width - round(18 * size)), 0, *strip.size)).convert("L")
    fine, coarse = (np.asarray(grey.filter(ImageFilter.GaussianBlur(reach)), np.float32) for reach in (size / 3, size))
    # The median: a few shapes within the strip do not count as grain.
    contrast = _smooth(1.48 * np.median(np.abs(fine - coarse), axis=1), max(1, round(size)))
    # What stands out along the edge is a shape; and in a small picture, grain of single pixels would look like dirt.
    contrast = np.minimum(contrast, min(2 * float(np.median(contrast)), MAX_GRAIN * min(1.0, size / 4)))
    cells = max(2, round(CHUNK / size)), max(2, round(strip.height / size))
    noise = Image.fromarray(generator.integers(0, 256, cells[::-1], np.uint8)).resize(
        (CHUNK, strip.height), Image.Resampling.BICUBIC
    )
    waves = np.asarray(noise, np.float32) - 127.5
    return np.asarray(waves * (contrast[:, None] / max(float(waves.std()), 1e-6)), np.float32)


def _smooth(values: npt.NDArray[np.floating], reach: int) -> Floats:
    """Running means along the first axis."""
    reach = min(reach, len(values))
    ends = ((reach + 1, reach), *((0, 0),) * (values.ndim - 1))
    sums = np.pad(values, ends, mode="edge").cumsum(0, dtype=np.float64)
    return np.asarray((sums[2 * reach + 1 :] - sums[: -2 * reach - 1]) / (2 * reach + 1), np.float32)
