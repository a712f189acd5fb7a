"""How fast the sketch engine is: frames a second from prompt to file, processor time, and the most memory.

    .venv/bin/python tests/bench/sketch.py [--frames 121] [--long]

Every clip is made at 720p in a fresh process, so that its memory is its own; the load average tells how busy the
machine was with other things. `--long` adds the longest clip of all, 1,441 frames.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile

from tests.bench.results import record

PROMPTS = (
    "a red sailing boat on the sea at sunset, gulls overhead",
    "three red balloons over a mountain lake at dawn, slow zoom in",
    "a neon city at night in the rain, cars driving left",
    "a whale and fish under water",
    "a snowman in falling snow, camera pans right",
)

_ONE_CLIP = """
import json, resource, sys, time
from pathlib import Path
from reelbook.models.text_to_video import TextToVideo
from reelbook_service.engines.protocol import EngineTask, Report
from reelbook_service.engines.sketch.engine import sketch

def spent():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime

asked = TextToVideo(prompt=sys.argv[2], num_frames=int(sys.argv[3]))
cpu, clock = spent(), time.perf_counter()
last, longest = clock, 0.0

def heard(message):
    global longest, last
    now = time.perf_counter()
    longest, last = max(longest, now - last), now

sketch(EngineTask(asked, 7, Path(sys.argv[1])), Report(heard))
clock, cpu = time.perf_counter() - clock, spent() - cpu
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 ** (1 + (sys.platform == "darwin")))
size = (Path(sys.argv[1]) / "clip.mp4").stat().st_size
print(json.dumps({"clock": clock, "cpu": cpu, "memory": memory, "longest": longest, "size": size}))
"""


def measured(prompt: str, frames: int) -> dict[str, float]:
    """What one clip costs."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _ONE_CLIP, folder, prompt, str(frames)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    figures: dict[str, float] = json.loads(told)
    return figures


def report(prompt: str, frames: int) -> None:
    """Make one clip and print its figures on a line."""
    figures = measured(prompt, frames)
    record(prompt[:40], frames / figures["clock"], unit="frames/s")
    print(
        f"{frames / figures['clock']:6.1f} frames/s  {figures['clock']:6.2f} s  "
        f"{figures['cpu']:6.2f} CPU s ({1000 * figures['cpu'] / frames:.0f} ms a frame)  "
        f"{figures['memory']:4.0f} MB  longest step {1000 * figures['longest']:.0f} ms  "
        f"{figures['size'] / 1e6:.1f} MB file  load {os.getloadavg()[0]:.1f}  {frames} × {prompt}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=121)
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    print(f"720p, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")
    for prompt in PROMPTS:
        report(prompt, options.frames)
    if options.long:
        report(PROMPTS[0], 1441)


if __name__ == "__main__":
    main()
