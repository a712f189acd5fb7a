"""Notebooks that share a library: clients in processes of their own, which begin their work at one signal.

with Notebooks() as notebooks:
    one = notebooks.opened(Order(address, KEY, folder, numbers=[0, 1, 2]))
    two = notebooks.opened(Order(address, KEY, folder, numbers=[2, 1, 0]))
    notebooks.begin()
    assert one.outcomes() == two.outcomes()
"""

from __future__ import annotations

import asyncio
import multiprocessing
import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from tests.faults.nursery import PATIENCE, clip

if TYPE_CHECKING:
    from reelbook.client import Client

AT_ONCE = 32


@dataclass(frozen=True)
class Order:
    """What one notebook does."""

    address: str
    key: str
    library: Path
    numbers: Sequence[int] = ()
    """The clips that it wants; see `nursery.clip`."""
    way: str = "library"
    """`library`: as everybody does it. `naive`: the budget is checked first, and then acted upon. `reader`: looks at the
    table of all runs again and again."""
    limit: int | None = None
    """The credits that all notebooks may spend together."""
    spend: int | None = None
    """The credits that this notebook may spend."""
    asked: Sequence[dict[str, Any]] | None = None
    """Inputs of text-to-video in place of the clips."""


@dataclass(frozen=True)
class Outcome:
    """What became of one run, as the notebook sees it."""

    number: int
    error: str = ""
    """The name of what was raised, and its words."""
    request_id: str = ""
    files: tuple[str, ...] = ()
    credits: int | None = None

    @property
    def kind(self) -> str:
        return self.error.partition(":")[0]


class Notebooks:
    """Several of them. They are forked from a process that has everything imported, and are there at once."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(
            ["reelbook.client", "reelbook.api.library", "reelbook.transport.downloader"]
        )
        self._open: list[Notebook] = []

    def opened(self, order: Order) -> Notebook:
        """A new one, connected and waiting for the signal; the first of its runs is made already."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(order, theirs), daemon=True)
        process.start()
        theirs.close()
        self._open.append(Notebook(process, ours))
        return self._open[-1]

    def begin(self) -> None:
        """The signal, once all are ready."""
        for notebook in self._open:
            notebook.until_ready()
        for notebook in self._open:
            notebook.say("begin")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for notebook in self._open:
            notebook.end(kind is not None)


class Notebook:
    """One of them."""

    def __init__(self, process: Any, news: Connection[Any, Any]) -> None:
        self._process, self._line = process, news
        self._told: list[Outcome] = []
        self._news: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # Always at it: a notebook that has told more than the line holds would stand still.
        self._ear = threading.Thread(target=self._listen, daemon=True)
        self._ear.start()

    def until_ready(self) -> None:
        while (news := self._news.get(timeout=PATIENCE)) not in (None, "ready"):
            self._told.append(news)

    def say(self, word: str) -> None:
        self._line.send(word)

    def told(self) -> Iterator[Outcome]:
        """What becomes of its runs, one after another, to its end."""
        yield from self._told
        while (news := self._news.get(timeout=PATIENCE)) is not None:
            yield news

    def outcomes(self) -> list[Outcome]:
        """What became of all its runs, once it is over."""
        found = sorted(self.told(), key=lambda outcome: outcome.number)
        assert self.status == 0, f"the notebook ended with {self.status}"
        return found

    def kill(self) -> None:
        """End it as the system does: at once, and without a word to it."""
        self._process.kill()
        self._process.join(PATIENCE)

    @property
    def status(self) -> int | None:
        self._process.join(PATIENCE)
        return int(self._process.exitcode)

    def end(self, now: bool) -> None:
        if now:
            self._process.kill()
        self._process.join(PATIENCE)
        self._process.close()
        self._ear.join(PATIENCE)
        self._line.close()

    def _listen(self) -> None:
        with suppress(EOFError, ConnectionResetError):
            while True:
                self._news.put(self._line.recv())
        self._news.put(None)


def _work(order: Order, news: Connection[Any, Any]) -> None:
    {"library": _as_everybody, "naive": _as_everybody, "reader": _reads}[order.way](order, news)
    news.close()


def _as_everybody(order: Order, news: Connection[Any, Any]) -> None:
    import reelbook as rb
    from reelbook.runs.submit import Submission
    from reelbook.storage.ledger.schema import Budget, Spend
    from reelbook.util.background_loop import background

    with rb.connect(order.address, api_key=order.key, library=order.library) as client:
        budget = None if order.limit is None or order.way == "naive" else Budget("all", order.limit)
        spend = None if order.spend is None else Spend(order.spend)
        room = asyncio.Semaphore(AT_ONCE)

        def submission(number: int) -> Submission:
            if order.asked is None:
                return Submission(client.context, rb.ImagesToVideo(**clip(number)), budget=budget, spend=spend)
            return Submission(client.context, rb.TextToVideo(**order.asked[number]), budget=budget, spend=spend)

        async def one(number: int) -> None:
            async with room:
                try:
                    if order.way == "naive":
                        _check_naively(client, order.limit or 0)
                    run = await client.submit_run(submission(number))
                    await run.wait_finished()
                    if run.failure is not None:
                        raise run.failure
                except Exception as error:
                    news.send(Outcome(number, f"{type(error).__name__}: {error}"))
                else:
                    news.send(
                        Outcome(number, "", run.request_id, tuple(file.path.name for file in run.media), run.credits)
                    )

        # The first before the signal, so that each of them has made its part of the runs, however busy the machine is.
        first, *others = order.numbers
        background.submit(one(first)).result(PATIENCE)
        news.send("ready")
        news.recv()
        for future in [background.submit(one(number)) for number in others]:
            future.result(PATIENCE)


def _check_naively(client: Client, limit: int) -> None:
    """What one writes without a transaction: look how much is spent, and go on if it is little enough."""
    import reelbook as rb

    spent, price = client.ledger.read(lambda db: db.execute("SELECT coalesce(sum(counted), 0) FROM entries").fetchone())[0], 53  # fmt: skip
    if spent + price > limit:
        raise rb.OverBudget(limit, spent, price)


def _reads(order: Order, news: Connection[Any, Any]) -> None:
    import reelbook as rb

    news.send("ready")
    news.recv()
    looks, is_last = 0, False
    while not is_last:
        is_last = news.poll()  # Before the look, so that the last one begins when the others have ended.
        try:
            frame = rb.library(order.library).frame
        except Exception as error:
            news.send(Outcome(looks, f"{type(error).__name__}: {error}"))
        looks += 1
    news.send(Outcome(looks, "", "", tuple(frame["request_id"])))
