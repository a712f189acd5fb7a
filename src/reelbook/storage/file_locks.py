"""File locks between processes, which the system releases when their process ends, however."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

LOCK_NAME = "ledger.lock"
LOCK_SECONDS = 60.0
"""How long to wait for other writers; a commit takes a few hundredths of a second."""


class LockTimeout(OSError):
    """Another process has held the library's write lock for too long."""


def try_lock(file: int, *, wait: bool = False, shared: bool = False) -> bool:
    """Lock an open file; False if another process holds it. `shared`: any number may hold it at once."""
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def unlock(file: int) -> None:
    """Release a lock, also if a forked child has a copy of the handle."""
    if sys.platform == "win32":
        import msvcrt

        with contextlib.suppress(OSError):
            msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
        return
    import fcntl

    fcntl.flock(file, fcntl.LOCK_UN)


@contextlib.contextmanager
def write_lock(folder: Path) -> Iterator[None]:
    """Hold the write lock of a library.

    SQLite has locks of its own, but it polls them every tenth of a second, and so may never get in between two commits
    of a busy process. They also belong to the file, and a damaged one is replaced by another.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until = time.monotonic() + LOCK_SECONDS
        while not try_lock(file):
            if time.monotonic() > until:
                raise LockTimeout(errno.EAGAIN, f"another process has kept it locked for {LOCK_SECONDS:.0f} s")
            time.sleep(random.uniform(0.001, 0.004))
        try:
            yield
        finally:
            unlock(file)
    finally:
        os.close(file)
