"""Following runs beside a plain polling loop: calls, processor time and how late an end is noticed.

Run it with `make bench`, or alone: `make bench ONLY=clients`. The service is our own, plain sockets in
a process of its own. Ours and theirs take turns in one process, and the medians of the rounds are compared.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from reelbook.transport.http import Http
from reelbook.transport.poller import Poller
from reelbook.transport.service_calls import ServiceCalls
from tests.bench.results import record

MODEL = "svc/bench"
RUNS, AT_ONCE, SECONDS, ROUNDS, POLL = 128, 64, 2.0, 3, 0.1
MANY, MANY_SECONDS, MAX_GROWTH_MIB = 2_000, 20.0, 150
CPU_RATIO, MAX_LATE = 0.5, 0.25
MAX_CALLS = {"specification only": 4.0}

Follow = Callable[[float], Awaitable[float]]
"""Carry out one run of so many seconds; gives how long after its acceptance its end was noticed."""


@dataclass
class Round:
    """What one round of one client took."""

    calls: float
    cpu_ms: float
    seen: float
    wall: float


# The service.


class Service:
    """Runs that take as long as they are told; answers what the specification shows."""

    def __init__(self) -> None:
        self.ends, self.calls = {"": 0.0}, 0

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        if path == "/counted":
            return 200, {"calls": self.calls}
        self.calls += 1
        if path == "/models/run":
            request_id = f"r{len(self.ends)}"
            self.ends[request_id] = time.monotonic() + json.loads(body)["input"]["seconds"]
            return 200, {"requestId": request_id}
        request_id = path.partition("/requests/")[2].partition("/")[0]
        if request_id not in self.ends:
            return 404, {"detail": "There is nothing here."}
        if "/status" in path:
            return 200, {"status": self.status(request_id)["status"], "request_id": request_id}
        return 200, {"seed": 7}

    def status(self, request_id: str) -> dict[str, Any]:
        if time.monotonic() < self.ends[request_id]:
            return {"status": "IN_PROGRESS", "request_id": request_id}
        return {"status": "COMPLETED", "request_id": request_id, "output": {"seed": 7}}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = head.lower().partition("content-length:")[2].partition("\r\n")[0]
                method, path, _ = head.split(" ", 2)
                status, told = self.answer(method, path, await reader.readexactly(int(length or 0)))
                content = json.dumps(told).encode()
                writer.write(f"HTTP/1.1 {status} X\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content)
        writer.close()


async def serve() -> None:
    server = await asyncio.start_server(Service().serve, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    # It ends when whoever started it closes the pipe.
    await asyncio.to_thread(sys.stdin.read)


@contextmanager
def service() -> Iterator[str]:
    """The address of a service in a process of its own."""
    command = [sys.executable, __file__, "serve"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


# The clients.


async def ours(address: str, runs: int, at_once: int, seconds: float) -> list[float]:
    """Submitted, followed and fetched by Reelbook."""
    http = Http("bench")
    calls = ServiceCalls(http, address)
    poller = Poller(calls)

    async def one(seconds: float) -> float:
        accepted = await calls.run(MODEL, {"seconds": seconds})
        began = time.monotonic()
        assert accepted.request_id is not None
        final = await poller.follow(MODEL, accepted.request_id, lambda status: None)
        seen = time.monotonic() - began
        output = getattr(final, "output", None) or await calls.result(MODEL, accepted.request_id)
        assert output == {"seed": 7}
        return seen

    try:
        return await stream(one, runs, at_once, seconds)
    finally:
        await poller.close()
        await http.close()


async def plain(address: str, runs: int, at_once: int, seconds: float) -> list[float]:
    """What one writes first: a task for each run, that asks ten times a second."""
    async with httpx.AsyncClient(base_url=address, headers={"x-api-key": "bench"}, timeout=60) as client:

        async def one(seconds: float) -> float:
            answer = await client.post("/models/run", json={"endpointId": MODEL, "input": {"seconds": seconds}})
            request_id, began = answer.json()["requestId"], time.monotonic()
            place = f"/{MODEL}/requests/{request_id}"
            while (await client.get(f"{place}/status")).json()["status"] != "COMPLETED":
                await asyncio.sleep(POLL)
            seen = time.monotonic() - began
            assert (await client.get(place)).json() == {"seed": 7}
            return seen

        return await stream(one, runs, at_once, seconds)


async def stream(one: Follow, runs: int, at_once: int, seconds: float) -> list[float]:
    """So many runs, so many of them at once."""
    places = asyncio.Semaphore(at_once)

    async def placed() -> float:
        async with places:
            return await one(seconds)

    return await asyncio.gather(*(placed() for _ in range(runs)))


# The measurements.


def counted(address: str) -> int:
    return int(httpx.get(f"{address}/counted", trust_env=False).json()["calls"])


def measured(client: Callable[..., Any], address: str) -> Round:
    before, cpu, wall = counted(address), time.process_time(), time.monotonic()
    seen = asyncio.run(client(address, RUNS, AT_ONCE, SECONDS))
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    return Round((counted(address) - before) / RUNS, cpu * 1000 / RUNS, median(seen), wall)


def compare(name: str) -> bool:
    """Ours and theirs in turns; says whether ours is as good as promised."""
    rounds: dict[str, list[Round]] = {"ours": [], "httpx": []}
    with service() as address:
        for _ in range(ROUNDS):
            rounds["ours"].append(measured(ours, address))
            rounds["httpx"].append(measured(plain, address))
    middle = {
        who: Round(*(median(getattr(one, field) for one in of) for field in Round.__dataclass_fields__))
        for who, of in rounds.items()
    }
    print(f"\n{RUNS} runs of {SECONDS:g} s, {AT_ONCE} at once, {name}; medians of {ROUNDS} rounds")
    print("        calls per run   CPU ms per run   median seen after   wall")
    for who, one in middle.items():
        print(f"{who:<6} {one.calls:14.2f} {one.cpu_ms:16.2f} {one.seen:17.2f} s {one.wall:6.1f} s")
    mine, theirs = middle["ours"], middle["httpx"]
    ratio = mine.cpu_ms / theirs.cpu_ms
    return all([
        record(f"CPU of a run of 2 s, {name}", mine.cpu_ms, CPU_RATIO, unit="ms", peer="httpx", theirs=theirs.cpu_ms, ratio=ratio),
        record(f"calls, {name}", mine.calls, MAX_CALLS[name], peer="httpx", theirs=theirs.calls),
        record(f"seen late, {name}", mine.seen - SECONDS, MAX_LATE, unit="s", peer="httpx", theirs=theirs.seen - SECONDS),
    ])  # fmt: skip


def in_use_mib() -> float:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


async def many(address: str) -> float:
    """How much memory many runs in flight take, at their worst."""
    await ours(address, 8, 8, 0.1)
    before, most = in_use_mib(), 0.0
    following = asyncio.create_task(ours(address, MANY, MANY, MANY_SECONDS))
    while not following.done():
        most = max(most, in_use_mib())
        await asyncio.wait({following}, timeout=0.2)
    assert len(await following) == MANY
    return most - before


def crowd(name: str) -> bool:
    """Many runs in flight at once, in a fresh process; a run that fails fails it."""
    with service() as address:
        began, before = time.monotonic(), counted(address)
        child = subprocess.run([sys.executable, __file__, "many", address], capture_output=True, text=True, check=False)
        calls = (counted(address) - before) / MANY
    if child.returncode != 0:
        print(f"{MANY:,} in flight, {name}: {child.stderr.strip()[-400:]}")
        return False
    growth = float(child.stdout)
    wall = time.monotonic() - began
    print(
        f"{MANY:,} runs of {MANY_SECONDS:g} s in flight, {name}: {growth:.0f} MiB more, {calls:.2f} calls per run, wall {wall:.0f} s"
    )
    return record(f"memory of {MANY:,} in flight, {name}", growth, MAX_GROWTH_MIB, unit="MiB")


def main() -> int:
    print(f"load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores")
    good = [compare("specification only")]
    print()
    good += [crowd("specification only")]
    return 0 if all(good) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve())
    elif sys.argv[1:2] == ["many"]:
        print(asyncio.run(many(sys.argv[2])))
    else:
        raise SystemExit(main())
