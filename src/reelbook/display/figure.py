"""A file as a figure: player or picture, a strip of its frames, and one line that says what it is.

The markup needs no script and no style sheet of ours, so it survives being saved, sanitised and exported. Its
colours are the host's own: text inherits them, and what is not text has none.
"""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup
from PIL import Image

from ..errors import ReelbookError

if TYPE_CHECKING:
    from ..media.local import LocalFile
    from ..runs import Run

MOST_INLINE = 2_000_000
"""Bytes of a file that go into the notebook itself; of a larger one it is a small copy."""

WIDTH, HEIGHT, HALF_WIDTH, LEAST_PLAYER = 640, 480, 312, 240
"""The box that a figure may fill, the width of one among several, and the width that a player's buttons need."""

STRIP_FRAMES, STRIP_HEIGHT, GAP, FILM = 6, 90, 2, "#16191c"
CAPTION = "font-size:12px;line-height:1.5;margin:6px 0 0;opacity:.8;font-variant-numeric:tabular-nums"
LONGEST_LEAD = 60
INLINE_KINDS = {".png": "image/png", ".jpg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif"}


def run_figure(run: Run) -> str:
    """A finished run with its media; one that is not finished as a line of text."""
    if run.status != "completed":
        return str(Markup("<p>{}</p>").format(status_line(run)))
    several = len(run.media) > 1
    figures = [
        Markup(file_figure(file, *facts(run, file), lead=lead(run), most_width=HALF_WIDTH if several else WIDTH))
        for file in run.media
    ]
    if not several:
        return "".join(figures)
    return str(Markup('<div style="display:flex;flex-wrap:wrap;gap:0 16px">{}</div>').format(Markup("").join(figures)))


def run_strip(run: Run) -> bytes | None:
    """The frames of a run's first file as one picture, for places that show no HTML."""
    if run.status != "completed" or not run.media:
        return None
    try:
        return strip(run.media[0])
    except ReelbookError:
        return None


def file_figure(file: LocalFile, *facts: str, lead: str = "", most_width: int = WIDTH) -> str:
    """One file with its caption: a lead in the person's own words, then facts. One that cannot be read says so."""
    try:
        body, note = _body(file, _joined(_cut(lead), *facts), most_width)
    except ReelbookError as error:
        body, note = Markup(""), str(error)
    return str(
        Markup(
            '<figure style="margin:4px 0 8px;max-width:{}px">{}<figcaption style="{}" title="{}">{}</figcaption></figure>'
        ).format(most_width, body, CAPTION, _joined(lead, *facts, note), _caption(lead, facts, note))
    )


def strip(file: LocalFile) -> bytes:
    """Six frames over time side by side, as JPEG; a picture alone if it is one."""
    return _look(file).strip


def lead(run: Run) -> str:
    """The prompt of a run on one line; empty where its model takes none."""
    return " ".join(str(getattr(run.input, "prompt", "")).split())


def facts(run: Run, file: LocalFile) -> list[str]:
    """What is known about a file of a run, the most wanted first: seed, size, frames, credits."""
    seed = getattr(run.output, "seed", None)
    known = [f"seed {seed}" if seed is not None else "", *measures(file)]
    if run.credits is not None and file is run.media[-1]:
        about, in_all = "" if run.credits_source == "charged" else "≈ ", " in all" if len(run.media) > 1 else ""
        paid = " when it was made; from the library, nothing paid now" if run.from_library else ""
        known.append(f"{about}{run.credits:,} credits{in_all}{paid}")
    return known


def status_line(run: Run) -> str:
    """Where a run stands, in one line."""
    fraction, stage = run.progress
    if run.status in ("failed", "cancelled"):
        mark = "✕" if run.status == "failed" else "⊘"
        return f"{mark} {run.status}: {run.failure}"
    if run.status == "completed":
        how = "from the library" if run.from_library else "done"
        return f"● {how} · {run.timings['total']:.1f} s"
    seconds = f"{run.timings['total']:.0f} s"
    if run.status == "IN_QUEUE":
        return _joined(f"◔ {stage}", seconds)
    # A service that tells no progress has not stopped at nought.
    return _joined(f"◑ {stage}", f"{fraction:.0%}" if fraction else "", seconds)


