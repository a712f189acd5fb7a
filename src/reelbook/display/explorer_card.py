"""The static output of an explorer, stills of its clip with their numbers, which a script turns into a viewer."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..errors import ReelbookError
from ..media import stills
from . import run_text
from .embedding import FRAMES, GAP, data_uri, fit_jpegs, join_frames, strip_jpeg
from .figure import figures
from .theme import blocks, render, render_card, render_script, render_style

if TYPE_CHECKING:
    from ..media.local_file import Explorer, LocalFile

STYLES, SCRIPT = ("clock.css", "explorer.css"), "explorer.js"
MAX_WIDTH = 960
STILLS = 12
"""Frames in the saved notebook, which are also the filmstrip of the viewer."""
SAVED_BOX, SHEET_BOX = (160, 96), (104, 104)
PICTURE_SIDE = 640
MAX_STILLS_BYTES, MAX_SHEET_BYTES = 20_000, 13_000
"""Bytes of all stills in a saved notebook, and of the picture of them: with the script, its output stays below 120 kB."""
RUN_AGAIN = "Run the cell to step through it, and to save single frames and ranges."


def explorer_bundle(explorer: Explorer, *, key: str = "") -> dict[str, Any]:
    """The MIME bundle of an explorer's static output; `key` is that of the connection to its kernel."""
    file = explorer.file
    try:
        html = render_explorer(explorer, key=key)
        picture = strip_jpeg(file)
        if file.is_video:
            # Some of the stills side by side.
            frames = stills.read_spread(file.path, min(FRAMES, file.probe.frames), SHEET_BOX).frames
            (picture,) = fit_jpegs([join_frames(frames, GAP)], MAX_SHEET_BYTES)
    except (ReelbookError, OSError) as error:
        return {"text/plain": str(error), "text/html": render_card(blocks.small(str(error)))}
    return {"text/plain": repr(explorer), "text/html": html, "image/jpeg": picture}


def render_explorer(explorer: Explorer, *, key: str = "") -> str:
    """The static output with the script that turns it into a viewer where a kernel answers to the key."""
    file, known = explorer.file, run_text.describe_file(explorer.file)
    probe = file.probe
    rate = probe.rate or Fraction(1)
    facts = [known.seed, *run_text.format_media_facts(file), known.credits, known.made_by]
    root = render(
        "explorer.html",
        kind="clip" if file.is_video else "picture",
        explorer=explorer,
        key=key,
        rate=f"{rate.numerator}/{rate.denominator}",
        width=probe.width,
        height=probe.height,
        save=file.make_name(),
        max_width=MAX_WIDTH,
        stills=_make_stills(file),
        caption=figures.caption(known.prompt, facts, tag="div"),
        note=RUN_AGAIN if file.is_video else "Run the cell to look into it closely.",
    )
    return str(render_style(*STYLES) + root + render_script(SCRIPT))


def _make_stills(file: LocalFile) -> list[dict[str, Any]]:
    """The pictures of the saved notebook, with the numbers of their frames."""
    box = (PICTURE_SIDE, PICTURE_SIDE)
    if file.is_video:
        film = stills.read_spread(file.path, min(STILLS, file.probe.frames), SAVED_BOX)
        numbers, frames = film.numbers, film.frames
        sizes = [frame.size for frame in frames]
    else:
        numbers, frames = [0], [stills.read_picture(file.path, box)]
        sizes = [stills.fit_size((file.probe.width, file.probe.height), box)]
    contents = fit_jpegs(frames, MAX_STILLS_BYTES)
    return [
        {"address": data_uri("image/jpeg", content), "width": width, "height": height, "number": number}
        for number, content, (width, height) in zip(numbers, contents, sizes, strict=True)
    ]
