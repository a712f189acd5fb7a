"""Who is at work in a library: each process holds a locked file for as long as it lives."""

from __future__ import annotations

import contextlib
import os
import uuid
from pathlib import Path

from ..file_locks import locked


class Owner:
    """This process, as others see it. The system takes the lock away when it dies, however it dies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: int | None = None
        self.name = ""
        self._enter()

    def is_seen(self) -> bool:
        """Whether others find this process where it has entered."""
        return self._held is not None and self._is_ours(self._held)

    def renew(self) -> None:
        """Be seen again, if somebody has deleted the file."""
        if self._held is not None and not self._is_ours(self._held):
            self.drop()
            self._enter()

    def is_dead(self, name: str) -> bool:
        """Whether the process of this name is gone. Clocks and process numbers play no part."""
        if name == self.name:
            return False
        try:
            file = os.open(self._path(name), os.O_RDWR)
        except FileNotFoundError:
            return True
        except OSError:
            return False  # Nobody can tell, and what is taken for alive is left alone.
        try:
            # Shared, so that two who look at once do not take each other for the one they look for.
            return locked(file, shared=True)
        except OSError:
            return False
        finally:
            os.close(file)

    def dead(self) -> list[str]:
        """Everybody who has gone without leaving in order."""
        try:
            names = [path.name for path in self._folder.iterdir()]
        except FileNotFoundError:
            return []
        return [name for name in names if self.is_dead(name)]

    def bury(self, name: str) -> None:
        """Forget a dead process, once nothing is its any more."""
        with contextlib.suppress(OSError):
            file = os.open(self._path(name), os.O_RDWR)
            try:
                # Who is about to enter finds its file gone once it has the lock, and takes another one.
                if locked(file):
                    self._path(name).unlink()
            finally:
                os.close(file)

    def release(self) -> None:
        """Leave: what is unfinished is anybody's now."""
        if self._held is not None:
            with contextlib.suppress(OSError):
                self._path(self.name).unlink()
            self.drop()

    def drop(self) -> None:
        """Let go of the file; in a forked child it stays its parent's."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def _enter(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.name = self.name or uuid.uuid4().hex
        while self._held is None:
            file = os.open(self._path(self.name), os.O_RDWR | os.O_CREAT, 0o600)
            try:
                if locked(file, wait=True) and self._is_ours(file):
                    self._held = file
            finally:
                if self._held is None:
                    os.close(file)

    def _is_ours(self, file: int) -> bool:
        """Whether others who look for us find this very file."""
        with contextlib.suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(file), self._path(self.name).stat())
        return False

    def _path(self, name: str) -> Path:
        return self._folder / name
