"""The queue of requests: stored at submission and at completion, and in memory in between."""

from __future__ import annotations

import asyncio
import bisect
import json
import sqlite3
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from operator import attrgetter
from typing import Any

from reelbook.models.queue_status import COMPLETED, IN_PROGRESS, IN_QUEUE

from . import spec_decisions
from .accounts import Account, Accounts
from .lanes import LOCAL, LaneTable, is_on_this_machine
from .refusals import Refusal
from .store import Store

MAX_PASSED = 4
"""How many times in succession the first waiting request may be passed over."""

COLUMNS = "seq, id, account, endpoint AS endpoint_id, credits, created, lane"
"""The columns of a request, by the names of the fields of `Request`."""


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


class WaitingList:
    """The waiting requests of one lane: accounts take turns, and those of one account are in the order of submission."""

    def __init__(self) -> None:
        self._by_account: dict[str, list[Request]] = {}
        """In the order of the turns; an account that begins to wait, or has had its turn, is the last."""
        self._has_some = asyncio.Event()
        self._passed = 0

    def add(self, request: Request) -> None:
        """Add a request at its place among those of its account."""
        bisect.insort(self._by_account.setdefault(request.account, []), request, key=attrgetter("seq"))
        self._has_some.set()

    def remove(self, request: Request) -> None:
        """Remove a waiting request."""
        waiting = self._by_account[request.account]
        waiting.remove(request)
        if not waiting:
            del self._by_account[request.account]

    def position(self, request: Request) -> int:
        """How many requests are ahead of this one."""
        own = self._by_account[request.account]
        index = bisect.bisect_left(own, request.seq, key=attrgetter("seq"))
        ahead, turns = 0, index + 1
        for waiting in self._by_account.values():
            if waiting is own:
                turns = index  # From here on, accounts have one turn less before this request.
            ahead += min(len(waiting), turns)
        return ahead

    def pop(self, prefer: Callable[[Request], bool] = lambda request: True) -> Request:
        """Remove and return the first request, or the first of another account that is preferred; it ends the turn of its account."""
        heads = [waiting[0] for waiting in self._by_account.values()]
        taken = heads[0] if self._passed >= MAX_PASSED else next(filter(prefer, heads), heads[0])
        self._passed = 0 if taken is heads[0] else self._passed + 1
        if waiting := self._by_account.pop(taken.account)[1:]:
            self._by_account[taken.account] = waiting
        return taken

    def count(self, account: str) -> int:
        """How many requests of an account wait."""
        return len(self._by_account.get(account, ()))

    def __iter__(self) -> Iterator[Request]:
        """The requests in the order in which they are taken."""
        turns = zip_longest(*self._by_account.values())
        return (request for turn in turns for request in turn if request is not None)

    async def wait(self) -> None:
        """Wait until a request is waiting."""
        while not self._by_account:
            self._has_some.clear()
            await self._has_some.wait()

    def __len__(self) -> int:
        return sum(map(len, self._by_account.values()))


