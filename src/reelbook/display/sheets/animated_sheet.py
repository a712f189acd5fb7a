"""All clips of a table side by side as one animated picture, for places that play no videos."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from PIL import Image

from ...errors import ReelbookError
from ...media import stills
from ..report.report_progress import show_progress
from . import animation_encoding
from .picture_grid import PictureGrid, choose_grid, draw_labels, fit_into_place
from .sheet_colours import get_colours
from .sheet_drawing import FULL_WIDTH, UNIT, Brush, get_letterings, wrap_label
from .sheet_entries import Entry, read_entries
from .sheet_pictures import RunPictures, read_all, read_at_times

if TYPE_CHECKING:
    import pandas as pd

MAX_RUNS, MAX_STEPS = 60, 96
MIN_WIDTH, MAX_WIDTH = 160, 2400
TYPE_SHARE = 0.9
"""Labels are read at the size they have; on a sheet they are twice as large as that."""
MIN_STEP, MAX_STEP = 9, 15
"""Hundredths of a second that a step lasts at least: 11 in a second; and what is not made twice as slow any more."""
FAR_TOO_LARGE = 1.5
"""How many times too large a file is so large that it gets fewer steps; else it gets fewer pixels."""
SAMPLES = 3
"""Pairs of steps that tell how large a file will be."""
PICTURE_SECONDS = 0.8
MAX_BYTES = 5_000_000


@dataclass(frozen=True, slots=True)
class Pace:
    """When which step is shown."""

    step: int
    """Hundredths of a second that each is shown."""
    steps: int
    every: int = 1
    """How many of those that are decoded one step stands for."""

    @property
    def times(self) -> list[float]:
        """When each begins, in seconds."""
        return [number * self.step / 100 for number in range(self.steps)]


def write_animation(
    table: pd.DataFrame, path: str | Path, *, labels: str | Sequence[str] | None = None, width: int = 960
) -> Path:
    """The clips of a table side by side as a .gif or an animated .webp; says where it is.

    They run on one clock, and one that is over rests on its last frame. To stay near 5 MB, a large one has fewer
    steps in a second, or fewer pixels than `width`; its comment says how many. Of pictures each is shown in turn.
    """
    target = _target(path)
    if isinstance(width, bool) or not isinstance(width, int) or not MIN_WIDTH <= width <= MAX_WIDTH:
        raise ReelbookError(
            f"`width` of an animated picture is a whole number from {MIN_WIDTH} to {MAX_WIDTH}, and not {width!r}."
        )
    entries = read_entries(table.iloc[: MAX_RUNS + 1], labels)
    if len(entries) > MAX_RUNS:
        raise ReelbookError(
            f"{len(table):,} runs are too many for one animated picture. Choose up to {MAX_RUNS}: table[:{MAX_RUNS}].reel.gif(…)"
        )
    if not any(entry.files for entry in entries):
        raise ReelbookError("No run of this table has a file, so there is nothing that could move.")
    draw = _clips if any(entry.is_film for entry in entries) else _in_turn
    _write(target, draw(entries, width, target.suffix.lower()))
    return target


def _clips(entries: Sequence[Entry], width: int, kind: str) -> bytes:
    """Clips on one clock."""
    sizes, seconds = _measured(entries)
    if not sizes:
        raise ReelbookError("None of the files of this table can be read. rb.attach fetches those of a run again.")
    pace = _pace(seconds)
    place = choose_grid(sizes, entries, width, _scale(width))
    clips = _Clips(entries, _decoded(entries, pace, place.card), sizes, place.across, kind)
    pace, width = _affordable(clips, pace, width)
    content = clips.encoded(pace, width)
    while len(content) > MAX_BYTES and width > MIN_WIDTH * 2:
        width = _narrower(width, len(content))
        content = clips.encoded(pace, width)
    return content


def _decoded(entries: Sequence[Entry], pace: Pace, card: stills.Size) -> list[RunPictures]:
    """All steps of all clips. Decoded once: fewer steps are some of these, and fewer pixels are these made smaller."""
    done: list[Entry] = []

    def read(entry: Entry) -> RunPictures:
        found = read_at_times(entry, pace.times, card)
        done.append(entry)
        return found

    with show_progress(lambda: len(done), len(entries), "clips read for the animated picture"):
        return read_all(entries, read)


def _affordable(clips: _Clips, pace: Pace, width: int) -> tuple[Pace, int]:
    """Pace and width that make a file of the right size, foretold from some steps: each whole attempt takes long."""
    guess = clips.guess(pace, width)
    if guess > MAX_BYTES * FAR_TOO_LARGE and pace.step < MAX_STEP:
        pace = Pace(2 * pace.step, math.ceil(pace.steps / 2), 2)
        guess = clips.guess(pace, width)
    is_wide = width > MIN_WIDTH * 2
    return pace, _narrower(width, guess) if guess > MAX_BYTES and is_wide else width


def _narrower(width: int, size: int) -> int:
    """The width that makes a file of the right size out of one that is too large."""
    return max(MIN_WIDTH * 2, int(width * max(0.5, 0.95 * math.sqrt(MAX_BYTES / size))))


@dataclass(frozen=True, slots=True)
class _Clips:
    """Decoded clips, to be put together at any pace and width."""

    entries: Sequence[Entry]
    seen: Sequence[RunPictures]
    sizes: Sequence[stills.Size]
    across: int
    kind: str

    def encoded(self, pace: Pace, width: int) -> bytes:
        """The whole file."""
        runs = f"{len(self.entries)} run{'' if len(self.entries) == 1 else 's'}"
        comment = f"{runs}, {100 / pace.step:.0f} steps/s, {width} px"
        done: list[int] = []
        steps = self._steps(pace, width, range(pace.steps))
        with show_progress(lambda: len(done), pace.steps, "steps of the animated picture drawn"):
            return animation_encoding.encode_animation(steps, pace.step, self.kind, comment, tell=done.append)

    def guess(self, pace: Pace, width: int) -> int:
        """How large the file will be: the first step is drawn as a whole, and of the others what has changed."""
        places = sorted({round((part + 0.5) / SAMPLES * max(pace.steps - 2, 0)) for part in range(SAMPLES)})
        pairs = [self._steps(pace, width, [place, min(place + 1, pace.steps - 1)]) for place in places]
        # In the colours that the whole will have, which are found in so many of its steps.
        spread = [
            round(part * (pace.steps - 1) / (animation_encoding.SAMPLES - 1))
            for part in range(animation_encoding.SAMPLES)
        ]
        like = self._steps(pace, width, spread)
        one, two = (
            sum(
                len(animation_encoding.encode_animation(pair[:count], pace.step, self.kind, "", like=like))
                for pair in pairs
            )
            for count in (1, 2)
        )
        return (one + (two - one) * (pace.steps - 1)) // len(pairs)

    def _steps(self, pace: Pace, width: int, numbers: Sequence[int]) -> list[Image.Image]:
        place = choose_grid(self.sizes, self.entries, width, _scale(width), across=self.across)
        still = draw_labels(self.entries, self.seen, place, get_colours()).picture
        return [_step(still, self.seen, place, number * pace.every) for number in numbers]


def _step(still: Image.Image, seen: Sequence[RunPictures], place: PictureGrid, number: int) -> Image.Image:
    """All clips at one moment."""
    shown = still.copy()
    for card, look in enumerate(seen):
        if look.pictures:
            # A picture among clips stays what it is.
            picture, left, top = fit_into_place(look.pictures[min(number, len(look.pictures) - 1)], place, card)
            shown.paste(picture, (left, top))
    return shown


def _in_turn(entries: Sequence[Entry], width: int, kind: str) -> bytes:
    """The pictures of each run, one run after the other."""
    whole = [entry for entry in entries if entry.files]
    seen = read_all(whole, lambda entry: _all_pictures(entry, (width, width)))
    shown = [(entry, look) for entry, look in zip(whole, seen, strict=True) if look.pictures]
    if not shown:
        raise ReelbookError("None of the files of this table can be read. rb.attach fetches those of a run again.")
    most = max(len(look.pictures) for _, look in shown)
    # The places for the pictures of a run; its label is that of the whole.
    place = choose_grid(
        [size for _, look in shown for size in look.sizes], [Entry("", ("",), ())] * most, width, _scale(width)
    )
    steps = [_page(entry, look, place) for entry, look in shown]
    return animation_encoding.encode_animation(
        steps, round(100 * PICTURE_SECONDS), kind, f"{len(steps)} runs, {width} px", dithered=True
    )


def _all_pictures(entry: Entry, box: stills.Size) -> RunPictures:
    return RunPictures(
        [stills.picture(path, box) for path in entry.files], [stills.size_of(path) for path in entry.files]
    )


def _page(entry: Entry, look: RunPictures, place: PictureGrid) -> Image.Image:
    """The pictures of one run with its label below."""
    _, small = get_letterings(place.scale)
    ours = get_colours()
    brush = Brush(place.width, place.height + 2 * small.line, ours, scale=place.scale)
    for number, picture in enumerate(look.pictures):
        shown, left, top = fit_into_place(picture, place, number)
        brush.picture.paste(shown, (left, top))
    room = place.width - 2 * place.pad
    for number, line in enumerate(wrap_label(entry.label or (f"run {entry.number}",), small, room, 2)):
        brush.text(place.pad, place.height - place.pad + number * small.line, line, small, ours.ink, room)
    return brush.picture


def _measured(entries: Sequence[Entry]) -> tuple[list[stills.Size], float]:
    """The sizes of all that can be read, and the seconds of the longest clip."""
    sizes: list[stills.Size] = []
    longest = 0.0
    for look in read_all(entries, lambda entry: _length(entry)):
        sizes += look.sizes
        longest = max(longest, look.film.seconds if look.film else 0.0)
    return sizes, longest


def _length(entry: Entry) -> RunPictures:
    if not entry.is_film:
        return RunPictures(sizes=[stills.size_of(entry.files[0])])
    film = stills.frames(entry.files[0], lambda _, __: [], (UNIT, UNIT))
    return RunPictures(sizes=[film.size], film=film)


def _pace(seconds: float) -> Pace:
    """As quick as can be, unless that makes too many steps; all of the longest clip is seen."""
    step = max(MIN_STEP, math.ceil(100 * seconds / MAX_STEPS))
    return Pace(step, max(1, math.ceil(100 * seconds / step - 1e-6)))


def _scale(width: int) -> float:
    return max(width / FULL_WIDTH, 0.5) * TYPE_SHARE


def _target(path: str | Path) -> Path:
    target = Path(path).expanduser()
    if target.suffix.lower() not in animation_encoding.KINDS:
        raise ReelbookError(
            f"An animated picture is a .gif or a .webp, and {target.name!r} is neither. Give such a name."
        )
    return target


def _write(target: Path, content: bytes) -> None:
    """The file as a whole or not at all."""
    part = target.with_name(f".{uuid4().hex}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        os.replace(part, target)  # noqa: PTH105  # As part.replace, and says which of the two it was.
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        why = error.strerror or type(error).__name__
        raise ReelbookError(
            f"{target} could not be written ({why}). Make room there, or give another place."
        ) from error
