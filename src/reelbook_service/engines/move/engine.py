"""The move engine: a camera move over one picture."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from typing import Any, TypeVar

from reelbook.models.image_to_video import ImageToVideo

from ..protocol import EngineTask, OutputFile, Report
from ..video_writer import Movie
from ..write_provenance import WrittenProvenance
from .plan_text import format_plan
from .shot import Shot
from .shot_plan import make_plan
from .warp import frame_of

T = TypeVar("T")

RATE = 24
"""Frames per second."""

MAX_FRAMES_AHEAD = 4
"""Frames computed concurrently: enough to keep the threads busy, few enough to stop quickly."""

NOTICE = (
    "Move engine: a camera over the picture, computed on this machine. This is not the hosted model; "
    "nothing in the picture comes alive by itself."
)


class Move:
    """Generates a clip from one picture by a camera move over it, as the prompt describes."""

    name = "move"
    version = "1"

    def __init__(self, *, threads: int = 2) -> None:
        self._threads = threads

    def __call__(self, job: EngineTask[ImageToVideo], report: Report) -> dict[str, Any]:
        request = job.input
        report.log(NOTICE)
        wanted = make_plan(request)
        report.log(format_plan(wanted))
        seconds = int(request.duration)
        count = RATE * seconds
        report.progress("looking", 0.01)
        shot = Shot(request.image_url, job.sources[request.image_url], wanted, seconds)
        with ThreadPoolExecutor(self._threads, thread_name_prefix="move") as pool:
            path, (width, height) = job.folder / "clip.mp4", shot.size
            provenance = WrittenProvenance(request.endpoint_id, request.wire(), None, self.name, self.version)
            with Movie(path, shot.size, Fraction(RATE), provenance) as movie:
                for done, planes in enumerate(_map_in_order(pool, lambda number: shot.frame(number, count), count), 1):
                    movie.add(frame_of(planes))
                    report.progress(f"moving {done} of {count}", 0.05 + 0.92 * done / count)
                report.progress("encoding", 0.98)
        facts = {"width": width, "height": height, "frames": count, "frame_rate": RATE}
        return {"video": OutputFile(path, "video/mp4", facts)}


def _map_in_order(pool: ThreadPoolExecutor, make: Callable[[int], T], count: int) -> Iterator[T]:
    """Yield `make(0)`, `make(1)` … in order, with a few of them computed ahead."""
    under_way: deque[Future[T]] = deque()
    try:
        for number in range(count):
            under_way.append(pool.submit(make, number))
            if len(under_way) >= MAX_FRAMES_AHEAD:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        for future in under_way:
            future.cancel()


move = Move()
"""The engine instance."""
