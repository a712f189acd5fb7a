"""What smart resize costs: four sizes from one 1080p picture, in CPU time, encoding apart.

python tests/bench/recompose.py [rounds]
"""

from __future__ import annotations

import io
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from reelbook.models.smart_resize import SmartResize
from reelbook_service.engines.protocol import EngineTask
from reelbook_service.engines.recompose import recompose
from tests.bench.results import record
from tests.heard import Heard, Log, Progress
from tests.tools.scenes import NAMES, scene

URL = "https://example.org/picture.jpg"
SIZES = ("1080x1920", "1080x1080", "300x600", "728x90")
GOAL, LIMIT = 250, 400


def source(name: str) -> bytes:
    """A scene as a 1080p JPEG."""
    data = io.BytesIO()
    scene(name, height=1080).picture.save(data, "jpeg", quality=92)
    return data.getvalue()


def costs(picture: bytes) -> Mapping[str, float]:
    """CPU milliseconds of one run, by stage: looking, composing, writing."""
    spent: dict[str, float] = defaultdict(float)
    with tempfile.TemporaryDirectory() as folder:
        job = EngineTask(SmartResize(image_url=URL, target_sizes=SIZES, seed=7), 7, Path(folder), {URL: picture})
        stage, since = "looking", time.process_time()

        def heard(event: Progress | Log) -> None:
            nonlocal stage, since
            now = time.process_time()
            spent[stage] += 1000 * (now - since)
            since = now
            if isinstance(event, Progress):
                stage = event.stage.split()[0]

        recompose(job, Heard(heard))
        spent[stage] += 1000 * (time.process_time() - since)
    return spent


def main(rounds: int) -> None:
    pictures = {name: source(name) for name in NAMES}
    print(
        f"load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores, {rounds} rounds, CPU ms for {', '.join(SIZES)}"
    )
    print(f"{'':10} {'looking':>8} {'composing':>10} {'together':>9} {'(writing)':>10}")
    together = []
    for name, picture in pictures.items():
        seen = [costs(picture) for _ in range(rounds)]
        looking, composing, writing = (
            statistics.median(run[stage] for run in seen) for stage in ("looking", "composing", "writing")
        )
        together.append(looking + composing)
        print(f"{name:10} {looking:8.0f} {composing:10.0f} {together[-1]:9.0f} {writing:10.0f}")
    record("four targets, the slowest picture", max(together), LIMIT, unit="ms CPU")
    print(f"median {statistics.median(together):.0f}, most {max(together):.0f}; goal {GOAL}, limit {LIMIT}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
