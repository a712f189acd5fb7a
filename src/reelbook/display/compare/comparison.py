"""The result of `rb.compare`: files with labels and inputs, which display themselves, and the differences of their frames."""

from __future__ import annotations

import bisect
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ReelbookError
from ...media.frame_index import read_frame_index
from ...media.local_file import LocalFile
from ...media.stills import read_picture
from ...models.base import Input
from ...util.missing_values import is_missing
from ..formatting import format_size, join_with_dots, shorten
from ..report.layout import format_table_value
from ..report.shared_table import find_picture_fields, strip_folders
from ..run_text import format_value
from ..table_runs import TableRun

if TYPE_CHECKING:
    import pandas as pd

TIME, FRAME = "time", "frame"
MAX_LABEL_LENGTH, MAX_PART_LENGTH = 60, 28
EDGE = 1e-4
"""As in the page: seconds are rounded on their way, so that a frame begins a little before its time."""
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

PixelSize = tuple[int, int]
ItemPair = tuple[int, int]
Pixels = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True, slots=True)
class Timing:
    """The frames of a clip over time; a picture has one frame, and no rate."""

    size: PixelSize
    """Width and height as displayed."""
    frames: int = 1
    rate: Fraction | None = None
    times: tuple[float, ...] = ()
    """Seconds at which the frames begin, if they are not evenly spaced."""
    rotation: int = 0
    """Degrees by which the decoded picture is turned clockwise to be displayed."""

    @property
    def seconds(self) -> float:
        """Duration; 0 for a picture."""
        return float(self.frames / self.rate) if self.rate else 0.0

    def find_frame(self, tick: int, rate: Fraction | None, *, by: str) -> int | None:
        """The number of the frame that is displayed with the clock's; None after the end of a clip.

        >>> slow = Timing((64, 48), 12, Fraction(12))
        >>> [slow.find_frame(tick, Fraction(24), by="time") for tick in (0, 5, 23, 24)], slow.find_frame(5, None, by="frame")
        ([0, 2, 11, None], 5)
        """
        if self.rate is None:
            return 0
        if by == FRAME or rate is None:
            return tick if tick < self.frames else None
        time = (tick + 0.5) / float(rate)
        if time >= self.seconds + EDGE:
            return None
        number = int(time * self.rate + EDGE)
        if self.times:
            number = bisect.bisect_right(self.times, time + EDGE / float(self.rate)) - 1
        return min(max(number, 0), self.frames - 1)


@dataclass(frozen=True)
class Item:
    """One of the files that are compared."""

    name: str
    """What identifies it if its inputs do not, such as `run 7` or the name of a file."""
    run: TableRun
    file: LocalFile | None = None
    label: str = ""
    """By what it differs from the others."""

    @cached_property
    def inputs(self) -> dict[str, str]:
        """Its inputs as text, with the seed that was used."""
        run = self.run
        columns = {name: value for name in run.columns if not is_missing(value := run.values[name])}
        texts = {name: format_table_value(value) for name, value in columns.items()}
        found = format_inputs(run.typed or run.input_values or texts)
        found |= {} if run.seed is None else {"seed": str(run.seed)}
        model = run.model or (run.provenance.model if run.provenance is not None else "")
        return {**found, "model": model} if found and model else found

    @cached_property
    def timing(self) -> Timing | None:
        """Size and frames of the file; None where it cannot be read."""
        try:
            return None if self.file is None else _read_timing(self.file)
        except (ReelbookError, OSError):
            return None

    @property
    def is_video(self) -> bool:
        """Whether it is a clip that can be read."""
        return self.timing is not None and self.timing.rate is not None

    @cached_property
    def problem(self) -> str:
        """Why it cannot be compared, as a sentence; empty if it can."""
        if self.file is None:
            why = f" ({self.run.reason})" if self.run.reason else ""
            return f"{self.name} is {self.run.state or 'without a file'}{why}, so there is nothing to compare."
        if self.timing is None:
            is_there = self.file.path.is_file()
            why = "cannot be read as a clip or a picture" if is_there else "is not there any more"
            return f"{self.file.path.name} {why}."
        return ""

    @cached_property
    def file_facts(self) -> dict[str, str]:
        """What its file is."""
        timing = self.timing
        if timing is None or self.file is None:
            return {}
        facts = {"size": "×".join(map(str, timing.size))}
        if timing.rate is not None:
            facts |= {"frames": f"{timing.frames:,}", "rate": f"{float(timing.rate):.5g}/s"}
            facts["seconds"] = f"{timing.seconds:.2f} s"
        return {**facts, "bytes": format_size(self.file.path.stat().st_size), "file": self.file.path.name}