def _caption(lead: str, facts: tuple[str, ...], note: str) -> Markup:
    """The words under a figure. A fact stays on one line, together with the dot after it; the others may be broken."""
    words = [fact for fact in facts if fact]
    dots = [*[" ·"] * (len(words) if note else len(words) - 1), ""]
    kept = Markup('<span style="white-space:nowrap">{}{}</span>')
    pieces = [kept.format(word, dot) for word, dot in zip(words, dots, strict=False)]
    if lead:
        # It may be written from right to left; <bdi> keeps that from turning the facts around.
        pieces.insert(0, Markup("<bdi>{}</bdi>{}").format(_cut(lead), " ·" if pieces or note else ""))
    return Markup(" ").join([*pieces, note] if note else pieces)


def _body(file: LocalFile, text: str, most_width: int) -> tuple[Markup, str]:
    """What is shown of a file, and what to say about that where it is not the file itself."""
    width, height = _box(file, most_width)
    # The shape is reserved before anything has loaded, so that nothing jumps.
    style = f"display:block;width:{width}px;max-width:100%;height:auto;aspect-ratio:{width}/{height};border-radius:6px"
    if not file.is_video:
        picture = Markup('<img src="{}" width="{}" height="{}" alt="{}" style="{}">')
        return picture.format(_inline_picture(file), width, height, text, style), ""
    frames = Markup(
        '<img src="{}" alt="six frames over time: {}" style="display:block;width:{}px;max-width:100%;margin-top:4px;border-radius:6px">'
    ).format(_uri("image/jpeg", strip(file)), text, width)
    content, note = _inline_video(file)
    if content is None:
        return frames, note
    player = Markup(
        '<video src="{}" poster="{}" controls muted loop playsinline preload="metadata" width="{}" height="{}" '
        'title="{}" style="{}"></video>'
    ).format(_uri("video/mp4", content), _uri("image/jpeg", _look(file).still), width, height, text, style)
    return player + frames, note


def _box(file: LocalFile, most_width: int) -> tuple[int, int]:
    """The size on the page: the file's own where that fits, and never too small for a player's buttons."""
    probe = file.probe
    shrink = min(1.0, most_width / probe.width, HEIGHT / probe.height)
    if file.is_video:
        shrink = max(shrink, LEAST_PLAYER / probe.width)
    return max(1, round(probe.width * shrink)), max(1, round(probe.height * shrink))


@dataclass(frozen=True, slots=True)
class _Look:
    """What a file looks like, as small JPEGs."""

    still: bytes
    strip: bytes


@lru_cache(maxsize=64)  # A run is shown again and again, and a file keeps the name of its content.
def _look(file: LocalFile) -> _Look:
    if not file.is_video:
        alone = _jpeg(file.still(), WIDTH)
        return _Look(alone, alone)
    stills = file.spread(STRIP_FRAMES)
    width = max(1, round(STRIP_HEIGHT * stills[0].width / stills[0].height))
    sheet = Image.new("RGB", (STRIP_FRAMES * (width + GAP) - GAP, STRIP_HEIGHT), FILM)
    for place, still in enumerate(stills):
        sheet.paste(
            still.convert("RGB").resize((width, STRIP_HEIGHT), Image.Resampling.LANCZOS), (place * (width + GAP), 0)
        )
    return _Look(_jpeg(stills[STRIP_FRAMES // 2], WIDTH), _jpeg(sheet, sheet.width))


def _inline_video(file: LocalFile) -> tuple[bytes | None, str]:
    """The bytes of a clip, or of a small copy of it, and then a note that says so."""
    size = file.path.stat().st_size
    if size <= MOST_INLINE:
        return file.path.read_bytes(), ""
    whole = f"{size / 1e6:.1f} MB"
    small = file.preview(longest=WIDTH, most_bytes=MOST_INLINE)
    if small is None:
        return None, f"{whole}, too large to play here"
    return small, f"preview of {whole}"


def _inline_picture(file: LocalFile) -> str:
    kind = INLINE_KINDS.get(file.path.suffix)
    if kind and file.path.stat().st_size <= MOST_INLINE:
        return _uri(kind, file.path.read_bytes())
    return _uri("image/jpeg", _jpeg(file.still(), 2 * WIDTH))


def measures(file: LocalFile) -> list[str]:
    """Size, frames and seconds of a file; nothing where it cannot be read."""
    try:
        return str(file.probe).split(" · ")
    except ReelbookError:
        return []  # The figure says what is wrong with it.


def _joined(*parts: str) -> str:
    return " · ".join(part for part in parts if part)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LEAD else text[: LONGEST_LEAD - 1].rstrip() + "…"


def _jpeg(picture: Image.Image, most_width: int) -> bytes:
    if picture.width > most_width:
        height = max(1, round(picture.height * most_width / picture.width))
        picture = picture.resize((most_width, height), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    picture.convert("RGB").save(out, "JPEG", quality=80)
    return out.getvalue()


def _uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
