"""Errors in the definition of a sweep, raised before anything is sent."""

from __future__ import annotations

from ..errors import InvalidInput, Problem

MAX_RUNS = 1_000_000
"""The maximum number of runs of a plan: more is most likely a mistake, and would exhaust the memory."""


class NoSuchRow(InvalidInput, IndexError):
    """A plan has no run with this number."""


def usage_error(sentence: str, kind: str, *loc: str) -> InvalidInput:
    """The error for a sweep that cannot be planned.

    >>> str(usage_error("`seed` has no values.", "empty_axis", "seed"))
    'sweep: `seed` has no values.'
    """
    return InvalidInput("sweep", [Problem(loc, sentence, kind)])


def too_many(runs: int | None = None) -> InvalidInput:
    """The error for a plan with more than `MAX_RUNS` runs."""
    count = f"{runs:,} runs" if runs is not None else f"more than {MAX_RUNS:,} values"
    return usage_error(
        f"That makes {count}; a plan holds {MAX_RUNS:,} at most. "
        "Use fewer values, zip axes that belong together, or draw from them with sampled(n, …).",
        "too_many_runs",
    )
