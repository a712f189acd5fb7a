"""A strip: one clip over time, with what there is to say about it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PIL import Image

from ...errors import ReelbookError
from ...media.local_file import LocalFile
from ...media.stills import size_of
from ...models.service_file import File
from ...runs.run import Run
from ..formatting import join_with_dots
from ..run_text import describe_file, describe_run
from .contact_sheet import MAX_PICTURES, MAX_SHAPE, check_arguments, format_picture_size, format_times
from .sheet_colours import Colours
from .sheet_drawing import FULL_WIDTH, UNIT, Brush, fit_to_box, get_letterings, scale_length
from .sheet_entries import Entry
from .sheet_image import Sheet
from .sheet_pictures import RunPictures, read_one


def draw_strip(run_or_file: Run | LocalFile | str | Path, *, frames: int = 6, width: int = FULL_WIDTH) -> Sheet:
    """Some frames of a clip side by side, `width` pixels wide, with times and a caption; of pictures all that a run made."""
    check_arguments(frames, width, "strip")
    files, lead, seed, credits_said = _read_run_or_file(run_or_file)
    entry = Entry("", (), files)
    scale = width / FULL_WIDTH
    across = frames if entry.is_film else min(len(files), MAX_PICTURES)
    gap, pad = scale_length(UNIT, scale), scale_length(4 * UNIT, scale)
    cell = max(1, min((width - 2 * pad - (across - 1) * gap) // across, width // 2))
    box = (cell, max(1, round(cell * MAX_SHAPE)))
    found = read_one(entry, across, box)
    pictures = [fit_to_box(picture, box) for picture in found.pictures]
    look = RunPictures(pictures, found.sizes, found.film)
    captions = _captions(lead, seed, _sizes(look, files), credits_said)
    return Sheet.of(partial(_painted, look, *captions, width, scale), f"strip: {join_with_dots(*captions)}")


def _captions(lead: str, *facts: str) -> tuple[str, str]:
    """The line that is read first, and the other."""
    return (lead, join_with_dots(*facts)) if lead else (join_with_dots(*facts), "")


def _sizes(look: RunPictures, files: Sequence[str]) -> str:
    """The size of a clip, its frames and seconds; of pictures how many there are, and their sizes from small to large."""
    if look.film is not None:
        return join_with_dots(format_picture_size(look), f"{look.film.seconds:.1f} s")
    if len(files) == 1:
        return format_picture_size(look)
    # Those that are shown are known already; of others only the head is read.
    sizes = sorted({*look.sizes, *map(size_of, files[len(look.sizes) :])}, key=lambda size: (size[0] * size[1], size))
    least, most = ("×".join(map(str, size)) for size in (sizes[0], sizes[-1]))
    return f"{len(files)} pictures, {least if least == most else f'{least} to {most}'}"


def _read_run_or_file(given: Run | LocalFile | str | Path) -> tuple[tuple[str, ...], str, str, str]:
    """The files, the words that made them, the seed, and the credits."""
    if isinstance(given, Run):
        if given.status != "completed":
            raise ReelbookError(f"This run is {given.status}, so it has no pictures. Wait for it, or show another one.")
        told = describe_run(given)
        files = tuple(str(file.path) for file in given.media)
        if not files:
            raise ReelbookError("This run made no files, so there is nothing to draw.")
        return files, told.prompt, told.seed, told.credits
    if isinstance(given, str | Path):
        given = LocalFile(Path(given).expanduser(), File(url=""))
    if isinstance(given, LocalFile):
        told = describe_file(given)
        if not told.prompt:
            return (str(given.path),), *_read(given), ""
        return (str(given.path),), told.prompt, told.seed, told.credits
    raise ReelbookError(
        f"A strip is of a run or of a file, and not of {type(given).__name__}. Pass a run, a path, or a row such as table.loc[[7]]."
    )


def _read(file: LocalFile) -> tuple[str, str]:
    """What a file tells about itself; its name where it tells nothing."""
    try:
        known = file.provenance
    except ReelbookError:
        return file.path.name, ""
    prompt = known.values.get("prompt")
    seed = "" if known.seed is None else f"seed {known.seed}"
    return " ".join(prompt.split()) if isinstance(prompt, str) and prompt.strip() else file.path.name, seed


def _painted(look: RunPictures, lead: str, known: str, width: int, scale: float, colours: Colours) -> Image.Image:
    body, small = get_letterings(scale)
    gap, pad = scale_length(UNIT, scale), scale_length(4 * UNIT, scale)
    tallest = max(picture.height for picture in look.pictures)
    lines = body.lines(lead, width - 2 * pad, 2)
    times = format_times([look], len(look.pictures))
    height = pad + tallest + gap + small.line + gap + len(lines) * body.line + (small.line if known else 0) + pad
    brush = Brush(width, height, colours, scale=scale)
    left = pad
    for picture, told in zip(look.pictures, times, strict=True):
        brush.show(left, pad, picture)
        brush.text(left, pad + tallest + gap, told, small, brush.colours.soft, picture.width)
        left += picture.width + gap
    top = pad + tallest + 2 * gap + small.line
    for line in lines:
        brush.text(pad, top, line, body, brush.colours.ink, width - 2 * pad)
        top += body.line
    brush.text(pad, top, known, small, brush.colours.soft, width - 2 * pad)
    return brush.picture
