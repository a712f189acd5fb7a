"""The check of real weights: versions, folders, hashes, licences and memory, without torch or a card."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from reelbook import cli
from reelbook.doctor import Finding
from reelbook_service import doctor_weights, weights_command
from reelbook_service.doctor_weights import check_memory, check_rows, check_versions
from reelbook_service.weights.weights_folder import RECORD_NAME
from reelbook_service.weights.weights_row import WeightsRow

ROW = WeightsRow("svc/text-to-video-13b-distilled", "ltx", Path("weights/ltx-13b"), upsampler=Path("weights/up"))


def sentence(found: Sequence[Finding], part: str) -> Finding:
    (finding,) = [finding for finding in found if part in finding[1]]
    return finding


@pytest.fixture
def recorded(tmp_path: Path) -> WeightsRow:
    """A row whose folder has one file, and the record of a fetch."""
    (tmp_path / "config.json").write_text("{}")
    record = {
        "license": "tiny-open-weights",
        "date": "2026-11-24T20:00:00+00:00",
        "files": {"config.json": hashlib.sha256(b"{}").hexdigest()},
    }
    (tmp_path / RECORD_NAME).write_text(json.dumps(record))
    return replace(ROW, folder=tmp_path, upsampler=None)


def test_every_package_of_the_extra_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is missing is named with what to install, and one outside the tested range with the range."""
    monkeypatch.setattr(doctor_weights, "version", lambda name: "0.99" if name == "diffusers" else "1000")

    found = list(check_versions())

    assert len(found) == 9
    good, what = sentence(found, "diffusers")
    assert (good, what.startswith("diffusers 0.99 is outside the tested ")) == (False, True)
    assert "<0.43" in what
    assert sentence(found, "torch")[0]


def test_a_folder_that_is_not_there_is_a_finding(tmp_path: Path) -> None:
    """With the next step; and no clip is made."""
    found = list(check_rows([replace(ROW, folder=tmp_path / "none")]))

    good, what = sentence(found, "there is no folder")
    assert not good
    assert "reelbook weights fetch" in what
    assert not any("nine frames" in what for _, what in found)


def test_a_cluster_that_cannot_be_reached_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of its machines is checked from here but how many there are."""

    async def refuse(address: str) -> int:
        raise ConnectionError("The Dask scheduler could not be reached")

    monkeypatch.setattr(doctor_weights, "count_workers", refuse)

    found = list(check_rows([replace(ROW, devices=("dask:tcp://127.0.0.1:9",))]))

    assert sentence(found, "dask:") == (False, "dask:tcp://127.0.0.1:9: The Dask scheduler could not be reached")


def test_hashes_are_compared_with_those_of_the_fetch(recorded: WeightsRow) -> None:
    """Only with --deep; a changed byte names its file."""
    sound = list(check_rows([recorded], deep=True))
    (recorded.folder / "config.json").write_text("[]")
    damaged = list(check_rows([recorded], deep=True))
    shallow = list(check_rows([recorded]))

    assert sentence(sound, "have the hash")[0]
    assert sentence(damaged, "are damaged, the first config.json")[0] is False
    assert not any("damaged, the first" in what for _, what in shallow)


def test_the_licence_must_be_accepted_in_the_file(recorded: WeightsRow) -> None:
    """By its word; a folder that came another way is left to its owner."""
    refused = list(check_rows([recorded]))
    accepted = list(check_rows([replace(recorded, accept_license="mit, tiny-open-weights")]))
    other = replace(recorded, endpoint_id="svc/other", accept_license="tiny-open-weights")
    half = list(check_rows([recorded, other]))
    (recorded.folder / RECORD_NAME).unlink()
    unknown = list(check_rows([recorded]))

    assert sentence(refused, 'write accept_license = "tiny-open-weights"')[0] is False
    assert sentence(half, "under each model with these weights")[0] is False
    assert sentence(accepted, "accepted in the file, fetched 2026-11-24")[0]
    assert sentence(unknown, "read it yourself")[0]


@pytest.mark.parametrize(
    ("card", "good", "words"), [(79.1, True, "it fits"), (23.6, False, 'storage = "float8_e4m3fn"')]
)
def test_memory_is_summed_for_the_card(card: float, good: bool, words: str) -> None:
    """With the setting that would fit."""
    ((fits, what),) = check_memory([ROW], card)

    assert fits == good
    assert words in what


def test_the_command_plans_without_torch_card_or_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`reelbook weights plan`: the sum of each row, and for each card what to write."""
    monkeypatch.setattr(weights_command, "read_rows", lambda path: [ROW])

    status = cli.main(["weights", "plan", "models.toml", "--card", "24", "80"])

    first, small, large = capsys.readouterr().out.splitlines()
    assert status == 0
    assert "38.8 GiB = transformer 24.3 + text encoder 8.9" in first
    assert small.startswith("  24 GiB: ")
    assert large.endswith("the card has 80.0: it fits")


def test_the_doctor_prints_the_findings_of_the_weights(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], recorded: WeightsRow
) -> None:
    """In the form of all its findings, and with status 1 where one is bad."""
    monkeypatch.setattr(weights_command, "read_rows", lambda path: [recorded])

    status = cli.main(["doctor", "--weights", "models.toml", "--deep"])

    lines = capsys.readouterr().out.splitlines()
    assert status == 1
    assert {line[:5] for line in lines} == {"ok   ", "BAD  "}
    assert any("have the hash that was recorded" in line for line in lines)


@pytest.mark.parametrize("card", ["-5", "nan", "inf", "0", "large"])
def test_a_card_is_a_number_of_gibibytes(card: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Any other word is refused before the file is read."""
    with pytest.raises(SystemExit):
        cli.main(["weights", "plan", "models.toml", "--card", card])

    assert f"such as 24, and not '{card}'" in capsys.readouterr().err
