"""Files of the service, at unguessable URLs: uploads, and outputs of runs, which are stored as the runs end."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from reelbook.models.file_kinds import KINDS

from .accounts import Account
from .queue import Queue, Request
from .refusals import Refusal
from .store import Store

log = logging.getLogger("reelbook_service")

SUFFIXES = {kind.content_type: kind.suffix for kind in KINDS if kind.content_type.startswith(("image/", "video/"))}
"""Of the content types that are served as such."""

HEADERS = {
    # An untrusted file must never act as a page of this service.
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "cross-origin",
    "cache-control": "private, max-age=86400",
}


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The record of a stored file."""

    token: str
    file_id: str | None
    account: str
    name: str
    content_type: str
    size: int
    sha256: str
    created: float

    def to_file_object(self, base_url: str) -> dict[str, Any]:
        """The File object of the specification."""
        result = {
            "url": f"{base_url}/files/{self.token}/{self.name}",
            "content_type": self.content_type,
            "file_name": self.name,
            "file_size": self.size,
        }
        return {**result, "file_id": self.file_id} if self.file_id else result

    def insert(self, db: sqlite3.Connection) -> None:
        db.execute("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)", astuple(self))


class Files:
    """The folder of files and their records."""

    def __init__(self, store: Store, folder: Path, clock: Callable[[], float], retention: float) -> None:
        self._store, self._folder, self._clock, self._retention = store, folder, clock, retention
        self.own_addresses: tuple[str, ...] = ()
        """The addresses of this service, by which inputs name its files."""
        folder.mkdir(mode=0o700, exist_ok=True)
        rows = store.submit(lambda db: db.execute("SELECT * FROM files").fetchall()).result()
        self._known = {row["token"]: StoredFile(*tuple(row)) for row in rows}
        self._uploads = {stored.file_id: stored for stored in self._known.values() if stored.file_id}
        for path in folder.iterdir():
            if path.name not in self._known:
                path.unlink()  # Its commit was lost in a crash.

    def add_own_addresses(self, *addresses: str) -> None:
        """Register addresses of this service, so that it recognises its own files in inputs."""
        self.own_addresses = tuple(dict.fromkeys((*self.own_addresses, *addresses)))

    def is_own(self, address: str) -> bool:
        """Whether an address names a file of this service, which may have expired."""
        return self._own_token(address) is not None

    def _own_token(self, address: str) -> str | None:
        """The token in the address of a file of this service."""
        starts = (f"{own}/files/" for own in self.own_addresses)
        start = next(filter(address.startswith, starts), None)
        return None if start is None else address[len(start) :].partition("/")[0]

    def path(self, stored: StoredFile) -> Path:
        """The path of a file's bytes."""
        return self._folder / stored.token

    def get(self, token: str) -> StoredFile:
        """A file by its token; raises a refusal where there is none, or it has expired."""
        stored = self._known.get(token)
        if stored is None or self._expired(stored):
            raise Refusal("not_found", "There is no such file. It never existed, or it has expired.")
        return stored

    def find_local_path(self, address: str, account: str) -> Path | None:
        """The path for a URL or `file_id` of a stored file; None for any other address.

        A token gives access to any client that has it; a `file_id` only to the account that uploaded it.
        """
        stored = self._uploads.get(address)
        if stored is None or stored.account != account:
            stored = self._known.get(self._own_token(address) or "")
        return None if stored is None or self._expired(stored) else self.path(stored)

    async def store_file(
        self, path: Path, account: str, label: str, content_type: str, *, upload: bool = False
    ) -> StoredFile:
        """Move a finished file into the folder; the caller commits it with `StoredFile.insert`, and tells its token then."""
        digest, size = await asyncio.to_thread(_digest, path)
        stored = StoredFile(
            token=secrets.token_urlsafe(24),
            file_id=f"file_{secrets.token_hex(16)}" if upload else None,
            account=account,
            name=label + SUFFIXES.get(content_type, ".bin"),
            content_type=content_type if content_type in SUFFIXES else "application/octet-stream",
            size=size,
            sha256=digest,
            created=self._clock(),
        )
        path.replace(self.path(stored))
        self.publish(stored)
        return stored

    def publish(self, stored: StoredFile) -> None:
        """Make a file available to those who know its token."""
        self._known[stored.token] = stored
        if stored.file_id:
            self._uploads[stored.file_id] = stored

    def remove(self, stored: StoredFile) -> None:
        """Remove a file of which no row is left."""
        self._known.pop(stored.token, None)
        self._uploads.pop(stored.file_id or "", None)
        self.path(stored).unlink(missing_ok=True)

    async def add_upload(self, path: Path, account: Account, content_type: str) -> StoredFile:
        """Store an uploaded file."""
        stored = await self.store_file(path, account.name, f"upload-{secrets.token_hex(4)}", content_type, upload=True)
        await self._store.run(stored.insert)
        return stored

    async def remove_expired(self) -> None:
        """Remove expired files."""
        old = [stored for stored in self._known.values() if self._expired(stored)]
        tokens = [(stored.token,) for stored in old]
        await self._store.run(lambda db: db.executemany("DELETE FROM files WHERE token = ?", tokens) and None)
        for stored in old:
            self.remove(stored)

    def _expired(self, stored: StoredFile) -> bool:
        return self._clock() - stored.created > self._retention


