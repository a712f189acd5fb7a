"""The result of `rb.compare`: it displays itself, and has the differences of its frames as a table."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ReelbookError
from ...media.stills import read_picture
from ..formatting import join_with_dots
from .compared_items import Item, PixelSize, Timing, find_box, find_clock, find_frame, label_items

if TYPE_CHECKING:
    import pandas as pd

TIME, FRAME = "time", "frame"
MAX_ITEMS = 12
"""Files of one comparison; each is decoded at full size."""
MAX_VALUES = 6_000
"""Figures in the output of a cell; beyond them only pairs with the first file have some."""
MAX_PIXELS = 800_000_000
"""Decoded pixels of all files up to which the display computes the differences by itself: a few seconds."""
LONGEST = 256
"""The longer side of the size at which frames are compared."""
STEP, LEAST = 4, 16
"""SSIM's windows begin at every fourth pixel; a smaller picture is enlarged."""
MAX_THREADS = 4
LUMA = np.array([0.299, 0.587, 0.114], np.float32)

ItemPair = tuple[int, int]
Pixels = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True, slots=True)
class Differences:
    """The differences of two items over the frames of the clock, as far as both have a frame."""

    frames: tuple[int, ...] = ()
    ssim: tuple[float, ...] = ()
    """Structural similarity of luma: 1 is equal."""
    mean_absolute: tuple[float, ...] = ()
    """The mean over pixels and colours, in levels of 255."""


class Comparison:
    """Files compared frame by frame: a viewer in a notebook, and `differences` as a DataFrame.

    Example::

        comparison = rb.sweep(boat, seed=[7, 8]).run(budget=106).reel.compare(0, 1)
        comparison.differences
    """

    def __init__(self, items: Sequence[Item], *, by: str = TIME) -> None:
        if by not in (TIME, FRAME):
            raise ReelbookError(f"Clips are compared by 'time' or by 'frame', not by {by!r}.")
        if len(items) < 2:
            raise ReelbookError(
                f"rb.compare takes two or more files, and here {'is one' if items else 'are none'}. "
                "Give several runs, files or rows, as in rb.compare(run, other) or table.reel.compare(0, 1)."
            )
        if len(items) > MAX_ITEMS:
            raise ReelbookError(
                f"rb.compare takes up to {MAX_ITEMS} files, and here are {len(items):,}. Choose some rows, as in "
                "table.reel.compare(0, 1); table.reel.sheet() draws all on one sheet."
            )
        self.items = label_items(items)
        self.by = by
        self._computed: dict[str, dict[ItemPair, Differences]] = {}

    @cached_property
    def timings(self) -> dict[int, Timing]:
        """The frames of those that can be compared, by their positions."""
        return {place: item.timing for place, item in enumerate(self.items) if item.timing is not None}

    @cached_property
    def differences(self) -> pd.DataFrame:
        """A row for each frame: `frame`, `ssim` and `mean_absolute`, of the first two files that can be read.

        Of more than two files, all are compared with the first, and the column `item` has the label of the other one.
        `ssim` is the structural similarity of luma, 1 if equal; `mean_absolute` is the mean over pixels and colours in
        levels of 255. Both are computed at a small size, of at most 256 pixels.
        """
        import pandas as pd

        if len(self.timings) < 2:
            raise ReelbookError(" ".join(["Fewer than two files can be compared.", *self.problems]))
        first = min(self.timings)
        with_first = {pair: found for pair, found in self.compute(self.by).items() if pair[0] == first}
        parts = []
        for (_, other), found in with_first.items():
            part = pd.DataFrame({"frame": found.frames, "ssim": found.ssim, "mean_absolute": found.mean_absolute})
            if len(with_first) > 1:
                part.insert(0, "item", self.items[other].label)
            parts.append(part)
        return pd.concat(parts, ignore_index=True)

    @property
    def problems(self) -> list[str]:
        """A sentence for each item that cannot be compared."""
        return [item.problem for item in self.items if item.problem]

    @property
    def is_even(self) -> bool:
        """Whether "same time" and "same frame" mean the same, because all clips have one rate."""
        films = [timing for timing in self.timings.values() if timing.rate]
        return len({film.rate for film in films}) < 2 and not any(film.times for film in films)

    @property
    def is_quick(self) -> bool:
        """Whether the differences are known, or computed within seconds."""
        pixels = sum(timing.frames * timing.size[0] * timing.size[1] for timing in self.timings.values())
        return self.by in self._computed or pixels <= MAX_PIXELS

    def clock(self, by: str) -> tuple[Any, int]:
        """The rate and the number of frames of the clock of all."""
        return find_clock([*self.timings.values()], by=by)

    def compute(self, by: str) -> dict[ItemPair, Differences]:
        """The differences of pairs of items over the frames of the clock; cached."""
        if by not in self._computed:
            pairs = list(combinations(self.timings, 2))
            if 2 * len(pairs) * self.clock(by)[1] > MAX_VALUES:
                pairs = [pair for pair in pairs if pair[0] == pairs[0][0]]
            self._computed[by] = self._compare_frames(pairs, by)
        return self._computed[by]

    def _compare_frames(self, pairs: Sequence[ItemPair], by: str) -> dict[ItemPair, Differences]:
        """The differences of these pairs, frame by frame of the clock; each file is decoded once.

        Frames are compared at one small size, to which pictures of other sizes and shapes are brought.
        """
        if not pairs:
            return {}
        rate, ticks = self.clock(by)
        rows: dict[ItemPair, list[tuple[int, float, float]]] = {pair: [] for pair in pairs}
        with ExitStack() as stack:
            films = {
                place: stack.enter_context(closing(_Film(self.items[place], self.compared_size)))
                for place in self.timings
            }
            # Decoders leave Python's lock while they work.
            pool = stack.enter_context(ThreadPoolExecutor(min(MAX_THREADS, len(films))))
            for tick in range(ticks):
                numbers = [find_frame(self.timings[place], tick, rate, by=by) for place in films]
                frames = dict(zip(films, pool.map(_Film.read, films.values(), numbers), strict=True))
                for one, other in pairs:
                    a, b = frames[one], frames[other]
                    if a is not None and b is not None:
                        rows[one, other].append((tick, *_compare(a, b)))
        return {pair: Differences(*map(tuple, zip(*found, strict=True))) for pair, found in rows.items()}

    @property
    def compared_size(self) -> PixelSize:
        """The size at which frames are compared."""
        box = find_box([*self.timings.values()])
        scale = min(1.0, LONGEST / max(box))
        width, height = (max(LEAST, STEP * round(side * scale / STEP)) for side in box)
        return width, height

    def __repr__(self) -> str:
        return f"<comparison of {join_with_dots(*(item.label for item in self.items))}>"


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


def _compare(one: Pixels, other: Pixels) -> tuple[float, float]:
    """The structural similarity and the mean absolute difference of two pictures of one size."""
    from ...media.measuring.figures import similarity

    a, b = one.astype(np.float32), other.astype(np.float32)
    return similarity(a @ LUMA, b @ LUMA), float(np.abs(a - b).mean())
