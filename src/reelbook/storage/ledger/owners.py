"""Registration of the processes that use a library: each holds a locked file until it ends."""

from __future__ import annotations

import contextlib
import os
import uuid
from pathlib import Path

from ...util.file_locks import try_lock


class Owner:
    """This process's file in a folder of locked files. The system releases the lock whenever the process ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.name = uuid.uuid4().hex
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._held: int | None = os.open(self._path(self.name), os.O_RDWR | os.O_CREAT, 0o600)
        # Another process may be looking whether it is locked.
        try_lock(self._held, wait=True)

    def is_dead(self, name: str) -> bool:
        """Whether the process of this name has ended, independently of clocks and process ids."""
        if name == self.name:
            return False
        try:
            file = os.open(self._path(name), os.O_RDWR)
        except FileNotFoundError:
            return True
        except OSError:
            return False  # Unknown: assumed to be alive.
        try:
            # Shared, so that two processes checking at once do not mistake each other for the owner.
            return try_lock(file, shared=True)
        except OSError:
            return False
        finally:
            os.close(file)

    def is_alone(self) -> bool:
        """Whether no other process uses the library."""
        return all(path.name == self.name or self.is_dead(path.name) for path in self._folder.iterdir())

    def release(self) -> None:
        """Delete this process's file, so that others may take over its unfinished runs."""
        if self._held is not None:
            with contextlib.suppress(OSError):
                self._path(self.name).unlink()
            self.drop()

    def drop(self) -> None:
        """Close the file; in a forked child the parent keeps the lock."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _path(self, name: str) -> Path:
        return self._folder / name
