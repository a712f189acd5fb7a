"""The static picture of a studio in a saved notebook: its form, the cost, and the last runs as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ...display.fact_table import render_card, render_heading, render_small_print
from ...settings import options
from ..forms.static_snapshot import format_runs, render_form_snapshot, render_thumb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..forms.form import Form
    from .gallery_cards import LibraryRun, StudioRun


def studio_bundle(
    form: Form, runs: Sequence[StudioRun | LibraryRun], cost: str, *, mark: str, kept: int = 0
) -> dict[str, Any]:
    """The MIME bundle of the static picture; by `mark`, the studio finds and hides it."""
    bundle = render_form_snapshot(form, mark=mark)
    lines = format_runs(runs)
    body = [render_heading("Studio"), render_small_print(cost), *render_thumb(runs), *map(render_small_print, lines)]
    card = Markup(render_card(*body, width=options.max_width))
    html = Markup('<div data-rb-twin="{}" data-rb-kept="{}">{}</div>').format(mark, kept, card)
    text = "\n".join(["Studio", bundle["text/plain"], cost, *lines])
    return {"text/html": str(html) + bundle["text/html"], "text/plain": text}
