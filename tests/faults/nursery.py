"""Clients in processes of their own, to be killed at a chosen moment.

with Nursery() as nursery:
    child = nursery.born(address=url, key=KEY, library=str(folder), numbers=[1, 2], die="sending: safe")
    assert child.ended() == -signal.SIGKILL
"""

from __future__ import annotations

import functools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""Longer than anything here takes on a busy machine; what takes longer hangs."""

DOT = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAJUlEQVR4nGP8//8/AxJgbGxkwAuY8EsPCQ0sBH1JqQ2j"
    "GoaoBgCANgUlupRW9wAAAABJRU5ErkJggg=="
)
"""A picture of 16 × 16."""


class Nursery:
    """A process that has everything imported and forks clients: each is a fresh one, and is there at once.

    Its clients print lines for each run: `accepted 7`, then `done 7`, or `uncertain 7`.
    """

    _latest: Child | None = None

    def __init__(self, said: Path | None = None) -> None:
        self._said = said
        """Where all goes that its clients write to their standard error."""

    def __enter__(self) -> Self:
        said = None if self._said is None else self._said.open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.nursery", *(["sweeps"] if self._said else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True, cwd=ROOT,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # A process with threads is not to be forked.
        )  # fmt: skip
        if said is not None:
            said.close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._process.stdout.close()

    def born(self, **order: Any) -> Child:
        """A new client with these arguments for `work`. One at a time: the one before it is ended, if a test has left it."""
        assert self._process.stdin is not None
        if self._latest is not None and self._latest.status is None:
            self._latest.kill()
            self._latest.ended()
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        assert self._process.stdout is not None
        self._latest = Child(self._process, int(self._process.stdout.readline().removeprefix("pid ")))
        return self._latest


@dataclass
class Child:
    """One client."""

    nursery: subprocess.Popen[str]
    pid: int
    lines: list[str] = field(default_factory=list)
    status: int | None = None
    killed: float | None = None
    """When it was killed, by the clock that the ledger uses."""

    def __iter__(self) -> Iterator[str]:
        """Its lines as they come, to its end."""
        assert self.nursery.stdout is not None
        while self.status is None:
            line = self.nursery.stdout.readline().strip()
            assert line or self.nursery.poll() is None, "the nursery is gone"
            if line.startswith("ended "):
                self.status = int(line.removeprefix("ended "))
                return
            self.lines.append(line)
            yield line

    def kill(self) -> None:
        """End it as the system does when the memory is full: at once, and without a word to it."""
        assert self.status is None, "it has ended by itself"
        with suppress(ProcessLookupError):  # Its end may be on its way to us.
            os.kill(self.pid, signal.SIGKILL)
        self.killed = time.time()

    def ended(self) -> int:
        """Its exit status, once it is over."""
        for _ in self:
            pass
        assert self.status is not None
        return self.status


FIRST_CALL = (
    *(
        "reelbook.transport.downloader",
        "reelbook.api.runs",
        "reelbook.display.run_progress",
        "reelbook.display.live",
    ),
    *("reelbook.media.stills", "reelbook.models.images_to_video"),
    *("anyio._backends._asyncio", "httpcore", "PIL.BmpImagePlugin", "PIL.JpegImagePlugin", "PIL.PngImagePlugin"),
)
"""What a client imports by its first call, and its first result."""
FIRST_SWEEP = ("reelbook.display.sweep_panel", "reelbook.sweeps.plan", "reelbook.sweeps.job", "reelbook.sweeps.tables", "reelbook.api.table_accessor")  # fmt: skip


def _nursery() -> None:
    for module in FIRST_CALL + (FIRST_SWEEP if "sweeps" in sys.argv else ()):
        import_module(module)

    for line in sys.stdin:
        order = json.loads(line)
        begin, begins = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(begins)
            os.read(begin, 1)  # Its number comes before its first line.
            work(**order)
            return
        # The system keeps pid and status until they are asked for, so nobody else can be meant by them.
        print(f"pid {pid}", flush=True)
        os.close(begin)
        os.close(begins)
        print(f"ended {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}", flush=True)


def work(
    *,
    address: str,
    key: str,
    library: str,
    numbers: Sequence[int],
    way: str = "threads",
    die: str | None = None,
    **more: Any,
) -> None:
    """A client that makes the clips of these numbers, and ends by itself when it has them all.

    `way`: `threads` are several that run one after another each; `loop` begins all at once; `naive` has no ledger;
    `walk` is one of the random walk, which takes `more`.
    `die` names the moment of its death; see `Trap`.
    """
    if die is not None:
        Trap(die).set()
    from tests.faults.walker import walked

    ways = {"threads": _in_threads, "loop": _on_the_loop, "naive": _naively, "walk": walked}
    ways[way](address, key, Path(library), numbers, **more)


def clip(number: int) -> dict[str, Any]:
    """An input for each number: the quickest job there is, and one that tells its number."""
    return {"images": [{"url": DOT, "frames": 1 + number // 119}], "fps": 1 + number % 119}


def number_of(clip: Mapping[str, Any]) -> int:
    """The number of an input, as a service or a ledger has kept it."""
    return int(clip["images"][0]["frames"] - 1) * 119 + int(clip["fps"]) - 1


def say(*words: object) -> None:
    # In one call, so that the lines of two threads never mix.
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def _in_threads(address: str, key: str, library: Path, numbers: Sequence[int]) -> None:
    import reelbook as rb

    client = rb.connect(address, api_key=key, library=library)

    def one(number: int) -> None:
        try:
            run = client.start(rb.ImagesToVideo(**clip(number)))
            say("accepted", number)
            run.wait(PATIENCE)
            say("done", number)
        except rb.UncertainRun:
            say("uncertain", number)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(one, numbers))


def _on_the_loop(address: str, key: str, library: Path, numbers: Sequence[int]) -> None:
    import reelbook as rb
    from reelbook.runs.submit import Submission
    from reelbook.util.background_loop import background

    client = rb.connect(address, api_key=key, library=library)

    async def one(number: int) -> None:
        try:
            run = await client.submit_run(Submission(client.context, rb.ImagesToVideo(**clip(number))))
            say("accepted", number)
            await run.wait_finished()
            say("done", number)
        except rb.UncertainRun:
            say("uncertain", number)

    for future in [background.submit(one(number)) for number in numbers]:
        future.result(PATIENCE)


def _naively(address: str, key: str, library: Path, numbers: Sequence[int]) -> None:
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
                say("accepted", number)
        for number, request_id in sent.items():
            while http.get(f"/{endpoint}/requests/{request_id}").status_code != 200:
                pass
            with results.open("a") as file:
                file.write(f"{number}\n")
            say("done", number)


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
        self._guard = threading.Lock()

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


if __name__ == "__main__":
    _nursery()
