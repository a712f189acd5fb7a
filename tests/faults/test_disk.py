"""Figure 6: on a disk that is full, shut, or without power nothing is sent that is not written down, and nothing is lost."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from reelbook.errors import LibraryError
from reelbook.storage.ledger import claims, writer
from reelbook.storage.ledger.writer import Ledger
from tests.faults.nursery import Child, Nursery
from tests.faults.spender import spend, spend_in_a_process
from tests.faults.standin import StandIn
from tests.faults.test_answers import BOAT
from tests.faults.torn_disk import Op, Tape, recorded
from tests.support import deep

NOBODY = 65534

Words = list[list[str]]


def heard(child: Child, in_trouble: Callable[[], object]) -> Words:
    """What a spender says, to its end; when it is in trouble, somebody helps."""
    said: Words = []
    for news in child:
        said.append(news.split())
        if said[-1][0] == "trouble":
            assert sum(words[0] == "trouble" for words in said) < 20, "it cannot be helped"
            in_trouble()
            child.say("go on")
    return said


def rows(folder: Path) -> dict[str, tuple[str, str | None]]:
    """State and request of each run, once the next process has put in order what was left."""
    ledger = Ledger(folder)
    try:
        return {
            str(run): (state, request)
            for run, state, request in ledger.read(
                lambda db: db.execute("SELECT id, state, request_id FROM runs").fetchall()
            )
        }
    finally:
        ledger.close()


def is_written_down(word: str, state: str, request: str | None) -> bool:
    """Whether the ledger knows of at least this step."""
    if word == "post":
        return state in ("sending", "uncertain", "accepted", "stored")
    return request is not None and (word == "accepted" or state == "stored")


def unknown(said: Words, known: dict[str, tuple[str, str | None]]) -> Words:
    """What was relied on and is not in the ledger."""
    steps = [words for words in said if words[0] in ("post", "accepted", "stored")]
    return [words for words in steps if not is_written_down(words[0], *known.get(words[1], ("nothing", None)))]


SMALL = ["-t", "tmpfs", "-o", "size=512k", "none"]
"""A disk of half a megabyte."""


@contextmanager
def mounted(place: Path, *mounts: list[str]) -> Iterator[bool]:
    """A folder with these mounts, one on the other; whether this user may make them."""
    place.mkdir()
    try:
        done = all(
            subprocess.run(["mount", *mount, place], capture_output=True, check=False).returncode == 0
            for mount in mounts
        )
    except OSError:
        done = False
    try:
        yield done
    finally:
        if done:
            subprocess.run(["umount", place], check=True)


@pytest.mark.parametrize("room", [-1, *deep((9000,), (0,), (1000,))])
def test_on_a_full_disk_nothing_is_sent_that_is_not_written_down(tmp_path: Path, room: int) -> None:
    """The sentence is clear, and the same process goes on when there is room.

    A file system of its own, until somebody deletes a file; or, where nobody may mount one, a limit on the size of files.
    """
    with mounted(tmp_path / "disk", SMALL) as is_mounted:
        is_disk = is_mounted and room < 0
        folder = tmp_path / "disk" / ".reelbook"
        ballast = tmp_path / "disk" / "ballast"
        ballast.write_bytes(bytes(330_000 if is_disk else 0))
        with Nursery() as nursery:
            most = None if is_disk else room if room >= 0 else 9000
            child = nursery.born(spend_in_a_process, folder=folder, runs=150 if is_disk else 25, room=most)
            said = heard(child, lambda: ballast.unlink(missing_ok=True))
        known = rows(folder)

    trouble = [" ".join(words) for words in said if words[0] == "trouble"]
    assert "Nothing was sent, and nothing was charged. Free some space there" in trouble[0]
    assert "the disk is full" in trouble[0] or not is_disk
    assert said[-1] == ["done"]
    assert unknown(said, known) == []
    assert {state for state, _ in known.values()} <= {"stored", "planned"}


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that every user may look into; pytest's own are for its user alone."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield Path(place)


def test_a_folder_that_cannot_be_written_is_said_so_and_nothing_is_sent(public: Path) -> None:
    """Another user's folder, or one without the right to write; once it is ours, the same process goes on."""
    folder = public / ".reelbook"
    Ledger(folder).close()
    here = os.getuid()
    spends = NOBODY if here == 0 else here
    _given(folder, user=here, mode=0o555)

    with Nursery() as nursery:
        child = nursery.born(spend_in_a_process, folder=folder, runs=3, user=NOBODY if here == 0 else None)
        said = heard(child, lambda: _given(folder, user=spends, mode=0o755))
    _given(folder, user=here, mode=0o755)

    assert [words[0] for words in said[:2]] == ["trouble", "open"]
    assert "cannot be written" in " ".join(said[0])
    assert [words[0] for words in said[2:]] == [*["post", "accepted", "stored"] * 3, "done"]
    assert unknown(said, rows(folder)) == []


