"""The service of a run is known by its address alone: no word of its own and no damaged row makes its runs unknown."""

from __future__ import annotations

import shutil
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

import reelbook as rb
from tests.faults.standin import StandIn
from tests.faults.test_answers import BOAT
from tests.support import KEY
from tests.transport.variants import Reply


def test_three_notebooks_pay_once_whatever_the_service_says_of_itself(tmp_path: Path) -> None:
    """Each has the library's ledger and the service's address, and nothing else in common."""
    with StandIn() as hosted:
        hosted.on("GET", "/", lambda _: Reply(200, {"service": "lab", "id": uuid.uuid4().hex}))
        address = hosted.base_url
        for spelling in (address, address + "/", address.replace("127.0.0.1", "localhost")):
            with rb.connect(spelling, api_key=KEY, library=tmp_path) as client:
                client.run(BOAT.revised(seed=1))

        assert len(hosted.charges) == 1


def test_a_damaged_row_about_the_library_pays_for_no_run_again(tmp_path: Path) -> None:
    """One bit of each value in the table `meta`, as a disk may lose it: the rows of the runs name their service themselves."""
    boats = [BOAT.revised(seed=seed) for seed in range(1, 4)]
    with StandIn() as hosted:
        with rb.connect(hosted.base_url, api_key=KEY, library=tmp_path) as client:
            first = [client.run(boat).request_id for boat in boats]
        with closing(sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)) as db:
            for name, value in db.execute("SELECT name, value FROM meta WHERE name != 'schema'").fetchall():
                damaged = (value[:-1] + chr(ord(value[-1]) ^ 1)) if value else "?"
                db.execute("UPDATE meta SET value = ? WHERE name = ?", (damaged, name))
        with rb.connect(hosted.base_url, api_key=KEY, library=tmp_path) as client:
            again = [client.run(boat).request_id for boat in boats]

        assert again == first
        assert len(hosted.charges) == len(boats)


def test_the_runs_of_a_ledger_that_named_the_service_by_its_id_are_not_paid_for_again(tmp_path: Path) -> None:
    """As the first edition wrote it: the id in the rows and in the list of accepted requests, and a row with the address."""
    boats = [BOAT.revised(seed=seed) for seed in range(1, 4)]
    with StandIn() as hosted:
        with rb.connect(hosted.base_url, api_key=KEY, library=tmp_path / "first") as client:
            first = [client.run(boat).request_id for boat in boats]
        folder = tmp_path / "second"
        shutil.copytree(tmp_path / "first", folder)  # This process still has the ledger of the first one open.
        with closing(sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)) as db:
            db.executescript("DROP VIEW entries; DROP INDEX runs_charged_too_little")
            db.execute("ALTER TABLE runs DROP COLUMN floor")
            db.execute("CREATE TABLE floors (run INTEGER PRIMARY KEY, credits INTEGER NOT NULL)")
            db.execute("UPDATE meta SET value = '1' WHERE name = 'schema'")
            db.execute("UPDATE runs SET service = 'lab-1'")
            db.execute("DELETE FROM meta WHERE name = 'accepted list'")
            db.execute("INSERT INTO meta VALUES (?, 'lab-1')", (f"service at {hosted.base_url}",))
        log = folder / "accepted.jsonl"
        log.write_text(log.read_text().replace(hosted.base_url, "lab-1"))
        with rb.connect(hosted.base_url, api_key=KEY, library=folder) as client:
            again = [client.run(boat).request_id for boat in boats]
            runs = len(rb.library())

        assert again == first
        assert (runs, len(hosted.charges)) == (len(boats), len(boats))
