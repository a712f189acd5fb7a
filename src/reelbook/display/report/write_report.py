"""Reports on disk: a page, or a folder with a page, written completely or not at all."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import ReelbookError

INDEX, MANIFEST = "index.html", "reelbook-report.json"
SUFFIXES = (".html", ".htm")
SEPARATORS = tuple(sign for sign in (os.sep, os.altsep) if sign)


def find_page_path(path: str | Path) -> Path:
    """The path of a page of this name; raises a ReelbookError if it is a folder."""
    target = _parse_path(path)
    if not target.name or str(path).endswith(SEPARATORS) or target.is_dir():
        raise ReelbookError(
            f"{path} is a folder, and a report is one file. Name the file, for instance {target / 'report.html'}, "
            "or ask with folder=True for a folder with the page and its clips beside it."
        )
    if target.suffix.lower() not in SUFFIXES:
        target = target.with_name(f"{target.name}.html")
    if target.is_dir():
        raise ReelbookError(
            f"{target} is a folder. Choose another name, or folder=True for a report with its clips beside it."
        )
    return target


def find_folder_path(path: str | Path) -> Path:
    """The path of a folder of this name; raises a ReelbookError if it holds files that are not of a report."""
    target = _parse_path(path)
    if not target.exists():
        return target
    if not target.is_dir():
        raise ReelbookError(f"{target} is a file, and a report with folder=True is a folder. Choose another name.")
    foreign = sorted(_list_files(target) - _read_manifest(target))
    if foreign:
        names = ", ".join(foreign[:3]) + (" …" if len(foreign) > 3 else "")
        raise ReelbookError(
            f"{target} holds what is no report of ours ({names}), which stays. Choose another folder, or move it away."
        )
    return target


def _parse_path(path: object) -> Path:
    if not isinstance(path, (str, Path)) or not str(path) or "\0" in str(path):
        raise ReelbookError(f'A report goes to a path, for instance table.reel.report("boats.html"), not to {path!r}.')
    return Path(path).expanduser()


def write_page(target: Path, html: str) -> Path:
    """Write the page completely, then move it to its name; returns the path."""
    with _translating_errors(target):
        # A symbolic link is followed, as by any other write.
        real = Path(os.path.realpath(target))
        real.parent.mkdir(parents=True, exist_ok=True)
        part = real.with_name(f".{secrets.token_hex(8)}.part")
        try:
            part.write_text(html, encoding="utf-8", errors="replace")
            part.replace(real)
        finally:
            part.unlink(missing_ok=True)
    return target


@contextmanager
def replacing_folder(target: Path) -> Iterator[Path]:
    """A new folder to be filled by the block, which replaces the previous report at its end."""
    with _translating_errors(target):
        real = Path(os.path.realpath(target))
        real.parent.mkdir(parents=True, exist_ok=True)
        part, previous = (real.with_name(f".{secrets.token_hex(8)}.part") for _ in range(2))
        part.mkdir()
        try:
            yield part
            (part / MANIFEST).write_text(json.dumps({"files": sorted(_list_files(part))}, indent=1), encoding="utf-8")
            if real.exists():
                real.rename(previous)
            part.rename(real)
        finally:
            if previous.exists() and not real.exists():
                previous.rename(real)
            for folder in (part, previous):
                shutil.rmtree(folder, ignore_errors=True)


def _list_files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def _read_manifest(folder: Path) -> set[str]:
    """The files of a folder that an earlier report wrote, from its manifest."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return {MANIFEST, *map(str, manifest["files"])}
    except (OSError, ValueError, LookupError, TypeError):
        return set()


@contextmanager
def _translating_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ReelbookError(
            f"The report could not be written to {target} ({error.strerror or error}). "
            "Choose a place that can be written to, with room for it, and write it again."
        ) from error
