"""The result of `rb.compare`: it displays itself, and has the differences of its frames as a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ...errors import ReelbookError
from ..formatting import join_with_dots
from .compared_items import Item, find_clock, label_items

if TYPE_CHECKING:
    import pandas as pd

    from .frame_differences import Differences, ItemPair

TIME, FRAME = "time", "frame"
MAX_ITEMS = 12
"""Files of one comparison; each is decoded at full size."""
MAX_VALUES = 6_000
"""Figures in the output of a cell; beyond them only pairs with the first file have some."""
MAX_PIXELS = 800_000_000
"""Decoded pixels of all files up to which the display computes the differences by itself: a few seconds."""


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

    @property
    def comparable(self) -> list[int]:
        """The positions of the items that can be compared."""
        return [place for place, item in enumerate(self.items) if not item.problem]

    @cached_property
    def differences(self) -> pd.DataFrame:
        """A row for each frame: `frame`, `ssim` and `mean_absolute`, of the first two files that can be read.

        Of more than two files, all are compared with the first, and the column `item` has the label of the other one.
        `ssim` is the structural similarity of luma, 1 if equal; `mean_absolute` is the mean over pixels and colours in
        levels of 255. Both are computed at a small size, of at most 256 pixels.
        """
        import pandas as pd

        if len(self.comparable) < 2:
            raise ReelbookError(" ".join(["Fewer than two files can be compared.", *self.problems]))
        pairs = [pair for pair in self.compute(self.by) if pair[0] == self.comparable[0]]
        parts = []
        for pair in pairs:
            found = self.compute(self.by)[pair]
            part = pd.DataFrame({"frame": found.frames, "ssim": found.ssim, "mean_absolute": found.mean_absolute})
            if len(pairs) > 1:
                part.insert(0, "item", self.items[pair[1]].label)
            parts.append(part)
        return pd.concat(parts, ignore_index=True)

    @property
    def problems(self) -> list[str]:
        """A sentence for each item that cannot be compared."""
        return [item.problem for item in self.items if item.problem]

    @property
    def is_even(self) -> bool:
        """Whether "same time" and "same frame" mean the same, because all clips have one rate."""
        films = [item.timing for item in self.items if item.timing is not None and item.timing.rate]
        return len({film.rate for film in films}) < 2 and not any(film.times for film in films)

    @property
    def is_quick(self) -> bool:
        """Whether the differences are known, or computed within seconds."""
        if self.by in self._computed:
            return True
        timings = [item.timing for item in self.items if item.timing is not None]
        return sum(timing.frames * timing.size[0] * timing.size[1] for timing in timings) <= MAX_PIXELS

    def compute(self, by: str) -> dict[ItemPair, Differences]:
        """The differences of pairs of items over the frames of the clock; cached."""
        from .frame_differences import compute_differences, list_pairs

        if by not in self._computed:
            pairs = list_pairs(self.items)
            timings = [item.timing for item in self.items if item.timing is not None]
            if pairs and 2 * len(pairs) * find_clock(timings, by=by)[1] > MAX_VALUES:
                pairs = [pair for pair in pairs if pair[0] == pairs[0][0]]
            self._computed[by] = compute_differences(self.items, pairs, by=by)
        return self._computed[by]

    def __repr__(self) -> str:
        return f"<comparison of {join_with_dots(*(item.label for item in self.items))}>"
