"""A download under way, on disk: it has one owner, and whoever owns it next can go on where it stopped."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

NOTE_BYTES = 1024
"""The note beside a part always has this size: it is written over in place, which works on a full disk too."""
LONGEST_VALIDATOR = 400
NOTED_EVERY = 8 << 20
PIECE_BYTES = 1 << 20
OVERLAP_BYTES = 4096
"""How much is asked for again when a download goes on: what the host says of the place it starts from may be wrong."""


class Misfit(Exception):
    """What comes does not continue what is here."""


class Part:
    """The bytes of one file so far. All methods block for the disk; they may be called from any thread.

    The note beside it says which version of the file these are (its ETag), and how many of them are known to be
    good, by their hash. A crash, also one of the machine, can therefore leave nothing behind that is later believed.
    """

    def __init__(self, path: Path, note: int) -> None:
        self.path, self._note = path, note
        self._released = False
        self.size = 0
        self.total: int | None = None
        self.validator: str | None = None
        self._digest = hashlib.sha256()
        self._noted = 0
        self._overlap = b""
        # A cancelled task leaves its write running in a thread; the file is not given away under it.
        self._guard = threading.RLock()
        self._file = open(path, "r+b" if path.exists() else "w+b", buffering=0, opener=_private)  # noqa: SIM115
        try:
            self._resume()
        except BaseException:
            self.release()
            raise

    @classmethod
    def owned(cls, place: Callable[[str], Path], key: str) -> Self:
        """The part of this key; one of its own where another task or process is at it already."""
        path = place(key)
        note = _owned(_note_of(path))
        if note is None:
            # A network folder without locks comes here too: then no download goes on, and none disturbs another.
            path = place(f"{key}-{uuid4().hex}")
            note = _opened(_note_of(path))
        return cls(path, note)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    @property
    def resumable(self) -> bool:
        """Whether a later request can go on from here, and be sure that it is the same file."""
        return self.validator is not None and self.size > OVERLAP_BYTES

    @property
    def complete(self) -> bool:
        return self.total is not None and self.size == self.total

    def start_over(self, validator: str | None = None, total: int | None = None) -> None:
        """Forget all bytes; those of this version come now."""
        strong = validator is not None and validator.startswith('"') and len(validator) <= LONGEST_VALIDATOR
        with self._guard:
            if self._file.closed:
                return
            self.validator, self.total = validator if strong else None, total
            self.size = 0
            self._digest, self._overlap = hashlib.sha256(), b""
            self._file.truncate(0)
            self._write_note()

    def go_on(self) -> int:
        """Where a request should start; its first bytes are compared with those that are here."""
        start = self.size - OVERLAP_BYTES
        with self._guard:
            self._file.seek(start)
            self._overlap = self._file.read(OVERLAP_BYTES)
        return start

    def write(self, content: bytes) -> None:
        """The next bytes."""
        with self._guard:
            if self._file.closed:
                return
            known = min(len(content), len(self._overlap))
            if content[:known] != self._overlap[:known]:
                raise Misfit("the rest of the file does not fit to what had arrived before")
            self._overlap = self._overlap[known:]
            view = memoryview(content)[known:]
            self._file.seek(self.size)
            while view:
                # On a full disk some bytes may still be written before the error comes.
                count = self._file.write(view) or 0
                self._digest.update(view[:count])
                self.size += count
                view = view[count:]
            if self.size - self._noted >= NOTED_EVERY:
                self._write_note()

    def handed_over(self, place: Callable[[Path, str], Path]) -> Path:
        """Where the complete file is after `place(path, sha256)` has moved it there."""
        with self._guard:
            if self._released:
                # Our task was cancelled, and the part may be another's by now.
                raise FileNotFoundError(str(self.path))
            self._file.close()
            return place(self.path, self.sha256)

    def release(self) -> None:
        """Let the next owner have it: what can be gone on with stays, the rest is deleted."""
        with self._guard:
            if self._released:
                return
            self._released = True
            self._file.close()
            if self.resumable and self.path.exists():
                with contextlib.suppress(OSError):
                    self._write_note()
                os.close(self._note)
                return
            # In this order: as long as the note is there and locked, nobody else touches the part.
            _removed(self.path)
            _removed(_note_of(self.path))
            os.close(self._note)
            if sys.platform == "win32":
                # There a file that is open cannot be deleted.
                _removed(_note_of(self.path))

    def _resume(self) -> None:
        told = _read_note(self._note)
        size, sha256 = told.get("size"), told.get("sha256")
        if isinstance(size, int) and 0 < size <= os.fstat(self._file.fileno()).st_size:
            self._file.truncate(size)
            self._file.seek(0)
            while piece := self._file.read(PIECE_BYTES):
                self._digest.update(piece)
            if self.sha256 == sha256:
                self.size = self._noted = size
                self.validator, self.total = told.get("validator"), told.get("total")
                return
        self.start_over()

    def _write_note(self) -> None:
        told = {"validator": self.validator, "total": self.total, "size": self.size, "sha256": self.sha256}
        os.lseek(self._note, 0, os.SEEK_SET)
        os.write(self._note, json.dumps(told).encode().ljust(NOTE_BYTES))
        self._noted = self.size


def _note_of(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _owned(path: Path) -> int | None:
    """The open note, if it is ours now; None where another has it."""
    while True:
        note = _opened(path)
        if not _locked(note):
            os.close(note)
            return None
        # Its owner may have finished and deleted it between our two steps; then we hold a file without a name.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(note), path.stat()):
                return note
        os.close(note)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)


def _read_note(note: int) -> dict[str, Any]:
    os.lseek(note, 0, os.SEEK_SET)
    try:
        told = json.loads(os.read(note, NOTE_BYTES))
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _removed(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _locked(file: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
