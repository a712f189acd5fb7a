"""Clients in processes of their own, to be killed at a chosen moment, or to begin their work together at one signal.

with Nursery() as nursery:
    child = nursery.born(work_in_threads, address=url, key=KEY, library=folder, numbers=[1, 2], die="sending: safe")
    assert child.ended() == -signal.SIGKILL

with Nursery() as nursery:
    both = [nursery.open_notebook(Order(address, KEY, folder, numbers=numbers)) for numbers in ([0, 1], [1, 0])]
    nursery.begin()
    assert both[0].outcomes() == both[1].outcomes()
"""

from __future__ import annotations

import asyncio
import functools
import multiprocessing
import os
import queue
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from reelbook.client import Client

PATIENCE = 60.0
"""Longer than anything here takes on a busy machine; what takes longer hangs."""

DOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAJUlEQVR4nGP8//8/AxJgbGxkwAuY8EsPCQ0sBH1JqQ2j"
    "GoaoBgCANgUlupRW9wAAAABJRU5ErkJggg=="
)
"""A picture of 16 × 16."""


def until(so: Callable[[], object]) -> None:
    """Look again and again; the moment itself decides, not the clock."""
    pause, deadline = threading.Event(), time.monotonic() + PATIENCE
    while not so():
        assert time.monotonic() < deadline, "it never came true"
        pause.wait(0.002)


