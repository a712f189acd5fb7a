"""The store: many callers in one commit, each with its own fate."""

from __future__ import annotations

import sqlite3
import threading
from functools import partial
from pathlib import Path

import pytest

from reelbook_service.store import Store


def test_a_caller_that_fails_undoes_only_its_own_work(tmp_path: Path) -> None:
    """Work of others in the same commit stays."""
    store = Store(tmp_path / "db")
    gate = threading.Event()
    store.submit(lambda db: gate.wait(5) and None)  # Keeps the thread busy, so that the next three share a commit.

    def insert(name: str, db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO service VALUES (?, '')", (name,))
        if name == "bad":
            raise ValueError("mine alone")

    first, second, third = (store.submit(partial(insert, name)) for name in ("a", "bad", "b"))
    gate.set()

    first.result(5)
    third.result(5)
    with pytest.raises(ValueError, match="mine alone"):
        second.result(5)
    names = store.submit(lambda db: [row["name"] for row in db.execute("SELECT name FROM service")]).result(5)
    store.close()
    assert names == ["a", "b"]
