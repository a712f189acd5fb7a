"""Differences between the frames of two or more files: structural similarity, and the mean absolute difference."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ...media.measuring.figures import similarity
from ...media.stills import read_picture
from .compared_items import Item, PixelSize, find_box, find_clock, find_frame, fit_size

LONGEST = 256
"""The longer side of the size at which frames are compared."""
STEP, LEAST = 4, 16
"""SSIM's windows begin at every fourth pixel; a smaller picture has none."""
MAX_THREADS = 4
LUMA = np.array([0.299, 0.587, 0.114], np.float32)

ItemPair = tuple[int, int]
Pixels = np.ndarray[Any, np.dtype[np.uint8]]
Rectangle = tuple[int, int, int, int]
"""Left, top, width and height."""
Cut = tuple[slice, slice]


@dataclass(frozen=True, slots=True)
class Differences:
    """The differences of two items over the frames of the clock, as far as both have a frame."""

    frames: tuple[int, ...]
    ssim: tuple[float, ...]
    """Structural similarity of luma: 1 is equal."""
    mean_absolute: tuple[float, ...]
    """The mean over pixels and colours, in levels of 255."""


def compute_differences(
    items: Sequence[Item], pairs: Sequence[ItemPair], *, by: str = "time"
) -> dict[ItemPair, Differences]:
    """The differences of these pairs of items, frame by frame of the clock; each file is decoded once.

    Frames are compared at a small common size, in which pictures of other shapes are fitted, where both have pixels.
    """
    timings = {place: item.timing for place, item in enumerate(items) if item.timing is not None}
    if not timings:
        return {pair: Differences((), (), ()) for pair in pairs}
    rate, ticks = find_clock([*timings.values()], by=by)
    box = _shrink(find_box([timing.size for timing in timings.values()]))
    places = {place: fit_size(timing.size, box) for place, timing in timings.items()}
    rows: dict[ItemPair, list[tuple[int, float, float]]] = {pair: [] for pair in pairs}
    with ExitStack() as stack:
        wanted = sorted({place for pair in pairs for place in pair} & set(timings))
        films = {place: stack.enter_context(closing(_Film(items[place], places[place][2:]))) for place in wanted}
        # Decoders leave Python's lock while they work.
        pool = stack.enter_context(ThreadPoolExecutor(min(MAX_THREADS, max(len(films), 1))))
        for tick in range(ticks):
            numbers = [find_frame(timings[place], tick, rate, by=by) for place in films]
            frames = dict(zip(films, pool.map(_Film.read, films.values(), numbers), strict=True))
            for one, other in pairs:
                a, b = frames.get(one), frames.get(other)
                if a is not None and b is not None:
                    cut, other_cut = _find_common(places[one], places[other])
                    rows[one, other].append((tick, *_compare(a[cut], b[other_cut])))
    return {
        pair: Differences(*map(tuple, zip(*found, strict=True))) if found else Differences((), (), ())
        for pair, found in rows.items()
    }


def list_pairs(items: Sequence[Item]) -> list[ItemPair]:
    """The pairs of the items that can be compared, those with the first one first."""
    return list(combinations([place for place, item in enumerate(items) if not item.problem], 2))


def get_compared_size(items: Sequence[Item]) -> PixelSize | None:
    """The size at which the frames of these are compared; None if none can be read."""
    sizes = [item.timing.size for item in items if item.timing is not None]
    return _shrink(find_box(sizes)) if sizes else None


class _Film:
    """The frames of one item in order, at a small size."""

    def __init__(self, item: Item, size: PixelSize) -> None:
        self._frames = _decode(item, size)
        self._number = -1
        self._last: Pixels | None = None

    def read(self, number: int | None) -> Pixels | None:
        """The frame of this number, which is not less than that of the call before; None without one."""
        while number is not None and self._number < number:
            self._number, self._last = self._number + 1, next(self._frames, None)
        return None if number is None else self._last

    def close(self) -> None:
        """Close the file."""
        self._frames.close()


def _decode(item: Item, size: PixelSize) -> Generator[Pixels]:
    from ...media.bounded_open import open_video
    from ...media.video_colours import convert_to_rgb, get_colours

    assert item.timing is not None
    assert item.file is not None
    if not item.is_video:
        yield np.asarray(read_picture(item.file.path, item.timing.size).convert("RGB").resize(size))
        return
    turns = item.timing.rotation // 90
    with open_video(item.file.path) as (container, stream):
        codec = stream.codec_context.name
        for frame in container.decode(stream):
            pixels = convert_to_rgb(frame, get_colours(frame, codec), size[::-1] if turns % 2 else size)
            yield np.rot90(np.asarray(pixels), -turns)


def _find_common(one: Rectangle, other: Rectangle) -> tuple[Cut, Cut]:
    """The rows and columns of two pictures, each at its place in one box, where both have pixels."""
    left, top = max(one[0], other[0]), max(one[1], other[1])
    right, bottom = min(one[0] + one[2], other[0] + other[2]), min(one[1] + one[3], other[1] + other[3])
    cuts = [(slice(top - y, bottom - y), slice(left - x, right - x)) for x, y, _, _ in (one, other)]
    return cuts[0], cuts[1]


def _compare(one: Pixels, other: Pixels) -> tuple[float, float]:
    """The structural similarity and the mean absolute difference of two pictures of one size."""
    a, b = one.astype(np.float32), other.astype(np.float32)
    mean_absolute = float(np.abs(a - b).mean())
    down, across = (length // STEP * STEP for length in a.shape[:2])
    if min(across, down) < LEAST:
        return float("nan"), mean_absolute
    return similarity(a[:down, :across] @ LUMA, b[:down, :across] @ LUMA), mean_absolute


def _shrink(size: PixelSize) -> PixelSize:
    scale = min(1.0, LONGEST / max(size))
    width, height = (max(LEAST, STEP * round(side * scale / STEP)) for side in size)
    return width, height
