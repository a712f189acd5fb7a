"""`reelbook weights fetch`: pinned, licensed, checked file by file, and resumed; against a fake hub on loopback."""

from __future__ import annotations

import builtins
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from reelbook import cli
from reelbook_service.weights.config import BadWeights, LtxWeights
from reelbook_service.weights.fetch import Target, check_space, fetch, list_files, list_targets
from reelbook_service.weights.folder import RECORD_NAME
from tests.weights.loopback_hub import COMMIT, FILES, WANTED, LoopbackHub


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """The fake hub; the library may dial, and only this far."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    hub = LoopbackHub()
    yield hub
    hub.close()


def row(folder: Path, **changes: Any) -> LtxWeights:
    usual = LtxWeights(
        endpoint_id="svc/text-to-video-13b-distilled", folder=folder, repository="tiny/ltx", revision=COMMIT,
        accept_license="tiny-open-weights",
    )  # fmt: skip
    return usual.changed(**changes)


def fetched(hub: LoopbackHub, row: LtxWeights, loras: tuple[str, ...] = ()) -> Target:
    """Everything that the command does for the last target of a row."""
    from huggingface_hub import HfApi

    api, target = HfApi(endpoint=hub.url), list_targets([row], loras)[-1]
    list_files(api, target)
    check_space(target)
    fetch(api, target)
    return target


def names(folder: Path) -> set[str]:
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if path.parts[0] != ".cache" and path.name != RECORD_NAME}


def test_a_folder_is_fetched_whole_and_recorded(hub: LoopbackHub, tmp_path: Path) -> None:
    """Every wanted file, byte for byte; no pickle, no program, no second copy; and a record with the hub's hashes."""
    target = fetched(hub, row(tmp_path / "ltx"))

    record = json.loads((tmp_path / "ltx" / RECORD_NAME).read_text())
    assert names(tmp_path / "ltx") == WANTED
    assert all((tmp_path / "ltx" / name).read_bytes() == FILES[name] for name in WANTED)
    assert record["files"] == {name: hub.digest(name) for name in WANTED}
    assert (record["repository"], record["revision"], record["license"], record["accepted"]) == (
        "tiny/ltx", COMMIT, "tiny-open-weights", "tiny-open-weights",
    )  # fmt: skip
    assert target.missing == sum(len(FILES[name]) for name in WANTED)
    assert not set(hub.fetched()) - WANTED


def test_a_second_fetch_checks_and_brings_nothing(hub: LoopbackHub, tmp_path: Path) -> None:
    """What is there is hashed, not downloaded; a byte that changed on the disk is found, and only its file comes with the next fetch."""
    fetched(hub, row(tmp_path / "ltx"))
    hub.asked.clear()
    fetched(hub, row(tmp_path / "ltx"))
    again = [name for name in hub.fetched() if name.endswith(".safetensors")]
    path = tmp_path / "ltx" / "vae/model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(BadWeights, match="1 of 8 files were damaged"):
        fetched(hub, row(tmp_path / "ltx"))
    fetched(hub, row(tmp_path / "ltx"))

    assert again == []
    assert (tmp_path / "ltx" / RECORD_NAME).exists()
    assert [name for name in hub.fetched() if name.endswith(".safetensors")] == ["vae/model.safetensors"]
    assert path.read_bytes() == FILES["vae/model.safetensors"]


def test_a_flipped_byte_is_found_and_its_file_removed(hub: LoopbackHub, tmp_path: Path) -> None:
    """The library takes any content of the right length; the hash does not. The other files stay, and no record is written."""
    hub.flipped = {"vae/model.safetensors", "vae/config.json"}

    with pytest.raises(BadWeights, match=r"2 of 8 files were damaged .* vae/config.json, vae/model.safetensors"):
        fetched(hub, row(tmp_path / "ltx"))

    assert names(tmp_path / "ltx") == WANTED - hub.flipped
    assert not (tmp_path / "ltx" / RECORD_NAME).exists()
    hub.flipped = set()
    fetched(hub, row(tmp_path / "ltx"))
    assert names(tmp_path / "ltx") == WANTED


