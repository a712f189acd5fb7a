"""Decoding of the pictures and clips of many runs, several at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction

from PIL import Image

from ...errors import ReelbookError
from ...media import stills
from ...media.local_file import is_video
from .sheet_entries import SheetEntry

UNREADABLE, VANISHED = "file cannot be read", "file is gone"


@dataclass(frozen=True, slots=True)
class RunPictures:
    """The decoded pictures of a run, or why there are none."""

    pictures: list[Image.Image] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    """The original size of each picture."""
    film: stills.ClipFrames | None = None
    problem: str = ""


def read_all(entries: Sequence[SheetEntry], read_entry: Callable[[SheetEntry], RunPictures]) -> list[RunPictures]:
    """The pictures of each run, read in threads by `read_entry`; `problem` has the reason if a file cannot be read."""
    if not entries:
        return []
    with ThreadPoolExecutor(min(len(entries), os.cpu_count() or 1, 8)) as threads:
        return list(threads.map(lambda entry: _read_safely(entry, read_entry), entries))


def read_over_time(entry: SheetEntry, count: int, box: stills.PixelSize) -> RunPictures:
    """`count` frames of a clip from first to last, or the pictures of a run."""
    if not entry.is_film:
        return read_side_by_side(entry, count, box)
    film = stills.read_spread(entry.files[0], count, box)
    return RunPictures(film.frames, [film.size] * len(film.frames), film)


def read_side_by_side(entry: SheetEntry, count: int, box: stills.PixelSize) -> RunPictures:
    """The first `count` pictures of a run; of a clip, its middle frame."""
    chosen = entry.files[:count]
    pictures = [stills.read_middle(path, box) if is_video(path) else stills.read_picture(path, box) for path in chosen]
    return RunPictures(pictures, [stills.get_size(path) for path in chosen])


def read_at_times(entry: SheetEntry, seconds: Sequence[float], box: stills.PixelSize) -> RunPictures:
    """The frames of a clip at these times, after its end the last one; of a run without a clip, its first picture."""
    if not entry.is_film:
        return read_side_by_side(entry, 1, box)

    def choose(count: int, rate: Fraction) -> list[int]:
        # A time such as 7/24 is slightly less as a float.
        return [min(int(second * rate + 1e-6), count - 1) for second in seconds]

    film = stills.read_frames(entry.files[0], choose, box)
    return RunPictures(film.frames, [film.size], film)


def _read_safely(entry: SheetEntry, read_entry: Callable[[SheetEntry], RunPictures]) -> RunPictures:
    if not entry.files:
        return RunPictures()
    try:
        return read_entry(entry)
    # Any failure of a decoder is due to the file.
    except (Exception, Image.DecompressionBombError):
        is_there = os.path.exists(entry.files[0])  # noqa: PTH110  # Path.exists may raise.
        return RunPictures(problem=UNREADABLE if is_there else VANISHED)


def read_one(entry: SheetEntry, count: int, box: stills.PixelSize) -> RunPictures:
    """As `read_over_time`, but raises a ReelbookError for files that cannot be read."""
    found = _read_safely(entry, lambda entry: read_over_time(entry, count, box))
    if found.problem:
        words = "is not there any more" if found.problem == VANISHED else "cannot be read"
        raise ReelbookError(f"{entry.files[0]} {words}. rb.attach downloads it again.")
    return found
