"""All clips of a table side by side as one animated picture, for places that do not play videos."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from av import VideoFrame
from PIL import Image

from ...errors import ReelbookError
from ...media import stills
from ...media.frame_range import write_gif
from ...util.replace_file import replace_file
from ..live import show_progress
from .picture_grid import PictureGrid, choose_grid, draw_labels, fit_into_place
from .sheet_colours import get_colours
from .sheet_drawing import FULL_WIDTH, UNIT, Brush, get_letterings, wrap_label
from .sheet_entries import SheetEntry, read_entries
from .sheet_pictures import RunPictures, read_all, read_at_times

if TYPE_CHECKING:
    import pandas as pd

MAX_RUNS, MAX_STEPS = 60, 96
MIN_WIDTH, MAX_WIDTH = 160, 2400
LABEL_SHARE = 0.9
"""The scale of labels beside that of a sheet: an animated picture is viewed at its own size."""
MIN_STEP, MAX_STEP = 9, 15
"""Hundredths of a second: the shortest duration of a step, and the one from which it is no longer doubled."""
FEWER_STEPS_RATIO = 1.5
"""A file larger than `MAX_BYTES` by this factor gets fewer steps, any other only fewer pixels."""
QUALITY = 72
KINDS = (".gif", ".webp")
PICTURE_SECONDS = 0.8
MAX_BYTES = 5_000_000


@dataclass(frozen=True, slots=True)
class Pace:
    """The number of steps and the duration of each."""

    step: int
    """Duration of a step in hundredths of a second."""
    steps: int
    stride: int = 1
    """Decoded steps for each step drawn."""

    @property
    def times(self) -> list[float]:
        """The start of each step in seconds."""
        return [number * self.step / 100 for number in range(self.steps)]


def write_animation(
    table: pd.DataFrame, path: str | Path, *, labels: str | Sequence[str] | None = None, width: int = 960
) -> Path:
    """Write the clips of a table side by side as a .gif or an animated .webp; returns its path.

    All play at the same time, and a shorter one stays on its last frame. To stay near 5 MB, a large one has fewer
    steps in a second, or fewer pixels than `width`. Pictures are displayed in turn.
    """
    target = _check_target(path)
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
    draw = _encode_clips if any(entry.is_film for entry in entries) else _encode_pictures
    _write(target, draw(entries, width, target.suffix.lower()))
    return target


def _encode_clips(entries: Sequence[SheetEntry], width: int, kind: str) -> bytes:
    """Clips that play at the same time."""
    sizes, seconds = _measure(entries)
    if not sizes:
        raise ReelbookError("None of the files of this table can be read. rb.attach fetches those of a run again.")
    pace = _choose_pace(seconds)
    place = choose_grid(sizes, entries, width, _choose_scale(width))
    clips = _Clips(entries, _decode(entries, pace, place.card), sizes, place.across, kind)
    content = clips.encode(pace, width)
    while len(content) > MAX_BYTES:
        if len(content) > MAX_BYTES * FEWER_STEPS_RATIO and pace.step < MAX_STEP:
            pace = Pace(2 * pace.step, math.ceil(pace.steps / 2), 2)
        elif width > MIN_WIDTH * 2:
            smaller = int(width * max(0.5, 0.95 * math.sqrt(MAX_BYTES / len(content))))
            width = max(MIN_WIDTH * 2, smaller)
        else:
            break
        content = clips.encode(pace, width)
    return content


def _decode(entries: Sequence[SheetEntry], pace: Pace, card: stills.PixelSize) -> list[RunPictures]:
    """All steps of all clips. Decoded once: fewer steps or pixels are made from these."""
    done: list[SheetEntry] = []

    def read(entry: SheetEntry) -> RunPictures:
        found = read_at_times(entry, pace.times, card)
        done.append(entry)
        return found

    with show_progress(lambda: len(done), len(entries), "clips read for the animated picture"):
        return read_all(entries, read)


@dataclass(frozen=True, slots=True)
class _Clips:
    """Decoded clips, which can be encoded at any pace and width."""

    entries: Sequence[SheetEntry]
    media: Sequence[RunPictures]
    sizes: Sequence[stills.PixelSize]
    across: int
    kind: str

    def encode(self, pace: Pace, width: int) -> bytes:
        """The content of the file."""
        place = choose_grid(self.sizes, self.entries, width, _choose_scale(width), across=self.across)
        labels = draw_labels(self.entries, self.media, place, get_colours()).picture
        done: list[int] = []
        with show_progress(lambda: len(done), pace.steps, "steps of the animated picture drawn"):
            steps = []
            for number in range(pace.steps):
                steps.append(_draw_step(labels, self.media, place, number * pace.stride))
                done.append(number)
            # In a film the dots of dithering would flicker.
            return encode_animation(steps, pace.step, self.kind, dither="none")


def encode_animation(steps: Sequence[Image.Image], hundredths: int, kind: str, dither: str = "sierra2_4a") -> bytes:
    """The content of a file with these steps, each displayed for so many hundredths of a second, in an endless loop."""
    out = io.BytesIO()
    if kind == ".webp":
        steps[0].save(
            out, "WEBP", save_all=True, append_images=steps[1:], duration=hundredths * 10, loop=0, quality=QUALITY,
            method=2,
        )  # fmt: skip
        return out.getvalue()

    def frames() -> Iterator[tuple[VideoFrame, float]]:
        for number, step in enumerate(steps):
            frame = VideoFrame.from_ndarray(np.asarray(step), format="rgb24")
            yield frame.reformat(format="rgb32"), number * hundredths / 100

    write_gif(out, frames, hundredths, dither)
    return out.getvalue()


def _draw_step(labels: Image.Image, media: Sequence[RunPictures], place: PictureGrid, number: int) -> Image.Image:
    """All clips at one moment."""
    step = labels.copy()
    for card, one in enumerate(media):
        if one.pictures:
            # A picture among clips does not change.
            picture, left, top = fit_into_place(one.pictures[min(number, len(one.pictures) - 1)], place, card)
            step.paste(picture, (left, top))
    return step


def _encode_pictures(entries: Sequence[SheetEntry], width: int, kind: str) -> bytes:
    """The pictures of each run, one run after the other."""
    with_files = [entry for entry in entries if entry.files]
    media = read_all(with_files, lambda entry: _read_pictures(entry, (width, width)))
    readable = [(entry, one) for entry, one in zip(with_files, media, strict=True) if one.pictures]
    if not readable:
        raise ReelbookError("None of the files of this table can be read. rb.attach fetches those of a run again.")
    count = max(len(one.pictures) for _, one in readable)
    # Places for the pictures of one run without labels of their own; the run's label is below all of them.
    place = choose_grid(
        [size for _, one in readable for size in one.sizes],
        [SheetEntry("", ("",), ())] * count,
        width,
        _choose_scale(width),
    )
    steps = [_draw_page(entry, one, place) for entry, one in readable]
    return encode_animation(steps, round(100 * PICTURE_SECONDS), kind)


def _read_pictures(entry: SheetEntry, box: stills.PixelSize) -> RunPictures:
    return RunPictures(
        [stills.read_picture(path, box) for path in entry.files], [stills.get_size(path) for path in entry.files]
    )


def _draw_page(entry: SheetEntry, media: RunPictures, place: PictureGrid) -> Image.Image:
    """The pictures of one run, with its label below."""
    _, small = get_letterings(place.scale)
    colours = get_colours()
    brush = Brush(place.width, place.height + 2 * small.line, colours, scale=place.scale)
    for number, picture in enumerate(media.pictures):
        fitted, left, top = fit_into_place(picture, place, number)
        brush.picture.paste(fitted, (left, top))
    room = place.width - 2 * place.pad
    for number, line in enumerate(wrap_label(entry.label or (f"run {entry.number}",), small, room, 2)):
        brush.text(place.pad, place.height - place.pad + number * small.line, line, small, colours.ink, room)
    return brush.picture


def _measure(entries: Sequence[SheetEntry]) -> tuple[list[stills.PixelSize], float]:
    """The sizes of all readable files, and the seconds of the longest clip."""
    sizes: list[stills.PixelSize] = []
    longest = 0.0
    for one in read_all(entries, lambda entry: _read_length(entry)):
        sizes += one.sizes
        longest = max(longest, one.film.seconds if one.film else 0.0)
    return sizes, longest


def _read_length(entry: SheetEntry) -> RunPictures:
    if not entry.is_film:
        return RunPictures(sizes=[stills.get_size(entry.files[0])])
    film = stills.read_frames(entry.files[0], lambda _, __: [], (UNIT, UNIT))
    return RunPictures(sizes=[film.size], film=film)


def _choose_pace(seconds: float) -> Pace:
    """The highest pace that shows all of the longest clip within `MAX_STEPS`."""
    step = max(MIN_STEP, math.ceil(100 * seconds / MAX_STEPS))
    return Pace(step, max(1, math.ceil(100 * seconds / step - 1e-6)))


def _choose_scale(width: int) -> float:
    return max(width / FULL_WIDTH, 0.5) * LABEL_SHARE


def _check_target(path: str | Path) -> Path:
    target = Path(path).expanduser()
    if target.suffix.lower() not in KINDS:
        raise ReelbookError(
            f"An animated picture is a .gif or a .webp, and {target.name!r} is neither. Give such a name."
        )
    return target


def _write(target: Path, content: bytes) -> None:
    """Write the file completely or not at all."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, content)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ReelbookError(
            f"{target} could not be written ({why}). Free some space there, or choose another folder."
        ) from error
