"""Run: one request to a model, followed in the background until its media are here; and the cancelling of several at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

from pydantic import ValidationError

from .. import errors
from ..errors import Interrupted, InvalidInput, ReelbookError, RunTimeout
from ..media.local_file import LocalFile
from ..media.metadata.file_marks import read_marks
from ..models.base import File, Input, Output
from ..models.catalog import find_endpoint
from ..models.images import Image, pictures_of, unwrap_pictures
from ..models.queue_status import ANSWER_LOST, COMPLETED, IN_PROGRESS, IN_QUEUE, QueueStatus
from ..storage.ledger import claims, transitions
from ..storage.ledger.transitions import ATTACHED, Entry, State
from ..storage.ledger.writer import describe_maker
from ..storage.run_identity import dumps
from ..storage.run_status import get_end_status
from ..storage.shelf import Shelf
from ..storage.table import READ_COLUMNS, build_table, get_facts
from ..transport import answers
from ..transport.answers import Accepted, get_pause
from ..util.background_loop import TICK_SECONDS, background
from ..util.data_address import is_data_address
from ..util.printable import format_count, readable_id

if TYPE_CHECKING:
    from ..transport.downloader import DownloadedFile
    from .submit import ClientContext

WAIT_SECONDS = 3600.0
NOTICE_SECONDS = 5.0
"""How long to wait for cancelled runs to end; polling notices it later anyway."""
OWNER_POLL_SECONDS = 0.05
"""How often it is looked whether another thread or process is done with a run."""
STORED_SCHEME = "reelbook:"
"""URL scheme of a file that was inlined in the answer and is stored on the shelf only."""


class Run:
    """One run, as returned by `run`, `start` and `attach`. It is followed in the background.

    Example::

        run = rb.run(boat)
        run.status, run.credits, run.video.probe
    """

    def __init__(
        self,
        context: ClientContext,
        entry: Entry,
        *,
        input: Input | None = None,
        answer: Accepted | None = None,
        owned_elsewhere: bool = False,
        watched: bool = False,
    ) -> None:
        self.context, self.input = context, input or input_from_entry(entry)
        self.entry = entry
        """The run's row in the ledger, as last recorded."""
        self.id = entry.id
        """Number of the run in the library."""
        self.request_id = entry.request_id or ""
        """The service's id of the run."""
        self.take = entry.take
        """Which of several repetitions of the same input this is."""
        self.endpoint_id = entry.model
        self.displayed_in: int | None = None
        """Execution count of the cell that already displays this run, so that it is not displayed there twice."""
        self.queue_status = QueueStatus(status=IN_QUEUE, request_id=self.request_id)
        """The latest status from the service; when it is `COMPLETED`, the files may still be downloading."""
        self._log: list[str] = []
        self._output: Output | None = None
        self._media: tuple[LocalFile, ...] = ()
        self._is_watched, self._is_sent_here = watched, answer is not None
        self._listeners: list[Callable[[Run], None]] = []
        self._task: asyncio.Task[None] | None = None
        self._started, self._took = time.monotonic(), None  # type: float, float | None
        self._done = threading.Event()
        self.from_library = entry.state == State.STORED
        """Whether the result was already in the library, so that nothing was sent and nothing was paid."""
        self.failure: ReelbookError | None = find_end(entry)
        """The error of a run that ended without a result, else None."""
        if self.failure is not None or self._load():
            self._took = 0.0
            self._done.set()
        else:
            context.ledger.live[entry.id] = self
            # Runs that are not over are created on the background loop, where all HTTP calls run.
            self._task = asyncio.get_running_loop().create_task(self._follow(answer, owned_elsewhere))

    @property
    def status(self) -> str:
        """`IN_QUEUE`, `IN_PROGRESS`, then `completed`, `failed` or `cancelled`.

        It is `uncertain` where a gateway has lost the answer of the service behind it, and `unfinished` after a failure on the
        client's side, while the run continued or ended at the service: `rb.attach` resumes it at no cost.
        """
        if not self._done.is_set():
            return self.queue_status.status if self.queue_status.status != COMPLETED else IN_PROGRESS
        return get_end_status(self.failure)

    @property
    def progress(self) -> tuple[float, str]:
        """Fraction done, 0 to 1, and the current stage."""
        status, metrics = self.queue_status, self.queue_status.metrics or {}
        if self._done.is_set():
            return 1.0, self.status
        if status.status == COMPLETED:
            return 1.0, "fetching the files"
        if status.queue_position is not None:
            return 0.0, f"{status.queue_position} ahead in the queue"
        value = metrics.get("progress")
        fraction = float(value) if isinstance(value, (int, float)) else 0.0
        return min(max(fraction, 0.0), 1.0), str(metrics.get("stage") or "starting")

    @property
    def output(self) -> Output:
        """The typed output; waits for it."""
        self.wait()
        assert self._output is not None
        return self._output

    @property
    def media(self) -> tuple[LocalFile, ...]:
        """All files of the output as local files; waits for them."""
        self.wait()
        return self._media

    @property
    def video(self) -> LocalFile:
        """The video; waits for it."""
        for file in self.media:
            if file.is_video:
                return file
        raise ReelbookError(f"Run {readable_id(self.request_id)} made no video. Look at run.images.")

    @property
    def images(self) -> tuple[LocalFile, ...]:
        """The pictures, in the order of the output; waits for them."""
        return tuple(file for file in self.media if not file.is_video)

    @property
    def credits(self) -> int | None:
        """Credits that the run has cost, or may have cost: see `credits_source`. None if unknown.

        A run that failed or was cancelled is estimated at its price, until the service says what it charges for that.
        """
        return self.entry.credits

    @property
    def credits_source(self) -> str:
        """`charged` if the service reported the charge, else `estimated`."""
        return self.entry.credits_source

    @property
    def made_by(self) -> str:
        """Who made it: the address of a hosted service, or "embedded sketch, free"."""
        return describe_maker(self.entry.service, self.context.ledger.folder)

    @property
    def timings(self) -> dict[str, float]:
        """Seconds in the queue (`queued`), in progress (`running`), and overall as measured by the client (`total`)."""
        entry = self.entry
        total = time.monotonic() - self._started if self._took is None else self._took
        if self.from_library and entry.finished and entry.sent:
            total = entry.finished - entry.sent
        phases = {"queued": entry.queued_s, "running": entry.running_s, "total": round(total, 3)}
        return {name: seconds for name, seconds in phases.items() if seconds is not None}

    @property
    def logs(self) -> list[str]:
        """Log lines so far, without repetitions; a long log is truncated to its last lines, after a note on that."""
        return list(self._log)

    @property
    def row(self) -> dict[str, Any]:
        """The run as a row of the library's table, with its present status."""
        rows = self.context.ledger.select(", ".join(READ_COLUMNS), "id = ?", (self.id,))
        paths = dict(zip(self.entry.hashes, (str(file.path) for file in self._media), strict=False))
        row = build_table(rows, paths).iloc[0]
        return {**dict(zip(map(str, row.index), row, strict=True)), "status": self.status}

    def wait(self, timeout: float | None = None) -> Run:
        """Wait until the run is finished and its media are downloaded, for at most `timeout` seconds (default 3600).

        An interrupt ends the wait, never the run.
        """
        limit = WAIT_SECONDS if timeout is None else timeout
        deadline = time.monotonic() + limit
        # Not `Thread.join` or the future, which may return early after an interrupt.
        try:
            while not self._done.wait(min(TICK_SECONDS, max(deadline - time.monotonic(), 0.0))):
                if time.monotonic() >= deadline:
                    raise RunTimeout(self.request_id, self.status, limit)
        except KeyboardInterrupt:
            raise Interrupted(self.resume_hint) from None
        if self.failure is not None:
            raise self.failure.with_traceback(None)
        return self

    def __await__(self) -> Generator[Any, None, Run]:
        return self._wait_async().__await__()

    def cancel(self) -> bool:
        """Ask the service to cancel the run; return whether it agreed."""
        return not self._done.is_set() and background.wait(self.request_cancel(), timeout=60)

    async def request_cancel(self) -> bool:
        """Like `cancel`, for callers on the background loop."""
        agreed = await self.context.calls.cancel(self.endpoint_id, self.request_id)
        self.context.poller.poll_soon(self.request_id)
        return agreed

    def on_change(self, listener: Callable[[Run], None]) -> None:
        """Call `listener` with the run on every change, from a background thread."""
        self._listeners.append(listener)

    @property
    def resume_hint(self) -> str:
        """Message for an interrupted wait: the run continues, and how to resume or cancel it."""
        return (
            f"You stopped waiting; run {readable_id(self.request_id)} continues at the service. Run the cell again to wait for it, or: "
            f"rb.attach({self.request_id!r}, model={self.endpoint_id!r}), then .wait() or .cancel()."
        )

    async def wait_finished(self) -> None:
        """Wait for the end on the background loop, without raising the error of a failed run."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def stop_following(self) -> None:
        """Stop following the run, which continues at the service."""
        if self._task is not None:
            self._task.cancel()

    def __repr__(self) -> str:
        what = [self.status, f"request {readable_id(self.request_id)}"]
        if self._done.is_set() and self.failure is None:
            paid = f"{self.credits} credits" if self.credits is not None else "credits unknown"
            what += [str(file.path) for file in self._media]
            what += [f"from the library, paid before ({paid})" if self.from_library else paid]
        return f"<Run of {self.endpoint_id}: {', '.join(what)}>"

    def __reel_picture__(self) -> tuple[bytes, str]:
        if not self.media:
            raise ReelbookError(f"Run {readable_id(self.request_id)} made no picture or video that could be a source.")
        return next((file for file in self.media if file.is_video), self.media[0]).__reel_picture__()

    async def _wait_async(self) -> Run:
        # Polled, because an interrupt of a notebook's cell is only delivered when its loop wakes.
        try:
            while not self._done.is_set():
                await asyncio.sleep(0.02 if time.monotonic() - self._started < 5 else TICK_SECONDS)
        except asyncio.CancelledError:
            # Jupyter interrupts an awaiting cell by cancellation.
            raise asyncio.CancelledError(self.resume_hint) from None
        return self.wait(0)

    # On the background loop.

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
        self.context.calls.forget_uploads(str(error))
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
        deadline, failures = time.monotonic() + answers.RESULT_SECONDS, 0
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
        self._load()

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
            from ..transport.downloader import DownloadedFile  # Here, because it brings httpx along.

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


def input_from_entry(entry: Entry) -> Input | None:
    """The typed input of a ledger row; None if it is attached, invalid, or of a model outside the catalog."""
    row = find_endpoint(entry.model)
    if row is None or entry.identity.startswith(ATTACHED):
        return None
    try:
        return row.input(**unwrap_pictures(json.loads(entry.input), Image.from_library))
    except InvalidInput:
        return None


def is_over(entry: Entry, shelf: Shelf) -> bool:
    """Whether a run is finished and its files are on the shelf, so that no service is needed."""
    if entry.state == State.STORED:
        return all(shelf.find(sha256) is not None for sha256 in entry.hashes)
    return find_end(entry) is not None


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


async def cancel_runs(runs: Collection[Run], *, at_work: bool = False) -> str:
    """Cancel the runs that are still queued, with `at_work` also those in progress, and say what came of it."""
    returned = 0

    async def cancel(run: Run) -> str:
        nonlocal returned
        before = run.credits or 0
        try:
            # Polled first, because it may have started in the meantime.
            if not at_work:
                status = (await run.context.calls.status(run.endpoint_id, run.request_id)).status
                if status != IN_QUEUE:
                    return "at work" if status == IN_PROGRESS else "over"
            if not await run.request_cancel():
                return "refused"
        except ReelbookError:
            return "refused"
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(run.wait_finished(), NOTICE_SECONDS)
        # Only what the service says: the specification does not promise a refund.
        returned += max(before - (run.credits or 0), 0)
        return "cancelled"

    counts = Counter(await asyncio.gather(*(cancel(run) for run in runs if run.queue_status.status != COMPLETED)))
    parts = {
        "cancelled": f"cancelled, {returned:,} credits come back." if returned else "cancelled.",
        "at work": "being worked on and not stopped.",
        "refused": "not cancelled and may still cost credits; look again in a moment.",
    }
    words = [
        f"{format_count(counts[end], 'run')} {'is' if counts[end] == 1 else 'are'} {what}"
        for end, what in parts.items()
        if counts[end]
    ]
    return " ".join(words) or "No runs are waiting in the service's queue."
