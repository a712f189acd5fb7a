"""Contact sheets, the runs of a table as rows and time from left to right; and strips, the frames of one clip."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from ...errors import ReelbookError
from ...media.local_file import LocalFile
from ...media.stills import get_size
from ...models.base import File
from ...runs.run import Run
from ..formatting import join_with_dots
from ..run_text import RunText, describe_file, describe_run
from ..table_runs import TableRun
from .sheet_drawing import (
    FULL_WIDTH,
    Brush,
    Colours,
    Measures,
    PictureGrid,
    choose_grid,
    draw_labels,
    fit_to_box,
    wrap_label,
)
from .sheet_image import Sheet
from .sheet_runs import (
    VANISHED,
    RunPictures,
    format_facts,
    format_title,
    read_all,
    read_labelled,
    read_over_time,
    read_safely,
    read_side_by_side,
)

if TYPE_CHECKING:
    import pandas as pd

MAX_ROWS, MAX_HEIGHT, MAX_FRAMES = 200, 30_000, 24
MIN_WIDTH, MAX_WIDTH = 320, 8000
MAX_PICTURES = 8
LABEL_SHARE, NUMBER_SHARE = 0.22, 0.06
MAX_SHAPE = 1.78
"""The largest ratio of height to width at which a picture is drawn: that of a phone's screen."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Horizontal positions and widths in pixels."""

    left: int
    number: int
    label: int
    cells: tuple[int, ...]
    """Left edges."""
    cell: int
    """Width of each."""
    right: int


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row of the sheet: one run, ready to be drawn."""

    run: TableRun
    media: RunPictures
    label: list[str]
    note: list[str]
    height: int


@dataclass(frozen=True, slots=True)
class Heading:
    """What is written above and below the runs."""

    title: str
    facts: list[str]
    total: int
    """Rows of the table."""

    def paint(self, brush: Brush, media: Sequence[RunPictures], left: int) -> None:
        """Paint what these runs have in common; at the foot how many are left out, and how to get them."""
        measures, colours, room = brush.measures, brush.colours, brush.picture.width - 2 * left
        sizes = {format_picture_size(one) for one in media if one.film is not None}
        facts = join_with_dots(*self.facts, sizes.pop() if len(sizes) == 1 else "")
        brush.text(left, measures.pad, self.title, measures.body, colours.ink, room)
        brush.text(left, measures.pad + measures.body.line, facts, measures.small, colours.soft, room)
        if (count := len(media)) < self.total:
            words = f"The first {count:,} of {self.total:,} runs. The next ones: table[{count}:].reel.sheet()"
            brush.text(
                left, brush.picture.height - measures.small.line - left, words, measures.small, colours.soft, room
            )


def draw_sheet(
    table: pd.DataFrame, *, frames: int = 6, labels: str | Sequence[str] | None = None, width: int = FULL_WIDTH
) -> Sheet:
    """A contact sheet of a table of runs, `width` pixels wide; a run without a file has its state instead.

    It holds the first 200 runs, or as many as fit into a picture; its last line says how to get the others.
    """
    _check_arguments(frames, width, "sheet")
    if not len(table):
        raise ReelbookError("This table has no runs, so there is nothing to draw. Look at what it was filtered by.")
    runs = read_labelled(table.iloc[:MAX_ROWS], labels)
    heading = Heading(format_title(runs), format_facts(table), len(table))
    measures = Measures(width / FULL_WIDTH)
    across = frames
    if not any(run.is_film for run in runs) and any(run.files for run in runs):
        across = min(max(len(run.files) for run in runs), MAX_PICTURES)
        if across == 1:
            return _draw_cards(heading, runs, width)
    columns = _choose_columns(runs, across, width, measures)
    media = read_all(runs, lambda run: read_over_time(run, across, _get_box(columns.cell)))
    rows = [_make_row(run, one, columns, measures) for run, one in zip(runs, media, strict=True)]
    paint = partial(_paint_sheet, heading, _limit_rows(rows, measures), columns, width, measures)
    return Sheet.of(paint, f"contact sheet: {heading.title}")


def format_picture_size(media: RunPictures) -> str:
    """The size of a run's first picture, and of a clip also its frames and rate."""
    if media.film is not None:
        wide, high = media.film.size
        return f"{wide}×{high} · {media.film.count} frame{'' if media.film.count == 1 else 's'} at {float(media.film.rate):g}/s"
    return "×".join(map(str, media.sizes[0])) if media.sizes else ""


