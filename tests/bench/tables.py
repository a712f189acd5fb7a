"""Tables with pictures beside what a notebook shows otherwise: twelve clips in a cell, and a thousand runs on a page.

    .venv/bin/python tests/bench/tables.py [--rounds 5]

Twelve clips of the embedded service: `table.reel` with posters beside mediapy, which encodes them anew, and
`IPython.display.Video(embed=True)`, which shows nothing once a notebook is reopened untrusted. mediapy gets its frames
decoded beforehand, and that time is not counted. A thousand runs: in Chromium beside pandas' own `to_html` of the same
table, without any picture. Ratios and bytes are gated; times are reported, because they depend on the machine.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from IPython.display import Video
from playwright.sync_api import Browser, sync_playwright

import reelbook as rb
from reelbook.display.tables.table_html import render_table
from reelbook.media.local_file import LocalFile
from reelbook.models.base import File
from tests.bench.results import of_peer, record
from tests.browser.conftest import FLAGS, chromium_path

CLIPS, RUNS = 12, 1000
QUICKER, PAGE = 20.0, 1.5
"""Gates: how many times quicker than mediapy twelve clips are shown, and how many times the time of pandas' page ours may take."""
MAX_POSTERS = 600_000
GOALS = {"shown": 0.080, "painted": 1.5, "task": 0.200}
"""Seconds; reported."""

LOOK = """async () => {
  await document.fonts.ready;
  const images = [...document.images];
  await Promise.all(images.filter(i => i.getBoundingClientRect().top < innerHeight).map(i => i.decode().catch(() => null)));
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() / 1000;
}"""
SCROLL = """async () => {
  const tasks = [];
  new PerformanceObserver(list => tasks.push(...list.getEntries().map(entry => entry.duration))).observe({type: 'longtask'});
  const box = document.querySelector('.rb-box');
  for (let top = 0; top < box.scrollHeight; top += 400) {
    box.scrollTop = top;
    await new Promise(requestAnimationFrame);
  }
  await new Promise(done => setTimeout(done, 100));
  return Math.max(0, ...tasks) / 1000;
}"""


