"""Find the folder of a library, as git finds its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..errors import ReelbookError
from .ledger import writer

NAME = ".reelbook"


def library_folder() -> Path:
    """`REELBOOK_LIBRARY` if set, else this user's nearest `.reelbook` here or in a parent folder, else a new one here.

    A parent's library is shared on purpose: what one notebook of a project has paid for, no other pays for again.
    `rb.connect` reports its use.
    """
    if chosen := os.environ.get("REELBOOK_LIBRARY"):
        return Path(chosen).expanduser().absolute()
    here = Path.cwd() / NAME
    parents = () if here.is_dir() else here.parent.parents
    return next((folder / NAME for folder in parents if _is_ours(folder / NAME)), here)


def is_from_above(library: Path) -> bool:
    """Whether a library was found in a parent folder, without being named."""
    return not os.environ.get("REELBOOK_LIBRARY") and library.parent in Path.cwd().parents


def parse_folder(named: Any, purpose: str = "be the folder of a library") -> Path:
    """The absolute path of a folder, which need not exist; `purpose` is what an invalid one cannot be."""
    try:
        if "://" not in str(named):
            return Path(named).expanduser().absolute()
        reason = "it is an address, and not on this machine"
    except (RuntimeError, TypeError) as error:
        reason = str(error)
    raise ReelbookError(
        f"{named!r:.200} cannot {purpose} ({reason}). Nothing was created, copied or sent: give its path as a str or a Path."
    )


def find_library(folder: Path) -> Path:
    """Find the folder of a library, given that folder or its parent."""
    for path in (folder, folder / NAME):
        if (path / writer.NAME).is_file():
            return path
    raise ReelbookError(
        f"There is no library in {folder}. Check the path; rb.connect(library={str(folder)!r}) creates a new one there."
    )


def _is_ours(folder: Path) -> bool:
    """Whether the folder belongs to this user: in a shared parent it could have been made by others."""
    try:
        return folder.is_dir() and (not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid())
    except OSError:
        return False