class Nursery:
    """Clients that are forked from a process that has everything imported: each is a fresh one, and is there at once."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([*FIRST_CALL])
        self._children: list[Child] = []

    def born(
        self, work: Callable[..., None], *, die: str | None = None, said: Path | None = None, **order: Any
    ) -> Child:
        """A client that does this work with these arguments.

        `die` names the moment of its death, see `Trap`; `said` is where all goes that it writes to its standard error.
        """
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_live, args=(work, order, theirs, die, said), daemon=True)
        process.start()
        theirs.close()
        self._children.append(Child(process, ours))
        return self._children[-1]

    def open_notebook(self, order: Order) -> Child:
        """One that is connected and waits for the signal; the first of its runs is made already."""
        return self.born(_read_again_and_again if order.way == "reader" else _work_as_notebook, order=order)

    def begin(self) -> None:
        """The signal, once all are ready."""
        for child in self._children:
            child.until("ready")
        for child in self._children:
            child.say("begin")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._children:
            child.close(now=kind is not None)


class Child:
    """One client. What it tells are lines such as `accepted 7`, then `done 7`, or `uncertain 7`, or an `Outcome`."""

    def __init__(self, process: Any, line: Connection[Any, Any]) -> None:
        self._process, self._line, self._is_over = process, line, False
        self.told: list[Any] = []
        self.killed: float | None = None
        """When it was killed, by the clock that the ledger uses."""
        self._news: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # Always at it: a client that has told more than the line holds would stand still.
        self._ear = threading.Thread(target=self._listen, daemon=True)
        self._ear.start()

    def __iter__(self) -> Iterator[Any]:
        """What it tells from now on, to its end."""
        while not self._is_over:
            news = self._news.get(timeout=PATIENCE)
            if news is None:
                self._is_over = True
            else:
                self.told.append(news)
                yield news

    @property
    def is_alive(self) -> bool:
        return bool(self._process.is_alive())

    def until(self, words: str) -> None:
        """Wait until it has told this."""
        while words not in self.told:
            assert next(iter(self), None) is not None, f"it ended without telling {words!r}"

    def say(self, word: str) -> None:
        self._line.send(word)

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError, ValueError):  # It may have ended, and been cleared away.
            os.kill(self._process.pid, number)

    def kill(self) -> None:
        """End it as the system does when the memory is full: at once, and without a word to it."""
        self._process.kill()
        self.killed = time.time()

    def ended(self) -> int:
        """Its exit status, once it is over."""
        for _ in self:
            pass
        self._process.join(PATIENCE)
        return int(self._process.exitcode)

    def outcomes(self) -> list[Outcome]:
        """What became of all the runs of a notebook, once it is over."""
        assert (status := self.ended()) == 0, f"the notebook ended with {status}"
        return sorted((news for news in self.told if news != "ready"), key=lambda outcome: outcome.number)

    def close(self, *, now: bool) -> None:
        """End it where a test has left it; `now` if it may wait for something that does not come."""
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


FIRST_CALL = (
    *(
        "reelbook.transport.downloader",
        "reelbook.api.runs",
        "reelbook.display.run_card",
        "reelbook.display.live",
    ),
    *("reelbook.media.stills", "reelbook.models.images_to_video"),
    *("anyio._backends._asyncio", "httpcore", "PIL.BmpImagePlugin", "PIL.JpegImagePlugin", "PIL.PngImagePlugin"),
)
"""What a client imports by its first call, and its first result."""
"""What a client imports by its first call, and its first result."""

# In the process of a client.


class _Mouth:
    """What a client tells, from whichever thread."""

    line: Connection[Any, Any]
    guard = threading.Lock()


def _live(
    work: Callable[..., None], order: Mapping[str, Any], line: Connection[Any, Any], die: str | None, said: Path | None
) -> None:
    _Mouth.line = line
    if said is not None:
        os.dup2(os.open(said, os.O_WRONLY | os.O_APPEND | os.O_CREAT), 2)
    if die is not None:
        Trap(die).set()
    work(**order)
    line.close()


def tell(news: object) -> None:
    """Tell whoever has this client what happened."""
    with _Mouth.guard:
        _Mouth.line.send(news)


def hear() -> Any:
    """Wait for a word of whoever has this client."""
    return _Mouth.line.recv()


def clip(number: int) -> dict[str, Any]:
    """An input for each number: the quickest job there is, and one that tells its number."""
    return {"images": [{"url": DOT, "frames": 1 + number // 119}], "fps": 1 + number % 119}


def number_of(clip: Mapping[str, Any]) -> int:
    """The number of an input, as a service or a ledger has kept it."""
    return int(clip["images"][0]["frames"] - 1) * 119 + int(clip["fps"]) - 1


def work_in_threads(address: str, key: str, library: Path, numbers: Sequence[int]) -> None:
    """Make the clips of these numbers, several one after another each, and end with the last of them."""
    import reelbook as rb

    with rb.connect(address, api_key=key, library=library) as client, ThreadPoolExecutor(16) as pool:

        def one(number: int) -> None:
            try:
                run = client.start(rb.ImagesToVideo(**clip(number)))
                tell(f"accepted {number}")
                run.wait(PATIENCE)
                tell(f"done {number}")
            except rb.UncertainRun:
                tell(f"uncertain {number}")

        list(pool.map(one, numbers))


def work_on_the_loop(address: str, key: str, library: Path, numbers: Sequence[int]) -> None:
    """The same, all begun at once."""
    import reelbook as rb
    from reelbook.runs.submit import Submission
    from reelbook.util.background_loop import background

    with rb.connect(address, api_key=key, library=library) as client:

        async def one(number: int) -> None:
            try:
                run = await client.submit_run(Submission(client.context, rb.ImagesToVideo(**clip(number))))
                tell(f"accepted {number}")
                await run.wait_finished()
                tell(f"done {number}")
            except rb.UncertainRun:
                tell(f"uncertain {number}")

        for future in [background.submit(one(number)) for number in numbers]:
            future.result(PATIENCE)


def work_naively(address: str, key: str, library: Path, numbers: Sequence[int]) -> None:
    """What one writes without a ledger: post what has no result yet, then fetch the results."""
    import httpx

    library.mkdir(exist_ok=True)
    results = library / "results"
    have = results.read_text().split() if results.exists() else []
    endpoint = "svc/frames-api/images-to-video"
    with httpx.Client(base_url=address, headers={"x-api-key": key}, timeout=PATIENCE, trust_env=False) as http:
        sent = {}
        for number in numbers:
            if str(number) not in have:
                answer = http.post("/models/run", json={"endpointId": endpoint, "input": clip(number)})
                sent[number] = answer.raise_for_status().json()["requestId"]
                tell(f"accepted {number}")
        for number, request_id in sent.items():
            while http.get(f"/{endpoint}/requests/{request_id}").status_code != 200:
                pass
            with results.open("a") as file:
                file.write(f"{number}\n")
            tell(f"done {number}")


# Notebooks that share a library.

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


def _work_as_notebook(order: Order) -> None:
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
                    tell(Outcome(number, f"{type(error).__name__}: {error}"))
                else:
                    tell(Outcome(number, "", run.request_id, tuple(file.path.name for file in run.media), run.credits))

        # The first before the signal, so that each of them has made its part of the runs, however busy the machine is.
        first, *others = order.numbers
        background.submit(one(first)).result(PATIENCE)
        tell("ready")
        hear()
        for future in [background.submit(one(number)) for number in others]:
            future.result(PATIENCE)


def _check_naively(client: Client, limit: int) -> None:
    """What one writes without a transaction: look how much is spent, and go on if it is little enough."""
    import reelbook as rb

    spent, price = client.ledger.read(lambda db: db.execute("SELECT coalesce(sum(counted), 0) FROM entries").fetchone())[0], 53  # fmt: skip
    if spent + price > limit:
        raise rb.OverBudget(limit, spent, price)


def _read_again_and_again(order: Order) -> None:
    import reelbook as rb

    tell("ready")
    hear()
    looks, is_last = 0, False
    while not is_last:
        is_last = _Mouth.line.poll()  # Before the look, so that the last one begins when the others have ended.
        try:
            frame = rb.library(order.library).frame
        except Exception as error:
            tell(Outcome(looks, f"{type(error).__name__}: {error}"))
        looks += 1
    tell(Outcome(looks, "", "", tuple(frame["request_id"])))


class Trap:
    """Kills its own process at a moment that lasts too short to be hit from outside.

    `<state>: not safe` is inside the commit of this state, `<state>: safe` just after it. `finished` is the end of a
    request in a service's database. The others are named in `POSTS` and `FILES`.
    """

    POSTS = {
        "POST sent": "http11.send_request_body.complete",
        "answer begins": "http11.receive_response_headers.complete",
        "answer read": "http11.receive_response_body.complete",
    }
    FILES = ("file is here", "file has its name")

    def __init__(self, moment: str) -> None:
        self._moment = moment

    def set(self) -> None:
        """From now on it waits."""
        if self._moment in self.POSTS:
            self._watch_posts(self.POSTS[self._moment])
        elif self._moment in self.FILES:
            self._watch_files()
        else:
            self._watch_commits()

    def _spring(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def _watch_posts(self, wanted: str) -> None:
        import httpx

        plain = httpx.AsyncHTTPTransport.handle_async_request

        async def handle(transport: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
            if request.method == "POST" and request.url.path == "/models/run":
                before = request.extensions.get("trace")

                async def trace(event: str, info: Mapping[str, Any]) -> None:
                    if event == wanted:
                        self._spring()
                    if before is not None:
                        await before(event, info)

                request.extensions["trace"] = trace
            return await plain(transport, request)

        httpx.AsyncHTTPTransport.handle_async_request = handle  # type: ignore[assignment, method-assign]

    def _watch_files(self) -> None:
        from reelbook.storage.shelf import Shelf

        plain = Shelf.place

        def place(shelf: Shelf, *args: Any, **options: Any) -> Path:
            if self._moment == "file is here":
                self._spring()
            path = plain(shelf, *args, **options)
            self._spring()
            return path

        Shelf.place = place  # type: ignore[assignment, method-assign]

    def _watch_commits(self) -> None:
        state, _, when = self._moment.partition(": ")
        spring, written = self._spring, threading.local()

        class Watched(sqlite3.Connection):
            def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
                done = super().execute(statement, *values)
                is_event = statement.startswith("INSERT INTO events") and values[0][2] == state
                if is_event or (state == "finished" and statement.startswith("UPDATE requests SET finished")):
                    written.now = True
                    if when == "not safe":
                        spring()
                if statement == "COMMIT" and getattr(written, "now", False):
                    spring()
                return done

        sqlite3.connect = functools.partial(sqlite3.connect, factory=Watched)  # type: ignore[assignment]
