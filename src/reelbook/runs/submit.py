"""Submit an input: reused from the library, or claimed, sent and paid for once, and recorded in the ledger."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import operator
import sqlite3
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from ..errors import LibraryError, ReelbookError, ServiceError, UncertainRun
from ..models.base import Input
from ..models.catalog import Estimate, Rates, is_reusable
from ..storage.ledger import claims, transitions
from ..storage.ledger.claims import Action, RunRequest, Verdict
from ..storage.ledger.schema import Budget, Spend
from ..storage.ledger.transitions import Entry, State
from ..storage.ledger.writer import Ledger
from ..storage.run_identity import dumps, format_canonical, make_identity, make_price_key
from ..storage.shelf import Shelf
from ..transport.answers import Accepted
from ..transport.downloader import Downloader
from ..transport.http import Http, Key
from ..transport.picture_sources import Source, build_request_input, read_sources
from ..transport.poller import Poller
from ..transport.service_calls import ServiceCalls
from ..util.loopback import is_loopback, normalise_address
from .run import OWNER_POLL_SECONDS, make_uncertain

RECORD_RETRY_SECONDS, MAX_RECORD_SECONDS = 5.0, 120.0
"""How often and how long the record of an answer is tried while the ledger cannot be written."""
PRICE_SECONDS = 3600.0
"""How long an estimate is reused: a gateway runs for months, and prices change."""

log = logging.getLogger("reelbook")

T = TypeVar("T")


class ClientContext:
    """What the runs of one client share: calls, ledger, shelf and poller, and the requests in flight."""

    def __init__(
        self,
        address: str,
        key: Key | None,
        ledger: Ledger,
        shelf: Shelf,
        *,
        service: str | None = None,
        renew: Callable[[], str] | None = None,
        rates: Rates | None = None,
    ) -> None:
        past = "model = ? AND state = 'stored' AND finished >= sent AND id > (SELECT max(id) - 320 FROM runs)"
        self.ledger, self.shelf = ledger, shelf
        self.http = Http(address, key, renew)
        self.calls = ServiceCalls(self.http, rates)
        self.poller = Poller(
            self.calls.poll, past=lambda model: [row[0] for row in ledger.select("finished - sent", past, [model])]
        )
        self.downloader = Downloader(shelf)
        self.service = service
        """Name of the service in the ledger; determined on first use."""
        self.stopping = self.closed = False
        """Whether sending has stopped, and whether the requests in flight are completed, too."""
        self.in_flight: dict[int, Entry] = {}
        """Runs whose paid request is sent and whose answer is not recorded yet, by id."""
        self.sweep_runs: set[int] = set()
        """Ids of the runs of active sweeps, which `cancel_queued` skips."""
        self._prices: dict[str, tuple[Estimate, float]] = {}
        """Estimates with their times, each for all inputs that differ only in what does not affect the price."""
        self._sending: set[asyncio.Task[Any]] = set()

    async def name(self) -> str:
        """The service's name in the ledger: its address, or the id of one of Reelbook's own on this machine.

        Such a one keeps its id with its data, and another one may get its port.
        """
        if self.service is None:
            address = self.calls.base_url
            words = normalise_address(address)
            own_id = (await self.calls.service_info(required=True)).id if is_loopback(address) else None
            self.service = await self.ledger.transact(lambda db: claims.name_service(db, words, own_id))
        return self.service

    async def estimate(self, request: Input) -> Estimate:
        """Estimate the cost of a run, with one request an hour for all inputs that differ only in price-neutral fields."""
        key = make_price_key(request)
        estimate, asked = self._prices.get(key, (None, 0.0))
        if estimate is None or time.monotonic() - asked > PRICE_SECONDS:
            estimate = await self.calls.estimate(request)
            self._prices[key] = estimate, time.monotonic()
        return estimate

    def create_task(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Create a task that continues if its caller stops waiting, so that no paid request is dropped."""
        task = asyncio.get_running_loop().create_task(work)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)
        return task

    async def close(self, seconds: float) -> None:
        """Stop sending, wait until the answers to sent requests are recorded, stop following runs, and close all connections."""
        self.stopping = True
        deadline = time.monotonic() + seconds
        while self.in_flight and time.monotonic() < deadline:
            await asyncio.sleep(OWNER_POLL_SECONDS)
        if self._sending:  # Those not yet sent notice the stop themselves.
            await asyncio.wait(set(self._sending), timeout=1.0)
        self.closed = True
        followed = [run for run in self.ledger.live.values() if run.context is self]
        for run in followed:
            run.stop_following()
        for run in followed:
            await run.wait_finished()
        await self.downloader.close()
        await self.http.close()

    async def record(
        self, run: int, work: Callable[[sqlite3.Connection], object], *, line: Mapping[str, Any] | None = None
    ) -> Entry:
        """Record an event of a run at the service, and return the run's row as it is then.

        It is tried again while the ledger cannot be written, as on a full disk.
        """

        def write(db: sqlite3.Connection) -> Entry:
            with contextlib.suppress(transitions.Moved):  # Another process has recorded a later state.
                work(db)
            return transitions.get_entry(db, run)

        note = "" if line is None else f"Note this request: rb.attach({line['request_id']!r}, model={line['model']!r})."
        began = time.monotonic()
        while True:
            try:
                return await self.ledger.transact(write, line=line)
            except LibraryError as error:
                if self.closed or time.monotonic() - began > MAX_RECORD_SECONDS:
                    raise LibraryError(error.folder, error.reason, f"{note} {error.advice}".strip()) from None
                log.warning("The library cannot be written (%s); trying on. %s", error.reason, note)
            await asyncio.sleep(RECORD_RETRY_SECONDS)


