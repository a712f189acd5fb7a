"""Extension of a picture beyond its edges, by continuing and blurring its own background."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import patchmatch
from PIL import Image, ImageFilter

from .importance import CellGrid, Mask
from .texture import MAX, texture

Floats = npt.NDArray[np.float32]

AREA = 4600
"""Pixels of the small canvas on which the background is continued: more would cost time without visible gain."""

LONGEST, SHORTEST = 192, 10
PATCH = 2
RANKS = (0.05, 0.4, 0.75)
"""Maximum costs of repeated parts: first nothing near a subject; if that leaves too little, its faint parts, …"""

FADE = 300
"""The distance in pixels over which the texture fades."""

CHUNK = 256
"""Lines of the result processed at a time, to save memory."""


@dataclass(frozen=True, slots=True)
class Band:
    """A strip of the target beside the inner picture."""

    axis: int
    """0 where the band is left or right of the picture, 1 where it is above or below."""
    first: int
    last: int
    after: bool
    """Whether the band is to the right of the picture or below it."""


def extended(
    inner: Image.Image,
    target: tuple[int, int],
    offset: tuple[int, int],
    unrepeatable: CellGrid,
    *,
    seed: int,
    plain: bool = False,
) -> Image.Image:
    """The inner picture at its offset in the target, surrounded by more of its background.

    `unrepeatable` is a small map of the inner picture, from 0 for parts that may be repeated to 1 for those that
    must not. `plain` leaves the added parts without structure.
    """
    result = Image.new(inner.mode, target)
    result.paste(inner, offset)
    small = _continued(inner, target, offset, unrepeatable, seed, plain)
    generator = np.random.default_rng(seed)
    coarse = 2.5 * math.sqrt(target[0] * target[1] / (small.width * small.height))
    for band in _bands(inner.size, target, offset):
        edge = _edge(inner, band)
        ripples = _split_by_scale(edge[:, :3] - _touching_line(small, band, target))
        fine = texture(_lines(inner, band), coarse, band.last - band.first, generator) * (not plain)
        for chunk, box in _chunks(band, target):
            near = [(reach, gap[chunk]) for reach, gap in ripples]
            piece = _piece(_enlarged(small, target, box), band, near, fine[:, chunk])
            if inner.mode == "RGBA":
                piece.putalpha(_opacity(edge[chunk, 3], band, piece.size))
            result.paste(piece, box[:2])
    return result


def _bands(inner: tuple[int, int], target: tuple[int, int], offset: tuple[int, int]) -> Iterator[Band]:
    for axis in (0, 1):
        if offset[axis] > 0:
            yield Band(axis, 0, offset[axis], False)
        if offset[axis] + inner[axis] < target[axis]:
            yield Band(axis, offset[axis] + inner[axis], target[axis], True)


def _continued(
    inner: Image.Image, target: tuple[int, int], offset: tuple[int, int], unrepeatable: CellGrid, seed: int, plain: bool
) -> Image.Image:
    """The complete target at a small size: the picture, with its background continued around it by PatchMatch."""
    size = _small(target)
    spans = [_covered_span(offset[axis], inner.size[axis], target[axis] / size[axis], size[axis]) for axis in (0, 1)]
    (left, right, start, end), (top, bottom, first, last) = spans
    reduced = inner.resize((right - left, bottom - top), Image.Resampling.BOX, box=(start, first, end, last))
    # Initially every pixel has the colour of the nearest edge.
    margins = ((top, size[1] - bottom), (left, size[0] - right), (0, 0))
    canvas = np.pad(np.maximum(np.asarray(reduced.convert("RGB")), 1), margins, mode="edge")
    hole = np.ones(canvas.shape[:2], bool)
    hole[top:bottom, left:right] = False
    if _patches(~hole) == 0:
        return Image.fromarray(canvas)
    avoid = np.pad(_avoided(reduced, unrepeatable), margins[:2])
    patchmatch.set_random_seed(seed & 0xFFFFFFFF)
    return _softened(Image.fromarray(_filled(canvas, hole, avoid)), hole, plain)


def _filled(canvas: npt.NDArray[np.uint8], hole: Mask, avoid: Mask) -> npt.NDArray[np.uint8]:
    """The hole filled from its surroundings, in steps: PatchMatch leaves pixels black that are too far away."""
    filled, left = canvas.copy(), hole.copy()
    while left.any():
        rows, columns = np.flatnonzero(~left.all(1)), np.flatnonzero(~left.all(0))
        part = _doubled(rows), _doubled(columns)
        new = patchmatch.inpaint(
            np.ascontiguousarray(filled[part]), left[part], global_mask=avoid[part], patch_size=PATCH
        )
        # Only unreached pixels are black; they keep the colour of the nearest edge.
        filled[part] = np.where(new.max(-1, keepdims=True) > 0, new, filled[part])
        left[part] = False
    return filled


def _doubled(known: npt.NDArray[np.intp]) -> slice:
    """An interval extended by its length on either side; slices tolerate an end that is too far."""
    first, last = int(known[0]), int(known[-1]) + 1
    return slice(max(0, first - (last - first)), last + (last - first))


def _avoided(picture: Image.Image, unrepeatable: CellGrid) -> Mask:
    """The parts that are no source for the fill: as much around the subject as leaves enough background."""
    # Transparent pixels have arbitrary colours.
    clear = np.asarray(picture)[..., 3] < 128 if picture.mode == "RGBA" else np.zeros(picture.size[::-1], bool)
    rank = Image.fromarray(np.asarray(unrepeatable, np.float32)).resize(picture.size, Image.Resampling.BOX)
    for least in RANKS:
        avoided = clear | (np.asarray(rank) > least)
        if _patches(~avoided) >= max(10, 0.06 * _patches(np.ones_like(avoided))):
            return avoided
    return np.zeros_like(clear)


def _covered_span(offset: int, length: int, per: float, cells: int) -> tuple[int, int, float, float]:
    """The range of small pixels completely inside the picture, and the part of the picture that they cover."""
    first, last = math.ceil(offset / per), int((offset + length) / per)
    if last <= first:
        # The picture is thinner than one pixel, but gets one.
        first = min(int((offset + length / 2) / per), cells - 1)
        return first, first + 1, 0.0, float(length)
    return first, last, max(0.0, first * per - offset), min(float(length), last * per - offset)


def _patches(mask: Mask) -> int:
    """The number of complete patches in the mask."""
    sums = np.pad(mask, ((1, 0), (1, 0))).astype(np.int64).cumsum(0).cumsum(1)
    side = 2 * PATCH + 1
    inside = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
    return int((inside == side**2).sum())


def _softened(filled: Image.Image, hole: Mask, plain: bool) -> Image.Image:
    """The filled parts blurred, the more the farther they are from the picture."""
    reach = max(filled.size)
    # Beside the picture the blur is horizontal, so that it preserves the horizon.
    beside = hole.all(0).any()
    near, far = (reach / 10, reach / 6) if plain else (reach / 100, reach / 28)
    soft, softer = (
        filled.filter(ImageFilter.GaussianBlur((radius, radius / 6 if beside and not plain else radius)))
        for radius in (near, far)
    )
    blend = np.clip(_distance(hole) / (0.12 * reach), 0, 1)
    result = Image.composite(softer, soft, Image.fromarray((255 * blend).astype(np.uint8)))
    result.paste(filled, mask=Image.fromarray(np.where(hole, 0, 255).astype(np.uint8)))
    return result


def _distance(hole: Mask) -> Floats:
    """The distance of each pixel of the hole from the picture, which is a rectangle."""
    steps = []
    for axis in (0, 1):
        places = np.flatnonzero(~hole.all(axis))
        along = np.arange(hole.shape[1 - axis])
        steps.append(np.maximum(np.maximum(places[0] - along, along - places[-1]), 0))
    return np.asarray(np.maximum(steps[0][None], steps[1][:, None]), np.float32)


def _small(target: tuple[int, int]) -> tuple[int, int]:
    shrink = min(math.sqrt(AREA / (target[0] * target[1])), LONGEST / max(target), 1)
    width, height = (max(min(SHORTEST, side), round(side * shrink)) for side in target)
    return width, height


def _lines(inner: Image.Image, band: Band) -> Image.Image:
    """The part of the picture beside the band, oriented so that its first line touches the band."""
    deep = min(MAX, inner.size[band.axis], max(64, inner.size[1 - band.axis]))
    box = [0, 0, *inner.size]
    if band.after:
        box[band.axis] = inner.size[band.axis] - deep
    else:
        box[2 + band.axis] = deep
    lines = inner.crop((box[0], box[1], box[2], box[3]))
    if band.axis == 0:
        lines = lines.transpose(Image.Transpose.TRANSPOSE)
    return lines.transpose(Image.Transpose.FLIP_TOP_BOTTOM) if band.after else lines


def _edge(inner: Image.Image, band: Band) -> Floats:
    """The picture's last line of pixels before the band, averaged slightly to reduce noise."""
    return np.asarray(np.asarray(_lines(inner, band))[:2].mean(0), np.float32)


