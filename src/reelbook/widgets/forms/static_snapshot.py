"""What a saved notebook keeps of the runs of a form or a studio: one small picture, and a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ...display.embedding import data_uri
from ...display.fact_table import render_small_print
from ...display.form_snapshot import form_bundle
from ...display.formatting import join_with_dots, shorten
from ...errors import ReelbookError
from ...media.posters import thumb
from ..studio.gallery_cards import LibraryRun, StudioRun

if TYPE_CHECKING:
    from .form import Form
    from .running.run_history import Entry
    from .sweeping.form_jobs import StartedSweep

MAX_LINES = 6
BOX = (160, 90)
# A fixed place beside what is said of it, also where style sheets are dropped.
THUMB = Markup('<img src="{}" alt="{}" style="display:block;max-width:160px;border-radius:6px;margin:8px 0 4px">')


def render_form_snapshot(
    form: Form, entries: Sequence[Entry] = (), sweeps: Sequence[StartedSweep] = (), *, mark: str
) -> dict[str, Any]:
    """The picture of a form for its cell, with what came of it, the newest first; `mark` is by what it is found."""
    made = [StudioRun(entry) for entry in reversed(entries)]
    lines = [*format_runs(made), *(_format_sweep(entry) for entry in reversed(sweeps) if entry.is_over)]
    below = [*render_thumb(made), *map(render_small_print, lines)]
    try:
        value = form.checked()
    except ReelbookError:
        value = None
    bundle = form_bundle(form.sheet, form.state, value, labels=form.labels, mark=mark, below=below)
    return {**bundle, "text/plain": "\n".join([bundle["text/plain"], *lines])}


def format_runs(made: Sequence[StudioRun | LibraryRun]) -> list[str]:
    """The newest runs, each in a line."""
    return [_format_run(one.card()) for one in made[:MAX_LINES]]


def render_thumb(made: Sequence[StudioRun | LibraryRun]) -> list[Markup]:
    """The newest thing that there is to see, as small as it can be recognised."""
    newest = next((one for one in made if one.files), None)
    content = None if newest is None else thumb(newest.files[0].path, *BOX, quality=60)
    if newest is None or content is None:
        return []
    return [THUMB.format(data_uri("image/jpeg", content), shorten(newest.card().get("lead") or "the newest run", 120))]


def _format_run(card: dict[str, Any]) -> str:
    lines = join_with_dots(*([card["lead"]] if card.get("lead") else []), *card.get("facts", ()))
    return shorten(join_with_dots(f"{card['mark']} {card['status']}", lines, card.get("error")), 240)


def _format_sweep(entry: StartedSweep) -> str:
    from .sweeping.form_jobs import sweep_json

    card = sweep_json(entry, -1, "form")
    return shorten(join_with_dots(f"{card['mark']} sweep {card['state']}", card["line"], card["error"]), 240)
