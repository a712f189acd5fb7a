"""The items of a comparison: files with their labels and inputs, or the reasons why there is no file."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from ...errors import ReelbookError
from ...media.frame_index import read_frame_index
from ...media.local_file import LocalFile
from ...models.base import Input
from ..formatting import format_size, join_with_dots, shorten
from ..report.shared_table import find_picture_fields, strip_folders
from ..run_text import format_value

MAX_LABEL_LENGTH, MAX_PART_LENGTH = 60, 28
EDGE = 1e-4
"""As in the page: seconds are rounded on their way, so that a frame begins a little before its time."""

PixelSize = tuple[int, int]


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

    def frame_at(self, time: float) -> int:
        """The number of the frame on the screen at a time; after the end, the last one.

        >>> Timing((64, 48), 25, Fraction(24)).frame_at(0.5), Timing((64, 48)).frame_at(0.5)
        (12, 0)
        """
        if self.rate is None:
            return 0
        if self.times:
            number = bisect.bisect_right(self.times, time + EDGE / float(self.rate)) - 1
        else:
            number = int(time * self.rate + EDGE)
        return min(max(number, 0), self.frames - 1)


@dataclass(frozen=True)
class Item:
    """One of the files that are compared."""

    name: str
    """What identifies it if its inputs do not, such as `run 7` or the name of a file."""
    file: LocalFile | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Its inputs as text."""
    trouble: str = ""
    """Why there is no file, as a sentence."""
    label: str = ""
    """By what it differs from the others."""
    key: str = ""
    """By what the page requests the file, if not by a key of its path."""

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
            return self.trouble or f"{self.name} has no file here."
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
    """The items with labels: the inputs that differ, else the sizes, else their names."""
    known = [item for item in items if item.inputs]
    # Inputs that only some models have would fill the labels; a file without inputs differs by its name.
    names = [
        name
        for name in dict.fromkeys(name for item in known for name in item.inputs)
        if all(name in item.inputs for item in known) and len({item.inputs[name] for item in known}) > 1
    ]
    sizes = [item.file_facts.get("size", "") for item in items]
    if not names and len(known) in (0, len(items)) and len(set(sizes)) == len(items):
        items = [replace(item, label=size) for item, size in zip(items, sizes, strict=True)]
    labelled = [item if item.label else replace(item, label=_format_label(item, names)) for item in items]
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


def find_box(timings: Sequence[Timing]) -> PixelSize:
    """The box into which these pictures are fitted: as wide as the widest, as high as the highest."""
    return max(timing.size[0] for timing in timings), max(timing.size[1] for timing in timings)


def find_clock(timings: Sequence[Timing], *, by: str) -> tuple[Fraction | None, int]:
    """The rate and the number of frames of the clock that the page has for these; no rate for pictures alone."""
    films = [timing for timing in timings if timing.rate]
    rate = max((timing.rate for timing in films if timing.rate), default=None)
    if rate is None:
        return None, 1
    counts = [timing.frames if by == "frame" else round(timing.seconds * float(rate)) for timing in films]
    return rate, max(1, *counts)


def find_frame(timing: Timing, tick: int, rate: Fraction | None, *, by: str) -> int | None:
    """The number of the frame that an item displays with the clock's; None after the end of a clip."""
    if timing.rate is None or rate is None:
        return 0
    if by == "frame":
        return tick if tick < timing.frames else None
    time = (tick + 0.5) / float(rate)
    return timing.frame_at(time) if time < timing.seconds + EDGE else None


def _read_timing(file: LocalFile) -> Timing:
    probe = file.probe
    index = read_frame_index(file.path) if file.is_video else None
    if index is None:
        return Timing((probe.width, probe.height), probe.frames, probe.rate if file.is_video else None)
    size = index.size[::-1] if index.rotation % 180 else index.size
    times = () if index.is_even else tuple(round(time, 5) for time in index.times)
    return Timing(size, index.frames, index.rate, times, index.rotation)