def test_a_killed_fetch_goes_on_by_file_and_removes_what_it_left(hub: LoopbackHub, tmp_path: Path) -> None:
    """The process is killed in the middle of a file: its part is an orphan, and the files before it are not fetched again."""
    hub.stalls = "transformer/model-2.safetensors"
    code = (
        "from pathlib import Path\nfrom tests.weights.test_fetch import fetched, row\n"
        f"class Hub: url = {hub.url!r}\nfetched(Hub, row(Path({str(tmp_path / 'ltx')!r})))"
    )
    environment = {"PATH": "", "HF_HOME": str(tmp_path / "home"), "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment)
    assert hub.halfway.wait(30)
    while not all((tmp_path / "ltx" / name).exists() for name in WANTED - {hub.stalls}):
        assert process.poll() is None
    process.kill()
    process.wait(30)
    orphans = list((tmp_path / "ltx").rglob("*.incomplete"))
    hub.stalls = None
    hub.asked.clear()

    fetched(hub, row(tmp_path / "ltx"))

    assert len(orphans) == 1
    assert list((tmp_path / "ltx").rglob("*.incomplete")) == []
    assert names(tmp_path / "ltx") == WANTED
    assert "transformer/model-1.safetensors" not in hub.fetched()
    assert "transformer/model-2.safetensors" in hub.fetched()


@pytest.mark.parametrize("token", [None, "hf_secret"])
def test_a_token_goes_to_the_hub_only_if_it_is_set(
    hub: LoopbackHub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    token: str | None,
) -> None:
    """Never to the storage that the hub redirects to, and into no file and no output."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    if token:
        monkeypatch.setenv("HF_TOKEN", token)

    fetched(hub, row(tmp_path / "ltx"))

    assert {sent for server, _, _, sent in hub.asked if server == "hub"} == {f"Bearer {token}" if token else None}
    assert {sent for server, _, _, sent in hub.asked if server == "storage"} == {None}
    assert not any(b"hf_secret" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert "hf_secret" not in "".join(capfd.readouterr())


@pytest.fixture
def command(hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command for a `models.toml` with one model, whose licence is accepted by this word."""
    from huggingface_hub import HfApi

    file = tmp_path / "models.toml"

    def run(*options: str, accepts: str = "tiny-open-weights") -> int:
        file.write_text(
            '[models."svc/text-to-video-13b-distilled"]\nengine = "diffusers"\nfamily = "ltx"\nfolder = "ltx"\n'
            f'upsampler = "up"\nrepository = "tiny/ltx"\nrevision = "{COMMIT}"\naccept_license = "{accepts}"\n'
        )
        return cli.main(["weights", "fetch", str(file), *options])

    monkeypatch.setattr("reelbook_service.weights.fetch.open_hub", lambda: HfApi(endpoint=hub.url))
    return run


@pytest.mark.parametrize(("answer", "status"), [("y", 0), ("", 1)])
def test_it_says_what_comes_and_asks(
    command: Callable[..., int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    status: int,
) -> None:
    """Files, sizes and licence first; without a yes nothing is written."""
    monkeypatch.setattr(builtins, "input", lambda question: print(question) or answer)

    assert command() == status

    out = capsys.readouterr().out
    assert "tiny/ltx at 0123456789ab →" in out
    assert "8 files, 408 kB; to come: 408 kB\n  licence tiny-open-weights" in out
    assert (
        0
        < out.index("  licence tiny-open-weights, as stated there; please read it whole: LICENSE.md")
        < out.index("Fetch 408 kB?")
    )
    assert (tmp_path / "ltx" / "model_index.json").exists() == (status == 0)
    assert ("8 files, each with its hash" in out) == (status == 0)


def test_a_licence_that_is_not_accepted_ends_it(
    command: Callable[..., int], hub: LoopbackHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also with --yes: it is accepted in the file, and nowhere else."""
    assert command("--yes", accepts="") == 1

    assert 'accept_license = "tiny-open-weights"' in capsys.readouterr().err
    assert names(tmp_path / "ltx") == set()
    assert set(hub.fetched()) <= {"README.md"}


def test_a_hub_that_cannot_be_reached_is_one_sentence(
    command: Callable[..., int],
    hub: LoopbackHub,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What to look at, and nothing of the attempts, between which the library waits for half a minute in all."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    hub.close()

    assert command("--yes") == 1

    err = f"reelbook: {urlsplit(hub.url).netloc} cannot be reached; check the network. What has arrived stays: run the command again.\n"
    assert (capsys.readouterr().err, caplog.messages) == (err, [])
