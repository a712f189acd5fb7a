"""Actions on the accounts of a folder: by the running service, by its secret alone, or directly where none runs."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reelbook_service import administration
from reelbook_service.administration import HEADER, PATH, Administration, AdministrationError, administer
from reelbook_service.store import FolderLock
from tests.support import Serve, Served

ADD: dict[str, Any] = {"action": "add", "students": [{"name": "Ada", "budget": 530}]}
REPORT = {"action": "report"}


def folder_of(served: Served) -> Path:
    return served.server.service.settings.data


def test_a_running_service_and_a_stopped_one_are_administered_alike(serve: Serve, tmp_path: Path) -> None:
    """What is done while nobody serves is there at the next start, keys included, and the other way round."""
    data = tmp_path / "data"
    running = serve(data=data, workers=1)
    added = administer(data, ADD)
    key = added["keys"][0]["key"]
    assert running.get("/account", key).json()["credits_available"] == 530
    running.server.stop()

    replaced = administer(data, {"action": "replace", "names": ["Ada"]})["keys"][0]["key"]
    stopped = administer(data, REPORT)

    again = serve(data=data, workers=1)
    assert again.get("/account", key).status_code == 401
    assert again.get("/account", replaced).status_code == 200
    assert administer(data, REPORT) == stopped


def test_only_the_owner_of_the_folder_can_read_the_secret(serve: Serve) -> None:
    """The file is private, the secret long and new at each start, and no answer has it."""
    served = serve(workers=1)
    path = folder_of(served) / administration.FILE

    found = Administration.read(folder_of(served))

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert found is not None
    assert len(found.secret) >= 40
    assert found.secret not in repr(found)
    assert all(found.secret not in served.get(page).text for page in ("/", "/docs", "/openapi.json", "/account"))


@pytest.mark.parametrize("secret", [None, "", "wrong", "test-key", "\u00e9"])
def test_without_the_secret_nothing_is_done(shared: Served, secret: str | None) -> None:
    """A student's key is no secret of the service, either."""
    headers = [("x-api-key", shared.key.encode())]
    if secret is not None:
        headers.append((HEADER, secret.encode()))

    response = shared.http.post(PATH, json=ADD, headers=[(name.encode(), value) for name, value in headers])

    assert response.status_code == 401
    assert response.json()["error_type"] == "unauthorized"


def test_a_page_of_another_origin_may_not_call_it(shared: Served) -> None:
    """Not even with the secret."""
    found = Administration.read(folder_of(shared))
    assert found is not None

    response = shared.http.post(PATH, json=REPORT, headers={HEADER: found.secret, "origin": "http://example.org"})

    assert response.status_code == 403


def test_a_service_that_shows_only_the_specification_says_so(shared_spec_only: Served) -> None:
    """It has no such address; it is stopped for a change."""
    with pytest.raises(AdministrationError, match="only what the specification shows"):
        administer(folder_of(shared_spec_only), REPORT)


def test_a_folder_without_a_service_is_named(tmp_path: Path) -> None:
    """Nothing is made in a folder that was mistyped."""
    with pytest.raises(AdministrationError, match="There is no service in"):
        administer(tmp_path / "typo", ADD)

    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_use_that_does_not_answer_is_left_alone(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second writer would leave old keys valid in the memory of the first."""
    monkeypatch.setattr(administration, "JOIN_SECONDS", 0.0)
    data = tmp_path / "data"
    serve(data=data, workers=1).server.stop()
    lock = FolderLock(data)

    with pytest.raises(AdministrationError, match="does not answer"):
        administer(data, ADD)
    lock.release()

    assert administer(data, REPORT)["rows"] == []


def test_a_secret_of_an_earlier_start_is_read_again(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two starts the file may still be that of the first one; the command tries again."""
    served = serve(workers=1)
    good = Administration.read(folder_of(served))
    assert good is not None
    answers = [Administration(good.base_url, "old"), good]
    read: Callable[[Path], Administration | None] = lambda data: answers.pop(0)  # noqa: E731
    monkeypatch.setattr(Administration, "read", read)

    assert administer(folder_of(served), REPORT) == {"rows": []}
    assert answers == []
