"""A library that is taken away while it is in use: the wait for it ends, and what was paid is written down where it can be."""

from __future__ import annotations

import shutil
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import reelbook as rb
from reelbook.errors import LibraryError
from reelbook.runs.submission import ClientContext
from reelbook.storage.ledger import claims, connection, crash_recovery, second_copy, transitions, writer
from reelbook.storage.ledger.claims import RunRequest
from reelbook.storage.ledger.transitions import State
from reelbook.storage.ledger.unavailable import LibraryGone
from reelbook.storage.ledger.writer import Ledger
from tests.support import Served, as_data_uri, png

Away = Callable[[Path], None]


def replaced(folder: Path, other: Callable[[Path], object]) -> None:
    folder.rename(folder.with_name("moved"))
    other(folder)


AWAY: dict[str, Away] = {
    "moved": lambda folder: replaced(folder, lambda _: None),
    "deleted": shutil.rmtree,
    "a file in its place": lambda folder: replaced(folder, Path.touch),
    "an empty folder in its place": lambda folder: replaced(folder, Path.mkdir),
    "another library in its place": lambda folder: replaced(folder, lambda place: Ledger(place).close()),
    "its parent deleted": lambda folder: shutil.rmtree(folder.parent),
}


def paid(one: Ledger, name: str, request: str) -> int:
    asked = RunRequest("svc", name, "m", "{}", 5, False, True)
    run = one.transact_now(lambda db: claims.find_or_claim(db, asked, one, key=None)).entry
    line = crash_recovery.make_acceptance(run, request)
    one.submit(lambda db: transitions.mark_accepted(db, run.id, request), line=line).result(30)
    return run.id


@pytest.mark.parametrize("case", AWAY)
def test_what_was_paid_is_written_down_elsewhere(
    tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Nothing is made at its place while it may come back; after a while it is said, and where the requests are."""
    folder = tmp_path / "project" / "library"
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    one = Ledger(folder)
    paid(one, "boat", "r-1")
    AWAY[case](folder)
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(LibraryError, match="connect again to begin"):
        one.transact_now(lambda db: None)
    untouched, hope = sorted(tmp_path.rglob("*")), one.report_gone()
    monkeypatch.setattr(writer, "GONE_SECONDS", 0.0)
    gone = one.report_gone()
    one.close()

    assert untouched == before
    assert hope is None
    assert isinstance(gone, LibraryGone)
    assert gone.log is not None
    assert gone.log in str(gone)
    assert b'"request_id": "r-1"' in Path(gone.log).read_bytes()
    if case == "deleted":
        with pytest.warns(UserWarning, match="1 paid runs were put back"):
            again = Ledger(folder)
        again.close()


def test_one_that_comes_back_goes_on(tmp_path: Path) -> None:
    """A disk that was away for a moment."""
    folder = tmp_path / "library"
    one = Ledger(folder)
    paid(one, "boat", "r-1")
    folder.rename(tmp_path / "moved")
    with pytest.raises(LibraryError, match="moved or deleted"):
        one.transact_now(lambda db: None)

    (tmp_path / "moved").rename(folder)

    assert paid(one, "ship", "r-2") == 2
    assert one.report_gone() is None
    one.close()
    assert [line["request_id"] for line in second_copy.read_lines(folder)] == ["r-1", "r-2"]


def test_another_library_gets_nothing_of_this_one(tmp_path: Path) -> None:
    """Its run 1 is another run."""
    one, other = Ledger(tmp_path / "library"), Ledger(tmp_path / "other")
    run = paid(one, "boat", "r-1")
    paid(other, "ship", "r-2")
    other.close()
    (tmp_path / "library").rename(tmp_path / "moved")
    (tmp_path / "other").rename(tmp_path / "library")

    with pytest.raises(LibraryError, match="another library was put in its place"):
        one.transact_now(lambda db: transitions.mark_completed(db, run, "{}", 5, None, None))
    one.close()

    again = Ledger(tmp_path / "library")
    assert again.read(lambda db: transitions.get_entry(db, 1)).state == State.ACCEPTED
    again.close()


SWEPT = ["deleted", *(pytest.param(case, marks=pytest.mark.deep) for case in ("moved", "another library in its place"))]


@pytest.mark.parametrize("case", SWEPT)
def test_a_sweep_ends(
    shared_spec_only: Served,
    tmp_path: Path,
    case: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It says why and where the requests are; once there is a library again, no run is paid for twice.

    The service knows no keys of repetition: what is sent twice is paid twice.
    """
    folder, served = tmp_path / "library", shared_spec_only.with_own_account()
    monkeypatch.setattr(writer, "GONE_SECONDS", 0.3)
    monkeypatch.setattr("reelbook.runs.submission.RECORD_RETRY_SECONDS", 0.1)
    plan = rb.sweep(rb.ImagesToVideo(images=[as_data_uri(png(16, 16))]), fps=[1, 2, 3])
    away = threading.Event()
    record = ClientContext.record

    async def taken_away(context: ClientContext, work: object, **others: object) -> None:
        """The library goes at the very moment when the first answer has come."""
        if not away.is_set():
            away.set()
            AWAY[case](folder)
        await record(context, work, **others)  # type: ignore[arg-type]

    with monkeypatch.context() as patch, rb.connect(served.base_url, api_key=served.key, library=folder):
        patch.setattr(ClientContext, "record", taken_away)
        with pytest.raises(LibraryGone) as ended:
            plan.run(budget=plan.credits)

    assert "so nothing more is sent and the wait ends" in str(ended.value)
    assert "The sweep has stopped" in caplog.text
    logs = (folder / second_copy.NAME, tmp_path / f"library-{second_copy.NAME}")
    written = next(log.read_bytes() for log in reversed(logs) if log.exists())
    # A person does what the sentence says.
    shutil.rmtree(folder, ignore_errors=True)
    back = tmp_path / "moved" if (tmp_path / "moved").exists() else folder
    back.mkdir(exist_ok=True)
    with (back / second_copy.NAME).open("ab") as log:
        log.write(written)
    back.rename(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = rb.connect(served.base_url, api_key=served.key, library=folder)
    with client:
        plan.run(budget=plan.credits)

    assert sum(line["kind"] == "reserve" for line in served.charges()) == 3
    assert (folder / connection.NAME).exists()
