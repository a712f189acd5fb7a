"""Pictures of tables and clips that can be saved, pasted and printed: contact sheets and strips."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from PIL import Image, ImageDraw

from ..errors import ReelbookError
from ..media import stills
from ..media.lettering import Lettering
from ..media.local_file import LocalFile
from ..models.base import File
from ..runs.run import Run
from ..settings import options
from ..util.printable import format_count, suggest
from ..util.replace_file import replace_file
from .embedding import data_uri, fit_jpegs
from .formatting import STATE_COLOURS, join_with_dots
from .report.layout import format_named_value
from .run_text import RunText, describe_file, describe_run
from .table_runs import TableRun, format_title, group_runs, shorten_model
from .tables.table_html import format_table
from .theme import read_colours

if TYPE_CHECKING:
    import pandas as pd

FULL_WIDTH, MIN_WIDTH, UNIT, BODY, SMALL, MIN_BODY = 1600, 320, 8, 26, 24, 12
"""Pixels on a sheet of full width; twice those of a page, because a screen may display it at half its size."""
MAX_RUNS, MAX_FRAMES, MAX_PICTURES, MAX_ACROSS, MAX_LINES = 100, 24, 8, 12, 2
"""Runs of a sheet, frames and pictures of a run, runs side by side, and lines of a title or a label."""
MAX_MOVING, MAX_STEPS, STEPS_A_SECOND = 60, 96, 10
"""Clips and steps of an animation."""
TALLEST = 1.78
"""Height over width of the tallest picture."""
MAX_BYTES, MAX_PLAIN_BYTES = 200_000, 100_000
"""Bytes of the copy in HTML, and of the one without."""
UNREADABLE, VANISHED = "file cannot be read", "file is gone"
IMAGE = Markup('<img width="{}" alt="{}" src="{}" style="display:block;max-width:100%;height:auto">')

Size = tuple[int, int]


class Sheet(Image.Image):
    """A Pillow image that can be saved, pasted and printed, and is displayed as a small JPEG.

    Pillow displays its images as PNG and as JPEG at once, and the PNG of a sheet of 24 runs alone takes 5 MB in the
    notebook. `save("sheet.png")` writes all pixels unchanged.
    """

    _alt = "a contact sheet"

    @classmethod
    def of(cls, picture: Image.Image, alt: str) -> Sheet:
        """A sheet of this picture; `alt` describes it as text."""
        sheet = cls()
        vars(sheet).update(vars(picture), _alt=alt)
        return sheet

    def _repr_html_(self) -> str:
        (small,) = fit_jpegs([self.convert("RGB")], MAX_BYTES)
        return str(IMAGE.format(self.width, self._alt, data_uri("image/jpeg", small)))

    def _repr_png_(self) -> None:
        return None

    def _repr_jpeg_(self) -> bytes:
        return fit_jpegs([self.convert("RGB")], MAX_PLAIN_BYTES)[0]

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def __repr__(self) -> str:
        return f"<a picture of {self.width}×{self.height}: .save('sheet.png') keeps it>"


def draw_sheet(
    table: pd.DataFrame, *, frames: int = 6, labels: str | Sequence[str] | None = None, width: int = FULL_WIDTH
) -> Sheet:
    """A contact sheet of a table of runs, `width` pixels wide; a run without a file has its state instead.

    It holds the first 100 runs; its last line says how to get the others.
    """
    _check_numbers(frames, width)
    if not len(table):
        raise ReelbookError("This table has no runs, so there is nothing to draw. Look at what it was filtered by.")
    runs = _read_runs(table.iloc[:MAX_RUNS], labels)
    title, more = format_title(runs), ""
    if len(runs) < len(table):
        more = f"The first {len(runs):,} of {len(table):,} runs. The next ones: table[{len(runs)}:].reel.sheet()"
    most = max(len(run.files) for run in runs)
    if most and not any(run.is_film for run in runs):
        frames = min(most, MAX_PICTURES)
    cards = Cards(runs, frames, width)
    sizes = {_format_size(one) for one in cards.media if one.film is not None}
    # The size of all clips if it is one.
    facts = join_with_dots(format_table(table), *(sizes if len(sizes) == 1 else ()))
    return Sheet.of(cards.draw(title, facts, more), f"contact sheet: {title}")


def draw_strip(run_or_file: Run | LocalFile | str | Path, *, frames: int = 6, width: int = FULL_WIDTH) -> Sheet:
    """Frames of a clip side by side, `width` pixels wide, with times and a caption; of pictures, all of a run."""
    _check_numbers(frames, width)
    files, text = _read_run_or_file(run_or_file)
    run = TableRun(0, "", "", {}, files)
    cards = Cards([run], frames if run.is_film else min(len(files), MAX_PICTURES), width)
    (media,) = cards.media
    if media.problem:
        words = "is not there any more" if media.problem == VANISHED else "cannot be read"
        raise ReelbookError(f"{files[0].path} {words}. rb.attach downloads it again.")
    seconds = f"{media.film.seconds:.1f} s" if media.film else ""
    facts = join_with_dots(text.seed, _format_size(media) if len(files) == 1 else "", seconds, text.credits)
    return Sheet.of(cards.draw(text.prompt, facts), f"strip: {join_with_dots(text.prompt, facts)}")


def write_gif(
    table: pd.DataFrame, path: str | Path, *, labels: str | Sequence[str] | None = None, width: int = 960
) -> Path:
    """Write the clips of a table side by side as a GIF; returns its path. A shorter clip stays on its last frame."""
    _check_numbers(1, width)
    target = Path(path).expanduser()
    if target.suffix.lower() != ".gif":
        raise ReelbookError(f"The clips of a table are written as a .gif, and not as {target.name!r}.")
    runs = [run for run in _read_runs(table, labels) if run.is_film]
    if not 0 < len(runs) <= MAX_MOVING:
        raise ReelbookError(
            f"An animation holds 1 to {MAX_MOVING} clips, and this table has {len(runs):,}. Choose some of its rows."
        )
    cards = Cards(runs, 1, width)
    seconds = max((one.film.seconds for one in cards.media if one.film), default=0.0)
    steps = min(MAX_STEPS, math.ceil(seconds * STEPS_A_SECOND))
    if not steps:
        raise ReelbookError("No clip of this table can be read. rb.attach downloads them again.")
    media = read_all(
        runs, 1, cards.box, lambda _, rate: [int(step * seconds / steps * rate + 1e-6) for step in range(steps)]
    )
    title, facts, pictures = format_title(runs), format_table(table), []
    for step in range(steps):
        cards.media = [replace(one, pictures=one.pictures[step : step + 1]) for one in media]
        pictures.append(cards.draw(title, facts))
    content = io.BytesIO()
    milliseconds = round(1000 * seconds / steps)
    pictures[0].save(content, "GIF", save_all=True, append_images=pictures[1:], duration=milliseconds, loop=0)
    target.parent.mkdir(parents=True, exist_ok=True)
    replace_file(target, content.getvalue())
    return target


# What is drawn with.


class DrawingStyle:
    """Lengths, lettering and colours at a scale, which is the width of a picture as a share of `FULL_WIDTH`."""

    def __init__(self, scale: float) -> None:
        self.gap, self.pad = (max(1, round(value * scale)) for value in (UNIT, 4 * UNIT))
        self.body = Lettering(max(MIN_BODY, round(BODY * scale)))
        self.small = Lettering(max(MIN_BODY - 1, round(SMALL * scale)))
        # Light with `auto`, because a picture does not know its page.
        self.colours = read_colours(is_dark=options.theme == "dark")


class Canvas:
    """A picture that is drawn on."""

    def __init__(self, size: Size, style: DrawingStyle) -> None:
        self.style = style
        self.picture = Image.new("RGB", size, style.colours["paper"])
        self._draw = ImageDraw.Draw(self.picture)

    def write(self, at: tuple[float, float], text: str, room: float, colour: str, lettering: Lettering) -> None:
        """Write a text on one line, cut to `room` pixels."""
        lettering.draw(self._draw, *at, text, self.style.colours[colour], room=room)

    def write_lines(self, at: Size, lines: Sequence[str], room: float, large: int, small_colour: str = "soft") -> None:
        """Write lines below each other: the first ones large, the others small."""
        left, top = at
        for place, line in enumerate(lines):
            is_large = place < large
            lettering = self.style.body if is_large else self.style.small
            self.write((left, top), line, room, "ink" if is_large else small_colour, lettering)
            top += lettering.line

    def explain(self, at: Size, size: Size, run: TableRun, problem: str) -> None:
        """In place of pictures a box with the state of a run and the reason, or why they cannot be read."""
        self.picture.paste(self.style.colours["raised"], (*at, at[0] + size[0], at[1] + size[1]))
        gap, body, state = self.style.gap, self.style.body, problem or run.state
        left, top, room = at[0] + 2 * gap, at[1] + gap, size[0] - 3 * gap
        colour = "soft" if problem else STATE_COLOURS.get(state, "soft")
        self.write((left, top), state, room, colour, body)
        lines = max(0, (size[1] - body.line - 2 * gap) // self.style.small.line)
        reason = "" if problem else run.reason
        self.write_lines((left, top + body.line), self.style.small.lines(reason, room, lines) if lines else [], room, 0)


def _fit(picture: Image.Image, box: Size) -> Image.Image:
    """A picture scaled to fill the box, also if it has to be enlarged."""
    grow = min(box[0] / picture.width, box[1] / picture.height)
    size = max(1, round(picture.width * grow)), max(1, round(picture.height * grow))
    # Resizing by a single pixel would only blur.
    is_near = abs(size[0] - picture.width) <= 1 and abs(size[1] - picture.height) <= 1
    return picture if is_near else picture.resize(size, Image.Resampling.LANCZOS)


# The drawing: runs in rows of cards, and within a card time from left to right.


class Cards:
    """A card for each run, with its label and below that its pictures side by side, which are read at once."""

    def __init__(self, runs: Sequence[TableRun], across: int, width: int) -> None:
        self.runs, self.across, self.width = runs, across, width
        self.style = style = DrawingStyle(width / FULL_WIDTH)
        # A column of single pictures would waste the rest of the sheet.
        self.columns = 1 if across > 1 else min(max(round(1.3 * math.sqrt(len(runs))), 3), MAX_ACROSS)
        self._card = (width - 2 * style.pad - (self.columns - 1) * 2 * style.gap) // self.columns
        # Two pictures do not fill the width, or they would be as large as the sheet.
        self._cell = max(1, min((self._card - (across - 1) * style.gap) // across, width // 3))
        self.box = (self._cell, round(self._cell * TALLEST) or 1)
        self.media = read_all(runs, across, self.box)

    def draw(self, title: str, facts: str, more: str = "") -> Image.Image:
        """The picture: title, facts and times above, and `more` below."""
        style, gap, pad, small = self.style, self.style.gap, self.style.pad, self.style.small
        room = self.width - 2 * pad
        titles = style.body.lines(title, room, MAX_LINES)
        times = _format_times(self.media, self.across) if self.columns == 1 else []
        labels = [small.lines(join_with_dots(run.name, *run.label), self._card, MAX_LINES) for run in self.runs]
        pictures = [[_fit(picture, self.box) for picture in one.pictures] for one in self.media]
        state = style.body.line + 2 * small.line + 2 * gap
        heights = [max((picture.height for picture in row), default=state) for row in pictures]
        numbers = range(len(self.runs))
        rows = [numbers[first : first + self.columns] for first in numbers[:: self.columns]]
        tops = [pad + len(titles) * style.body.line + (2 if times else 1) * small.line + 2 * gap]
        for row in rows:
            label = max(len(labels[number]) for number in row) * small.line
            tops.append(tops[-1] + label + max(heights[number] for number in row) + 3 * gap)
        foot = small.line + gap if more else 0
        canvas = Canvas((self.width, tops[-1] + foot + pad - 2 * gap), style)
        canvas.write_lines((pad, pad), [*titles, facts], room, len(titles))
        for place, time in enumerate(times):
            canvas.write((self._left(0, place), tops[0] - small.line - gap), time, self._cell, "soft", small)
        for row, top in zip(rows, tops, strict=False):
            below = top + max(len(labels[number]) for number in row) * small.line
            for column, number in enumerate(row):
                canvas.write_lines((self._left(column), top), labels[number], self._card, 0, "ink")
                for place, picture in enumerate(pictures[number]):
                    canvas.picture.paste(picture, (self._left(column, place), below))
                if not pictures[number]:
                    size = self._card, max(heights[number] for number in row)
                    canvas.explain((self._left(column), below), size, self.runs[number], self.media[number].problem)
        canvas.write((pad, tops[-1]), more, room, "soft", small)
        return canvas.picture

    def _left(self, column: int, place: int = 0) -> int:
        """The left edge of a picture by its place in the card of a column."""
        gap = self.style.gap
        return self.style.pad + column * (self._card + 2 * gap) + place * (self._cell + gap)


# The runs, their pictures, and what is written about them.


@dataclass(frozen=True, slots=True)
class RunPictures:
    """The decoded pictures of a run, or why there are none."""

    pictures: list[Image.Image] = field(default_factory=list)
    sizes: list[Size] = field(default_factory=list)
    """The original size of each picture."""
    film: stills.ClipFrames | None = None
    problem: str = ""


def read_all(
    runs: Sequence[TableRun], count: int, box: Size, choose: Callable[[int, Fraction], Sequence[int]] | None = None
) -> list[RunPictures]:
    """`count` frames of each clip from first to last, or pictures of each run; `problem` says why one cannot be read.

    `choose` returns other frames, for their number and rate.
    """

    def read(run: TableRun) -> RunPictures:
        paths = [file.path for file in run.files[:count]]
        try:
            if run.is_film:
                film = stills.read_frames(paths[0], choose, box) if choose else stills.read_spread(paths[0], count, box)
                return RunPictures(film.frames, [film.size] * len(film.frames), film)
            return RunPictures([stills.read_picture(path, box) for path in paths], list(map(stills.get_size, paths)))
        # Any failure of a decoder is due to the file.
        except (Exception, Image.DecompressionBombError):
            is_there = os.path.exists(paths[0])  # noqa: PTH110  # Path.exists may raise.
            return RunPictures(problem=UNREADABLE if is_there else VANISHED)

    with ThreadPoolExecutor(max(1, min(len(runs), os.cpu_count() or 1, 8))) as threads:
        return list(threads.map(read, runs))


def _read_runs(table: pd.DataFrame, labels: str | Sequence[str] | None) -> list[TableRun]:
    """The runs of a table, labelled by the inputs that vary, or by the columns `labels`."""
    table = table.loc[:, ~table.columns.duplicated()]
    groups = group_runs(table)
    runs = [run for group in groups for run in group.entries]
    if labels is not None:
        names = [labels] if isinstance(labels, str) else list(labels)
        for name in names:
            if name not in table.columns:
                raise ReelbookError(f"This table has no column {name!r}.{suggest(name, table.columns)}")
        runs = [replace(run, label=tuple(format_named_value(name, run.values[name]) for name in names)) for run in runs]
    elif len(groups) > 1:
        runs = [replace(run, label=(shorten_model(run.model), *run.label)) for run in runs]
    return sorted(runs, key=lambda run: run.place)


def _read_run_or_file(given: Run | LocalFile | str | Path) -> tuple[tuple[LocalFile, ...], RunText]:
    """The files, and their prompt, seed and credits; without a prompt, the name of the file."""
    if isinstance(given, Run):
        if given.status != "completed":
            raise ReelbookError(f"This run is {given.status}, so it has no pictures. Wait for it, or show another one.")
        if not given.media:
            raise ReelbookError("This run made no files, so there is nothing to draw.")
        return given.media, describe_run(given)
    file = LocalFile(Path(given).expanduser(), File(url="")) if isinstance(given, str | Path) else given
    if not isinstance(file, LocalFile):
        raise ReelbookError("A strip is of a run or of a file. Pass a run, a path, or a row such as table.loc[[7]].")
    text = describe_file(file)
    if not text.prompt:
        try:
            provenance = file.provenance
        except ReelbookError:
            return (file,), RunText(file.path.name)
        prompt = " ".join(str(provenance.values.get("prompt") or "").split())
        seed = "" if provenance.seed is None else f"seed {provenance.seed}"
        text = RunText(prompt or file.path.name, seed)
    return (file,), text


def _check_numbers(frames: object, width: object) -> None:
    for name, value, low, high in (("frames", frames, 1, MAX_FRAMES), ("width", width, MIN_WIDTH, 5 * FULL_WIDTH)):
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ReelbookError(f"`{name}` is a whole number from {low} to {high}, and not {value!r}.")


def _format_size(media: RunPictures) -> str:
    """The size of a run's first picture, and of a clip also its frames and rate."""
    size = "×".join(map(str, media.sizes[0])) if media.sizes else ""
    film = media.film
    return f"{size} · {format_count(film.count, 'frame')} at {float(film.rate):g}/s" if film else size


def _format_times(media: Sequence[RunPictures], count: int) -> list[str]:
    """The heading of each column: seconds where all clips are equally long, else percentages; of pictures their sizes."""
    films = [one.film for one in media if one.film is not None]
    if not films:
        found = [{one.sizes[place] for one in media if len(one.sizes) > place} for place in range(count)]
        return ["×".join(map(str, *sizes)) if len(sizes) == 1 else "" for sizes in found]
    if len({(film.count, film.rate) for film in films}) == 1:
        return [f"{float(number / films[0].rate):.2f} s" for number in films[0].numbers]
    if count == 1:
        return ["middle"]
    return ["start", *(f"{place / (count - 1):.0%}" for place in range(1, count - 1)), "end"]
