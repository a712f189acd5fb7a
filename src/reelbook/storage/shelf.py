"""The shelf: media files by the hash of their content, in a local folder or also at a URL that fsspec supports."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import platformdirs

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
        self._address = str(self.folder)

    def __repr__(self) -> str:
        return f"<Shelf at {self._address}>"

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
        path = Shelf.find(self, sha256)
        if path is not None and path.stat().st_size == len(content):
            self.share(path)
            return path
        with self.new_part(len(content)) as part:
            part.write_bytes(content)
            return self.place(part, sha256, suffix)

    @contextmanager
    def new_part(self, wanted: int) -> Iterator[Path]:
        """A path in the shelf's folder for a file of this size that `place` moves in the block, and that is removed if it does not.

        An error of the disk becomes one that says what to do.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = self.folder / f"{uuid4().hex}.part"
            try:
                yield part
            finally:
                part.unlink(missing_ok=True)
        except OSError as error:
            if error.errno in DISK_FULL_ERRNOS:
                size = f", and {format_size(wanted)} are needed" if wanted else ""
                raise ReelbookError(f"{self.folder} has no space left{size}: free some, then try again.") from error
            why = error.strerror or type(error).__name__
            raise ReelbookError(
                f"{self.folder} cannot be written ({why}): make it writable, or choose another folder with REELBOOK_LIBRARY."
            ) from error

    def place(self, part: Path, sha256: str, suffix: str) -> Path:
        """Move a complete file to its final name durably, and return its path; a disk error changes nothing."""
        if not SHA256.fullmatch(sha256):
            raise ValueError(f"{sha256!r} is not a SHA-256 hash.")
        # An existing file may be damaged: it is replaced by the one just verified.
        path = Shelf.find(self, sha256) or self.folder / f"{sha256}{suffix if suffix in SUFFIXES else '.bin'}"
        file = os.open(part, os.O_RDWR | getattr(os, "O_BINARY", 0))
        try:
            if os.name == "posix":
                os.fchmod(file, 0o600)
            os.fsync(file)
        finally:
            os.close(file)
        part.replace(path)
        sync_folder(self.folder)
        self.share(path)
        return path

    def share(self, path: Path) -> None:
        """Copy a new file to where others look for it, too: nowhere, if the shelf is a folder."""

    def discard(self, sha256: str) -> None:
        """Delete the file with this hash on this machine."""
        while (path := Shelf.find(self, sha256)) is not None:
            path.unlink(missing_ok=True)

    def paths(self) -> dict[str, str]:
        """The path of each file on this machine, by hash."""
        try:
            names = os.listdir(self.folder)  # noqa: PTH208  # A hundred thousand Path objects would take a second.
        except (FileNotFoundError, NotADirectoryError):
            return {}
        return {name[:64]: f"{self.folder}{os.sep}{name}" for name in names if _is_name(name)}

    def hashes(self) -> set[str]:
        """The hashes of all files."""
        return set(self.paths())

    @property
    def size(self) -> int:
        """Total size of the files on this machine, in bytes."""
        return sum(facts.st_size for _, facts in list_files(self.folder))


class RemoteShelf(Shelf):
    """Files also at a URL such as `s3://bucket/films`, in folders of their first two characters; the local folder is a cache."""

    def __init__(self, url: str, cache: Path | None = None) -> None:
        # Hashed: a URL may contain credentials, and folder names are visible to other users.
        name = hashlib.sha256(url.encode()).hexdigest()[:16]
        super().__init__(cache or platformdirs.user_cache_path("reelbook") / "shelves" / name)
        parts = urlsplit(url)
        self._address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        self._is_behind = False
        """Whether files are missing at the URL, because it could not be reached."""
        try:
            from fsspec.core import url_to_fs  # type: ignore[import-untyped]  # It ships no types.

            self._system, root = url_to_fs(url)
        except (ImportError, ValueError):
            raise ReelbookError(
                f"A shelf at {self._address} cannot be opened. Give a folder, or a URL such as s3://bucket/films, for which "
                "the packages are installed by: pip install 'reelbook[cloud]'"
            ) from None
        self._root = str(root).rstrip("/")

    def find(self, sha256: str) -> Path | None:
        """Find the local path of the file with this hash, which is downloaded first; None if missing or damaged there.

        An unreachable URL is an error, not None: a file considered lost may be paid for again.
        """
        if (path := super().find(sha256)) is not None or not SHA256.fullmatch(sha256):
            return path
        for name, size in self._list(sha256).items():
            with self.new_part(size) as part:
                with self._remote_errors():
                    self._system.get_file(self._path(name), str(part))
                return self.place(part, sha256, name[64:]) if hash_file(part) == sha256 else None
        return None

    def share(self, path: Path) -> None:
        """Upload a new file, with those that could not be uploaded before. A failure is a warning: the file is safe here."""
        try:
            there = self._list("" if self._is_behind else path.name)
            for source in [*map(Path, self.paths().values())] if self._is_behind else [path]:
                if there.get(source.name) != source.stat().st_size:
                    with self._remote_errors():
                        self._system.put_file(str(source), self._path(source.name))
            self._is_behind = False
        except ReelbookError as error:
            if not self._is_behind:
                where = f"Until then new files are kept in {self.folder} only; each new one tries again."
                warnings.warn(f"{error} {where}", stacklevel=3)
            self._is_behind = True

    def hashes(self) -> set[str]:
        """The hashes of all files, here and at the URL."""
        return super().hashes() | {name[:64] for name in self._list()}

    def _path(self, name: str) -> str:
        return f"{self._root}/{name[:2]}/{name}"

    def _list(self, start: str = "") -> dict[str, int]:
        """The names and sizes of the files at the URL whose names start with this, or of all."""
        with self._remote_errors(), contextlib.suppress(FileNotFoundError):
            # Other clients write there too, so a cached listing may be out of date.
            self._system.invalidate_cache()
            entries = self._system.find(f"{self._root}/{start[:2]}", detail=True).values()
            sizes = {str(entry["name"]).rpartition("/")[2]: int(entry["size"] or 0) for entry in entries}
            return {name: size for name, size in sizes.items() if name.startswith(start) and _is_name(name)}
        return {}

    @contextmanager
    def _remote_errors(self) -> Iterator[None]:
        """Convert any error to `ReelbookError`: each store has its own exceptions."""
        try:
            yield
        except Exception as error:
            # Not `from error`: a store's message may contain the credentials.
            raise ReelbookError(
                f"The shelf at {self._address} cannot be used ({type(error).__name__}). Check the address, the network and "
                "the permission to read and write there, then try again; what is on this machine is untouched."
            ) from None


def open_shelf(place: Path | str) -> Shelf:
    """The shelf in a folder or at a URL."""
    return RemoteShelf(str(place)) if "://" in str(place) else Shelf(place)


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


def _is_name(name: str) -> bool:
    return bool(SHA256.fullmatch(name[:64])) and name[64:] in SUFFIXES
