"""The file models.toml: what it may say of services and of weights here, and that it never gives away a key."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import reelbook as rb
from reelbook import cli
from reelbook.errors import ReelbookError, RunFailed
from reelbook_service.hosted import models_file
from reelbook_service.hosted.models_file import BadModelsFile, make_lane_table, read_models_file
from reelbook_service.hosted.paid_service import read_key
from reelbook_service.weights import folder as weights_folder
from reelbook_service.weights.config import LoRAFolders, LtxWeights, SafetyCheck
from tests.faults.canary import Canary
from tests.support import MOVE, RESIZE, TEXT

CANARY = Canary()
SERVICE = '[services.paid]\naddress = "https://host.example/api"\nkey = "env:TEACHER_KEY"\n'
ALL = '[models."*"]\nengine = "hosted"\nservice = "paid"\n'
LTX = 'engine = "diffusers"\nfamily = "ltx"\nfolder = "weights/ltx"\n'
ROW = f'[models."{TEXT}"]\n{LTX}'


@pytest.fixture(autouse=True)
def _teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEACHER_KEY", CANARY.key)


def written(folder: Path, text: str) -> Path:
    path = folder / "models.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(BadModelsFile) as caught:
        read_models_file(written(folder, text))
    assert CANARY.found_in_error(caught.value) == []
    return str(caught.value)


def test_the_more_exact_name_wins(tmp_path: Path) -> None:
    """An id counts before `*`, whatever their order; what is not named is local."""
    exact = f'[models."{RESIZE}"]\nengine = "local"\n'
    one = f'[models."{TEXT}"]\nengine = "hosted"\n'

    for text in (SERVICE + exact + ALL, SERVICE + ALL + exact):
        hosted = read_models_file(written(tmp_path, text)).hosted
        assert RESIZE not in hosted
        assert len(hosted) == 3
    assert read_models_file(written(tmp_path, SERVICE + one)).hosted == {TEXT: "paid"}


def test_a_service_has_its_settings(tmp_path: Path) -> None:
    """Address, key, and how many runs at once: eight unless the file says otherwise."""
    usual = read_models_file(written(tmp_path, SERVICE + ALL)).services["paid"]
    other = read_models_file(written(tmp_path, SERVICE + "at_once = 3\ncharges_failures = false\n" + ALL)).services[
        "paid"
    ]

    assert (usual.address, usual.host, usual.at_once, usual.charges_failures) == ("https://host.example/api", "host.example", 8, True)  # fmt: skip
    assert (other.at_once, other.charges_failures) == (3, False)
    assert CANARY.found_about(usual, read_models_file(written(tmp_path, SERVICE + ALL))) == []


REFUSALS = [
    ("", "names no model"),
    (SERVICE, "names no model"),
    (SERVICE + "[models.'*'", "could not be read"),
    (SERVICE + '[models."svc/text-to-vidio"]\nengine = "local"\n', "is not one of '*', 'svc/text-to"),
    (SERVICE + '[models."*"]\nengine = "cloud"\n', "is not one of 'local', 'hosted', 'diffusers'"),
    (SERVICE + '[models."*"]\nengine = "diffusers"\n', "each by its full name"),
    (SERVICE + '[models."*"]\nengine = "hosted"\nservice = "piad"\n', "one of the services in this file (paid)"),
    (SERVICE + '[models."*"]\nengine = "local"\nservice = "paid"\n', "with any other, leave it out"),
    (SERVICE + "at_ones = 3\n" + ALL, "Did you mean `at_once`?"),
    (SERVICE + "at_once = 0\n" + ALL, "is outside 1 to 256"),
    (SERVICE + "charges_failures = 1\n" + ALL, "needs True or False"),
    ("[service.paid]\n" + ALL, "Did you mean `services`?"),
    ("[services.paid]\nkey = 'env:TEACHER_KEY'\n" + ALL, "`address` is required"),
    ("[services.paid]\naddress = 'https://host'\n" + ALL, "`key` is required"),
    ("[services.'a b']\naddress = 'https://host'\nkey = 'env:TEACHER_KEY'\n" + ALL, "does not have the form"),
    (SERVICE.replace("https", "ftp") + ALL, 'address is "https://host'),
    (SERVICE.replace("host.example", "host.example:notaport") + ALL, 'address is "https://host'),
    ("services = 3\n" + ALL, "holds tables"),
    (ALL, "none yet: write [services.NAME]"),
    # Weights.
    (ROW + 'famly = "ltx"\n', "Did you mean `family`?"),
    (ROW.replace('"ltx"\nf', '"ltx2"\nf'), "`family` is 'ltx', or 'wan' for image to video only"),
    (ROW.replace('family = "ltx"\n', ""), "`family` is 'ltx', or 'wan' for image to video only"),
    (ROW.replace('folder = "weights/ltx"\n', ""), "`folder` is required"),
    (
        ROW.replace('"ltx"\nf', '"wan"\nf') + 'upsampler = "up"\n',
        "wan is for image to video only; text to video runs on ltx",
    ),
    (ROW + 'repository = "tiny/ltx"\nrevision = "main"\n', "is a commit, 40 hex digits, and not 'main'"),
    (ROW + 'upsampler = "up"\nupsampler_repository = "…"\n', 'is "organisation/name"'),
    (f'[models."svc/smart-resize"]\n{LTX}', "weights run only"),
    (f'[models."svc/no-such-model"]\n{LTX}', "is not one of '*', 'svc/text-to"),
    (ROW + 'device = "gpu"\n', "`device` = 'gpu': write \"cuda:0\" for the first GPU"),
    (ROW + "device = 0\n", 'write "cuda:0" for the first GPU'),
    (ROW + 'device = ["cpu", "cpu"]\n', "name each device once"),
    (ROW + 'device = "dask:scheduler"\n', "dask:tcp://HOST:PORT"),
    (ROW + 'device = ["cuda:0", "dask:tcp://there:8786"]\n', 'or "dask:tcp://HOST:PORT"'),
    (ROW + 'dtype = "int4"\n', "is not one of 'bfloat16'"),
    (ROW + "downscale = 2\n", "is outside 0.25 to 1"),
    (ROW + "guidance = [1, nan]\n", "is outside 0 to 100"),
    (f'[models."{MOVE}"]\n{LTX}upsampler = "up"\n'.replace('"ltx"\nf', '"wan"\nf'), "no field `upsampler`"),
    (ROW + "[loras]\nfolder = 'x'\n", "Did you mean `folders`?"),
    (ROW + "[safety]\nlabel = 'bad'\n", "`safety.folder` is required"),
    (ROW + "[safety]\nfolder = 'check'\nthreshold = 3\n", "is outside 0 to 1"),
    (ROW + f'device = ["cpu", "cuda:0"]\n[models."{MOVE}"]\n{LTX}device = "cpu"\n', "name the same devices"),
]


def test_what_cannot_be_used_is_refused_in_words(tmp_path: Path) -> None:
    """Each with the place in the file, and the nearest that would do."""
    for text, words in REFUSALS:
        assert words in refusal(tmp_path, text)


QUOTED = CANARY.spellings["quoted"][0]
KEYS = [
    f"[services.paid]\naddress = 'https://host'\nkey = '{CANARY.key}'\n" + ALL,
    f"[services.paid]\naddress = 'https://host'\nkey = 'env:{CANARY.key}'\n" + ALL,
    f"[services.paid]\naddress = 'https://host'\nkey = 'keyring:{CANARY.key}'\n" + ALL,
    f"[services.paid]\naddress = 'https://host'\nkey = ['{CANARY.key}']\n" + ALL,
    f"[services.paid]\naddress = 'https://host'\napi_key = '{CANARY.key}'\n" + ALL,
    f"[services.paid]\naddress = 'https://host'\nkey = {CANARY.key}\n" + ALL,
    f"[services]\nkey = '{CANARY.key}'\n" + ALL,
    f"services = '{CANARY.key}'\n" + ALL,
    "[services.paid]\naddress = 'https://host'\nkey = 'file:'\n" + ALL,
    f"[services.paid]\naddress = 'https://me:{QUOTED}@host'\nkey = 'env:TEACHER_KEY'\n" + ALL,
    f"[services.paid]\naddress = 'https://host/?key={QUOTED}'\nkey = 'env:TEACHER_KEY'\n" + ALL,
]


def test_a_key_in_the_file_is_refused_and_not_repeated(tmp_path: Path) -> None:
    """Wherever it stands: in place of a reference, behind one, under another name, or in the address."""
    for text in KEYS:
        refusal(tmp_path, text)


def test_a_key_file_is_mine_alone(tmp_path: Path) -> None:
    """Relative to the folder of models.toml; refused if others can read it, or if it cannot be read or is empty."""
    path = tmp_path / "teacher.key"
    path.write_text(CANARY.key + "\n")
    (tmp_path / "empty").touch(mode=0o600)
    path.chmod(0o600)
    assert read_key("file:teacher.key", tmp_path).hide(CANARY.key) == "[key]"

    refusals = [(mode, "teacher.key", "chmod 600") for mode in (0o640, 0o604, 0o620)]
    refusals += [
        (0o600, "no-such-file", "cannot be read"),
        (0o600, ".", "cannot be read"),
        (0o600, "empty", "is empty"),
    ]
    for mode, name, words in refusals:
        path.chmod(mode)
        with pytest.raises(ReelbookError, match=words) as caught:
            read_key(f"file:{name}", tmp_path)
        assert CANARY.found_in_error(caught.value) == []


# Models on weights of this machine.


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
