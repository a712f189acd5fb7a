"""The rows that benches leave for the one table of `make bench`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

PLACE = "REELBOOK_BENCH_RESULTS"
"""The environment variable that names the file where rows are added, one JSON object on each line."""


def record(
    what: str,
    ours: float,
    limit: float | None = None,
    *,
    unit: str = "",
    peer: str = "",
    theirs: float | None = None,
    ratio: float | None = None,
    at_least: bool = False,
) -> bool:
    """Leave one row, and say whether it is within its limit.

    The limit is for the ratio where one is given, else for our own figure; `at_least` makes it the least and not the most.
    """
    judged = ours if ratio is None else ratio
    met = limit is None or (judged >= limit if at_least else judged <= limit)
    row = {"what": what, "ours": ours, "unit": unit, "peer": peer, "theirs": theirs, "ratio": ratio, "limit": limit}
    _add({**row, "at_least": at_least, "met": met})
    beside = f", {peer} {theirs:.4g}" if theirs is not None else ""
    print(f"  {what}: {ours:.4g} {unit}{beside}", flush=True)
    if not met:
        print(f"  BEYOND ITS LIMIT: {judged:.4g}, {'at least' if at_least else 'at most'} {limit:.4g}")
    return met


def of_peer(peer: str, work: Callable[[], T]) -> T | None:
    """What a peer's work gives; None where the peer fails by itself, which is said in the table and fails nothing of ours."""
    try:
        return work()
    except Exception as error:  # A peer's failure can be of any kind.
        failed(peer, f"{type(error).__name__}: {error}")
        return None


def failed(peer: str, reason: str) -> None:
    """Leave a row for a peer that could not be measured."""
    words = " ".join(reason.split())[:160]
    print(f"  {peer} could not be measured: {words}")
    _add({"what": words, "peer": peer, "failed": True})


def _add(row: dict[str, Any]) -> None:
    place = os.environ.get(PLACE)
    if place:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
