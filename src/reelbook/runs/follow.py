"""Follows one accepted run in the background until its media are downloaded."""

from __future__ import annotations

import asyncio
import contextlib
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
    UncertainRun,
    Unreachable,
)
from ..media.local_file import LocalFile
from ..media.metadata.file_marks import read_marks
from ..models.base import File, Output
from ..models.catalog import CATALOG, find_endpoint
from ..models.images import unwrap_pictures
from ..models.queue_status import ANSWER_LOST, QueueStatus
from ..storage.ledger import claims, known_services, transitions
from ..storage.ledger.transitions import Entry, State
from ..storage.run_identity import dumps
from ..transport import answers
from ..transport.answers import RESULT_SECONDS
from ..transport.downloader import DownloadedFile
from ..transport.service_calls import Accepted
from ..util.background_loop import TICK_SECONDS
from ..util.data_address import is_data_address
from ..util.printable import readable_id

if TYPE_CHECKING:
    from .submit import ClientContext

MAX_RESULT_PAUSE_SECONDS = 2.0
"""Longest pause between two requests for a result."""
OWNER_POLL_SECONDS, MAX_OWNER_POLL_SECONDS = 0.05, 0.5
STORED_SCHEME = "reelbook:"
"""URL scheme of a file that was inlined in the answer and is stored on the shelf only."""


