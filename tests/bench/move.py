"""How fast move makes clips at 720p, and how much memory it takes: each row in a fresh process.

    .venv/bin/python tests/bench/move.py [--rounds 3]

A row is one clip of 120 frames, decoding of the source and encoding of the clip included; medians are shown.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from reelbook.models.image_to_video import ImageToVideo
from reelbook_service.engines.move.engine import move
from reelbook_service.engines.protocol import EngineTask
from tests.bench.results import record
from tests.heard import Heard, Log, Progress

ROWS = (
    ("photo.jpg", "slow zoom in, the camera pans right"),
    ("photo.jpg", "orbit left, gentle breeze"),
    ("photo.jpg", "ripples on the water, handheld"),
    ("photo.jpg", "zoom out, heavy snow, sunset"),
    ("large.jpg", "dolly in"),
    ("large.png", "dolly in"),
)
GATE = 30
"""Frames a second at 720p on two cores that nobody else uses."""


def photograph(width: int, height: int) -> Image.Image:
    """A picture with a photograph's statistics: things before things, texture, a little noise."""
    draw = np.random.default_rng(3)
    scene = Image.linear_gradient("L").resize((width, height)).convert("RGB")
    pen = ImageDraw.Draw(scene)
    for size in sorted(draw.pareto(1.2, 500) * width / 110 + 4, reverse=True):
        x, y, reach = draw.uniform(0, width), draw.uniform(0, height), min(size, width / 4)
        colour = tuple(np.clip(draw.normal(draw.uniform(40, 210), 25, 3), 0, 255).astype(int).tolist())
        pen.ellipse((x - reach, y - reach, x + reach, y + reach * draw.uniform(0.3, 1)), fill=colour)
    return Image.blend(scene, Image.effect_noise((width, height), 60).convert("RGB"), 0.08)


def prepare(folder: Path) -> None:
    """Write the sources: full HD, and the largest that the service takes."""
    photograph(1920, 1080).save(folder / "photo.jpg", quality=92)
    large = photograph(1920, 1200).resize((8000, 5000))
    large.save(folder / "large.jpg", quality=90)
    large.save(folder / "large.png", compress_level=1)


def one(source: Path, prompt: str) -> dict[str, float]:
    """Make one clip and measure it."""
    with tempfile.TemporaryDirectory() as folder:
        job = EngineTask(ImageToVideo(prompt=prompt, image_url="u"), 0, Path(folder), {"u": source.read_bytes()})
        begin, last, silence, frames = time.perf_counter(), time.perf_counter(), 0.0, 0
        cpu = time.process_time()

        def heard(item: Progress | Log) -> None:
            nonlocal silence, last, frames
            now = time.perf_counter()
            silence, last = max(silence, now - last), now
            frames += isinstance(item, Progress) and item.stage.startswith("moving")

        move(job, Heard(heard))
        wall = time.perf_counter() - begin
        return {
            "frames/s": frames / wall,
            "CPU s": time.process_time() - cpu,
            "peak MiB": peak(),
            "longest silence s": silence,
            "kB": (Path(folder) / "clip.mp4").stat().st_size / 1000,
        }


def peak() -> float:
    """The most memory that this process has held, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not ru_maxrss, which on Linux begins at what the parent process held.
        return next(int(line.split()[1]) / 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=2, metavar=("SOURCE", "PROMPT"), help="measure one clip and print JSON")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one(Path(options.one[0]), options.one[1])))
        return
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        print(f"goal: {GATE} frames/s at 720p on two idle cores, at most 512 MiB")
        for source, prompt in ROWS:
            command = [sys.executable, __file__, "--one", str(Path(folder) / source), prompt]
            rounds = [
                json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                for _ in range(options.rounds)
            ]
            medians = {name: statistics.median(round_[name] for round_ in rounds) for name in rounds[0]}
            record(f"{source}, {prompt[:30]}", medians["frames/s"], unit="frames/s")
            figures = "  ".join(f"{name} {value:.2f}" for name, value in medians.items())
            print(f"{source:9}  {prompt:36}  {figures}  load {os.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    main()
