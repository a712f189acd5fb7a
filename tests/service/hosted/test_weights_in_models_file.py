"""Models on weights of this machine, as models.toml describes them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import reelbook as rb
from reelbook import cli
from reelbook.errors import ReelbookError, RunFailed
from reelbook_service.hosted import models_file
from reelbook_service.hosted.models_file import make_lane_table, read_models_file
from reelbook_service.weights import folder as weights_folder
from reelbook_service.weights.config import LoRAFolders, LtxWeights, SafetyCheck

TEXT = "svc/text-to-video-13b-distilled"
LTX = 'engine = "diffusers"\nfamily = "ltx"\nfolder = "weights/ltx"\n'
ROW = f'[models."{TEXT}"]\n{LTX}'


def written(folder: Path, text: str) -> Path:
    path = folder / "models.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_row_has_what_the_file_says_for_all_models(tmp_path: Path) -> None:
    """Paths begin beside the file; the tables that all models share are in each row."""
    more = 'device = ["cuda:0", "cuda:1"]\n[loras]\nfolders = ["loras", "/more"]\n[safety]\nfolder = "check"\n'

    usual = read_models_file(written(tmp_path, ROW)).weights[TEXT]
    row = read_models_file(written(tmp_path, ROW + more)).weights[TEXT]

    assert usual == LtxWeights(endpoint_id=TEXT, folder=tmp_path / "weights/ltx")
    assert row == usual.changed(
        devices=("cuda:0", "cuda:1"),
        loras=LoRAFolders(folders=(tmp_path / "loras", Path("/more"))),
        safety=SafetyCheck(folder=tmp_path / "check"),
    )


def test_without_the_extra_one_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is started, by the command and by the embedded service."""
    monkeypatch.setattr(weights_folder, "PACKAGES", ("pathlib", "no_such_package"))
    file = written(tmp_path, ROW)
    monkeypatch.setenv("REELBOOK_MODELS", str(file))

    with pytest.raises(ReelbookError, match=r"pip install '\.\[weights\]'"):
        make_lane_table(read_models_file(file))
    with pytest.raises(ReelbookError, match=r"need no_such_package, which is not installed"):
        rb.connect(library=tmp_path / "library")


def test_a_cluster_is_one_device_and_its_address_is_for_the_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The packages of the weights are needed on its machines and not on this one; `/` and `/docs` do not name it."""
    monkeypatch.setattr(weights_folder, "PACKAGES", ("no_such_package",))
    monkeypatch.setattr(weights_folder, "check_weights", lambda row: None)
    monkeypatch.setattr(models_file, "weights_identity", lambda row: "0123456789ab")
    file = read_models_file(written(tmp_path, ROW + 'device = "dask:tcp://there:8786"\n'))

    table = make_lane_table(file)

    assert file.weights[TEXT].devices == ("dask:tcp://there:8786",)
    assert table.label_of(TEXT) == "weights:dask"
    assert not table.has_elsewhere
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ReelbookError, match=r"pip install '\.\[cluster\]'"):
        make_lane_table(file)


def test_folders_and_licences_are_checked_before_a_port_is_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing folder is named; a folder that was fetched with a licence needs its word in the file."""
    monkeypatch.setattr(weights_folder, "PACKAGES", ())
    file = written(tmp_path, ROW)
    with pytest.raises(ReelbookError, match=r"there is no folder .*weights/ltx"):
        make_lane_table(read_models_file(file))

    monkeypatch.setattr(weights_folder, "check_weights", lambda row: None)
    monkeypatch.setattr(models_file, "weights_identity", lambda row: "0123456789ab")
    (tmp_path / "weights/ltx").mkdir(parents=True)
    (tmp_path / "weights/ltx/reelbook-weights.json").write_text('{"license": "apache-2.0"}')
    with pytest.raises(ReelbookError, match=r'came with the licence "apache-2\.0"'):
        make_lane_table(read_models_file(file))
    table = make_lane_table(read_models_file(written(tmp_path, ROW + 'accept_license = "mit, apache-2.0"\n')))

    assert table.by_model == {TEXT: "weights:cuda:0"}
    assert not table.has_elsewhere


def test_the_embedded_service_runs_weights_at_no_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file by its variable; without torch a run says what is missing."""
    monkeypatch.setattr(weights_folder, "PACKAGES", ())
    monkeypatch.setattr(weights_folder, "check_weights", lambda row: None)
    monkeypatch.setattr(models_file, "weights_identity", lambda row: "0123456789ab")
    monkeypatch.setenv("REELBOOK_MODELS", str(written(tmp_path, ROW + 'device = "cpu"\n')))

    with rb.connect(library=tmp_path / "library") as client:
        with rb.connect(library=tmp_path / "library", models=tmp_path / "models.toml") as second:
            assert (client.is_embedded, second.is_embedded) == (True, True)
        with pytest.raises(RunFailed, match="ModuleNotFoundError"):
            client.run(rb.TextToVideo(prompt="a paper boat"))
        cli.main(["models", "--service", client.base_url])

    assert "  weights:cpu\n" in capsys.readouterr().out
