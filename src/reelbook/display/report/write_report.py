"""Reports on the disk: a page, or a folder with a page, that appears whole or not at all."""

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
    """Where a page of this name goes."""
    target = _path(path)
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
    """Where a folder of this name goes; refused where something is that we have not written."""
    target = _path(path)
    if not target.exists():
        return target
    if not target.is_dir():
        raise ReelbookError(f"{target} is a file, and a report with folder=True is a folder. Choose another name.")
    foreign = sorted(_found(target) - _ours(target))
    if foreign:
        names = ", ".join(foreign[:3]) + (" …" if len(foreign) > 3 else "")
        raise ReelbookError(
            f"{target} holds what is no report of ours ({names}), which stays. Choose another folder, or move it away."
        )
    return target


def _path(path: object) -> Path:
    if not isinstance(path, (str, Path)) or not str(path) or "\0" in str(path):
        raise ReelbookError(f'A report goes to a path, for instance table.reel.report("boats.html"), not to {path!r}.')
    return Path(path).expanduser()


def write_page(target: Path, html: str) -> Path:
    """The page under its name, when all of it is there."""
    with _as_ours(target):
        # Through a link to where it leads, as with any other way to write a file.
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
    """A folder to be filled, that takes the place of the report that was there when all is in it."""
    with _as_ours(target):
        real = Path(os.path.realpath(target))
        real.parent.mkdir(parents=True, exist_ok=True)
        part, before = (real.with_name(f".{secrets.token_hex(8)}.part") for _ in range(2))
        part.mkdir()
        try:
            yield part
            (part / MANIFEST).write_text(json.dumps({"files": sorted(_found(part))}, indent=1), encoding="utf-8")
            if real.exists():
                real.rename(before)
            part.rename(real)
        finally:
            if before.exists() and not real.exists():
                before.rename(real)
            for left in (part, before):
                shutil.rmtree(left, ignore_errors=True)


def _found(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def _ours(folder: Path) -> set[str]:
    """The files of a folder that a report of ours put there."""
    try:
        told = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return {MANIFEST, *map(str, told["files"])}
    except (OSError, ValueError, LookupError, TypeError):
        return set()


@contextmanager
def _as_ours(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ReelbookError(
            f"The report could not be written to {target} ({error.strerror or error}). "
            "Choose a place that can be written to, with room for it, and write it again."
        ) from error
