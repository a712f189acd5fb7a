"""The clips and pictures of a report: as previews inside the page, or as original files beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from threading import Lock
from urllib.parse import quote

from markupsafe import Markup

from ...errors import ReelbookError
from ...media.frame_index import FrameIndex, read_frame_index, read_uneven_times
from ...media.local_file import LocalFile
from ...media.metadata.provenance import write_sidecar
from ...media.posters import get_poster
from ...media.previews import get_preview
from ...media.stills import fit_size
from ..embedding import data_uri
from ..live import Count
from ..table_runs import TableRun
from ..theme import Macros

MAX_CLIP_SIDE, MAX_CLIP_BYTES, KEYFRAMES = 320, 150_000, 12
MEDIA = "media"
PROGRESS = "files made ready for the report"

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
    original: str = ""
    """The address of the original file, where it is beside the page."""
    copy_size: tuple[int, int] | None = None
    """Width and height of what the page has; None if that is the file itself."""


class InlineMedia:
    """Embeds media in the page."""

    longest = MAX_CLIP_SIDE
    """Pixels of the longer side of a clip's poster."""

    def add_clip(self, file: LocalFile, entry: TableRun) -> tuple[str, FrameIndex | None] | None:
        """Add a clip; returns its address, empty if the kernel sends it, and the index of what is there; None if it is too large."""
        small = get_preview(file.path, longest=MAX_CLIP_SIDE, max_bytes=MAX_CLIP_BYTES, gop=KEYFRAMES)
        return (data_uri("video/mp4", small), read_frame_index(small)) if small else None

    def add_picture(self, file: LocalFile, entry: TableRun, content: bytes) -> str:
        """Add a small picture with this content; returns its address."""
        return data_uri("image/jpeg", content)

    def add_original(self, file: LocalFile, entry: TableRun) -> str:
        """Add the original file; returns its address, empty where it is left out, as on a page that is a single file."""
        return ""


class FolderMedia(InlineMedia):
    """Writes media into a folder beside the page."""

    def __init__(self, folder: Path, service: str | None) -> None:
        self.folder, self.service = folder, service
        (folder / MEDIA).mkdir()
        self.names: dict[Path, str] = {}
        self._taken = set[str]()
        self._guard = Lock()

    def add_clip(self, file: LocalFile, entry: TableRun) -> tuple[str, FrameIndex | None]:
        """Copy the clip; returns its address, or the preview of one that browsers do not decode."""
        address = self.add_original(file, entry)
        # Of the copy, because the provenance in it moves what comes after.
        index = read_frame_index(self.folder / MEDIA / self.names[file.path])
        small = super().add_clip(file, entry) if index is None else None
        return small or (address, index)

    def add_picture(self, file: LocalFile, entry: TableRun, content: bytes) -> str:
        """Write the picture as a file; returns its address."""
        path = self._choose_path(f"{entry.file_number}.poster.jpg")
        path.write_bytes(content)
        return f"{MEDIA}/{quote(path.name)}"

    def add_original(self, file: LocalFile, entry: TableRun) -> str:
        """Copy the file under a readable name, with its provenance; returns its address."""
        if file.path not in self.names:
            facts = entry.facts(self.service)
            with_facts = LocalFile(file.path, file.source, facts)
            # With the run's number in the table first.
            copy = with_facts.save(self._choose_path(f"{entry.file_number}-{with_facts.make_name()}"))
            self.names[file.path] = copy.name
            write_sidecar(file.path, copy, facts)
        return f"{MEDIA}/{quote(self.names[file.path])}"

    def _choose_path(self, name: str) -> Path:
        """The path for a file of this name; of several with one name each gets another."""
        stem, dot, suffix = name.rpartition(".")
        with self._guard:
            tries = (f"{stem}{f'~{place}' if place > 1 else ''}{dot}{suffix}" for place in count(1))
            chosen = next(name for name in tries if name not in self._taken)
            self._taken.add(chosen)
        return self.folder / MEDIA / chosen


def prepare_media(entries: Sequence[TableRun], target: InlineMedia, count: Count) -> Mapping[Path, PageMedia]:
    """Prepare all files of these runs; returns them by path. The count says how many are done."""
    first = {file.path: (file, entry) for entry in reversed(entries) for file in entry.files}
    count.of = len(first)
    with ThreadPoolExecutor(min(8, os.cpu_count() or 2)) as pool:
        tasks = {path: pool.submit(_prepare, file, entry, target) for path, (file, entry) in first.items()}
        found = dict[Path, PageMedia]()
        try:
            for count.done, (path, task) in enumerate(tasks.items(), 1):
                found[path] = task.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return found


def _prepare(file: LocalFile, entry: TableRun, target: InlineMedia) -> PageMedia:
    try:
        probe = file.probe
        small = get_poster(file.path, longest=target.longest if file.is_video else 2 * target.longest)
        picture = target.add_picture(file, entry, small) if small else ""
        film = target.add_clip(file, entry) if file.is_video else None
        one = PageMedia(picture, width=probe.width, height=probe.height, original=target.add_original(file, entry))
    except ReelbookError as error:
        return PageMedia(note=_format_reason(file, error))
    if not file.is_video:
        size, side = (probe.width, probe.height), 2 * MAX_CLIP_SIDE
        small_size = fit_size(size, (side, side))
        return one if one.original or small_size == size else replace(one, copy_size=small_size)
    if film is None:
        return replace(one, note="too large to play inside a page; a report with folder=True plays it")
    name = f"{entry.name}, {probe}"
    address, index = film
    times = read_uneven_times(file.path) if address else ()
    frames = index.frames if index else probe.frames
    clip = PlayedClip(
        address, picture, probe.width, probe.height, frames, probe.rate or Fraction(24), name, index, times
    )
    is_copy = address.startswith("data:") and index is not None
    return replace(one, clip=clip, copy_size=index.display if is_copy and index else None)


def _format_reason(file: LocalFile, error: ReelbookError) -> str:
    """Why a file cannot be displayed, without the folders of its path."""
    return "its file is gone" if not file.path.exists() else str(error).replace(str(file.path), file.path.name)
