"""Sweeps of instant runs: what everything of ours costs a run, and how quickly the table of ten thousand is there.

    .venv/bin/python tests/bench/sweeps.py [--runs 500] [--rounds 3]

Instant runs are clips of one frame, 16 × 16, on the embedded service, which runs in a process of its own here, so that its
time is not counted as ours; over real HTTP, every step durable. The peer is what one would write without Reelbook: a pool
of threads around a plain client, which keeps nothing but the answers. The rounds alternate; medians are shown. The wall
time has the work of the service in it, for both alike; what is ours of it is the processor time of this process.

The table of ten thousand comes from a library that has them: a ledger and a shelf as sweeps leave them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pandas as pd

import reelbook as rb
from reelbook.storage.ledger import writer
from reelbook.storage.ledger.transitions import State
from reelbook.storage.run_identity import dumps
from reelbook.sweeps.plan import Plan, sweep
from reelbook.sweeps.plan_rows import spread_rows
from reelbook.sweeps.progress import RunName, Standing, name_rows
from reelbook.sweeps.tables import make_result_table
from reelbook.util.background_loop import background
from tests.bench.plans import AXES
from tests.bench.results import record
from tests.support import as_data_uri, png

KEY = "bench-key"
LIMIT_MS, AGAIN_MS, TABLE_SECONDS = 15.0, 3.0, 1.0
RATIO = 1.6
"""Beside the peer, which writes nothing down and asks for no price. Each run is asked about on its own, as the peer does."""
AT_ONCE = 64
ROUNDS = 3


@dataclass(frozen=True)
class Cost:
    """What a run costs, in milliseconds."""

    wall: float
    cpu: float
    """Of this process alone."""
    again: float = 0.0
    calls: float = 0.0


def main() -> None:
    options = argparse.ArgumentParser(description="Measure sweeps.")
    options.add_argument("--runs", type=int, default=500)
    options.add_argument("--rounds", type=int, default=ROUNDS)
    given = options.parse_args()
    mine, theirs = [], []
    with tempfile.TemporaryDirectory() as folder, _service(Path(folder) / "service") as address:
        _ours(address, Path(folder) / "warm", 8, 1000)
        for number in range(given.rounds):
            mine.append(_ours(address, Path(folder) / f"library-{number}", given.runs, number))
            theirs.append(_threads(address, given.runs, number))
        table, order, free = _table(address, Path(folder) / "large")
    ours, peer = _median(mine), _median(theirs)
    print(
        f"{given.runs} instant runs, {AT_ONCE} at once, load {os.getloadavg()[0]:.2f}, medians of {given.rounds}, ms per run:"
    )
    print(
        f"  ours, durable:       {ours.wall:5.1f} wall, {ours.cpu:5.1f} CPU, {ours.calls:.1f} calls (limit {LIMIT_MS:g} CPU)"
    )
    print(
        f"  threads and httpx:   {peer.wall:5.1f} wall, {peer.cpu:5.1f} CPU; ours takes {ours.wall / peer.wall:.2f} × the wall time (limit {RATIO:g})"
    )
    print(f"  from the library:    {ours.again:5.2f} wall (limit {AGAIN_MS:g})")
    print(
        f"10,000 runs: table {table:.3f} s (limit {TABLE_SECONDS:g}), order {order:.3f} s, run again for nothing {free:.1f} s"
    )
    kept = [
        record("an instant run, durable", ours.cpu, LIMIT_MS, unit="ms CPU", peer="threads and httpx", theirs=peer.cpu),
        record("the same on the clock", ours.wall, RATIO, unit="ms", peer="threads and httpx", theirs=peer.wall, ratio=ours.wall / peer.wall),
        record("a run from the library", ours.again, AGAIN_MS, unit="ms"),
        record("table of 10,000 runs", table, TABLE_SECONDS, unit="s"),
    ]  # fmt: skip
    if not all(kept):
        raise SystemExit("Over the limit.")


def _plan(runs: int, round_number: int) -> Plan:
    # A picture of another colour for each round; the runs of a round differ in their speed.
    dot = rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16, f"#{round_number + 1:06x}"), frames=1)])
    return sweep(dot, fps=[round(1 + number * 0.1, 1) for number in range(runs)])


def _ours(address: str, library: Path, runs: int, round_number: int) -> Cost:
    with rb.connect(address, api_key=KEY, library=library) as client:
        client.features()
        plan, before = _plan(runs, round_number), client.context.http.calls_made
        wall, cpu = time.perf_counter(), time.process_time()
        table = plan.run(budget=plan.credits, concurrency=AT_ONCE, progress=False)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        calls = client.context.http.calls_made - before
        again = time.perf_counter()
        same = plan.run(budget=0, progress=False)
        again = time.perf_counter() - again
    for found in (table, same):
        if (found["status"] != "completed").any():
            raise SystemExit(f"Not all were completed: {found['status'].value_counts().to_dict()}")
    return Cost(1000 * wall / runs, 1000 * cpu / runs, 1000 * again / runs, calls / runs)


def _threads(address: str, runs: int, round_number: int) -> Cost:
    """The peer: submit, ask until it is over, fetch the answer and the file."""
    picture = as_data_uri(png(16, 16, f"#{round_number + 1:06x}"))
    # Other speeds than ours, so that the service makes each clip anew for both.
    inputs = [
        {"images": [{"url": picture, "frames": 1}], "fps": round(51.5 + number * 0.1, 1)} for number in range(runs)
    ]
    wall, cpu = time.perf_counter(), time.process_time()
    headers = {"x-api-key": KEY}
    # As many are kept as there are threads: closing the others raced with their next use, and ended the bench.
    limits = httpx.Limits(max_connections=AT_ONCE, max_keepalive_connections=AT_ONCE)
    with (
        httpx.Client(base_url=address, headers=headers, timeout=60, limits=limits, trust_env=False) as http,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        sizes = list(pool.map(lambda one: _one(http, one), inputs))
    assert all(sizes)
    return Cost(1000 * (time.perf_counter() - wall) / runs, 1000 * (time.process_time() - cpu) / runs)


def _one(http: httpx.Client, input: dict[str, Any]) -> int:
    model = rb.ImagesToVideo.endpoint_id
    told = http.post("/models/run", json={"endpointId": model, "input": input}).raise_for_status().json()
    one = f"/{model}/requests/{told['requestId']}"
    while http.get(f"{one}/status").json()["status"] != "COMPLETED":
        time.sleep(0.1)
    url = http.get(one).raise_for_status().json()["video"]["url"]
    return len(http.get(url).raise_for_status().content)


def _table(address: str, library: Path) -> tuple[float, float, float]:
    """Seconds for the table of ten thousand finished runs, for their order, and for the whole of a run at no cost."""
    plan = sweep(rb.TextToVideo(prompt="a paper boat"), **AXES)
    began = time.perf_counter()
    spread_rows(plan)
    order = time.perf_counter() - began
    with rb.connect(address, api_key=KEY, library=library) as client:
        service, found = background.wait(name_rows(plan, client.context), 60)
    names = [name for name in found.values() if isinstance(name, RunName)]
    _fill(library, service, names)
    standings = [Standing(row, name, [row.number], status="completed") for row, name in zip(plan, names, strict=True)]
    with rb.connect(address, api_key=KEY, library=library) as client:
        best = min(
            _timed(plan, lambda: make_result_table(plan, standings, client.context, service)) for _ in range(ROUNDS)
        )
        return best, order, _timed(plan, lambda: plan.run(budget=0, progress=False))


def _timed(plan: Plan, made: Callable[[], pd.DataFrame]) -> float:
    began = time.perf_counter()
    frame = made()
    took = time.perf_counter() - began
    if (frame["status"] != "completed").any() or frame["output_seed"].nunique() != len(plan):
        raise SystemExit(f"The table is not whole: {frame['status'].value_counts().to_dict()}")
    if frame["output_video"].isna().any() or frame["credits"].sum() != 53 * len(plan):
        raise SystemExit("The table lacks files or credits.")
    return took


def _fill(library: Path, service: str, names: Sequence[RunName]) -> None:
    """Write these runs into the ledger and onto the shelf, as if each had been paid for and was finished."""
    facts = [_facts(service, number, name) for number, name in enumerate(names)]
    with contextlib.closing(writer.connect(library / writer.NAME)) as db:
        db.execute("BEGIN")
        db.executemany(
            f"INSERT INTO runs ({', '.join(facts[0])}) VALUES ({', '.join('?' * len(facts[0]))})",
            [tuple(one.values()) for one in facts],
        )
        db.execute("COMMIT")
    (library / "media").mkdir(exist_ok=True)
    for number in range(len(names)):
        (library / "media" / f"{number:064x}.mp4").touch()


def _facts(service: str, number: int, name: RunName) -> dict[str, Any]:
    video = {"content_type": "video/mp4", "url": f"https://example.org/{number}.mp4"}
    return {
        "service": service, "identity": name.identity, "take": name.take, "model": rb.TextToVideo.endpoint_id,
        "input": name.input, "state": State.STORED, "attempt": 1, "request_id": f"r{number}", "price": 53, "charged": 53,
        "output": dumps({"prompt": "a paper boat", "seed": number, "video": video}),
        "media": dumps([{**video, "sha256": f"{number:064x}", "suffix": ".mp4"}]),
        "queued_s": 0.5, "running_s": 8.25, "created": 1.7e9, "sent": 1.7e9, "finished": 1.7e9 + 10,
    }  # fmt: skip


@contextmanager
def _service(data: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "reelbook", "serve", "--port", "0", "--data", str(data), "--key", KEY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            address = next(word for line in process.stdout for word in line.split() if word.startswith("http://"))
            yield address.rstrip(".,")
        finally:
            process.terminate()
            process.wait(30)


def _median(rounds: list[Cost]) -> Cost:
    return Cost(*(statistics.median(getattr(one, name) for one in rounds) for name in Cost.__dataclass_fields__))


if __name__ == "__main__":
    main()
