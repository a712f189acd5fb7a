"""A ledger and a list of accepted requests that come from different times: what either knows is not paid for again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import reelbook as rb
from reelbook.storage.ledger import (
    accepted as accepted_list,
)
from reelbook.storage.ledger import (
    claims,
    connection,
    transitions,
)
from reelbook.storage.ledger.claims import RunRequest
from reelbook.storage.ledger.transitions import Entry, State
from reelbook.storage.ledger.writer import Ledger
from tests.support import Served, as_data_uri, png

RUNS = 12
LEDGER, LOG = connection.NAME, accepted_list.NAME

Copies = Callable[[int], tuple[Path, Path]]


def begun(ledger: Ledger, name: str) -> claims.Verdict:
    """What is to be done about a run; its row is claimed where it is to be paid for."""
    asked = RunRequest("svc", name, "m", json.dumps({"prompt": name}), 5, False, True)
    return ledger.transact_now(lambda db: claims.find_or_claim(db, asked, ledger, key=None))


def accepted(ledger: Ledger, run: Entry) -> None:
    """A claimed run is paid for now."""
    request = f"request {run.attempt} of {run.identity}"
    line = claims.make_acceptance(run, request)
    ledger.submit(lambda db: transitions.mark_accepted(db, run.id, request), line=line).result(30)


def paid(ledger: Ledger, name: str) -> None:
    """A run that is paid for now, and that nobody is at."""
    verdict = begun(ledger, name)
    assert verdict.action == "send"
    accepted(ledger, verdict.entry)
    ledger.transact_now(lambda db: transitions.release(db, verdict.entry.id, ledger.owner))


def failed(ledger: Ledger, name: str) -> None:
    paid(ledger, name)
    run = begun(ledger, name).entry
    ledger.transact_now(lambda db: transitions.mark_ended(db, run.id, State.FAILED, "broken", "It broke.", None))


def known(folder: Path) -> dict[str, tuple[str, str | None]]:
    """What is to be done about each of the runs, and the request that it is."""
    ledger = Ledger(folder)
    try:
        found = {name: begun(ledger, name) for name in map(str, range(RUNS))}
        return {name: (verdict.action, verdict.entry.request_id) for name, verdict in found.items()}
    finally:
        ledger.close()


FOLLOWED = {str(number): ("follow", f"request 1 of {number}") for number in range(RUNS)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of paid runs, and copies of it from the times when there were only some of them."""
    place = tmp_path_factory.mktemp("made")
    ledger = Ledger(place / "library")
    for number in range(RUNS):
        shutil.copytree(place / "library", place / str(number))
        paid(ledger, str(number))
    ledger.close()
    return place


@pytest.fixture
def copies(made: Path, tmp_path: Path) -> Copies:
    """Gives such a library, to be hurt, and the copy of when it had so many runs."""

    def copied(runs: int) -> tuple[Path, Path]:
        place = tmp_path / f"{len([*tmp_path.iterdir()])}"
        shutil.copytree(made / str(runs), place / "copy")
        return shutil.copytree(made / "library", place / "library"), place / "copy"

    return copied


@pytest.mark.parametrize("copied_at", [0, 1, RUNS - 1])
def test_a_ledger_out_of_a_copy_learns_what_the_log_knows(
    copies: Copies, copied_at: int, caplog: pytest.LogCaptureFixture
) -> None:
    """All runs are known before anything is sent, and the person reads once that it happened."""
    folder, copy = copies(copied_at)
    shutil.copy(copy / LEDGER, folder / LEDGER)

    found = [known(folder), known(folder)]

    assert found == [FOLLOWED, FOLLOWED]
    (record,) = caplog.records
    assert f"{RUNS - copied_at} paid run" in record.getMessage()


def test_a_ledger_that_is_restored_under_an_open_library(copies: Copies, caplog: pytest.LogCaptureFixture) -> None:
    """The next step that would send something is too late to be the first one that looks."""
    folder, copy = copies(4)
    ledger = Ledger(folder)
    (folder / LEDGER).write_bytes((copy / LEDGER).read_bytes())

    found = [begun(ledger, str(number)) for number in range(RUNS)]
    fresh = begun(ledger, "another")
    ledger.close()

    assert [(one.action, one.entry.request_id) for one in found] == [*FOLLOWED.values()]
    assert fresh.entry.id > RUNS  # A number that a lost run had belongs to nobody else.
    assert f"{RUNS - 4} paid runs were put back" in caplog.text


@pytest.mark.parametrize("before", ["planned", "claimed", "being sent", "refused", "failed"])
def test_a_row_out_of_a_copy_goes_on_to_what_the_log_knows(tmp_path: Path, before: str) -> None:
    """What the row was when the copy was made; the latest request is followed, and what earlier ones cost is counted."""
    folder, copy = tmp_path / "library", tmp_path / "copy"
    ledger = Ledger(folder)
    if before == "failed":
        failed(ledger, "boat")
    else:
        run = begun(ledger, "boat").entry
        if before in ("being sent", "refused"):
            ledger.transact_now(lambda db: transitions.mark_sending(db, run.id, ledger.owner, None))
        if before == "refused":
            ledger.transact_now(lambda db: transitions.mark_rejected(db, run.id, "refused", "No."))
        if before == "planned":
            ledger.transact_now(lambda db: transitions.mark_unsent(db, run.id))
    shutil.copytree(folder, copy)
    if before in ("claimed", "being sent"):
        accepted(ledger, run)
    else:
        paid(ledger, "boat")
    ledger.close()
    shutil.copy(copy / LEDGER, folder / LEDGER)

    again = Ledger(folder)
    found = begun(again, "boat")
    again.close()

    assert found.action == "follow"
    assert found.entry.request_id == f"request {found.entry.attempt} of boat"
    assert found.entry.spent == (5 if before == "failed" else 0)


@pytest.mark.deep
def test_no_run_is_paid_again(shared_spec_only: Served, tmp_path: Path) -> None:
    """With a service: the ledger of before is put back, and every result is fetched at no cost."""
    served, folder = shared_spec_only.with_own_account(), tmp_path / "library"
    requests = [rb.ImagesToVideo(images=[as_data_uri(png(16, 16))], fps=fps) for fps in (1, 2, 3)]
    with rb.connect(served.base_url, api_key=served.key, library=folder):
        rb.run(requests[0])
        before = (folder / LEDGER).read_bytes()
        first = [rb.run(request).request_id for request in requests]
    (folder / LEDGER).write_bytes(before)

    with rb.connect(served.base_url, api_key=served.key, library=folder):
        again = [rb.run(request).request_id for request in requests]

    assert again == first
    assert sum(line["kind"] == "reserve" for line in served.charges()) == len(requests)
