"""The pictures of many runs, decoded several at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction

from PIL import Image

from ...errors import ReelbookError
from ...media import stills
from .sheet_entries import Entry

UNREADABLE, VANISHED = "file cannot be read", "file is gone"


@dataclass(frozen=True, slots=True)
class RunPictures:
    """What is seen of a run, or why there is nothing to see."""

    pictures: list[Image.Image] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    """How large each picture is itself."""
    film: stills.Film | None = None
    trouble: str = ""


def read_all(entries: Sequence[Entry], look: Callable[[Entry], RunPictures]) -> list[RunPictures]:
    """What is seen of each run; a file that cannot be read says so, and the others are shown."""
    if not entries:
        return []
    with ThreadPoolExecutor(min(len(entries), os.cpu_count() or 1, 8)) as threads:
        return list(threads.map(lambda entry: _read_safely(entry, look), entries))


def read_over_time(entry: Entry, count: int, box: stills.Size) -> RunPictures:
    """So many frames of a clip, or the pictures that the run made."""
    if not entry.is_film:
        return read_side_by_side(entry, count, box)
    film = stills.spread(entry.files[0], count, box)
    return RunPictures(film.frames, [film.size] * len(film.frames), film)


def read_side_by_side(entry: Entry, count: int, box: stills.Size) -> RunPictures:
    """As many of the pictures of a run as there is room for; of a clip its middle."""
    shown = entry.files[:count]
    pictures = [stills.middle(path, box) if stills.is_film(path) else stills.picture(path, box) for path in shown]
    return RunPictures(pictures, [stills.size_of(path) for path in shown])


def read_at_times(entry: Entry, seconds: Sequence[float], box: stills.Size) -> RunPictures:
    """The frames that are on the screen at these times; after its end a clip rests on its last one."""
    if not entry.is_film:
        return read_side_by_side(entry, 1, box)

    def choose(count: int, rate: Fraction) -> list[int]:
        # A time such as 7/24 is a hair less than it says.
        return [min(int(second * rate + 1e-6), count - 1) for second in seconds]

    film = stills.frames(entry.files[0], choose, box)
    return RunPictures(film.frames, [film.size], film)


def _read_safely(entry: Entry, look: Callable[[Entry], RunPictures]) -> RunPictures:
    if not entry.files:
        return RunPictures()
    try:
        return look(entry)
    # Whatever a decoder stumbles over, it is the file.
    except (Exception, Image.DecompressionBombError):
        is_there = os.path.exists(entry.files[0])  # noqa: PTH110  # Path.exists may raise.
        return RunPictures(trouble=UNREADABLE if is_there else VANISHED)


def read_one(entry: Entry, count: int, box: stills.Size) -> RunPictures:
    """The files of one run over time; what is wrong with them is an error."""
    found = _read_safely(entry, lambda entry: read_over_time(entry, count, box))
    if found.trouble:
        words = "is not there any more" if found.trouble == VANISHED else "cannot be read"
        raise ReelbookError(f"{entry.files[0]} {words}. Pick the run up with rb.attach, which fetches it anew.")
    return found
