"""The static output of an explorer, stills of its clip with their numbers, which a script turns into a viewer."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from PIL import Image, ImageDraw

from ..errors import ReelbookError
from ..media import stills
from ..media.lettering import Lettering
from . import run_text
from .embedding import data_uri
from .fact_table import render_card, render_small_print
from .figure import render_caption
from .strip_html import strip_jpeg
from .synced_clips import TRANSPORT
from .theme import render_script, render_style

if TYPE_CHECKING:
    from ..media.explorer import Explorer
    from ..media.local_file import LocalFile

STYLES, SCRIPT = ("clock.css", "explorer.css"), "explorer.js"
MAX_WIDTH = 960
FEW, MANY = 12, 24
"""Stills in the saved notebook, and in the filmstrip while there is a kernel."""
SAVED_BOX, SHEET_BOX, STRIP_BOX = (160, 96), (104, 104), (256, 128)
PICTURE_SIDE = 640
MAX_STILLS_BYTES, MAX_SHEET_BYTES = 20_000, 13_000
"""Bytes of all stills in a saved notebook, and of the picture of them: with the script, its output stays below 120 kB."""
COLUMNS, GAP, LETTERS = 6, 4, 12
QUALITIES = (80, 65, 50, 35, 20)
RUN_AGAIN = "Run the cell to step through it, and to save single frames and ranges."

_ROOT = Markup(
    '<div class="rb rb-explorer mathjax_ignore tex2jax_ignore" data-rb-explorer="{kind}" data-lm-suppress-shortcuts="true" role="group" '
    'tabindex="0" aria-label="{name}" data-key="{key}" data-frames="{frames}" data-at="{at}" data-range="{range}" data-rate="{rate}" data-width="{width}" '
    'data-height="{height}" data-save="{save}" style="max-width:{max_width}px;margin:4px 0 8px">{body}</div>'
)
_STILLS = Markup('<div data-rb-stills="" style="display:flex;flex-wrap:wrap;gap:4px 4px">{}</div>')
# Inline styles, because saved notebooks may drop style sheets.
_STILL = Markup(
    '<div style="font-size:11px;line-height:1.4;text-align:center"><img src="{}" alt="frame {}" data-number="{}" width="{}" height="{}" '
    'style="display:block;margin:0;border-radius:3px">{}</div>'
)
_PICTURE = Markup(
    '<div data-rb-stills=""><img src="{}" alt="{}" width="{}" height="{}" style="display:block;max-width:100%;height:auto;border-radius:6px"></div>'
)
_NOTE = Markup('<div data-rb-note="">{}</div>')


@dataclass(frozen=True, slots=True)
class Strip:
    """Frames of a clip beside each other in one JPEG."""

    numbers: list[int]
    size: tuple[int, int]
    """Width and height of one frame."""
    content: bytes


def explorer_bundle(explorer: Explorer, *, key: str = "") -> dict[str, Any]:
    """The MIME bundle of an explorer's static output; `key` is that of the connection to its kernel."""
    file = explorer.file
    try:
        html = render_explorer(explorer, key=key)
        picture = _draw_numbered(file) if file.is_video else strip_jpeg(file)
    except (ReelbookError, OSError) as error:
        return {"text/plain": str(error), "text/html": render_card(render_small_print(str(error)))}
    return {"text/plain": repr(explorer), "text/html": html, "image/jpeg": picture}


