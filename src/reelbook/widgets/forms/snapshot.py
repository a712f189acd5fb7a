"""The static picture of a form in a saved notebook, with its runs as one thumbnail and a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ...display.embedding import data_uri
from ...display.form_snapshot import form_bundle
from ...display.theme import blocks
from ...errors import ReelbookError
from ...media.posters import make_thumbnail

if TYPE_CHECKING:
    from .form import Form
    from .runs import Entry

MAX_LINES = 6
BOX = (160, 90)
# Inline styles, because saved notebooks may drop style sheets.
THUMB = Markup('<img src="{}" alt="{}" style="display:block;max-width:160px;border-radius:6px;margin:8px 0 4px">')


def render_form_snapshot(form: Form, entries: Sequence[Entry] = (), *, mark: str) -> dict[str, Any]:
    """The MIME bundle of the static picture of a form, with what was started, the newest first; the form finds it by `mark`."""
    newest = list(reversed(entries))
    lines = [entry.line for entry in newest[:MAX_LINES]]
    below = [*render_thumb(newest), *map(blocks.small, lines)]
    try:
        value = form.checked()
    except ReelbookError:
        value = None
    kept = count_results(entries)
    bundle = form_bundle(form.sheet, form.state, value, labels=form.labels, mark=mark, kept=kept, below=below)
    return {**bundle, "text/plain": "\n".join([bundle["text/plain"], *lines])}


def count_results(entries: Sequence[Entry]) -> int:
    """How many runs and sweeps have ended."""
    return sum(entry.is_over for entry in entries)


def render_thumb(runs: Sequence[Entry]) -> list[Markup]:
    """A thumbnail of the newest file; empty if there is none."""
    newest = next((entry for entry in runs if entry.picture is not None), None)
    content = None if newest is None or newest.picture is None else make_thumbnail(newest.picture, *BOX, quality=60)
    return [THUMB.format(data_uri("image/jpeg", content), newest.line)] if newest is not None and content else []