class Queue:
    """All requests of a service. Used from the service's event loop only."""

    def __init__(
        self,
        store: Store,
        accounts: Accounts,
        clock: Callable[[], float],
        max_waiting: int,
        lanes: LaneTable | None = None,
    ) -> None:
        self._store, self._accounts, self._clock, self._max_waiting = store, accounts, clock, max_waiting
        self._lanes = lanes or LaneTable()
        self._live: dict[str, Request] = {}
        self.waiting = {name: WaitingList() for name in (LOCAL, *self._lanes.makers)}
        """The waiting requests of each lane."""

    def resume(self) -> None:
        """Queue the unfinished requests of an earlier process; each account's are in their order."""
        query = f"SELECT {COLUMNS}, cancelling FROM requests WHERE finished IS NULL ORDER BY seq"
        for row in self._store.submit(lambda db: db.execute(query).fetchall()).result():
            lane = self._lanes.resumed_lane(row["lane"], row["endpoint_id"])
            request = Request(**{**dict(row), "cancelling": bool(row["cancelling"]), "lane": lane})
            words = "The service was started again and takes this run up once more, free of charge."
            request.log(self._clock(), words, source="service")
            # Its lane may have sent it to a paid service, where it is paid for.
            request.may_be_sent = not is_on_this_machine(lane)
            if lane not in self.waiting:
                words = "The engine of this run is not set up at present; it waits until the service is started with it again."
                request.log(self._clock(), words, "WARNING", "service")
                self.waiting[lane] = WaitingList()
            self._add(request)

    async def submit(
        self,
        account: Account,
        endpoint_id: str,
        input: Mapping[str, Any],
        credits: int,
        idempotency: tuple[str, str] | None = None,
        resubmits: bool = False,
    ) -> Request:
        """Add a request and reserve its credits, or find the earlier one with the same idempotency key.

        `resubmits`: whether somebody wants it even if the answer to an equal one was lost.
        """
        is_full = sum(waiting.count(account.name) for waiting in self.waiting.values()) >= self._max_waiting
        lane = self._lanes.lane_of(endpoint_id)
        request = Request(0, str(uuid.uuid4()), account.name, endpoint_id, credits, 0.0, lane)
        text = json.dumps(input)

        def insert(db: sqlite3.Connection) -> str | None:
            request.created = self._clock()
            # A repeated call adds nothing to the queue; refusing it would hide that the first one was accepted.
            if idempotency is not None and (earlier := _find_earlier(db, request, *idempotency)):
                return earlier
            if is_full:
                raise Refusal(
                    "too_many_requests",
                    f"{self._max_waiting:,} requests of this account are waiting already. Wait until some have finished, then send this one again.",
                    headers={"Retry-After": str(spec_decisions.RETRY_AFTER_SECONDS)},
                )
            self._accounts.reserve(db, account, request)
            cursor = db.execute(
                "INSERT INTO requests (id, account, endpoint, input, credits, created, lane, resubmits) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (request.id, account.name, endpoint_id, text, credits, request.created, lane, resubmits),
            )
            request.seq = cursor.lastrowid or 0
            return None

        async def enter() -> str | None:
            if (earlier := await self._store.run(insert)) is None:
                self._add(request)
            return earlier

        # A separate task: a caller that disconnects must not leave a paid request that no worker gets.
        earlier = await asyncio.shield(asyncio.ensure_future(enter()))
        return request if earlier is None else await self.find(account, earlier)

    async def find(self, account: Account, request_id: str) -> Request:
        """A request of this account; raises not found for those of other accounts too."""
        request = self._live.get(request_id) or await self._load_finished(request_id)
        if request is None or request.account != account.name:
            raise Refusal("not_found", f"There is no request {request_id[:100]!r} of this account.")
        return request

    async def read_input(self, request: Request) -> dict[str, Any]:
        """The input of a request, read from disk because it can contain a complete picture."""
        query = "SELECT input FROM requests WHERE id = ?"
        row = await self._store.run(lambda db: db.execute(query, (request.id,)).fetchone())
        return dict(json.loads(row["input"]))

    def count_running(self) -> Counter[str]:
        """How many requests of each account are in progress."""
        return Counter(request.account for request in self._live.values() if request.status == IN_PROGRESS)

    def unfinished(self) -> list[Request]:
        """All requests that are in progress, then those that are queued, in the order in which they are taken."""
        queued = [request for waiting in self.waiting.values() for request in waiting]
        return [*(request for request in self._live.values() if request.status != IN_QUEUE), *queued]

    async def pop_next(self, lane: str = LOCAL, prefer: Callable[[Request], bool] = lambda request: True) -> Request:
        """Wait for the next request of a lane, and mark it as in progress.

        `prefer`: one of the next few for which it is true may go first.
        """
        await self.waiting[lane].wait()
        request = self.waiting[lane].pop(prefer)
        request.status, request.attempts = IN_PROGRESS, request.attempts + 1
        request.started = self._clock()
        return request

    def requeue(self, request: Request, reason: str = "The worker died") -> None:
        """Put a request whose worker crashed back, before the others of its account."""
        request.status, request.progress, request.stage, request.started = IN_QUEUE, 0.0, "", None
        request.log(self._clock(), f"{reason}; the run starts again, free of charge.", "WARNING", "service")
        self.waiting[request.lane].add(request)

    async def cancel(self, request: Request) -> str:
        """Cancel a request: at once while it waits, soon while it runs. Returns which, as in the API."""
        if request.status == COMPLETED:
            return "ALREADY_COMPLETED"
        if request.status == IN_QUEUE and not request.may_be_sent:
            self.waiting[request.lane].remove(request)
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
        charged: int | None = None,
        in_commit: Callable[[sqlite3.Connection], object] = lambda db: None,
    ) -> None:
        """End a request: commit its outcome, its credits and its files in one transaction.

        `charged`: the credits to charge, by the lane; without it a success is charged in full, and a failure or a
        cancellation not at all. `in_commit` runs in that transaction, if the request succeeds.
        """
        finished = self._clock()
        request.output, request.error, request.charged = output, error, charged

        def commit(db: sqlite3.Connection) -> None:
            query = "SELECT cancelling FROM requests WHERE id = ? AND finished IS NULL"
            if (row := db.execute(query, (request.id,)).fetchone()) is None:
                return
            if row["cancelling"] and charged is None:
                # It was cancelled while its files were stored; a confirmed cancellation is not charged.
                request.output, request.error = None, cancellation_error()
            db.execute(
                "UPDATE requests SET finished = ?, record = ?, error_type = ? WHERE id = ?",
                (finished, request.record(), request.error and request.error["error_type"], request.id),
            )
            self._accounts.settle(db, request, request.final_credits)
            if not request.error:
                in_commit(db)

        await self._store.run(commit)
        request.finished, request.status = finished, COMPLETED
        self._live.pop(request.id, None)

    def _add(self, request: Request) -> None:
        self._live[request.id] = request
        self.waiting[request.lane].add(request)

    async def _load_finished(self, request_id: str) -> Request | None:
        query = f"SELECT {COLUMNS}, finished, record FROM requests WHERE id = ? AND finished IS NOT NULL"
        row = await self._store.run(lambda db: db.execute(query, (request_id,)).fetchone())
        if row is None:
            return self._live.get(request_id)
        facts = dict(row)
        record = json.loads(facts.pop("record"))
        return Request(**facts, status=COMPLETED, **record)


def cancellation_error() -> dict[str, Any]:
    """The error of a request that was cancelled."""
    return {"error_type": "cancelled", "detail": "The request was cancelled; its credits were given back."}


def _find_earlier(db: sqlite3.Connection, request: Request, key: str, body_hash: str) -> str | None:
    """The id of the request that was sent with this idempotency key before; None notes that this is the first."""
    since = request.created - spec_decisions.IDEMPOTENCY_SECONDS
    db.execute("DELETE FROM idempotency WHERE at <= ?", (since,))
    query = "SELECT body_hash, request_id FROM idempotency WHERE account = ? AND key = ?"
    row = db.execute(query, (request.account, key)).fetchone()
    if row is None:
        values = (request.account, key, body_hash, request.id, request.created)
        db.execute("INSERT INTO idempotency VALUES (?, ?, ?, ?, ?)", values)
        return None
    if row["body_hash"] != body_hash:
        raise Refusal(
            "validation_error",
            "This Idempotency-Key was used for another body within the last 24 hours. Use a new key for a new request.",
        )
    return str(row["request_id"])
