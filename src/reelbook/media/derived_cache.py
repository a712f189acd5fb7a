"""A cache of posters and previews in a library, so that each is made once.

A file on the shelf `<library>/media` is named by the hash of its content, so what was made from it stays right for
good. A file elsewhere may change under its name: nothing is kept of it on the disk.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

SHELF = "media"
VERSION = 2
"""Of how these are made: what an earlier version has kept is not used any more."""
_SHELF_NAME = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class FileVersion:
    """Version of a file: path, size, mtime."""

    path: str
    size: int
    changed: int


def get_file_version(path: str | Path) -> FileVersion | None:
    """Get the version of the file at a path; None if there is none."""
    place = os.path.abspath(Path(path).expanduser())  # noqa: PTH100  # Path.resolve would look at the disk, and may raise.
    try:
        found = os.stat(place)  # noqa: PTH116  # Quicker, and this is asked for each picture that is shown.
    except (OSError, ValueError):
        return None
    return FileVersion(place, found.st_size, found.st_mtime_ns)


def get_cache_path(path: str, folder: str, ending: str) -> Path | None:
    """Get the path at which something made from a file is stored; None for a file outside a library's shelf.

    >>> get_cache_path(f"/films/media/{'c0ffee00' * 8}.mp4", "posters", "320.jpg").name
    'c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00-2-320.jpg'
    >>> get_cache_path("/films/holiday.mp4", "posters", "320.jpg")
    """
    file = Path(path)
    if file.parent.name != SHELF or not _SHELF_NAME.fullmatch(file.stem):
        return None
    return file.parent.parent / folder / f"{file.stem}-{VERSION}-{ending}"


def find_cached(path: str, folder: str) -> list[Path]:
    """Find everything stored for a file, also by earlier versions, largest first."""
    there = get_cache_path(path, folder, "")
    try:
        found = list(there.parent.glob(f"{Path(path).stem}-*")) if there else []
        return sorted(found, key=lambda one: one.stat().st_size, reverse=True)
    except OSError:
        return []


def read_cached(place: Path, is_whole: Callable[[bytes], bool]) -> bytes | None:
    """Read the content stored there; None if there is none, or it is incomplete."""
    try:
        content = place.read_bytes()
    except OSError:
        return None
    return content if is_whole(content) else None


def store(place: Path, content: bytes) -> None:
    """Store content there; errors of the disk are ignored, because it can be made again."""
    part = place.with_name(f"{uuid4().hex}.part")
    try:
        place.parent.mkdir(mode=0o700, exist_ok=True)
        with open(part, "wb", opener=_private) as file:
            file.write(content)
        part.replace(place)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
