"""The library's folder, found the way git finds its own."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import ReelbookError

NAME = ".reelbook"


def library_folder(start: Path | None = None) -> Path:
    """`REELBOOK_LIBRARY` if it is set, else the nearest `.reelbook` of this user upward, else a new one here.

    That of a folder above is shared on purpose: what one notebook of a project has paid for, no other pays for again.
    Where it is used, `rb.connect` says so.
    """
    chosen = os.environ.get("REELBOOK_LIBRARY")
    if chosen:
        return Path(chosen).expanduser().absolute()
    here = (start or Path.cwd()).absolute()
    if (here / NAME).is_dir():
        return here / NAME
    return next((folder / NAME for folder in here.parents if _is_ours(folder / NAME)), here / NAME)


def is_from_above(library: Path) -> bool:
    """Whether a library was found in a folder above this one, without being named."""
    return not os.environ.get("REELBOOK_LIBRARY") and library.parent in Path.cwd().absolute().parents


def parse_library_folder(library: str | Path) -> Path:
    """The absolute path of a library's folder, which need not exist; raises a ReelbookError for anything but a local path."""
    if "://" in str(library):
        raise ReelbookError(
            f"{str(library)[:200]!r} is no folder on this machine. The ledger stays on a local disk; media can live elsewhere: shelf={str(library)[:200]!r}."
        )
    try:
        folder = Path(library).expanduser().absolute()
        if b"\0" not in os.fsencode(folder):
            return folder
        reason = "it has a zero byte in it"
    except (RuntimeError, ValueError, TypeError) as error:
        reason = str(error)
    raise ReelbookError(
        f"{library!r:.200} is no folder of a library ({reason}). Nothing was made or sent: give its path as a text or a Path."
    )


def _is_ours(folder: Path) -> bool:
    """Whether this user has made it: in a folder that others write to, it could be anybody's."""
    try:
        return folder.is_dir() and (not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid())
    except OSError:
        return False
