"""The check of an installation: complete on a good one, and plain about what is missing."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from reelbook import doctor
from reelbook.doctor import Finding, check_models_file, run_checks
from reelbook.errors import Unreachable
from reelbook.models.catalog import CATALOG
from reelbook.transport.service_calls import NO_REQUEST
from tests.support import Served
from tests.transport.variants import Hosted, Reply

# In one worker, so that the run is made once.


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[Finding]]]:
    """What the doctor finds on this machine, with a hosted service set up that must be left alone; and where it worked."""
    folder = tmp_path_factory.mktemp("doctor")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        patch.setenv("REELBOOK_URL", "http://127.0.0.1:9")
        patch.setenv("REELBOOK_LIBRARY", str(folder / "own-library"))
        yield folder, list(run_checks())


def sentence(found: Sequence[Finding], part: str) -> str:
    (told,) = [what for _, what in found if part in what]
    return told


def test_this_machine_is_healthy(here: tuple[Path, list[Finding]]) -> None:
    """Here, where the tests run, every part is good."""
    _, found = here

    assert [what for good, what in found if not good] == []


def test_it_looks_at_all_that_a_first_run_needs(here: tuple[Path, list[Finding]]) -> None:
    """Python, each package, the encoder, the service, and a real run of nine frames."""
    _, found = here

    version = ".".join(map(str, sys.version_info[:3]))
    assert sentence(found, "Python").startswith(f"Python {version}")
    assert sentence(found, "httpx ")
    assert sentence(found, "encoder") == "H.264 encoder: libx264"
    assert "embedded service at http://127.0.0.1:" in sentence(found, "embedded service")
    assert sentence(found, "a run of nine frames").endswith(" s")


def test_it_leaves_nothing_behind(here: tuple[Path, list[Finding]]) -> None:
    """Its library is thrown away, and the person's own is not touched."""
    folder, _ = here

    assert list(folder.iterdir()) == []


def test_a_missing_package_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is said together with the command that brings it."""
    monkeypatch.setattr(doctor, "PACKAGES", ("httpx", "no-such-package-here"))
    monkeypatch.setattr(doctor, "_first_run", lambda: iter(()))

    found = list(run_checks())

    assert (False, "no-such-package-here is missing: pip install no-such-package-here") in found
    assert any(good and what.startswith("httpx ") for good, what in found)


def test_a_first_run_that_fails_is_told_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is the sentence of the error, not a traceback."""

    def refuse(*arguments: object) -> None:
        raise Unreachable("http://127.0.0.1:1", "connection refused")

    monkeypatch.setattr("reelbook.client.Client.__init__", refuse)

    *_, (good, what) = run_checks()

    assert not good
    assert what.startswith("Nothing answered at http://127.0.0.1:1 (connection refused).")


def test_a_models_file_is_checked_at_no_cost(shared: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who runs which model, whether the service elsewhere answers and takes the key; and a file that is wrong, in a sentence."""
    served = shared.with_own_account(500)
    monkeypatch.setenv("TEACHER_KEY", served.key)
    path = tmp_path / "models.toml"
    path.write_text(
        f'[services.paid]\naddress = "{served.base_url}"\nkey = "env:TEACHER_KEY"\n[models."svc/smart-resize"]\nengine = "hosted"\n'
    )

    found = list(check_models_file(path))
    monkeypatch.setenv("TEACHER_KEY", "another")
    refused = list(check_models_file(path))
    path.write_text("")
    wrong = list(check_models_file(path))

    assert all(good for good, _ in found)
    assert "svc/smart-resize is run by the service 'paid' at 127.0.0.1" in sentence(found, "smart-resize")
    assert "svc/text-to-video-13b-distilled is run by this machine" in sentence(found, "text-to-video-13b")
    assert "500 credits are left" in sentence(found, "answers and offers")
    assert served.key not in str(found)
    assert [good for good, _ in refused].count(False) == 1
    assert "key" in next(what for good, what in refused if not good)
    assert [good for good, _ in wrong] == [False]
    assert served.charges() == []


def check_service(path: Path, monkeypatch: pytest.MonkeyPatch, address: str, key: str) -> Finding:
    monkeypatch.setenv("TEACHER_KEY", key)
    service = f'[services.paid]\naddress = "{address}"\nkey = "env:TEACHER_KEY"\n'
    path.write_text(service + '[models."*"]\nengine = "hosted"\n')
    return list(check_models_file(path))[-1]


def test_only_a_service_that_shows_it_counts_as_checked(
    shared: Served, shared_spec_only: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path where nothing speaks the API is bad, with any key; a service without accounts refuses a wrong key elsewhere."""
    check = partial(check_service, tmp_path / "models.toml", monkeypatch)
    for served in (shared, shared_spec_only):
        for key, under in ((served.key, "/api"), ("another", "/nonsense"), (served.key, "/docs")):
            good, what = check(served.base_url + under, key)
            assert (good, "nothing at this address speaks the API" in what) == (False, True)
        assert check(served.base_url, "another")[0] is False
    good, what = check(shared_spec_only.base_url, shared_spec_only.key)
    assert good
    assert what.endswith("it does not refuse the key, nor say how many credits are left")


def test_a_gateway_that_refuses_a_key_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may answer every address with 403, also that of the account, which the specification does not have."""
    with Hosted() as hosted:
        check = partial(check_service, tmp_path / "models.toml", monkeypatch, hosted.base_url)
        for path in ("/account", f"/{CATALOG[0].id}/requests/{NO_REQUEST}/status"):
            hosted.on("GET", path, lambda received: Reply(404 if received.headers["x-api-key"] == "mine" else 403))
        hosted.on("GET", "/models/openapi.json", {"openapi": "3.1.0", "paths": {}})
        findings = [check("mine"), check("another")]

    assert [good for good, _ in findings] == [True, False]
