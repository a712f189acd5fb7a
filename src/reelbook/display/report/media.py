"""The clips and pictures of a page, as small copies inside it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from markupsafe import Markup

from ...errors import ReelbookError
from ...media.frame_index import FrameIndex, read_frame_index, read_uneven_times
from ...media.local_file import LocalFile
from ...media.posters import get_poster
from ...media.previews import get_preview
from ...media.stills import fit_size
from ..embedding import data_uri
from ..live import Count
from ..table_runs import TableRun
from ..theme import Macros

MAX_CLIP_SIDE, MAX_CLIP_BYTES, KEYFRAMES = 320, 150_000, 12
PROGRESS = "files made ready for the report"

AddedClip = tuple[str, FrameIndex | None]
"""The address of a clip, empty if the kernel sends it, and the index of what is there."""
AddClip = Callable[[LocalFile], AddedClip | None]

clips = Macros("clip.html")


@dataclass(frozen=True, slots=True)
class PlayedClip:
    """One player: its addresses, and the facts that a browser cannot know."""

    src: str
    """The address of the video; made here, never taken from a response. Empty if the kernel sends it."""
    poster: str
    """The address of the poster; empty for none."""
    width: int
    height: int
    frames: int
    rate: Fraction
    name: str
    """The label for screen readers."""
    index: FrameIndex | None = None
    """The index of the video at `src`, with which the page decodes it; without it, the browser plays it."""
    times: Sequence[float] = ()
    """The times of the frames of the original, if they are not evenly spaced; its copies are."""

    @property
    def markup(self) -> Markup:
        """The player, as wide as its container."""
        index = self.index.to_json() if self.index else None
        texts = [json.dumps(value, separators=(",", ":")) if value else "" for value in (index, self.times)]
        return clips.clip(self, *texts)


@dataclass(frozen=True, slots=True)
class PageMedia:
    """A file of the report: its addresses and size on the page."""

    poster: str = ""
    """The address of its poster, or of the picture itself; empty if it cannot be read."""
    clip: PlayedClip | None = None
    """Its player; None for a picture, and for what cannot be played."""
    width: int = 16
    height: int = 9
    note: str = ""
    """The reason why it is not displayed or does not play."""
    copy_size: tuple[int, int] | None = None
    """Width and height of what the page has; None if that is the file itself."""


def embed_clip(file: LocalFile) -> AddedClip | None:
    """A small copy of a clip as a `data:` URI, and the index of its frames; None if the clip is too large."""
    small = get_preview(file.path, longest=MAX_CLIP_SIDE, max_bytes=MAX_CLIP_BYTES, gop=KEYFRAMES)
    return (data_uri("video/mp4", small), read_frame_index(small)) if small else None


def prepare_media(
    entries: Sequence[TableRun], count: Count, add_clip: AddClip = embed_clip, longest: int = MAX_CLIP_SIDE
) -> Mapping[Path, PageMedia]:
    """Prepare all files of these runs; returns them by path. The count says how many are done.

    `longest` is the longer side of a clip's poster in pixels.
    """
    files = {file.path: (file, entry.name) for entry in reversed(entries) for file in entry.files}
    count.of = len(files)
    with ThreadPoolExecutor(min(8, os.cpu_count() or 2)) as pool:
        tasks = {path: pool.submit(_prepare, *named, add_clip, longest) for path, named in files.items()}
        found = dict[Path, PageMedia]()
        try:
            for count.done, (path, task) in enumerate(tasks.items(), 1):
                found[path] = task.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return found


def _prepare(file: LocalFile, run: str, add_clip: AddClip, longest: int) -> PageMedia:
    try:
        probe = file.probe
        small = get_poster(file.path, longest=longest if file.is_video else 2 * longest)
        film = add_clip(file) if file.is_video else None
    except ReelbookError as error:
        return PageMedia(note=_format_reason(file, error))
    one = PageMedia(data_uri("image/jpeg", small) if small else "", width=probe.width, height=probe.height)
    if not file.is_video:
        size, side = (probe.width, probe.height), 2 * MAX_CLIP_SIDE
        small_size = fit_size(size, (side, side))
        return one if small_size == size else replace(one, copy_size=small_size)
    if film is None:
        return replace(one, note="too large to play inside a page; a report with folder=True plays it")
    address, index = film
    times = read_uneven_times(file.path) if address else ()
    frames, rate = index.frames if index else probe.frames, probe.rate or Fraction(24)
    name = f"{run}, {probe}"
    clip = PlayedClip(address, one.poster, probe.width, probe.height, frames, rate, name, index, times)
    return replace(one, clip=clip, copy_size=index.display if index else None)


def _format_reason(file: LocalFile, error: ReelbookError) -> str:
    """Why a file cannot be displayed, without the folders of its path."""
    return "its file is gone" if not file.path.exists() else str(error).replace(str(file.path), file.path.name)
