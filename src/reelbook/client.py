"""Client: one connection to a service, hosted or embedded, backed by one library."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from .errors import Interrupted, NotFound, ReelbookError, TooManyRequests, UnknownModel
from .models.base import Input
from .models.catalog import Estimate, Rates, find_endpoint
from .models.described import describe
from .runs.run import Run, cancel_runs, input_from_entry, is_over
from .runs.submit import ClientContext, Submission
from .storage.ledger import claims, transitions
from .storage.ledger.transitions import Entry
from .storage.ledger.writer import FORKED, Ledger, translate_errors
from .storage.library_folder import find_library, library_folder, parse_folder
from .storage.shelf import Shelf, open_shelf
from .transport.answers import get_pause
from .transport.http import Key
from .util import registry
from .util.background_loop import TICK_SECONDS, background
from .util.notebook import get_kernel_shell
from .util.printable import readable_id

if TYPE_CHECKING:
    from reelbook_service.embedded import Embedded

    from .storage.library import Library

CALL_SECONDS = 120.0
BUSY_SECONDS = 30.0
"""How long a single run waits, and tries again, where the service limits the rate of requests; a sweep waits longer."""
DRAIN_SECONDS = 15.0
"""How long the answers to paid requests are waited for when a client is closed."""


class Models(list[Mapping[str, Any]]):
    """The models of a service, each with its id and other fields that the service reports; a table in a notebook."""


class Client:
    """A connection to one service, backed by one library. Its methods block; its runs can be awaited.

    Example::

        with rb.connect(library="films") as client:
            run = client.run(boat)
    """

    def __init__(
        self,
        address: str | None,
        key: Key | None,
        library: Path,
        rates: Rates | None = None,
        shelf: str | None = None,
        models: str | Path | None = None,
    ) -> None:
        self.library = library
        self.is_finished = False
        """Whether the client is closed and has released its library."""
        self._ending: Future[None] | None = None
        """Done when no submission is in progress any more; None while the client is open."""
        self._embedded: Embedded | None = None
        self._described: dict[str, type[Any]] = {}
        self._guard, self._pid, name = threading.Lock(), os.getpid(), None
        with contextlib.ExitStack() as opened:
            if address is None:
                # The only import of the service by the toolkit, for those who connect to no other one.
                from reelbook_service import embedded

                with translate_errors(library):
                    self._embedded = embedded.open(library, rates, models)
                    opened.callback(self._embedded.close)
                    access = self._embedded.address()
                address, key, name = access.base_url, Key(access.key), access.id
            ledger = self.ledger = Ledger.acquire(library)
            opened.callback(ledger.release)
            self.shelf = open_shelf(shelf or os.getenv("REELBOOK_SHELF") or library / "media")
            renew = None
            if (service := self._embedded) is not None:
                ledger.submit(partial(claims.name_service, address=service.maker, own_id=name))
                renew = lambda: service.address().base_url  # noqa: E731
            self._context = ClientContext(address, key, ledger, self.shelf, service=name, renew=renew, rates=rates)
            self._opened = opened.pop_all()

    @property
    def base_url(self) -> str:
        """The URL of the service; an embedded one can move to another port."""
        return self._context.calls.base_url

    @property
    def is_open(self) -> bool:
        """Whether the client may still send requests."""
        return self._ending is None

    @property
    def is_embedded(self) -> bool:
        """Whether the client uses the embedded service of its library, without a key and at no cost."""
        return self._embedded is not None and self._embedded.is_free

    @property
    def context(self) -> ClientContext:
        """What this client's runs share, as long as it is open."""
        if self._pid != os.getpid():
            raise ReelbookError(FORKED)
        if self._ending is not None:
            raise ReelbookError("This client is closed. Open another one with rb.connect().")
        return self._context

    @property
    def in_flight(self) -> list[int]:
        """The runs whose paid requests this process has sent without an answer so far, by number."""
        return list(self._context.in_flight) if self._pid == os.getpid() else []

    @property
    def service(self) -> str:
        """The name of its service in the library."""
        return background.wait(self._context.name(), CALL_SECONDS)

    def check_key(self) -> None:
        """Raise `Unauthorized` if the service does not know the key."""
        background.wait(self.context.calls.check_key(), CALL_SECONDS)

    def account(self) -> Mapping[str, Any]:
        """The account's credits and permissions, as reported by the service."""
        return background.wait(self.context.calls.account(), CALL_SECONDS)

    def models(self) -> Models:
        """The models that the service lists."""
        return Models(background.wait(self.context.calls.models(), CALL_SECONDS))

    def features(self) -> frozenset[str]:
        """The features that the service offers beyond the specification."""
        return background.wait(self.context.calls.service_info(), CALL_SECONDS).features

    def estimate(self, request: Input) -> Estimate:
        """The cost of a run; nothing is sent to a model and nothing is charged."""
        return background.wait(self.context.calls.estimate(check_input(request)), CALL_SECONDS)

    def model(self, endpoint_id: str) -> type[Any]:
        """The input class of any model that the service describes; its description is asked for once."""
        endpoint_id = str(endpoint_id).strip()
        known = find_endpoint(endpoint_id)
        if known is None and endpoint_id not in self._described:
            self._described[endpoint_id] = background.wait(self._describe(endpoint_id), CALL_SECONDS)
        return known.input if known else self._described[endpoint_id]

    def start(self, request: Input, *, fresh: bool = False, take: int | None = None, watched: bool = False) -> Run:
        """Submit a run and return once the service has accepted it; a result in the library is reused at no cost.

        `fresh=True` pays for a new run nevertheless; `take` selects one of several repetitions. A run that is `watched` by
        the user is polled more often.
        """
        submission = Submission(self.context, check_input(request), take=take, fresh=fresh, join=False)
        return self._submit_and_wait(submission, watched=watched)

    def run(self, request: Input, *, fresh: bool = False, take: int | None = None) -> Run:
        """Submit a run and wait until its media are downloaded, with progress in a notebook."""
        submission = Submission(self.context, check_input(request), take=take, fresh=fresh)
        run = self._submit_and_wait(submission, watched=get_kernel_shell() is not None)
        try:
            with registry.find("watch")(run):
                run.wait()
        except KeyboardInterrupt:
            self._mark_stop("while waiting")
            raise Interrupted(run.resume_hint) from None
        return run

    def attach(self, request_id: str, *, model: str | None = None) -> Run:
        """Return a run that was submitted earlier or on another machine; `model` is required if the library does not know it."""
        return background.wait(self.attach_run(str(request_id), model), CALL_SECONDS)

    async def attach_run(self, request_id: str, model: str | None) -> Run:
        """Like `attach`, for callers on the background loop."""
        context, ledger = self.context, self.ledger
        service = await context.name()
        where = "service = ? AND request_id = ?"
        known = await ledger.transact(lambda db: transitions.find_entries(db, where, service, request_id))
        model = model or (known[0].model if known else None)
        if model is None:
            raise ReelbookError(
                f"This library does not know the request {request_id!r}, so its model must be named: rb.attach({request_id!r}, model=…)."
            )
        if not known:
            # Polled before it is recorded, so that a misspelt id leaves no entry.
            await context.calls.poll(model, request_id)
        verdict = await ledger.transact(lambda db: claims.attach(db, service, model, request_id, ledger))
        if verdict.action == claims.Action.JOIN and verdict.entry.id in ledger.live:
            return cast(Run, ledger.live[verdict.entry.id])
        return Run(context, verdict.entry, owned_elsewhere=verdict.action == claims.Action.AWAIT)

    def cancel_queued(self) -> str:
        """Cancel the queued runs, except those of active sweeps and of other open notebooks, and say what came of it."""
        context, ledger = self.context, self.ledger

        async def cancel() -> str:
            service = await context.name()
            where = "service = ? AND stage = 'accepted' AND (owner IS NULL OR owner = ?) ORDER BY id"
            entries = await ledger.transact(lambda db: transitions.find_entries(db, where, service, ledger.owner))
            free = [entry for entry in entries if entry.id not in context.sweep_runs]
            return await cancel_runs([await self.attach_run(entry.request_id or "", entry.model) for entry in free])

        return background.wait(cancel(), CALL_SECONDS)

    def resolve(self, entry: Entry, request_id: str) -> Run:
        """Resolve an uncertain run of the library as this request, and return it."""
        context = self.context_for(entry)

        async def resolved() -> Run:
            await context.calls.status(entry.model, request_id)  # Polled first, so that a misspelt id changes nothing.
            ours = await context.ledger.transact(
                lambda db: transitions.resolve(db, entry.id, request_id, context.ledger.owner)
            )
            return Run(context, ours)

        return background.wait(resolved(), CALL_SECONDS)

    def resend(self, entry: Entry) -> Run:
        """Send an uncertain run of the library once more; the possible cost of the lost request stays counted."""
        context = self.context_for(entry)
        request = input_from_entry(entry) or self.model(entry.model)(**json.loads(entry.input))
        self.ledger.transact_now(lambda db: transitions.allow_resubmission(db, entry.id))
        return self._submit_and_wait(Submission(context, request, take=entry.take))

    async def submit_run(self, submission: Submission, *, watched: bool = False) -> Run:
        """Submit on the background loop and return the run, for callers that start many at once."""
        try:
            (action, entry), answer = await submission.submit()
            if action == claims.Action.JOIN:
                return cast(Run, self.ledger.live[entry.id])
            return Run(
                self._context, entry, input=submission.request, answer=answer, owned_elsewhere=action == claims.Action.AWAIT,
                watched=watched,
            )  # fmt: skip
        finally:
            submission.release()

    def context_for(self, entry: Entry) -> ClientContext:
        """What runs share, for one that has to be of this client's service."""
        if (service := self.service) != entry.service:
            raise ReelbookError(
                f"Run {entry.id} of the library belongs to the service {entry.service}, and this client talks to {service}. "
                "Connect to that service first."
            )
        return self.context

    def close(self) -> None:
        """Close the client, so that it is no longer the current one. Runs continue at the service.

        An interrupt ends the wait for answers to paid requests; they are recorded in the background.
        """
        ending = self.begin_close()
        while not wait_for([ending], TICK_SECONDS).done:
            pass
        self.finish_close()
        ending.result()

    def begin_close(self) -> Future[None]:
        """Stop sending; the returned future is done when no submission is in progress."""
        with self._guard:
            if self._ending is None:
                is_forked = self._pid != os.getpid()
                self._ending = background.submit(asyncio.sleep(0) if is_forked else self._context.close(DRAIN_SECONDS))
            return self._ending

    def finish_close(self) -> None:
        """Release the library, and stop the embedded service if no other client uses it."""
        with self._guard:
            if self._ending is None or self.is_finished:
                return
            self.is_finished = True
        self._opened.close()

    def _submit_and_wait(self, submission: Submission, *, watched: bool = False) -> Run:
        """Submit in the background and return the run; an interrupt ends the wait, after which nothing is sent."""

        async def submit() -> Run:
            deadline, refusals = time.monotonic() + BUSY_SECONDS, 0
            while True:
                try:
                    # As a task of the client, so that closing it waits for the answer.
                    return await submission.context.create_task(self.submit_run(submission, watched=watched))
                except TooManyRequests as error:
                    pause, refusals = get_pause(refusals, error), refusals + 1
                    if submission.stopped or time.monotonic() + pause > deadline:
                        raise
                    await asyncio.sleep(pause)

        try:
            # No timeout: each request has its own deadline, and a paid request is not abandoned.
            future = background.submit(submit())
            while not wait_for([future], TICK_SECONDS).done:
                pass
            return future.result()
        except KeyboardInterrupt:
            submission.stopped = True
            self._mark_stop("while submitting")
            raise Interrupted(
                "You interrupted a run while it was being submitted. If the request had not left this machine yet, it never "
                "will; if it had, its answer is recorded in the background. Run the cell again to pick it up while it is in progress."
            ) from None

    def _mark_stop(self, note: str) -> None:
        """Record a stop in the ledger, after which nothing may be sent."""
        with contextlib.suppress(ReelbookError):
            self.ledger.submit(lambda db: transitions.record_event(db, None, "stop", note))

    async def _describe(self, endpoint_id: str) -> type[Any]:
        try:
            document = await self.context.calls.description(endpoint_id)
        except NotFound:
            raise UnknownModel(endpoint_id) from None
        return await asyncio.to_thread(describe, document, endpoint_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        kind = "embedded service" if self._embedded else "service"
        return f"<Client of the {kind} at {self.base_url}, library {self.library}>"


def check_input(request: Any) -> Input:
    """The request, if it is a typed input; otherwise raises an error that says what to pass instead."""
    if not isinstance(request, Input):
        raise ReelbookError(
            f"A run needs a typed input, not {request!r:.100}. Nothing was sent: give one, such as "
            "rb.TextToVideo(prompt=…). A plan is run by plan.run(budget=…), and plan.credits is its price."
        )
    return request


def open_library(client: Client | None, folder: str | Path | None = None) -> Library:
    """The library in a folder, else the client's, else the default one; the client is used for its own library only."""
    from .storage.library import Library  # Here, because it brings pandas along.

    usual = client.library if client else library_folder()
    path = _find_folder(parse_folder(folder)) if folder else usual
    if client is not None and client.library == path:
        return Library(
            path, lambda: client.ledger, client.shelf, client,
            runs=lambda entries: [_get_run(entry, client.context, client) for entry in entries],
        )  # fmt: skip
    # Without a client, the library is readable and nothing can be sent.
    shelf, ledger = Shelf(path / "media"), cache(lambda: Ledger.acquire(path))
    offline = cache(lambda: ClientContext("http://no-service.invalid", None, ledger(), shelf))
    return Library(path, ledger, shelf, runs=lambda entries: [_get_run(entry, offline(), None) for entry in entries])


def _get_run(entry: Entry, context: ClientContext, client: Client | None) -> Run:
    """The run of a row of the library; an unfinished one is followed by the client, and without one it is an error."""
    if entry.id in context.ledger.live:
        return cast(Run, context.ledger.live[entry.id])
    if is_over(entry, context.shelf):
        return Run(context, entry)
    if client is None:
        folder = context.ledger.folder
        raise ReelbookError(
            f"Run {entry.id} (request {readable_id(entry.request_id or '')}) of the library in {folder} is not finished here, and no "
            f"client is connected to that library. Connect first, rb.connect(…, library={str(folder)!r}), then ask again."
        )
    client.context_for(entry)
    return client.attach(entry.request_id or "", model=entry.model)


def _find_folder(folder: Path) -> Path:
    """The folder of the library at this path; an error without one, because a typo is likely."""
    with translate_errors(folder):
        if (folder / claims.LIST_NAME).is_file() or (folder.is_dir() and not any(folder.iterdir())):
            return folder  # A lost ledger is restored from the list of accepted requests.
        return find_library(folder)
