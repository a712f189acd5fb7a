"""Spending on a disk that may be full, shut or without power: each step is told once one may rely on it."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reelbook.errors import LibraryError
from reelbook.storage.ledger import claims, transitions
from reelbook.storage.ledger.claims import RunRequest
from reelbook.storage.ledger.writer import Ledger
from tests.faults.nursery import hear, tell

UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


def spend(folder: Path, runs: int, told: Callable[[str, str], object]) -> None:
    """So many runs from the claim to the shelf; the paid call itself is the word `post`."""
    ledger = surely(lambda: Ledger(folder))
    told("open", "")

    def do(work: Callable[[Any], Any]) -> Any:
        return surely(lambda: ledger.transact_now(work))

    def one(number: int) -> None:
        asked = RunRequest("svc", f"run {os.getpid()} {number}", "m", "a boat " * 60, 5, False, True)
        run = do(lambda db: claims.find_or_claim(db, asked, ledger)).entry
        try:
            ledger.transact_now(lambda db: transitions.mark_sending(db, run.id, ledger.owner, None))
        except LibraryError as error:
            await_help(error)
            do(lambda db: transitions.release(db, run.id, ledger.owner, unsent=True))
            return
        told("post", str(run.id))
        request = f"r{run.id}"
        line = claims.make_acceptance(run, request)
        surely(lambda: ledger.submit(lambda db: transitions.mark_accepted(db, run.id, request), line=line).result(60))
        told("accepted", str(run.id))
        do(lambda db: transitions.move(db, run.id, "completed", output="{}", charged=5))
        do(lambda db: transitions.move(db, run.id, "stored", media="[]"))
        told("stored", str(run.id))

    for number in range(runs):
        one(number)
    ledger.close()


def spend_in_a_process(folder: Path, runs: int, *, room: int | None = None, user: int | None = None) -> None:
    """The same in a client: as another user, or with room for so many bytes until somebody has helped."""
    if user is not None:
        os.setuid(user)
    if room is not None:
        Ledger(folder).close()
        resource.setrlimit(resource.RLIMIT_FSIZE, ((folder / "ledger.sqlite").stat().st_size + room, UNLIMITED[1]))
    spend(folder, runs, lambda step, run: tell(f"{step} {run}"))
    tell("done")


def surely(step: Callable[[], Any]) -> Any:
    """Say what is wrong, and try again once somebody has made room."""
    while True:
        try:
            return step()
        except LibraryError as error:
            await_help(error)


def await_help(error: LibraryError) -> None:
    tell(f"trouble {error}")
    hear()
    resource.setrlimit(resource.RLIMIT_FSIZE, UNLIMITED)