def table(library: Path) -> pd.DataFrame:
    """Twelve runs of the embedded service, small ones."""
    boat = rb.TextToVideo(prompt="a paper boat on a rainy street", num_frames=25, resolution="480p")
    with rb.connect(library=library):
        return rb.sweep(boat, seed=range(CLIPS // 3), aspect_ratio=["16:9", "1:1", "9:16"]).run(progress=False)


def many(few: pd.DataFrame) -> pd.DataFrame:
    """A thousand runs, each with a file of its own, as a library would have it; the clips themselves are linked."""
    found = pd.concat([few] * -(-RUNS // len(few)), ignore_index=True).head(RUNS)
    paths = []
    for row, path in enumerate(map(Path, found["output_video"])):
        name = path.with_name(f"{hashlib.sha256(str(row).encode()).hexdigest()}.mp4")
        name.hardlink_to(path)
        paths.append(str(name))
    seeds = [seed + 1000 * row for row, seed in enumerate(found["seed"])]
    return found.assign(output_video=paths, seed=seeds, request_id=[f"request {row}" for row in range(RUNS)])


def timed(make: Callable[[], str]) -> tuple[float, int]:
    """Seconds, and how many bytes came out."""
    began = time.perf_counter()
    html = make()
    return time.perf_counter() - began, len(html.encode())


def embedded(path: str) -> str:
    """A clip as IPython puts it into a notebook."""
    return str(Video(path, embed=True)._repr_html_())  # type: ignore[no-untyped-call]  # IPython is untyped here


def by_mediapy(clips: list[list[Any]]) -> str:
    """What mediapy makes of clips that are decoded already."""
    import mediapy

    return str(mediapy.show_videos(clips, fps=24, columns=4, return_html=True))


def shown(few: pd.DataFrame, rounds: int) -> bool:
    """Twelve clips in a cell, ours and the others by turns."""
    frames = [
        [frame.convert("RGB") for frame in LocalFile(Path(path), File(url="")).frames()] for path in few["output_video"]
    ]
    arrays = [[_array(frame) for frame in clip] for clip in frames]
    ways: dict[str, Callable[[], str]] = {
        "table.reel": lambda: render_table(few, embed="poster"),
        "mediapy": lambda: by_mediapy(arrays),
        "Video(embed=True)": lambda: "".join(embedded(path) for path in few["output_video"]),
    }
    timed(ways["table.reel"])  # Warm: posters are made while runs end.
    found = {}
    for name, make in ways.items():
        times = 1 if name == "mediapy" else rounds
        each = of_peer(name, lambda make=make, times=times: [timed(make) for _ in range(times)])  # type: ignore[misc]
        if each is not None:
            found[name] = each
    seconds = {name: statistics.median(second for second, _ in each) for name, each in found.items()}
    weights = {name: each[0][1] for name, each in found.items()}
    for name in found:
        print(f"{CLIPS} clips by {name}: {seconds[name] * 1000:,.1f} ms, {weights[name] / 1000:,.0f} kB")
    mine, what = seconds["table.reel"] * 1000, f"{CLIPS} clips in a cell"
    if "mediapy" not in found:
        return record(what, mine, unit="ms")
    theirs = seconds["mediapy"] * 1000
    size, its = (weights[name] / 1000 for name in ("table.reel", "mediapy"))
    kept = [
        record(
            f"{what}, times quicker",
            mine,
            QUICKER,
            unit="ms",
            peer="mediapy",
            theirs=theirs,
            ratio=theirs / mine,
            at_least=True,
        ),
        record(f"{what}, bytes", size, 1, unit="kB", peer="mediapy", theirs=its, ratio=size / its),
    ]
    return all(kept)


def on_page(browser: Browser, html: str, folder: Path) -> tuple[float, float, Any]:
    """Seconds until the page and the pictures in view are there, the longest task of scrolling, and the page's count of rows."""
    place = folder / "page.html"
    place.write_text(f"<!doctype html><meta charset=utf-8>{html}", encoding="utf-8")
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    page.goto(place.as_uri())
    painted = float(page.evaluate(LOOK))
    longest = float(page.evaluate(SCROLL)) if "rb-box" in html else 0.0
    rows = page.locator("tbody tr").count()
    page.close()
    return painted, longest, rows


def paged(thousand: pd.DataFrame, rounds: int, folder: Path) -> bool:
    """A thousand runs in Chromium, ours and pandas' by turns."""
    cold, weight = timed(lambda: render_table(thousand, embed="poster"))
    warm = statistics.median(timed(lambda: render_table(thousand, embed="poster"))[0] for _ in range(3))
    ours, plain = render_table(thousand, embed="poster"), thousand.to_html()
    posters = sum(len(part.partition('"')[0]) for part in ours.split("data:image/jpeg;base64,")[1:])
    print(
        f"{RUNS:,} runs: {warm:.2f} s to make ({cold:.2f} s with all posters), {weight / 1e6:.2f} MB, posters {posters / 1000:,.0f} kB (gate {MAX_POSTERS / 1000:g})"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        on_page(browser, ours, folder)
        pairs = [(on_page(browser, ours, folder), on_page(browser, plain, folder)) for _ in range(rounds)]
        browser.close()
    mine, theirs = (statistics.median(pair[side][0] for pair in pairs) for side in (0, 1))
    task, rows = statistics.median(pair[0][1] for pair in pairs), pairs[0][0][2]
    print(
        f"  on the page with the posters in view after {mine:.2f} s (goal {GOALS['painted']}), pandas' plain table of {len(plain) / 1e6:.2f} MB after {theirs:.2f} s: "
        f"ratio {mine / theirs:.2f} (gate {PAGE}); longest task while scrolling through all {task * 1000:.0f} ms (goal {GOALS['task'] * 1000:g}); {rows} rows on the page at once"
    )
    kept = [
        record(
            f"page of {RUNS:,} runs, painted",
            mine,
            PAGE,
            unit="s",
            peer="pandas' plain table",
            theirs=theirs,
            ratio=mine / theirs,
        ),
        record(f"posters of {RUNS:,} runs", posters / 1000, MAX_POSTERS / 1000, unit="kB"),
    ]
    return all(kept)


def _array(picture: Any) -> Any:
    import numpy as np

    return np.asarray(picture)


def main() -> None:
    options = argparse.ArgumentParser(description="Compare tables with pictures with other ways to show clips.")
    options.add_argument("--rounds", type=int, default=5)
    rounds = options.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        few = table(Path(name) / "library")
        fits = [shown(few, rounds), paged(many(few), rounds, Path(name))]
    print(f"load average {', '.join(f'{load:.2f}' for load in os.getloadavg())}; {rounds} rounds")
    if not all(fits):
        raise SystemExit("Beyond the gate.")


if __name__ == "__main__":
    main()
