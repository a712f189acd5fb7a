"""The library's folder, found the way git finds its own."""

from __future__ import annotations

import os
from pathlib import Path

NAME = ".reelbook"


def library_folder(start: Path | None = None) -> Path:
    """`REELBOOK_LIBRARY` if it is set, else the nearest `.reelbook` upward, else a new one here."""
    chosen = os.environ.get("REELBOOK_LIBRARY")
    if chosen:
        return Path(chosen).expanduser().absolute()
    here = (start or Path.cwd()).absolute()
    for folder in (here, *here.parents):
        if (folder / NAME).is_dir():
            return folder / NAME
    return here / NAME
