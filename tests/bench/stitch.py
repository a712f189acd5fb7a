"""How stitch compares with ffmpeg on the same pictures: processor time and time on the clock.

    .venv/bin/python tests/bench/stitch.py [--rounds 5]

Thirty pictures at 720p, each held for 24 frames. The rounds alternate between the two; medians are shown.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
from PIL import Image, ImageDraw

from reelbook.models.images_to_video import Frame, ImagesToVideo
from reelbook_service.engines.protocol import EngineTask, Report
from reelbook_service.engines.stitch import stitch
from tests.bench.results import of_peer, record

PICTURES, HOLD, FPS = 30, 24, 24
SIZE = (1280, 720)
GATE = 1.0
"""How many times less processor time than ffmpeg must hold."""


def photograph(seed: int) -> Image.Image:
    """A picture with a photograph's statistics: things in front of things, shading, texture, a little noise."""
    random = np.random.default_rng(seed)
    scene = Image.new("RGB", SIZE, tuple(random.integers(60, 200, 3).tolist()))
    draw = ImageDraw.Draw(scene)
    for size in sorted(random.pareto(1.2, 900) * 10 + 3, reverse=True):
        x, y = random.uniform(-50, SIZE[0] + 50), random.uniform(-50, SIZE[1] + 50)
        wide, high = min(size, 400), min(size * random.uniform(0.5, 2), 400)
        colour = np.clip(random.normal(random.uniform(40, 210), 25, 3), 0, 255).astype(int)
        shape = draw.ellipse if random.random() < 0.6 else draw.rectangle
        shape((x - wide, y - high, x + wide, y + high), fill=tuple(colour.tolist()))
    pixels = np.asarray(scene, np.float32)
    for cells, strength in ((4, 30), (32, 12), (128, 8), (480, 3), (1280, 2)):
        grain = random.normal(0, strength, (max(2, cells * 9 // 16), cells)).astype(np.float32)
        pixels = pixels + np.asarray(Image.fromarray(grain).resize(SIZE, Image.Resampling.BICUBIC))[..., None]
    pixels += random.normal(0, 1.2, pixels.shape)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def prepare(folder: Path) -> None:
    """Write the pictures, as PNG and as JPEG."""
    for number in range(PICTURES):
        picture = photograph(number)
        picture.save(folder / f"{number:02d}.png")
        picture.save(folder / f"{number:02d}.jpg", quality=92)


def ours(folder: Path, kind: str) -> Path:
    """The video as our engine makes it, reading the files included."""
    sources = {f"https://example.org/{path.name}": path.read_bytes() for path in sorted(folder.glob(f"*.{kind}"))}
    asked = ImagesToVideo(images=[Frame(url=url, frames=HOLD) for url in sources], fps=FPS)
    path: Path = stitch(EngineTask(asked, 0, folder, sources), Report())["video"].path
    return path


def theirs(folder: Path, kind: str) -> Path:
    """The video as ffmpeg makes it in its fastest way: a slow sequence of pictures, repeated up to the rate.

    Its own default quality, though ours is better: that is the harder comparison.
    """
    path = folder / "theirs.mp4"
    source = ["-framerate", f"{FPS}/{HOLD}", "-i", str(folder / f"%02d.{kind}")]
    encoder = ["-r", str(FPS), "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"]
    command = ["ffmpeg", "-nostdin", "-v", "error", "-y", *source, *encoder, "-movflags", "+faststart", str(path)]
    subprocess.run(command, check=True)
    return path


def measured(make: Callable[[Path, str], Path], folder: Path, kind: str) -> tuple[float, float]:
    """Processor seconds and seconds on the clock, with all threads and child processes."""
    before, began = _processor(), time.perf_counter()
    path = make(folder, kind)
    took = _processor() - before, time.perf_counter() - began
    with av.open(path) as video:
        frames = sum(1 for _ in video.decode(video=0))
    if frames != PICTURES * HOLD:
        raise RuntimeError(f"{path.name} has {frames} frames instead of {PICTURES * HOLD}: no fair comparison")
    return took


def _processor() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def main() -> None:
    options = argparse.ArgumentParser(description="Compare stitch with ffmpeg.")
    options.add_argument("--rounds", type=int, default=5)
    rounds = options.parse_args().rounds
    kept = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        for kind in ("jpg", "png"):
            weight = sum(path.stat().st_size for path in folder.glob(f"*.{kind}")) / PICTURES / 1000
            measured(ours, folder, kind)  # Warm: what is imported and read once is not the engine's.
            what = f"film of {PICTURES} pictures in {kind}"
            if of_peer("ffmpeg", lambda kind=kind: measured(theirs, folder, kind)) is None:  # type: ignore[misc]
                alone = [measured(ours, folder, kind)[0] for _ in range(rounds)]
                record(what, statistics.median(alone), unit="s CPU")
                continue
            pairs = [(measured(ours, folder, kind), measured(theirs, folder, kind)) for _ in range(rounds)]
            mine, their = (
                [statistics.median(column) for column in zip(*side, strict=True)] for side in zip(*pairs, strict=True)
            )
            ratio = their[0] / mine[0]
            cost = {"unit": "s CPU", "peer": "ffmpeg, ultrafast", "theirs": their[0], "ratio": ratio}
            kept.append(record(what, mine[0], GATE, at_least=True, **cost))
            print(
                f"{kind} ({weight:.0f} kB each): ours {mine[0]:.3f} s CPU, {mine[1]:.3f} s wall; "
                f"ffmpeg {their[0]:.3f} s CPU, {their[1]:.3f} s wall; "
                f"CPU ratio {ratio:.1f} (gate {GATE}), wall ratio {their[1] / mine[1]:.1f}"
            )
    print(f"load average {', '.join(f'{load:.2f}' for load in os.getloadavg())}; {rounds} rounds")
    if not all(kept):
        raise SystemExit("Below the gate.")


if __name__ == "__main__":
    main()
