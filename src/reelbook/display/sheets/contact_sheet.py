"""A contact sheet: the runs of a table as rows, and time from left to right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PIL import Image

from ...errors import ReelbookError
from ...media.lettering import Lettering
from ..formatting import join_with_dots
from .picture_grid import PictureGrid, choose_grid, draw_labels, fit_into_place
from .sheet_colours import Colours
from .sheet_drawing import FULL_WIDTH, UNIT, Brush, fit_to_box, get_letterings, scale_length, wrap_label
from .sheet_entries import SheetEntry, format_facts, format_title, read_entries
from .sheet_image import Sheet
from .sheet_pictures import RunPictures, read_all, read_over_time, read_side_by_side

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

    entry: SheetEntry
    media: RunPictures
    label: list[str]
    note: list[str]
    height: int


def draw_sheet(
    table: pd.DataFrame, *, frames: int = 6, labels: str | Sequence[str] | None = None, width: int = FULL_WIDTH
) -> Sheet:
    """A contact sheet of a table of runs, `width` pixels wide; a run without a file has its state instead.

    It holds the first 200 runs, or as many as fit into a picture; its last line says how to get the others.
    """
    check_arguments(frames, width, "sheet")
    if not len(table):
        raise ReelbookError("This table has no runs, so there is nothing to draw. Look at what it was filtered by.")
    entries = read_entries(table.iloc[:MAX_ROWS], labels)
    scale = width / FULL_WIDTH
    across = _count_cells(entries, frames)
    if across == 1 and not any(entry.is_film for entry in entries):
        return _draw_card_sheet(table, entries, width, scale)
    columns = _choose_columns(entries, across, width, scale)
    box = (columns.cell, max(1, round(columns.cell * MAX_SHAPE)))
    media = read_all(entries, lambda entry: read_over_time(entry, across, box))
    rows = [_make_row(entry, one, columns, scale) for entry, one in zip(entries, media, strict=True)]
    rows = _limit_rows(rows, scale)
    return Sheet.of(
        partial(_paint_sheet, table, rows, columns, width, scale), f"contact sheet: {format_title(table) or 'runs'}"
    )


def format_picture_size(media: RunPictures) -> str:
    """The size of a run's first picture, and of a clip also its frames and rate."""
    if media.film is not None:
        wide, high = media.film.size
        return f"{wide}×{high} · {media.film.count} frame{'' if media.film.count == 1 else 's'} at {float(media.film.rate):g}/s"
    return "×".join(map(str, media.sizes[0])) if media.sizes else ""


def format_times(media: Sequence[RunPictures], count: int) -> list[str]:
    """The heading of each column: seconds where all clips are equally long, else percentages."""
    films = [one.film for one in media if one.film is not None]
    if not films:
        return _format_sizes(media, count)
    lengths = {(film.count, film.rate) for film in films}
    if len(lengths) == 1:
        return [f"{float(number / films[0].rate):.2f} s" for number in films[0].numbers]
    if count == 1:
        return ["middle"]
    return ["start", *(f"{place / (count - 1):.0%}" for place in range(1, count - 1)), "end"]


def _format_sizes(media: Sequence[RunPictures], count: int) -> list[str]:
    """The size of each output where it is the same for all runs, else its number; empty where no run has a picture."""
    if not any(one.sizes for one in media):
        return [""] * count
    texts = []
    for place in range(count):
        sizes = {one.sizes[place] for one in media if len(one.sizes) > place}
        texts.append("×".join(map(str, sizes.pop())) if len(sizes) == 1 else f"picture {place + 1}")
    return texts


def check_arguments(frames: int, width: int, what: str) -> None:
    """Raise a ReelbookError unless both numbers are within their bounds; `what` is the picture, for its message."""
    for name, value, low, high in (("frames", frames, 1, MAX_FRAMES), ("width", width, MIN_WIDTH, MAX_WIDTH)):
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ReelbookError(f"`{name}` of a {what} is a whole number from {low} to {high}, and not {value!r}.")


def _count_cells(entries: Sequence[SheetEntry], frames: int) -> int:
    """The number of cells of a row: frames of clips, or the largest number of pictures of a run."""
    if any(entry.is_film for entry in entries) or not any(entry.files for entry in entries):
        return frames
    return min(max(len(entry.files) for entry in entries), MAX_PICTURES)


