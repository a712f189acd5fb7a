"""One request in the queue, and its current state."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reelbook.models.queue_status import COMPLETED, IN_PROGRESS, IN_QUEUE

from .lanes import LOCAL

MAX_OVERTAKEN, MAX_OVERTAKEN_SECONDS = 4, 60.0
"""How often, and for how long since the first time, a waiting request may be overtaken."""


@dataclass(slots=True, eq=False)
class Request:
    """One request and its current state."""

    seq: int
    id: str
    account: str
    endpoint_id: str
    credits: int
    """The credits reserved for it."""
    created: float
    lane: str = LOCAL
    """The name of the lane that works on it."""
    loras: str = ""
    """The hash of the LoRAs of its input; a lane can prefer runs that need those of the last one."""
    overtaken: int = 0
    overtaken_since: float = 0.0
    """How often a later request was preferred to it while it waited, and when that began."""
    status: str = IN_QUEUE
    attempts: int = 0
    cancelling: bool = False
    progress: float = 0.0
    stage: str = ""
    started: float | None = None
    finished: float | None = None
    output: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    """`error_type`, `detail` and further facts of a failure."""
    engine: str | None = None
    charged: int | None = None
    """The credits charged at its end, where its lane decides that; None for all of them, or none after a failure."""
    may_be_sent: bool = False
    """Whether an earlier process may have sent it to another service, so that only its lane can cancel it."""
    waits_elsewhere: bool = False
    """Whether it waits in the queue of another service."""
    place_elsewhere: int | None = None
    """Its place in that queue, if that service reports it."""
    logs: list[dict[str, Any]] = field(default_factory=list)

    def log(self, at: float, message: str, level: str = "INFO", source: str = "engine") -> None:
        """Add a line to the log that the caller receives."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1000):03d}Z"
        self.logs.append({"message": message, "level": level, "source": source, "timestamp": stamp})

    def may_be_overtaken(self, now: float) -> bool:
        """Whether a later request may be preferred to it."""
        if self.overtaken == 0:
            return True
        return self.overtaken < MAX_OVERTAKEN and now - self.overtaken_since <= MAX_OVERTAKEN_SECONDS

    def count_overtaking(self, now: float) -> None:
        """Note that a later request was preferred to it."""
        self.overtaken_since = self.overtaken_since if self.overtaken else now
        self.overtaken += 1

    def record(self) -> str:
        """The JSON that is stored at the end of the request."""
        names = ("started", "output", "error", "engine", "logs", "attempts", "charged")
        return json.dumps({name: getattr(self, name) for name in names})

    @property
    def final_credits(self) -> int:
        """The credits that it is charged, once it has ended."""
        if self.charged is not None:
            return self.charged
        return 0 if self.error else self.credits

    def metrics(self) -> dict[str, Any]:
        """Figures for the status object."""
        if self.status == IN_PROGRESS:
            return {"progress": round(self.progress, 4), "stage": self.stage}
        if self.status == COMPLETED and self.finished is not None:
            start = self.started if self.started is not None else self.finished
            return {
                "inference_time": round(self.finished - start, 4),
                "queue_time": round(start - self.created, 4),
                "credits": self.final_credits,
                "engine": self.engine,
            }
        return {}


def hash_loras(input: Mapping[str, Any]) -> str:
    """A short text that is the same for the same LoRAs, whose paths can have megabytes; empty without any.

    >>> hash_loras({"loras": []}), len(hash_loras({"loras": [{"path": "ink"}]}))
    ('', 16)
    """
    loras = input.get("loras")
    return hashlib.sha256(json.dumps(loras, sort_keys=True).encode()).hexdigest()[:16] if loras else ""
