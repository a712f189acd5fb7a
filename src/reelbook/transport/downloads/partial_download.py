"""A partial download on disk: it has one owner at a time, and the next owner can resume it."""

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

from ...util.file_locks import try_lock

NOTE_BYTES = 1024
"""The note beside a part always has this size: it is overwritten in place, which works on a full disk too."""
MAX_VALIDATOR_LENGTH = 400
NOTE_INTERVAL_BYTES = 8 << 20
PIECE_BYTES = 1 << 20
OVERLAP_BYTES = 4096
"""How much is requested again when a download is resumed, to verify that the host continues at the right place."""


class Mismatch(Exception):
    """What arrives does not continue the part on disk."""


class PartialDownload:
    """The bytes of one file so far. All methods block on the disk; they may be called from any thread.

    The note beside it holds the version of the file (its ETag), and how many of the bytes are verified, by their hash.
    After a crash, also of the machine, no damaged bytes are therefore resumed.
    """

    def __init__(self, path: Path, note: int) -> None:
        self.path, self._note = path, note
        self.is_released = False
        self.size = 0
        self.total: int | None = None
        self.validator: str | None = None
        self._digest = hashlib.sha256()
        self._noted_size = 0
        self._overlap = b""
        # A cancelled task leaves its write running in a thread; the lock keeps the file from being released meanwhile.
        self._lock = threading.RLock()
        self._file = open(path, "r+b" if path.exists() else "w+b", buffering=0, opener=_open_private)  # noqa: SIM115
        try:
            self._resume()
        except BaseException:
            self.release()
            raise

    @classmethod
    def acquire(cls, place: Callable[[str], Path], key: str) -> Self:
        """Lock and return the part of this key; a new one where another task or process has it locked."""
        path = place(key)
        note = _lock_note(_note_path(path))
        if note is None:
            # Also on a network folder without locks: then no download is resumed, and none disturbs another.
            path = place(f"{key}-{uuid4().hex}")
            note = _open_note(_note_path(path))
        return cls(path, note)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    @property
    def is_resumable(self) -> bool:
        """Whether a later request can resume here, and verify that it is the same file."""
        return self.validator is not None and self.size > OVERLAP_BYTES

    @property
    def is_complete(self) -> bool:
        return self.total is not None and self.size == self.total

    def start_over(self, validator: str | None = None, total: int | None = None) -> None:
        """Drop all bytes and start with this version of the file."""
        strong = validator is not None and validator.startswith('"') and len(validator) <= MAX_VALIDATOR_LENGTH
        with self._lock:
            if self._file.closed:
                return
            self.validator, self.total = validator if strong else None, total
            self.size = 0
            self._digest, self._overlap = hashlib.sha256(), b""
            self._file.truncate(0)
            self._write_note()

    def prepare_resume(self) -> int:
        """The offset at which to request the file; the first bytes received are compared with those on disk."""
        start = self.size - OVERLAP_BYTES
        with self._lock:
            self._file.seek(start)
            self._overlap = self._file.read(OVERLAP_BYTES)
        return start

    def write(self, content: bytes) -> None:
        """Append the next bytes."""
        with self._lock:
            if self._file.closed:
                return
            known = min(len(content), len(self._overlap))
            if content[:known] != self._overlap[:known]:
                raise Mismatch("the rest of the file does not fit to what had arrived before")
            self._overlap = self._overlap[known:]
            view = memoryview(content)[known:]
            self._file.seek(self.size)
            while view:
                # On a full disk some bytes may still be written before the error is raised.
                count = self._file.write(view) or 0
                self._digest.update(view[:count])
                self.size += count
                view = view[count:]
            if self.size - self._noted_size >= NOTE_INTERVAL_BYTES:
                self._write_note()

    def move_to_shelf(self, place: Callable[[Path, str], Path]) -> Path:
        """Move the complete file by `place(path, sha256)` and return its new path."""
        with self._lock:
            if self.is_released:
                # Our task was cancelled, and the part may have another owner by now.
                raise FileNotFoundError(str(self.path))
            self._file.close()
            return place(self.path, self.sha256)

    def release(self) -> None:
        """Unlock the part: a resumable one stays for the next owner, any other is deleted."""
        with self._lock:
            if self.is_released:
                return
            self.is_released = True
            self._file.close()
            if self.is_resumable and self.path.exists():
                with contextlib.suppress(OSError):
                    self._write_note()
                os.close(self._note)
                return
            # In this order: as long as the note exists and is locked, no other process touches the part.
            _remove(self.path)
            _remove(_note_path(self.path))
            os.close(self._note)
            if sys.platform == "win32":
                # There an open file cannot be deleted.
                _remove(_note_path(self.path))

    def _resume(self) -> None:
        note = _read_note(self._note)
        size, sha256 = note.get("size"), note.get("sha256")
        if isinstance(size, int) and 0 < size <= os.fstat(self._file.fileno()).st_size:
            self._file.truncate(size)
            self._file.seek(0)
            while piece := self._file.read(PIECE_BYTES):
                self._digest.update(piece)
            if self.sha256 == sha256:
                self.size = self._noted_size = size
                self.validator, self.total = note.get("validator"), note.get("total")
                return
        self.start_over()

    def _write_note(self) -> None:
        note = {"validator": self.validator, "total": self.total, "size": self.size, "sha256": self.sha256}
        os.lseek(self._note, 0, os.SEEK_SET)
        os.write(self._note, json.dumps(note).encode().ljust(NOTE_BYTES))
        self._noted_size = self.size


def _note_path(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _lock_note(path: Path) -> int | None:
    """The open and locked note; None where another owner has it locked."""
    while True:
        note = _open_note(path)
        locked = False
        with contextlib.suppress(OSError):  # A network folder may have no locks.
            locked = try_lock(note)
        if not locked:
            os.close(note)
            return None
        # Its owner may have deleted it between opening and locking; then this is a file without a name.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(note), path.stat()):
                return note
        os.close(note)


def _open_note(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)


def _read_note(note: int) -> dict[str, Any]:
    os.lseek(note, 0, os.SEEK_SET)
    try:
        content = json.loads(os.read(note, NOTE_BYTES))
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
