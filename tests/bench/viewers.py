"""A grid of 24 clips of 480p: how soon it is ready, steps, scrubs and plays, beside plain `<video>` elements in the same run.

    PYTHONPATH=. .venv/bin/python tests/bench/viewers.py [--clips 24]

The clips are 854 × 480, 49 frames long, with one keyframe per 250 frames, as x264 makes them; nothing of them has been made
small before. Ready is from the call until every clip is loaded, the kernel's part (previews, on all cores) and the page's
together. Steps are right only if the pixels say so: every frame carries its number.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pandas as pd
from playwright.sync_api import Page, sync_playwright

from reelbook.display.report.clip_grid import grid_bundle, make_clip_grid
from tests.bench.results import record
from tests.browser.conftest import FLAGS, chromium_path
from tests.browser.fake_kernel import answer_requests, listen
from tests.numbered import READ_NUMBER, draw

FRAMES, SIZE = 49, (854, 480)
PAGE = '<!doctype html><meta charset="utf-8"><body style="margin:16px">{}</body>'
ROOT = "document.querySelector('[data-rb-viewer]').grid"
HELP = (
    READ_NUMBER.replace("const readNumber", "window.readNumber")
    + """
window.sorted = values => values.sort((one, other) => one - other);
window.at = (values, share) => sorted(values)[Math.min(Math.floor(values.length * share), values.length - 1)];
window.chance = (state => () => (state = (state * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff)(7);
"""
)
STEPS = """async ({cold, warm}) => {
  const {clock} = document.querySelector('[data-rb-viewer]').grid;
  const found = {cold: [], warm: [], wrong: 0, looks: 0};
  const go = async frame => {
    const began = performance.now();
    await clock.seek(frame);
    const took = performance.now() - began;
    const seen = clock.clips.filter(({isInView}) => isInView);
    found.looks += seen.length;
    const wrong = seen.filter(({picture: {canvas}}) => readNumber(canvas, canvas.width, canvas.height) !== frame).length;
    return [took, wrong];
  };

  for (const frame of cold) {
    const [took, wrong] = await go(frame);
    found.cold.push(took);
    found.wrong += wrong;
  }
  for (let frame = 0; frame < clock.frames; frame += 6) await clock.seek(frame);
  for (let turn = 0; turn < warm; turn += 1) {
    const [took, wrong] = await go(turn % 2 ? Math.floor(chance() * clock.frames) : (clock.frame + 1) % clock.frames);
    found.warm.push(took);
    found.wrong += wrong;
  }
  return {cold: Math.max(...found.cold), warm: at(found.warm, 0.95), wrong: found.wrong, looks: found.looks, used: globalThis.reelbookFrames.used};
}"""
PLAY = """async seconds => {
  const {clock} = document.querySelector('[data-rb-viewer]').grid;
  await clock.seek(0);
  clock.play();
  await new Promise(resolve => setTimeout(resolve, 300));
  const due = new Set(), shown = new Map(clock.clips.filter(({isInView}) => isInView).map(clip => [clip, new Set()]));
  let turn = 0, before = -1;
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until) {
    await new Promise(requestAnimationFrame);
    if (clock.frame < before) turn += 1;
    before = clock.frame;
    for (const [clip, seen] of shown) seen.add(`${turn}/${clip.shown}`);
  }
  clock.pause();
  const expected = seconds * clock.rate;
  return 1 - [...shown.values()].reduce((sum, seen) => sum + Math.min(seen.size, expected), 0) / (expected * shown.size);
}"""
AXES = """async () => {
  const {grid} = document.querySelector('[data-rb-viewer]'), {clock, groups} = grid;
  const took = [], {runs} = groups[0];
  for (let turn = 0; turn < 40; turn += 1) {
    const run = runs[Math.floor(chance() * runs.length)];
    const began = performance.now();
    grid.show('one', run.row);
    const clip = grid.clipOf(run.row);
    clip.isInView = true;
    await clip.show(clock.timeFor(clip, clock.time));
    took.push(performance.now() - began);
  }
  return at(took, 0.95);
}"""
# The same with the browser's own players, as a page without a decoder does it.
VIDEOS = """async ({files, size, rate, steps}) => {
  const began = performance.now();
  const videos = files.map(data => {
    const video = document.createElement('video');
    [video.muted, video.preload, video.width] = [true, 'auto', 190];
    video.src = URL.createObjectURL(new Blob([Uint8Array.from(atob(data), letter => letter.charCodeAt(0))], {type: 'video/mp4'}));
    document.body.append(video);
    return video;
  });
  await Promise.all(videos.map(video => new Promise(resolve => video.readyState >= 2 ? resolve() : video.onloadeddata = resolve)));
  const ready = performance.now() - began, took = [];
  let wrong = 0;
  for (let turn = 0; turn < steps; turn += 1) {
    const frame = Math.floor(chance() * 49), start = performance.now();
    await Promise.all(videos.map(video => new Promise(resolve => {
      video.requestVideoFrameCallback(() => resolve());
      video.currentTime = (frame + 0.5) / rate;
      setTimeout(resolve, 5000);
    })));
    took.push(performance.now() - start);
    wrong += videos.filter(video => readNumber(video, ...size) !== frame).length;
  }
  videos.forEach(video => { video.removeAttribute('src'); video.load(); video.remove(); });
  return {ready, step: at(took, 0.95), wrong};
}"""


def main() -> None:
    options = argparse.ArgumentParser(description="Measure grids of clips.")
    options.add_argument("--clips", type=int, default=24)
    count = options.parse_args().clips
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        table = _table(folder, count)
        began = time.perf_counter()
        grid = make_clip_grid(table, key="key")
        html = str(grid_bundle(grid)["text/html"])
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 1600})
        (folder / "grid.html").write_text(PAGE.format(html), encoding="utf-8")
        page.goto((folder / "grid.html").as_uri())
        paths = [str(path) for path in table["output_video"]]
        _warm_previews(paths)
        answer_requests(page, [[path] for path in paths])
        listen(page, "key")
        page.wait_for_function(f"{ROOT}.clock.clips.every(clip => clip.picture || !clip.isInView)")
        ready = time.perf_counter() - began
        page.add_script_tag(content=HELP)
        steps = page.evaluate(STEPS, {"cold": [40, 3, 20, 30], "warm": 200})
        dropped = page.evaluate(PLAY, 4)
        page.evaluate(f"{ROOT}.show('one')")
        axis = page.evaluate(AXES)
        page.evaluate("document.querySelector('[data-rb-viewer]').remove()")
        page.wait_for_function("globalThis.reelbookFrames.used === 0")
        left = page.evaluate("globalThis.reelbookFrames.used")
        peer = _measure_videos(page, paths)
        browser.close()
    print(
        f"{count} clips of {SIZE[0]} × {SIZE[1]}, load {os.getloadavg()[0]:.2f}; saved output {len(html) / 1e6:.2f} MB"
    )
    print(
        f"  ready after {ready:.2f} s; {100 * dropped:.1f}% dropped while playing; another axis value {axis:.1f} ms (p95)"
    )
    print(
        f"  steps: cold {steps['cold']:.0f} ms at worst, warm {steps['warm']:.1f} ms (p95), {steps['wrong']} wrong of {steps['looks']:,}; "
        f"{steps['used'] / 1e6:.0f} MB"
    )
    print(f"  video elements: step {peer['step']:.0f} ms (p95), {peer['wrong']} wrong of {12 * count}")
    beside = {"peer": "video elements", "theirs": peer["step"]}
    met = [
        record(f"{count} clips ready", ready, 4.0, unit="s"),
        record("wrong frames", steps["wrong"], 0, peer="video elements", theirs=peer["wrong"]),
        record("step, warm, p95", steps["warm"], 0.1, unit="ms", ratio=steps["warm"] / peer["step"], **beside),
        record("step, cold, worst of 4", steps["cold"], 0.5, unit="ms", ratio=steps["cold"] / peer["step"], **beside),
        record("step, warm, p95", steps["warm"], 33, unit="ms"),
        record("step, cold, worst of 4", steps["cold"], 150, unit="ms"),
        record("dropped while playing", 100 * dropped, 10, unit="%"),
        record("another value of an axis, p95", axis, 50, unit="ms"),
        record("decoded frames in the page", steps["used"] / 1e6, 500, unit="MB"),
        record("left after closing", left / 1e6, 0, unit="MB"),
    ]
    if not all(met):
        raise SystemExit("Over the limit.")


def _warm_previews(paths: list[str]) -> None:
    """Make the previews as the kernel does, several at a time; they are cached afterwards."""
    from reelbook.media.previews import make_preview
    from reelbook.widgets.link import LONGEST, MAX_PREVIEW_BYTES

    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as threads:
        list(threads.map(lambda path: make_preview(path, longest=LONGEST, max_bytes=MAX_PREVIEW_BYTES), paths))


def _measure_videos(page: Page, paths: list[str]) -> dict[str, Any]:
    import base64

    files = [base64.b64encode(Path(path).read_bytes()).decode() for path in paths]
    page.goto("about:blank")
    page.add_script_tag(content=HELP)
    found: dict[str, Any] = page.evaluate(VIDEOS, {"files": files, "size": SIZE, "rate": 24, "steps": 12})
    return found


def _table(folder: Path, count: int) -> pd.DataFrame:
    media = folder / "library" / "media"
    media.mkdir(parents=True)
    rows = []
    for number in range(count):
        path = media / f"{number:064x}.mp4"
        _film(path, number)
        rows.append(
            {"seed": number // 6, "steps": number % 6, "output_video": str(path), "status": "completed", "credits": 53}
        )
    return pd.DataFrame(rows).rename_axis("run")


def _film(path: Path, seed: int) -> None:
    grain = np.random.default_rng(seed).integers(0, 255, (SIZE[1] // 8 + 40, SIZE[0] // 8 + 60, 3), np.uint8)
    ground = grain.repeat(8, 0).repeat(8, 1)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(24), options={"preset": "veryfast", "crf": "26"})
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        for number in range(FRAMES):
            picture = ground[number : number + SIZE[1], 2 * number : 2 * number + SIZE[0]].copy()
            picture[: SIZE[1] // 2] = draw(number, SIZE)[: SIZE[1] // 2]
            picture[SIZE[1] * 5 // 8 : SIZE[1] * 7 // 8] = draw(number, SIZE)[-1]
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 24)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


if __name__ == "__main__":
    main()
