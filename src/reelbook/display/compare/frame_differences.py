"""Differences between the frames of two or more files: structural similarity, and the mean absolute difference."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ...media.measuring.figures import similarity
from ...media.stills import read_picture
from .compared_items import Item, PixelSize, find_box, find_clock, find_frame, fit_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST = 256
"""The longer side of the size at which frames are compared."""
STEP, LEAST = 4, 16
"""SSIM's windows begin at every fourth pixel; a smaller picture has none."""
MAX_THREADS = 4
LUMA = np.array([0.299, 0.587, 0.114], np.float32)

ItemPair = tuple[int, int]


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
    timings = [item.timing for item in items]
    known = [timing for timing in timings if timing is not None]
    if not known:
        return {pair: Differences((), (), ()) for pair in pairs}
    rate, ticks = find_clock(known, by=by)
    box = _shrink(find_box([timing.size for timing in known]))
    wanted = sorted({place for pair in pairs for place in pair})
    found: dict[ItemPair, list[tuple[int, float, float]]] = {pair: [] for pair in pairs}
    with ExitStack() as stack:
        films = {place: _Film(items[place], box) for place in wanted if timings[place] is not None}
        for film in films.values():
            stack.enter_context(closing(film))
        # Decoders leave Python's lock while they work.
        pool = stack.enter_context(ThreadPoolExecutor(min(MAX_THREADS, max(len(films), 1))))
        for tick in range(ticks):
            numbers = [find_frame(film.timing, tick, rate, by=by) for film in films.values()]
            frames = dict(zip(films, pool.map(_Film.read, films.values(), numbers), strict=True))
            for pair in pairs:
                one, other = (frames.get(place) for place in pair)
                if one is not None and other is not None:
                    found[pair].append((tick, *_compare(one, other)))
    return {pair: Differences(*map(tuple, zip(*rows, strict=True))) if rows else Differences((), (), ()) for pair, rows in found.items()}  # fmt: skip


def list_pairs(items: Sequence[Item]) -> list[ItemPair]:
    """The pairs of the items that can be compared, those with the first one first."""
    return list(combinations([place for place, item in enumerate(items) if not item.problem], 2))


def get_compared_size(items: Sequence[Item]) -> PixelSize | None:
    """The size at which the frames of these are compared; None if none can be read."""
    sizes = [item.timing.size for item in items if item.timing is not None]
    return _shrink(find_box(sizes)) if sizes else None


class _Film:
    """The frames of one item in order, fitted into the box at a small size."""

    def __init__(self, item: Item, box: PixelSize) -> None:
        assert item.timing is not None
        self.timing = item.timing
        self._item, self._box = item, box
        self._frames: Iterator[_Fitted] = self._decode() if item.is_video else iter([self._picture()])
        self._number = -1
        self._last: _Fitted | None = None

    def read(self, number: int | None) -> _Fitted | None:
        """The frame of this number, which is not less than that of the call before; None without one."""
        if number is None:
            return None
        while self._number < number:
            frame = next(self._frames, None)
            if frame is None:
                return None
            self._number, self._last = self._number + 1, frame
        return self._last

    def close(self) -> None:
        """Close the file."""
        if isinstance(self._frames, Generator):
            self._frames.close()

    def _decode(self) -> Iterator[_Fitted]:
        from ...media.bounded_open import open_video
        from ...media.video_colours import convert_to_rgb, get_colours

        assert self._item.file is not None
        turns = self.timing.rotation // 90
        left, top, *small = fit_size(self.timing.size, self._box)
        size = (small[1], small[0]) if turns % 2 else (small[0], small[1])
        with open_video(self._item.file.path) as (container, stream):
            codec = stream.codec_context.name
            for frame in container.decode(stream):
                pixels = np.asarray(convert_to_rgb(frame, get_colours(frame, codec), size))
                yield _Fitted(left, top, np.rot90(pixels, -turns))

    def _picture(self) -> _Fitted:
        assert self._item.file is not None
        left, top, *small = fit_size(self.timing.size, self._box)
        picture = read_picture(self._item.file.path, self.timing.size).convert("RGB").resize((small[0], small[1]))
        return _Fitted(left, top, np.asarray(picture))


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A picture, and where it is in the box."""

    left: int
    top: int
    pixels: NDArray[np.uint8]

    def cut(self, left: int, top: int, width: int, height: int) -> NDArray[np.float32]:
        """The part of it in this rectangle of the box."""
        rows = slice(top - self.top, top - self.top + height)
        return self.pixels[rows, left - self.left : left - self.left + width].astype(np.float32)

    @property
    def right(self) -> int:
        """The column after it."""
        return self.left + int(self.pixels.shape[1])

    @property
    def bottom(self) -> int:
        """The row after it."""
        return self.top + int(self.pixels.shape[0])


def _compare(one: _Fitted, other: _Fitted) -> tuple[float, float]:
    """The structural similarity and the mean absolute difference of two pictures, where both have pixels."""
    left, top = max(one.left, other.left), max(one.top, other.top)
    width, height = min(one.right, other.right) - left, min(one.bottom, other.bottom) - top
    a, b = one.cut(left, top, width, height), other.cut(left, top, width, height)
    mean_absolute = float(np.abs(a - b).mean())
    across, down = width // STEP * STEP, height // STEP * STEP
    if min(across, down) < LEAST:
        return float("nan"), mean_absolute
    return similarity(a[:down, :across] @ LUMA, b[:down, :across] @ LUMA), mean_absolute


def _shrink(size: PixelSize) -> PixelSize:
    scale = min(1.0, LONGEST / max(size))
    width, height = (max(LEAST, STEP * round(side * scale / STEP)) for side in size)
    return width, height
