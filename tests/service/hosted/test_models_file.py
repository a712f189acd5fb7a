"""The file models.toml: what it may say, and that it never gives away a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from reelbook.errors import ReelbookError
from reelbook_service.hosted.models_file import BadModelsFile, read_models_file
from reelbook_service.hosted.paid_service import read_key
from tests.faults.canary import Canary

CANARY = Canary()
TEXT, RESIZE = "svc/text-to-video-13b-distilled", "svc/smart-resize"
MOVE = "svc/video-gen/v2.1/master/image-to-video"
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
