"""The shelf: content by its hash, complete or not at all."""

from __future__ import annotations

import hashlib
import resource
import stat
from pathlib import Path

import pytest

import reelbook as rb
from reelbook.errors import ReelbookError
from reelbook.models.file_kinds import BINARY, KINDS, TEXT
from reelbook.storage.shelf import SUFFIXES, Shelf


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "shelf")


def download(shelf: Shelf, content: bytes, suffix: str = ".png") -> Path:
    """What a download does when all bytes have arrived."""
    part = shelf.part("k")
    part.write_bytes(content)
    return shelf.place(part, sha(content), suffix)


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
        shelf.place(shelf.part("k"), name, ".png")


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

    assert f"No space is left in {shelf.folder}" in str(caught.value)
    assert "free some" in str(caught.value)
    assert list(shelf.folder.iterdir()) == []
    assert shelf.keep(bytes(100_000), ".bin").stat().st_size == 100_000


def test_an_address_is_no_shelf(tmp_path: Path) -> None:
    """It is refused in a sentence without its login, and no folder of its name is made."""
    with pytest.raises(ReelbookError, match="it is an address") as caught:
        rb.connect("http://127.0.0.1:9", api_key="key", library=tmp_path, shelf="s3://user:secret@bucket/films")

    assert "secret" not in str(caught.value)
    assert not Path("s3:").exists()
