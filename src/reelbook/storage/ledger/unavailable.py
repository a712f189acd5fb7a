"""Errors for a library that was closed or removed while in use, and saving its accepted requests elsewhere."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...errors import LibraryError
from .second_copy import NAME, append_to


class LibraryGone(LibraryError):
    """The library's folder was removed while in use, and not restored in time."""

    def __init__(self, folder: str, reason: str, log: str | None) -> None:
        super().__init__(folder, reason)
        self.args, self.log = (folder, reason, log), log

    def sentence(self) -> str:
        known = (
            f"The requests that were accepted until then are written down in {self.log}. "
            if self.log
            else "What was accepted until then is in its log. "
        )
        return (
            f"The library in {self.folder} is not there any more ({self.reason}), so nothing more is sent and the wait ends. {known}"
            "Put the folder back, or add those lines to its accepted.jsonl where it is now, and connect again: the next run of "
            "each fetches its result, at no cost."
        )


class LibraryClosed(LibraryError):
    """The library's last client was closed before a pending write."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder, "it was closed")
        self.args = (folder,)

    def sentence(self) -> str:
        return (
            f"The client of the library in {self.folder} was closed meanwhile, so this was not done. Connect again with rb.connect(); "
            "nothing is paid for twice."
        )


def save_lines(folder: Path, lines: Sequence[bytes]) -> Path | None:
    """Save the log of a missing library in its folder, the parent or the temporary folder; returns the file's path.

    A folder that has replaced it is not changed. None if there is nothing to write, or all folders fail.
    """
    name = f"{folder.name.lstrip('.')}-{NAME}"
    for place in (folder / NAME, folder.parent / name, Path(tempfile.gettempdir()) / name):
        if not lines or (place.parent == folder and folder.exists()):
            continue
        with contextlib.suppress(OSError):
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            append_to(place, lines)
            return place
    return None
