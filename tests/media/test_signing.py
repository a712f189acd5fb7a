"""Copies signed with a certificate of one's own: valid, offline, and nothing lost where that cannot be."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

import reelbook as rb
from reelbook.media.metadata.file_marks import TRAINED, read_marks
from reelbook.media.metadata.provenance import read, write
from tests.clips import write_clip
from tests.media.makers import Maker, maker, report_of, state_of
from tests.media.making import FACTS, KINDS, content, plain
from tests.support import png

ME = ("My Lab e.V.", "My Lab Signer")


@pytest.fixture
def me(tmp_path: Path) -> Iterator[Maker]:
    """Somebody with a certificate, whose copies are signed from now on."""
    found = maker(*ME)
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "chain.pem").write_text(found.chain)
    (tmp_path / "keys" / "key.pem").write_text(found.key)
    with rb.options(sign=(tmp_path / "keys" / "chain.pem", tmp_path / "keys" / "key.pem")):
        yield found


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_is_signed_and_tells_what_it_told_before(me: Maker, kind: str, tmp_path: Path) -> None:
    """The signature is valid, names the source type, and the record of the run is inside it."""
    source = plain(tmp_path / f"boat.{kind}")

    write(source, tmp_path / f"copy.{kind}", FACTS)

    copy = tmp_path / f"copy.{kind}"
    report = report_of(copy.read_bytes(), kind, me)
    manifest = report["manifests"][report["active_manifest"]]
    actions = next(one["data"]["actions"] for one in manifest["assertions"] if one["label"] == "c2pa.actions.v2")
    assert report["validation_state"] == "Trusted"
    assert [action["digitalSourceType"] for action in actions] == [TRAINED]
    assert str(read_marks(copy)) == "signed by My Lab e.V., ai-marked"
    assert read(copy).request_id == FACTS["request_id"]
    assert content(copy) == content(source)
    assert {path.name for path in tmp_path.iterdir()} == {"keys", source.name, copy.name}


def test_a_copy_of_unknown_source_is_signed_without_a_source_type(me: Maker, tmp_path: Path) -> None:
    """Nothing is claimed that nobody knows."""
    write(plain(tmp_path / "boat.png"), tmp_path / "copy.png", {"request_id": "r-1"})

    report = report_of((tmp_path / "copy.png").read_bytes(), "png", me)
    assert report["validation_state"] == "Trusted"
    assert "digitalSourceType" not in str(report)


def test_saved_and_exported_files_are_signed_once(me: Maker, tmp_path: Path) -> None:
    """Done again, an export copies nothing; without the option it makes unsigned copies, in another folder."""
    with rb.connect(library=tmp_path / "library") as client:
        run = client.run(rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16), frames=1)]))
        saved = run.video.save(tmp_path / "saved.mp4")
        folder = rb.library().export(tmp_path / "export")
        (film,) = folder.glob("*.mp4")
        first = film.read_bytes()
        rb.library().export(folder)
        again = film.read_bytes()
        with rb.options(sign=None):
            (plain,) = rb.library().export(tmp_path / "plain").glob("*.mp4")

        assert state_of(saved.read_bytes(), "mp4", me) == state_of(first, "mp4", me) == "Trusted"
        assert again == first
        assert str(read_marks(plain)) == "unsigned"
        assert sorted(path.suffix for path in folder.iterdir()) == [".csv", ".mp4"]
        assert rb.provenance(saved).request_id == run.request_id


def test_a_key_from_the_environment_is_used_and_never_shown(
    me: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in the options, nor where something goes wrong."""
    monkeypatch.setenv("MY_CHAIN", me.chain)
    monkeypatch.setenv("MY_KEY", me.key)
    with rb.options(sign=("env:MY_CHAIN", "env:MY_KEY")):
        write(plain(tmp_path / "boat.png"), tmp_path / "copy.png", FACTS)
        shown = repr(rb.options)

    assert state_of((tmp_path / "copy.png").read_bytes(), "png", me) == "Trusted"
    assert "MY_CHAIN" in shown
    assert "MY_KEY" not in shown
    assert me.key[30:60] not in shown


def wrong(folder: Path, case: str) -> tuple[str, str]:
    """Where a certificate and a key are, of which something is wrong."""
    mine, other = maker(*ME), maker("Somebody else")
    chain, key = mine.chain, mine.key
    if case == "another key":
        key = other.key
    elif case == "expired":
        ended = maker(*ME, days=-2)
        chain, key = ended.chain, ended.key
    elif case == "no certificate":
        chain = "nothing"
    elif case == "a password":
        private = ec.generate_private_key(ec.SECP256R1())
        key = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")).decode()
    elif case == "a curve of bitcoin":
        private = ec.generate_private_key(ec.SECP256K1())
        key = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    (folder / "chain.pem").write_text(chain)
    (folder / "key.pem").write_text(key)
    return str(folder / "chain.pem"), "env:NOT_THERE" if case == "an unset variable" else str(folder / "key.pem")


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("another key", "does not match the provided data or public key"),
        ("expired", "was not valid at time of signing"),
        ("no certificate", "does not contain signing certificate"),
        ("a password", "or is protected by a password"),
        (
            "a curve of bitcoin",
            "C2PA signs with keys of P-256, P-384, P-521, Ed25519 and RSA, and this is another kind",
        ),
        ("an unset variable", "NOT_THERE, which is not set"),
    ],
)
def test_what_is_wrong_with_a_certificate_is_said_and_nothing_is_lost(case: str, words: str, tmp_path: Path) -> None:
    """A plain sentence; the copy that was there stays, and so does the original."""
    source, copy = plain(tmp_path / "boat.mp4"), tmp_path / "copy.mp4"
    copy.write_bytes(b"what was there")
    (tmp_path / "keys").mkdir()
    before = source.read_bytes()

    with (
        rb.options(sign=wrong(tmp_path / "keys", case)),
        pytest.raises(rb.ReelbookError, match=f"{words}.*Nothing was written.*rb.options.sign = None") as caught,
    ):
        write(source, copy, FACTS)

    assert (source.read_bytes(), copy.read_bytes()) == (before, b"what was there")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["boat.mp4", "copy.mp4", "keys"]
    assert "PRIVATE KEY" not in str(caught.value)


def test_a_kind_that_cannot_be_signed_is_copied_with_a_warning(me: Maker, tmp_path: Path) -> None:
    """One such file does not end an export of thousands."""
    source = write_clip(tmp_path / "boat.webm", [np.zeros((16, 32, 3), np.uint8)], codec="libvpx", options={})

    with pytest.warns(UserWarning, match="cannot be signed here"):
        write(source, tmp_path / "copy.webm", FACTS)

    assert (tmp_path / "copy.webm").read_bytes() == source.read_bytes()


def test_without_the_library_it_is_said_how_to_get_it(
    me: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an environment without the extra."""
    monkeypatch.setitem(sys.modules, "c2pa", None)

    with pytest.raises(rb.ReelbookError, match=r"Signing needs the C2PA library: pip install 'reelbook\[sign\]'"):
        write(plain(tmp_path / "boat.png"), tmp_path / "copy.png", FACTS)

    assert not (tmp_path / "copy.png").exists()
