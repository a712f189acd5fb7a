"""A shelf at any URL that fsspec supports, such as `s3://bucket/films`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

from ..errors import ReelbookError

if TYPE_CHECKING:
    # fsspec ships no types.
    from fsspec import AbstractFileSystem  # type: ignore[import-untyped]

ATOMIC_PROTOCOLS = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "oci", "r2", "memory"})
"""Protocols with atomic uploads; elsewhere a complete copy is renamed."""


class RemoteShelf:
    """Files by name at a URL, in folders of their first two characters, so that listings are short."""

    def __init__(self, url: str) -> None:
        self.display_url = _without_login(url)
        self._protocol = url.partition("://")[0]
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
            if any(found == (source.name, source.stat().st_size) for found in self._list(source.name[:2])):
                return
            self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
            if self._protocol in ATOMIC_PROTOCOLS:
                self._system.put_file(str(source), path)
                return
            part = f"{path}.{uuid4().hex}.part"
            self._system.put_file(str(source), part)
            self._system.mv(part, path)

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
