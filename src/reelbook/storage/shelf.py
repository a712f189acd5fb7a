"""The shelf: media files by the hash of their content, in a local folder or at any URL that fsspec supports."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

import platformdirs

from ..errors import ReelbookError
from ..util.printable import format_size
from ..util.replace_file import sync_folder

if TYPE_CHECKING:
    # fsspec ships no types.
    from fsspec import AbstractFileSystem  # type: ignore[import-untyped]

SUFFIXES = (
    *(".mp4", ".png", ".jpg", ".webp", ".gif", ".webm", ".avif", ".heic", ".bmp", ".tif", ".wav", ".txt", ".bin"),
)
"""Suffixes of files on a shelf. The list is fixed, so that a file is found without listing the folder."""

SHA256 = HASHES = re.compile(r"[0-9a-f]{64}")
"""A hash; and how all that are in a text are found."""
DISK_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Bytes(int):
    """A number of bytes, which prints with the suitable unit.

    >>> Bytes(4_100_000), Bytes(912), Bytes(4_100_000) + 1
    (4.1 MB, 912 bytes, 4100001)
    """

    def __repr__(self) -> str:
        return format_size(self)

    __str__ = __repr__


class Shelf:
    """Files named by the SHA-256 of their content, so that equal content is stored once.

    >>> from tempfile import mkdtemp
    >>> shelf = Shelf(Path(mkdtemp()) / "shelf")
    >>> path = shelf.keep(b"a picture", ".png")
    >>> shelf.find(path.stem) == path, shelf.verify(path.stem), path.suffix
    (True, True, '.png')
    """

    def __init__(self, place: Path | str, *, cache: Path | None = None) -> None:
        """`place` is a folder, or a URL such as `s3://bucket/films` with a local folder as `cache`."""
        address = str(place)
        self._remote = RemoteShelf(address) if "://" in address else None
        self.folder = Path(place).expanduser().absolute() if self._remote is None else cache or _cache_folder(address)
        self._is_behind = False
        """Whether files are missing on the remote shelf, because it could not be reached."""

    def __repr__(self) -> str:
        return f"<Shelf at {self._remote.display_url if self._remote else self.folder}>"

    def find(self, sha256: str) -> Path | None:
        """Find the local path of the file with this hash, downloading it from a remote shelf; None if missing.

        An unreachable remote shelf is an error, not None: a file considered lost may be paid for again.
        """
        if not SHA256.fullmatch(sha256):
            return None
        return self._find_local(sha256) or (self._pull(sha256) if self._remote else None)

    def keep(self, content: bytes, suffix: str) -> Path:
        """Store content from memory and return its path."""
        sha256 = hashlib.sha256(content).hexdigest()
        known = self._find_local(sha256)
        if known is not None and known.stat().st_size == len(content):
            self._upload(known)
            return known
        with self._new_part(len(content)) as part:
            part.write_bytes(content)
            return self.place(part, sha256, suffix)

    def part(self, key: str) -> Path:
        """The path for a partial download with this key, in the shelf's folder, so that a rename completes it.

        Raises OSError if the folder cannot be used; `format_disk_error` has the text for it.
        """
        self._create_folder()
        return self.folder / f"{key}.part"

    def place(self, part: Path, sha256: str, suffix: str) -> Path:
        """Move a complete file to its final name durably, and return its path.

        Raises OSError on a disk error, without changes; `format_disk_error` has the text for it.
        """
        if not SHA256.fullmatch(sha256):
            raise ValueError(f"{sha256!r} is not a SHA-256 hash.")
        # An existing file may be damaged: it is replaced by the one just verified.
        path = self._find_local(sha256) or self.folder / f"{sha256}{suffix if suffix in SUFFIXES else '.bin'}"
        self._upload(self._move(part, path))
        return path

    def discard(self, sha256: str) -> int:
        """Delete the file with this hash, also on the remote shelf; returns the number of bytes freed."""
        freed = 0
        if not SHA256.fullmatch(sha256):
            return freed
        remote = self._remote.find(f"{sha256}.") if self._remote else None
        if self._remote and remote:
            self._remote.remove(remote[0])
            freed = remote[1]
        while (path := self._find_local(sha256)) is not None:
            with self._translated_errors(0):
                freed = max(freed, path.stat().st_size)
                path.unlink()
        return freed

    def names(self) -> Iterator[tuple[str, Path, int]]:
        """Iterate over hash, path and size of all files; for those only on the remote shelf, the future local path."""
        here = set()
        for entry, facts in list_files(self.folder):
            if _is_name(entry.name):
                here.add(entry.name)
                yield entry.name[:64], Path(entry.path), facts.st_size
        for name, size in self._remote.names() if self._remote else ():
            if _is_name(name) and name not in here:
                yield name[:64], self.folder / name, size

    @property
    def size(self) -> Bytes:
        """Total size of the files on this machine."""
        files = list_files(self.folder)
        return Bytes(sum(facts.st_size for entry, facts in files if entry.is_file(follow_symlinks=False)))

    def find_copied(self, files: Mapping[str, int]) -> set[str]:
        """The files, by hash and size, that the remote shelf also has, with the same size."""
        remote = {name[:64]: size for name, size in self._remote.names()} if self._remote and files else {}
        return {sha256 for sha256, size in files.items() if remote.get(sha256) == size}

    def verify(self, sha256: str) -> bool:
        """Whether the file exists and its content has this hash."""
        path = self.find(sha256)
        return path is not None and hash_file(path) == sha256

    def push(self) -> int:
        """Upload the files missing on the remote shelf; returns their number."""
        if self._remote is None:
            return 0
        uploaded = {name for name, _ in self._remote.names()}
        missing = [path for _, path, _ in self.names() if path.name not in uploaded]
        for path in missing:
            self._remote.push(path)
        return len(missing)

    def format_disk_error(self, error: OSError, wanted: int) -> str:
        """Format a disk error as a clause: reason, folder, missing space, and what to do.

        >>> import errno
        >>> Shelf("/films").format_disk_error(OSError(errno.EROFS, "Read-only file system"), 0)
        '/films cannot be written (Read-only file system): make it writable, or choose another folder with REELBOOK_LIBRARY'
        """
        if error.errno in DISK_FULL_ERRNOS:
            missing = wanted - (_get_free_bytes(self.folder) or 0)
            much = f", {format_size(missing)} more are needed" if missing > 0 else ""
            return f"no space is left in {self.folder}{much}: free some, then try again"
        why = error.strerror or type(error).__name__
        return (
            f"{self.folder} cannot be written ({why}): make it writable, or choose another folder with REELBOOK_LIBRARY"
        )

    def check_space(self, wanted: int) -> None:
        """Raise OSError if `wanted` bytes exceed the known free space."""
        free = _get_free_bytes(self.folder)
        if free is not None and free < wanted:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder))

    def _find_local(self, sha256: str) -> Path | None:
        # Texts, because making thirteen Path objects takes several times as long as the checks.
        paths = (f"{self.folder}{os.sep}{sha256}{suffix}" for suffix in SUFFIXES)
        return next((Path(path) for path in paths if os.path.exists(path)), None)  # noqa: PTH110

    def _pull(self, sha256: str) -> Path | None:
        """Download the remote file if its content has this hash; a partial upload counts as missing."""
        assert self._remote is not None
        remote = self._remote.find(f"{sha256}.")
        if remote is None or not _is_name(remote[0]):
            return None
        with self._new_part(remote[1]) as part:
            self._remote.pull(remote[0], part)
            return self._move(part, self.folder / remote[0]) if hash_file(part) == sha256 else None

    def _upload(self, path: Path) -> None:
        """Upload a new file to the remote shelf."""
        if self._remote is None:
            return
        try:
            if self._is_behind:
                self.push()
            else:
                self._remote.push(path)
            self._is_behind = False
        except ReelbookError as error:
            # The file is safe here: a run must not fail because the upload is delayed.
            if not self._is_behind:
                where = (
                    f"Until then new files are kept in {self.folder} only; each new one, or shelf.push(), tries again."
                )
                warnings.warn(f"{error} {where}", stacklevel=3)
            self._is_behind = True

    def _create_folder(self) -> None:
        if not self.folder.is_dir():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextmanager
    def _new_part(self, wanted: int) -> Iterator[Path]:
        """A path for a file of this size that is written or moved in the block, and removed if it is not."""
        part = self.folder / f"{uuid4().hex}.part"
        with self._translated_errors(wanted):
            self._create_folder()
            try:
                yield part
            finally:
                part.unlink(missing_ok=True)

    def _move(self, part: Path, path: Path) -> Path:
        """Move a complete file to its final name, on disk before this returns, and readable by its owner only."""
        file = os.open(part, os.O_RDWR | getattr(os, "O_BINARY", 0))
        try:
            if os.name == "posix":
                os.fchmod(file, 0o600)
            os.fsync(file)
        finally:
            os.close(file)
        try:
            part.replace(path)
        except PermissionError:
            # Windows does not replace an open file; the same content exists already.
            if not (path.exists() and hash_file(path) == path.stem):
                raise
            part.unlink()
        sync_folder(self.folder)
        return path

    @contextmanager
    def _translated_errors(self, wanted: int) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            text = self.format_disk_error(error, wanted)
            raise ReelbookError(
                f"{text[0].upper()}{text[1:]}. Nothing was lost: no half-written file stays there."
            ) from error


def list_entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Iterate over the entries of a folder, which need not exist."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        yield from entries


def list_files(folder: Path) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    """The entries of a folder with their facts; without those that another process removes meanwhile."""
    for entry in list_entries(folder):
        try:
            facts = entry.stat()
        except FileNotFoundError:
            continue
        yield entry, facts


def _is_name(name: str) -> bool:
    return bool(SHA256.fullmatch(name[:64])) and name[64:] in SUFFIXES


def _cache_folder(address: str) -> Path:
    # Hashed: a URL may contain credentials, and folder names are visible to other users.
    return platformdirs.user_cache_path("reelbook") / "shelves" / hashlib.sha256(address.encode()).hexdigest()[:16]


def hash_file(path: Path) -> str:
    """The SHA-256 of a file's content as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _get_free_bytes(folder: Path) -> int | None:
    """Free bytes on the disk; None if the system does not report them."""
    with contextlib.suppress(OSError):
        usage = shutil.disk_usage(folder)
        # Some network file systems report a total size of 0.
        return usage.free if usage.total else None
    return None


