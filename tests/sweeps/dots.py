"""Sweeps of the quickest jobs there are, and what they have cost by the service's own charge log."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any

import pandas as pd

import reelbook as rb
from reelbook.sweeps.plan import Plan, sweep
from tests.support import Served, png
from tests.transport.variants import Hosted, Received, Reply

PRICE = 53
DOT = rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16), frames=1)])
BOAT = rb.TextToVideo(prompt="a boat", num_frames=9, resolution="480p", aspect_ratio="1:1")
RUN = "/models/run"


def dots(count: int, **axes: Any) -> Plan:
    """So many one-frame clips of the same picture, each at another speed."""
    return sweep(DOT, fps=[float(number + 1) for number in range(count)], **axes)


def paid(served: Served) -> list[str]:
    """The requests that were paid for and not given back."""
    lines = served.charges()
    refunded = {line["request_id"] for line in lines if line["kind"] == "refund"}
    return [line["request_id"] for line in lines if line["kind"] == "reserve" and line["request_id"] not in refunded]


def counts(table: pd.DataFrame) -> dict[str, int]:
    """How many rows have each status."""
    return {str(status): int(count) for status, count in table["status"].value_counts().items() if count}


def reserved(served: Served) -> list[str]:
    """All requests that were ever paid for."""
    return [line["request_id"] for line in served.charges() if line["kind"] == "reserve"]


class Scripted:
    """A hosted service whose runs end when the test says so."""

    def __init__(self, hosted: Hosted, *, before: Sequence[Reply] = ()) -> None:
        self.hosted, self.end = hosted, threading.Event()
        self.most, self.cancelled = 0, []  # type: int, list[str]
        self._numbers = itertools.count()
        self._open: set[str] = set()
        self._before = list(before)
        hosted.on("POST", RUN, self._accept)
        hosted.on("GET", "/file", Reply(200, png()))

    @property
    def sent(self) -> int:
        """How many paid requests have arrived."""
        return len(self.hosted.seen("POST", RUN))

    def _accept(self, _: Received) -> Reply:
        if self._before:
            return self._before.pop(0)
        request_id = f"r{next(self._numbers)}"
        one = f"/{BOAT.endpoint_id}/requests/{request_id}"
        self._open.add(request_id)
        self.most = max(self.most, len(self._open))
        self.hosted.on(
            "GET",
            f"{one}/status",
            lambda _: Reply(200, {"status": "COMPLETED" if self.end.is_set() else "IN_PROGRESS"}),
        )
        self.hosted.on("GET", one, lambda _: self._result(request_id))
        self.hosted.on("PUT", f"{one}/cancel", lambda _: self._cancel(request_id))
        return Reply(200, {"requestId": request_id})

    def _result(self, request_id: str) -> Reply:
        if request_id in self.cancelled:
            return Reply(499, {"detail": "cancelled", "error_type": "cancelled"})
        self._open.discard(request_id)
        return Reply(200, {"video": {"url": f"{self.hosted.base_url}/file"}, "seed": 1, "prompt": "a boat"})

    def _cancel(self, request_id: str) -> Reply:
        self.cancelled.append(request_id)
        self.end.set()
        return Reply(200, {"success": True})
