"""A report of 48 runs: how long it takes to write, how large it is, and how well its clips keep in step.

    .venv/bin/python tests/bench/report.py [--runs 48]

The films are 854 × 480, 49 to 97 frames long: a camera moves over a rough ground, of which a small copy is still rough, so that
it takes all the bytes there are. Nothing of them has been made small before. The steps are counted in frames, over ten seconds in Chromium, with all clips playing that a window of 1200 × 1000 shows.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pandas as pd
from PIL import Image
from playwright.sync_api import sync_playwright

import reelbook as rb
from reelbook.display.report.make_report import write_report
from reelbook.storage.run_identity import format_canonical
from tests.bench.results import record
from tests.browser.conftest import FLAGS, chromium_path
from tests.browser.test_report import SAMPLES

Picture = npt.NDArray[np.uint8]

MAX_BYTES = 12_000_000
MAX_MEDIAN = 1.0
FRAMES = (49, 73, 97)
WATCHED_SECONDS, SETTLED = 10.0, 0.5
"""The first half second of a clip's way is not counted: they get going then."""


def main() -> None:
    options = argparse.ArgumentParser(description="Measure reports.")
    options.add_argument("--runs", type=int, default=48)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = _table(folder, given.runs)
        wall, cpu = time.perf_counter(), time.process_time()
        page = write_report(table, folder / "report.html")
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        began = time.perf_counter()
        write_report(table, folder / "beside", folder=True)
        beside = time.perf_counter() - began
        size = page.stat().st_size
        samples = _watched(page)
    frames = sorted(apart for apart, _, _ in samples)
    late = statistics.median(late for _, late, _ in samples)
    median, most = statistics.median(frames), frames[-1]
    share = sum(one <= 1 for one in frames) / len(frames)
    print(f"A report of {given.runs} runs, load {os.getloadavg()[0]:.2f}:")
    print(f"  one page:      {wall:5.1f} s, {cpu:.1f} s CPU, {size / 1e6:.1f} MB (limit {MAX_BYTES / 1e6:g} MB)")
    print(f"  with a folder: {beside:5.1f} s")
    print(f"  in step:       median {median:g}, worst {most:g} frames; {share:.0%} within one; median {late:g} behind the clock; {len(samples)} looks")  # fmt: skip
    kept = [
        record(f"page of {given.runs} runs", size / 1e6, MAX_BYTES / 1e6, unit="MB"),
        record("frames out of step, median", median, MAX_MEDIAN, unit="frames"),
        record(f"to write it, {given.runs} runs", wall, unit="s"),
    ]
    if not all(kept):
        raise SystemExit("Over the limit.")


def _table(folder: Path, runs: int) -> pd.DataFrame:
    shelf = folder / "library" / "media"
    shelf.mkdir(parents=True)
    ground, rows = _ground(), []
    for run in range(runs):
        asked = rb.TextToVideo(prompt="a paper boat", seed=run // len(FRAMES), num_frames=FRAMES[run % len(FRAMES)])
        path = shelf / f"{run:064x}.mp4"
        _film(path, ground, asked.num_frames, run)
        rows.append(
            {
                "prompt": asked.prompt, "seed": asked.seed, "num_frames": asked.num_frames, "output_video": str(path),
                "status": "completed", "credits": 53, "credits_source": "charged", "request_id": f"request-{run}",
                "model": asked.endpoint_id, "take": 0, "input_json": format_canonical(asked),
            }
        )  # fmt: skip
    return pd.DataFrame(rows).rename_axis("run")


def _ground() -> Picture:
    """A picture with roughness of every size."""
    width, height = 1400, 800
    grain = np.random.default_rng(7)
    whole = np.zeros((height, width, 3), np.float32)
    for step in (2, 8, 32, 128):
        coarse = grain.integers(0, 255, (height // step + 1, width // step + 1, 3), np.uint8)
        whole += np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC), np.float32) / 4
    return whole.astype(np.uint8)


def _film(path: Path, ground: Picture, frames: int, run: int) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(24), options={"preset": "ultrafast", "crf": "23"})
        stream.width, stream.height, stream.pix_fmt = 854, 480, "yuv420p"
        for number in range(frames):
            left, top = 4 * number, 2 * number + run
            frame = av.VideoFrame.from_ndarray(ground[top : top + 480, left : left + 854], format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 24)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def _watched(path: Path) -> list[Any]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1200, "height": 1000})
        page.goto(path.as_uri())
        page.locator("#clips").evaluate("section => section.scrollIntoView()")
        page.locator("[data-rb-do=play]").click()
        samples = page.evaluate(SAMPLES, WATCHED_SECONDS)
        browser.close()
    return [sample for sample in samples if sample[2] > SETTLED]


if __name__ == "__main__":
    main()
