"""Follows one accepted run in the background until its media are downloaded."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

from pydantic import ValidationError

from .. import errors
from ..errors import ReelbookError
from ..media.local_file import LocalFile
from ..media.metadata.file_marks import read_marks
from ..models.base import File, Input, Output
from ..models.catalog import find_endpoint
from ..models.images import pictures_of
from ..models.queue_status import ANSWER_LOST, QueueStatus
from ..storage.ledger import claims, transitions
from ..storage.ledger.transitions import Entry, State
from ..storage.run_identity import dumps
from ..storage.table import get_facts
from ..transport import answers
from ..transport.answers import RESULT_SECONDS, Accepted
from ..transport.downloader import DownloadedFile
from ..transport.http import get_pause
from ..util.data_address import is_data_address
from ..util.printable import readable_id

if TYPE_CHECKING:
    from .submit import ClientContext

OWNER_POLL_SECONDS = 0.1
STORED_SCHEME = "reelbook:"
"""URL scheme of a file that was inlined in the answer and is stored on the shelf only."""


class FollowedRun:
    """An accepted run and what is known of it: its row, status, log, output, media and failure, until its media are here."""

    def __init__(self, context: ClientContext, entry: Entry, input: Input | None, *, watched: bool) -> None:
        self.context, self.input = context, input
        self.request_id = entry.request_id or ""
        """The service's id of the run."""
        self.entry = entry
        """The run's row in the ledger, as last recorded."""
        self.queue_status = QueueStatus(status="IN_QUEUE", request_id=entry.request_id or "")
        """The latest status from the service; when it is `COMPLETED`, the files may still be downloading."""
        self.failure: ReelbookError | None = None
        """The error of a run that ended without a result, else None."""
        self._log: list[str] = []
        self._output: Output | None = None
        self._media: tuple[LocalFile, ...] = ()
        self._is_watched, self._is_sent_here = watched, False
        self._listeners: list[Callable[[Any], None]] = []
        self._started = time.monotonic()
        self._took: float | None = None
        self._done = threading.Event()

    def _notify_listeners(self) -> None:
        for listener in list(self._listeners):
            with contextlib.suppress(Exception):
                listener(self)

    async def _follow(self, answer: Accepted | None, owned_elsewhere: bool) -> None:
        """Follow the run until its media are downloaded or it has failed; a failure is stored, not raised."""
        ledger, name = self.context.ledger, readable_id(self.request_id)
        try:
            if owned_elsewhere:
                await self._wait_for_owner()
            self._is_sent_here = answer is not None
            if self.entry.stage in (State.ACCEPTED, transitions.EXPIRED):
                await self._receive_output(answer)
            elif self.entry.stage not in (transitions.COMPLETED, State.STORED):
                raise find_end(self.entry) or ReelbookError(
                    f"Another notebook gave up run {self.entry.id} of the library before sending it. Nothing was charged: run it again."
                )
            await self._fetch_files()
        except ReelbookError as error:
            self.failure = error
        except asyncio.CancelledError:
            self.failure = ReelbookError(
                f"The client was closed while run {name} was under way. The service goes on with it: "
                f"rb.attach({self.request_id!r}, model={self.entry.model!r}) follows it again, at no cost."
            )
        except Exception as error:
            self.failure = ReelbookError(f"Run {name} could not be followed: {type(error).__name__}: {error}")
        finally:
            if self.failure is not None and self.entry.owner is not None:
                # Not awaited, so that a closed ledger cannot block the end.
                ledger.submit(partial(transitions.release, run=self.entry.id, owner=ledger.owner))
            ledger.live.pop(self.entry.id, None)
            self._took = time.monotonic() - self._started
            self._done.set()
            self._notify_listeners()

    async def _wait_for_owner(self) -> None:
        """Wait while another process follows the run; take over if that process dies."""
        ledger, service, model, request_id = self.context.ledger, self.entry.service, self.entry.model, self.request_id
        while True:
            _, self.entry = await ledger.transact(lambda db: claims.attach(db, service, model, request_id, ledger))
            if self.entry.owner in (None, ledger.owner):
                return
            await asyncio.sleep(OWNER_POLL_SECONDS)

    async def _move(self, state: str, **changes: Any) -> None:
        """Record what has become of the run."""
        run = self.entry.id
        self.entry = await self.context.record(run, lambda db: transitions.move(db, run, state, **changes))

    async def _receive_output(self, answer: Accepted | None) -> None:
        """Wait for the output and record it in the ledger."""
        output = None if answer is None else answer.output
        try:
            if not self._is_complete_output(output):
                output = await self._poll_to_end()
        except (errors.RunFailed, errors.RunCancelled, errors.NotReady) as error:
            if not isinstance(error, errors.NotReady) or error.error_type == answers.EXPIRED:
                await self._record_end(error)
            if self.entry.state == State.UNCERTAIN:
                raise find_end(self.entry) or error from None
            raise
        # Files inlined in the answer are stored on the shelf first, so that the ledger need not contain them.
        stored_output, metrics = dumps(await self._shelve_inlined_files(dict(output))), self.queue_status.metrics or {}
        queued, running = (
            float(seconds) if isinstance(seconds := metrics.get(name), (int, float)) else None
            for name in ("queue_time", "inference_time")
        )
        await self._move(
            transitions.COMPLETED, output=stored_output, charged=transitions.coerce_credits(metrics.get("credits")),
            queued_s=queued, running_s=running, finished=time.time(),
        )  # fmt: skip

    async def _record_end(self, error: errors.RunFailed | errors.RunCancelled | errors.NotReady) -> None:
        """Record that the run has ended without a result, or is no longer known to the service."""
        # The error may report a lost upload; the next attempt uploads the picture again.
        self.context.uploads.forget_mentioned(str(error))
        state: str = transitions.EXPIRED if isinstance(error, errors.NotReady) else State.FAILED
        if isinstance(error, errors.RunCancelled):
            state = State.CANCELLED
        elif error.error_type == ANSWER_LOST:
            state = State.UNCERTAIN
        charged = transitions.coerce_credits((self.queue_status.metrics or {}).get("credits"))
        message = getattr(error, "message", "cancelled")
        await self._move(state, error_type=error_kind_of(error), error=message, charged=charged, finished=time.time())

    def _is_complete_output(self, output: Any) -> TypeGuard[Mapping[str, Any]]:
        """Whether this can be the result; checked because a stored output is reused from the library permanently."""
        is_known = find_endpoint(self.entry.model) is not None
        return isinstance(output, Mapping) and (not is_known or bool(self._parse_output(output).files))

    async def _poll_to_end(self) -> Mapping[str, Any]:
        """Poll until the run has ended and return its output."""
        context, entry = self.context, self.entry
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
        except (errors.ServiceError, errors.Unreachable) as reason:
            raise answers.make_unfinished_error(self.request_id, reason) from None
        if (ended := answers.get_end_by_status(final)) is not None:
            raise ended
        output = getattr(final, "output", None)
        return output if self._is_complete_output(output) else await self._fetch_result()

    async def _fetch_result(self) -> Mapping[str, Any]:
        """Fetch the output of an ended run, with retries, because the service may need a moment to serve it."""
        deadline, failures = time.monotonic() + RESULT_SECONDS, 0
        while True:
            try:
                output = await self.context.calls.result(self.entry.model, self.request_id)
                if self._is_complete_output(output):
                    return output
                words = f"the service answered a result without any file: {str(output)[:200]}"
                reason: ReelbookError = errors.ServiceBroken(words, status=200, foreign=True)
            except (errors.ServiceError, errors.Unreachable) as error:
                if (ended := answers.get_end_by_refusal(self.request_id, error)) is not None:
                    raise ended from None
                reason = error
            pause, failures = get_pause(failures, reason, first=0.25, most=2.0), failures + 1
            if time.monotonic() + pause > deadline or answers.is_about_the_account(reason):
                raise answers.make_unfinished_error(self.request_id, reason) from None
            await asyncio.sleep(pause)

    async def _fetch_files(self) -> None:
        """Download every file of the output to the shelf and mark the run as stored."""
        if self._load():
            return
        if self.entry.state == State.STORED:  # Its files are gone.
            await self._move(transitions.COMPLETED, owner=self.context.ledger.owner)
        output = self._parse_output(json.loads(self.entry.output or "{}"))
        try:
            downloads = await asyncio.gather(*map(self._download, output.files))
        except errors.DownloadFailed as failure:
            # The URLs may have expired; a newly fetched result has others.
            try:
                answer = await self.context.calls.result(self.entry.model, self.request_id)
            except ReelbookError:
                raise failure from None
            output = self._parse_output(await self._shelve_inlined_files(dict(answer)))
            downloads = await asyncio.gather(*map(self._download, output.files))
        media = dumps([
            {**file.model_dump(mode="json", include={"url", "content_type", "file_name"}), "marks": download.marks,
             "sha256": download.sha256, "suffix": download.path.suffix, "file_size": download.size}
            for file, download in zip(output.files, downloads, strict=True)
        ])  # fmt: skip
        await self._move(State.STORED, media=media)
        if not self._load():
            raise ReelbookError(
                f"The files of run {self.entry.id} are gone from the library again. Run the cell once more."
            )

    def _load(self) -> bool:
        """Take the output and the files from the library; false if the run is not stored or a file is gone."""
        entry, paths = self.entry, [self.context.shelf.find(sha256) for sha256 in self.entry.hashes]
        if entry.state != State.STORED or None in paths:
            return False
        output = self._output = self._parse_output(json.loads(entry.output or "{}"))
        picture = next((picture for _, picture in pictures_of(self.input)), "") if self.input else ""
        facts = {**get_facts(entry), "source": getattr(picture, "label", picture)}
        files = map(File.model_validate, entry.files)
        self._media = tuple(LocalFile(path, file, facts) for file, path in zip(files, paths, strict=True) if path)
        output._local_files = self._media
        return True

    async def _download(self, file: File) -> DownloadedFile:
        """Download a file of the output; an inlined one is already on the shelf."""
        sha256 = file.url.removeprefix(STORED_SCHEME)
        path = self.context.shelf.find(sha256) if sha256 != file.url else None
        if path is not None:
            marks = await asyncio.to_thread(read_marks, path)
            return DownloadedFile(sha256, path, path.stat().st_size, file.content_type or "", str(marks))
        return await self.context.downloader.download(file, self.request_id)

    async def _shelve_inlined_files(self, value: Any) -> Any:
        """Store inlined files on the shelf, and return the answer with their URLs replaced by their hashes."""
        if isinstance(value, list):
            return [await self._shelve_inlined_files(item) for item in value]
        if not isinstance(value, dict):
            return value
        if isinstance(url := value.get("url"), str) and is_data_address(url):
            stored = await self.context.downloader.download(File.model_validate(value), self.request_id)
            return {**value, "url": STORED_SCHEME + stored.sha256, "content_type": stored.content_type}
        return {name: await self._shelve_inlined_files(item) for name, item in value.items()}

    def _parse_output(self, output: Mapping[str, Any]) -> Output:
        row = find_endpoint(self.entry.model)
        try:
            return (row.output if row else Output).model_validate(dict(output))
        except ValidationError:
            # The run is paid for, so an answer that violates the specification is stored unchanged.
            return Output.model_validate(dict(output))

    def _on_status(self, status: QueueStatus) -> None:
        before, self.queue_status = self.queue_status, status
        self._log = status.log_lines or self._log
        if status != before:
            self._notify_listeners()


def find_end(entry: Entry) -> ReelbookError | None:
    """How a run of the ledger has ended, if it has ended without a result."""
    request_id = entry.request_id or ""
    if entry.state == State.CANCELLED:
        return errors.RunCancelled(request_id)
    if entry.state == State.UNCERTAIN:
        return make_uncertain(entry)
    if entry.state in (State.FAILED, State.REJECTED):
        return errors.RunFailed(request_id, entry.error or entry.state, entry.error_type)
    return None


def make_uncertain(entry: Entry) -> errors.UncertainRun:
    """The error of a run whose answer was lost: on the way here, or by a gateway if its request is known."""
    reason = entry.error or "its answer was lost"
    if entry.request_id is None:
        return errors.UncertainRun(entry.service, f"run {entry.id} of the library: {reason}", entry.price)
    return errors.UncertainRun(entry.service, reason, entry.credits, request_id=entry.request_id)


def error_kind_of(error: ReelbookError) -> str:
    """Short name of an error, for the `error_type` column."""
    if isinstance(error, errors.RunFailed | errors.NotReady) and error.error_type:
        return error.error_type
    return "cancelled" if isinstance(error, errors.RunCancelled) else type(error).__name__
