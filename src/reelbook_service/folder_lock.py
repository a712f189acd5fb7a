"""An exclusive lock on a folder, held by one process until it ends."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import IO

from reelbook.errors import FolderInUse
from reelbook.util.file_locks import try_lock


class FolderLock:
    """A locked file; raises `FolderInUse`. The system releases the lock when its process ends, even by a crash."""

    def __init__(self, folder: Path) -> None:
        self._file: IO[str] | None = (folder / "lock").open("a+")
        with contextlib.suppress(OSError):
            if try_lock(self._file.fileno()):
                return
        self.release()
        raise FolderInUse(str(folder))

    def release(self) -> None:
        """Release the lock."""
        if self._file is not None:
            self._file.close()
            self._file = None
