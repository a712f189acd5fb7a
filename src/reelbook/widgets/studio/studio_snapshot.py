"""A studio as a saved notebook keeps it: the form that stood in it, what was spent, and the last runs in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ...display.fact_table import card, heading, small
from ...settings import options
from ..forms.static_snapshot import form_pictured, runs_told, thumb_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..forms.form import Form
    from .gallery_cards import Bought, Kept


def studio_bundle(form: Form, made: Sequence[Bought | Kept], cost: str, *, mark: str) -> dict[str, Any]:
    """The picture of a studio for its cell; `mark` is by what the studio itself finds and hides it."""
    bundle = form_pictured(form, mark=mark)
    lines = runs_told(made)
    body = [heading("Studio"), small(cost), *thumb_of(made), *map(small, lines)]
    html = Markup('<div data-rb-twin="{}">{}</div>').format(mark, Markup(card(*body, width=options.max_width)))
    text = "\n".join(["Studio", bundle["text/plain"], cost, *lines])
    return {"text/html": str(html) + bundle["text/html"], "text/plain": text}
