"""Files: what runs made and what callers uploaded, under names of ours and addresses nobody can guess."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .accounts import Account
from .refusals import Refusal
from .store import Store

SUFFIXES = {
    "video/mp4": ".mp4",
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/webp": ".webp",
    "image/gif": ".gif",
    "image/bmp": ".bmp",
    "image/tiff": ".tif",
}

HEADERS = {
    # A file from a stranger must never act as a page of this service.
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "cross-origin",
    "cache-control": "private, max-age=86400",
}


@dataclass(frozen=True, slots=True)
class Stored:
    """A file that is kept here."""

    token: str
    file_id: str | None
    account: str
    name: str
    content_type: str
    size: int
    sha256: str
    created: float

    def as_file(self, base_url: str) -> dict[str, Any]:
        """The File object of the spec."""
        shown = {
            "url": f"{base_url}/files/{self.token}/{self.name}",
            "content_type": self.content_type,
            "file_name": self.name,
            "file_size": self.size,
        }
        return {**shown, "file_id": self.file_id} if self.file_id else shown

    def insert(self, db: sqlite3.Connection) -> None:
        db.execute(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self.token,
                self.file_id,
                self.account,
                self.name,
                self.content_type,
                self.size,
                self.sha256,
                self.created,
            ),
        )


class Files:
    """The folder of files and what is known of them."""

    def __init__(self, store: Store, folder: Path, clock: Callable[[], float], retention: float) -> None:
        self._store, self._folder, self._clock, self._retention = store, folder, clock, retention
        folder.mkdir(mode=0o700, exist_ok=True)
        rows = store.ask(lambda db: db.execute("SELECT * FROM files").fetchall()).result()
        self._known = {row["token"]: Stored(*tuple(row)) for row in rows}
        self._uploads = {stored.file_id: stored for stored in self._known.values() if stored.file_id}
        self._sweep_strays()

    def path(self, stored: Stored) -> Path:
        """Where its bytes are."""
        return self._folder / stored.token

    def get(self, token: str) -> Stored:
        """A file by its token, unless it is too old."""
        stored = self._known.get(token)
        if stored is None or self._expired(stored):
            raise Refusal(
                "not_found", "There is no such file. It never was, or it was kept as long as files are kept here."
            )
        return stored

    def local(self, address: str, account: str, own_addresses: tuple[str, ...]) -> Path | None:
        """The path of an address that means a file of ours; None for all others.

        A token gives access to whoever has it; a `file_id` only to the account that uploaded it.
        """
        upload = self._uploads.get(address)
        if upload is not None and upload.account == account and not self._expired(upload):
            return self.path(upload)
        for own in own_addresses:
            if address.startswith(own + "/files/"):
                stored = self._known.get(address[len(own) + len("/files/") :].partition("/")[0])
                return self.path(stored) if stored is not None and not self._expired(stored) else None
        return None

    async def keep(self, path: Path, account: str, label: str, content_type: str, *, upload: bool = False) -> Stored:
        """Take a finished file over; the caller commits it with `Stored.insert` and tells us with `admit`."""
        digest, size = await asyncio.to_thread(_digest, path)
        stored = Stored(
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
        return stored

    def admit(self, stored: Stored) -> None:
        """Serve a file from now on."""
        self._known[stored.token] = stored
        if stored.file_id:
            self._uploads[stored.file_id] = stored

    async def add_upload(self, path: Path, account: Account, content_type: str) -> Stored:
        """Keep what a caller uploaded."""
        stored = await self.keep(path, account.name, f"upload-{secrets.token_hex(4)}", content_type, upload=True)
        await asyncio.wrap_future(self._store.ask(stored.insert))
        self.admit(stored)
        return stored

    async def sweep(self) -> int:
        """Remove what is too old; says how many files went."""
        old = [stored for stored in self._known.values() if self._expired(stored)]
        if not old:
            return 0
        tokens = [(stored.token,) for stored in old]
        await asyncio.wrap_future(
            self._store.ask(lambda db: db.executemany("DELETE FROM files WHERE token = ?", tokens) and None)
        )
        for stored in old:
            self._known.pop(stored.token, None)
            if stored.file_id:
                del self._uploads[stored.file_id]
            self.path(stored).unlink(missing_ok=True)
        return len(old)

    def _expired(self, stored: Stored) -> bool:
        return self._clock() - stored.created > self._retention

    def _sweep_strays(self) -> None:
        """Remove files whose commit was lost in a crash."""
        for path in self._folder.iterdir():
            if path.name not in self._known:
                path.unlink()


def sniffed_type(head: bytes) -> str:
    """The content type that the first bytes tell, whatever anybody calls the file.

    >>> sniffed_type(b"\\x89PNG\\r\\n\\x1a\\n"), sniffed_type(b"<html>")
    ('image/png', 'application/octet-stream')
    """
    if head[4:8] == b"ftyp":
        return "video/mp4"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    starts = {
        b"\x89PNG\r\n\x1a\n": "image/png",
        b"\xff\xd8\xff": "image/jpeg",
        b"GIF8": "image/gif",
        b"BM": "image/bmp",
        b"II*\0": "image/tiff",
        b"MM\0*": "image/tiff",
    }
    return next((kind for start, kind in starts.items() if head.startswith(start)), "application/octet-stream")


def _digest(path: Path) -> tuple[str, int]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return digest, path.stat().st_size
