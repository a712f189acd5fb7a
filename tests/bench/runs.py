"""What one durable run costs beside its calls alone, and how soon a run of the library is there.

    PYTHONPATH=. .venv/bin/python tests/bench/runs.py

The service is plain sockets in a process of its own; its runs are completed at once, so that all of the time is ours.
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
from itertools import count
from statistics import median
from typing import Any

import httpx

import reelbook as rb
from reelbook.client import Client
from reelbook.runs.submit import Submission
from reelbook.util.background_loop import background
from tests.bench.results import record

RUNS, AT_ONCE, LOOKS = 500, 64, 60
MAX_CPU, MAX_FROM_LIBRARY = 8.0, 20.0
"""Milliseconds."""
SIGNATURE = b"\x89PNG\r\n\x1a\n"
HEADER, PIXEL = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0), zlib.compress(b"\0\xff")


def main() -> int:
    print(f"load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores")
    return 0 if all([measure_run(), measure_from_library()]) else 1


def measure_run() -> bool:
    """The processor time of a run that is on disk at every step, beside that of the same calls with httpx."""
    with serving() as address, connected(address) as client:
        run_all(client, AT_ONCE)  # Warm.
        began = time.process_time()
        run_all(client, RUNS, first=AT_ONCE)
        ours = (time.process_time() - began) * 1000 / RUNS
    with serving() as address:
        asyncio.run(call_all(address, AT_ONCE))
        began = time.process_time()
        asyncio.run(call_all(address, RUNS))
        theirs = (time.process_time() - began) * 1000 / RUNS
    what = f"a durable run, {AT_ONCE} at once"
    return record(what, ours, MAX_CPU, unit="ms CPU", peer="httpx, the same calls", theirs=theirs)


def measure_from_library() -> bool:
    """A finished run once more."""
    took = []
    with serving() as address, connected(address) as client:
        run_all(client, LOOKS)
        for seed in range(LOOKS):
            began = time.perf_counter()
            run = client.run(make_input(seed))
            took.append((time.perf_counter() - began) * 1000)
            if not (run.from_library and run.media):
                raise SystemExit(f"Run {seed} did not come from the library.")
    return record("a run from the library", median(took), MAX_FROM_LIBRARY, unit="ms")


# The client, and its peer.


def make_input(seed: int) -> rb.TextToVideo:
    return rb.TextToVideo(prompt="a boat", seed=seed)


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client with a library that is thrown away."""
    with tempfile.TemporaryDirectory() as folder, rb.connect(address, api_key="bench", library=folder) as client:
        yield client


def run_all(client: Client, runs: int, *, first: int = 0) -> None:
    """So many runs with their files on the shelf."""

    async def run(seed: int, places: asyncio.Semaphore) -> None:
        async with places:
            run = await client.submit_run(Submission(client.context, make_input(seed)))
            await run.wait_finished()
            if not run.media:
                raise SystemExit(f"Run {seed} has no file: {run.failure}")

    async def run_each() -> None:
        places = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(*(run(seed, places) for seed in range(first, first + runs)))

    background.submit(run_each()).result()


async def call_all(address: str, runs: int) -> None:
    """The calls of so many runs and nothing else: the paid one on a connection of its own, as ours."""
    places = asyncio.Semaphore(AT_ONCE)
    async with httpx.AsyncClient(base_url=address, trust_env=False) as free:

        async def call(seed: int) -> None:
            async with places:
                body = {"endpointId": rb.TextToVideo.endpoint_id, "input": make_input(seed).wire()}
                async with httpx.AsyncClient(base_url=address, trust_env=False, verify=False) as paid:
                    name = (await paid.post("/models/run", json=body)).json()["requestId"]
                (await free.get(f"/model/requests/{name}/status")).json()
                output = (await free.get(f"/model/requests/{name}")).json()
                (await free.get(output["video"]["url"])).raise_for_status()

        await asyncio.gather(*(call(seed) for seed in range(runs)))


# The service.


async def serve() -> None:
    """Answer on a free port until whoever started the process closes its pipe."""
    numbers = count()

    async def answer_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = head.lower().partition("content-length:")[2].partition("\r\n")[0]
                await reader.readexactly(int(length or 0))
                answer = get_answer(head.split(" ", 2)[1], address, next(numbers))
                content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content)
        writer.close()

    server = await asyncio.start_server(answer_all, "127.0.0.1", 0, backlog=512)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    print(address, flush=True)
    await asyncio.to_thread(sys.stdin.read)


def get_answer(path: str, address: str, number: int) -> Any:
    name = path.rpartition("/")[2]
    if path == "/models/run":
        return {"requestId": f"r{number}"}
    if path.startswith("/file/"):
        return make_picture(name)
    if "/status" in path:
        return {"status": "COMPLETED"}
    return {"video": {"url": f"{address}/file/{name}"}, "seed": 7, "prompt": "a boat"}


def make_picture(name: str) -> bytes:
    """A picture of one pixel, another file for each name."""
    chunks = ((b"IHDR", HEADER), (b"tEXt", b"Title\0" + name.encode()), (b"IDAT", PIXEL), (b"IEND", b""))
    packed = [struct.pack(">I", len(data)) + kind + data for kind, data in chunks]
    return SIGNATURE + b"".join(chunk + struct.pack(">I", zlib.crc32(chunk[4:])) for chunk in packed)


@contextmanager
def serving() -> Iterator[str]:
    """The address of a service in a process of its own."""
    command = [sys.executable, __file__, "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
    else:
        raise SystemExit(main())
