"""The stitch engine: a sequence of pictures, each held for its own number of frames."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

from reelbook.models.images_to_video import Frame, ImagesToVideo

from .canvas import PixelSize, canvas_for
from .open_pictures import stored_size, upright_size
from .protocol import EngineTask, OutputFile, Report
from .slides import DRAWING, PHOTO, EveryFrame, Slides, slides
from .source_frames import Framer, Still
from .video_writer import exact_rate
from .write_provenance import WrittenProvenance

T = TypeVar("T")

LARGE_PIXELS = 8_000_000
"""Pixels of a picture above which no other is decoded concurrently: both could need too much memory for a worker."""

MAX_CACHED_PIXELS = 64_000_000
"""Pixels of encoded pictures cached because they are repeated; each takes about a byte."""

FRAMES_SHARE = 0.98
"""The progress when all frames are written and only the index remains."""


class Stitch:
    """Shows pictures in sequence, each for exactly as many frames as requested."""

    name = "stitch"
    version = "1"

    def __init__(self, *, threads: int = 2) -> None:
        self._threads = threads

    def __call__(self, job: EngineTask[ImagesToVideo], report: Report) -> dict[str, Any]:
        """Generate the video."""
        request, path, rate = job.input, job.folder / "video.mp4", exact_rate(job.input.fps)
        report.log(
            f"This is the stitch engine {self.version}: it puts pictures together on this machine. Pictures: "
            f"{len(request.images):,}, frames: {request.total_frames:,}, {request.fps:g} a second."
        )
        largest = _largest(job, report)
        threads = 1 if largest > LARGE_PIXELS else self._threads
        provenance = WrittenProvenance(request.endpoint_id, request.wire(), None, self.name, self.version)
        with ThreadPoolExecutor(threads, thread_name_prefix="stitch") as pool:
            size = _size(job, report)
            with slides(path, size, rate, provenance) as video:
                if isinstance(video, EveryFrame):
                    report.log(f"x264 cannot be used here; every frame is encoded with {video.encoder}.", "WARNING")
                steps = plan_steps(request.images, keep=max(1, MAX_CACHED_PIXELS // (size[0] * size[1])))
                new = (step.url for step in steps if step.is_new)
                with closing(_map_ahead(pool, Framer(job.sources, size), new, threads + 1)) as stills:
                    _write_frames(video, steps, stills, report)
                report.progress("writing the index", FRAMES_SHARE)
        facts = {"width": size[0], "height": size[1], "frames": request.total_frames, "fps": request.fps}
        return {"video": OutputFile(path, "video/mp4", {**facts, "duration": float(request.total_frames / rate)})}


@dataclass(frozen=True, slots=True)
class StitchStep:
    """One picture of the sequence."""

    url: str
    frames: int
    is_new: bool
    """Whether it must be decoded; otherwise it is in the cache."""
    leaving: tuple[str, ...]
    """The pictures to remove from the cache after this one."""


def plan_steps(images: Iterable[Frame], *, keep: int) -> list[StitchStep]:
    """One step for each picture, with a cache of at most `keep` pictures that are repeated.

    >>> a, b = (Frame(url=f"https://example.org/{name}.png", frames=1) for name in "ab")
    >>> [step.is_new for step in plan_steps([a, b, a], keep=1)]
    [True, True, False]
    """
    images = tuple(images)
    coming = Counter(image.url for image in images)
    cached: dict[str, None] = {}  # In order of use, the least recently used first.
    steps = []
    for image in images:
        is_new = image.url not in cached
        cached.pop(image.url, None)
        coming[image.url] -= 1
        leaving = []
        if coming[image.url]:
            cached[image.url] = None
        else:
            leaving.append(image.url)
        if len(cached) > keep:
            leaving.append(next(iter(cached)))
            del cached[leaving[-1]]
        steps.append(StitchStep(image.url, image.frames, is_new, tuple(leaving)))
    return steps


def _largest(job: EngineTask[ImagesToVideo], report: Report) -> int:
    """Pixels of the largest picture; raises for a file that is not a picture, before any work is done."""
    urls = dict.fromkeys(image.url for image in job.input.images)
    largest = 0
    for number, url in enumerate(urls, 1):
        report.progress(f"looking at picture {number} of {len(urls)}", 0.0)
        width, height = stored_size(url, job.sources[url])
        largest = max(largest, width * height)
    return largest


def _size(job: EngineTask[ImagesToVideo], report: Report) -> PixelSize:
    """The size of the video: the first picture's."""
    url = job.input.images[0].url
    report.progress("looking at the first picture", 0.0)
    seen = upright_size(url, job.sources[url])
    size = canvas_for(seen)
    if size[0] < seen[0]:
        report.log(
            f"The first picture has {seen[0]} × {seen[1]} pixels, more than players take; the video has "
            f"{size[0]} × {size[1]}."
        )
    return size


def _write_frames(video: Slides[Any], steps: list[StitchStep], stills: Iterator[Future[Still]], report: Report) -> None:
    """Write every frame, picture by picture."""
    by_url: dict[str, Any] = {}
    for number, step in enumerate(steps, 1):
        stage = f"picture {number:,} of {len(steps):,}"
        if step.is_new:
            report.progress(stage, FRAMES_SHARE * (number - 1) / len(steps))
            still = next(stills).result()
            by_url[step.url] = video.prepared(still.frame, DRAWING if still.is_drawn else PHOTO)
        for done in video.show(by_url[step.url], step.frames):
            report.progress(stage, FRAMES_SHARE * (number - 1 + done / step.frames) / len(steps))
        for url in step.leaving:
            del by_url[url]


def _map_ahead(
    pool: ThreadPoolExecutor, make: Callable[[str], T], urls: Iterable[str], count: int
) -> Generator[Future[T], None, None]:
    """Yield a future for each picture, in order, with `count` of them started ahead."""
    under_way: deque[Future[T]] = deque()
    try:
        for url in urls:
            under_way.append(pool.submit(make, url))
            if len(under_way) > count:
                yield under_way.popleft()
        while under_way:
            yield under_way.popleft()
    finally:
        for future in under_way:
            future.cancel()


stitch = Stitch()
"""The engine instance."""