def list_items(runs: Iterable[TableRun]) -> list[Item]:
    """The files of these runs; a run without any is an item, too, which says so."""
    items = []
    for run in runs:
        if len(run.files) > 1:
            items += [Item(f"{run.name}, file {place}", run, file) for place, file in enumerate(run.files, 1)]
        else:
            items.append(Item(run.name, run, run.files[0] if run.files else None))
    return items


def format_inputs(values: Any) -> dict[str, str]:
    """The fields of a model's input as text, also those that are at their defaults, or other values by name.

    >>> format_inputs({"image_url": "/home/ana/boat.png", "expand_prompt": True, "loras": ()})
    {'image_url': 'boat.png', 'expand_prompt': 'on', 'loras': 'none'}
    """
    if isinstance(values, Input):
        values = {name: getattr(values, name) for name in type(values).model_fields}
    if not isinstance(values, Mapping):
        return {}
    texts = {str(name): _format_plain(value) for name, value in values.items()}
    return {name: strip_folders(text) if name in find_picture_fields() else text for name, text in texts.items()}


def _format_plain(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None or value in ((), [], "") else format_value(value)


def label_items(items: Sequence[Item]) -> tuple[Item, ...]:
    """The items with labels: the inputs that differ, else their names."""
    known = [item for item in items if item.inputs]
    # Inputs that only some models have would fill the labels; a file without inputs differs by its name.
    names = [
        name
        for name in dict.fromkeys(name for item in known for name in item.inputs)
        if all(name in item.inputs for item in known) and len({item.inputs[name] for item in known}) > 1
    ]
    labelled = [replace(item, label=_format_label(item, names)) for item in items]
    if len({item.label for item in labelled}) < len(labelled):
        # The names first, because labels are cut.
        return tuple(
            item if item.name == item.label else replace(item, label=join_with_dots(item.name, item.label))
            for item in labelled
        )
    return tuple(labelled)


def _format_label(item: Item, names: Sequence[str]) -> str:
    model = item.inputs.get("model", "").rpartition("/")[2] if "model" in names else ""
    plain = [name for name in names if name not in ("prompt", "model") and item.inputs.get(name)]
    parts = [model, *(f"{name} {item.inputs[name]}" for name in plain[: 2 if model else 3])]
    label = join_with_dots(*(shorten(part, MAX_PART_LENGTH) for part in parts))
    if not label and "prompt" in names:
        label = item.inputs.get("prompt", "")
    return shorten(label or item.name, MAX_LABEL_LENGTH)


def _read_timing(file: LocalFile) -> Timing:
    probe = file.probe
    index = read_frame_index(file.path) if file.is_video else None
    if index is None:
        return Timing((probe.width, probe.height), probe.frames, probe.rate if file.is_video else None)
    size = index.size[::-1] if index.rotation % 180 else index.size
    times = () if index.is_even else tuple(round(time, 5) for time in index.times)
    return Timing(size, index.frames, index.rate, times, index.rotation)


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

    def clock(self, by: str) -> tuple[Fraction | None, int]:
        """The rate and the number of frames of the clock that the page has for all; no rate for pictures alone."""
        films = [timing for timing in self.timings.values() if timing.rate]
        rate = max((timing.rate for timing in films if timing.rate), default=None)
        if rate is None:
            return None, 1
        counts = [timing.frames if by == FRAME else round(timing.seconds * float(rate)) for timing in films]
        return rate, max(1, *counts)

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
                numbers = [self.timings[place].find_frame(tick, rate, by=by) for place in films]
                frames = dict(zip(films, pool.map(_Film.read, films.values(), numbers), strict=True))
                for one, other in pairs:
                    a, b = frames[one], frames[other]
                    if a is not None and b is not None:
                        rows[one, other].append((tick, *_compare(a, b)))
        return {pair: Differences(*map(tuple, zip(*found, strict=True))) for pair, found in rows.items()}

    @property
    def compared_size(self) -> PixelSize:
        """The size at which frames are compared."""
        # As wide as the widest, as high as the highest.
        box = [max(sides) for sides in zip(*(timing.size for timing in self.timings.values()), strict=True)]
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
        for frame in container.decode(stream):
            pixels = convert_to_rgb(frame, get_colours(frame), size[::-1] if turns % 2 else size)
            yield np.rot90(np.asarray(pixels), -turns)


def _compare(one: Pixels, other: Pixels) -> tuple[float, float]:
    """The structural similarity and the mean absolute difference of two pictures of one size."""
    from ...media.measuring.figures import similarity

    a, b = one.astype(np.float32), other.astype(np.float32)
    return similarity(a @ LUMA, b @ LUMA), float(np.abs(a - b).mean())
