"""Runs with everything that belongs to one: ledger, watching, downloads and the shelf. Calls, memory, and milliseconds.

Run it with `make bench`, or alone: `make bench ONLY=library_runs`. The service is our own, plain sockets
in a process of its own; each measurement is a fresh client with a library of its own. A limit is missed where ours is
more than 30% above it, because machines are noisy.
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import httpx

import reelbook as rb
from reelbook.client import Client
from reelbook.runs.submit import Submission
from reelbook.util.background_loop import background
from tests.bench.results import record

RUNS, AT_ONCE, SECONDS = 128, 64, 2.0
MANY, MANY_SECONDS = 2_000, 5.0
INSTANT = 500
LOOKS = 60
NOISE = 1.3
TIMES_THE_CALLS = 4.0
"""How many times as much CPU a run may take as its calls alone: it is written down at every step, checked and stored."""
LIMITS = {"specification only": 4.0, "from the library": 20.0, "memory": 150.0}
PICTURE = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000") + bytes.fromhex("1f15c489")
PIXEL = zlib.compress(b"\0\0\0\0\xff")


# The service.


class Service:
    """Runs that take so many seconds, and end no sooner than so many seconds after `together` of them have come."""

    def __init__(self, seconds: float, together: int) -> None:
        self.seconds, self.together = seconds, together
        self.began: dict[str, float] = {}
        self.all_came, self.calls, self.address = 0.0, 0, ""

    def answer(self, path: str, body: bytes) -> tuple[int, Any]:
        if path == "/counted":
            return 200, {"calls": self.calls}
        name = path.rpartition("/")[2]
        if path.startswith("/file/"):
            return 200, picture(name)
        self.calls += 1
        if path == "/models/run":
            self.began[name := f"r{len(self.began)}"] = time.monotonic()
            if len(self.began) >= self.together:
                self.all_came = self.all_came or time.monotonic()
            return 200, {"requestId": name}
        name = path.partition("/requests/")[2].partition("/")[0]
        if name not in self.began:
            return 404, {"detail": "There is nothing here."}
        return 200, self.status(name) if "/status" in path else self.output(name)

    def status(self, name: str) -> dict[str, Any]:
        since = max(self.began[name], self.all_came)
        if not self.all_came or time.monotonic() < since + self.seconds:
            return {"status": "IN_PROGRESS", "request_id": name}
        return {"status": "COMPLETED", "request_id": name}

    def output(self, name: str) -> dict[str, Any]:
        return {"video": {"url": f"{self.address}/file/{name}"}, "seed": 7, "prompt": "a boat"}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = head.lower().partition("content-length:")[2].partition("\r\n")[0]
                status, told = self.answer(head.split(" ", 2)[1], await reader.readexactly(int(length or 0)))
                content = told if isinstance(told, bytes) else json.dumps(told).encode()
                writer.write(f"HTTP/1.1 {status} X\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content)
        writer.close()


def picture(name: str) -> bytes:
    """A picture of one pixel, another file for each name."""
    chunks = ((b"tEXt", b"Title\0" + name.encode()), (b"IDAT", PIXEL), (b"IEND", b""))
    parts = [struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks]  # fmt: skip
    return PICTURE + b"".join(parts)


async def serve(seconds: float, together: int) -> None:
    service = Service(seconds, together)
    server = await asyncio.start_server(service.serve, "127.0.0.1", 0, backlog=512)
    service.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    print(service.address, flush=True)
    # It ends when whoever started it closes the pipe.
    await asyncio.to_thread(sys.stdin.read)


@contextmanager
def serving(seconds: float, together: int) -> Iterator[str]:
    """The address of a service in a process of its own."""
    command = [sys.executable, __file__, "serve", str(seconds), str(together)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


# The client.


def boat(seed: int) -> rb.TextToVideo:
    return rb.TextToVideo(prompt="a boat", seed=seed)


@contextmanager
def library(address: str) -> Iterator[Client]:
    """A client with a library that is thrown away."""
    with tempfile.TemporaryDirectory() as folder, rb.connect(address, api_key="bench", library=folder) as client:
        yield client


def done(client: Client, runs: int, at_once: int, *, first: int = 0) -> None:
    """So many runs with their files on the shelf, so many of them at once."""

    async def all_of_them() -> None:
        places = asyncio.Semaphore(at_once)

        async def one(seed: int) -> None:
            async with places:
                run = await client.submit_run(Submission(client.context, boat(seed)))
                await run.wait_finished()
                if run.failure is not None:
                    raise run.failure
                assert run.media[0].path.exists()

        await asyncio.gather(*(one(seed) for seed in range(first, first + runs)))

    background.submit(all_of_them()).result()


def in_use_mb(when: str) -> float:
    """The memory of this process: `VmRSS` is what it has now, `VmHWM` the most it ever had."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) / 1000 for line in status.splitlines() if line.startswith(when))


def calls_at(address: str) -> int:
    return int(httpx.get(f"{address}/counted", trust_env=False).json()["calls"])


