"""The command `reelbook weights fetch`, against a fake hub on loopback."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reelbook import cli
from reelbook_service.weights import fetch
from reelbook_service.weights.config import LtxWeights
from tests.weights.loopback_hub import COMMIT, LoopbackHub


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """The fake hub in place of the configured one."""
    from huggingface_hub import HfApi, constants

    hub = LoopbackHub()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(fetch, "open_hub", lambda: HfApi(endpoint=hub.url))
    yield hub
    hub.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a row whose licence is accepted."""
    folder = tmp_path / "ltx"
    accept(folder, "tiny-open-weights", monkeypatch)
    return folder


def accept(folder: Path, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    row = LtxWeights(
        endpoint_id="svc/text-to-video-13b-distilled",
        folder=folder,
        upsampler=folder.parent / "up",
        repository="tiny/ltx",
        revision=COMMIT,
        accept_license=word,
    )
    monkeypatch.setattr(fetch, "read_rows", lambda path: [row])


@pytest.mark.parametrize(("answer", "status"), [("y", 0), ("", 1)])
def test_it_says_what_comes_and_asks(
    hub: LoopbackHub,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    status: int,
) -> None:
    """Files, sizes and licence first; without a yes nothing is written."""
    monkeypatch.setattr(builtins, "input", lambda question: print(question) or answer)

    done = cli.main(["weights", "fetch", "models.toml"])

    out = capsys.readouterr().out
    assert done == status
    assert "tiny/ltx at 0123456789ab →" in out
    assert "8 files, 408 kB; to come: 408 kB" in out
    assert "licence tiny-open-weights" in out
    assert "    | Tiny License" in out
    assert "up is not there and names no upsampler_repository" in out
    assert out.index("| Tiny License") < out.index("Fetch 408 kB?")
    assert (folder / "model_index.json").exists() == (status == 0)
    assert ("8 files, each with its hash" in out) == (status == 0)


def test_a_licence_that_is_not_accepted_ends_it(
    hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also with --yes: it is accepted in the file, and nowhere else."""
    accept(tmp_path / "ltx", "", monkeypatch)

    status = cli.main(["weights", "fetch", "models.toml", "--yes"])

    assert status == 1
    assert 'accept_license = "tiny-open-weights"' in capsys.readouterr().err
    assert not (tmp_path / "ltx" / "model_index.json").exists()


def test_without_the_extra_a_sentence_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback of an import."""
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)

    status = cli.main(["weights", "fetch", "models.toml", "--yes"])

    assert status == 1
    assert (
        capsys.readouterr().err
        == "reelbook: Fetching weights needs the extra `weights`: pip install 'reelbook[weights]'\n"
    )
