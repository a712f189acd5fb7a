"""A cache of posters and previews in the library's folder.

A file on the shelf `<library>/media` is named by the hash of its content, so entries made from it never expire.
A file elsewhere may change under its name: nothing made from it is stored on disk.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ..errors import ReelbookError
from ..util.replace_file import PRIVATE, replace_file

Content = TypeVar("Content", bound=bytes | None)

SHELF = "media"
VERSION = 3
"""Version of the entries' format: entries of earlier versions are ignored."""
_SHELF_NAME = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class FileVersion:
    """Version of a file: path, size, mtime."""

    path: str
    size: int
    changed: int


def get_file_version(path: str | Path) -> FileVersion | None:
    """Get the version of the file at a path; None if there is none."""
    absolute = os.path.abspath(Path(path).expanduser())  # noqa: PTH100  # Path.resolve reads the disk, and may raise.
    try:
        facts = os.stat(absolute)  # noqa: PTH116  # Faster, and called for each picture displayed.
    except (OSError, ValueError):
        return None
    return FileVersion(absolute, facts.st_size, facts.st_mtime_ns)


def get_cache_path(path: str, folder: str, ending: str) -> Path | None:
    """Get the cache path of an entry made from a file; None for a file outside a library's shelf.

    >>> get_cache_path(f"/films/media/{'c0ffee00' * 8}.mp4", "posters", "320.jpg").name
    'c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00-3-320.jpg'
    >>> get_cache_path("/films/holiday.mp4", "posters", "320.jpg")
    """
    file = Path(path)
    if file.parent.name != SHELF or not _SHELF_NAME.fullmatch(file.stem):
        return None
    return file.parent.parent / folder / f"{file.stem}-{VERSION}-{ending}"


def read_or_make(
    path: str | Path, folder: str, ending: str, make: Callable[[FileVersion], Content]
) -> bytes | Content:  # fmt: skip
    """Read the entry made from a file, or make and store it; None is not stored. Without the file a `ReelbookError`."""
    file = get_file_version(path)
    if file is None:
        raise ReelbookError(f"{path} is not there any more. rb.attach downloads it again.")
    entry = get_cache_path(file.path, folder, ending)
    if entry is not None:
        with contextlib.suppress(OSError):
            return entry.read_bytes()
    content = make(file)
    if entry is not None and content is not None:
        # An error of the disk is no matter: the entry can be made again.
        with contextlib.suppress(OSError):
            entry.parent.mkdir(mode=0o700, exist_ok=True)
            replace_file(entry, content, mode=PRIVATE)
    return content


def map_files(make: Callable[[str], bytes | None], paths: Iterable[str | Path]) -> list[bytes | None]:
    """What is made from many files, in their order; each is made once, in parallel."""
    listed = list(map(str, paths))
    different = list(dict.fromkeys(listed))
    threads = ThreadPoolExecutor(min(len(different), os.cpu_count() or 1, 8) or 1)
    try:
        contents = dict(zip(different, threads.map(make, different), strict=True))
    finally:
        # After an interrupt, files not started yet are cancelled.
        threads.shutdown(cancel_futures=True)
    return [contents[path] for path in listed]