def _chunks(band: Band, target: tuple[int, int]) -> Iterator[tuple[slice, tuple[int, int, int, int]]]:
    """Yield the band in pieces: the part of its edge beside each, and its box in the target."""
    for first in range(0, target[1 - band.axis], CHUNK):
        last = min(first + CHUNK, target[1 - band.axis])
        box = (band.first, first, band.last, last) if band.axis == 0 else (first, band.first, last, band.last)
        yield slice(first, last), box


def _touching_line(small: Image.Image, band: Band, target: tuple[int, int]) -> Floats:
    """The line of the enlarged small canvas that touches the picture."""
    at = band.first if band.after else band.last - 1
    box = (at, 0, at + 1, target[1]) if band.axis == 0 else (0, at, target[0], at + 1)
    return np.asarray(_enlarged(small, target, box)).astype(np.float32).reshape(-1, 3)


def _split_by_scale(gap: Floats) -> list[tuple[float, Floats]]:
    """The gap along the edge, split by the size of its details, with the distance over which each decays.

    Fine detail ends soon, coarse detail reaches far, so that the edge blurs without a visible seam.
    """
    ripples, reach, rest = [], 1, gap
    while reach < len(gap) / 3:
        smooth = _smoothed(rest, reach)
        ripples.append((float(reach), rest - smooth))
        reach, rest = reach * 3, smooth
    return [*ripples, (float(reach), rest)]


