"""Sweeps beside what one would write by hand: a plan, runs of known length, and instant runs.

    PYTHONPATH=. .venv/bin/python tests/bench/sweeps.py [--runs 500] [--rounds 3]

Runs go over real HTTP, every step durable. The peer is a pool of threads around a plain client, which keeps nothing but
the answers, or a loop over pydantic; the rounds alternate, and medians are shown. The wall time has the work of the
service in it, for both alike; what is ours of it is the processor time of this process.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pandas as pd

import reelbook as rb
from reelbook.models.catalog import estimate
from reelbook.sweeps.plan import sweep
from tests.bench.results import record
from tests.faults.standin import StandIn
from tests.support import as_data_uri, png

KEY = "bench-key"
AT_ONCE = 64
KNOWN_RUNS, KNOWN_SECONDS = 128, 2.0
BOAT = rb.TextToVideo(prompt="a paper boat")
AXES: dict[str, list[Any]] = {
    "seed": list(range(100)),
    "num_frames": [49, 97, 121, 145, 169],
    "aspect_ratio": ["16:9", "1:1"],
    "first_pass_num_inference_steps": list(range(3, 13)),
}
"""Ten thousand runs."""


@dataclass(frozen=True)
class Cost:
    """What a run costs, in milliseconds."""

    wall: float
    cpu: float
    """Of this process alone."""
    again: float = 0.0


def main() -> int:
    options = argparse.ArgumentParser(description="Measure sweeps.")
    options.add_argument("--runs", type=int, default=500)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    print(f"load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores; medians of {given.rounds} rounds")
    met = [measure_plan(given.rounds)]
    with tempfile.TemporaryDirectory() as folder:
        met.append(measure_known_length(Path(folder) / "known"))
        with serving(Path(folder) / "service") as address:
            met.append(measure_instant(address, Path(folder), given.runs, given.rounds))
    return 0 if all(met) else 1


# A plan.


def measure_plan(rounds: int) -> bool:
    """Ten thousand runs, each validated and priced, all of them in a DataFrame: beside the same by hand."""
    by_plan(), by_hand()  # Warm: what is imported once is not the plan's.
    pairs = [(processor_seconds(by_plan), processor_seconds(by_hand)) for _ in range(rounds)]
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    return record(
        "plan of 10,000 runs", ours, 1.2, unit="s CPU", peer="by hand", theirs=theirs, ratio=ours / theirs
    )  # fmt: skip


def by_plan() -> pd.DataFrame:
    plan = sweep(BOAT, **AXES)
    return plan.frame.assign(total=plan.credits)


def by_hand() -> pd.DataFrame:
    """The same, as short as one would write it."""
    rows = product(*AXES.values())
    runs = [rb.TextToVideo(prompt="a paper boat", **dict(zip(AXES, row, strict=True))) for row in rows]
    return pd.DataFrame([run.model_dump() for run in runs]).assign(
        total=sum(estimate(run).credits or 0 for run in runs)
    )


def processor_seconds(make: Callable[[], pd.DataFrame]) -> float:
    """Seconds of the processor, with nothing left over from the one before."""
    gc.collect()
    began = time.process_time()
    frame = make()
    took = time.process_time() - began
    if len(frame) != 10_000 or set(frame["total"]) != {530_000}:
        raise SystemExit(f"{make.__name__} made {len(frame):,} runs for {frame['total'][0]:,} credits: unfair")
    return took


# Runs of known length, at a service that shows only the specification.


def measure_known_length(library: Path) -> bool:
    """The calls, the processor time and the wall time of runs that take two seconds each."""
    command = [sys.executable, __file__, "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with rb.connect(address, api_key=KEY, library=library) as client:
            plan, before = sweep(BOAT, seed=range(KNOWN_RUNS)), client.context.http.calls_made
            wall, cpu = time.perf_counter(), time.process_time()
            check_completed(plan.run(budget=plan.credits, concurrency=AT_ONCE, progress=False))
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            calls = client.context.http.calls_made - before
        process.stdin.close()
    what = f"{KNOWN_RUNS} runs of {KNOWN_SECONDS:g} s, {AT_ONCE} at once"
    record(f"{what}: processor for each", 1000 * cpu / KNOWN_RUNS, unit="ms CPU")
    record(what, wall, 4.4, unit="s")
    return record(f"{what}: calls for each", calls / KNOWN_RUNS, 4.0)


def serve_known_length() -> None:
    """The service, until whoever started it closes the pipe."""
    with StandIn(seconds=KNOWN_SECONDS) as service:
        print(service.base_url, flush=True)
        sys.stdin.read()


def check_completed(table: pd.DataFrame) -> None:
    if (table["status"] != "completed").any():
        raise SystemExit(f"Not all were completed: {table['status'].value_counts().to_dict()}")


# Instant runs, at the embedded service.


def measure_instant(address: str, folder: Path, runs: int, rounds: int) -> bool:
    """A durable run beside a plain one, and a run from the library."""
    by_sweep(address, folder / "warm", 8, 1000)
    mine, theirs = [], []
    for number in range(rounds):
        mine.append(by_sweep(address, folder / f"library-{number}", runs, number))
        theirs.append(by_threads(address, runs, number))
    ours, peer = median_of(mine), median_of(theirs)
    what, peers = "an instant run, durable", "threads and httpx"
    clock = ours.wall / peer.wall
    met = [
        record(what, ours.cpu, 15.0, unit="ms CPU", peer=peers, theirs=peer.cpu),
        record(f"{what}, on the clock", ours.wall, 1.6, unit="ms", peer=peers, theirs=peer.wall, ratio=clock),
        record("a run from the library", ours.again, 3.0, unit="ms"),
    ]
    return all(met)


def by_sweep(address: str, library: Path, runs: int, round_number: int) -> Cost:
    # A picture of another colour for each round; the runs of a round differ in their speed.
    dot = rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16, f"#{round_number + 1:06x}"), frames=1)])
    plan = sweep(dot, fps=[round(1 + number * 0.1, 1) for number in range(runs)])
    with rb.connect(address, api_key=KEY, library=library) as client:
        client.features()
        wall, cpu = time.perf_counter(), time.process_time()
        check_completed(plan.run(budget=plan.credits, concurrency=AT_ONCE, progress=False))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        again = time.perf_counter()
        check_completed(plan.run(budget=0, progress=False))
        again = time.perf_counter() - again
    return Cost(1000 * wall / runs, 1000 * cpu / runs, 1000 * again / runs)


def by_threads(address: str, runs: int, round_number: int) -> Cost:
    """The peer: submit, ask until it is over, fetch the answer and the file."""
    picture = as_data_uri(png(16, 16, f"#{round_number + 1:06x}"))
    # Other speeds than ours, so that the service makes each clip anew for both.
    inputs = [
        {"images": [{"url": picture, "frames": 1}], "fps": round(51.5 + number * 0.1, 1)} for number in range(runs)
    ]
    wall, cpu = time.perf_counter(), time.process_time()
    # As many are kept as there are threads: closing the others raced with their next use, and ended the bench.
    limits = httpx.Limits(max_connections=AT_ONCE, max_keepalive_connections=AT_ONCE)
    with (
        httpx.Client(base_url=address, headers={"x-api-key": KEY}, timeout=60, limits=limits, trust_env=False) as http,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        assert all(pool.map(lambda job: run_plainly(http, job), inputs))
    return Cost(1000 * (time.perf_counter() - wall) / runs, 1000 * (time.process_time() - cpu) / runs)


def run_plainly(http: httpx.Client, input: dict[str, Any]) -> int:
    model = rb.ImagesToVideo.endpoint_id
    told = http.post("/models/run", json={"endpointId": model, "input": input}).raise_for_status().json()
    request = f"/{model}/requests/{told['requestId']}"
    while http.get(f"{request}/status").json()["status"] != "COMPLETED":
        time.sleep(0.1)
    url = http.get(request).raise_for_status().json()["video"]["url"]
    return len(http.get(url).raise_for_status().content)


@contextmanager
def serving(data: Path) -> Iterator[str]:
    """The address of a service in a process of its own."""
    command = [sys.executable, "-m", "reelbook", "serve", "--port", "0", "--data", str(data), "--key", KEY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            address = next(word for line in process.stdout for word in line.split() if word.startswith("http://"))
            yield address.rstrip(".,")
        finally:
            process.terminate()
            process.wait(30)


def median_of(rounds: list[Cost]) -> Cost:
    return Cost(*(statistics.median(getattr(cost, name) for cost in rounds) for name in Cost.__dataclass_fields__))


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve_known_length()
    else:
        raise SystemExit(main())
