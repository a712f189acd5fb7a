"""Errors about how a sweep is written, raised before anything is sent."""

from __future__ import annotations

from ..errors import InvalidInput, Problem

MAX_RUNS = 1_000_000
"""The most runs of one plan: more is a slip of the pen, and would fill the memory."""


class NoSuchRun(InvalidInput, IndexError):
    """A plan has no run of this number."""


def usage_error(sentence: str, kind: str, *loc: str) -> InvalidInput:
    """The error for a sweep that cannot be planned.

    >>> str(usage_error("`seed` has no values.", "empty_axis", "seed"))
    'sweep: `seed` has no values.'
    """
    return InvalidInput("sweep", [Problem(loc, sentence, kind)])


def too_many(runs: int | None = None) -> InvalidInput:
    """The error for a plan that would have more runs than one can mean."""
    count = f"{runs:,} runs" if runs is not None else f"more than {MAX_RUNS:,} values"
    return usage_error(
        f"That makes {count}; a plan holds {MAX_RUNS:,} at most. "
        "Take fewer values, zip axes that belong together, or draw from them with sampled(n, …).",
        "too_many_runs",
    )
