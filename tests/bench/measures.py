"""What measuring costs: all figures of a clip of 97 frames at 480p, and of many clips at once.

    PYTHONPATH=. .venv/bin/python tests/bench/measures.py [--rounds 7] [--clips 12]

A soft texture that moves, with grain, in H.264. Processor time of one process, beside that of decoding alone; then
the clock for many clips in processes of our own, the first time and from the cache.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import numpy as np

from reelbook.media.measuring.measures import measure_files
from reelbook.media.measuring.metrics import METRICS, measure_file
from tests.bench.results import record
from tests.media.moving import Pixels, texture, written

FRAMES, SIZE = 97, (854, 480)
GOAL = 0.6
"""Seconds of the processor for all figures of one clip; reported, because it depends on the machine."""


def scene(seed: int) -> Iterator[Pixels]:
    """The frames of a clip."""
    width, height = SIZE
    random = np.random.default_rng(seed)
    large = texture(seed, (width + 2 * FRAMES, height), cells=160).astype(np.int16)
    for number in range(FRAMES):
        grain = random.integers(-6, 7, (height, width, 1), np.int16)
        yield np.clip(large[:, 2 * number : 2 * number + width] + grain, 0, 255).astype(np.uint8)


def decoded(path: Path) -> None:
    """Every frame once, in one thread, and nothing done with it."""
    with av.open(str(path)) as container:
        container.streams.video[0].codec_context.thread_count = 1
        assert sum(1 for _ in container.decode(video=0)) == FRAMES


def processor(work: Callable[[], object], rounds: int) -> float:
    """Seconds of the processor, the median of some rounds after one that does not count."""
    work()
    took = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return statistics.median(took)


def one_clip(clip: Path, rounds: int) -> None:
    alone = processor(lambda: decoded(clip), rounds)
    every = processor(lambda: measure_file(clip), rounds)
    beside = processor(lambda: measure_file(clip, reference=clip), rounds)
    size = f"{FRAMES} frames of {SIZE[0]}×{SIZE[1]} ({clip.stat().st_size / 1e6:.1f} MB)"
    print(
        f"{size}: decoding {alone:.3f} s CPU, all figures {every:.3f} s (goal {GOAL}), with a reference {beside:.3f} s"
    )
    record(
        f"all figures of {FRAMES} frames", every, unit="s CPU", peer="decoding alone", theirs=alone, ratio=every / alone
    )
    for name, metric in METRICS.items():
        if metric.unit not in ("frames", "seconds", "pixels", "bytes"):
            took = processor(
                lambda name=name, metric=metric: measure_file(
                    clip, [name], reference=clip if metric.compares else None
                ),  # type: ignore[misc]  # A lambda's defaults have no types.
                max(1, rounds // 3),
            )
            print(f"    {name:<20} {1000 * (took - alone) / FRAMES:5.2f} ms a frame, decoding left out")


def many_clips(clip: Path, folder: Path, count: int) -> None:
    (folder / "media").mkdir()
    clips = [folder / "media" / f"{number:064}.mp4" for number in range(count)]
    for path in clips:
        path.write_bytes(clip.read_bytes())
    for label in ("measured", "from the cache"):
        began = time.perf_counter()
        if any(figures["error"] for figures in measure_files(clips)):
            raise SystemExit("A clip could not be measured: no figures to compare.")
        print(f"{count} clips {label}: {time.perf_counter() - began:.2f} s on the clock")


def main() -> None:
    options = argparse.ArgumentParser(description="Measure what measuring costs.")
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--clips", type=int, default=12)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        clip = written(Path(name) / "clip.mp4", scene(1), crf=23)
        one_clip(clip, asked.rounds)
        many_clips(clip, Path(name), asked.clips)
    print(f"load average {', '.join(f'{load:.2f}' for load in os.getloadavg())}; {asked.rounds} rounds")


if __name__ == "__main__":
    main()
