"""Where a file comes from as a small table: what it says of its making, and who says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .fact_table import card, fact_table, small
from .formatting import cut, joined

if TYPE_CHECKING:
    from ..media.metadata.provenance import Provenance

LONGEST = 200
"""Letters that are shown of one value."""
MAX_VALUES = 24
"""Rows for what was asked; no model of ours has as many, and a stranger's file may name thousands."""


def provenance_table(provenance: Provenance) -> str:
    """The table: the model, what was asked of it and differs from the defaults, then the run; what is unknown is left out."""
    facts = [(cut(name, LONGEST), cut(value, LONGEST)) for name, value in _facts(provenance)]
    return card(fact_table(facts), small(_source(provenance)))


def provenance_line(provenance: Provenance) -> str:
    """The same on one line: the model, the seed, the request."""
    seed = None if provenance.seed is None else f"seed {provenance.seed}"
    request = provenance.request_id and f"request {provenance.request_id}"
    return (
        joined(*(cut(part, 60) for part in (provenance.model, seed, request) if part))
        or "Nothing is known of its making."
    )


def _facts(provenance: Provenance) -> Iterator[tuple[str, Any]]:
    asked = provenance.values if provenance.input is None else provenance.input.changed()
    # The seed that was used stands further down, whether it was asked for or drawn.
    shown = [(name, value) for name, value in asked.items() if name not in ("seed", "model", "software")]
    more = len(shown) - MAX_VALUES
    facts = [
        ("model", provenance.model),
        *shown[:MAX_VALUES],
        ("…", f"and {more} more" if more > 0 else None),
        ("seed", provenance.seed),
        ("engine", _joined(provenance.engine, provenance.engine_version)),
        ("service", provenance.service),
        ("request", provenance.request_id),
        ("credits", _price(provenance)),
        ("made", None if provenance.made_at is None else f"{provenance.made_at:%Y-%m-%d %H:%M %Z}"),
    ]
    yield from ((name, value) for name, value in facts if value is not None)


def _joined(*parts: str | None) -> str | None:
    return " ".join(part for part in parts if part) or None


def _price(provenance: Provenance) -> str | None:
    if provenance.credits is None:
        return None
    source = f" ({cut(provenance.credits_source, LONGEST)})" if provenance.credits_source else ""
    return f"{provenance.credits:,}{source}"


def _source(provenance: Provenance) -> str:
    if provenance.note:
        return provenance.note
    if provenance.origin != "reelbook":
        return "as another tool wrote it into the file"
    return "as the file says" if provenance.input is not None else "as the file says; not all of it makes an input here"
