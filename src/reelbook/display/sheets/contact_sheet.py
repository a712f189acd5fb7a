"""A contact sheet: the runs of a table one below the other, and time going across."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PIL import Image

from ...errors import ReelbookError
from ...media.lettering.labels import Lettering
from ..formatting import join_with_dots
from .picture_grid import PictureGrid, choose_grid, draw_labels, fit_into_place
from .sheet_colours import Colours
from .sheet_drawing import FULL_WIDTH, UNIT, Brush, fit_to_box, get_letterings, scale_length, wrap_label
from .sheet_entries import Entry, format_facts, format_title, read_entries
from .sheet_image import Sheet
from .sheet_pictures import RunPictures, read_all, read_over_time, read_side_by_side

if TYPE_CHECKING:
    import pandas as pd

MAX_ROWS, MAX_HEIGHT, MAX_FRAMES = 200, 30_000, 24
MIN_WIDTH, MAX_WIDTH = 320, 8000
MAX_PICTURES = 8
LABEL_SHARE, NUMBER_SHARE = 0.22, 0.06
MAX_SHAPE = 1.78
"""How many times higher than wide a picture may be shown; this is the shape of a telephone."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Where things stand from left to right."""

    left: int
    number: int
    label: int
    cells: tuple[int, ...]
    """The left edge of each."""
    cell: int
    """How wide a cell is."""
    right: int


@dataclass(frozen=True, slots=True)
class Drawn:
    """A run, ready to be drawn."""

    entry: Entry
    look: RunPictures
    label: list[str]
    note: list[str]
    height: int


def draw_sheet(
    table: pd.DataFrame, *, frames: int = 6, labels: str | Sequence[str] | None = None, width: int = FULL_WIDTH
) -> Sheet:
    """A contact sheet of a table of runs, `width` pixels wide; a run without a file says how it stands.

    The first 200 runs are on it, or as many as a picture can hold; its last line says how to get the others.
    """
    check_arguments(frames, width, "sheet")
    if not len(table):
        raise ReelbookError("This table has no runs, so there is nothing to draw. Look at what it was filtered by.")
    entries = read_entries(table.iloc[:MAX_ROWS], labels)
    scale = width / FULL_WIDTH
    across = _across(entries, frames)
    if across == 1 and not any(entry.is_film for entry in entries):
        return _of_cards(table, entries, width, scale)
    columns = _columns(entries, across, width, scale)
    box = (columns.cell, max(1, round(columns.cell * MAX_SHAPE)))
    seen = read_all(entries, lambda entry: read_over_time(entry, across, box))
    rows = [_drawn(entry, look, columns, scale) for entry, look in zip(entries, seen, strict=True)]
    rows = _fitting(rows, scale)
    return Sheet.of(
        partial(_painted, table, rows, columns, width, scale), f"contact sheet: {format_title(table) or 'runs'}"
    )


def format_picture_size(look: RunPictures) -> str:
    """The size of what is seen, and of a clip its frames and rate."""
    if look.film is not None:
        wide, high = look.film.size
        return f"{wide}×{high} · {look.film.count} frame{'' if look.film.count == 1 else 's'} at {float(look.film.rate):g}/s"
    return "×".join(map(str, look.sizes[0])) if look.sizes else ""


def format_times(seen: Sequence[RunPictures], count: int) -> list[str]:
    """What stands above each column: seconds where all clips are equally long, else the part of the whole."""
    films = [look.film for look in seen if look.film is not None]
    if not films:
        return _format_sizes(seen, count)
    lengths = {(film.count, film.rate) for film in films}
    if len(lengths) == 1:
        return [f"{float(number / films[0].rate):.2f} s" for number in films[0].numbers]
    if count == 1:
        return ["middle"]
    return ["start", *(f"{place / (count - 1):.0%}" for place in range(1, count - 1)), "end"]


def _format_sizes(seen: Sequence[RunPictures], count: int) -> list[str]:
    """The size of each output, where it is the same for all runs; nothing where no run has a picture."""
    if not any(look.sizes for look in seen):
        return [""] * count
    told = []
    for place in range(count):
        sizes = {look.sizes[place] for look in seen if len(look.sizes) > place}
        told.append("×".join(map(str, sizes.pop())) if len(sizes) == 1 else f"picture {place + 1}")
    return told


