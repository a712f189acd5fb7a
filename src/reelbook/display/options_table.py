"""`rb.options` as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .fact_table import render_card, render_fact_table, render_heading, render_small_print

if TYPE_CHECKING:
    from ..settings import Options

MEANING = {
    "embed": "how much of a clip goes into the notebook: poster, preview or full",
    "theme": "the colours of pages of our own: auto, light or dark",
    "max_width": "pixels that one result may take in width",
    "poster": "pixels that a poster in a table may take in width",
    "concurrency": "runs of a sweep at once; None for what suits the service",
    "file_hosts": "hosts on a private network that results may be fetched from",
    "sign": "the certificate with which copies are signed; None for no signature of yours",
}


def options_table(options: Options) -> str:
    """A row for each option with its value and meaning, and how to set one."""
    rows = [(name, f"{getattr(options, name)!r} · {MEANING.get(name, '')}".rstrip(" ·")) for name in dir(options)]
    advice = render_small_print(
        'rb.options.embed = "full" for the session; with rb.options(embed="full"): for a block.'
    )
    return render_card(render_heading("Options"), render_fact_table(rows), advice)
