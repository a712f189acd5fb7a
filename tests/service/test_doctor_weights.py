"""The check of real weights: versions, folders, hashes, licences and memory, without torch or a card."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from reelbook import cli
from reelbook.doctor import Finding
from reelbook_service.weights.config import LtxWeights
from reelbook_service.weights.doctor import check_rows
from reelbook_service.weights.folder import RECORD_NAME

ROW = LtxWeights(
    endpoint_id="svc/text-to-video-13b-distilled", folder=Path("weights/ltx-13b"), upsampler=Path("weights/up")
)


def sentence(found: Sequence[Finding], part: str) -> Finding:
    (finding,) = [finding for finding in found if part in finding[1]]
    return finding


@pytest.fixture
def recorded(tmp_path: Path) -> LtxWeights:
    """A row whose folder has one file, and the record of a fetch."""
    (tmp_path / "config.json").write_text("{}")
    record = {
        "license": "tiny-open-weights",
        "date": "2026-11-24T20:00:00+00:00",
        "files": {"config.json": hashlib.sha256(b"{}").hexdigest()},
    }
    (tmp_path / RECORD_NAME).write_text(json.dumps(record))
    return ROW.changed(folder=tmp_path, upsampler=None)


def test_hashes_are_compared_with_those_of_the_fetch(recorded: LtxWeights) -> None:
    """Only with --deep; a changed byte names its file."""
    sound = list(check_rows([recorded], deep=True))
    (recorded.folder / "config.json").write_text("[]")
    damaged = list(check_rows([recorded], deep=True))
    shallow = list(check_rows([recorded]))

    assert sentence(sound, "have the hash")[0]
    assert sentence(damaged, "are damaged, the first config.json")[0] is False
    assert not any("damaged, the first" in what for _, what in shallow)


def test_the_licence_must_be_accepted_in_the_file(recorded: LtxWeights) -> None:
    """By its word; a folder that came another way is left to its owner."""
    refused = list(check_rows([recorded]))
    accepted = list(check_rows([recorded.changed(accept_license="mit, tiny-open-weights")]))
    other = recorded.changed(endpoint_id="svc/other", accept_license="tiny-open-weights")
    half = list(check_rows([recorded, other]))
    (recorded.folder / RECORD_NAME).unlink()
    unknown = list(check_rows([recorded]))

    assert sentence(refused, 'write accept_license = "tiny-open-weights"')[0] is False
    assert sentence(half, f"{recorded.endpoint_id}: the weights in")[0] is False
    assert sentence(accepted, "fetched 2026-11-24 under the licence tiny-open-weights")[0]
    assert not any("accept_license" in what for _, what in accepted)
    assert sentence(unknown, "read its licence yourself")[0]


def test_one_command_checks_all_that_the_file_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], recorded: LtxWeights
) -> None:
    """Which engine answers for each model, and the weights; with status 1 where a finding is bad."""
    file = tmp_path / "models.toml"
    file.write_text(
        f'[models."{ROW.endpoint_id}"]\nengine = "diffusers"\nfamily = "ltx"\nfolder = "{recorded.folder}"\ndevice = "cpu"\n'
    )

    status = cli.main(["doctor", str(file), "--deep"])

    lines = capsys.readouterr().out.splitlines()
    assert status == 1
    assert {line[:5] for line in lines} == {"ok   ", "BAD  "}
    assert any("svc/smart-resize is run by this machine" in line for line in lines)
    assert any("have the hash that was recorded" in line for line in lines)