def _enlarged(small: Image.Image, target: tuple[int, int], box: tuple[int, int, int, int]) -> Image.Image:
    """A part of the target, from the enlarged small canvas."""
    x, y = target[0] / small.width, target[1] / small.height
    size = (box[2] - box[0], box[3] - box[1])
    return small.resize(size, Image.Resampling.BICUBIC, box=(box[0] / x, box[1] / y, box[2] / x, box[3] / y))


def _piece(ground: Image.Image, band: Band, ripples: list[tuple[float, Floats]], fine: Floats) -> Image.Image:
    """A part of the band: the background, matched to the picture's edge where they meet, with texture."""
    pixels = np.asarray(ground).astype(np.float32)
    lines = pixels if band.axis == 1 else pixels.swapaxes(0, 1)
    if not band.after:
        lines = lines[::-1]
    # Now lines[0] touches the picture, and the others are increasingly far from it.
    for reach, gap in ripples:
        distance = np.arange(min(len(lines), math.ceil(5 * reach)), dtype=np.float32)
        lines[: len(distance)] += np.exp(-distance / reach)[:, None, None] * gap
    away = np.arange(len(lines), dtype=np.float32)
    strength = (1 - np.exp(-away / 3)) * np.maximum(np.exp(-away / (2 * FADE)), 0.35)
    lines += (strength[:, None] * fine[np.arange(len(lines)) % len(fine)])[..., None]
    return Image.fromarray(np.clip(np.rint(pixels), 0, 255).astype(np.uint8))


def _smoothed(values: Floats, reach: int) -> Floats:
    """Running means along the edge."""
    reach = min(reach, len(values))
    sums = np.pad(values, ((reach + 1, reach), (0, 0)), mode="edge").cumsum(0, dtype=np.float64)
    side = 2 * reach + 1
    return np.asarray((sums[side:] - sums[:-side]) / side, np.float32)


def _opacity(edge: Floats, band: Band, size: tuple[int, int]) -> Image.Image:
    """The alpha channel beyond the picture's edge, continued from the edge."""
    line = Image.fromarray(
        np.rint(edge).astype(np.uint8)[None] if band.axis == 1 else np.rint(edge).astype(np.uint8)[:, None]
    )
    return line.resize(size)
