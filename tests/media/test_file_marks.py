"""The marks of a file: who has signed it as stated, and whether it says that a generative model has made it."""

from __future__ import annotations

import io
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reelbook.media.metadata import c2pa
from reelbook.media.metadata.c2pa_claim import parse_claim
from reelbook.media.metadata.cbor import decode
from reelbook.media.metadata.certificate import stated_names
from reelbook.media.metadata.file_marks import Marks, read_marks
from reelbook.media.metadata.source_types import PREFIX
from reelbook.util.containers import MalformedFile
from tests.media.makers import FOUR, maker, report_of, signed, signed_file
from tests.media.making import plain
from tests.support import examples


@pytest.mark.parametrize("kind", [*FOUR, "gif", "tiff", "avif"])
def test_the_signer_is_read_as_the_certificate_states(kind: str, tmp_path: Path) -> None:
    """The same names that the C2PA library reads."""
    path = signed_file(tmp_path / f"boat.{kind}")

    marks = read_marks(path)

    report = report_of(path.read_bytes(), kind)
    manifest = report["manifests"][report["active_manifest"]]
    stated = manifest["signature_info"]
    assert (marks.signer, marks.name) == (stated["issuer"], stated["common_name"]) == ("Acme Video GmbH", "Acme Signer")
    assert marks.generator == "Acme Generator 2.1"
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


def test_a_file_whose_manifest_is_elsewhere_is_signed_by_somebody(tmp_path: Path) -> None:
    """By whom, only the manifest says; nothing is fetched for that."""
    path = plain(tmp_path / "boat.jpeg")
    beside = plain(tmp_path / "beside.png")
    (tmp_path / "beside.c2pa").write_bytes(b"")
    path.write_bytes(signed(path.read_bytes(), "jpeg", remote="https://maker.example/boat.c2pa"))

    assert [str(read_marks(one)) for one in (path, beside)] == ["signed", "signed"]


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


def manifest_of(path: Path) -> bytes:
    content = path.read_bytes()
    return b"".join(content[part.start : part.stop] for part in c2pa.find_manifest(io.BytesIO(content)) or [])


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return manifest_of(signed_file(tmp_path_factory.mktemp("signed") / "boat.png"))


@settings(max_examples=examples(100, 400))
@given(data=st.data())
def test_any_damage_to_a_manifest_is_read_without_an_error(manifest: bytes, data: st.DataObject) -> None:
    """Whatever some of its bytes become, and wherever it ends."""
    content = bytearray(manifest[: data.draw(st.integers(0, len(manifest)))])
    for at in data.draw(st.lists(st.integers(0, max(len(content) - 1, 0)), max_size=6)) if content else []:
        content[at] = data.draw(st.integers(0, 255))

    claim = parse_claim(bytes(content))

    assert all(isinstance(text, str) for text in (claim.organization, claim.name, claim.generator, *claim.source_types))


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_no_error_but_ours(content: bytes) -> None:
    """A decoder says that it makes no sense, and nothing else."""
    for read in (decode, stated_names):
        with suppress(MalformedFile, ValueError, StopIteration):
            read(content)
    parse_claim(content)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("00", 0), ("1818", 24), ("1bffffffffffffffff", 2**64 - 1), ("3863", -100), ("f93c00", 1.0), ("fb3ff199999999999a", 1.1),
        ("f5", True), ("f6", None), ("43010203", b"\1\2\3"), ("62c3bc", "ü"), ("9f01820203ff", [1, [2, 3]]),
        ("bf6161019f0203ffff", None), ("7f657374726561646d696e67ff", "streaming"), ("c074323031332d30332d32315432303a30343a30305a", "2013-03-21T20:04:00Z"),
        ("d28443a10126a0f640", [b"\xa1\x01\x26", {}, None, b""]),
    ],
)  # fmt: skip
def test_cbor_is_read_as_its_standard_says(text: str, value: object) -> None:
    """Examples of RFC 8949, and the shape of a COSE signature."""
    if value is None and text != "f6":
        with pytest.raises(MalformedFile):
            decode(bytes.fromhex(text))
    else:
        assert decode(bytes.fromhex(text)) == value


def test_a_bomb_of_cbor_ends_early() -> None:
    """Nested without end, or of a length that nobody has."""
    for content in (b"\x81" * 100_000, b"\x9b" + b"\xff" * 8 + b"\x00" * 300_000, b"\x5b" + b"\xff" * 8):
        with pytest.raises(MalformedFile):
            decode(content)


def test_a_manifest_in_parts_that_point_at_each_other_ends(tmp_path: Path) -> None:
    """Boxes of no length, and one that claims to hold itself."""
    box = struct.pack(">I4s", 8, b"jumb")
    for content in (box * 1000, struct.pack(">I4s", 0, b"jumb") * 100, struct.pack(">I4sQ", 1, b"jumb", 3)):
        assert parse_claim(content).organization == ""
