"""Files that their makers signed: found by their structure, and copied byte for byte."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest

from reelbook.media.metadata.file_marks import is_marked
from reelbook.media.metadata.provenance import write
from tests.media.makers import FOUR, signed, signed_file, state_of
from tests.media.making import FACTS, plain


def is_signed(content: bytes) -> bool:
    return is_marked(Path("boat"), io.BytesIO(content))


@pytest.mark.parametrize("kind", FOUR)
def test_a_signed_file_is_copied_byte_for_byte(kind: str, tmp_path: Path) -> None:
    """Its signature is valid before and after."""
    path = signed_file(tmp_path / f"boat.{kind}")

    write(path, tmp_path / f"copy.{kind}", FACTS)

    copy = (tmp_path / f"copy.{kind}").read_bytes()
    assert copy == path.read_bytes()
    assert state_of(copy, kind) == "Trusted"


@pytest.mark.parametrize("kind", FOUR)
def test_a_file_whose_manifest_is_elsewhere_is_copied_byte_for_byte(kind: str, tmp_path: Path) -> None:
    """Its XMP names the manifest, which is bound to these bytes."""
    path = plain(tmp_path / f"boat.{kind}")
    path.write_bytes(signed(path.read_bytes(), kind, remote="https://maker.example/boat.c2pa"))

    write(path, tmp_path / f"copy.{kind}", FACTS)

    assert b"maker.example/boat.c2pa" in path.read_bytes()
    assert (tmp_path / f"copy.{kind}").read_bytes() == path.read_bytes()


def test_a_manifest_anywhere_in_the_file_is_found(tmp_path: Path) -> None:
    """A JPEG may hold it behind its pixels; and one byte before a block of reading ends, it is found, too."""
    photo = signed_file(tmp_path / "boat.jpeg").read_bytes()
    start = photo.index(b"\xff\xeb")
    size = struct.unpack_from(">H", photo, start + 2)[0] + 2
    without, manifest = photo[:start] + photo[start + size :], photo[start : start + size]

    assert is_signed(without[:-2] + manifest + without[-2:])
    assert not is_signed(without)
    assert all(is_signed(bytes((1 << 22) - gap) + manifest) for gap in range(0, 80, 7))


def test_a_manifest_beside_a_file_keeps_it_as_it_is(tmp_path: Path) -> None:
    """A maker may deliver it as a file of its own, `boat.c2pa`: it goes along with the copy."""
    path = plain(tmp_path / "boat.mp4")
    (tmp_path / "boat.c2pa").write_bytes(b"a manifest")

    write(path, tmp_path / "there" / "copy.mp4", FACTS)

    assert (tmp_path / "there" / "copy.mp4").read_bytes() == path.read_bytes()
    assert (tmp_path / "there" / "copy.c2pa").read_bytes() == b"a manifest"
