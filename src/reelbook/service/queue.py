"""The queue of requests: stored at submission and at completion, tracked in memory in between."""

from __future__ import annotations

import asyncio
import bisect
import json
import sqlite3
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..models.queue_status import COMPLETED, IN_PROGRESS, IN_QUEUE
from . import spec_decisions
from .accounts import Account, Accounts
from .refusals import Refusal
from .store import Store

MAX_CACHED = 2_000
"""How many finished requests are cached in memory; older ones are read from the database."""
MAX_CACHED_CHARS = 100_000
"""Requests with more text than this are not cached: an output repeats its prompt, which can have megabytes."""

COLUMNS = "seq, id, account, endpoint AS endpoint_id, credits, created"
"""The columns of a request, by the names of the fields of `Request`."""


@dataclass(slots=True, eq=False)
class Request:
    """One request and its current state."""

    seq: int
    id: str
    account: str
    endpoint_id: str
    credits: int
    created: float
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
    logs: list[dict[str, Any]] = field(default_factory=list)
    watchers: list[asyncio.Event] = field(default_factory=list)

    def log(self, at: float, message: str, level: str = "INFO", source: str = "engine") -> None:
        """Add a line to the log that the caller receives."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1000):03d}Z"
        self.logs.append({"message": message, "level": level, "source": source, "timestamp": stamp})
        self.notify_watchers()

    def notify_watchers(self) -> None:
        """Wake all streams of this request."""
        for watcher in self.watchers:
            watcher.set()

    def record(self) -> str:
        """The JSON that is stored at the end of the request."""
        names = ("started", "output", "error", "engine", "logs", "attempts")
        return json.dumps({name: getattr(self, name) for name in names})

    def metrics(self) -> dict[str, Any]:
        """Figures for the status object."""
        if self.status == IN_PROGRESS:
            return {"progress": round(self.progress, 4), "stage": self.stage}
        if self.status == COMPLETED and self.finished is not None:
            start = self.started if self.started is not None else self.finished
            return {
                "inference_time": round(self.finished - start, 4),
                "queue_time": round(start - self.created, 4),
                "credits": 0 if self.error else self.credits,
                "engine": self.engine,
            }
        return {}


class Queue:
    """All requests of a service. Used from the service's event loop only."""

    def __init__(self, store: Store, accounts: Accounts, clock: Callable[[], float], max_waiting: int) -> None:
        self._store, self._accounts, self._clock, self._max_waiting = store, accounts, clock, max_waiting
        self._live: dict[str, Request] = {}
        self._done: OrderedDict[str, Request] = OrderedDict()
        self._waiting: list[int] = []
        self._by_seq: dict[int, Request] = {}
        self._waiting_by_account: dict[str, int] = {}
        self._has_waiting = asyncio.Event()

    def resume(self) -> None:
        """Queue the unfinished requests of an earlier process, in their order."""
        query = f"SELECT {COLUMNS}, cancelling FROM requests WHERE finished IS NULL ORDER BY seq"
        for row in self._store.submit(lambda db: db.execute(query).fetchall()).result():
            request = Request(**{**dict(row), "cancelling": bool(row["cancelling"])})
            request.log(
                self._clock(),
                "The service was started again and takes this run up once more, free of charge.",
                source="service",
            )
            self._add(request)

    async def submit(
        self,
        account: Account,
        endpoint_id: str,
        input: Mapping[str, Any],
        credits: int,
        idempotency: tuple[str, str] | None = None,
    ) -> tuple[Request, bool]:
        """Add a request and reserve its credits, or find the earlier one with the same idempotency key.

        The second value is whether it is new.
        """
        is_full = self._waiting_by_account.get(account.name, 0) >= self._max_waiting
        # A repeated call adds nothing to the queue; refusing it would hide that the first one was accepted.
        if is_full and not (idempotency and await self._is_known(account, idempotency[0])):
            raise Refusal(
                "too_many_requests",
                f"{self._max_waiting:,} requests of this account are waiting already. Wait until some have finished, then send this one again.",
                headers={"Retry-After": str(spec_decisions.RETRY_AFTER_SECONDS)},
            )
        # A separate task: a caller that disconnects must not leave a paid request that no worker gets.
        request = Request(0, str(uuid.uuid4()), account.name, endpoint_id, credits, self._clock())
        inserting = asyncio.ensure_future(self._enter(request, json.dumps(input), idempotency))
        earlier = await asyncio.shield(inserting)
        return (request, True) if earlier is None else (await self.find(account, earlier), False)

    async def _is_known(self, account: Account, key: str) -> bool:
        since = self._clock() - spec_decisions.IDEMPOTENCY_SECONDS
        query = "SELECT 1 FROM idempotency WHERE account = ? AND key = ? AND at > ?"
        return bool(await self._store.run(lambda db: db.execute(query, (account.name, key, since)).fetchone()))

    async def _enter(self, request: Request, text: str, idempotency: tuple[str, str] | None) -> str | None:
        # Counted before the commit, so that a burst cannot exceed the limit.
        self._waiting_by_account[request.account] = self._waiting_by_account.get(request.account, 0) + 1
        try:
            earlier = await self._store.run(lambda db: self._insert(db, request, text, idempotency))
        finally:
            self._waiting_by_account[request.account] -= 1
        if earlier is None:
            self._add(request)
        return earlier

    def _insert(
        self, db: sqlite3.Connection, request: Request, text: str, idempotency: tuple[str, str] | None
    ) -> str | None:
        if idempotency is not None:
            key, body_hash = idempotency
            since = request.created - spec_decisions.IDEMPOTENCY_SECONDS
            db.execute("DELETE FROM idempotency WHERE at <= ?", (since,))
            row = db.execute(
                "SELECT body_hash, request_id FROM idempotency WHERE account = ? AND key = ?", (request.account, key)
            ).fetchone()
            if row is not None:
                if row["body_hash"] != body_hash:
                    raise Refusal(
                        "validation_error",
                        "This Idempotency-Key was used for another body within the last 24 hours. Use a new key for a new request.",
                    )
                return str(row["request_id"])
            db.execute(
                "INSERT INTO idempotency VALUES (?, ?, ?, ?, ?)",
                (request.account, key, body_hash, request.id, request.created),
            )
        self._accounts.reserve(db, request.account, request.id, request.credits)
        cursor = db.execute(
            "INSERT INTO requests (id, account, endpoint, input, credits, created) VALUES (?, ?, ?, ?, ?, ?)",
            (request.id, request.account, request.endpoint_id, text, request.credits, request.created),
        )
        request.seq = cursor.lastrowid or 0
        return None

    async def find(self, account: Account, request_id: str) -> Request:
        """A request of this account; raises not found for those of other accounts too."""
        request = self._live.get(request_id) or self._done.get(request_id) or await self._load_finished(request_id)
        if request is None or request.account != account.name:
            raise Refusal("not_found", f"There is no request {request_id[:100]!r} of this account.")
        return request

    async def read_input(self, request: Request) -> dict[str, Any]:
        """The input of a request, read from disk because it can contain a complete picture."""
        query = "SELECT input FROM requests WHERE id = ?"
        row = await self._store.run(lambda db: db.execute(query, (request.id,)).fetchone())
        return dict(json.loads(row["input"]))

    def position(self, request: Request) -> int:
        """How many requests are ahead of this one."""
        return bisect.bisect_left(self._waiting, request.seq)

    @property
    def waiting(self) -> int:
        """The number of waiting requests."""
        return len(self._waiting)

    async def wait_for_request(self) -> None:
        """Wait until a request is waiting."""
        while not self._waiting:
            self._has_waiting.clear()
            await self._has_waiting.wait()

    async def pop_next(self) -> Request:
        """Wait for the next request, and mark it as in progress."""
        await self.wait_for_request()
        request = self._by_seq.pop(self._waiting.pop(0))
        self._waiting_by_account[request.account] -= 1
        request.status, request.attempts = IN_PROGRESS, request.attempts + 1
        request.started = self._clock()
        request.notify_watchers()
        return request

    def requeue(self, request: Request) -> None:
        """Put a request whose worker crashed back at its previous position."""
        request.status, request.progress, request.stage, request.started = IN_QUEUE, 0.0, "", None
        request.log(self._clock(), "The worker died; the run starts again, free of charge.", "WARNING", "service")
        self._wait(request)

    async def cancel(self, request: Request) -> str:
        """Cancel a request: at once while it waits, soon while it runs. Returns which, as in the API."""
        if request.status == COMPLETED:
            return "ALREADY_COMPLETED"
        if request.status == IN_QUEUE:
            self._stop_waiting(request)
            request.status = IN_PROGRESS  # No worker may take it during the commit.
            await asyncio.shield(asyncio.ensure_future(self.finish(request, error=cancellation_error())))
            return "CANCELLED"
        request.cancelling = True
        # Durable: a service that stops now must not run it again at its next start.
        change = "UPDATE requests SET cancelling = 1 WHERE id = ? AND finished IS NULL"
        marked = await self._store.run(lambda db: db.execute(change, (request.id,)).rowcount)
        return "CANCELLATION_REQUESTED" if marked else "ALREADY_COMPLETED"

    async def finish(
        self,
        request: Request,
        *,
        output: dict[str, Any] | None = None,
        error: dict[str, Any] | None = None,
        in_commit: Callable[[sqlite3.Connection], object] = lambda db: None,
        after_commit: Callable[[], object] = lambda: None,
    ) -> None:
        """End a request: commit its outcome, its credits and its files in one transaction.

        `in_commit` runs in that transaction, if the request succeeds. `after_commit` is called after it, before the
        end of the request becomes visible.
        """
        finished = self._clock()
        request.output, request.error = output, error

        def commit(db: sqlite3.Connection) -> None:
            row = db.execute(
                "SELECT cancelling FROM requests WHERE id = ? AND finished IS NULL", (request.id,)
            ).fetchone()
            if row is None:
                return
            if row["cancelling"]:
                # It was cancelled while its files were stored; a confirmed cancellation is not charged.
                request.output, request.error = None, cancellation_error()
            db.execute(
                "UPDATE requests SET finished = ?, record = ? WHERE id = ?", (finished, request.record(), request.id)
            )
            move = self._accounts.refund if request.error else self._accounts.settle
            move(db, request.account, request.id, request.credits)
            if not request.error:
                in_commit(db)

        await self._store.run(commit)
        after_commit()
        request.finished, request.status = finished, COMPLETED
        self._live.pop(request.id, None)
        self._cache(request)
        request.notify_watchers()

    def _add(self, request: Request) -> None:
        self._live[request.id] = request
        self._wait(request)

    def _wait(self, request: Request) -> None:
        bisect.insort(self._waiting, request.seq)
        self._by_seq[request.seq] = request
        self._waiting_by_account[request.account] = self._waiting_by_account.get(request.account, 0) + 1
        self._has_waiting.set()
        request.notify_watchers()

    def _stop_waiting(self, request: Request) -> None:
        del self._waiting[bisect.bisect_left(self._waiting, request.seq)]
        del self._by_seq[request.seq]
        self._waiting_by_account[request.account] -= 1

    def _cache(self, request: Request) -> None:
        if len(request.record()) > MAX_CACHED_CHARS:
            return
        self._done[request.id] = request
        if len(self._done) > MAX_CACHED:
            self._done.popitem(last=False)

    async def _load_finished(self, request_id: str) -> Request | None:
        query = f"SELECT {COLUMNS}, finished, record FROM requests WHERE id = ? AND finished IS NOT NULL"
        row = await self._store.run(lambda db: db.execute(query, (request_id,)).fetchone())
        if row is None:
            return self._live.get(request_id)
        facts = dict(row)
        record = json.loads(facts.pop("record"))
        request = Request(**facts, status=COMPLETED, **record)
        self._cache(request)
        return request


def cancellation_error() -> dict[str, Any]:
    """The error of a request that was cancelled."""
    return {"error_type": "cancelled", "detail": "The request was cancelled; its credits were given back."}
