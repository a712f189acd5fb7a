"""The embedded service under load: status calls and submissions each second, and how long the slowest waited.

Run it with `make bench`, or alone: `make bench ONLY=service`. The loader is our own, plain sockets in a
process of its own, because a client library would be slower than what it measures.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.results import record

CONNECTIONS, SECONDS, LORIS = 100, 5.0, 100
KEYS = [f"bench-key-{number}" for number in range(CONNECTIONS)]
DOT = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
STITCH = "svc/frames-api/images-to-video"
GATES = {"status": (1000, 0.5), "submit": (400, 0.5)}


def request(method: str, path: str, body: object = None) -> bytes:
    """One HTTP request as bytes."""
    content = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nhost: {{host}}\r\nx-api-key: {{key}}\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(content)}\r\n\r\n".encode() + content


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, message: bytes) -> tuple[int, bytes]:
    """Status and body of one answer on an open connection."""
    writer.write(message)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return int(head[9:12]), await reader.readexactly(length)


async def hammer(port: int, message: bytes, keys: list[str], seconds: float) -> tuple[int, list[float], int]:
    """Answers, waiting times and failures of many connections for a while."""
    waited: list[float] = []
    failures = 0
    end = time.perf_counter() + seconds

    async def one(key: str) -> None:
        # An account for each connection: one alone may only have so many requests waiting.
        nonlocal failures
        mine = message.replace(b"{key}", key.encode())
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < end:
            began = time.perf_counter()
            status, _ = await exchange(reader, writer, mine)
            waited.append(time.perf_counter() - began)
            failures += status != 200
        writer.close()

    await asyncio.gather(*(one(key) for key in keys))
    return len(waited), sorted(waited), failures


async def measure(port: int) -> bool:
    """Both figures, alone and beside connections that never finish their request."""
    host = f"127.0.0.1:{port}".encode()
    submit = request("POST", "/models/run", {"endpointId": STITCH, "input": {"images": [{"url": DOT, "frames": 1}]}})
    submit = submit.replace(b"{host}", host)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    request_id = json.loads((await exchange(reader, writer, submit.replace(b"{key}", KEYS[0].encode())))[1])[
        "requestId"
    ]
    writer.close()
    status = request("GET", f"/{STITCH}/requests/{request_id}/status").replace(b"{host}", host)
    good = True
    for beside in (0, LORIS):
        slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(beside)]
        for _, half in slow:
            half.write(b"GET / HTTP/1.1\r\nhost: ")
        for name, message, keys in (("status", status, KEYS[:1] * CONNECTIONS), ("submit", submit, KEYS)):
            count, waited, failures = await hammer(port, message, keys, SECONDS)
            rate, p99 = count / SECONDS, waited[int(len(waited) * 0.99)]
            least, most = GATES[name]
            near = f"{name}, beside {beside} stuck connections" if beside else name
            print(f"{near}: {rate:,.0f} each second, p99 {p99 * 1000:.0f} ms, failures {failures}")
            kept = [
                record(near, rate, least, unit="a second", at_least=True),
                record(f"{near}: 99 of 100 within", p99 * 1000, most * 1000, unit="ms"),
                record(f"{near}: failures", failures, 0),
            ]
            good = good and all(kept)
        for _, half in slow:
            half.close()
    return good


def main() -> int:
    print(
        f"load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores, {CONNECTIONS} connections, {SECONDS:g} s each"
    )
    with tempfile.TemporaryDirectory() as folder:
        accounts = Path(folder) / "accounts.csv"
        accounts.write_text("name,key\n" + "".join(f"{key},{key}\n" for key in KEYS), encoding="utf-8")
        command = [sys.executable, "-m", "reelbook", "serve", "--port", "0", "--data", folder, "--workers", "1"]
        command += ["--accounts", str(accounts), "--budget", "100000000"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2])
        try:
            good = asyncio.run(measure(port))
        finally:
            process.terminate()
            process.wait(30)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
