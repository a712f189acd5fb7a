"""The shelf: content by its hash, here or at a URL, complete or not at all."""

from __future__ import annotations

import hashlib
import resource
import stat
import subprocess
import sys
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


@pytest.fixture
def url() -> str:
    return f"memory://{uuid4().hex}"


def download(shelf: Shelf, content: bytes, suffix: str = ".png") -> Path:
    """What a download does when all bytes have arrived."""
    with shelf.new_part(0) as part:
        part.write_bytes(content)
        return shelf.place(part, sha(content), suffix)


def remote_files(url: str) -> list[str]:
    system, root = fsspec.core.url_to_fs(url)
    return sorted(path.rpartition("/")[2] for path in system.find(root))


def test_content_is_kept_under_its_hash_for_its_owner_only(shelf: Shelf) -> None:
    """The name says what is inside, and nobody else may read it; a fresh download replaces a damaged file."""
    path = shelf.keep(b"a picture", ".png")
    modes = stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(shelf.folder.stat().st_mode)
    path.write_bytes(b"a pictura")

    download(shelf, b"a picture")

    assert path == shelf.folder / f"{sha(b'a picture')}.png" == shelf.find(sha(b"a picture"))
    assert path.read_bytes() == b"a picture"
    assert modes == (0o600, 0o700)


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "0" * 63, "0" * 63 + "/", "A" * 64])
def test_what_is_no_hash_is_never_a_path(shelf: Shelf, name: str) -> None:
    """No text from outside reaches the file system."""
    path = shelf.keep(b"x", ".png")

    assert shelf.find(name) is None
    shelf.discard(name)
    assert path.exists()
    with pytest.raises(ValueError, match="not a SHA-256 hash"):
        shelf.place(path, name, ".png")


def test_the_shelf_finds_every_suffix_that_a_download_gives() -> None:
    """The shelf does not know the list of the downloads."""
    assert {kind.suffix for kind in (BINARY, TEXT, *KINDS)} <= set(SUFFIXES)


def test_a_full_disk_leaves_no_half_file_and_says_what_to_do(shelf: Shelf) -> None:
    """The system lets no file of ours grow further, as a full disk would; afterwards it works again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(ReelbookError) as caught:
            shelf.keep(bytes(100_000), ".bin")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert f"{shelf.folder} has no space left" in str(caught.value)
    assert "free some" in str(caught.value)
    assert list(shelf.folder.iterdir()) == []
    assert shelf.keep(bytes(100_000), ".bin").stat().st_size == 100_000


def test_a_remote_shelf_serves_another_machine(url: str, tmp_path: Path) -> None:
    """What one machine keeps or downloads, another one finds there; no content is believed unchecked."""
    here, there = RemoteShelf(url, tmp_path / "here"), RemoteShelf(url, tmp_path / "there")
    kept, brought = here.keep(b"kept", ".png"), download(here, b"brought", suffix=".mp4")

    found = [there.find(path.stem) for path in (kept, brought)]

    assert [path and path.read_bytes() for path in found] == [b"kept", b"brought"]
    assert remote_files(url) == sorted([kept.name, brought.name])
    assert RemoteShelf(url, tmp_path / "third").hashes() == {kept.stem, brought.stem}
    assert there.find("0" * 64) is None
    system, root = fsspec.core.url_to_fs(url)
    system.pipe_file(f"{root}/{kept.name[:2]}/{kept.name}", b"ke")
    assert RemoteShelf(url, tmp_path / "fourth").find(kept.stem) is None
    here.keep(b"kept", ".png")
    assert RemoteShelf(url, tmp_path / "fourth").find(kept.stem) is not None


def test_a_result_is_safe_here_while_the_remote_shelf_is_down(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One warning without a login, no failure; all of it goes there with the next file. Until then nothing counts as missing."""
    shelf = RemoteShelf(url, tmp_path / "here")

    def unreachable(*arguments: Any, **options: Any) -> Any:
        raise ConnectionError("secret-login@host is unreachable")

    with monkeypatch.context() as patch:
        patch.setattr(shelf._system, "find", unreachable)
        with pytest.warns(UserWarning, match="cannot be used") as warned:
            kept = [shelf.keep(b"one", ".png"), shelf.keep(b"two", ".png")]
        with pytest.raises(ReelbookError, match=r"cannot be used \(ConnectionError\)") as caught:
            shelf.find("0" * 64)
    between = remote_files(url)
    kept.append(shelf.keep(b"three", ".png"))

    assert len(warned) == 1
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert between == []
    assert remote_files(url) == sorted(path.name for path in kept)


def test_a_shelf_that_cannot_be_opened_says_what_to_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an unknown kind, or without the packages, which a local shelf never imports; no login is shown."""
    shelf = open_shelf("memory://user:secret@bucket/films")
    code = "import sys; from reelbook.storage.shelf import Shelf; Shelf('x'); print('fsspec' in sys.modules)"
    local = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    with pytest.raises(ReelbookError, match="cannot be opened"):
        open_shelf("nothing-known://bucket")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)

    with pytest.raises(ReelbookError, match=r"pip install 'reelbook\[cloud\]'") as caught:
        open_shelf("s3://user:secret@bucket/films")

    assert repr(shelf) == "<Shelf at memory://bucket/films>"
    assert "secret" not in f"{caught.value}{shelf.folder}"
    assert local.stdout == "False\n"
