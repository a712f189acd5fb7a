"""A plan before it runs, and a sweep while it runs and after: what it costs, where it stands, what went wrong."""

from __future__ import annotations

import base64
import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from PIL import Image

from ..errors import ReelbookError
from ..sweeps.facts import listed
from .live import UPDATE_SECONDS, Bundle, kernel_shell, updated

if TYPE_CHECKING:
    from ..media.local import LocalFile
    from ..sweeps.facts import Facts
    from ..sweeps.job import SweepJob
    from ..sweeps.plan import Plan
    from ..sweeps.tally import Progress

POSTERS, POSTER_HEIGHT = 6, 72
MOST_REASONS = 4
SOFT = "opacity:.75;font-size:12px;line-height:1.5"
ROW = Markup(
    '<tr><th style="text-align:left;font-weight:normal;opacity:.75;padding-right:24px;vertical-align:top">{}</th>'
    '<td style="text-align:right;padding-right:16px;vertical-align:top">{}</td>'
    '<td style="text-align:left;overflow-wrap:anywhere">{}</td></tr>'
)
CARD = Markup(
    '<div style="max-width:720px;font-variant-numeric:tabular-nums;margin:4px 0"><div><b>{}</b></div>'
    '<table style="margin:6px 0"><tbody>{}</tbody></table>{}</div>'
)
WORDS = {
    "completed": "done", "running": "running", "waiting": "queued", "failed": "failed", "cancelled": "cancelled",
    "uncertain": "uncertain", "impossible": "impossible", "not started": "not started",
}  # fmt: skip


def plan_card(plan: Plan) -> str:
    """The axes with their values, the price and what of it is due, and what cannot run."""
    facts = plan.facts
    rows = [ROW.format(axis.name, f"{len(axis.values):,}", listed(axis.values)) for axis in facts.axes]
    rows += [ROW.format(name, "", repr(value)) for name, value in facts.held.items()]
    notes = [
        f"{found.count:,} impossible, the first is run {found.first}: {found.reason}"
        for found in facts.impossible[:MOST_REASONS]
    ]
    notes += [f"Note: {warning}" for warning in facts.warnings]
    small = Markup("").join(Markup('<div style="{}">{}</div>').format(SOFT, note) for note in notes)
    return str(CARD.format(headline(facts), Markup("").join(rows), small))


def headline(facts: Facts) -> str:
    """Runs, model, price."""
    parts = [f"{facts.runs:,} run{'' if facts.runs == 1 else 's'} of {facts.model}"]
    if facts.credits is None:
        parts.append(f"price unknown ({facts.unpriced:,} runs without one)")
    else:
        parts.append(f"{facts.credits:,} credits ({'exact' if facts.is_exact else 'assumed'})")
    if facts.in_library:
        due = "unknown" if facts.credits_due is None else f"{facts.credits_due:,}"
        parts.append(f"{facts.in_library:,} in the library already, {due} credits due")
    return " · ".join(parts)


@contextmanager
def watch_job(job: SweepJob) -> Iterator[None]:
    """Show a sweep while the block lasts: in a notebook in its cell, in a terminal on one line, elsewhere nothing."""
    if kernel_shell() is not None:
        with updated(lambda: panel_bundle(job.progress), lambda _: panel_bundle(job.progress)):
            yield
    elif sys.stderr is not None and sys.stderr.isatty():
        with _line(job):
            yield
    else:
        yield


def panel_bundle(progress: Progress) -> Bundle:
    """How a sweep stands, as words and as a panel; the panel needs no script and stays in a saved notebook."""
    return {"text/plain": panel_line(progress), "text/html": panel_html(progress)}


def panel_line(progress: Progress) -> str:
    """The same on one line."""
    return " · ".join(
        [f"{progress.finished:,} of {progress.total:,}", *_counts(progress), *_money(progress), *_time(progress)]
    )


