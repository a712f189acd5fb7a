"""A file as a figure: player or picture, a strip of its frames, and one line that says what it is."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

from markupsafe import Markup
from PIL import Image

if TYPE_CHECKING:
    from ..media.local import LocalFile
    from ..models.pricing import Estimate
    from ..runs import Run

MOST_INLINE = 2_000_000
"""Bytes of a file that go into the notebook itself; a larger one stays beside it and is shown by its strip."""

WIDTH, STRIP_FRAMES, STRIP_HEIGHT, GAP = 640, 6, 90, 2
CAPTION = "font-size:12px;line-height:1.5;margin:6px 0 0;opacity:.8;font-variant-numeric:tabular-nums"


def run_figure(run: Run) -> str:
    """A finished run with its media; one that is not finished as a line of text."""
    if run.status != "completed":
        return str(Markup("<p>{}</p>").format(status_line(run)))
    figures = [Markup(file_figure(file, caption(run, file))) for file in run.media]
    return str(Markup("").join(figures))


def run_strip(run: Run) -> bytes | None:
    """The frames of a run's first file as one picture, for places that show no HTML."""
    return strip(run.media[0]) if run.status == "completed" and run.media else None


def file_figure(file: LocalFile, text: str) -> str:
    """One file. The markup works without scripts and styles of ours, so it survives being saved and sanitised."""
    size = file.path.stat().st_size
    width = min(WIDTH, file.probe.width)
    frames = Markup('<img src="{}" alt="{}" style="display:block;width:{}px;max-width:100%;margin-top:4px">').format(
        _uri("image/jpeg", strip(file)), f"six frames over time: {text}", width
    )
    height = round(width * file.probe.height / file.probe.width)
    box = f"display:block;width:{width}px;max-width:100%;height:auto;aspect-ratio:{file.probe.width}/{file.probe.height};border-radius:6px"
    body = Markup("")
    if not file.is_video:
        body = Markup('<img src="{}" width="{}" height="{}" alt="{}" style="{}">').format(
            _shrunk(file), width, height, text, box
        )
        frames = Markup("")
    elif size <= MOST_INLINE:
        body = Markup(
            '<video src="{}" poster="{}" controls muted loop playsinline preload="metadata" width="{}" height="{}" '
            'title="{}" style="{}"></video>'
        ).format(
            _uri("video/mp4", file.path.read_bytes()),
            _uri("image/jpeg", _jpeg(file.still(0.5), WIDTH)),
            width,
            height,
            text,
            box,
        )
    else:
        text += f" · {size / 1e6:.1f} MB, at {file.path}"
    return str(
        Markup(
            '<figure style="margin:4px 0 8px">{}{}<figcaption style="{}" title="{}">{}</figcaption></figure>'
        ).format(body, frames, CAPTION, text, text)
    )


def strip(file: LocalFile) -> bytes:
    """Six frames over time side by side, as JPEG; a picture alone if it is one."""
    if not file.is_video:
        return _jpeg(file.still(), WIDTH)
    stills = [file.still(place / (STRIP_FRAMES - 1)) for place in range(STRIP_FRAMES)]
    width = max(1, round(STRIP_HEIGHT * stills[0].width / stills[0].height))
    sheet = Image.new("RGB", (STRIP_FRAMES * (width + GAP) - GAP, STRIP_HEIGHT), "white")
    for place, still in enumerate(stills):
        sheet.paste(
            still.convert("RGB").resize((width, STRIP_HEIGHT), Image.Resampling.LANCZOS), (place * (width + GAP), 0)
        )
    return _jpeg(sheet, sheet.width)


def caption(run: Run, file: LocalFile) -> str:
    """One line, the most wanted first: prompt, seed, size, frames, credits."""
    prompt = getattr(run.input, "prompt", "")
    seed = getattr(run.output, "seed", None)
    parts = [
        prompt if len(prompt) <= 60 else prompt[:59] + "…",
        f"seed {seed}" if seed is not None else "",
        str(file.probe),
        f"{'' if run.credits_source == 'charged' else '≈ '}{run.credits:,} credits" if run.credits is not None else "",
    ]
    return " · ".join(part for part in parts if part)


def status_line(run: Run) -> str:
    """Where a run stands, in one line."""
    fraction, stage = run.progress
    if run.status in ("failed", "cancelled"):
        mark = "✕" if run.status == "failed" else "⊘"
        return f"{mark} {run.status}: {run._failure}"
    if run.status == "completed":
        return f"● done · {run.timings['total']:.1f} s"
    return f"{'◔' if run.status == 'IN_QUEUE' else '◑'} {stage} · {fraction:.0%} · {run.timings['total']:.0f} s"


def estimate_table(estimate: Estimate) -> str:
    """An estimate as a small table, with its source."""
    row = Markup(
        '<tr><td style="text-align:left;padding:2px 16px 2px 0">{}</td><td style="text-align:right">{}</td></tr>'
    )
    rows = [
        row.format(line.label, f"{line.credits:f}" if line.credits is not None else f"× {line.factor:f}")
        for line in estimate.breakdown
    ]
    total = "unknown" if estimate.credits is None else f"{estimate.credits:,} credits"
    origin = "exact, says the service" if estimate.source == "exact" else "≈ assumed, from the catalog kept here"
    rows.append(
        Markup(
            '<tr><th style="text-align:left;padding:2px 16px 2px 0">{}</th><td style="text-align:right">{}</td></tr>'
        ).format(total, origin)
    )
    return str(
        Markup('<table style="font-variant-numeric:tabular-nums"><tbody>{}</tbody></table>').format(
            Markup("").join(rows)
        )
    )


def _shrunk(file: LocalFile) -> str:
    if file.path.stat().st_size <= MOST_INLINE and file.path.suffix != ".bin":
        kind = {".png": "image/png", ".jpg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif"}[file.path.suffix]
        return _uri(kind, file.path.read_bytes())
    return _uri("image/jpeg", _jpeg(file.still(), 2 * WIDTH))


def _jpeg(picture: Image.Image, most_width: int) -> bytes:
    if picture.width > most_width:
        picture = picture.resize(
            (most_width, max(1, round(picture.height * most_width / picture.width))), Image.Resampling.LANCZOS
        )
    out = io.BytesIO()
    picture.convert("RGB").save(out, "JPEG", quality=80)
    return out.getvalue()


def _uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
