"""From an input to a run that the service has accepted: found in the library, or claimed, paid for once, and written down."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import sqlite3
import time
import uuid
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from ..errors import LibraryError, ReelbookError, ServiceError, TooManyRequests, UncertainRun
from ..models.base import Input
from ..models.catalog import endpoint_for, is_reusable
from ..models.pricing import Estimate
from ..storage.ledger import claims, crash_recovery, known_services, transitions
from ..storage.ledger.claims import Asked, Budget, Spend, Verdict
from ..storage.ledger.transitions import Entry
from ..storage.ledger.writer import Ledger
from ..storage.run_identity import canonical, dumps, identity
from ..storage.shelf import Shelf
from ..transport.downloads.downloader import Downloads
from ..transport.http import Http
from ..transport.picture_sources import Source, read_sources, sendable
from ..transport.polling.poller import Watcher
from ..transport.service_calls import Accepted, ServiceCalls
from ..transport.uploads import Uploads
from ..transport.wait_notes import Waits, waits
from ..util.background_loop import TICK_SECONDS

PATIENCE_SECONDS = 120.0
"""How long a service may say "later" to one run."""
RECORD_SECONDS, OTHERS_SECONDS, NOTICE_SECONDS = 2.0, 0.05, 1.0

log = logging.getLogger("reelbook")

T = TypeVar("T")


@dataclass
class ClientContext:
    """All that the runs of one client need: the service, the ledger, the shelf, and somebody who watches."""

    http: Http
    calls: ServiceCalls
    ledger: Ledger
    shelf: Shelf
    watcher: Watcher
    downloads: Downloads
    service: str | None = None
    """The name of the service in the ledger; found out when it is first needed."""
    place: str | None = None
    """The address that finds this name, for a service that is not the embedded one."""
    uploads: Uploads = field(default_factory=Uploads)
    start: Callable[[Input], Any] = field(default=lambda request: None)
    """Starts another run with the same client."""
    stopping: bool = False
    """Nothing more is sent; what is under way is finished."""
    in_flight: dict[int, Entry] = field(default_factory=dict)
    """The runs whose paid request has left and whose answer is not written down yet, by their number."""
    closed: bool = False
    wanted: set[int] = field(default_factory=set)
    """The runs of sweeps that go on: they are not cancelled along with others."""
    _prices: dict[str, Estimate] = field(default_factory=dict)
    _sending: set[asyncio.Task[Any]] = field(default_factory=set)

    async def name(self) -> str:
        """What the ledger calls the service, which is known by any id that it told and by its address."""
        if self.service is None:
            nature, address = await self.calls.nature(), self.calls.base_url
            lasts = known_services.is_loopback(address) and await self.calls.keeps_its_id()
            self.place = known_services.place_of(address)
            self.service = await self.ledger.do(
                partial(known_services.name_of, address=address, id=nature.id, lasts=lasts)
            )
        return self.service

    async def estimate(self, request: Input) -> Estimate:
        """What a run costs; asked once for all runs that differ in seed and words only."""
        row = endpoint_for(request)
        shape = dumps([request.endpoint_id, _priced(request.wire(), row.priceless if row else ())])
        if shape not in self._prices:
            self._prices[shape] = await self.calls.estimate(request)
        return self._prices[shape]

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """A task that goes on when its caller stops waiting: what is being paid for is never dropped half way."""
        task = asyncio.get_running_loop().create_task(work)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)
        return task

    async def drained(self, seconds: float) -> None:
        """Wait for what is being sent."""
        if self._sending:
            await asyncio.wait(set(self._sending), timeout=seconds)

    async def stopped(self, seconds: float) -> None:
        """Send nothing more, and wait until the answers to what has left are written down."""
        self.stopping = True
        deadline = time.monotonic() + seconds
        while self.in_flight and (left := deadline - time.monotonic()) > 0:
            if self._sending:
                await asyncio.wait(set(self._sending), timeout=left, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.sleep(TICK_SECONDS)
        # The others notice by themselves that they are not to leave.
        await self.drained(NOTICE_SECONDS)

    async def close(self, seconds: float) -> None:
        """Let what is being sent arrive, stop following, and hang up."""
        await self.stopped(seconds)
        self.closed = True
        followed = [run for run in self.ledger.live.values() if run.belongs_to(self)]
        for run in followed:
            run.let_go()
        for run in followed:
            await run.finished()
        await self.watcher.close()
        await self.downloads.close()
        await self.http.close()

    async def record(self, work: Callable[[Any], Any], *, line: Mapping[str, Any] | None = None) -> None:
        """Write down what has already happened at the service; a full disk delays it, and never loses it."""
        told = False
        while True:
            try:
                await self.ledger.do(work, line=line)
                return
            except transitions.Moved:
                return  # Somebody else has written down more than this.
            except LibraryError as error:
                if self.closed:
                    return
                if (gone := self.ledger.gone()) is not None:
                    raise gone from None
                if not told:
                    request = f" Request {line['request_id']} is accepted and cannot be written down." if line else ""
                    log.warning("The library cannot be written (%s); trying on.%s", error.reason, request)
                    told = True
                await asyncio.sleep(RECORD_SECONDS)


@dataclass
class Submission:
    """One run on its way to the service."""

    context: ClientContext
    request: Input
    take: int | None = None
    fresh: bool = False
    join: bool = True
    budget: Budget | None = None
    spend: Spend | None = None
    price: int | None = None
    """A person's word for what one run costs at most; it stands in for the catalog's price."""
    stopped: bool = False
    """Set when a person says stop: nothing is sent from then on."""
    after: asyncio.Event | None = None
    """Set when the one before it has taken its part of a limit, so that the money goes to runs in their order."""
    chosen: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it has taken its part, or needs none."""
    waits: Waits = field(default_factory=Waits)
    """What it waits for before it asks the service again."""
    _claimed: int | None = None
    _sends: int = 0
    told: int | None = None
    """What the service says that the run costs."""
    _asked: Asked | None = None
    _sources: Mapping[Any, Source] = field(default_factory=dict)

    async def done(self) -> tuple[Verdict, Accepted | None]:
        """What became of it: the row with what is to be done about it, and the service's answer if it was sent just now.

        The row counts as claimed until `released`, so that nobody else in this process takes it up meanwhile.
        """
        ledger, since, refusals = self.context.ledger, time.monotonic(), 0
        waits.set(self.waits)
        while True:
            verdict = await self._chosen()
            entry = verdict.entry
            if verdict.do == "ask":
                why = entry.error or "its answer was lost"
                raise UncertainRun(entry.service, f"run {entry.id} of the library: {why}", entry.price)
            if verdict.do == "send":
                try:
                    return verdict, await self._sent(entry)
                except TooManyRequests as error:
                    pause, refusals = _later(error, refusals), refusals + 1
                    if self.stopped or time.monotonic() + pause - since > PATIENCE_SECONDS:
                        raise
                    with self.waits.noted(error, pause):
                        await self._rest(pause)
            elif verdict.do == "join" and entry.id not in ledger.live:
                if entry.id in ledger.claimed:
                    await asyncio.sleep(OTHERS_SECONDS)  # Another thread of this process is sending it.
                else:
                    await ledger.do(partial(crash_recovery.broken_off, run=entry.id))
            elif verdict.do == "await" and entry.request_id is None:
                await asyncio.sleep(OTHERS_SECONDS)  # Another process is sending it.
            else:
                return verdict, None
            # From here on it is about this very row, whatever becomes of it.
            self.take, self.fresh = entry.take, False

    @property
    def least(self) -> int:
        """What it counts for at least, whatever the service says."""
        return 0 if self._asked is None else self._asked.least or 0

    @property
    def is_paid_here(self) -> bool:
        """Whether this very submission has claimed the run, and no earlier one or another process."""
        return self._claimed is not None

    def released(self) -> None:
        """What it claimed is in other hands now."""
        self.context.ledger.claimed.discard(self._claimed or 0)

    async def _rest(self, seconds: float) -> None:
        """Pause, unless somebody says stop."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and not (self.stopped or self.context.stopping):
            await asyncio.sleep(min(left, TICK_SECONDS))

    async def _chosen(self) -> Verdict:
        asked = self._asked = self._asked or await self._prepared()
        if self.after is not None:
            await self.after.wait()
        self._check_stopped()
        key = str(uuid.uuid4()) if asked.idempotent else None
        ledger = self.context.ledger

        def choose(db: sqlite3.Connection) -> Verdict:
            verdict = claims.choose(
                db, asked, ledger, key=key, fresh=self.fresh, join=self.join, take=self.take, budget=self.budget,
                spend=self.spend,
            )  # fmt: skip
            if verdict.do == "send":
                # In the same breath, so that nobody of this process sees it claimed and forgotten.
                self._claimed = verdict.entry.id
                ledger.claimed.add(verdict.entry.id)
            return verdict

        verdict = await ledger.do(choose)
        self.chosen.set()
        return verdict

    async def _prepared(self) -> Asked:
        context, request = self.context, self.request
        service = await context.name()
        self._sources = await read_sources(request, library=context.shelf.find)
        text = canonical(request, {place: source.sha256 for place, source in self._sources.items()})
        name = identity(request.endpoint_id, text)
        reusable = is_reusable(request)
        price, least = self.price, self.price
        if not (reusable and not self.fresh and await self._is_stored(service, name)):
            price, least = await self._priced()
        offers = (await context.calls.nature()).features
        return Asked(
            service, name, request.endpoint_id, text, price, "idempotency" in offers, reusable, least, self.told
        )

    async def _priced(self) -> tuple[int | None, int | None]:
        """What the run counts for, and what it counts for at least: a service that says less lifts no ceiling."""
        estimate = await self.context.estimate(self.request)
        self.told = estimate.credits if estimate.source == "exact" else None
        least = estimate.catalog if self.price is None else self.price
        return max((price for price in (self.told, least) if price is not None), default=None), least

    async def _is_stored(self, service: str, name: str) -> bool:
        """Whether the library has it, so that its price need not be asked for."""
        return await self.context.ledger.do(
            lambda db: (
                db.execute(
                    "SELECT 1 FROM runs WHERE service = ? AND identity = ? AND state = 'stored'"
                    " AND (? IS NULL OR take = ?)",
                    (known_services.current(db, service), name, self.take, self.take),
                ).fetchone()
                is not None
            )
        )

    async def _sent(self, entry: Entry) -> Accepted:
        """The one paid call. Whatever comes of it is written down before anybody is told."""
        try:
            return await self._answered(entry)
        finally:
            self.context.in_flight.pop(entry.id, None)

    async def _answered(self, entry: Entry) -> Accepted:
        context, calls = self.context, self.context.calls
        self._sends = 0
        try:
            await asyncio.to_thread(self._keep_sources)
            body = entry.body or dumps(await sendable(calls, self.request, self._sources, uploads=context.uploads))
        except BaseException:
            await context.record(lambda db: transitions.unsent(db, entry.id))
            raise
        kept = body if entry.attempt_key else None
        is_repeat = entry.body is not None

        def leaves(db: sqlite3.Connection) -> None:
            # Looked at inside the step: what is written after a stop mark must have seen the stop.
            self._check_stopped()
            transitions.sending(db, entry.id, context.ledger.owner, kept, attempt=entry.attempt)
            context.in_flight[entry.id] = entry

        async def sending() -> None:
            await context.ledger.do(leaves)
            self._sends += 1

        try:
            accepted = await calls.run(
                entry.model, json.loads(body), credits=entry.price, idempotency_key=entry.attempt_key, sending=sending
            )
        except UncertainRun as error:
            if entry.attempt_key is not None:
                await context.record(lambda db: transitions.put_back(db, entry.id))
                raise UncertainRun(
                    error.address, error.reason, error.credits, repeatable=True, status=error.status
                ) from None
            reason = error.reason
            await context.record(lambda db: transitions.lost(db, entry.id, reason))
            raise
        except ServiceError as error:
            if is_repeat or self._sends > 1:
                # The repetition was refused, which does not say that the earlier call was.
                await context.record(lambda db: transitions.put_back(db, entry.id))
            else:
                kind, why = error.error_type, error.message
                await context.record(lambda db: transitions.rejected(db, entry.id, kind, why))
            raise
        except BaseException:
            await context.record(partial(self._broken_off, entry=entry))
            raise
        request_id = accepted.request_id or f"synchronous-{uuid.uuid4()}"
        named = calls.named(request_id)

        def accept(db: sqlite3.Connection) -> None:
            transitions.accepted(db, entry.id, request_id, accepted.credits)
            if named:
                known_services.keep_addresses(db, request_id, dumps(named))

        await context.record(accept, line=crash_recovery.acceptance(entry, request_id, context.place))
        return Accepted(request_id, accepted.output, accepted.credits, accepted.told)

    def _broken_off(self, db: sqlite3.Connection, entry: Entry) -> None:
        """The call ended without any answer: no connection, a stop, a ledger that could not be written."""
        if self._sends == 0:
            transitions.unsent(db, entry.id, never=True)
        elif entry.attempt_key is not None:
            transitions.put_back(db, entry.id)
        else:
            transitions.lost(db, entry.id, "the call was broken off")

    def _keep_sources(self) -> None:
        """Pictures of the input stay in the library, so that the same input can be made again from it."""
        for source in self._sources.values():
            if self.context.shelf.find(source.sha256) is None:
                self.context.shelf.keep(source.content, source.suffix)

    def _check_stopped(self) -> None:
        if self.stopped or self.context.stopping:
            raise ReelbookError("The run was stopped before it was sent: nothing was paid. Run it again when you like.")


def _priced(value: Any, priceless: Collection[str]) -> Any:
    """A value of an input without the fields that no price depends on."""
    if isinstance(value, dict):
        return {name: _priced(item, priceless) for name, item in value.items() if name not in priceless}
    if isinstance(value, list):
        return [_priced(item, priceless) for item in value]
    return value


def _later(error: TooManyRequests, attempt: int) -> float:
    """How long to wait before the next try; what the service says is the least."""
    told = error.facts.get("retry_after")
    floor = float(told) if isinstance(told, (int, float)) or (isinstance(told, str) and told.isdecimal()) else 0.0
    pause: float = min(0.5 * 2.0**attempt, 20.0) * random.uniform(0.5, 1.0)
    return floor + pause
