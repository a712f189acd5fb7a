"""Media by the hash of their content, in a folder here or at any address that fsspec knows."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import platformdirs

from ..errors import ReelbookError
from .remote_shelf import Remote

SUFFIXES = (
    *(".mp4", ".png", ".jpg", ".webp", ".gif", ".webm", ".avif", ".heic", ".bmp", ".tif", ".wav", ".txt", ".bin"),
)
"""What a name here may end with. A closed list, so that a file is found without reading the folder."""

SHA256 = re.compile(r"[0-9a-f]{64}")
PART = re.compile(r".+\.part(\.json)?")
STALE_SECONDS = 7 * 86_400.0
"""After so long nobody goes on with a download: services do not keep their files longer either."""

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Shelf:
    """Files named by the sha256 of their content, so that the same content is there once.

    >>> from tempfile import mkdtemp
    >>> shelf = Shelf(Path(mkdtemp()) / "shelf")
    >>> path = shelf.keep(b"a picture", ".png")
    >>> shelf.find(path.stem) == path, shelf.verify(path.stem), path.suffix
    (True, True, '.png')
    """

    def __init__(self, place: Path | str, *, cache: Path | None = None) -> None:
        """A folder, or an address such as `s3://bucket/films` with a folder here for what is in use."""
        address = str(place)
        self._remote = Remote(address) if "://" in address else None
        self.folder = Path(place).expanduser().absolute() if self._remote is None else cache or _cache(address)
        self._swept = False
        self._unsent: set[Path] = set()
        self._sent_before: set[Path] = set()

    def __repr__(self) -> str:
        return f"<Shelf at {self._remote.shown if self._remote else self.folder}>"

    def find(self, sha256: str) -> Path | None:
        """Where the file with this content is, brought here from the remote shelf if need be; None if there is none.

        An unreachable remote shelf is an error, not None: what is thought to be gone may be paid for again.
        """
        if not SHA256.fullmatch(sha256):
            return None
        return self._local(sha256) or (self._pulled(sha256) if self._remote else None)

    def keep(self, content: bytes, suffix: str) -> Path:
        """Content that is in memory, as a file."""
        sha256 = hashlib.sha256(content).hexdigest()
        known = self._local(sha256)
        if known is not None and known.stat().st_size == len(content):
            self._sent(known)
            return known
        part = self.folder / f"{uuid4().hex}.part"
        with self._usable(len(content)):
            self._made()
            try:
                with open(part, "wb", opener=_private) as file:
                    file.write(content)
                return self.place(part, sha256, suffix)
            except BaseException:
                part.unlink(missing_ok=True)
                raise

    def part(self, key: str) -> Path:
        """Where a download of this key is being written; beside its final place, so that one rename moves it there.

        Raises OSError where the folder cannot be used; `explained` has the sentence for it.
        """
        self._made()
        if not self._swept:
            self._swept = True
            self._sweep()
        safe = re.fullmatch(r"[0-9A-Za-z-]{1,100}", key)
        return self.folder / f"{key if safe else hashlib.sha256(key.encode()).hexdigest()}.part"

    def place(self, part: Path, sha256: str, suffix: str) -> Path:
        """Give a complete file its name; it is there for good when this returns, or nothing has changed.

        Raises OSError where the disk refuses; `explained` has the sentence for it.
        """
        if not SHA256.fullmatch(sha256):
            raise ValueError(f"{sha256!r} is no sha256.")
        _synced(part)
        # A file that is there is replaced by the one that was just checked: it may have suffered since.
        path = self._local(sha256) or self.folder / f"{sha256}{suffix if suffix in SUFFIXES else '.bin'}"
        try:
            part.replace(path)
        except PermissionError:
            # Windows does not replace a file that somebody reads; the same content is there already.
            if not (path.exists() and self.verify(sha256)):
                raise
            part.unlink()
        self._settle()
        self._sent(path)
        return path

    def discard(self, sha256: str) -> int:
        """Delete the file with this content, on the remote shelf too; says how many bytes that freed here or there."""
        freed = 0
        if not SHA256.fullmatch(sha256):
            return freed
        there = self._remote.find(f"{sha256}.") if self._remote else None
        if self._remote and there:
            self._remote.remove(there[0])
            freed = there[1]
        while (path := self._local(sha256)) is not None:
            with self._usable(0):
                freed = max(freed, path.stat().st_size)
                path.unlink()
            self._unsent.discard(path)
            self._sent_before.discard(path)
        return freed

    def names(self) -> Iterator[tuple[str, Path, int]]:
        """Hash, path and size of every file; of those that are only on the remote shelf, the path they would have."""
        here = set()
        with contextlib.suppress(FileNotFoundError), os.scandir(self.folder) as entries:
            for entry in entries:
                if _is_name(entry.name):
                    here.add(entry.name)
                    yield entry.name[:64], Path(entry.path), entry.stat().st_size
        for name, size in self._remote.names() if self._remote else ():
            if _is_name(name) and name not in here:
                yield name[:64], self.folder / name, size

    def verify(self, sha256: str) -> bool:
        """Whether the file is there and its content is still what its name says."""
        path = self.find(sha256)
        return path is not None and _sha256(path) == sha256

    def push(self) -> int:
        """Copy to the remote shelf what is only here; says how many files that were."""
        if self._remote is None:
            return 0
        there = {name for name, _ in self._remote.names()}
        missing = [path for _, path, _ in self.names() if path.name not in there]
        for path in missing:
            self._push(path)
        return len(missing)

    def explained(self, error: OSError, wanted: int) -> str:
        """Why the disk refused, where, how much is missing, and what to do; a clause for a sentence.

        >>> import errno
        >>> Shelf("/films").explained(OSError(errno.EROFS, "Read-only file system"), 0)
        '/films cannot be written (Read-only file system): make it writable, or choose another folder with REELBOOK_LIBRARY'
        """
        if error.errno in FULL:
            missing = wanted - (_free(self.folder) or 0)
            much = f", {_size(missing)} more are needed" if missing > 0 else ""
            return f"there is no room left in {self.folder}{much}: make room there, then try again"
        why = error.strerror or type(error).__name__
        return (
            f"{self.folder} cannot be written ({why}): make it writable, or choose another folder with REELBOOK_LIBRARY"
        )

    def room(self, wanted: int) -> None:
        """OSError where so many bytes surely do not fit."""
        free = _free(self.folder)
        if free is not None and free < wanted:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder))

    def _local(self, sha256: str) -> Path | None:
        paths = (self.folder / (sha256 + suffix) for suffix in SUFFIXES)
        return next((path for path in paths if path.exists()), None)

    def _pulled(self, sha256: str) -> Path | None:
        """A copy of the remote file, if its content is what its name says; another's half-written one is not there yet."""
        assert self._remote is not None
        there = self._remote.find(f"{sha256}.")
        if there is None or not _is_name(there[0]):
            return None
        part = self.folder / f"{uuid4().hex}.part"
        with self._usable(there[1]):
            self._made()
            try:
                self._remote.pull(there[0], part)
                if _sha256(part) != sha256:
                    return None
                part.chmod(0o600)
                _synced(part)
                path = part.replace(self.folder / there[0])
                self._settle()
                return path
            finally:
                part.unlink(missing_ok=True)

    def _sent(self, path: Path) -> None:
        """Bring a new file to the remote shelf, and with it those that could not go there before."""
        if self._remote is None or path in self._sent_before:
            return
        first = not self._unsent
        self._unsent.add(path)
        try:
            for unsent in sorted(self._unsent):
                self._push(unsent)
        except ReelbookError as error:
            # The result is safe here: a run does not fail because a copy of its file has to wait.
            if first:
                warnings.warn(
                    f"{error} Until then new files are kept in {self.folder} only; each new one, or shelf.push(), tries again.",
                    stacklevel=3,
                )

    def _push(self, path: Path) -> None:
        assert self._remote is not None
        self._remote.push(path)
        self._unsent.discard(path)
        self._sent_before.add(path)

    def _made(self) -> None:
        if not self.folder.is_dir():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _settle(self) -> None:
        """Make a rename last through a power cut."""
        if os.name == "posix":
            folder = os.open(self.folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def _sweep(self) -> None:
        """Remove downloads that nobody finished."""
        long_ago = time.time() - STALE_SECONDS
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if PART.fullmatch(entry.name):
                    # Another process may have been quicker.
                    with contextlib.suppress(OSError):
                        if entry.stat().st_mtime < long_ago:
                            Path(entry.path).unlink()

    @contextlib.contextmanager
    def _usable(self, wanted: int) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            text = self.explained(error, wanted)
            raise ReelbookError(
                f"{text[0].upper()}{text[1:]}. Nothing was lost: no half-written file stays there."
            ) from error


def _is_name(name: str) -> bool:
    return bool(SHA256.fullmatch(name[:64])) and name[64:] in SUFFIXES


def _cache(address: str) -> Path:
    # By its hash: an address may hold a login, and folder names are read by everybody.
    return platformdirs.user_cache_path("reelbook") / "shelves" / hashlib.sha256(address.encode()).hexdigest()[:16]


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _synced(path: Path) -> None:
    """The bytes on the disk itself, for nobody else to read."""
    file = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        if os.name == "posix":
            os.fchmod(file, 0o600)
        os.fsync(file)
    finally:
        os.close(file)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _free(folder: Path) -> int | None:
    """Free bytes, where the system tells."""
    with contextlib.suppress(OSError):
        usage = shutil.disk_usage(folder)
        # Some network folders claim to be of no size at all.
        return usage.free if usage.total else None
    return None


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e5 else f"{count / 1e3:,.1f} kB"