class RemoteShelf:
    """Files by name at a URL, in folders of their first two characters, so that listings are short."""

    def __init__(self, url: str) -> None:
        self.display_url = _without_login(url)
        self._system, root = _system(url, self.display_url)
        self._root = root.rstrip("/")

    def find(self, stem: str) -> tuple[str, int] | None:
        """Find the name and size of the file whose name starts with `stem`; None if there is none."""
        with self._translated_errors():
            return next((found for found in self._list(stem[:2]) if found[0].startswith(stem)), None)

    def names(self) -> Iterator[tuple[str, int]]:
        """Iterate over the names and sizes of all files."""
        with self._translated_errors():
            self._system.invalidate_cache()
            found: dict[str, dict[str, Any]] = self._system.find(self._root, detail=True)
        yield from ((path.rpartition("/")[2], int(facts["size"] or 0)) for path, facts in sorted(found.items()))

    def pull(self, name: str, target: Path) -> None:
        """Download a file."""
        with self._translated_errors():
            self._system.get_file(self._path(name), str(target))

    def push(self, source: Path) -> None:
        """Upload a file under its own name, unless it exists with the same size."""
        path = self._path(source.name)
        with self._translated_errors():
            if (source.name, source.stat().st_size) in self._list(source.name[:2]):
                return
            self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._system.put_file(str(source), path)

    def remove(self, name: str) -> None:
        """Delete a file."""
        with self._translated_errors():
            self._system.rm_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name[:2]}/{name}"

    def _list(self, folder: str) -> list[tuple[str, int]]:
        # Other clients write there too, so a cached listing may be out of date.
        self._system.invalidate_cache()
        try:
            found: list[dict[str, Any]] = self._system.ls(f"{self._root}/{folder}", detail=True)
        except FileNotFoundError:
            return []
        return [(facts["name"].rpartition("/")[2], int(facts["size"] or 0)) for facts in found]

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Convert any error to `ReelbookError`: each store has its own exceptions."""
        try:
            yield
        except Exception as error:
            # Not `from error`: a store's message may contain the credentials.
            raise ReelbookError(
                f"The shelf at {self.display_url} cannot be used ({type(error).__name__}). Check the address, the network and "
                "the permission to read and write there, then try again; what is on this machine is untouched."
            ) from None


def _system(url: str, display_url: str) -> tuple[AbstractFileSystem, str]:
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]

        system, root = url_to_fs(url)
    except ImportError:
        raise ReelbookError(
            f"A shelf at {display_url} needs packages that are not installed. Install them with: pip install 'reelbook[cloud]' "
            "(for other stores than S3 also the package that fsspec names for them)."
        ) from None
    except ValueError:
        raise ReelbookError(
            f"{display_url} is not a place for a shelf. Give a folder, or a URL such as s3://bucket/folder."
        ) from None
    return system, str(root)


def _without_login(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