def check_arguments(frames: int, width: int, what: str) -> None:
    """Whether so much can be drawn."""
    for name, value, low, high in (("frames", frames, 1, MAX_FRAMES), ("width", width, MIN_WIDTH, MAX_WIDTH)):
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ReelbookError(f"`{name}` of a {what} is a whole number from {low} to {high}, and not {value!r}.")


def _across(entries: Sequence[Entry], frames: int) -> int:
    """How many cells a run has: frames of clips, or the pictures of the run that has most."""
    if any(entry.is_film for entry in entries) or not any(entry.files for entry in entries):
        return frames
    return min(max(len(entry.files) for entry in entries), MAX_PICTURES)


def _columns(entries: Sequence[Entry], across: int, width: int, scale: float) -> Columns:
    body, small = get_letterings(scale)
    gap, pad = scale_length(UNIT, scale), scale_length(4 * UNIT, scale)
    number = min(max(small.width(entry.number) for entry in entries), width * NUMBER_SHARE)
    label = _label_room(entries, body, width * LABEL_SHARE)
    first = pad + math.ceil(number) + 2 * gap + (label + 3 * gap if label else 0)
    # A few cells need not fill the whole width; a single picture would be as large as the sheet.
    cell = min((width - pad - first - (across - 1) * gap) // across, width // 3)
    cell = max(cell, 1)
    places = tuple(first + place * (cell + gap) for place in range(across))
    return Columns(pad, math.ceil(number), label, places, cell, width - pad)


def _label_room(entries: Sequence[Entry], type: Lettering, most: float) -> int:
    """As wide as the labels are on one line; where that is too much, as their longest part."""
    whole = max(type.width(join_with_dots(*entry.label)) for entry in entries)
    longest = max((type.width(part) for entry in entries for part in entry.label), default=0)
    return math.ceil(min(whole if whole <= most else longest, most))


def _drawn(entry: Entry, look: RunPictures, columns: Columns, scale: float) -> Drawn:
    body, small = get_letterings(scale)
    gap = scale_length(UNIT, scale)
    box = (columns.cell, max(1, round(columns.cell * MAX_SHAPE)))
    pictures = [fit_to_box(picture, box) for picture in look.pictures]
    tallest = max((picture.height for picture in pictures), default=0)
    note: list[str] = []
    if not pictures:
        reason = "" if look.trouble else entry.reason
        note = small.lines(reason, columns.right - columns.cells[0] - 4 * gap, 2) if reason else []
        tallest = body.line + len(note) * small.line + 3 * gap
    # A sentence gets a second line, though the row becomes a little higher for it.
    lines = max(2 if len(entry.label) < 2 else 3, tallest // body.line)
    label = wrap_label(entry.label, body, columns.label, lines)
    height = max(tallest, len(label) * body.line)
    return Drawn(entry, RunPictures(pictures, look.sizes, look.film, look.trouble), label, note, height)


def _fitting(rows: list[Drawn], scale: float) -> list[Drawn]:
    """As many rows as a picture can hold."""
    height, gap = 0, scale_length(UNIT, scale)
    for place, row in enumerate(rows):
        height += row.height + 4 * gap
        if height > MAX_HEIGHT and place:
            return rows[:place]
    return rows


def _painted(
    table: pd.DataFrame, rows: Sequence[Drawn], columns: Columns, width: int, scale: float, colours: Colours
) -> Image.Image:
    _, small = get_letterings(scale)
    gap, pad = scale_length(UNIT, scale), scale_length(4 * UNIT, scale)
    left_out = len(table) - len(rows)
    head = _head_height(scale) + small.line + gap
    foot = (2 * gap + small.line if left_out else 0) + pad - gap
    brush = Brush(width, head + sum(row.height + 4 * gap for row in rows) + foot, colours, scale=scale)
    seen = [row.look for row in rows]
    _paint_head(brush, table, seen, pad)
    for place, told in zip(columns.cells, format_times(seen, len(columns.cells)), strict=True):
        brush.text(place, head - small.line - gap, told, small, brush.colours.soft, columns.cell)
    top = head
    for row in rows:
        brush.hairline(columns.left, top, columns.right)
        _paint_row(brush, row, columns, top + 2 * gap)
        top += row.height + 4 * gap
    if left_out:
        brush.hairline(columns.left, top, columns.right)
        _paint_foot(brush, table, len(rows), columns.left, top + gap)
    return brush.picture


def _of_cards(table: pd.DataFrame, entries: Sequence[Entry], width: int, scale: float) -> Sheet:
    """Runs that made one picture each, side by side."""
    seen = read_all(entries, lambda entry: read_side_by_side(entry, 1, (width // 2, width // 2)))
    place = choose_grid([size for look in seen for size in look.sizes], entries, width, scale, card=1 / 3)
    return Sheet.of(
        partial(_cards_painted, table, entries, seen, place), f"contact sheet: {format_title(table) or 'runs'}"
    )


def _cards_painted(
    table: pd.DataFrame, entries: Sequence[Entry], seen: Sequence[RunPictures], place: PictureGrid, colours: Colours
) -> Image.Image:
    head = _head_height(place.scale)
    _, small = get_letterings(place.scale)
    brush = draw_labels(entries, seen, place, colours, top=head, foot=small.line if len(table) > len(entries) else 0)
    for number, look in enumerate(seen):
        for picture in look.pictures[:1]:
            shown, left, top = fit_into_place(picture, place, number, head)
            brush.show(left, top, shown)
    _paint_head(brush, table, seen, place.pad)
    if len(table) > len(entries):
        _paint_foot(brush, table, len(entries), place.pad, brush.picture.height - small.line - place.pad)
    return brush.picture


def _head_height(scale: float) -> int:
    body, small = get_letterings(scale)
    return scale_length(4 * UNIT, scale) + body.line + small.line + 2 * scale_length(UNIT, scale)


def _paint_head(brush: Brush, table: pd.DataFrame, seen: Sequence[RunPictures], left: int) -> None:
    """What all runs have in common."""
    body, small = get_letterings(brush.scale)
    top, room = scale_length(4 * UNIT, brush.scale), brush.picture.width - 2 * left
    brush.text(left, top, format_title(table) or "runs", body, brush.colours.ink, room)
    brush.text(
        left, top + body.line, join_with_dots(*format_facts(table), _common(seen)), small, brush.colours.soft, room
    )


def _paint_foot(brush: Brush, table: pd.DataFrame, shown: int, left: int, top: int) -> None:
    """What is left out, and how to get it."""
    _, small = get_letterings(brush.scale)
    words = f"The first {shown:,} of {len(table):,} runs. The next ones: table[{shown}:].reel.sheet()"
    brush.text(left, top, words, small, brush.colours.soft, brush.picture.width - 2 * left)


def _common(seen: Sequence[RunPictures]) -> str:
    """Size and length, where all clips have the same."""
    told = {format_picture_size(look) for look in seen if look.film is not None}
    return told.pop() if len(told) == 1 else ""


def _paint_row(brush: Brush, row: Drawn, columns: Columns, top: int) -> None:
    body, small = get_letterings(brush.scale)
    gap = scale_length(UNIT, brush.scale)
    ink, soft = brush.colours.ink, brush.colours.soft
    number = columns.left + columns.number - min(small.width(row.entry.number), columns.number)
    # Both stand on one line of writing, though one is smaller.
    up = (body.line - body.size) / 2 - gap / 4
    brush.text(number, top - up + (body.ascent - small.ascent) / 2, row.entry.number, small, soft, columns.number + 1)
    label = columns.left + columns.number + 2 * gap
    for place, line in enumerate(row.label):
        brush.text(label, top - up + place * body.line, line, body, ink, columns.label + 1)
    for left, picture in zip(columns.cells, row.look.pictures, strict=False):
        brush.show(left, top, picture)
    if not row.look.pictures:
        _paint_state(brush, row, columns, top)
    more = len(row.entry.files) - len(row.look.pictures)
    if row.look.film is None and row.look.pictures and more > 0:
        words = f"+ {more}"
        brush.text(columns.right - small.width(words), top, words, small, soft, columns.cell)


def _paint_state(brush: Brush, row: Drawn, columns: Columns, top: int) -> None:
    """A quiet box where the pictures would be, with a sign, a word, and the reason."""
    body, small = get_letterings(brush.scale)
    gap = scale_length(UNIT, brush.scale)
    left, state = columns.cells[0], row.entry.state
    height = body.line + len(row.note) * small.line + 3 * gap
    brush.box(left, top, columns.right - left, height)
    x, y = left + 2 * gap, top + 1.5 * gap
    if row.look.trouble:
        brush.text(x, y, row.look.trouble, body, brush.colours.soft, columns.right - x)
        return
    taken = brush.sign(x, y, state, body)
    brush.text(x + taken, y, state, body, brush.colours.of(state), columns.right - x - taken)
    for place, line in enumerate(row.note):
        brush.text(x, y + body.line + place * small.line, line, small, brush.colours.soft, columns.right - x - gap)
