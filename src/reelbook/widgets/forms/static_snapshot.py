"""What a saved notebook keeps of the runs of a form or a studio: one small picture, and a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ...display.embedding import uri
from ...display.fact_table import small
from ...display.form_snapshot import form_bundle
from ...display.formatting import cut, joined
from ...errors import ReelbookError
from ...media.posters import thumb
from ..studio.gallery_cards import Bought, Kept

if TYPE_CHECKING:
    from .form import Form
    from .running.run_history import Entry
    from .sweeping.form_jobs import Started

MAX_LINES = 6
BOX = (160, 90)
# A fixed place beside what is said of it, also where style sheets are dropped.
THUMB = Markup('<img src="{}" alt="{}" style="display:block;max-width:160px;border-radius:6px;margin:8px 0 4px">')


def form_pictured(
    form: Form, entries: Sequence[Entry] = (), sweeps: Sequence[Started] = (), *, mark: str
) -> dict[str, Any]:
    """The picture of a form for its cell, with what came of it, the newest first; `mark` is by what it is found."""
    made = [Bought(entry) for entry in reversed(entries)]
    words = [*runs_told(made), *(_sweep_told(entry) for entry in reversed(sweeps) if entry.is_over)]
    below = [*thumb_of(made), *map(small, words)]
    try:
        value = form.checked()
    except ReelbookError:
        value = None
    bundle = form_bundle(form.sheet, form.state, value, labels=form.labels, mark=mark, below=below)
    return {**bundle, "text/plain": "\n".join([bundle["text/plain"], *words])}


def runs_told(made: Sequence[Bought | Kept]) -> list[str]:
    """The newest runs, each in a line."""
    return [_run_told(one.card()) for one in made[:MAX_LINES]]


def thumb_of(made: Sequence[Bought | Kept]) -> list[Markup]:
    """The newest thing that there is to see, as small as it can be recognised."""
    newest = next((one for one in made if one.files), None)
    content = None if newest is None else thumb(newest.files[0].path, *BOX, quality=60)
    if newest is None or content is None:
        return []
    return [THUMB.format(uri("image/jpeg", content), cut(newest.card().get("lead") or "the newest run", 120))]


def _run_told(card: dict[str, Any]) -> str:
    words = joined(*([card["lead"]] if card.get("lead") else []), *card.get("facts", ()))
    return cut(joined(f"{card['mark']} {card['status']}", words, card.get("error")), 240)


def _sweep_told(entry: Started) -> str:
    from .sweeping.form_jobs import told

    said = told(entry, -1, "form")
    return cut(joined(f"{said['mark']} sweep {said['state']}", said["line"], said["error"]), 240)
