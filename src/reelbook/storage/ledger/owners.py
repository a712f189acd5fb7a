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
        self._held: int | None = None
        self.name = ""
        self._register()

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

    def find_dead(self) -> list[str]:
        """The names of processes that ended without releasing."""
        try:
            names = [path.name for path in self._folder.iterdir()]
        except FileNotFoundError:
            return []
        return [name for name in names if self.is_dead(name)]

    def forget(self, name: str) -> None:
        """Delete the file of an ended process that owns no runs."""
        with contextlib.suppress(OSError):
            file = os.open(self._path(name), os.O_RDWR)
            try:
                # A process that is just registering notices that its file was deleted, and creates another.
                if try_lock(file):
                    self._path(name).unlink()
            finally:
                os.close(file)

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

    def _register(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.name = self.name or uuid.uuid4().hex
        while self._held is None:
            file = os.open(self._path(self.name), os.O_RDWR | os.O_CREAT, 0o600)
            try:
                if try_lock(file, wait=True) and self._is_ours(file):
                    self._held = file
            finally:
                if self._held is None:
                    os.close(file)

    def _is_ours(self, file: int) -> bool:
        """Whether this descriptor is of the file under this process's name."""
        with contextlib.suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(file), self._path(self.name).stat())
        return False

    def _path(self, name: str) -> Path:
        return self._folder / name
