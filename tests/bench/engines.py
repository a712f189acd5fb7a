"""The engines: frames a second of sketch and move, the processor time of smart resize, and stitch beside ffmpeg.

    PYTHONPATH=. .venv/bin/python tests/bench/engines.py [--rounds 3]

Each run is made in a fresh process, so that its memory is its own; decoding of sources and encoding are included.
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
from typing import Any

from PIL import Image

from reelbook.models.base import Input
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images_to_video import Frame, ImagesToVideo
from reelbook.models.smart_resize import SmartResize
from reelbook.models.text_to_video import TextToVideo
from reelbook_service.engines.protocol import EngineTask, Report, engine_for
from tests.bench.results import of_peer, record
from tests.support import peak_mib
from tests.tools.scenes import NAMES, scene

PICTURES, HOLD, FPS = 30, 24, 24
SKETCHES = (
    "three red balloons over a mountain lake at dawn, slow zoom in",
    "a neon city at night in the rain, cars driving left",
    "a snowman in falling snow, camera pans right",
)
MOVES = ("slow zoom in, the camera pans right", "ripples on the water, handheld", "zoom out, heavy snow, sunset")
SIZES = ("1080x1920", "1080x1080", "300x600", "728x90")
GATES = {"frames/s": 30.0, "four targets": 450.0, "stitch": 1.0}
"""Frames a second at 720p on two cores that nobody else uses; milliseconds of the processor; times ffmpeg's."""


def prepare(folder: Path) -> None:
    """Write the sources: pictures of full HD, and those of a film at 720p."""
    for name in NAMES:
        scene(name, height=1080).picture.save(folder / f"{name}.jpg", quality=92)
    for number in range(PICTURES):
        picture = scene(NAMES[number % len(NAMES)], height=720, seed=number).picture
        picture.resize((1280, 720), Image.Resampling.BICUBIC).save(folder / f"{number:02d}.jpg", quality=92)


def request_of(kind: str, words: str, folder: Path) -> Input:
    """The input of a row: a sketch and a move by their prompts, a resize by its picture, or the film of all pictures."""
    match kind:
        case "sketch":
            return TextToVideo(prompt=words)
        case "move":
            return ImageToVideo(prompt=words, image_url="boat.jpg")
        case "resize":
            return SmartResize(image_url=f"{words}.jpg", target_sizes=SIZES, seed=7)
    pictures = sorted(path.name for path in folder.glob("[0-9]*.jpg"))
    return ImagesToVideo(images=[Frame(url=name, frames=HOLD) for name in pictures], fps=FPS)


def make(kind: str, words: str, folder: Path) -> dict[str, float]:
    """Make one run in this process, and measure it."""
    asked = request_of(kind, words, folder)
    sources = {path.name: path.read_bytes() for path in folder.glob("*.jpg")}
    with tempfile.TemporaryDirectory() as out:
        began, cpu = time.perf_counter(), processor()
        output = engine_for(asked)(EngineTask(asked, 7, Path(out), sources), Report())
        took = {"clock": time.perf_counter() - began, "cpu": processor() - cpu, "MiB": float(peak_mib())}
    video: Any = output.get("video")
    return {**took, "frames": float(video.facts["frames"]) if video else 0.0}


def processor() -> float:
    """Seconds of the processor that this process has used, and all that it has started."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def measured(kind: str, words: str, folder: Path, rounds: int) -> dict[str, float]:
    """The medians of a row; each round in a fresh process."""
    command = [sys.executable, __file__, "--make", kind, words, str(folder)]
    told = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(rounds)
    ]
    found = {name: statistics.median(round_[name] for round_ in told) for name in told[0]}
    figures = "  ".join(f"{name} {value:.2f}" for name, value in found.items())
    print(f"{kind:7} {figures}  load {os.getloadavg()[0]:.1f}  {words}", flush=True)
    return found


def film_by_ffmpeg(folder: Path) -> float:
    """Seconds of the processor for the same film in ffmpeg's fastest way, at its own default quality, though ours is better."""
    source = ["-framerate", f"{FPS}/{HOLD}", "-i", str(folder / "%02d.jpg")]
    encoder = ["-r", str(FPS), "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]
    command = ["ffmpeg", "-nostdin", "-v", "error", "-y", *source, *encoder, "-movflags", "+faststart"]
    before = processor()
    subprocess.run([*command, str(folder / "theirs.mp4")], check=True)
    return processor() - before


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the engines.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--make", nargs=3, metavar=("KIND", "WORDS", "FOLDER"), help="make one run and print JSON")
    options = parser.parse_args()
    if options.make:
        kind, words, where = options.make
        print(json.dumps(make(kind, words, Path(where))))
        return 0
    met = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        for kind, prompts in (("sketch", SKETCHES), ("move", MOVES)):
            for prompt in prompts:
                found = measured(kind, prompt, folder, options.rounds)
                rate = found["frames"] / found["clock"]
                record(f"{kind}: {prompt[:30]}", rate, GATES["frames/s"], unit="frames/s", at_least=True)
        resizes = [1000 * measured("resize", picture, folder, options.rounds)["cpu"] for picture in NAMES]
        record("four targets, median picture", statistics.median(resizes), GATES["four targets"], unit="ms CPU")
        ours = measured("stitch", f"{PICTURES} pictures", folder, options.rounds)["cpu"]
        theirs = of_peer("ffmpeg", lambda: statistics.median(film_by_ffmpeg(folder) for _ in range(options.rounds)))
        if theirs is not None:
            what = f"film of {PICTURES} pictures, times quicker"
            facts = {"unit": "s CPU", "peer": "ffmpeg", "theirs": theirs, "ratio": theirs / ours, "at_least": True}
            met.append(record(what, ours, GATES["stitch"], **facts))  # type: ignore[arg-type]  # Of several types.
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
