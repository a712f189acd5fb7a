"""The move engine: a camera moves over one picture."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from fractions import Fraction
from typing import TypeVar

from ....models.image_to_video import ImageToVideo
from ..protocol import EngineTask, Log, OutputFile, Progress, Work
from ..video_writer import Movie
from ..write_provenance import Provenance
from .plan_text import said
from .shot import Shot
from .shot_plan import plan
from .warp import frame_of

T = TypeVar("T")

RATE = 24
"""Frames per second."""

AHEAD = 4
"""Frames under way at once: enough to keep the threads busy, few enough to stop quickly."""

PATIENCE = 0.2
"""Seconds after which we say that we are still at it."""

HONESTLY = (
    "Move engine: a camera over the picture, computed on this machine. This is not the hosted model; "
    "nothing in the picture comes alive by itself."
)


class Move:
    """Makes a clip from one picture by moving a camera over it, as the prompt's words say."""

    name = "move"
    version = "1"

    def __init__(self, *, threads: int = 2) -> None:
        self._threads = threads

    def __call__(self, job: EngineTask[ImageToVideo]) -> Work:
        request = job.input
        yield Log(HONESTLY)
        wanted = plan(request)
        yield Log(said(wanted))
        seconds = int(request.duration)
        count = RATE * seconds
        with ThreadPoolExecutor(self._threads, thread_name_prefix="move") as pool:
            looking = pool.submit(Shot, request.image_url, job.sources[request.image_url], wanted, seconds)
            shot = yield from _waited(looking, Progress("looking", 0.01))
            path, (width, height) = job.folder / "clip.mp4", shot.size
            sign = Provenance(request.endpoint_id, request.wire(), None, self.name, self.version)
            with Movie(path, shot.size, Fraction(RATE), sign) as movie:
                for done, planes in enumerate(_in_order(pool, lambda number: shot.frame(number, count), count), 1):
                    movie.add(frame_of(planes))
                    yield Progress(f"moving {done} of {count}", 0.05 + 0.92 * done / count)
                yield Progress("encoding", 0.98)
        facts = {"width": width, "height": height, "frames": count, "frame_rate": RATE}
        return {"video": OutputFile(path, "video/mp4", facts)}


def _waited(work: Future[T], news: Progress) -> Generator[Progress, None, T]:
    """The result of some work, with news while it lasts."""
    yield news
    while wait([work], timeout=PATIENCE).not_done:
        yield news
    return work.result()


def _in_order(pool: ThreadPoolExecutor, make: Callable[[int], T], count: int) -> Iterator[T]:
    """What `make` gives for 0, 1, 2 …, a few of them made ahead."""
    under_way: deque[Future[T]] = deque()
    try:
        for number in range(count):
            under_way.append(pool.submit(make, number))
            if len(under_way) >= AHEAD:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        for future in under_way:
            future.cancel()


move = Move()
"""The engine, ready to be called."""