async def identify(request: Input, shelf: Shelf) -> tuple[Mapping[Any, Source], str, str]:
    """The pictures of an input, its canonical text, and the identity of its runs."""
    sources = await read_sources(request, library=shelf.find)
    text = format_canonical(request, {place: source.sha256 for place, source in sources.items()})
    return sources, text, make_identity(request.endpoint_id, text)


@dataclass
class Submission:
    """Submission of one run to the service."""

    context: ClientContext
    request: Input
    take: int | None = None
    fresh: bool = False
    join: bool = True
    budget: Budget | None = None
    spend: Spend | None = None
    price: int | None = None
    """The caller's maximum price of one run; it replaces the catalog's price."""
    name: str | None = None
    """The name of the run in the ledger, which no other run has; it stands for the take."""
    budget_turn: asyncio.Event | None = None
    """Set when the previous submission has claimed its share of the limits, so that credits are assigned in order."""
    budget_taken: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when this submission has claimed its share of the limits, or needs none."""
    stopped: bool = False
    """Set by an interrupt or a stop, after which nothing is sent."""
    claimed: int | None = None
    """The run that it has claimed; None for one of an earlier submission, or of another process."""
    _sends: int = 0
    _sources: Mapping[Any, Source] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.take is not None:
            self.take = operator.index(self.take)  # The library stores no number of numpy.
            if not 0 <= self.take <= 2**53:
                raise ReelbookError(f"`take` is a whole number from 0, and not {self.take}. Nothing was sent.")

    async def submit(self) -> tuple[Verdict, Accepted | None]:
        """Find or send the run; return its ledger row with the action taken, and the service's answer if sent now.

        The row remains claimed until `release`, so that no other submission of this process takes it over.
        """
        ledger = self.context.ledger
        run_request = await self.prepare()
        while True:
            verdict = await self.claim(run_request)
            action, entry = verdict
            if action == Action.ASK:
                raise make_uncertain(entry)
            if action == Action.SEND:
                entry, answer = await self.send(entry)
                return Verdict(action, entry), answer
            if action == Action.JOIN and entry.id not in {*ledger.live, *ledger.claimed}:
                await ledger.transact(partial(transitions.release, run=entry.id, owner=ledger.owner))
            elif (action == Action.JOIN and entry.id not in ledger.live) or (
                action == Action.AWAIT and entry.request_id is None
            ):
                await asyncio.sleep(OWNER_POLL_SECONDS)  # Another thread or process is sending it.
            else:
                return verdict, None
            # From here on, only this row is considered.
            run_request = replace(run_request, take=entry.take, fresh=False)

    async def prepare(self) -> RunRequest:
        """Read the pictures, name the run by its input, and find its price."""
        context, request = self.context, self.request
        service = await context.name()
        self._sources, text, identity = await identify(request, context.shelf)
        take, reusable, price, is_idempotent = self.take, is_reusable(request), None, False

        def find_stored(db: sqlite3.Connection) -> list[Entry]:
            where = "service = ? AND identity = ? AND (? IS NULL OR take = ?) AND state = 'stored'"
            return transitions.find_entries(db, where, service, identity, take, take)

        # One that was refused a moment ago is sent again as the same take.
        is_new = self.fresh and self.claimed is None
        # A result of the library needs nothing of the service, which may not answer.
        is_wanted_again = not reusable or self.fresh or self.name is not None
        if is_wanted_again or not await context.ledger.transact(find_stored):
            estimate = await context.estimate(request)
            # The model's own price, or the caller's, holds even if the service states less.
            prices = (
                estimate.credits if estimate.source == "exact" else None,
                estimate.catalog if self.price is None else self.price,
            )
            price = max((price for price in prices if price is not None), default=None)
            is_idempotent = "idempotency" in (await context.calls.service_info()).features
        return RunRequest(
            service, identity, request.endpoint_id, text, price, is_idempotent, reusable,
            take=take, fresh=is_new, join=self.join, name=self.name, budget=self.budget, spend=self.spend,
        )  # fmt: skip

    async def claim(self, run_request: RunRequest) -> Verdict:
        """Find or claim the row of the run in one transaction, with its share of the limits."""
        if self.budget_turn is not None:
            await self.budget_turn.wait()
        self._check_stopped()
        ledger = self.context.ledger

        def find_or_claim(db: sqlite3.Connection) -> Verdict:
            verdict = claims.find_or_claim(db, run_request, ledger)
            if verdict.action == Action.SEND:
                # In the same transaction, so that no other thread of this process treats the claim as abandoned.
                self.claimed, self.take = verdict.entry.id, verdict.entry.take
                ledger.claimed.add(verdict.entry.id)
            return verdict

        verdict = await ledger.transact(find_or_claim)
        self.budget_taken.set()
        return verdict

    async def send(self, entry: Entry) -> tuple[Entry, Accepted]:
        """Send the paid request; its outcome is recorded before it is returned, with the new row, or raised."""
        context, accepted = self.context, None
        self._sends = 0
        try:
            # That of the first attempt, if it is repeated with its key.
            body = await self._make_body() if entry.body is None else entry.body
            accepted = await context.calls.run(
                entry.model,
                json.loads(body),
                credits=entry.price,
                idempotency_key=entry.attempt_key,
                resubmits=self.fresh or entry.error_type == transitions.RESUBMITTED,
                before_send=partial(self._mark_sending, entry, body),
            )
            return await self._record_accepted(entry, accepted)
        except BaseException as error:
            if accepted is None:
                await context.record(entry.id, partial(self._record_failure, entry=entry, error=error))
            raise
        finally:
            context.in_flight.pop(entry.id, None)

    def release(self) -> None:
        """Release the claim within this process, once the run is followed or abandoned."""
        self.context.ledger.claimed.discard(self.claimed or 0)

    async def _make_body(self) -> str:
        """The input as it is sent; its pictures are stored on the shelf, so that the library can reconstruct it."""
        shelf = self.context.shelf
        for source in self._sources.values():
            if shelf.find(source.sha256) is None:
                await asyncio.to_thread(shelf.keep, source.content, source.suffix)
        return dumps(await build_request_input(self.context.calls, self.request, self._sources))

    async def _mark_sending(self, entry: Entry, body: str) -> None:
        """Record that the request is about to be sent: on disk before its first byte leaves."""
        context, stored_body = self.context, body if entry.attempt_key else None

        def mark_sending(db: sqlite3.Connection) -> None:
            # Checked inside the transaction: nothing may be marked as sent after a stop was recorded.
            self._check_stopped()
            transitions.mark_sending(db, entry.id, context.ledger.owner, stored_body, attempt=entry.attempt)
            context.in_flight[entry.id] = entry

        await context.ledger.transact(mark_sending)
        self._sends += 1

    async def _record_accepted(self, entry: Entry, accepted: Accepted) -> tuple[Entry, Accepted]:
        request_id = accepted.request_id or f"synchronous-{uuid.uuid4()}"
        recorded = await self.context.record(
            entry.id,
            lambda db: transitions.mark_accepted(db, entry.id, request_id, accepted.credits),
            line=claims.make_acceptance(entry, request_id),
        )
        return recorded, replace(accepted, request_id=request_id)

    def _record_failure(self, db: sqlite3.Connection, entry: Entry, error: BaseException) -> None:
        """Record what an error means for the run: not sent, refused, to be repeated with its key, or uncertain."""
        run, is_repeat, is_unsent = entry.id, entry.body is not None or self._sends > 1, self._sends == 0
        if isinstance(error, ServiceError) and not (is_repeat or is_unsent):
            # The refusal of a repetition would not imply that the earlier request was refused.
            transitions.move(db, run, State.REJECTED, error_type=error.error_type, error=error.message)
        elif is_unsent or entry.attempt_key is not None:
            transitions.release(db, run, self.context.ledger.owner, unsent=is_unsent)
        else:
            reason = error.reason if isinstance(error, UncertainRun) else "the call was broken off"
            transitions.move(db, run, State.UNCERTAIN, error_type="uncertain", error=reason)

    def _check_stopped(self) -> None:
        if self.stopped or self.context.stopping:
            raise ReelbookError(
                "The run was stopped before it was sent, so nothing was charged. Run it again if you still want it."
            )