class FollowedRun:
    """An accepted run and what is known of it: its row, status, log, output, media and failure, until its media are here.

    `context` returns the dependencies of the client that follows it.
    """

    def __init__(self, context: Callable[[], ClientContext], entry: Entry, *, watched: bool, source: str) -> None:
        self.entry = entry
        """The run's row in the ledger, as last recorded."""
        self.failure: ReelbookError | None = None
        """The error of a run that ended without a result, else None."""
        self._source = source
        """The label of its source picture, of which the ledger has only the content."""
        self._queue_status = QueueStatus(status="IN_QUEUE", request_id=entry.request_id or "")
        self._log: list[str] = []
        self._output: Output | None = None
        self._media: tuple[LocalFile, ...] = ()
        self._context, self._is_watched, self._is_sent_here = context, watched, False
        self._listeners: list[Callable[[Any], None]] = []

    @property
    def request_id(self) -> str:
        """The service's id of the run."""
        return self.entry.request_id or ""

    def _notify_listeners(self) -> None:
        for listener in list(self._listeners):
            with contextlib.suppress(Exception):
                listener(self)

    async def _follow_to_end(self, answer: Accepted | None, owned_elsewhere: bool) -> None:
        """Follow the run until its media are downloaded or it has failed; a failure is stored, not raised."""
        context, called = self._context(), f"Run {readable_id(self.request_id)}"
        try:
            if owned_elsewhere:
                await self._wait_for_owner()
            self._is_sent_here = answer is not None
            if self.entry.state != State.STORED:
                if self.entry.state != State.ACCEPTED:
                    raise find_end(self.entry) or ReelbookError(
                        f"Another notebook gave up run {self.entry.id} of the library before sending it. Nothing was charged: run it again."
                    )
                await self._receive_output(answer)
            await self._fetch_files()
        except ReelbookError as error:
            self.failure = error
        except asyncio.CancelledError:
            self.failure = ReelbookError(
                f"The client was closed while run {readable_id(self.request_id)} was under way. The service goes on with it: "
                f"rb.attach({self.request_id!r}, model={self.entry.model!r}) follows it again, at no cost."
            )
        except Exception as error:
            self.failure = ReelbookError(f"{called} could not be followed: {type(error).__name__}: {error}")
        finally:
            if self.failure is not None and self.entry.owner is not None:
                # Not awaited, so that a closed ledger cannot block the end.
                why = (error_kind_of(self.failure), str(self.failure)) if isinstance(self.failure, NotReady) else None
                context.ledger.submit(
                    partial(transitions.release, run=self.entry.id, owner=context.ledger.owner, why=why)
                )
            context.ledger.live.pop(self.entry.id, None)

    async def _wait_for_owner(self) -> None:
        """Wait while another process follows the run; take over if that process dies."""
        context, pause = self._context(), OWNER_POLL_SECONDS
        while True:
            self.entry = await context.ledger.transact(lambda db: claims.take_over(db, self.entry.id, context.ledger))
            if self.entry.owner in (None, context.ledger.owner):
                return
            await asyncio.sleep(pause)
            pause = min(pause * 1.3, MAX_OWNER_POLL_SECONDS)

    async def _receive_output(self, answer: Accepted | None) -> None:
        """Wait for the output and record it in the ledger."""
        context, entry = self._context(), self.entry
        if entry.stage == transitions.COMPLETED:
            return
        try:
            output = (
                answer.output
                if answer is not None and self._is_complete_output(answer.output)
                else await self._poll_to_end()
            )
        except (RunFailed, RunCancelled, NotReady) as error:
            if not isinstance(error, NotReady) or error.error_type == answers.EXPIRED:
                await self._record_end(error)
            if self.entry.state == State.UNCERTAIN:
                raise find_end(self.entry) or error from None
            raise
        # Files inlined in the answer are stored on the shelf first, so that the ledger need not contain them.
        stored_output = dumps(await self._shelve_inlined_files(dict(output)))
        charged, metrics = self._charged_credits(), self._queue_status.metrics or {}
        queued, running = _seconds_or_none(metrics.get("queue_time")), _seconds_or_none(metrics.get("inference_time"))
        self.entry = await context.record(
            entry.id, lambda db: transitions.mark_completed(db, entry.id, stored_output, charged, queued, running)
        )

    async def _record_end(self, error: RunFailed | RunCancelled | NotReady) -> None:
        """Record that the run has ended without a result, or is no longer known to the service."""
        context, run = self._context(), self.entry.id
        # The error may report a lost upload; the next attempt uploads the picture again.
        context.uploads.forget_mentioned(str(error))
        state = {RunFailed: State.FAILED, RunCancelled: State.CANCELLED}.get(type(error), transitions.EXPIRED)
        if isinstance(error, RunFailed) and error.error_type == ANSWER_LOST:
            state = State.UNCERTAIN
        message = "cancelled" if isinstance(error, RunCancelled) else error.message
        charged, kind = self._charged_credits(), error_kind_of(error)
        self.entry = await context.record(
            run, lambda db: transitions.mark_ended(db, run, state, kind, message, charged)
        )

    def _is_complete_output(self, output: Any) -> TypeGuard[Mapping[str, Any]]:
        """Whether this can be the result; checked because a stored output is reused from the library permanently."""
        known = any(row.id == self.entry.model for row in CATALOG)
        return isinstance(output, Mapping) and (not known or bool(self._parse_output(output).files))

    async def _poll_to_end(self) -> Mapping[str, Any]:
        """Poll until the run has ended and return its output."""
        context, entry = self._context(), self.entry
        if not self._is_sent_here:
            paths = await context.ledger.transact(
                partial(known_services.get_request_addresses, request_id=self.request_id)
            )
            context.calls.paths.record_accepted(self.request_id, json.loads(paths) if paths else {})
        try:
            final = await context.poller.follow(
                entry.model,
                self.request_id,
                self._on_status,
                submitted_at=None if self._is_sent_here else entry.sent,
                closely=self._is_watched,
                # A run that was unknown to the service before is polled once.
                refused_seconds=0.0 if entry.stage == transitions.EXPIRED else answers.REFUSED_SECONDS,
            )
        except (ServiceError, Unreachable) as reason:
            raise answers.make_unfinished_error(self.request_id, reason) from None
        if (ended := answers.get_end_by_status(final)) is not None:
            raise ended
        output = getattr(final, "output", None)
        return output if self._is_complete_output(output) else await self._fetch_result()

    async def _fetch_result(self) -> Mapping[str, Any]:
        """Fetch the output of an ended run, with retries, because the service may need a moment to serve it."""
        deadline, pause = time.monotonic() + RESULT_SECONDS, TICK_SECONDS
        while True:
            reason: ReelbookError
            try:
                output = await self._context().calls.result(self.entry.model, self.request_id)
            except (ServiceError, Unreachable) as error:
                if (ended := answers.get_end_by_refusal(self.request_id, error)) is not None:
                    raise ended from None
                reason = error
            else:
                if self._is_complete_output(output):
                    return output
                words = f"the service answered a result without any file: {str(output)[:200]}"
                reason = ServiceBroken(words, status=200, foreign=True)
            if time.monotonic() + pause > deadline or answers.is_about_the_account(reason):
                raise answers.make_unfinished_error(self.request_id, reason) from None
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, MAX_RESULT_PAUSE_SECONDS)

    async def _fetch_files(self) -> None:
        """Download every file of the output to the shelf and mark the run as stored."""
        context, run = self._context(), self.entry.id
        output = self._parse_output(json.loads(self.entry.output or "{}"))
        if self.entry.state == State.STORED:
            paths = [context.shelf.find(file["sha256"]) for file in self.entry.files]
            if None not in paths:
                files = [File.model_validate(file) for file in self.entry.files]
                self._output = output
                self._media = tuple(
                    self._local_file(path, file) for path, file in zip(paths, files, strict=True) if path
                )
                return
            await context.ledger.transact(lambda db: transitions.reopen(db, run, context.ledger.owner))
        try:
            downloads = await self._download_all(output)
        except DownloadFailed as failure:
            # The URLs may have expired; a newly fetched result has others.
            try:
                answer = await context.calls.result(self.entry.model, self.request_id)
            except ReelbookError:
                raise failure from None
            output = self._parse_output(await self._shelve_inlined_files(dict(answer)))
            downloads = await self._download_all(output)
        marks = await asyncio.to_thread(lambda: [str(read_marks(download.path)) for download in downloads])
        media = dumps([
            {**file.model_dump(mode="json", include={"url", "content_type", "file_name"}), "marks": mark,
             "sha256": download.sha256, "suffix": download.path.suffix, "file_size": download.size}
            for file, download, mark in zip(output.files, downloads, marks, strict=True)
        ])  # fmt: skip
        self.entry = await context.record(run, lambda db: transitions.mark_stored(db, run, media))
        self._output = output
        files_and_downloads = zip(output.files, downloads, strict=True)
        self._media = tuple(self._local_file(download.path, file) for file, download in files_and_downloads)

    async def _download_all(self, output: Output) -> list[DownloadedFile]:
        """Download all files of an output; inlined ones are already on the shelf."""
        return list(await asyncio.gather(*(self._download(file) for file in output.files)))

    async def _download(self, file: File) -> DownloadedFile:
        sha256 = file.url.removeprefix(STORED_SCHEME)
        path = self._context().shelf.find(sha256) if sha256 != file.url else None
        if path is not None:
            return DownloadedFile(sha256, path, path.stat().st_size, file.content_type or "")
        return await self._context().downloader.download(file, self.request_id)

    async def _shelve_inlined_files(self, value: Any) -> Any:
        """Store inlined files on the shelf, and return the answer with their URLs replaced by their hashes."""
        if isinstance(value, dict):
            url = value.get("url")
            if isinstance(url, str) and is_data_address(url):
                stored = await self._context().downloader.download(File.model_validate(value), self.request_id)
                return {**value, "url": STORED_SCHEME + stored.sha256, "content_type": stored.content_type}
            return {name: await self._shelve_inlined_files(item) for name, item in value.items()}
        return [await self._shelve_inlined_files(item) for item in value] if isinstance(value, list) else value

    def _local_file(self, path: Path, file: File) -> LocalFile:
        entry = self.entry
        made_at = None if entry.finished is None else datetime.fromtimestamp(entry.finished, UTC)
        facts = {
            "model": entry.model, "input": unwrap_pictures(json.loads(entry.input)), "request_id": entry.request_id,
            "credits": entry.credits, "credits_source": entry.credits_source, "service": entry.service,
            "seed": getattr(self._output, "seed", None), "made_at": made_at, "source": self._source,
        }  # fmt: skip
        return LocalFile(path, file, facts)

    def _parse_output(self, output: Mapping[str, Any]) -> Output:
        row = find_endpoint(self.entry.model)
        try:
            return (row.output if row else Output).model_validate(dict(output))
        except ValidationError:
            # The run is paid for, so an answer that violates the specification is stored unchanged.
            return Output.model_validate(dict(output))

    def _charged_credits(self) -> int | None:
        return transitions.coerce_credits((self._queue_status.metrics or {}).get("credits"))

    @property
    def _download_text(self) -> str:
        """Progress of the downloads of a finished run, as text."""
        words = self._context().downloader.format_progress(self.request_id)
        return f"fetching the files: {words}" if words else "fetching the files"

    def _on_status(self, status: QueueStatus) -> None:
        before = (self._queue_status.status, self._queue_status.metrics, self._queue_status.queue_position, False)
        lines = status.log_lines or self._log
        self._queue_status, has_more, self._log = status, lines != self._log, lines
        if (status.status, status.metrics, status.queue_position, has_more) != before:
            self._notify_listeners()


def find_end(entry: Entry) -> ReelbookError | None:
    """How a run of the ledger has ended, if it has ended without a result."""
    request_id = entry.request_id or ""
    if entry.state == State.CANCELLED:
        return RunCancelled(request_id)
    if entry.state == State.UNCERTAIN:
        # The answer of a request that is known was lost by a gateway.
        reason = entry.error or "its answer was lost"
        return UncertainRun(entry.service, reason, entry.credits, request_id=request_id)
    if entry.state in (State.FAILED, State.REJECTED):
        return RunFailed(request_id, entry.error or entry.state, entry.error_type)
    return None


def error_kind_of(error: ReelbookError) -> str:
    """Short name of an error, for the `error_type` column."""
    if isinstance(error, RunFailed | NotReady) and error.error_type:
        return error.error_type
    return "cancelled" if isinstance(error, RunCancelled) else type(error).__name__


def _seconds_or_none(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