class ResultWriter:
    """Ends requests on behalf of all lanes."""

    def __init__(self, queue: Queue, files: Files, clock: Callable[[], float]) -> None:
        self._queue, self._files, self._clock = queue, files, clock

    async def end(self, request: Request, outcome: Mapping[str, Any], folder: Path) -> None:
        """End a request with its outcome, and store its files; tried again for as long as the disk is full.

        `outcome` has `done`, the output with `$made` for each file in the folder, or `failed`, an error. `charged` is
        the number of credits to charge, where a lane decides that.
        """
        stored_files: dict[str, StoredFile] = {}
        output, error, charged = None, outcome.get("failed"), outcome.get("charged")
        try:
            if error is None:
                output = await self._store_files(request, outcome["done"], folder, stored_files)
                output |= {"$inline": True} if outcome.get("inline") else {}
        except OSError as problem:
            cost = f"It was charged {charged} credits" if charged else "Nothing was charged"
            detail = f"A file that the run made could not be kept ({problem.strerror}). {cost}; run it again."
            output, error = None, {"error_type": "engine_error", "detail": detail}

        def insert(db: sqlite3.Connection) -> None:
            for stored in stored_files.values():
                stored.insert(db)

        while True:
            try:
                await self._queue.finish(request, output=output, error=error, charged=charged, in_commit=insert)
                break
            except sqlite3.Error:
                # A full disk is temporary; the request stays in progress until its outcome can be stored.
                log.info("The end of the run %s cannot be written down yet", request.id, exc_info=True)
                words = "The service cannot write the result down yet, and tries again every second."
                request.log(self._clock(), words, "WARNING", "service")
                await asyncio.sleep(1.0)
        if request.error:
            # Cancelled at the last moment, or one of them is gone: the files will never be requested.
            for stored in stored_files.values():
                self._files.remove(stored)

    async def _store_files(
        self, request: Request, value: Any, folder: Path, stored_files: dict[str, StoredFile]
    ) -> Any:
        """The output with every file stored and named by its token."""
        if isinstance(value, list):
            return [await self._store_files(request, item, folder, stored_files) for item in value]
        if not isinstance(value, dict):
            return value
        if "$made" not in value:
            return {name: await self._store_files(request, item, folder, stored_files) for name, item in value.items()}
        name = Path(value["$made"]).name
        # An output may name a file twice.
        if name not in stored_files:
            number = f"-{len(stored_files) + 1}" if stored_files else ""
            label = f"{request.endpoint_id.rsplit('/', 1)[-1]}-{request.id[:8]}{number}"
            stored_files[name] = await self._files.store_file(
                folder / name, request.account, label, value["content_type"]
            )
        return {"$file": stored_files[name].token, "facts": value["facts"]}


def _digest(path: Path) -> tuple[str, int]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return digest, path.stat().st_size
