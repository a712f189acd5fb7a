"""A strip: frames of one clip over time, with a caption."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PIL import Image

from ...errors import ReelbookError
from ...media.local_file import LocalFile
from ...media.stills import get_size
from ...models.base import File
from ...runs.run import Run
from ..formatting import join_with_dots
from ..run_text import describe_file, describe_run
from .contact_sheet import MAX_PICTURES, MAX_SHAPE, check_arguments, format_picture_size, format_times
from .sheet_colours import Colours
from .sheet_drawing import FULL_WIDTH, UNIT, Brush, fit_to_box, get_letterings, scale_length
from .sheet_entries import SheetEntry
from .sheet_image import Sheet
from .sheet_pictures import RunPictures, read_one


def draw_strip(run_or_file: Run | LocalFile | str | Path, *, frames: int = 6, width: int = FULL_WIDTH) -> Sheet:
    """Frames of a clip side by side, `width` pixels wide, with times and a caption; of pictures, all of a run."""
    check_arguments(frames, width, "strip")
    files, lead, seed, price = _read_run_or_file(run_or_file)
    entry = SheetEntry("", (), files)
    scale = width / FULL_WIDTH
    across = frames if entry.is_film else min(len(files), MAX_PICTURES)
    gap, pad = scale_length(UNIT, scale), scale_length(4 * UNIT, scale)
    cell = max(1, min((width - 2 * pad - (across - 1) * gap) // across, width // 2))
    box = (cell, max(1, round(cell * MAX_SHAPE)))
    found = read_one(entry, across, box)
    pictures = [fit_to_box(picture, box) for picture in found.pictures]
    fitted = RunPictures(pictures, found.sizes, found.film)
    captions = _make_captions(lead, seed, _format_sizes(fitted, files), price)
    return Sheet.of(partial(_paint_strip, fitted, *captions, width, scale), f"strip: {join_with_dots(*captions)}")


def _make_captions(lead: str, *facts: str) -> tuple[str, str]:
    """The first and the second line of the caption."""
    return (lead, join_with_dots(*facts)) if lead else (join_with_dots(*facts), "")


def _format_sizes(media: RunPictures, files: Sequence[str]) -> str:
    """The size of a clip, its frames and seconds; of several pictures their number, smallest and largest size."""
    if media.film is not None:
        return join_with_dots(format_picture_size(media), f"{media.film.seconds:.1f} s")
    if len(files) == 1:
        return format_picture_size(media)
    # The sizes of the pictures in the strip are known already; of the others only the header is read.
    sizes = sorted(
        {*media.sizes, *map(get_size, files[len(media.sizes) :])}, key=lambda size: (size[0] * size[1], size)
    )
    smallest, largest = ("×".join(map(str, size)) for size in (sizes[0], sizes[-1]))
    return f"{len(files)} pictures, {smallest if smallest == largest else f'{smallest} to {largest}'}"


def _read_run_or_file(given: Run | LocalFile | str | Path) -> tuple[tuple[str, ...], str, str, str]:
    """The files, their prompt, seed, and credits."""
    if isinstance(given, Run):
        if given.status != "completed":
            raise ReelbookError(f"This run is {given.status}, so it has no pictures. Wait for it, or show another one.")
        known = describe_run(given)
        files = tuple(str(file.path) for file in given.media)
        if not files:
            raise ReelbookError("This run made no files, so there is nothing to draw.")
        return files, known.prompt, known.seed, known.credits
    if isinstance(given, str | Path):
        given = LocalFile(Path(given).expanduser(), File(url=""))
    if isinstance(given, LocalFile):
        known = describe_file(given)
        if not known.prompt:
            return (str(given.path),), *_read_prompt_and_seed(given), ""
        return (str(given.path),), known.prompt, known.seed, known.credits
    raise ReelbookError(
        f"A strip is of a run or of a file, and not of {type(given).__name__}. Pass a run, a path, or a row such as table.loc[[7]]."
    )


def _read_prompt_and_seed(file: LocalFile) -> tuple[str, str]:
    """Prompt and seed from the metadata of a file; its name where they have no prompt."""
    try:
        known = file.provenance
    except ReelbookError:
        return file.path.name, ""
    prompt = known.values.get("prompt")
    seed = "" if known.seed is None else f"seed {known.seed}"
    return " ".join(prompt.split()) if isinstance(prompt, str) and prompt.strip() else file.path.name, seed


def _paint_strip(media: RunPictures, lead: str, facts: str, width: int, scale: float, colours: Colours) -> Image.Image:
    body, small = get_letterings(scale)
    gap, pad = scale_length(UNIT, scale), scale_length(4 * UNIT, scale)
    tallest = max(picture.height for picture in media.pictures)
    lines = body.lines(lead, width - 2 * pad, 2)
    times = format_times([media], len(media.pictures))
    height = pad + tallest + gap + small.line + gap + len(lines) * body.line + (small.line if facts else 0) + pad
    brush = Brush(width, height, colours, scale=scale)
    left = pad
    for picture, time in zip(media.pictures, times, strict=True):
        brush.paste(left, pad, picture)
        brush.text(left, pad + tallest + gap, time, small, brush.colours.soft, picture.width)
        left += picture.width + gap
    top = pad + tallest + 2 * gap + small.line
    for line in lines:
        brush.text(pad, top, line, body, brush.colours.ink, width - 2 * pad)
        top += body.line
    brush.text(pad, top, facts, small, brush.colours.soft, width - 2 * pad)
    return brush.picture
