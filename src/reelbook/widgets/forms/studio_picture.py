"""A studio as a saved notebook keeps it: the form that stood in it, what was spent, and the last runs in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from ...display.embedding import uri
from ...display.facts import card, heading, small
from ...display.forms import form_bundle
from ...display.words import cut, joined
from ...errors import ReelbookError
from ...media.posters import thumb
from ...settings import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .form import Form
    from .studio_cards import Bought, Kept

MOST_LINES = 6
BOX = (160, 90)
# A fixed place beside what is said of it, also where style sheets are dropped.
THUMB = Markup('<img src="{}" alt="{}" style="display:block;max-width:160px;border-radius:6px;margin:8px 0 4px">')


def studio_bundle(form: Form, made: Sequence[Bought | Kept], cost: str, *, mark: str) -> dict[str, Any]:
    """The picture of a studio for its cell; `mark` is by what the studio itself finds and hides it."""
    try:
        value = form.checked()
    except ReelbookError:
        value = None
    bundle = form_bundle(form.sheet, form.state, value, mark=mark)
    lines = [_line(one.card()) for one in made[:MOST_LINES]]
    body = [heading("Studio"), small(cost), *_thumb(made), *map(small, lines)]
    html = Markup('<div data-rb-twin="{}">{}</div>').format(mark, Markup(card(*body, width=options.max_width)))
    text = "\n".join(["Studio", bundle["text/plain"], cost, *lines])
    return {"text/html": str(html) + bundle["text/html"], "text/plain": text}


def _line(card: dict[str, Any]) -> str:
    words = joined(*([card["lead"]] if card.get("lead") else []), *card.get("facts", ()))
    return cut(joined(f"{card['mark']} {card['status']}", words, card.get("error")), 240)


def _thumb(made: Sequence[Bought | Kept]) -> list[Markup]:
    """The newest thing that there is to see, as small as it can be recognised."""
    newest = next((one for one in made if one.files), None)
    content = None if newest is None else thumb(newest.files[0].path, *BOX, quality=60)
    if newest is None or content is None:
        return []
    return [THUMB.format(uri("image/jpeg", content), cut(newest.card().get("lead") or "the newest run", 120))]
