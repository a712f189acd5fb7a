"""The static picture of a form in a saved notebook, with its runs as one thumbnail and a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ...display.embedding import data_uri
from ...display.form_snapshot import form_bundle
from ...display.formatting import join_with_dots, shorten
from ...display.theme import blocks
from ...errors import ReelbookError
from ...media.posters import make_thumbnail

if TYPE_CHECKING:
    from .form import Form
    from .run_cards import PressedRun, ShownRun
    from .started import Started

MAX_LINES = 6
BOX = (160, 90)
# Inline styles, because saved notebooks may drop style sheets.
THUMB = Markup('<img src="{}" alt="{}" style="display:block;max-width:160px;border-radius:6px;margin:8px 0 4px">')


def render_form_snapshot(
    form: Form, entries: Sequence[PressedRun] = (), sweeps: Sequence[Started] = (), *, mark: str
) -> dict[str, Any]:
    """The MIME bundle of the static picture of a form, with its runs, the newest first; the form finds it by `mark`."""
    runs = list(reversed(entries))
    lines = [*format_runs(runs), *(_format_sweep(entry) for entry in reversed(sweeps) if entry.is_over)]
    below = [*render_thumb(runs), *map(blocks.small, lines)]
    try:
        value = form.checked()
    except ReelbookError:
        value = None
    kept = count_results(entries, sweeps)
    bundle = form_bundle(form.sheet, form.state, value, labels=form.labels, mark=mark, kept=kept, below=below)
    return {**bundle, "text/plain": "\n".join([bundle["text/plain"], *lines])}


def count_results(entries: Sequence[PressedRun], sweeps: Sequence[Started]) -> int:
    """How many runs and sweeps have ended."""
    return sum(entry.is_over for entry in entries) + sum(entry.is_over for entry in sweeps)


def format_runs(runs: Sequence[ShownRun]) -> list[str]:
    """The newest runs, one line each."""
    return [_format_run(one.card()) for one in runs[:MAX_LINES]]


def render_thumb(runs: Sequence[ShownRun]) -> list[Markup]:
    """A thumbnail of the newest file; empty if there is none."""
    newest = next((one for one in runs if one.files), None)
    content = None if newest is None else make_thumbnail(newest.files[0].path, *BOX, quality=60)
    if newest is None or content is None:
        return []
    return [THUMB.format(data_uri("image/jpeg", content), shorten(newest.card().get("lead") or "the newest run", 120))]


def _format_run(card: dict[str, Any]) -> str:
    lines = join_with_dots(*([card["lead"]] if card.get("lead") else []), *card.get("facts", ()))
    return shorten(join_with_dots(f"{card['mark']} {card['status']}", lines, card.get("error")), 240)


def _format_sweep(entry: Started) -> str:
    card = entry.make_card("")
    return shorten(join_with_dots(f"{card['mark']} {card['kind']} {card['state']}", card["line"], card["error"]), 240)