def render_explorer(explorer: Explorer, *, key: str = "") -> str:
    """The static output with the script that turns it into a viewer where a kernel answers to the key."""
    file, known = explorer.file, run_text.describe_file(explorer.file)
    probe = file.probe
    width, height, rate = probe.width, probe.height, probe.rate or Fraction(1)
    content = _render_stills(file) + TRANSPORT if file.is_video else _render_picture(file, explorer.file_name)
    facts = [
        known.seed,
        *run_text.format_media_facts(file),
        known.credits,
        known.made_by,
        stills.format_colour_note(file.path),
    ]
    note = _NOTE.format(render_small_print(RUN_AGAIN if file.is_video else "Run the cell to look into it closely."))
    root = _ROOT.format(
        kind="clip" if file.is_video else "picture",
        name=f"Explorer of {explorer.file_name}",
        key=key,
        frames=explorer.frames,
        at=explorer.frame,
        range=" ".join(map(str, explorer.range or ())),
        rate=f"{rate.numerator}/{rate.denominator}",
        width=width,
        height=height,
        save=file.make_name(),
        max_width=MAX_WIDTH,
        body=content + render_caption(known.prompt, facts, tag="div") + note,
    )
    return str(render_style(*STYLES) + root + render_script(SCRIPT))


def make_strip(file: LocalFile, count: int = MANY, box: tuple[int, int] = STRIP_BOX) -> Strip:
    """So many frames over the entire clip, or all if it has fewer, beside each other in one JPEG."""
    numbers, frames = _read_stills(file, count, box)
    width, height = frames[0].size
    sheet = Image.new("RGB", (width * len(frames), height))
    for place, frame in enumerate(frames):
        sheet.paste(frame, (place * width, 0))
    return Strip(numbers, (width, height), _encode(sheet, QUALITIES[0]))


def _read_stills(file: LocalFile, count: int, box: tuple[int, int]) -> tuple[list[int], list[Image.Image]]:
    found = stills.read_spread(file.path, min(count, file.probe.frames), box)
    return found.numbers, found.frames


def _render_stills(file: LocalFile) -> Markup:
    numbers, frames = _read_stills(file, FEW, SAVED_BOX)
    contents = _encode_all(frames)
    return _STILLS.format(
        Markup("").join(
            _STILL.format(data_uri("image/jpeg", content), number + 1, number, *frame.size, number + 1)
            for number, frame, content in zip(numbers, frames, contents, strict=True)
        )
    )


def _render_picture(file: LocalFile, name: str) -> Markup:
    from ..media.posters import make_poster

    for longest in (PICTURE_SIDE, PICTURE_SIDE // 2):
        content = make_poster(file.path, longest=longest)
        if len(content) <= MAX_STILLS_BYTES:
            break
    size = stills.fit_size((file.probe.width, file.probe.height), (PICTURE_SIDE, PICTURE_SIDE))
    return _PICTURE.format(data_uri("image/jpeg", content), name, *size)


def _draw_numbered(file: LocalFile) -> bytes:
    """The stills in rows with their numbers as one JPEG, for pages without HTML."""
    numbers, frames = _read_stills(file, FEW, SHEET_BOX)
    lettering = Lettering(LETTERS)
    width, height = max(frames[0].width, round(lettering.width(str(numbers[-1] + 1)))), frames[0].height
    across, down = width + GAP, height + lettering.line + GAP
    rows = -(-len(frames) // COLUMNS)
    sheet = Image.new("RGB", (across * min(COLUMNS, len(frames)) - GAP, down * rows), "white")
    for place, (number, frame) in enumerate(zip(numbers, frames, strict=True)):
        left, top = place % COLUMNS * across, place // COLUMNS * down
        sheet.paste(frame, (left, top))
        lettering.draw(ImageDraw.Draw(sheet), left, top + height, str(number + 1), "black")
    return _encode_all([sheet], MAX_SHEET_BYTES)[0]


def _encode_all(frames: Sequence[Image.Image], max_bytes: int = MAX_STILLS_BYTES) -> list[bytes]:
    """The frames as JPEGs of the best quality with which all of them fit."""
    for quality in QUALITIES:
        found = [_encode(frame, quality) for frame in frames]
        if sum(map(len, found)) <= max_bytes:
            break
    return found


def _encode(picture: Image.Image, quality: int) -> bytes:
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=quality, optimize=True)
    return out.getvalue()
