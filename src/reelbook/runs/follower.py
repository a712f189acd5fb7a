"""The way of one run from accepted to its media, in the background."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from pydantic import ValidationError

from ..errors import (
    DownloadFailed,
    NotReady,
    ReelbookError,
    RunCancelled,
    RunFailed,
    ServiceBroken,
    ServiceError,
    Unreachable,
)
from ..media.local_file import LocalFile
from ..media.metadata.file_marks import read_marks
from ..models.base import Output
from ..models.catalog import CATALOG
from ..models.queue_status import IN_PROGRESS, QueueStatus
from ..models.service_file import File
from ..storage.ledger import crash_recovery, known_services, transitions
from ..storage.ledger.transitions import CANCELLED, COMPLETED, EXPIRED, FAILED, STORED, Entry
from ..storage.run_identity import dumps
from ..transport import paid_outcome
from ..transport.downloads.downloader import Brought
from ..transport.paid_outcome import RESULT_SECONDS
from ..transport.polling.run_log import Log
from ..transport.service_calls import Accepted
from ..util.background_loop import TICK_SECONDS
from ..util.printable import readable_id

if TYPE_CHECKING:
    from .submission import ClientContext

LONGEST_PAUSE = 2.0
"""Between two times of asking for a result."""
OTHERS_SECONDS, LONGEST_OTHERS_SECONDS = 0.05, 0.5
STORED_SCHEME = "reelbook:"
"""Begins the address of a file that came inside the answer itself, and is kept on the shelf only."""


class Following:
    """One run that is followed: what is known of it so far, and how it ended. `tell` is called when something is new."""

    def __init__(
        self, context: ClientContext, entry: Entry, tell: Callable[[], None], *, watched: bool = False
    ) -> None:
        self.entry = entry
        self.status = QueueStatus(status="IN_QUEUE", request_id=entry.request_id or "")
        self.log = Log()
        self.output: Output | None = None
        self.media: tuple[LocalFile, ...] = ()
        self.failure: ReelbookError | None = None
        self._context, self._tell, self._watched = context, tell, watched
        self._is_new = False

    @property
    def request_id(self) -> str:
        """What the service calls it."""
        return self.entry.request_id or ""

    def left(self) -> None:
        """Nobody here follows it any more."""
        self._context.ledger.live.pop(self.entry.id, None)

    async def to_the_end(self, answer: Accepted | None, *, others: bool) -> None:
        """Follow it until its media are here, or until it is clear that they will not be."""
        try:
            if others:
                await self._others()
            self._is_new = answer is not None
            if self.entry.state != STORED:
                self._fail_if_ended()
                await self._completed(answer)
            await self._shelved()
        except ReelbookError as error:
            self.failure = error
        except asyncio.CancelledError:
            self.failure = ReelbookError(
                f"The client was closed while run {readable_id(self.request_id)} was under way. The service goes on with it: "
                f"rb.attach({self.request_id!r}, model={self.entry.model!r}) picks it up, at no cost."
            )
        except Exception as error:
            self.failure = ReelbookError(
                f"Run {readable_id(self.request_id)} could not be followed: {type(error).__name__}: {error}"
            )
        finally:
            ledger = self._context.ledger
            if self.failure is not None and self.entry.owner is not None:
                # Not `await`: nothing here may be held up by a closed ledger.
                why = (kind_of(self.failure), str(self.failure)) if isinstance(self.failure, NotReady) else None
                ledger.ask(partial(transitions.left, run=self.entry.id, owner=ledger.owner, why=why))

    async def _others(self) -> None:
        """Wait for a run that another process is at; take it over if that one dies."""
        context, pause = self._context, OTHERS_SECONDS
        while True:
            self.entry = await context.ledger.do(
                lambda db: crash_recovery.taken_over(db, self.entry.id, context.ledger)
            )
            if self.entry.owner in (None, context.ledger.owner):
                return
            await asyncio.sleep(pause)
            pause = min(pause * 1.3, LONGEST_OTHERS_SECONDS)

    def _fail_if_ended(self) -> None:
        """The error of a run that has ended without a result."""
        entry = self.entry
        if entry.state == CANCELLED:
            raise RunCancelled(self.request_id)
        if entry.state in (FAILED, transitions.REJECTED):
            raise RunFailed(self.request_id, entry.error or entry.state, entry.error_type)
        if entry.state not in transitions.PAID:
            raise ReelbookError(
                f"Another notebook gave up run {self.entry.id} of the library before it was sent. Run it again: nothing was paid."
            )

    async def _completed(self, answer: Accepted | None) -> None:
        """From accepted to completed: the output is in the ledger when this returns."""
        context, entry = self._context, self.entry
        if entry.state == COMPLETED and entry.output is not None:
            return
        try:
            output = answer.output if answer is not None and self._is_whole(answer.output) else await self._finished()
        except (RunFailed, RunCancelled, NotReady) as error:
            if not isinstance(error, NotReady) or error.error_type == paid_outcome.EXPIRED:
                await self._ended(error)
            raise
        # Files inside the answer go to the shelf first, so that the ledger need not hold them.
        kept = dumps(await self._without_files(dict(output)))
        charged, metrics = self._charged(), self.status.metrics or {}
        queued, running = _seconds(metrics.get("queue_time")), _seconds(metrics.get("inference_time"))
        await context.record(lambda db: transitions.completed(db, self.entry.id, kept, charged, queued, running))
        self.entry = await context.ledger.do(lambda db: transitions.read(db, self.entry.id))

    async def _ended(self, error: RunFailed | RunCancelled | NotReady) -> None:
        """Write down that it has ended without a result, or that the service does not know it any more."""
        context = self._context
        # A service that has lost an upload says so here; the next try sends the picture anew.
        context.uploads.forget(str(error))
        state = {RunFailed: FAILED, RunCancelled: CANCELLED}.get(type(error), EXPIRED)
        message = "cancelled" if isinstance(error, RunCancelled) else error.message
        charged, kind = self._charged(), kind_of(error)
        await context.record(lambda db: transitions.ended(db, self.entry.id, state, kind, message, charged))
        self.entry = await context.ledger.do(lambda db: transitions.read(db, self.entry.id))

    def _is_whole(self, output: Any) -> TypeGuard[Mapping[str, Any]]:
        """Whether this can be the result: what is kept is served from the library for ever."""
        known = any(row.id == self.entry.model for row in CATALOG)
        return isinstance(output, Mapping) and (not known or bool(self._typed(output).files))

    async def _finished(self) -> Mapping[str, Any]:
        """The output, once the run has ended."""
        context, entry = self._context, self.entry
        if not self._is_new:
            kept = await context.ledger.do(partial(known_services.addresses_of, request_id=self.request_id))
            context.calls.restore(self.request_id, json.loads(kept) if kept else {})
        # One that was not known before is asked about once.
        refusals = 0.0 if entry.state == EXPIRED else paid_outcome.REFUSED_SECONDS
        try:
            final = await context.watcher.follow(
                entry.model, self.request_id, self._seen, since=entry.sent, closely=self._watched, refusals=refusals
            )
        except (ServiceError, Unreachable) as reason:
            raise paid_outcome.unfinished(self.request_id, reason) from None
        self._seen(final)
        ended = paid_outcome.ending_in(final)
        if ended is not None:
            raise ended
        output = getattr(final, "output", None)
        return output if self._is_whole(output) else await self._result()

    async def _result(self) -> Mapping[str, Any]:
        """The output of a run that has ended; what stands before it may need a moment to hand it out."""
        deadline, pause = time.monotonic() + RESULT_SECONDS, TICK_SECONDS
        while True:
            reason: ReelbookError
            try:
                output = await self._context.calls.result(self.entry.model, self.request_id)
            except (ServiceError, Unreachable) as error:
                ended = paid_outcome.ending(self.request_id, error)
                if ended is not None:
                    raise ended from None
                reason = error
            else:
                if self._is_whole(output):
                    return output
                words = f"the service answered a result without any file: {str(output)[:200]}"
                reason = ServiceBroken(words, status=200, foreign=True)
            if time.monotonic() + pause > deadline or paid_outcome.is_about_the_account(reason):
                raise paid_outcome.unfinished(self.request_id, reason) from None
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, LONGEST_PAUSE)

    async def _shelved(self) -> None:
        """Every file of the output on this machine, and the row marked so."""
        context = self._context
        output = self._typed(json.loads(self.entry.output or "{}"))
        places = [context.shelf.find(file["sha256"]) for file in self.entry.files]
        if self.entry.state == STORED and all(place is not None for place in places):
            known = [File.model_validate(file) for file in self.entry.files]
            self.output = output
            self.media = tuple(self._local(place, file) for place, file in zip(places, known, strict=True) if place)
            return
        if self.entry.state == STORED:
            await context.ledger.do(lambda db: transitions.refetch(db, self.entry.id, context.ledger.owner))
        try:
            brought = await self._brought(output)
        except DownloadFailed as failure:
            output, brought = await self._brought_anew(failure)
        marks = await asyncio.to_thread(lambda: [str(read_marks(one.path)) for one in brought])
        media = [
            {**file.model_dump(mode="json", include={"url", "content_type", "file_name"}), "marks": mark,
             "sha256": one.sha256, "suffix": one.path.suffix, "file_size": one.size}
            for file, one, mark in zip(output.files, brought, marks, strict=True)
        ]  # fmt: skip
        await context.record(lambda db: transitions.stored(db, self.entry.id, dumps(media)))
        self.entry = await context.ledger.do(lambda db: transitions.read(db, self.entry.id))
        self.output = output
        self.media = tuple(
            self._local(one.path, file) for file, one in zip(output.files, brought, strict=True)
        )  # fmt: skip

    async def _brought_anew(self, failure: DownloadFailed) -> tuple[Output, list[Brought]]:
        """The files from new addresses: the old ones may have expired since the service told them."""
        try:
            told = await self._context.calls.result(self.entry.model, self.request_id)
        except ReelbookError:
            raise failure from None
        output = self._typed(await self._without_files(dict(told)))
        return output, await self._brought(output)

    async def _brought(self, output: Output) -> list[Brought]:
        """All files of an output; the shelf has those already that came inside the answer."""
        return list(await asyncio.gather(*(self._one(file) for file in output.files)))

    async def _one(self, file: File) -> Brought:
        context = self._context
        if file.url.startswith(STORED_SCHEME):
            path = context.shelf.find(file.url.removeprefix(STORED_SCHEME))
            if path is not None:
                return Brought(file.url.removeprefix(STORED_SCHEME), path, path.stat().st_size, file.content_type or "")
        return await context.downloads.bring(file, self.request_id)

    async def _without_files(self, value: Any) -> Any:
        """An answer whose inlined files are on the shelf, each replaced by its hash."""
        if isinstance(value, dict):
            url = value.get("url")
            if isinstance(url, str) and url.startswith("data:"):
                one = await self._context.downloads.bring(File.model_validate(value), self.request_id)
                return {**value, "url": STORED_SCHEME + one.sha256, "content_type": one.content_type}
            return {name: await self._without_files(item) for name, item in value.items()}
        return [await self._without_files(item) for item in value] if isinstance(value, list) else value

    def _local(self, path: Path, file: File) -> LocalFile:
        entry = self.entry
        made = None if entry.finished is None else datetime.fromtimestamp(entry.finished, UTC)
        facts = {
            "model": entry.model, "input": _as_text(json.loads(entry.input)), "request_id": entry.request_id,
            "credits": entry.credits, "credits_source": "charged" if entry.charged is not None else "estimated", "service": entry.service,
            "seed": getattr(self.output, "seed", None), "made_at": made,
        }  # fmt: skip
        return LocalFile(path, file, facts)

    def _typed(self, output: Mapping[str, Any]) -> Output:
        row = next((row for row in CATALOG if row.id == self.entry.model), None)
        try:
            return (row.output if row else Output).model_validate(dict(output))
        except ValidationError:
            # It is paid for: an answer of another shape than the spec's is kept as it came.
            return Output.model_validate(dict(output))

    def _charged(self) -> int | None:
        return transitions.amount((self.status.metrics or {}).get("credits"))

    @property
    def fetching(self) -> str:
        """What is being fetched of a finished run, in words."""
        words = self._context.downloads.progress(self.request_id)
        return f"fetching the files: {words}" if words else "fetching the files"

    def _seen(self, status: QueueStatus) -> None:
        before = (self.status.status, self.status.metrics, self.status.queue_position, False)
        self.status, has_more = status, self.log.add(status)
        if status.status == IN_PROGRESS and before[0] != IN_PROGRESS:
            # Nobody waits for this one: it only tells others, and a later start, how far it got.
            self._context.ledger.ask(lambda db: transitions.running(db, self.entry.id))
        if (status.status, status.metrics, status.queue_position, has_more) != before:
            self._tell()


def _as_text(value: Any) -> Any:
    """An input as the ledger has it, with its pictures as `sha256:…` texts."""
    if isinstance(value, dict):
        if value.keys() == {"sha256"}:
            return f"sha256:{value['sha256']}"
        return {name: _as_text(item) for name, item in value.items()}
    return [_as_text(item) for item in value] if isinstance(value, list) else value


def kind_of(error: ReelbookError) -> str:
    """A short name for what went wrong, for the column of a table."""
    if isinstance(error, RunFailed | NotReady) and error.error_type:
        return error.error_type
    return "cancelled" if isinstance(error, RunCancelled) else type(error).__name__


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
