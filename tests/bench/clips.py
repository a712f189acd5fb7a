"""Twelve clips in a cell beside what a notebook shows otherwise.

    PYTHONPATH=. .venv/bin/python tests/bench/clips.py [--rounds 5]

Clips of the embedded service: `table.reel` with posters beside mediapy, which encodes them anew, and
`IPython.display.Video(embed=True)`, which shows nothing once a notebook is reopened untrusted. mediapy gets its frames
decoded beforehand, and that time is not counted. The rounds alternate.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from IPython.display import Video

import reelbook as rb
from tests.bench.results import of_peer, record
from tests.clips import at
from tests.display.stand_in import render_table

CLIPS = 12
MILLISECONDS, KILOBYTES, QUICKER = 80.0, 160.0, 20.0
"""Gates: the most that twelve clips may take, and how many times quicker than mediapy they are."""


def table(library: Path) -> pd.DataFrame:
    """Twelve runs of the embedded service, small ones."""
    boat = rb.TextToVideo(prompt="a paper boat on a rainy street", num_frames=25, resolution="480p")
    with rb.connect(library=library):
        return rb.sweep(boat, seed=range(CLIPS // 3), aspect_ratio=["16:9", "1:1", "9:16"]).run(progress=False)


def timed(make: Callable[[], str]) -> tuple[float, float]:
    """Milliseconds, and how many kilobytes came out."""
    began = time.perf_counter()
    html = make()
    return 1000 * (time.perf_counter() - began), len(html.encode()) / 1000


def embedded(path: str) -> str:
    """A clip as IPython puts it into a notebook."""
    return str(Video(path, embed=True)._repr_html_())  # type: ignore[no-untyped-call]  # IPython is untyped here


def by_mediapy(clips: list[list[Any]]) -> str:
    """What mediapy makes of clips that are decoded already."""
    import mediapy

    return str(mediapy.show_videos(clips, fps=24, columns=4, return_html=True))


def main() -> int:
    options = argparse.ArgumentParser(description="Compare ways to show twelve clips.")
    options.add_argument("--rounds", type=int, default=5)
    rounds = options.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        few = table(Path(name) / "library")
        paths = [str(path) for path in few["output_video"]]
        arrays = [[np.asarray(frame.convert("RGB")) for frame in at(Path(path)).frames()] for path in paths]
        ways: dict[str, Callable[[], str]] = {
            "table.reel": lambda: render_table(few, embed="poster"),
            "Video(embed=True)": lambda: "".join(map(embedded, paths)),
            "mediapy": lambda: by_mediapy(arrays),
        }
        timed(ways["table.reel"])  # Warm: posters are made while runs end.
        if of_peer("mediapy", ways["mediapy"]) is None:
            del ways["mediapy"]
        took: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, make in ways.items():
                took[way].append(timed(make))
    found = {way: (statistics.median(time for time, _ in each), each[0][1]) for way, each in took.items()}
    for way, (milliseconds, kilobytes) in found.items():
        print(f"{CLIPS} clips by {way}: {milliseconds:,.1f} ms, {kilobytes:,.0f} kB")
    print(f"load average {os.getloadavg()[0]:.2f}; {rounds} rounds")
    ours, size = found["table.reel"]
    met = [
        record(f"{CLIPS} clips", ours, MILLISECONDS, unit="ms"),
        record(f"{CLIPS} clips", size, KILOBYTES, unit="kB"),
    ]
    if "mediapy" in found:
        theirs = found["mediapy"][0]
        facts = {"unit": "ms", "peer": "mediapy", "theirs": theirs, "ratio": theirs / ours, "at_least": True}
        met.append(record(f"{CLIPS} clips, times quicker", ours, QUICKER, **facts))  # type: ignore[arg-type]
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
