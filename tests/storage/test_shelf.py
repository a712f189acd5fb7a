"""The shelf: content by its hash, here or elsewhere, complete or not at all."""

from __future__ import annotations

import builtins
import hashlib
import resource
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import fsspec  # type: ignore[import-untyped]  # It ships no types.
import pytest

from reelbook.errors import ReelbookError
from reelbook.models.file_kinds import BINARY, KINDS, TEXT
from reelbook.storage.shelf import SUFFIXES, RemoteShelf, Shelf, open_shelf


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "shelf")


@pytest.fixture(params=["file", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Two addresses that fsspec knows; on one of them a copy can be half-written, on the other not."""
    return f"file://{tmp_path}/remote" if request.param == "file" else f"memory://{uuid4().hex}"


def download(shelf: Shelf, content: bytes, key: str = "k", suffix: str = ".png") -> Path:
    """What a download does when all bytes have arrived."""
    part = shelf.part(key)
    part.write_bytes(content)
    return shelf.place(part, sha(content), suffix)


def remote_files(url: str) -> list[str]:
    system, root = fsspec.core.url_to_fs(url)
    return sorted(path.rpartition("/")[2] for path in system.find(root))


def test_content_is_kept_under_its_hash_for_its_owner_only(shelf: Shelf) -> None:
    """The name says what is inside; nobody else may read it."""
    path = shelf.keep(b"a picture", ".png")

    assert path == shelf.folder / f"{sha(b'a picture')}.png" == shelf.find(sha(b"a picture"))
    assert path.read_bytes() == b"a picture"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(shelf.folder.stat().st_mode) == 0o700


def test_a_fresh_download_mends_a_file_that_has_suffered(shelf: Shelf) -> None:
    """What was just checked takes the place of what has been lying there."""
    path = shelf.keep(b"a picture", ".png")
    path.write_bytes(b"a pictura")

    download(shelf, b"a picture")

    assert path.read_bytes() == b"a picture"


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "0" * 63, "0" * 63 + "/", "A" * 64])
def test_what_is_no_hash_is_never_a_path(shelf: Shelf, name: str) -> None:
    """No text from outside reaches the file system."""
    shelf.keep(b"x", ".png")

    assert shelf.find(name) is None
    assert shelf.discard(name) == 0
    with pytest.raises(ValueError, match="not a SHA-256 hash"):
        shelf.place(shelf.part("k"), name, ".png")


def test_the_shelf_finds_every_suffix_that_a_download_gives() -> None:
    """The two lists live in rooms that do not know each other."""
    kinds = [BINARY, TEXT, *KINDS]

    assert {kind.suffix for kind in kinds} <= set(SUFFIXES)


@contextmanager
def no_file_over(size: int) -> Iterator[None]:
    """The system refuses to let any file of ours grow further, as a full disk would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_no_half_file_and_says_what_to_do(shelf: Shelf) -> None:
    """What, where and what now; afterwards it works again."""
    with no_file_over(4096), pytest.raises(ReelbookError) as caught:
        shelf.keep(bytes(100_000), ".bin")

    assert f"No space is left in {shelf.folder}" in str(caught.value)
    assert "free some" in str(caught.value)
    assert list(shelf.folder.iterdir()) == []
    assert shelf.keep(bytes(100_000), ".bin").stat().st_size == 100_000


def test_a_remote_shelf_serves_another_machine(url: str, tmp_path: Path) -> None:
    """What one machine keeps or downloads, another one finds there, and may discard; no content is believed unchecked."""
    here, there = RemoteShelf(url, tmp_path / "here"), RemoteShelf(url, tmp_path / "there")
    kept, brought = here.keep(b"kept", ".png"), download(here, b"brought", suffix=".mp4")

    found = [there.find(path.stem) for path in (kept, brought)]

    assert [path and path.read_bytes() for path in found] == [b"kept", b"brought"]
    assert remote_files(url) == sorted([kept.name, brought.name])
    assert {sha256 for sha256, *_ in RemoteShelf(url, tmp_path / "third").names()} == {kept.stem, brought.stem}
    assert there.find_copied({kept.stem: 4, brought.stem: 8}) == {kept.stem}
    assert there.find("0" * 64) is None
    assert there.discard(brought.stem) == 7
    system, root = fsspec.core.url_to_fs(url)
    system.pipe_file(f"{root}/{kept.name[:2]}/{kept.name}", b"ke")
    assert RemoteShelf(url, tmp_path / "fourth").find(kept.stem) is None
    here.keep(b"kept", ".png")
    assert RemoteShelf(url, tmp_path / "fourth").find(kept.stem) is not None
    assert remote_files(url) == [kept.name]


def test_a_result_is_safe_here_while_the_remote_shelf_is_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One warning without a login, no failure; all of it goes there with the next file. Until then nothing counts as missing."""
    url = f"memory://{uuid4().hex}"
    shelf = RemoteShelf(url, tmp_path / "here")

    def unreachable(*arguments: Any, **options: Any) -> Any:
        raise ConnectionError("secret-login@host is unreachable")

    with monkeypatch.context() as patch:
        patch.setattr(shelf._system, "ls", unreachable)
        patch.setattr(shelf._system, "find", unreachable)
        with pytest.warns(UserWarning, match="cannot be used") as warned:
            first, second = shelf.keep(b"one", ".png"), shelf.keep(b"two", ".png")
        with pytest.raises(ReelbookError, match=r"cannot be used \(ConnectionError\)") as caught:
            shelf.find("0" * 64)
    between = remote_files(url)
    third = shelf.keep(b"three", ".png")

    assert len(warned) == 1
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert first.exists()
    assert second.exists()
    assert between == []
    assert remote_files(url) == sorted(path.name for path in (first, second, third))


def test_a_missing_extra_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without fsspec; an address of an unknown kind is refused; no login is shown."""
    shelf = open_shelf("memory://user:secret@bucket/films")
    with pytest.raises(ReelbookError, match=r"not a place for a shelf"):
        open_shelf("nothing-known://bucket")
    real = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("fsspec"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)

    with pytest.raises(ReelbookError, match=r"pip install 'reelbook\[cloud\]'") as caught:
        open_shelf("s3://user:secret@bucket/films")
    assert repr(shelf) == "<Shelf at memory://bucket/films>"
    assert "secret" not in f"{caught.value}{shelf.folder}"


def test_a_local_shelf_does_without_fsspec() -> None:
    """The extra is imported by those who need it only."""
    code = "import sys; from reelbook.storage.shelf import Shelf; Shelf('x'); print('fsspec' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