def panel_html(progress: Progress) -> str:
    """Counts, money, time, the latest results, and failures by reason."""
    share = progress.finished / progress.total if progress.total else 0.0
    parts = [
        Markup("<div><b>{}</b> {}</div>").format(
            f"{progress.finished:,} of {progress.total:,}", " · ".join(["", *_counts(progress)]).lstrip()
        ),
        Markup(
            '<progress max="1" value="{:.4f}" aria-label="progress" style="display:block;width:100%;margin:6px 0"></progress>'
        ).format(share),
        Markup('<div style="{}">{}</div>').format(SOFT, " · ".join([*_money(progress), *_time(progress)])),
    ]
    if progress.reason and progress.state != "done":
        parts.append(Markup("<div>{}</div>").format(f"Stopping: {progress.reason}"))
    elif progress.reason:
        parts.append(Markup("<div>{}</div>").format(f"Stopped: {progress.reason}"))
    pictures = [_poster(number, file) for number, file in progress.latest[:POSTERS]]
    if pictures or progress.state != "done":
        # The place is kept while results may still come, so that the cell keeps its height.
        row = Markup('<div style="display:flex;gap:6px;flex-wrap:wrap;margin:8px 0 4px;min-height:{}px">{}</div>')
        parts.append(row.format(POSTER_HEIGHT, Markup("").join(pictures)))
    parts += [
        Markup('<div style="{}">✕ {} × {}: {}</div>').format(SOFT, f"{group.count:,}", group.error_type, group.example)
        for group in progress.failures[:MOST_REASONS]
    ]
    return str(
        Markup('<div style="max-width:720px;font-variant-numeric:tabular-nums;overflow-wrap:anywhere">{}</div>').format(
            Markup("").join(parts)
        )
    )


def _counts(progress: Progress) -> list[str]:
    found = [f"{progress.counts[status]:,} {word}" for status, word in WORDS.items() if progress.counts.get(status)]
    if progress.from_library:
        found.insert(1, f"{progress.from_library:,} of them from the library")
    return found


def _money(progress: Progress) -> list[str]:
    of = "" if progress.budget is None else f" of {progress.budget:,}"
    found = [f"{progress.spent:,}{of} credits spent"]
    return [*found, f"{progress.reserved:,} more set aside"] if progress.reserved else found


def _time(progress: Progress) -> list[str]:
    found = [f"{progress.elapsed:.0f} s"]
    if progress.state in ("paused", "stopping", "preparing"):
        found.append(progress.state)
    if progress.per_minute and progress.state == "running":
        found.append(f"{progress.per_minute:.0f} a minute")
    if progress.seconds_left is not None and progress.state == "running":
        found.append(f"about {_duration(progress.seconds_left)} left")
    return found


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 90
        else f"{seconds / 60:.0f} min"
        if seconds < 5400
        else f"{seconds / 3600:.1f} h"
    )


def _poster(number: int, file: LocalFile) -> Markup:
    picture = _still(file.path, file)
    if picture is None:
        return Markup("")
    return Markup('<img alt="run {}" title="run {}" height="{}" style="border-radius:4px" src="{}">').format(
        number, number, POSTER_HEIGHT, picture
    )


@lru_cache(maxsize=128)
def _still(path: Path, file: LocalFile) -> str | None:
    """A small picture of a result, made once; nothing for a file that cannot be read."""
    try:
        picture = file.still(0.5)
    except ReelbookError:
        return None
    width = max(1, round(picture.width * 2 * POSTER_HEIGHT / picture.height))
    small = picture.convert("RGB").resize((min(width, 6 * POSTER_HEIGHT), 2 * POSTER_HEIGHT), Image.Resampling.BILINEAR)
    out = io.BytesIO()
    small.save(out, "JPEG", quality=75)
    return f"data:image/jpeg;base64,{base64.b64encode(out.getvalue()).decode()}"


@contextmanager
def _line(job: SweepJob) -> Iterator[None]:
    """One line of a terminal, written over and over, that stays when the sweep ends."""
    over = threading.Event()

    def write(end: str = "") -> None:
        sys.stderr.write(f"\r\x1b[K{panel_line(job.progress)[:160]}{end}")
        sys.stderr.flush()

    def keep_up() -> None:
        while not over.wait(UPDATE_SECONDS):
            write()

    ticker: Any = threading.Thread(target=keep_up, name="reelbook-progress", daemon=True)
    ticker.start()
    try:
        yield
    finally:
        over.set()
        ticker.join()
        write("\n")