def _choose_columns(entries: Sequence[SheetEntry], across: int, width: int, scale: float) -> Columns:
    body, small = get_letterings(scale)
    gap, pad = scale_length(UNIT, scale), scale_length(4 * UNIT, scale)
    number = min(max(small.width(entry.number) for entry in entries), width * NUMBER_SHARE)
    label = _choose_label_width(entries, body, width * LABEL_SHARE)
    first = pad + math.ceil(number) + 2 * gap + (label + 3 * gap if label else 0)
    # A few cells do not fill the width, or a single picture would be as large as the sheet.
    cell = min((width - pad - first - (across - 1) * gap) // across, width // 3)
    cell = max(cell, 1)
    places = tuple(first + place * (cell + gap) for place in range(across))
    return Columns(pad, math.ceil(number), label, places, cell, width - pad)


def _choose_label_width(entries: Sequence[SheetEntry], lettering: Lettering, max_width: float) -> int:
    """The width of the longest label on one line; if that is too wide, of the longest part of one."""
    full = max(lettering.width(join_with_dots(*entry.label)) for entry in entries)
    longest = max((lettering.width(part) for entry in entries for part in entry.label), default=0)
    return math.ceil(min(full if full <= max_width else longest, max_width))


def _make_row(entry: SheetEntry, media: RunPictures, columns: Columns, scale: float) -> SheetRow:
    body, small = get_letterings(scale)
    gap = scale_length(UNIT, scale)
    box = (columns.cell, max(1, round(columns.cell * MAX_SHAPE)))
    pictures = [fit_to_box(picture, box) for picture in media.pictures]
    tallest = max((picture.height for picture in pictures), default=0)
    note: list[str] = []
    if not pictures:
        reason = "" if media.problem else entry.reason
        note = small.lines(reason, columns.right - columns.cells[0] - 4 * gap, 2) if reason else []
        tallest = body.line + len(note) * small.line + 3 * gap
    # A long label gets a second line, although that makes the row higher.
    lines = max(2 if len(entry.label) < 2 else 3, tallest // body.line)
    label = wrap_label(entry.label, body, columns.label, lines)
    height = max(tallest, len(label) * body.line)
    return SheetRow(entry, RunPictures(pictures, media.sizes, media.film, media.problem), label, note, height)


def _limit_rows(rows: list[SheetRow], scale: float) -> list[SheetRow]:
    """The first rows, as many as fit into a picture."""
    height, gap = 0, scale_length(UNIT, scale)
    for place, row in enumerate(rows):
        height += row.height + 4 * gap
        if height > MAX_HEIGHT and place:
            return rows[:place]
    return rows


def _paint_sheet(
    table: pd.DataFrame, rows: Sequence[SheetRow], columns: Columns, width: int, scale: float, colours: Colours
) -> Image.Image:
    _, small = get_letterings(scale)
    gap, pad = scale_length(UNIT, scale), scale_length(4 * UNIT, scale)
    left_out = len(table) - len(rows)
    head = _head_height(scale) + small.line + gap
    foot = (2 * gap + small.line if left_out else 0) + pad - gap
    brush = Brush(width, head + sum(row.height + 4 * gap for row in rows) + foot, colours, scale=scale)
    media = [row.media for row in rows]
    _paint_head(brush, table, media, pad)
    for place, time in zip(columns.cells, format_times(media, len(columns.cells)), strict=True):
        brush.text(place, head - small.line - gap, time, small, brush.colours.soft, columns.cell)
    top = head
    for row in rows:
        brush.hairline(columns.left, top, columns.right)
        _paint_row(brush, row, columns, top + 2 * gap)
        top += row.height + 4 * gap
    if left_out:
        brush.hairline(columns.left, top, columns.right)
        _paint_foot(brush, table, len(rows), columns.left, top + gap)
    return brush.picture


def _draw_card_sheet(table: pd.DataFrame, entries: Sequence[SheetEntry], width: int, scale: float) -> Sheet:
    """The sheet of runs that made one picture each, side by side."""
    media = read_all(entries, lambda entry: read_side_by_side(entry, 1, (width // 2, width // 2)))
    place = choose_grid([size for one in media for size in one.sizes], entries, width, scale, card=1 / 3)
    return Sheet.of(
        partial(_paint_cards, table, entries, media, place), f"contact sheet: {format_title(table) or 'runs'}"
    )


def _paint_cards(
    table: pd.DataFrame,
    entries: Sequence[SheetEntry],
    media: Sequence[RunPictures],
    place: PictureGrid,
    colours: Colours,
) -> Image.Image:
    head = _head_height(place.scale)
    _, small = get_letterings(place.scale)
    brush = draw_labels(entries, media, place, colours, top=head, foot=small.line if len(table) > len(entries) else 0)
    for number, one in enumerate(media):
        for picture in one.pictures[:1]:
            fitted, left, top = fit_into_place(picture, place, number, head)
            brush.paste(left, top, fitted)
    _paint_head(brush, table, media, place.pad)
    if len(table) > len(entries):
        _paint_foot(brush, table, len(entries), place.pad, brush.picture.height - small.line - place.pad)
    return brush.picture


def _head_height(scale: float) -> int:
    body, small = get_letterings(scale)
    return scale_length(4 * UNIT, scale) + body.line + small.line + 2 * scale_length(UNIT, scale)


def _paint_head(brush: Brush, table: pd.DataFrame, media: Sequence[RunPictures], left: int) -> None:
    """Paint the heading: what all runs have in common."""
    body, small = get_letterings(brush.scale)
    top, room = scale_length(4 * UNIT, brush.scale), brush.picture.width - 2 * left
    brush.text(left, top, format_title(table) or "runs", body, brush.colours.ink, room)
    brush.text(
        left,
        top + body.line,
        join_with_dots(*format_facts(table), _format_common_size(media)),
        small,
        brush.colours.soft,
        room,
    )


def _paint_foot(brush: Brush, table: pd.DataFrame, count: int, left: int, top: int) -> None:
    """Paint how many runs are left out, and how to get them."""
    _, small = get_letterings(brush.scale)
    words = f"The first {count:,} of {len(table):,} runs. The next ones: table[{count}:].reel.sheet()"
    brush.text(left, top, words, small, brush.colours.soft, brush.picture.width - 2 * left)


def _format_common_size(media: Sequence[RunPictures]) -> str:
    """Size and length, where they are the same for all clips; else empty."""
    texts = {format_picture_size(one) for one in media if one.film is not None}
    return texts.pop() if len(texts) == 1 else ""


def _paint_row(brush: Brush, row: SheetRow, columns: Columns, top: int) -> None:
    body, small = get_letterings(brush.scale)
    gap = scale_length(UNIT, brush.scale)
    ink, soft = brush.colours.ink, brush.colours.soft
    number = columns.left + columns.number - min(small.width(row.entry.number), columns.number)
    # Both are on one baseline, although one is smaller.
    up = (body.line - body.size) / 2 - gap / 4
    brush.text(number, top - up + (body.ascent - small.ascent) / 2, row.entry.number, small, soft, columns.number + 1)
    label = columns.left + columns.number + 2 * gap
    for place, line in enumerate(row.label):
        brush.text(label, top - up + place * body.line, line, body, ink, columns.label + 1)
    for left, picture in zip(columns.cells, row.media.pictures, strict=False):
        brush.paste(left, top, picture)
    if not row.media.pictures:
        _paint_state(brush, row, columns, top)
    more = len(row.entry.files) - len(row.media.pictures)
    if row.media.film is None and row.media.pictures and more > 0:
        words = f"+ {more}"
        brush.text(columns.right - small.width(words), top, words, small, soft, columns.cell)


def _paint_state(brush: Brush, row: SheetRow, columns: Columns, top: int) -> None:
    """Paint a box in place of the pictures, with the sign and word of the state, and the reason."""
    body, small = get_letterings(brush.scale)
    gap = scale_length(UNIT, brush.scale)
    left, state = columns.cells[0], row.entry.state
    height = body.line + len(row.note) * small.line + 3 * gap
    brush.box(left, top, columns.right - left, height)
    x, y = left + 2 * gap, top + 1.5 * gap
    if row.media.problem:
        brush.text(x, y, row.media.problem, body, brush.colours.soft, columns.right - x)
        return
    taken = brush.sign(x, y, state, body)
    brush.text(x + taken, y, state, body, brush.colours.of(state), columns.right - x - taken)
    for place, line in enumerate(row.note):
        brush.text(x, y + body.line + place * small.line, line, small, brush.colours.soft, columns.right - x - gap)
