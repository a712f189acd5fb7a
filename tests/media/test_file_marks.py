"""The marks of a file: who has signed it, whether a generative model has made it, and that it leaves byte for byte."""

from __future__ import annotations

import io
import struct
import sys
from pathlib import Path

import pytest

from reelbook.media.metadata.file_marks import PREFIX, Marks, is_marked, read_marks
from reelbook.media.metadata.provenance import write
from tests.media.makers import FOUR, maker, report_of, signed, signed_file, state_of
from tests.media.making import FACTS, plain


@pytest.mark.parametrize("kind", [*FOUR, "gif", "tiff", "avif"])
def test_the_signer_is_read_as_the_certificate_states(kind: str, tmp_path: Path) -> None:
    """The same name that the C2PA library reads."""
    path = signed_file(tmp_path / f"boat.{kind}")

    marks = read_marks(path)

    report = report_of(path.read_bytes(), kind)
    manifest = report["manifests"][report["active_manifest"]]
    stated = manifest["signature_info"]
    assert marks.signer == stated["issuer"] == "Acme Video GmbH"
    assert str(marks) == "signed by Acme Video GmbH, ai-marked"


@pytest.mark.parametrize(
    ("source_type", "words"),
    [
        ("trainedAlgorithmicMedia", "signed by Acme Video GmbH, ai-marked"),
        ("compositeWithTrainedAlgorithmicMedia", "signed by Acme Video GmbH, ai-marked"),
        ("algorithmicMedia", "signed by Acme Video GmbH"),
        ("digitalCapture", "signed by Acme Video GmbH"),
    ],
)
def test_only_types_that_say_so_are_called_marks_of_ai(source_type: str, words: str, tmp_path: Path) -> None:
    """A photograph that is signed, and what an algorithm has drawn, are none."""
    marks = read_marks(signed_file(tmp_path / "boat.png", source_type=PREFIX + source_type))

    assert (str(marks), marks.source_type) == (words, source_type)


@pytest.mark.parametrize("organization", ["\x1b[31mred\x07", "a\u202eb\u200bc", "x" * 64, "Zoë & Söhne\r\n"])
def test_names_of_strangers_are_harmless_and_short(organization: str, tmp_path: Path) -> None:
    """What moves a cursor, hides letters or never ends does not come through."""
    words = str(read_marks(signed_file(tmp_path / "boat.png", maker(organization))))

    assert words.isprintable()
    assert len(words) <= 90
    assert words.startswith("signed by ")


@pytest.mark.parametrize("name", ["nowhere.png", "", "x\0y.mp4", "folder"])
def test_what_cannot_be_read_has_no_marks(name: str, tmp_path: Path) -> None:
    """Nothing is raised: a table must not fail because a file is gone."""
    (tmp_path / "folder").mkdir()

    assert read_marks(tmp_path / name) == Marks()


def test_without_the_extra_a_signature_and_a_mark_are_still_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has signed, only the C2PA library says."""
    path = signed_file(tmp_path / "boat.mp4")
    monkeypatch.setitem(sys.modules, "c2pa", None)

    marks = read_marks(path)

    assert (str(marks), marks.source_type, marks.state) == ("signed, ai-marked", "trainedAlgorithmicMedia", "")


def is_signed(content: bytes) -> bool:
    return is_marked(io.BytesIO(content))


@pytest.mark.parametrize("kind", FOUR)
def test_a_signed_file_is_copied_byte_for_byte(kind: str, tmp_path: Path) -> None:
    """Its signature is valid before and after; so is that of a file whose XMP names a manifest elsewhere."""
    for remote in ("", "https://maker.example/boat.c2pa"):
        path, copy = plain(tmp_path / f"boat.{kind}"), tmp_path / f"copy.{kind}"
        path.write_bytes(signed(path.read_bytes(), kind, remote=remote))

        write(path, copy, FACTS)

        assert copy.read_bytes() == path.read_bytes()
        assert remote or state_of(copy.read_bytes(), kind) == "Trusted"
    assert b"maker.example/boat.c2pa" in path.read_bytes()
    assert str(read_marks(path)) == "signed"


def test_a_manifest_anywhere_in_the_file_is_found(tmp_path: Path) -> None:
    """A JPEG may hold it behind its pixels; and one byte before a block of reading ends, it is found, too."""
    photo = signed_file(tmp_path / "boat.jpeg").read_bytes()
    start = photo.index(b"\xff\xeb")
    size = struct.unpack_from(">H", photo, start + 2)[0] + 2
    without, manifest = photo[:start] + photo[start + size :], photo[start : start + size]

    assert is_signed(without[:-2] + manifest + without[-2:])
    assert not is_signed(without)
    assert all(is_signed(bytes((1 << 22) - gap) + manifest) for gap in range(0, 80, 7))
