"""Adopt another library: copy its files and merge its runs into this one."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from ...errors import LibraryError, ReelbookError
from ...util.printable import format_count
from ..byte_count import Bytes
from ..judgements import Judgement, is_sound, merge_judgements, read_judgements
from ..ledger import connection, transitions
from ..ledger.crash_recovery import make_acceptance
from ..ledger.transitions import Entry, State
from ..ledger.writer import CALL_SECONDS, Ledger
from ..shelf import Shelf
from .run_merge import PROGRESS, Merge, merge_run

OnProgress = Callable[[int, int], None]
"""A callback, called with the number of items done and of all items."""

MEDIA = "media"
"""The folder of a library's files, unless its shelf is elsewhere."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_CHUNK, _BATCH_ROWS = 1 << 20, 256
_PAID = (State.ACCEPTED, State.STORED)
_COUNTS = ("take", "attempt", "spent", "unpriced")


@dataclass(frozen=True, slots=True)
class Adopted:
    """The result of `adopt`."""

    source: Path
    runs: int
    """Runs inserted or updated in this library."""
    files: int
    """Files copied, each checked against its hash."""
    size: Bytes
    known: int
    """Runs that were in this library already."""
    busy: int
    """Runs left out because a process follows them, in either library."""
    lost: int
    """Files missing or damaged in the other library; they are downloaded again when next used."""
    skipped: int
    """Rows that were never sent or are invalid."""
    judgements: int = 0
    """Judgements of clips that were not in this library yet."""

    def __repr__(self) -> str:
        text = f"{format_count(self.runs, 'run')} and {format_count(self.files, 'file')} ({self.size}) came from {self.source}"
        more = [f"{format_count(self.judgements, 'judgement')} of clips came with them"] if self.judgements else []
        more += [f"{self.known:,} runs were here already"] if self.known else []
        if self.busy:
            more.append(
                f"{format_count(self.busy, 'run')} left out, because somebody is at work on them: adopt again later"
            )
        if self.lost:
            more.append(f"{format_count(self.lost, 'file')} missing or damaged there, fetched again when next wanted")
        if self.skipped:
            more.append(f"{format_count(self.skipped, 'row')} without a run")
        return f"<{'; '.join([text, *more])}>"


def adopt_library(
    folder: Path, theirs: Shelf, ledger: Ledger, shelf: Shelf, *, progress: OnProgress | None = None
) -> Adopted:  # fmt: skip
    """Merge the library in this folder into `ledger` and `shelf`. It is only read; repeats have no effect."""
    entries, unreadable, judgements = _read_entries(folder)
    free = [entry for entry in entries if entry.owner is None]
    counts: Counter[str] = Counter(nothing=unreadable, busy=len(entries) - len(free))
    copier = _FileCopier(theirs, shelf)
    for start in range(0, len(free), _BATCH_ROWS):
        batch = free[start : start + _BATCH_ROWS]
        counts.update(merge.outcome for merge in _merge_entries([copier.copy_files(entry) for entry in batch], ledger))
        if progress is not None:
            progress(start + len(batch), len(free))
    judged = ledger.transact_now(lambda db: merge_judgements(db, judgements)) if judgements else 0
    return Adopted(
        folder, counts["new"] + counts["further"], copier.files, Bytes(copier.size), counts["known"], counts["busy"],
        copier.lost, counts["nothing"], judged,
    )  # fmt: skip


def find_library(folder: Path) -> Path:
    """Find the folder of a library, given that folder or its parent."""
    for place in (folder, folder / ".reelbook"):
        if (place / connection.NAME).is_file():
            return place
    raise ReelbookError(
        f"There is no library in {folder}: no {connection.NAME} is there. Name the folder that holds it, such as project/.reelbook."
    )


def _merge_entries(entries: list[Entry], ledger: Ledger) -> list[Merge]:
    """Merge rows, many in each commit, and append their request ids to the list of accepted requests."""
    futures = [ledger.submit(partial(merge_run, other=entry)) for entry in entries]
    merges = [future.result(CALL_SECONDS) for future in futures]
    paid = [merge.entry for merge in merges if merge.entry is not None and merge.entry.state in _PAID]
    lines = [make_acceptance(entry, entry.request_id) for entry in paid if entry.request_id is not None]
    for future in [ledger.submit(_nothing, line=line) for line in lines]:
        future.result(CALL_SECONDS)
    return merges


def _nothing(db: sqlite3.Connection) -> None:
    """Do nothing: only the line is written."""


