"""Locks on files, between processes: the system takes one away when its process dies, however it dies."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

TURN_NAME = "ledger.lock"
TURN_SECONDS = 60.0
"""How long others may keep us from writing; a commit takes a few hundredths of a second."""


class TurnTaken(OSError):
    """Another process has not let go of the library for too long."""


def locked(file: int, *, wait: bool = False, shared: bool = False) -> bool:
    """Lock an open file; False if somebody else has it. `shared`: any number may have it at once."""
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


def unlocked(file: int) -> None:
    """Give a lock back, also where a forked child has a copy of the handle."""
    if sys.platform == "win32":
        import msvcrt

        with contextlib.suppress(OSError):
            msvcrt.locking(file, msvcrt.LK_UNLCK, 1)
        return
    import fcntl

    fcntl.flock(file, fcntl.LOCK_UN)


@contextlib.contextmanager
def turn(folder: Path) -> Iterator[None]:
    """This process's turn to write in a library.

    SQLite has locks of its own, but it looks for them every tenth of a second, so that a busy neighbour is never met
    between two of its commits. They also end with the file, and a damaged one is exchanged for another.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.open(folder / TURN_NAME, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until = time.monotonic() + TURN_SECONDS
        while not locked(file):
            if time.monotonic() > until:
                raise TurnTaken(errno.EAGAIN, f"another process has kept it locked for {TURN_SECONDS:.0f} s")
            time.sleep(random.uniform(0.001, 0.004))
        try:
            yield
        finally:
            unlocked(file)
    finally:
        os.close(file)
