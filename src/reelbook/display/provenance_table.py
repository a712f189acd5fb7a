"""The provenance of a file as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .fact_table import render_card, render_fact_table, render_small_print
from .formatting import join_with_dots, shorten

if TYPE_CHECKING:
    from ..media.metadata.provenance import Provenance

MAX_VALUE_LENGTH = 200
"""Characters that are displayed of one value."""
MAX_VALUES = 24
"""Rows of inputs; no known model has as many, and an untrusted file may name thousands."""


def provenance_table(provenance: Provenance) -> str:
    """A table of the model, the inputs that differ from the defaults, and the run; what is unknown is left out."""
    facts = [(shorten(name, MAX_VALUE_LENGTH), shorten(value, MAX_VALUE_LENGTH)) for name, value in _facts(provenance)]
    return render_card(render_fact_table(facts), render_small_print(_format_source(provenance)))


def format_provenance(provenance: Provenance) -> str:
    """Model, seed and request id of a file on one line."""
    seed = None if provenance.seed is None else f"seed {provenance.seed}"
    request = provenance.request_id and f"request {provenance.request_id}"
    return (
        join_with_dots(*(shorten(part, 60) for part in (provenance.model, seed, request) if part))
        or "Nothing is known of its making."
    )


def _facts(provenance: Provenance) -> Iterator[tuple[str, Any]]:
    values = provenance.values if provenance.input is None else provenance.input.changed()
    # The seed that was used is in a later row, whether it was passed or random.
    inputs = [(name, value) for name, value in values.items() if name not in ("seed", "model", "software")]
    more = len(inputs) - MAX_VALUES
    facts = [
        ("model", provenance.model),
        *inputs[:MAX_VALUES],
        ("…", f"and {more} more" if more > 0 else None),
        ("seed", provenance.seed),
        ("engine", _join_known(provenance.engine, provenance.engine_version)),
        ("part", provenance.part),
        ("service", provenance.service),
        ("request", provenance.request_id),
        ("credits", _format_price(provenance)),
        ("made", None if provenance.made_at is None else f"{provenance.made_at:%Y-%m-%d %H:%M %Z}"),
    ]
    yield from ((name, value) for name, value in facts if value is not None)


def _join_known(*parts: str | None) -> str | None:
    return " ".join(part for part in parts if part) or None


def _format_price(provenance: Provenance) -> str | None:
    if provenance.credits is None:
        return None
    source = f" ({shorten(provenance.credits_source, MAX_VALUE_LENGTH)})" if provenance.credits_source else ""
    return f"{provenance.credits:,}{source}"


def _format_source(provenance: Provenance) -> str:
    if provenance.note:
        return provenance.note
    if provenance.origin != "reelbook":
        return "as another tool wrote it into the file"
    return "as the file says" if provenance.input is not None else "as the file says; not all of it makes an input here"
