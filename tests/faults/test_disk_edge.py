"""A disk on which a little room is left: each call ends, and with room again all goes on, with nothing paid twice.

All of it is for `make deep`: `test_disk.py` has the same of the ledger, where nothing is sent that is not written down.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

import reelbook as rb
from reelbook.client import Client
from tests.faults.nursery import clip
from tests.faults.test_disk import small_disk
from tests.support import Served

SIZE, MAX_RUNS = 512 * 1024, 60
END_SECONDS, ON_SECONDS = 30.0, 10.0
"""How long a call may take at the edge, and with room again; on a busy machine, too."""


def tried(client: Client, number: int) -> tuple[str, float]:
    """The error that a run ends in, empty for none, and how long it took; a call that hangs fails the test."""
    began, found = time.monotonic(), [""]

    def one() -> None:
        try:
            client.run(rb.ImagesToVideo(**clip(number)))
        except rb.ReelbookError as error:
            found[0] = f"{type(error).__name__}: {error}"

    thread = threading.Thread(target=one, daemon=True)
    thread.start()
    thread.join(END_SECONDS)
    assert not thread.is_alive(), f"run {number} hangs"
    return found[0], time.monotonic() - began


@pytest.mark.parametrize("left", [30_000, 90_000, 300_000])
@pytest.mark.deep
@pytest.mark.timeout(300)
def test_at_the_edge_of_a_full_disk_each_call_ends_and_goes_on_with_room(
    shared_spec_only: Served, tmp_path: Path, left: int
) -> None:
    """Run after run until there is no room, one more, and the same again once a file is deleted."""
    served = shared_spec_only.with_own_account()
    with small_disk(tmp_path / "disk") as mounted:
        folder, ballast = tmp_path / "disk" / ".reelbook", tmp_path / "disk" / "ballast"
        with rb.connect(served.base_url, api_key=served.key, library=folder) as client:
            client.run(rb.ImagesToVideo(**clip(0)))
            used = sum(path.stat().st_blocks * 512 for path in folder.rglob("*"))
            ballast.write_bytes(bytes(SIZE - used - left if mounted else 0))
            number, error = 0, ""
            while not error and number < MAX_RUNS:
                number += 1
                error, _ = tried(client, number)
            again, _ = tried(client, number)
            ballast.unlink()
            after, seconds = tried(client, number)
            states = client.ledger.read(lambda db: db.execute("SELECT state FROM runs").fetchall())

    assert (bool(error), bool(again)) == (mounted, mounted)
    assert (after, seconds < ON_SECONDS) == ("", True)
    assert states == [("stored",)] * (number + 1)
    assert len([line for line in served.charges() if line["kind"] == "reserve"]) == number + 1
