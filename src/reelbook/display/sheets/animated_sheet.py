"""All clips of a table side by side as one animated picture, for places that do not play videos."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from av import VideoFrame
from PIL import Image

from ...errors import ReelbookError
from ...media import stills
from ...media.frame_range import write_gif
from ...util.replace_file import replace_file
from ..live import Count, watch_count
from ..table_runs import TableRun
from .sheet_drawing import (
    FULL_WIDTH,
    UNIT,
    PictureGrid,
    choose_grid,
    draw_labels,
    get_colours,
)
from .sheet_runs import RunPictures, read_all, read_at_times, read_labelled

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
MAX_BYTES = 5_000_000
UNREADABLE = "None of the files of this table can be read. rb.attach fetches those of a run again."


def write_animation(
    table: pd.DataFrame, path: str | Path, *, labels: str | Sequence[str] | None = None, width: int = 960
) -> Path:
    """Write the clips of a table side by side as a .gif or an animated .webp; returns its path.

    All play at the same time, and a shorter one stays on its last frame. To stay near 5 MB, a large one has fewer
    steps in a second, or fewer pixels than `width`.
    """
    target = _check_target(path)
    if isinstance(width, bool) or not isinstance(width, int) or not MIN_WIDTH <= width <= MAX_WIDTH:
        raise ReelbookError(
            f"`width` of an animated picture is a whole number from {MIN_WIDTH} to {MAX_WIDTH}, and not {width!r}."
        )
    runs = read_labelled(table.iloc[: MAX_RUNS + 1], labels)
    if len(runs) > MAX_RUNS:
        raise ReelbookError(
            f"{len(table):,} runs are too many for one animated picture. Choose up to {MAX_RUNS}: table[:{MAX_RUNS}].reel.gif(…)"
        )
    if not any(run.is_film for run in runs):
        raise ReelbookError(
            "No run of this table has a clip, so nothing could move. table.reel.sheet() draws pictures."
        )
    _write(target, _encode_clips(runs, width, target.suffix.lower()))
    return target


def _encode_clips(runs: Sequence[TableRun], width: int, kind: str) -> bytes:
    """Clips that play at the same time, decoded once: fewer steps or pixels are made from these."""
    read = read_all(runs, _read_length)
    sizes = [size for one in read for size in one.sizes]
    if not sizes:
        raise ReelbookError(UNREADABLE)
    # The highest pace that shows all of the longest clip within `MAX_STEPS`.
    seconds = max((one.film.seconds for one in read if one.film), default=0.0)
    step = max(MIN_STEP, math.ceil(100 * seconds / MAX_STEPS))
    times = [number * step / 100 for number in range(max(1, math.ceil(100 * seconds / step - 1e-6)))]
    labels = [run.label for run in runs]
    grid = choose_grid(sizes, labels, width, _choose_scale(width))
    across, card, stride = grid.across, grid.card, 1
    media = read_all(runs, lambda run: read_at_times(run, times, card))
    while True:
        content = _encode_steps(runs, media, grid, len(times), stride, step, kind)
        if len(content) <= MAX_BYTES:
            return content
        if len(content) > MAX_BYTES * FEWER_STEPS_RATIO and stride * step < MAX_STEP:
            stride *= 2
        elif width > MIN_WIDTH * 2:
            smaller = int(width * max(0.5, 0.95 * math.sqrt(MAX_BYTES / len(content))))
            width = max(MIN_WIDTH * 2, smaller)
            grid = choose_grid(sizes, labels, width, _choose_scale(width), across=across)
        else:
            return content


def _read_length(run: TableRun) -> RunPictures:
    """The size of a run's first file, and the length of a clip."""
    if not run.is_film:
        return RunPictures(sizes=[stills.get_size(run.files[0].path)])
    film = stills.read_frames(run.files[0].path, lambda _, __: [], (UNIT, UNIT))
    return RunPictures(sizes=[film.size], film=film)


def _encode_steps(
    runs: Sequence[TableRun],
    media: Sequence[RunPictures],
    grid: PictureGrid,
    total: int,
    stride: int,
    step: int,
    kind: str,
) -> bytes:
    """The file with every `stride`-th step; each lasts its number times `step` hundredths of a second."""
    labels = draw_labels(runs, media, grid, get_colours()).picture
    steps = []
    with watch_count(Count(total, "steps of the animated picture drawn")) as count:
        for number in range(0, total, stride):
            picture = labels.copy()
            for card, one in enumerate(media):
                if one.pictures:
                    # A picture among clips does not change.
                    shown, left, top = grid.fit(one.pictures[min(number, len(one.pictures) - 1)], card)
                    picture.paste(shown, (left, top))
            steps.append(picture)
            count.done = number + 1
        return encode_animation(steps, stride * step, kind)


def encode_animation(steps: Sequence[Image.Image], hundredths: int, kind: str) -> bytes:
    """The content of a file with these steps, each displayed for its number of hundredths of a second, in an endless loop."""
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

    write_gif(out, frames, hundredths, "none")  # In a film the dots of dithering would flicker.
    return out.getvalue()


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