def format_times(media: Sequence[RunPictures], count: int) -> list[str]:
    """The heading of each column: seconds where all clips are equally long, else percentages; of pictures their sizes."""
    films = [one.film for one in media if one.film is not None]
    if not films:
        if not any(one.sizes for one in media):
            return [""] * count
        found = [{one.sizes[place] for one in media if len(one.sizes) > place} for place in range(count)]
        return ["×".join(map(str, *sizes)) if len(sizes) == 1 else f"picture {n}" for n, sizes in enumerate(found, 1)]
    if len({(film.count, film.rate) for film in films}) == 1:
        return [f"{float(number / films[0].rate):.2f} s" for number in films[0].numbers]
    if count == 1:
        return ["middle"]
    return ["start", *(f"{place / (count - 1):.0%}" for place in range(1, count - 1)), "end"]


def _check_arguments(frames: int, width: int, what: str) -> None:
    """Raise a ReelbookError unless both numbers are within their bounds; `what` is the picture, for its message."""
    for name, value, low, high in (("frames", frames, 1, MAX_FRAMES), ("width", width, MIN_WIDTH, MAX_WIDTH)):
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ReelbookError(f"`{name}` of a {what} is a whole number from {low} to {high}, and not {value!r}.")


def _get_box(width: int) -> tuple[int, int]:
    return width, max(1, round(width * MAX_SHAPE))