# The measurements.


def calls(name: str) -> bool:
    """API calls for each run of two seconds, and how long they all took."""
    with serving(SECONDS, 1) as address, library(address) as client:
        began, cpu = time.monotonic(), time.process_time()
        done(client, RUNS, AT_ONCE)
        wall, cpu = time.monotonic() - began, time.process_time() - cpu
        each = calls_at(address) / RUNS
    print(
        f"{RUNS} runs of {SECONDS:g} s, {AT_ONCE} at once, {name}: {wall:.1f} s, {cpu * 1000 / RUNS:.1f} ms of CPU each"
    )
    return verdict(f"API calls per run, {name}", each, LIMITS[name], "")


def again() -> bool:
    """A finished run from the library."""
    with serving(0.0, 1) as address, library(address) as client:
        done(client, LOOKS, 16)
        took = []
        for seed in range(LOOKS):
            began = time.perf_counter()
            run = client.run(boat(seed))
            took.append((time.perf_counter() - began) * 1000)
            assert run.from_library
            assert run.media
    print(f"{LOOKS} finished runs again, one after another: slowest {max(took):.1f} ms")
    return verdict("median from the library", median(took), LIMITS["from the library"], " ms")


def instant() -> bool:
    """Runs that are finished at once: what a run costs that is safe on disk at every step, beside its calls alone."""
    with serving(0.0, 1) as address, library(address) as client:
        done(client, AT_ONCE, AT_ONCE)
        began, cpu = time.monotonic(), time.process_time()
        done(client, INSTANT, AT_ONCE, first=AT_ONCE)
        wall, ours = time.monotonic() - began, (time.process_time() - cpu) * 1000 / INSTANT
    with serving(0.0, 1) as address:
        asyncio.run(calls_alone(address, AT_ONCE))
        cpu = time.process_time()
        asyncio.run(calls_alone(address, INSTANT))
        theirs = (time.process_time() - cpu) * 1000 / INSTANT
    print(f"{INSTANT} instant runs, {AT_ONCE} at once: {wall * 1000 / INSTANT:.1f} ms each, {ours:.1f} ms of it CPU")
    print(f"  CPU: ours {ours:.2f} ms, the same calls by httpx alone {theirs:.2f} ms, ratio {ours / theirs:.2f}")
    return record(
        "CPU of a durable run",
        ours,
        TIMES_THE_CALLS,
        unit="ms",
        peer="httpx, the same calls",
        theirs=theirs,
        ratio=ours / theirs,
    )


async def calls_alone(address: str, runs: int) -> None:
    """The calls of a run with httpx and nothing else: the paid one on a connection of its own, as ours."""
    places = asyncio.Semaphore(AT_ONCE)
    async with httpx.AsyncClient(base_url=address, trust_env=False) as free:

        async def one(seed: int) -> None:
            async with places:
                body = {"endpointId": rb.TextToVideo.endpoint_id, "input": boat(seed).wire()}
                async with httpx.AsyncClient(base_url=address, trust_env=False, verify=False) as paid:
                    name = (await paid.post("/models/run", json=body)).json()["requestId"]
                (await free.get(f"/model/requests/{name}/status")).json()
                output = (await free.get(f"/model/requests/{name}")).json()
                assert (await free.get(output["video"]["url"])).content

        await asyncio.gather(*(one(seed) for seed in range(runs)))


def memory() -> bool:
    """What many runs in flight at once take, in a fresh process; one that fails fails it."""
    with serving(MANY_SECONDS, MANY) as address:
        began = time.monotonic()
        child = subprocess.run([sys.executable, __file__, "many", address], capture_output=True, text=True, check=False)
        wall, each = time.monotonic() - began, calls_at(address) / MANY
    if child.returncode:
        print(f"{MANY:,} runs in flight failed: {child.stderr.strip()[-600:]}")
        return False
    print(
        f"{MANY:,} runs in flight at once, for {MANY_SECONDS:g} s after the last one: {wall:.0f} s in all, {each:.1f} API calls each"
    )
    return verdict("memory growth", float(child.stdout), LIMITS["memory"], " MB")


def many(address: str) -> float:
    """How much more memory than before this process had at its worst."""
    with serving(0.0, 1) as small, library(small) as client:
        done(client, 16, 16)
    before = in_use_mb("VmRSS")
    with library(address) as client:
        done(client, MANY, MANY)
        return in_use_mb("VmHWM") - before


def verdict(what: str, ours: float, limit: float, unit: str) -> bool:
    print(f"  {what}: ours {ours:.2f}{unit}, limit {limit:g}{unit}, ratio {ours / limit:.2f}")
    return record(what, ours, limit * NOISE, unit=unit.strip())


def main() -> int:
    print(f"load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores")
    good = [again(), calls("specification only")]
    good += [instant(), memory()]
    return 0 if all(good) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(float(sys.argv[2]), int(sys.argv[3])))
    elif sys.argv[1:2] == ["many"]:
        print(many(sys.argv[2]))
    else:
        raise SystemExit(main())
