"""A run: one request from its submission to its media."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from . import errors
from .client.service import ServiceCalls
from .client.transfer import download
from .client.watch import follow
from .errors import ReelbookError, RunCancelled, RunFailed, RunTimeout, ServiceError
from .loop import TICK_SECONDS, BackgroundLoop
from .media.local import LocalFile
from .models.base import Input, Output
from .models.catalog import CATALOG
from .models.queue import COMPLETED, QueueStatus

WAIT_SECONDS = 3600.0


class Run:
    """One run. Made by `start` and `attach`; it follows itself in the background."""

    def __init__(
        self,
        calls: ServiceCalls,
        loop: BackgroundLoop,
        shelf: Path,
        endpoint_id: str,
        request_id: str,
        *,
        input: Input | None = None,
        credits: int | None = None,
        output: Mapping[str, Any] | None = None,
    ) -> None:
        self.input, self.request_id, self.endpoint_id = input, request_id, endpoint_id
        self._calls, self._loop, self._shelf = calls, loop, shelf
        self._price = credits
        self._charged: int | None = None
        self._status = QueueStatus(status="IN_QUEUE", request_id=request_id)
        self._output: Output | None = None
        self._media: tuple[LocalFile, ...] = ()
        self._failure: ReelbookError | None = None
        self._started, self._took = time.monotonic(), 0.0
        self._settled = threading.Event()
        self._listeners: list[Callable[[Run], None]] = []
        self.shown_in: int | None = None
        """The cell that shows this run already, so that it is not shown there twice."""
        self._following: Future[None] = loop.submit(self._follow(output))

    @property
    def status(self) -> str:
        """`IN_QUEUE`, `IN_PROGRESS`, then `completed`, `failed` or `cancelled`."""
        if not self._settled.is_set():
            return self._status.status if self._status.status != COMPLETED else "IN_PROGRESS"
        if self._failure is None:
            return "completed"
        return "cancelled" if isinstance(self._failure, RunCancelled) else "failed"

    @property
    def progress(self) -> tuple[float, str]:
        """How far it is, 0 to 1, and what is being done."""
        metrics = self._status.metrics or {}
        if self._settled.is_set():
            return 1.0, self.status
        if self._status.queue_position is not None:
            return 0.0, f"{self._status.queue_position} ahead in the queue"
        return float(metrics.get("progress", 0.0)), str(metrics.get("stage") or "starting")

    @property
    def output(self) -> Output:
        """The typed output; waits for it."""
        self.wait()
        assert self._output is not None
        return self._output

    @property
    def media(self) -> tuple[LocalFile, ...]:
        """Every file of the output, on this machine; waits for them."""
        self.wait()
        return self._media

    @property
    def video(self) -> LocalFile:
        """The video; waits for it."""
        found = next((file for file in self.media if file.is_video), None)
        if found is None:
            raise ReelbookError(f"Run {self.request_id} made no video. Look at run.images.")
        return found

    @property
    def images(self) -> tuple[LocalFile, ...]:
        """The pictures, in the order of the output; waits for them."""
        return tuple(file for file in self.media if not file.is_video)

    @property
    def credits(self) -> int | None:
        """What it cost, as far as is known; `credits_source` says from where."""
        if self._charged is not None:
            return self._charged
        return 0 if self._failure is not None else self._price

    @property
    def credits_source(self) -> str:
        """`charged` from the service, else `estimated`."""
        return "charged" if self._charged is not None else "estimated"

    @property
    def timings(self) -> dict[str, float]:
        """Seconds: in the queue, at work, and in all as seen from here."""
        metrics = self._status.metrics or {}
        names = {"queued": "queue_time", "running": "inference_time"}
        told = {
            ours: float(metrics[name]) for ours, name in names.items() if isinstance(metrics.get(name), (int, float))
        }
        return {**told, "total": round(self._took or time.monotonic() - self._started, 3)}

    @property
    def logs(self) -> list[str]:
        """The log so far, each line once."""
        return self._status.lines

    @property
    def row(self) -> dict[str, Any]:
        """The run as one row of a table: the input under its own names, the output as `output_…`, then how it went."""
        asked = (
            {} if self.input is None else {name: getattr(self.input, name) for name in type(self.input).model_fields}
        )
        told = (
            {} if self._output is None else {f"output_{name}": value for name, value in self._output if name != "video"}
        )
        video = next((file for file in self._media if file.is_video), None)
        films = {} if video is None else {"output_video": str(video.path), "output_video_url": video.source.url}
        timings = self.timings
        return {
            **asked,
            **told,
            **films,
            "status": self.status,
            "credits": self.credits,
            "credits_source": self.credits_source,
            "queued_s": timings.get("queued"),
            "running_s": timings.get("running"),
            "error": None if self._failure is None else str(self._failure),
            "request_id": self.request_id,
            "model": self.endpoint_id,
        }

    def wait(self, timeout: float | None = None) -> Run:
        """Wait until it is finished and its media are here; an hour, unless told otherwise.

        An interrupt stops the waiting, never the run.
        """
        limit = WAIT_SECONDS if timeout is None else timeout
        deadline = time.monotonic() + limit
        while not self._settled.wait(min(TICK_SECONDS, max(deadline - time.monotonic(), 0.0))):
            if time.monotonic() >= deadline:
                raise RunTimeout(self.request_id, self.status, limit)
        if self._failure is not None:
            raise self._failure.with_traceback(None)
        return self

    def __await__(self) -> Generator[Any, None, Run]:
        return self._awaited().__await__()

    def cancel(self) -> bool:
        """Ask the service to stop it; says whether it agreed."""
        return self._loop.wait(self._calls.cancel(self.endpoint_id, self.request_id), timeout=60)

    def on_change(self, listener: Callable[[Run], None]) -> None:
        """Call this with the run whenever something is new, from the background."""
        self._listeners.append(listener)

    def __repr__(self) -> str:
        what = [self.status, f"request {self.request_id}"]
        if self._settled.is_set() and self._failure is None:
            what += [str(file.path) for file in self._media] + [f"{self.credits} credits"]
        return f"<Run of {self.endpoint_id}: {', '.join(what)}>"

    async def _awaited(self) -> Run:
        # A tick: an interrupt of a notebook's cell only arrives when its loop wakes.
        while not self._settled.is_set():
            await asyncio.sleep(0.02 if time.monotonic() - self._started < 5 else TICK_SECONDS)
        return self.wait(0)

    async def _follow(self, output: Mapping[str, Any] | None) -> None:
        try:
            if output is None:
                output = await self._finished_output()
            self._output = self._typed(output)
            self._media = tuple(
                [LocalFile(await download(file, self._shelf, self.request_id), file) for file in self._output.files]
            )
        except ReelbookError as error:
            self._failure = error
        except Exception as error:
            self._failure = ReelbookError(
                f"Run {self.request_id} could not be followed: {type(error).__name__}: {error}"
            )
        finally:
            self._took = time.monotonic() - self._started
            self._settled.set()
            self._tell()

    async def _finished_output(self) -> Mapping[str, Any]:
        final = await follow(self._calls, self.endpoint_id, self.request_id, self._seen)
        charged = (final.metrics or {}).get("credits")
        self._charged = charged if isinstance(charged, int) else None
        error = getattr(final, "error", None)
        kind = getattr(final, "error_type", None)
        if kind == "cancelled":
            raise RunCancelled(self.request_id)
        if error:
            raise RunFailed(self.request_id, _sentence(error), kind)
        try:
            return dict(await self._calls.result(self.endpoint_id, self.request_id))
        except ServiceError as refusal:
            if refusal.status == 499:
                raise RunCancelled(self.request_id) from None
            if isinstance(refusal, errors.Unauthorized):
                raise
            raise RunFailed(self.request_id, refusal.message, refusal.error_type) from None

    def _typed(self, output: Mapping[str, Any]) -> Output:
        row = next((row for row in CATALOG if row.id == self.endpoint_id), None)
        try:
            return (row.output if row else Output).model_validate(dict(output))
        except ValidationError:
            # It is paid for: an answer of another shape than the spec's is kept as it came.
            return Output.model_validate(dict(output))

    def _seen(self, status: QueueStatus) -> None:
        changed = (status.status, status.metrics, status.queue_position, len(status.lines))
        before = (self._status.status, self._status.metrics, self._status.queue_position, len(self._status.lines))
        self._status = status
        if changed != before:
            self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener(self)


def _sentence(error: Any) -> str:
    return error if isinstance(error, str) else str(error)[:500]
