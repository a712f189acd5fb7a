"""Copies of files saved under a given name, or in a folder under a readable one, with their provenance."""

from __future__ import annotations

import filecmp
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from ..errors import ReelbookError
from .metadata.provenance import saving_to, write

_SAME = {".m4v": ".mp4", ".mov": ".mp4", ".mkv": ".webm", ".jpeg": ".jpg", ".tiff": ".tif"}
"""Suffixes of a format that has another, too."""
_KNOWN = {".mp4", ".webm", ".png", ".jpg", ".webp", ".gif", ".bmp", ".tif"}


def save_copy(source: Path, path: str | Path, name: str, facts: Mapping[str, Any]) -> Path:
    """Save a copy of a file with the facts of its run in its metadata; returns its path.

    A path without the suffix of the format gets it. In a folder the copy has this name; a copy that is already there
    stays, and if another file has the name, a number is added.
    """
    folder = Path(path).expanduser()
    if not is_folder(path):
        target = add_suffix(folder, source)
        write(source, target, facts)
        return target
    with saving_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".") as apart:
            copy = Path(apart, name)
            write(source, copy, facts)
            for target in _candidates(folder, name):
                if not target.exists():
                    break
                if target.is_file() and filecmp.cmp(copy, target, shallow=False):
                    return target
            copy.replace(target)
    return target


def save_part(path: str | Path, name: str, facts: Mapping[str, Any], make: Callable[[Path], object]) -> Path:
    """Save a new file, which `make` writes, as `save_copy` does; the name has its suffix."""
    with saving_to(Path(path)), tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder, f"part{Path(name).suffix}")
        make(fresh)
        return save_copy(fresh, path, name, facts)


def is_folder(path: str | Path) -> bool:
    """Whether a path names a folder, which may not exist yet."""
    return os.path.isdir(Path(path).expanduser()) or str(path).endswith(("/", os.sep))  # noqa: PTH112  # Path.is_dir may raise.


def add_suffix(target: Path, source: Path) -> Path:
    """The target with the suffix of a file; `ReelbookError` if its own suffix is of another format."""
    ours, wanted = _get_format(source), _get_format(target)
    if ours not in _KNOWN or wanted == ours:
        return target
    if wanted in _KNOWN:
        raise ReelbookError(
            f"{source.name} is not a {target.suffix} file, and saving does not convert it. "
            f"Give a name that ends in {source.suffix}."
        )
    return target.with_name(target.name + source.suffix)


def is_same_format(path: Path, other: Path) -> bool:
    """Whether the suffixes of two files are of one format."""
    return _get_format(path) == _get_format(other)


def _get_format(path: Path) -> str:
    suffix = path.suffix.lower()
    return _SAME.get(suffix, suffix)


def _candidates(folder: Path, name: str) -> Iterator[Path]:
    """The paths that a file may have in a folder: of this name, then with a number added to it."""
    stem, suffix = os.path.splitext(name)  # noqa: PTH122
    yield folder / name
    for number in count(2):
        yield folder / f"{stem}~{number}{suffix}"
