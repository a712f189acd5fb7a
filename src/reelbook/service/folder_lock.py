"""An exclusive lock on a folder, held by one process until it ends."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO

from ..errors import FolderInUse


class FolderLock:
    """A locked file; raises `FolderInUse`. The system releases the lock when its process ends, even by a crash."""

    def __init__(self, folder: Path) -> None:
        self._file: IO[str] | None = (folder / "lock").open("a+")
        if not _lock(self._file):
            self.release()
            raise FolderInUse(str(folder))

    def release(self) -> None:
        """Release the lock."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _lock(file: IO[str]) -> bool:
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
