"""Pictures of tables and clips that can be saved, pasted and printed: contact sheets, strips, and animated pictures."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from av import VideoFrame
from markupsafe import Markup
from PIL import Image, ImageDraw

from ..errors import ReelbookError
from ..media import stills
from ..media.frame_range import write_gif
from ..media.lettering import Lettering
from ..media.local_file import LocalFile
from ..models.base import File
from ..runs.run import Run
from ..settings import options
from ..util.printable import format_count, suggest
from ..util.replace_file import replace_file
from .embedding import data_uri, fit_jpegs
from .formatting import STATE_COLOURS, join_with_dots
from .live import Count, watch_count
from .report.layout import LONG_TEXT, format_named_value
from .run_text import RunText, describe_file, describe_run
from .table_runs import TableRun, format_title, group_runs, shorten_model
from .tables.table_html import format_table
from .theme import read_colours

if TYPE_CHECKING:
    import pandas as pd

FULL_WIDTH, UNIT, BODY, SMALL, MIN_BODY, HAIR = 1600, 8, 26, 24, 12, 2
"""Pixels on a sheet of full width; twice those of a page, because a screen may display it at half its size."""
MAX_RUNS, MAX_FRAMES, MAX_PICTURES, MAX_ACROSS = 100, 24, 8, 12
MAX_MOVING, MAX_STEPS, MIN_STEP, MIN_MOVING_WIDTH = 60, 96, 9, 320
"""Clips and steps of an animated picture, the hundredths of a second of a step, and the width below which it is not shrunk."""
LABEL_SHARE, NUMBER_SHARE = 0.22, 0.06
"""The largest widths of labels and numbers, as shares of the whole."""
TALLEST, GRID_SHAPE = 1.78, 0.62
"""Height over width: of the tallest picture, and of the grid that is preferred."""
MAX_BYTES, MAX_PLAIN_BYTES, MAX_MOVING_BYTES = 200_000, 100_000, 5_000_000
"""Bytes of the copy in HTML, of the one without, and of an animated picture."""
QUALITY = 72
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
    _check_number("frames", frames, 1, MAX_FRAMES)
    _check_number("width", width, MIN_MOVING_WIDTH, 5 * FULL_WIDTH)
    if not len(table):
        raise ReelbookError("This table has no runs, so there is nothing to draw. Look at what it was filtered by.")
    runs = _read_runs(table.iloc[:MAX_RUNS], labels)
    title, more = format_title(runs), ""
    if len(runs) < len(table):
        more = f"The first {len(runs):,} of {len(table):,} runs. The next ones: table[{len(runs)}:].reel.sheet()"
    alt, most = f"contact sheet: {title}", max(len(run.files) for run in runs)
    if most == 1 and not any(run.is_film for run in runs):
        media = read_all(runs, lambda run: _read_pictures(run, 1, (width // 2, width // 2)))
        grid = _choose_grid(runs, media, width, width / FULL_WIDTH, least=3)
        return Sheet.of(grid.draw(runs, media, [title, _format_facts(table, media)], more).picture, alt)
    if most and not any(run.is_film for run in runs):
        frames = min(most, MAX_PICTURES)
    rows = RunRows(runs, frames, width)
    return Sheet.of(rows.draw(title, _format_facts(table, rows.media), more), alt)


def draw_strip(run_or_file: Run | LocalFile | str | Path, *, frames: int = 6, width: int = FULL_WIDTH) -> Sheet:
    """Frames of a clip side by side, `width` pixels wide, with times and a caption; of pictures, all of a run."""
    _check_number("frames", frames, 1, MAX_FRAMES)
    _check_number("width", width, MIN_MOVING_WIDTH, 5 * FULL_WIDTH)
    files, text = _read_run_or_file(run_or_file)
    run = TableRun(0, "", "", {}, files)
    rows = RunRows([run], frames if run.is_film else min(len(files), MAX_PICTURES), width)
    (media,) = rows.media
    if media.problem:
        words = "is not there any more" if media.problem == VANISHED else "cannot be read"
        raise ReelbookError(f"{files[0].path} {words}. rb.attach downloads it again.")
    seconds = f"{media.film.seconds:.1f} s" if media.film else ""
    facts = join_with_dots(text.seed, _format_size(media) if len(files) == 1 else "", seconds, text.credits)
    return Sheet.of(rows.draw(text.prompt, facts), f"strip: {join_with_dots(text.prompt, facts)}")


def write_animation(
    table: pd.DataFrame, path: str | Path, *, labels: str | Sequence[str] | None = None, width: int = 960
) -> Path:
    """Write the clips of a table side by side as a .gif or an animated .webp; returns its path.

    All play at the same time, and a shorter one stays on its last frame. To stay below 5 MB, a large one has fewer
    pixels than `width`.
    """
    target = Path(path).expanduser()
    kind = target.suffix.lower()
    if kind not in (".gif", ".webp"):
        raise ReelbookError(
            f"An animated picture is a .gif or a .webp, and {target.name!r} is neither. Give such a name."
        )
    _check_number("width", width, MIN_MOVING_WIDTH // 2, 2400)
    if len(table) > MAX_MOVING:
        raise ReelbookError(
            f"{len(table):,} runs are too many for one animated picture. Choose up to {MAX_MOVING}: table[:{MAX_MOVING}].reel.gif(…)"
        )
    runs = _read_runs(table, labels)
    if not any(run.is_film for run in runs):
        raise ReelbookError(
            "No run of this table has a clip, so nothing could move. table.reel.sheet() draws pictures."
        )
    content = _encode_clips(runs, width, kind)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, content)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ReelbookError(
            f"{target} could not be written ({why}). Free some space there, or choose another folder."
        ) from error
    return target


# What is drawn with.


class DrawingStyle:
    """Lengths, lettering and colours at a scale, which is the width of a picture as a share of `FULL_WIDTH`."""

    def __init__(self, scale: float) -> None:
        self.gap, self.pad = (max(1, round(value * scale)) for value in (UNIT, 4 * UNIT))
        self.hair = max(1, round(HAIR * scale))
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

    def rule(self, top: int) -> None:
        """Draw a horizontal line from margin to margin."""
        right = self.picture.width - self.style.pad
        self._draw.rectangle((self.style.pad, top, right - 1, top + self.style.hair - 1), self.style.colours["line"])

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


# A row for each run, and time from left to right.


class RunRows:
    """Runs below each other: number, label, and the pictures of each, which are read at once."""

    def __init__(self, runs: Sequence[TableRun], across: int, width: int) -> None:
        self.runs, self.across, self.width = runs, across, width
        self.style = style = DrawingStyle(width / FULL_WIDTH)
        gap, pad = style.gap, style.pad
        self._number = math.ceil(min(max(style.small.width(run.number) for run in runs), width * NUMBER_SHARE))
        self._label = math.ceil(
            min(max(style.body.width(join_with_dots(*run.label)) for run in runs), width * LABEL_SHARE)
        )
        first = pad + (self._number + 2 * gap if self._number else 0) + (self._label + 3 * gap if self._label else 0)
        # A few cells do not fill the width, or a single picture would be as large as the sheet.
        self._cell = max(1, min((width - pad - first - (across - 1) * gap) // across, width // 3))
        self._lefts = [first + place * (self._cell + gap) for place in range(across)]
        self._box = (self._cell, round(self._cell * TALLEST) or 1)
        self.media = read_all(runs, lambda run: _read_over_time(run, across, self._box))

    def draw(self, title: str, facts: str, more: str = "") -> Image.Image:
        """The picture: title, facts and times above, and `more` below."""
        style, gap, pad = self.style, self.style.gap, self.style.pad
        rows = [[_fit(picture, self._box) for picture in one.pictures] for one in self.media]
        boxes = [style.body.line + 2 * gap + (2 * style.small.line if run.reason else 0) for run in self.runs]
        heights = [max([picture.height for picture in row] or [box]) for row, box in zip(rows, boxes, strict=True)]
        titles = style.body.lines(title, self.width - 2 * pad, 2)
        head = pad + len(titles) * style.body.line + 2 * style.small.line + 3 * gap
        foot = (style.small.line + 2 * gap if more else 0) + pad - gap
        canvas = Canvas((self.width, head + sum(heights) + len(rows) * 4 * gap + foot), style)
        canvas.write_lines((pad, pad), [*titles, facts], self.width - 2 * pad, len(titles))
        for left, time in zip(self._lefts, _format_times(self.media, self.across), strict=True):
            canvas.write((left, head - style.small.line - gap), time, self._cell, "soft", style.small)
        top = head
        for run, one, row, height in zip(self.runs, self.media, rows, heights, strict=True):
            canvas.rule(top)
            top += 2 * gap
            canvas.write((pad, top - gap // 2), run.number, self._number + 1, "soft", style.small)
            # Sentences last, because the rest is cut.
            words = join_with_dots(*sorted(run.label, key=lambda part: len(part) > LONG_TEXT))
            lines = style.body.lines(words, self._label, max(2, height // style.body.line)) if words else []
            canvas.write_lines((pad + self._number + 2 * gap, top - gap // 2), lines, self._label + 1, len(lines))
            for left, picture in zip(self._lefts, row, strict=False):
                canvas.picture.paste(picture, (left, top))
            if not row:
                canvas.explain((self._lefts[0], top), (self.width - pad - self._lefts[0], height), run, one.problem)
            top += height + 2 * gap
        if more:
            canvas.rule(top)
            canvas.write((pad, top + 2 * gap), more, self.width - 2 * pad, "soft", style.small)
        return canvas.picture


# Pictures or clips in a grid, each with its label below.


class Grid(NamedTuple):
    """The positions and sizes of the cards of a grid, in pixels."""

    across: int
    down: int
    card: Size
    """Width and height of the place for a picture."""
    lines: int
    """Lines of a label."""
    width: int
    style: DrawingStyle

    @property
    def row(self) -> int:
        """Height of a row and the gap below it."""
        return self.card[1] + self.style.gap // 2 + self.lines * self.style.small.line + 2 * self.style.gap

    def place(self, number: int, top: int) -> Size:
        """The left and upper edge of a card in a grid that begins at `top`."""
        row, column = divmod(number, self.across)
        return self.style.pad + column * (self.card[0] + self.style.gap), top + row * self.row

    def draw(
        self, runs: Sequence[TableRun], media: Sequence[RunPictures], heading: Sequence[str] = (), more: str = ""
    ) -> Canvas:
        """All pictures, labels and states, below a heading."""
        style = self.style
        top = style.pad + (style.body.line + style.small.line + 2 * style.gap if heading else 0)
        foot = style.pad + (style.small.line + style.gap if more else 0)
        canvas = Canvas((self.width, top + self.down * self.row - 2 * style.gap + foot), style)
        canvas.write_lines((style.pad, style.pad), heading, self.width - 2 * style.pad, 1)
        for number, (run, one) in enumerate(zip(runs, media, strict=True)):
            left, upper = self.place(number, top)
            if not one.pictures:
                canvas.explain((left, upper), self.card, run, one.problem)
            for picture in one.pictures[:1]:
                fitted = _fit(picture, self.card)
                canvas.picture.paste(fitted, (left, upper + self.card[1] - fitted.height))  # Directly above its label.
            lines = style.small.lines(join_with_dots(*run.label) or run.name, self.card[0], self.lines)
            canvas.write_lines((left, upper + self.card[1] + style.gap // 2), lines, self.card[0], 0, "ink")
        canvas.write((style.pad, canvas.picture.height - foot + style.gap), more, self.width, "soft", style.small)
        return canvas


def _choose_grid(
    runs: Sequence[TableRun], media: Sequence[RunPictures], width: int, scale: float, *, least: int = 1
) -> Grid:
    """The grid of about `GRID_SHAPE`, with at least this number of cards across."""
    sizes, style = [size for one in media for size in one.sizes], DrawingStyle(scale)
    shape = min(max(median(high / wide for wide, high in sizes), 1 / 4), TALLEST) if sizes else 9 / 16
    across = min(max(round(math.sqrt(len(runs) * shape / GRID_SHAPE)), least), MAX_ACROSS)
    wide = max(8, (width - 2 * style.pad - (across - 1) * style.gap) // across)
    lines = 1 if all(style.small.width(join_with_dots(*run.label)) <= wide for run in runs) else 2
    return Grid(across, -(-len(runs) // across), (wide, max(8, round(wide * shape))), lines, width, style)


def _encode_clips(runs: Sequence[TableRun], width: int, kind: str) -> bytes:
    """Clips that play at the same time, decoded once, and drawn with fewer pixels until they fit."""
    heads = read_all(runs, _read_size)
    if not any(one.sizes for one in heads):
        raise ReelbookError("None of the files of this table can be read. rb.attach fetches those of a run again.")
    # The highest pace that shows all of the longest clip within `MAX_STEPS`.
    films = [run.files[0].probe for run, one in zip(runs, heads, strict=True) if one.sizes and run.is_film]
    seconds = max((float(probe.frames / (probe.rate or 24)) for probe in films), default=0.0)
    step = max(MIN_STEP, math.ceil(100 * seconds / MAX_STEPS))
    times = [number * step / 100 for number in range(max(1, math.ceil(100 * seconds / step - 1e-6)))]
    box = _choose_grid(runs, heads, width, max(width / FULL_WIDTH, 0.5)).card
    media = read_all(runs, lambda run: _read_at_times(run, times, box))
    while True:
        grid = _choose_grid(runs, heads, width, max(width / FULL_WIDTH, 0.5))
        content = _encode_steps(_draw_steps(runs, media, grid, len(times)), step, kind)
        if len(content) <= MAX_MOVING_BYTES or width <= MIN_MOVING_WIDTH:
            return content
        width = max(MIN_MOVING_WIDTH, round(width * max(0.5, 0.95 * math.sqrt(MAX_MOVING_BYTES / len(content)))))


def _draw_steps(runs: Sequence[TableRun], media: Sequence[RunPictures], grid: Grid, count: int) -> list[Image.Image]:
    base = grid.draw(runs, [replace(one, pictures=one.pictures[:1]) for one in media]).picture
    steps = []
    with watch_count(Count(count, "steps of the animated picture drawn")) as progress:
        for number in range(count):
            picture = base.copy()
            for card, one in enumerate(media):
                if number < len(one.pictures):  # A clip that has ended, and a picture among clips, stay as they are.
                    fitted = _fit(one.pictures[number], grid.card)
                    left, top = grid.place(card, grid.style.pad)
                    picture.paste(fitted, (left, top + grid.card[1] - fitted.height))
            steps.append(picture)
            progress.done = number + 1
    return steps


def _encode_steps(steps: Sequence[Image.Image], hundredths: int, kind: str) -> bytes:
    """The content of a file with these steps, each displayed for its number of hundredths of a second, in an endless loop."""
    out = io.BytesIO()
    if kind == ".webp":
        moving = {"save_all": True, "append_images": steps[1:], "duration": hundredths * 10, "loop": 0}
        steps[0].save(out, "WEBP", quality=QUALITY, method=2, **moving)
        return out.getvalue()

    def frames() -> Iterator[tuple[VideoFrame, float]]:
        for number, step in enumerate(steps):
            frame = VideoFrame.from_ndarray(np.asarray(step), format="rgb24")
            yield frame.reformat(format="rgb32"), number * hundredths / 100

    write_gif(out, frames, hundredths, "none")  # In a film the dots of dithering would flicker.
    return out.getvalue()


# The runs, their pictures, and what is written about them.


@dataclass(frozen=True, slots=True)
class RunPictures:
    """The decoded pictures of a run, or why there are none."""

    pictures: list[Image.Image] = field(default_factory=list)
    sizes: list[Size] = field(default_factory=list)
    """The original size of each picture."""
    film: stills.ClipFrames | None = None
    problem: str = ""


def read_all(runs: Sequence[TableRun], read_run: Callable[[TableRun], RunPictures]) -> list[RunPictures]:
    """The pictures of each run, read in threads by `read_run`; `problem` has the reason if a file cannot be read."""

    def read(run: TableRun) -> RunPictures:
        if not run.files:
            return RunPictures()
        try:
            return read_run(run)
        # Any failure of a decoder is due to the file.
        except (Exception, Image.DecompressionBombError):
            is_there = os.path.exists(run.files[0].path)  # noqa: PTH110  # Path.exists may raise.
            return RunPictures(problem=UNREADABLE if is_there else VANISHED)

    with ThreadPoolExecutor(max(1, min(len(runs), os.cpu_count() or 1, 8))) as threads:
        return list(threads.map(read, runs))


def _read_over_time(run: TableRun, count: int, box: Size) -> RunPictures:
    """`count` frames of a clip from first to last, or the pictures of a run."""
    if not run.is_film:
        return _read_pictures(run, count, box)
    film = stills.read_spread(run.files[0].path, count, box)
    return RunPictures(film.frames, [film.size] * len(film.frames), film)


def _read_pictures(run: TableRun, count: int, box: Size) -> RunPictures:
    chosen = [file.path for file in run.files[:count]]
    return RunPictures([stills.read_picture(path, box) for path in chosen], [stills.get_size(path) for path in chosen])


def _read_size(run: TableRun) -> RunPictures:
    """The size of a run's first file, without its pictures."""
    probe = run.files[0].probe
    return RunPictures(sizes=[(probe.width, probe.height)])


def _read_at_times(run: TableRun, seconds: Sequence[float], box: Size) -> RunPictures:
    """The frames of a clip at these times, after its end the last one; of a run without a clip, its first picture."""
    if not run.is_film:
        return _read_pictures(run, 1, box)

    def choose(count: int, rate: Fraction) -> list[int]:
        # A time such as 7/24 is slightly less as a float.
        return [min(int(second * rate + 1e-6), count - 1) for second in seconds]

    film = stills.read_frames(run.files[0].path, choose, box)
    return RunPictures(film.frames, [film.size], film)


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


def _check_number(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ReelbookError(f"`{name}` is a whole number from {low} to {high}, and not {value!r}.")


def _format_facts(table: pd.DataFrame, media: Sequence[RunPictures]) -> str:
    """What the table comes to, and the size of all clips if it is one."""
    sizes = {_format_size(one) for one in media if one.film is not None}
    return join_with_dots(format_table(table), *(sizes if len(sizes) == 1 else ()))


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