def _choose_columns(runs: Sequence[TableRun], across: int, width: int, measures: Measures) -> Columns:
    body, small, gap, pad = measures.body, measures.small, measures.gap, measures.pad
    number = min(max(small.width(run.number) for run in runs), width * NUMBER_SHARE)
    # The longest label on one line; if that is too wide, the longest part of one.
    full = max(body.width(join_with_dots(*run.label)) for run in runs)
    longest = max((body.width(part) for run in runs for part in run.label), default=0)
    label = math.ceil(min(full if full <= width * LABEL_SHARE else longest, width * LABEL_SHARE))
    first = pad + math.ceil(number) + 2 * gap + (label + 3 * gap if label else 0)
    # A few cells do not fill the width, or a single picture would be as large as the sheet.
    cell = max(1, min((width - pad - first - (across - 1) * gap) // across, width // 3))
    places = tuple(first + place * (cell + gap) for place in range(across))
    return Columns(pad, math.ceil(number), label, places, cell, width - pad)


def _make_row(run: TableRun, media: RunPictures, columns: Columns, measures: Measures) -> SheetRow:
    body, small, gap = measures.body, measures.small, measures.gap
    pictures = [fit_to_box(picture, _get_box(columns.cell)) for picture in media.pictures]
    tallest = max((picture.height for picture in pictures), default=0)
    note: list[str] = []
    if not pictures:
        if run.reason and not media.problem:
            note = small.lines(run.reason, columns.right - columns.cells[0] - 4 * gap, 2)
        tallest = body.line + len(note) * small.line + 3 * gap
    # A long label gets a second line, although that makes the row higher.
    lines = max(2 if len(run.label) < 2 else 3, tallest // body.line)
    label = wrap_label(run.label, body, columns.label, lines)
    return SheetRow(run, replace(media, pictures=pictures), label, note, max(tallest, len(label) * body.line))


def _limit_rows(rows: list[SheetRow], measures: Measures) -> list[SheetRow]:
    """The first rows, as many as fit into a picture."""
    height = 0
    for place, row in enumerate(rows):
        height += row.height + 4 * measures.gap
        if height > MAX_HEIGHT and place:
            return rows[:place]
    return rows


def _paint_sheet(
    heading: Heading, rows: Sequence[SheetRow], columns: Columns, width: int, measures: Measures, colours: Colours
) -> Image.Image:
    small, gap = measures.small, measures.gap
    has_more = heading.total > len(rows)
    head = _head_height(measures) + small.line + gap
    foot = (2 * gap + small.line if has_more else 0) + measures.pad - gap
    brush = Brush(width, head + sum(row.height + 4 * gap for row in rows) + foot, colours, measures)
    media = [row.media for row in rows]
    heading.paint(brush, media, columns.left)
    for place, time in zip(columns.cells, format_times(media, len(columns.cells)), strict=True):
        brush.text(place, head - small.line - gap, time, small, colours.soft, columns.cell)
    top = head
    for row in rows:
        brush.hairline(columns.left, top, columns.right)
        _paint_row(brush, row, columns, top + 2 * gap)
        top += row.height + 4 * gap
    if has_more:
        brush.hairline(columns.left, top, columns.right)
    return brush.picture


def _head_height(measures: Measures) -> int:
    return measures.pad + measures.body.line + measures.small.line + 2 * measures.gap


def _paint_row(brush: Brush, row: SheetRow, columns: Columns, top: int) -> None:
    body, small, gap = brush.measures.body, brush.measures.small, brush.measures.gap
    ink, soft = brush.colours.ink, brush.colours.soft
    number = columns.left + columns.number - min(small.width(row.run.number), columns.number)
    # Both are on one baseline, although one is smaller.
    up = (body.line - body.size) / 2 - gap / 4
    brush.text(number, top - up + (body.ascent - small.ascent) / 2, row.run.number, small, soft, columns.number + 1)
    label = columns.left + columns.number + 2 * gap
    for place, line in enumerate(row.label):
        brush.text(label, top - up + place * body.line, line, body, ink, columns.label + 1)
    for left, picture in zip(columns.cells, row.media.pictures, strict=False):
        brush.paste(left, top, picture)
    if not row.media.pictures:
        # A box in their place, with the state and the reason.
        left, right = columns.cells[0], columns.right
        brush.box(left, top, right - left, body.line + len(row.note) * small.line + 3 * gap)
        brush.state(left + 2 * gap, top + 1.5 * gap, row.run, row.media, right)
        for place, line in enumerate(row.note):
            y = top + 1.5 * gap + body.line + place * small.line
            brush.text(left + 2 * gap, y, line, small, soft, right - left - 3 * gap)
    more = len(row.run.files) - len(row.media.pictures)
    if row.media.film is None and row.media.pictures and more > 0:
        words = f"+ {more}"
        brush.text(columns.right - small.width(words), top, words, small, soft, columns.cell)


def _draw_cards(heading: Heading, runs: Sequence[TableRun], width: int) -> Sheet:
    """The sheet of runs that made one picture each, side by side."""
    media = read_all(runs, lambda run: read_side_by_side(run, 1, (width // 2, width // 2)))
    sizes, labels = [size for one in media for size in one.sizes], [run.label for run in runs]
    grid = choose_grid(sizes, labels, width, width / FULL_WIDTH, card=1 / 3)
    return Sheet.of(partial(_paint_cards, heading, runs, media, grid), f"contact sheet: {heading.title}")


def _paint_cards(
    heading: Heading, runs: Sequence[TableRun], media: Sequence[RunPictures], grid: PictureGrid, colours: Colours
) -> Image.Image:
    head, line = _head_height(grid.measures), grid.measures.small.line
    has_more = heading.total > len(runs)
    brush = draw_labels(runs, media, grid, colours, top=head, foot=line if has_more else 0)
    for number, one in enumerate(media):
        for picture in one.pictures[:1]:
            fitted, left, top = grid.fit(picture, number, head)
            brush.paste(left, top, fitted)
    heading.paint(brush, media, grid.pad)
    return brush.picture


# A strip.


def draw_strip(run_or_file: Run | LocalFile | str | Path, *, frames: int = 6, width: int = FULL_WIDTH) -> Sheet:
    """Frames of a clip side by side, `width` pixels wide, with times and a caption; of pictures, all of a run."""
    _check_arguments(frames, width, "strip")
    files, text = _read_run_or_file(run_or_file)
    run = TableRun(0, "", "", {}, files)
    measures = Measures(width / FULL_WIDTH)
    across = frames if run.is_film else min(len(files), MAX_PICTURES)
    cell = max(1, min((width - 2 * measures.pad - (across - 1) * measures.gap) // across, width // 2))
    media = read_safely(run, lambda run: read_over_time(run, across, _get_box(cell)))
    if media.problem:
        words = "is not there any more" if media.problem == VANISHED else "cannot be read"
        raise ReelbookError(f"{files[0].path} {words}. rb.attach downloads it again.")
    media = replace(media, pictures=[fit_to_box(picture, _get_box(cell)) for picture in media.pictures])
    captions = [text.prompt, join_with_dots(text.seed, _format_sizes(media, files), text.credits)]
    lead, facts = [*filter(None, captions), ""][:2]
    paint = partial(_paint_strip, media, lead, facts, width, measures)
    return Sheet.of(paint, f"strip: {join_with_dots(lead, facts)}")


def _format_sizes(media: RunPictures, files: Sequence[LocalFile]) -> str:
    """The size of a clip, its frames and seconds; of several pictures their number, smallest and largest size."""
    if media.film is not None:
        return join_with_dots(format_picture_size(media), f"{media.film.seconds:.1f} s")
    if len(files) == 1:
        return format_picture_size(media)
    # The sizes of the pictures in the strip are known already; of the others only the header is read.
    others = (get_size(file.path) for file in files[len(media.sizes) :])
    sizes = sorted({*media.sizes, *others}, key=lambda size: (size[0] * size[1], size))
    smallest, largest = ("×".join(map(str, size)) for size in (sizes[0], sizes[-1]))
    return f"{len(files)} pictures, {smallest if smallest == largest else f'{smallest} to {largest}'}"


def _read_run_or_file(given: Run | LocalFile | str | Path) -> tuple[tuple[LocalFile, ...], RunText]:
    """The files, and their prompt, seed and credits."""
    if isinstance(given, Run):
        if given.status != "completed":
            raise ReelbookError(f"This run is {given.status}, so it has no pictures. Wait for it, or show another one.")
        if not given.media:
            raise ReelbookError("This run made no files, so there is nothing to draw.")
        return given.media, describe_run(given)
    if isinstance(given, str | Path):
        given = LocalFile(Path(given).expanduser(), File(url=""))
    if isinstance(given, LocalFile):
        known = describe_file(given)
        return (given,), known if known.prompt else _read_prompt_and_seed(given)
    raise ReelbookError(
        f"A strip is of a run or of a file, and not of {type(given).__name__}. Pass a run, a path, or a row such as table.loc[[7]]."
    )


def _read_prompt_and_seed(file: LocalFile) -> RunText:
    """Prompt and seed from the metadata of a file; its name where they have no prompt."""
    try:
        known = file.provenance
    except ReelbookError:
        return RunText(file.path.name)
    prompt = known.values.get("prompt")
    words = " ".join(prompt.split()) if isinstance(prompt, str) else ""
    return RunText(words or file.path.name, "" if known.seed is None else f"seed {known.seed}")


def _paint_strip(
    media: RunPictures, lead: str, facts: str, width: int, measures: Measures, colours: Colours
) -> Image.Image:
    body, small, gap, pad = measures.body, measures.small, measures.gap, measures.pad
    tallest = max(picture.height for picture in media.pictures)
    lines = body.lines(lead, width - 2 * pad, 2)
    height = pad + tallest + gap + small.line + gap + len(lines) * body.line + (small.line if facts else 0) + pad
    brush = Brush(width, height, colours, measures)
    left = pad
    for picture, time in zip(media.pictures, format_times([media], len(media.pictures)), strict=True):
        brush.paste(left, pad, picture)
        brush.text(left, pad + tallest + gap, time, small, colours.soft, picture.width)
        left += picture.width + gap
    top = pad + tallest + 2 * gap + small.line
    for line in lines:
        brush.text(pad, top, line, body, colours.ink, width - 2 * pad)
        top += body.line
    brush.text(pad, top, facts, small, colours.soft, width - 2 * pad)
    return brush.picture
