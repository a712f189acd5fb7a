"""A library of 100,000 runs: how long it takes to open it, and to have it as a table.

Run it with `make bench`, or alone: `make bench ONLY=library`. The ledger is written here row by row, as
sweeps would have left it: four models, inputs that are all different, and a file on the shelf for each finished run.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from reelbook.models.base import Input
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.models.smart_resize import SmartResize
from reelbook.models.text_to_video import TextToVideo
from reelbook.storage.ledger import writer
from reelbook.storage.ledger.transitions import State
from reelbook.storage.ledger.writer import Ledger
from reelbook.storage.library import Library
from reelbook.storage.run_identity import dumps, format_canonical, make_identity
from reelbook.storage.shelf import Shelf
from tests.bench.results import record

LIMITS = {"open": 0.150, "frame": 2.5}
"""Seconds on a quiet machine."""
MOST_OF_PARQUET = 45.0
"""How many times as long a table may take as reading the same columns from a Parquet file, where nothing is parsed.

Measured: 25 to 36, as the Parquet file is read by threads, and one thread parses the JSON of each run.
"""
SWEEP = 250
"""So many runs of one model follow each other; every fifth sweep is of another model than text-to-video."""

SUBJECTS = [
    "a paper boat on a rainy street",
    "a lighthouse in fog, seen from the sea",
    "an old tram that climbs a hill",
]


def requests(chance: random.Random) -> tuple[Input, ...]:
    """One input of each model, to be changed by its seed or words alone, which is quicker than checking each anew."""
    return (
        TextToVideo(prompt="", num_frames=chance.choice([49, 97, 121]), seed=0),
        ImageToVideo(prompt="", image_url="https://example.org/boat.png"),
        SmartResize(image_url="https://example.org/boat.png", target_sizes=["1080x1920", "300x600"], seed=0),
        ImagesToVideo(images=["https://example.org/a.png", "https://example.org/b.png"]),
    )


def rows(count: int) -> Iterator[tuple[Any, ...]]:
    """The rows of so many runs, nine in ten of them finished."""
    chance = random.Random(0)
    shapes = [(request, json.loads(format_canonical(request))) for request in requests(chance)]
    for number in range(count):
        request, values = shapes[sweep % 4 if (sweep := number // SWEEP) % 5 == 0 else 0]
        asked = {**values, "prompt": f"{chance.choice(SUBJECTS)}, variant {number}"}
        if "seed" in asked:
            asked["seed"] = number
        text, state = dumps(asked), State.STORED if number % 10 else State.FAILED
        address = f"https://example.org/files/{number:032x}"
        video = {
            "url": f"{address}.mp4",
            "content_type": "video/mp4",
            "file_name": f"{number}.mp4",
            "file_size": 250_000,
        }
        output = dumps({"video": video, "seed": number, "prompt": asked["prompt"]})
        media = dumps([{**video, "sha256": hashlib.sha256(str(number).encode()).hexdigest(), "suffix": ".mp4"}])
        yield (
            "https://example.org/api", make_identity(request.endpoint_id, text), 0, request.endpoint_id, text, state, 1,
            f"request-{number}", 53, 53 if state == State.STORED else 0, output if state == State.STORED else None,
            media if state == State.STORED else None, None if state == State.STORED else "source_unreadable",
            None if state == State.STORED else "The picture could not be read.", 1.5, 8.25, 1.7e9 + number, 1.7e9 + number,
            1.7e9 + number + 10.5,
        )  # fmt: skip


def made(folder: Path, count: int) -> None:
    """A library of so many runs."""
    Ledger(folder).close()
    db = writer.connect(folder / writer.NAME)
    names = (
        "service, identity, take, model, input, state, attempt, request_id, price, charged, output, media, error_type, error, "
        "queued_s, running_s, created, sent, finished"
    )
    db.execute("BEGIN")
    db.executemany(f"INSERT INTO runs ({names}) VALUES ({', '.join('?' * len(names.split(',')))})", rows(count))
    db.execute("COMMIT")
    db.close()
    (folder / "media").mkdir()
    with contextlib.closing(sqlite3.connect(folder / writer.NAME)) as ledger_file:
        for (media,) in ledger_file.execute("SELECT media FROM runs WHERE state = 'stored'"):
            (folder / "media" / f"{json.loads(media)[0]['sha256']}.mp4").touch()


def seconds(work: Callable[[], Any], rounds: int) -> list[tuple[float, float]]:
    """How long it took each time: by the clock, and of the processor, which a busy machine changes less."""
    took = []
    for _ in range(rounds):
        began, used = time.perf_counter(), time.process_time()
        work()
        took.append((time.perf_counter() - began, time.process_time() - used))
    return took


def write_parquet(frame: pd.DataFrame, path: Path) -> None:
    """Write the columns of a table, without what belongs to it besides."""
    columns = frame.copy()
    columns.attrs = {}
    columns.to_parquet(path)


def main() -> None:
    options = argparse.ArgumentParser(description="Measure a large library.")
    options.add_argument("--runs", type=int, default=100_000)
    options.add_argument("--rounds", type=int, default=5)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / ".reelbook"
        made(folder, given.runs)
        size = (folder / writer.NAME).stat().st_size
        print(f"{given.runs:,} runs, a ledger of {size / 1e6:,.0f} MB, load {os.getloadavg()[0]:.2f}")
        results = {"open": seconds(lambda: Ledger(folder).close(), given.rounds)}
        ledger = Ledger(folder)
        library = Library(folder, lambda: ledger, Shelf(folder / "media"))
        results["frame"] = seconds(lambda: library.frame, given.rounds)
        parquet = Path(name) / "runs.parquet"
        write_parquet(library.frame, parquet)
        results["read_parquet"] = seconds(lambda: pd.read_parquet(parquet), given.rounds)
        ledger.close()
    middles = {}
    for what, took in results.items():
        middles[what], processor = (statistics.median(times) for times in zip(*took, strict=True))
        print(
            f"{what:>12}: median {middles[what]:.3f} s, worst {max(took)[0]:.3f} s; {processor:.3f} s of the processor"
        )
        record(f"{what}, {given.runs:,} runs", middles[what], LIMITS.get(what), unit="s")
    ours, theirs = middles["frame"], middles["read_parquet"]
    met = record(
        "the table of all runs",
        ours,
        MOST_OF_PARQUET,
        unit="s",
        peer="pandas.read_parquet",
        theirs=theirs,
        ratio=ours / theirs,
    )
    if not met:
        raise SystemExit(f"The table took {ours / theirs:.1f} times as long as reading its columns from Parquet.")


if __name__ == "__main__":
    main()
