"""A class for tests of the board: accounts, runs of the past and pictures, written straight into a service's database."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from reelbook_service.accounts import DEFAULT_PERMISSIONS, hash_key, record_charge
from reelbook_service.class_admin import read_board_token
from reelbook_service.server import Server, bind_socket
from reelbook_service.service_files import StoredFile
from reelbook_service.service_settings import Settings
from tests.clips import film
from tests.support import TEXT, png

KINDS = ("content_policy_violation", "engine_error", "file_download_error")
PROMPTS = ("a paper boat on a rainy street, seen from above at dusk", "a red kite", "two foxes crossing a frozen lake")


@dataclass(frozen=True)
class Board:
    """A running service with a board, and a client that is logged in there."""

    server: Server
    http: httpx.Client
    token: str
    names: tuple[str, ...]

    @property
    def url(self) -> str:
        return f"{self.server.base_url}/class"

    def guest(self) -> httpx.Client:
        """A client without a login."""
        return httpx.Client(base_url=self.server.base_url, timeout=30, trust_env=False)

    def fields(self) -> dict[str, str]:
        """What each form of the present page carries."""
        return {"once": re.findall("name=once value=([0-9a-f]+)", self.http.get("/class").text)[-1]}

    def change(self, **fields: Any) -> httpx.Response:
        """Send the form of the board."""
        return self.http.post("/class/change", data={**self.fields(), **fields})


def student_key(number: int) -> str:
    """The key of the student of this number."""
    return f"key-of-student-{number}"


@contextmanager
def running_board(
    folder: Path, names: Sequence[str], *, runs: int, prompts: Sequence[str] = PROMPTS, groups: int = 0
) -> Iterator[Board]:
    """A service with these students, who have `runs` finished runs together, and a picture each."""
    server = Server(Settings(data=folder / "service", workers=1, has_board=True), bind_socket("127.0.0.1", 0))
    files = _files(server, folder, names)
    server.service.store.submit(lambda db: _write(db, names, runs, prompts, groups, files)).result()
    token = server.service.store.submit(read_board_token).result()
    with server, httpx.Client(base_url=server.base_url, timeout=30, trust_env=False) as http:
        assert http.get("/class/login", params={"token": token}).status_code == 200
        yield Board(server, http, token, tuple(names))


def _files(server: Server, folder: Path, names: Sequence[str]) -> list[StoredFile]:
    """A film or a picture for each student."""
    film(folder / "film.mp4", size=(128, 72))
    sources = [("picture.png", "image/png", png(64, 36)), ("film.mp4", "video/mp4", (folder / "film.mp4").read_bytes())]
    files, stored = server.service.files, []
    for number, name in enumerate(names):
        label, kind, content = sources[number % 2]
        token, digest = f"token-of-file-{number:03}", hashlib.sha256(content).hexdigest()
        stored.append(StoredFile(token, None, name, label, kind, len(content), digest, time.time()))
        files.path(stored[-1]).write_bytes(content)
        files.publish(stored[-1])
    return stored


def _write(
    db: sqlite3.Connection,
    names: Sequence[str],
    runs: int,
    prompts: Sequence[str],
    groups: int,
    files: list[StoredFile],
) -> None:
    for file in files:
        file.insert(db)
    now, permissions = time.time(), " ".join(DEFAULT_PERMISSIONS)
    for number, name in enumerate(names):
        group = f"class {number % groups + 1}" if groups else ""
        db.execute(
            "INSERT INTO accounts (name, key_hash, permissions, class_group) VALUES (?, ?, ?, ?)",
            (name, hash_key(student_key(number)), permissions, group),
        )
        record_charge(db, now, name, "", 2000, "grant")
    for run in range(runs):
        number = run % len(names)
        kind = KINDS[run % 3] if run % 17 == 3 else None
        output = {"video": {"$file": files[number].token, "facts": {}}}
        record = {"output": None if kind else output, "error": {"error_type": kind, "detail": "x"} if kind else None}
        db.execute(
            "INSERT INTO requests (id, account, endpoint, input, credits, created, finished, record, error_type) "
            "VALUES (?, ?, ?, ?, 53, ?, ?, ?, ?)",
            (f"run-{run}", names[number], TEXT, json.dumps({"prompt": prompts[run % len(prompts)]}), now - 9, now - 8,
             json.dumps(record), kind),
        )  # fmt: skip
        if kind is None:
            for charge in ("reserve", "settle"):
                record_charge(db, now - 9, names[number], f"run-{run}", 53, charge)
