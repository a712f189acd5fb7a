"""The clips and pictures of a report: inside the page as small copies, or whole and beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, Protocol
from urllib.parse import quote

from ...errors import ReelbookError
from ...media.local_file import LocalFile
from ...media.metadata.file_marks import MANIFEST_SUFFIX
from ...media.metadata.provenance import sidecar_for
from ...media.metadata.sidecar import sidecar_path
from ...media.posters import poster
from ...media.previews import preview
from ..embedding import data_uri
from ..synced_clips import Clip
from .report_entries import Entry
from .report_progress import SetText, ignore_text, show_progress

MAX_CLIP_SIDE, MAX_CLIP_BYTES, KEYFRAMES = 320, 150_000, 12
MAX_PICTURE_SIDE = 640
QUIET_SECONDS = 1.0
"""Seconds that may pass without a word about it."""
MEDIA = "media"


@dataclass(frozen=True, slots=True)
class PageMedia:
    """A file as the page has it."""

    poster: str = ""
    """The address of a picture of it."""
    clip: Clip | None = None
    """Its player; None for a picture, and for what cannot be played."""
    width: int = 16
    height: int = 9
    note: str = ""
    """Why there is no more of it."""
    whole: str = ""
    """The address of the whole file, where it is beside the page."""


class MediaTarget(Protocol):
    """Where the media of a page go."""

    def film(self, file: LocalFile, entry: Entry) -> str:
        """The address of what plays; empty where nothing does."""

    def picture(self, file: LocalFile, entry: Entry, content: bytes) -> str:
        """The address of a small picture, whose content this is."""

    def whole(self, file: LocalFile, entry: Entry) -> str:
        """The address of the whole file; empty where it stays behind."""


class InlineMedia:
    """In the page itself."""

    def film(self, file: LocalFile, entry: Entry) -> str:
        """A small copy of the clip."""
        small = preview(file.path, longest=MAX_CLIP_SIDE, most_bytes=MAX_CLIP_BYTES, gop=KEYFRAMES)
        return data_uri("video/mp4", small) if small else ""

    def picture(self, file: LocalFile, entry: Entry, content: bytes) -> str:
        """The picture as an address of its own."""
        return data_uri("image/jpeg", content)

    def whole(self, file: LocalFile, entry: Entry) -> str:
        """Nothing: whoever gets the page gets no more than the page."""
        return ""


@dataclass(frozen=True)
class FolderMedia:
    """In a folder beside the page."""

    folder: Path
    service: str | None
    names: dict[Path, str] = field(default_factory=dict)
    _guard: Lock = field(default_factory=Lock)

    def film(self, file: LocalFile, entry: Entry) -> str:
        """The whole clip."""
        return self.whole(file, entry)

    def picture(self, file: LocalFile, entry: Entry, content: bytes) -> str:
        """The picture as a file."""
        name = f"{file.path.stem[:16]}-{entry.place}.poster.jpg"
        name = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-.") else "_" for letter in name)
        (self.folder / MEDIA).mkdir(exist_ok=True)
        (self.folder / MEDIA / name).write_bytes(content)
        return f"{MEDIA}/{quote(name)}"

    def whole(self, file: LocalFile, entry: Entry) -> str:
        """A copy under a name to read, which tells how it was made."""
        if file.path not in self.names:
            facts = entry.facts(self.service)
            told = LocalFile(file.path, file.source, facts)
            with TemporaryDirectory(dir=self.folder) as apart:
                copy = told.save(f"{apart}{os.sep}")
                beside = sidecar_for(file.path, facts)
                self.names[file.path] = self._placed(copy)
            if beside:
                place = self.folder / MEDIA / self.names[file.path]
                sidecar_path(place).write_text(beside, encoding="utf-8")
        return f"{MEDIA}/{quote(self.names[file.path])}"

    def _placed(self, copy: Path) -> str:
        """The name of the copy among the others; files of runs that have no id may be called alike."""
        with self._guard:
            (self.folder / MEDIA).mkdir(exist_ok=True)
            tries = (f"{copy.stem}{f'_{number}' if number else ''}{copy.suffix}" for number in count())
            name = next(name for name in tries if not (self.folder / MEDIA / name).exists())
            copy.replace(self.folder / MEDIA / name)
            if (manifest := copy.with_suffix(MANIFEST_SUFFIX)).exists():
                manifest.replace((self.folder / MEDIA / name).with_suffix(MANIFEST_SUFFIX))
        return name


def prepare_media(entries: Sequence[Entry], place: MediaTarget) -> tuple[Mapping[Path, PageMedia], SetText]:
    """Every file of these runs as the page has it; and what says how it ended, because it takes its time and tells that."""
    first = {file.path: (file, entry) for entry in reversed(entries) for file in entry.files}
    works = list(first.values())
    with ThreadPoolExecutor(min(8, os.cpu_count() or 2)) as pool, ExitStack() as stack:
        under_way = [pool.submit(_prepare, file, entry, place) for file, entry in works]
        try:
            say = stack.enter_context(_showing_progress(under_way))
            found = [one.result() for one in under_way]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return dict(zip(first, found, strict=True)), say


def _showing_progress(under_way: Sequence[Any]) -> AbstractContextManager[SetText]:
    """A word about how far it is, if it is not there at once."""
    if not wait(under_way, timeout=QUIET_SECONDS).not_done:
        return nullcontext(ignore_text)
    return show_progress(
        lambda: sum(one.done() for one in under_way), len(under_way), "files made ready for the report"
    )


def _prepare(file: LocalFile, entry: Entry, place: MediaTarget) -> PageMedia:
    try:
        probe = file.probe
        small = poster(file.path, longest=MAX_CLIP_SIDE if file.is_video else MAX_PICTURE_SIDE)
        picture = place.picture(file, entry, small) if small else ""
        film = place.film(file, entry) if file.is_video else ""
        one = PageMedia(picture, width=probe.width, height=probe.height, whole=place.whole(file, entry))
    except ReelbookError as error:
        return PageMedia(note=_reason(file, error))
    if not file.is_video:
        return one
    if not film:
        return replace(one, note="too large to play inside a page; a report with folder=True plays it")
    name = f"{entry.name}, {probe}"
    clip = Clip(film, picture, probe.width, probe.height, probe.frames, probe.rate or Fraction(24), name)
    return replace(one, clip=clip)


def _reason(file: LocalFile, error: ReelbookError) -> str:
    """What is wrong with a file, without the folders of whoever sends the page."""
    return "its file is gone" if not file.path.exists() else str(error).replace(str(file.path), file.path.name)
