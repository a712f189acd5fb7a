"""The shelf: media files by the hash of their content, in a folder."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from ..errors import ReelbookError
from ..util.printable import format_size
from ..util.replace_file import sync_folder

SUFFIXES = (".mp4", ".png", ".jpg", ".webp", ".gif", ".webm", ".avif", ".heic", ".bmp", ".tif", ".wav", ".txt", ".bin")
"""Suffixes of files on a shelf. The list is fixed, so that a file is found without listing the folder."""

SHA256 = HASHES = re.compile(r"[0-9a-f]{64}")
"""A hash; and how all that are in a text are found."""
DISK_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Shelf:
    """Files named by the SHA-256 of their content, so that equal content is stored once.

    >>> from tempfile import mkdtemp
    >>> shelf = Shelf(Path(mkdtemp()) / "shelf")
    >>> path = shelf.keep(b"a picture", ".png")
    >>> shelf.find(path.stem) == path, path.suffix
    (True, '.png')
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder).expanduser().absolute()

    def __repr__(self) -> str:
        return f"<Shelf at {self.folder}>"

    def find(self, sha256: str) -> Path | None:
        """Find the local path of the file with this hash; None if missing."""
        if not SHA256.fullmatch(sha256):
            return None
        # Texts, because making thirteen Path objects takes several times as long as the checks.
        paths = (f"{self.folder}{os.sep}{sha256}{suffix}" for suffix in SUFFIXES)
        return next((Path(path) for path in paths if os.path.exists(path)), None)  # noqa: PTH110

    def keep(self, content: bytes, suffix: str) -> Path:
        """Store content from memory and return its path."""
        sha256 = hashlib.sha256(content).hexdigest()
        path = self.find(sha256)
        if path is not None and path.stat().st_size == len(content):
            return path
        try:
            part = self.part(uuid4().hex)
            try:
                part.write_bytes(content)
                return self.place(part, sha256, suffix)
            finally:
                part.unlink(missing_ok=True)
        except OSError as error:
            text = self.format_disk_error(error, len(content))
            raise ReelbookError(
                f"{text[0].upper()}{text[1:]}. Nothing was lost: no half-written file stays there."
            ) from error

    def part(self, key: str) -> Path:
        """The path for a partial download with this key, in the shelf's folder, so that a rename completes it.

        Raises OSError if the folder cannot be used; `format_disk_error` has the text for it.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.folder / f"{key}.part"

    def place(self, part: Path, sha256: str, suffix: str) -> Path:
        """Move a complete file to its final name durably, and return its path.

        Raises OSError on a disk error, without changes; `format_disk_error` has the text for it.
        """
        if not SHA256.fullmatch(sha256):
            raise ValueError(f"{sha256!r} is not a SHA-256 hash.")
        # An existing file may be damaged: it is replaced by the one just verified.
        path = self.find(sha256) or self.folder / f"{sha256}{suffix if suffix in SUFFIXES else '.bin'}"
        file = os.open(part, os.O_RDWR | getattr(os, "O_BINARY", 0))
        try:
            if os.name == "posix":
                os.fchmod(file, 0o600)
            os.fsync(file)
        finally:
            os.close(file)
        part.replace(path)
        sync_folder(self.folder)
        return path

    def discard(self, sha256: str) -> None:
        """Delete the file with this hash."""
        while (path := self.find(sha256)) is not None:
            path.unlink(missing_ok=True)

    @property
    def size(self) -> int:
        """Total size of the files on this machine, in bytes."""
        return sum(facts.st_size for _, facts in list_files(self.folder))

    def format_disk_error(self, error: OSError, wanted: int) -> str:
        """Format a disk error as a clause: reason, folder, needed space, and what to do."""
        if error.errno in DISK_FULL_ERRNOS:
            size = f", {format_size(wanted)} are needed" if wanted else ""
            return f"no space is left in {self.folder}{size}: free some, then try again"
        why = error.strerror or type(error).__name__
        return (
            f"{self.folder} cannot be written ({why}): make it writable, or choose another folder with REELBOOK_LIBRARY"
        )


def list_files(folder: Path) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    """The files in a folder, which need not exist, with their facts; without those that another process removes meanwhile."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                if entry.is_file(follow_symlinks=False):
                    yield entry, entry.stat()


def hash_file(path: Path) -> str:
    """The SHA-256 of a file's content as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
