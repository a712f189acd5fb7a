"""Writing of files completely or not at all: under another name, then renamed."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

PRIVATE = 0o600
"""The mode of a file that only its owner can read."""


@contextlib.contextmanager
def open_replacement(path: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a new file that replaces the one at `path` when the block ends, and is removed if it raises."""
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with open(part, "x+b", opener=partial(os.open, mode=mode)) as file:
            yield file
        part.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def replace_file(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Write a file, whose earlier content is replaced only by the complete new one."""
    with open_replacement(path, mode=mode) as file:
        file.write(content)


def sync_folder(folder: Path) -> None:
    """Sync a folder's entries to disk, so that a rename survives a power cut; Windows needs no such call."""
    if sys.platform != "win32":
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
