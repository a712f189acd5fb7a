"""Errors for a library that was closed or taken away while in use, and where its accepted requests are saved then."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ...errors import LibraryError
from .second_copy import NAME, append_to


class LibraryGone(LibraryError):
    """The library's folder was taken away while it was in use, and did not come back."""

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
    """The last client of the library was closed, and something was still to be written to it."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder, "it was closed")
        self.args = (folder,)

    def sentence(self) -> str:
        return (
            f"The client of the library in {self.folder} was closed meanwhile, so this was not done. Connect again with rb.connect(); "
            "nothing is paid for twice."
        )


def save_lines(folder: Path, lines: Sequence[bytes]) -> Path | None:
    """Save the lines of a library that is gone: in its place, beside it, or among the temporary files; returns where.

    What has taken its place is left alone. None if there is nothing to write, or no place for it.
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
