"""A run: one request from its submission to its media."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
import time
import weakref
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from ..errors import Interrupted, InvalidInput, ReelbookError, RunCancelled, RunFailed, RunTimeout
from ..media.local_file import LocalFile
from ..models.base import Input, Output
from ..models.catalog import CATALOG
from ..models.images import Image
from ..models.queue_status import COMPLETED, IN_PROGRESS
from ..storage.ledger.transitions import NO_NAME, STORED, Entry
from ..storage.table.library_table import marks_in
from ..transport.service_calls import Accepted
from ..util.background_loop import TICK_SECONDS, background
from ..util.interrupts import raised_once
from ..util.name_hints import Hinting
from ..util.printable import readable_id
from .follower import Following, kind_of

if TYPE_CHECKING:
    from .submission import ClientContext

WAIT_SECONDS = 3600.0


class Run(Hinting):
    """One run. Made by `start` and `attach`; it follows itself in the background."""

    _internal = ("belongs_to", "finished", "goes_on", "let_go", "shown_in")

    def __init__(
        self,
        context: Callable[[], ClientContext],
        entry: Entry,
        *,
        input: Input | None = None,
        answer: Accepted | None = None,
        others: bool = False,
        watched: bool = False,
    ) -> None:
        self.endpoint_id = entry.model
        self.input = input if input is not None else input_of(entry)
        self.from_library = entry.state == STORED
        """Whether the library had it already, so that nothing was sent and nothing was paid."""
        self.shown_in: int | None = None
        """The cell that shows this run already, so that it is not shown there twice."""
        self._context = context
        self._known = Following(context(), entry, self._tell, watched=watched)
        self._started, self._took = time.monotonic(), 0.0
        self._settled = threading.Event()
        self._listeners: list[Callable[[Run], None]] = []
        self._pid = os.getpid()
        context().ledger.live[entry.id] = self
        # Runs are made on the background loop, where all conversation is.
        self._following = asyncio.get_running_loop().create_task(self._follow(answer, others))

    @property
    def request_id(self) -> str:
        """What the service calls it."""
        return self._known.entry.request_id or ""

    @property
    def id(self) -> int:
        """Its number in the library."""
        return self._known.entry.id

    @property
    def take(self) -> int:
        """Which repetition of the same input it is."""
        return self._known.entry.take

    @property
    def status(self) -> str:
        """`IN_QUEUE`, `IN_PROGRESS`, then `completed`, `failed` or `cancelled`.

        It is `unfinished` where it went on at the service, or ended there, and what went wrong was on the way here: nobody
        follows it any more, and `rb.attach` picks it up again at no cost.
        """
        if not self._settled.is_set():
            return self._known.status.status if self._known.status.status != COMPLETED else IN_PROGRESS
        if self._known.failure is None:
            return "completed"
        if isinstance(self._known.failure, RunCancelled):
            return "cancelled"
        return "failed" if isinstance(self._known.failure, RunFailed) else "unfinished"

    @property
    def progress(self) -> tuple[float, str]:
        """How far it is, 0 to 1, and what is being done."""
        metrics = self._known.status.metrics or {}
        if self._settled.is_set():
            return 1.0, self.status
        if self._known.status.status == COMPLETED:
            return 1.0, self._known.fetching
        if self._known.status.queue_position is not None:
            return 0.0, f"{self._known.status.queue_position} ahead in the queue"
        told = metrics.get("progress")
        fraction = float(told) if isinstance(told, (int, float)) else 0.0
        return min(max(fraction, 0.0), 1.0), str(metrics.get("stage") or "starting")

    @property
    def service_status(self) -> str:
        """What the service said of it last; its files may be on their way here when it is `COMPLETED`."""
        return self._known.status.status

    @property
    def queue_position(self) -> int | None:
        """How many requests are ahead of it in the queue, where the service says so."""
        return self._known.status.queue_position

    @property
    def queue_seconds(self) -> float | None:
        """How long it has waited in the queue, where the service says so."""
        told = (self._known.status.metrics or {}).get("queue_time")
        return float(told) if isinstance(told, (int, float)) and not isinstance(told, bool) else None

    @property
    def output(self) -> Output:
        """The typed output; waits for it."""
        self.wait()
        assert self._known.output is not None
        _remember(self._known.output, self._known.media)
        return self._known.output

    @property
    def media(self) -> tuple[LocalFile, ...]:
        """Every file of the output, on this machine; waits for them."""
        self.wait()
        return self._known.media

    @property
    def video(self) -> LocalFile:
        """The video; waits for it."""
        found = next((file for file in self.media if file.is_video), None)
        if found is None:
            raise ReelbookError(f"Run {readable_id(self.request_id)} made no video. Look at run.images.")
        return found

    @property
    def images(self) -> tuple[LocalFile, ...]:
        """The pictures, in the order of the output; waits for them."""
        return tuple(file for file in self.media if not file.is_video)

    @property
    def credits(self) -> int | None:
        """What it cost, as far as is known; `credits_source` says from where."""
        # What went wrong on the way here was no failure of the run, which is paid for.
        failed = self._settled.is_set() and isinstance(self._known.failure, RunFailed | RunCancelled)
        return 0 if failed and self._known.entry.charged is None else self._known.entry.credits

    @property
    def credits_source(self) -> str:
        """`charged` from the service, else `estimated`."""
        return "charged" if self._known.entry.charged is not None else "estimated"

    @property
    def timings(self) -> dict[str, float]:
        """Seconds: in the queue, at work, and in all as seen from here."""
        entry = self._known.entry
        told = {"queued": entry.queued_s, "running": entry.running_s}
        found = {name: seconds for name, seconds in told.items() if seconds is not None}
        if self.from_library and entry.finished and entry.sent:
            return {**found, "total": round(entry.finished - entry.sent, 3)}
        return {**found, "total": round(self._took or time.monotonic() - self._started, 3)}

    @property
    def logs(self) -> list[str]:
        """The log so far, each line once; of a long one its last lines, and before them how many are left out."""
        return self._known.log.text

    @property
    def row(self) -> dict[str, Any]:
        """The run as one row of a table: the input under its own names, the output as `output_…`, then how it went."""
        asked = (
            {} if self.input is None else {name: getattr(self.input, name) for name in type(self.input).model_fields}
        )
        told = (
            {}
            if self._known.output is None
            else {f"output_{name}": value for name, value in self._known.output if name != "video"}
        )
        video = next((file for file in self._known.media if file.is_video), None)
        films = {} if video is None else {"output_video": str(video.path), "output_video_url": video.source.url}
        timings = self.timings
        return {
            **asked,
            **told,
            **films,
            "status": self.status,
            "credits": self.credits,
            "credits_source": self.credits_source,
            "marks": marks_in(self._known.entry.media),
            "queued_s": timings.get("queued"),
            "running_s": timings.get("running"),
            "error_type": None if self._known.failure is None else kind_of(self._known.failure),
            "error": None if self._known.failure is None else str(self._known.failure),
            "request_id": self.request_id,
            "model": self.endpoint_id,
            "take": self.take,
        }

    def wait(self, timeout: float | None = None) -> Run:
        """Wait until it is finished and its media are here; an hour, unless told otherwise.

        An interrupt stops the waiting, never the run.
        """
        self._after_fork()
        limit = WAIT_SECONDS if timeout is None else _seconds(timeout)
        deadline = time.monotonic() + limit
        with raised_once():
            # Not `Thread.join` or the future: after an interrupt these can return though nothing has ended.
            try:
                while not self._settled.wait(min(TICK_SECONDS, max(deadline - time.monotonic(), 0.0))):
                    if time.monotonic() >= deadline:
                        raise RunTimeout(self.request_id, self.status, limit)
            except KeyboardInterrupt:
                raise Interrupted(self.goes_on) from None
        if self._known.failure is not None:
            raise self._known.failure.with_traceback(None)
        return self

    def __await__(self) -> Generator[Any, None, Run]:
        return self._awaited().__await__()

    def cancel(self) -> bool:
        """Ask the service to stop it; says whether it agreed."""
        if self._settled.is_set():
            return False
        return background.wait(self._context().calls.cancel(self.endpoint_id, self.request_id), timeout=60)

    def revised(self, /, **changes: Any) -> Run:
        """The same with some fields changed, started as a run of its own."""
        if self.input is None:
            raise ReelbookError(
                f"The input of run {readable_id(self.request_id)} is not known here, because it was started elsewhere. Start a new run with an input of yours."
            )
        started: Run = self._context().start(self.input.revised(**changes))
        return started

    @property
    def failure(self) -> ReelbookError | None:
        """Why it has no result; None while it goes on, and when it has one."""
        return self._known.failure

    def on_change(self, listener: Callable[[Run], None]) -> None:
        """Call this with the run whenever something is new, from the background."""
        self._listeners.append(listener)

    @property
    def goes_on(self) -> str:
        """What to tell somebody who has stopped waiting for it."""
        return (
            f"You stopped waiting; run {readable_id(self.request_id)} goes on at the service. Run the same again to wait for it, or: "
            f"rb.attach({self.request_id!r}, model={self.endpoint_id!r}), then .wait() or .cancel()."
        )

    async def finished(self) -> None:
        """Wait on the background loop; nothing is raised for a run that failed."""
        await asyncio.wait([self._following])

    def belongs_to(self, context: ClientContext) -> bool:
        """Whether this client follows it."""
        return self._context() is context

    def let_go(self) -> None:
        """Stop following; the service goes on with it."""
        self._following.cancel()

    def __repr__(self) -> str:
        what = [self.status, f"request {readable_id(self.request_id)}"]
        if self._settled.is_set() and self._known.failure is None:
            paid = f"{self.credits} credits" if self.credits is not None else "credits unknown"
            what += [str(file.path) for file in self._known.media]
            what += [f"from the library, paid before ({paid})" if self.from_library else paid]
        return f"<Run of {self.endpoint_id}: {', '.join(what)}>"

    def __reel_key__(self) -> tuple[str, str, str, int]:
        """What finds it in a library: service, request id, identity and take."""
        entry = self._known.entry
        return entry.service, entry.request_id or "", entry.identity, entry.take

    def __reel_picture__(self) -> tuple[bytes, str]:
        file = next((file for file in self.media if file.is_video), None) or next(iter(self.images), None)
        if file is None:
            raise ReelbookError(
                f"Run {readable_id(self.request_id)} made no picture and no video that could be a source."
            )
        return file.__reel_picture__()

    async def _awaited(self) -> Run:
        # A tick: an interrupt of a notebook's cell only arrives when its loop wakes.
        self._after_fork()
        try:
            while not self._settled.is_set():
                await asyncio.sleep(0.02 if time.monotonic() - self._started < 5 else TICK_SECONDS)
        except asyncio.CancelledError:
            # This is how a notebook interrupts a cell that awaits.
            raise asyncio.CancelledError(self.goes_on) from None
        return self.wait(0)

    def _after_fork(self) -> None:
        """A forked child has no thread that follows the run: it waits for what its parent writes down."""
        if self._pid != os.getpid() and not self._settled.is_set():
            self._pid, self._settled = os.getpid(), threading.Event()
            self._known = Following(self._context(), self._known.entry, self._tell)
            background.submit(self._follow(None, others=True))

    async def _follow(self, answer: Accepted | None, others: bool) -> None:
        try:
            await self._known.to_the_end(answer, others=others)
        finally:
            self._known.left()
            self._took = time.monotonic() - self._started
            self._settled.set()
            self._tell()

    def _tell(self) -> None:
        for listener in list(self._listeners):
            with contextlib.suppress(Exception):
                listener(self)


_media: dict[int, tuple[weakref.ref[Output], tuple[LocalFile, ...]]] = {}
"""The files of each output that somebody holds."""


def media_of(output: Output) -> tuple[LocalFile, ...]:
    """The files on this machine that an output of a run names; none where it was made in another way."""
    kept, files = _media.get(id(output), (None, ()))
    return files if kept is not None and kept() is output else ()


def _remember(output: Output, files: tuple[LocalFile, ...]) -> None:
    """Beside the output and not in it: what a service answered stays what it answered. Gone when the output is."""
    if id(output) not in _media:
        key = id(output)
        _media[key] = weakref.ref(output, lambda _: _media.pop(key, None)), files


def _seconds(timeout: Any) -> float:
    """A number of seconds to wait; anything else would be a wait without an end."""
    if isinstance(timeout, (int, float)) and not isinstance(timeout, bool) and timeout >= 0:
        return float(timeout)
    raise ReelbookError(f"`timeout` is a number of seconds, not {timeout!r}. The run goes on.")


def input_of(entry: Entry) -> Input | None:
    """The typed input of a run that the library knows; None where its model is only known from a description."""
    row = next((row for row in CATALOG if row.id == entry.model), None)
    if row is None or entry.identity.startswith(NO_NAME):
        return None
    try:
        return row.input(**_with_pictures(json.loads(entry.input)))
    except InvalidInput:
        return None


def _with_pictures(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"sha256"}:
            return Image.from_library(value["sha256"])
        return {name: _with_pictures(item) for name, item in value.items()}
    return [_with_pictures(item) for item in value] if isinstance(value, list) else value
