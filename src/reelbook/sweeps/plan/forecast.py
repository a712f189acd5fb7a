"""Forecast of a plan's duration from recent runs of its model."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from ...storage.ledger.transitions import State
from ...storage.ledger.writer import Ledger

if TYPE_CHECKING:
    from .plan_rows import Row

MAX_PAST_RUNS = 200
"""The number of recent runs that a forecast uses."""


class Past(NamedTuple):
    """Times and amount of work of an ended run."""

    sent: float
    finished: float
    work: float


def forecast(rows: Iterable[Row], ledger: Ledger, service: str) -> float | None:
    """Estimated seconds until all rows have ended; None without an ended run of their model in the ledger."""
    requests = [row.input for row in rows if row.input is not None]
    if not requests:
        return None
    past = ledger.read(partial(read_past_runs, service=service, model=requests[0].endpoint_id))
    return estimate_seconds([get_work(request.wire()) for request in requests], past)


def read_past_runs(db: sqlite3.Connection, *, service: str, model: str) -> list[Past]:
    """The most recent runs of a model at a service that have stored results."""
    query = (
        "SELECT sent, finished, input FROM runs WHERE service = ? AND model = ? AND state = ? AND finished > sent"
        " ORDER BY id DESC LIMIT ?"
    )
    rows = db.execute(query, (service, model, State.STORED, MAX_PAST_RUNS))
    return [Past(sent, finished, get_work(_parse_input(text))) for sent, finished, text in rows]


def get_work(wire: Mapping[str, Any]) -> float:
    """The amount of work of a run, for comparison within a model: number of frames, times pixels if known.

    >>> get_work({"num_frames": 50, "resolution": "720p"}) / get_work({"num_frames": 100, "resolution": "480p"})
    1.125
    """
    frames = wire.get("num_frames")
    lines = re.fullmatch(r"(\d{2,4})p", str(wire.get("resolution")))
    frames_or_one = float(frames) if isinstance(frames, (int, float)) and frames > 0 else 1.0
    return frames_or_one * (int(lines[1]) ** 2 if lines else 1.0)


def estimate_seconds(works: Sequence[float], past: Sequence[Past]) -> float | None:
    """Estimate the seconds for these amounts of work from the throughput of the largest group of concurrent runs.

    If runs were never concurrent, it is the duration of running them one after the other, an upper bound.

    >>> estimate_seconds([1] * 10, [Past(0, 4, 1), Past(1, 8, 1), Past(2, 12, 1)])
    40.0
    """
    if not past or not works:
        return None
    alone = median((run.finished - run.sent) / run.work for run in past)
    # The largest group, of equal ones the latest.
    group = max(_concurrent_groups(past), key=len)
    span = max(run.finished for run in group) - group[0].sent
    together = span / sum(run.work for run in group) if len(group) > 1 else alone
    return max(sum(works) * together, max(works) * min(together, alone))


def _concurrent_groups(past: Iterable[Past]) -> Iterator[list[Past]]:
    """Groups of runs that overlapped in time, from the latest to the first."""
    groups: list[list[Past]] = []
    end = float("-inf")
    for run in sorted(past):
        if run.sent >= end:
            groups.append([])
        groups[-1].append(run)
        end = max(end, run.finished)
    return reversed(groups)


def _parse_input(text: str) -> Mapping[str, Any]:
    try:
        wire = json.loads(text)
    except ValueError:
        return {}
    return wire if isinstance(wire, dict) else {}