def _given(folder: Path, *, user: int, mode: int) -> None:
    """Make a folder and all that is in it somebody's."""
    for path in (folder, *folder.rglob("*")):
        if os.getuid() == 0:
            os.chown(path, user, -1)
        path.chmod(mode if path.is_dir() else mode & 0o644)


def test_an_answer_that_comes_while_the_disk_is_full_is_written_down(tmp_path: Path) -> None:
    """It has the room that was kept for it; once there is more, the same cell goes on with it, and pays nothing."""
    boat = BOAT.revised(seed=1)
    with mounted(tmp_path / "disk", SMALL) as is_mounted, StandIn() as hosted:
        folder, ballast = tmp_path / "disk" / ".reelbook", tmp_path / "disk" / "ballast"
        if not is_mounted:
            pytest.skip("this user cannot mount a small disk")
        accept = hosted._accepted

        def accept_on_a_full_disk(told: Any) -> Any:
            with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
            return accept(told)

        hosted._accepted = accept_on_a_full_disk  # type: ignore[method-assign]
        with rb.connect(hosted.base_url, api_key="key", library=folder) as client:
            started = client.start(boat)
            known = client.ledger.read(lambda db: db.execute("SELECT state, request_id FROM runs").fetchall())
        ballast.unlink()
        with rb.connect(hosted.base_url, api_key="key", library=folder) as client:
            run = client.run(boat)

        assert (started.request_id, known) == ("r-0", [("accepted", "r-0")])
        assert (run.request_id, len(hosted.charges)) == ("r-0", 1)


# A power cut.


@contextmanager
def taped(folder: Path, runs: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tape]:
    """All that was written while so many runs were paid for."""
    append = claims.append_lines

    with recorded((writer.NAME, f"{writer.NAME}-journal")) as tape:

        def on_append(place: Path, lines: Any) -> None:
            path = place / claims.LIST_NAME
            size = path.stat().st_size
            append(place, lines)
            tape.ops.append(Op("write", path.name, size, path.read_bytes()[size:]))
            tape.ops.append(Op("sync", path.name))

        with monkeypatch.context() as patch:
            patch.setattr(claims, "append_lines", on_append)
            spend(folder, runs, tape.told)
    yield tape


def losses(tape: Tape, cuts: int, place: Path) -> list[str]:
    """Cut the power at so many moments; what was relied on and is gone, or what was taken for damage."""
    chance, found = random.Random(6), []
    moments = [chance.randrange(len(tape.ops)) for _ in range(cuts)]
    for number, moment in enumerate(moments):
        folder = place / f"cut-{number}"
        folder.mkdir()
        said = [list(words) for words in tape.cut(moment, chance, folder)]
        with warnings.catch_warnings(record=True) as complaints:
            warnings.simplefilter("always")
            try:
                missing = unknown(said, rows(folder))
            except LibraryError as error:
                missing = [*said, ["damaged", error.reason]]
        found += [f"{moment}: {words}" for words in missing] + [f"{moment}: {one.message}" for one in complaints]
    return found


@pytest.mark.parametrize("cuts", [40, pytest.param(3000, marks=[pytest.mark.deep, pytest.mark.timeout(600)])])
def test_a_power_cut_takes_nothing_that_anybody_relied_on(
    tmp_path: Path, cuts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the disk makes of what was not synced, in whatever order: each call and each request is known, nothing is damaged."""
    with taped(tmp_path / ".reelbook", 8, monkeypatch) as tape:
        found = losses(tape, cuts, tmp_path)

    assert sum(op.kind == "sync" for op in tape.ops) > 8 * 5
    assert found == []


@pytest.mark.deep
def test_without_syncing_a_power_cut_loses_what_was_paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: with `synchronous = OFF` the same cuts lose calls and requests."""
    connected = writer.connect

    def careless(path: Path) -> sqlite3.Connection:
        db = connected(path)
        db.execute("PRAGMA synchronous = OFF")
        return db

    with monkeypatch.context() as patch:
        patch.setattr(writer, "connect", careless)
        with taped(tmp_path / ".reelbook", 4, monkeypatch) as tape:
            pass
    found = losses(tape, 25, tmp_path)

    assert any("post" in loss for loss in found)
