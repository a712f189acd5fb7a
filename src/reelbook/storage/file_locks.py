"""File locks between processes, released by the system when their process ends."""

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
"""Timeout for waiting on other writers; a commit takes a few hundredths of a second."""


class LockTimeout(OSError):
    """Another process holds the library's write lock for too long."""


def try_lock(file: int, *, wait: bool = False, shared: bool = False) -> bool:
    """Lock an open file; False if another process holds the lock. `shared`: any number of processes may hold it."""
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
    """Release a lock, even if a forked child has a copy of the descriptor."""
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

    SQLite's own locks are polled only every tenth of a second, so a process may never acquire one between two commits
    of a busy process. They also belong to the database file, which is replaced when damaged.
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