class _FileCopier:
    """Copies files from one shelf to another, and counts them."""

    def __init__(self, theirs: Shelf, ours: Shelf) -> None:
        self.files = self.size = self.lost = 0
        self._theirs, self._ours = theirs, ours
        self._seen: dict[str, bool] = {}

    def copy_files(self, entry: Entry) -> Entry:
        """Copy the files of a run and of its input; returns its row, with the state accepted if a file is missing.

        Files are copied before rows: a row may be stored only if its files exist.
        """
        for sha256 in dict.fromkeys(_SHA256.findall(entry.input)):
            self._fetch(sha256, source=True)
        # A list, so that all are copied, even after a missing one.
        copied = [self._fetch(str(file.get("sha256"))) for file in get_files(entry)]
        return (
            replace(entry, state=State.ACCEPTED, stage=transitions.COMPLETED)
            if entry.state == State.STORED and not all(copied)
            else entry
        )

    def _fetch(self, sha256: str, *, source: bool = False) -> bool:
        if sha256 not in self._seen:
            self._seen[sha256] = self._ours.find(sha256) is not None or self._copy(sha256)
            # Sixty-four hexadecimal digits in an input need not be the hash of a file.
            self.lost += not self._seen[sha256] and not source
        return self._seen[sha256]

    def _copy(self, sha256: str) -> bool:
        path = self._theirs.find(sha256)
        if path is None:
            return False
        part = self._ours.part(f"adopted-{uuid4().hex}")
        try:
            if _copy(path, part) != sha256:
                return False
            self.size += self._ours.place(part, sha256, path.suffix).stat().st_size
        except OSError as error:
            clause = self._ours.format_disk_error(error, path.stat().st_size)
            raise ReelbookError(
                f"The files could not be copied: {clause}. What came so far stays; adopt again for the rest."
            ) from error
        finally:
            part.unlink(missing_ok=True)
        self.files += 1
        return True


def get_files(entry: Entry) -> list[dict[str, Any]]:
    """The files of a run; none if the row is invalid."""
    files = _json(entry.media or "[]")
    return [file for file in files if isinstance(file, dict)] if isinstance(files, list) else []


def _copy(source: Path, target: Path) -> str:
    """Copy a file and return the hash of the bytes read, so that damaged files are detected."""
    digest = hashlib.sha256()
    with source.open("rb") as original, target.open("wb") as copy:
        while chunk := original.read(_CHUNK):
            digest.update(chunk)
            copy.write(chunk)
    return digest.hexdigest()


def _read_entries(folder: Path) -> tuple[list[Entry], int, list[Judgement]]:
    """The valid rows of a ledger that is only read, the number of invalid ones, and judgements."""
    try:
        with contextlib.closing(connection.copy_to_memory(folder)) as db:
            rows = db.execute(f"SELECT {transitions.COLUMNS} FROM entries ORDER BY id").fetchall()
            judgements = [judgement for judgement in read_judgements(db) if is_sound(judgement)]
    except LibraryError as error:
        raise ReelbookError(
            f"The library in {folder} cannot be read ({error.reason}), so nothing was taken from it. Open it once "
            f'with rb.connect(library="{folder}"), which mends what a crash has left, then adopt it again.'
        ) from error
    entries = [Entry(*row) for row in rows]
    sound = [entry for entry in entries if _is_sound(entry)]
    return sound, len(entries) - len(sound), judgements


def _is_sound(entry: Entry) -> bool:
    """Whether the values of a foreign row are valid."""
    documents = ((entry.input, dict), (entry.output, dict), (entry.media, list))
    texts = (entry.request_id, entry.attempt_key, entry.body, entry.output, entry.media, entry.error_type, entry.error)
    times = (entry.queued_s, entry.running_s, entry.sent, entry.finished)
    return (
        entry.stage in PROGRESS
        and all(isinstance(value, str) for value in (entry.service, entry.identity, entry.model, entry.input))
        and all(
            type(getattr(entry, name)) is int and 0 <= getattr(entry, name) <= transitions.MAX_CREDITS
            for name in _COUNTS
        )
        and all(
            value is None or transitions.coerce_credits(value) == value
            for value in (entry.price, entry.charged, entry.floor)
        )
        and all(value is None or isinstance(value, str) for value in texts)
        and all(value is None or isinstance(value, (int, float)) for value in times)
        and isinstance(entry.created, (int, float))
        # Tables parse the texts of many rows at once, which requires each of them to be valid JSON.
        and all(isinstance(_json(text), kind) for text, kind in documents if text is not None)
    )


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
