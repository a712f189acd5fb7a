"""The state of a class as the board displays it, read once a second at most however many boards are open."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
import uuid
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from reelbook.util.printable import format_line

from ..class_report import ClassRow, LastResult, read_class
from ..queue import Queue
from ..refusals import Refusal
from ..store import Store
from .board_cells import Cells, render_cells, render_errors, render_queue, render_summary

INTERVAL_SECONDS = 1.0
MAX_AGE_SECONDS = 15.0
"""After so long the class is read again though nothing was written: time windows open and weeks begin."""
MAX_PROMPT_CHARS = 160
MAX_INPUT_CHARS = 200_000
"""Inputs that are longer contain pictures; their prompts are not read."""
MAX_PROMPTS = 5_000


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read from the database, and how many rows had been written until then."""

    rows: list[ClassRow]
    prompts: Mapping[str, str]
    written: int
    at: float
    running: Mapping[str, int]


class BoardFeed:
    """The cells of the board with the version at which each of them changed last."""

    def __init__(self, store: Store, queue: Queue, clock: Callable[[], float]) -> None:
        self._store, self._queue, self._clock = store, queue, clock
        self._lock = asyncio.Lock()
        self._changed = asyncio.Event()
        self._checked: float | None = None
        self._read: _Read | None = None
        self._prompts: OrderedDict[str, str] = OrderedDict()
        self._cells: dict[str, tuple[int, Markup]] = {}
        self._by_row: dict[str, tuple[tuple[Any, ...], Cells]] = {}
        self._start = uuid.uuid4().hex[:8]
        """Versions of an earlier process mean nothing."""
        self._version = self._shape_version = 0
        self._shape: tuple[tuple[str, str], ...] | None = None
        self.reads = 0
        """How often the class was read."""

    @property
    def version(self) -> str:
        """The present version."""
        return f"{self._start}.{self._version}"

    @property
    def rows(self) -> list[ClassRow]:
        """The rows of the class, as last read."""
        return [] if self._read is None else self._read.rows

    def cell(self, name: str) -> Markup:
        """The content of a cell."""
        return self._cells[name][1]

    def find_result(self, request_id: str) -> tuple[ClassRow, LastResult, str]:
        """A result that is on the board, with its student and its prompt; raises a refusal for any other."""
        for row in self.rows:
            result = row.last_result
            if result is not None and result.request_id == request_id and result.token is not None:
                return row, result, self._prompts.get(request_id, "")
        raise Refusal("not_found", "This result is not on the board any more: reload the class.")

    def expire(self) -> None:
        """Have the class read again at once, because an action changed it."""
        self._checked = None
        self._changed.set()
        self._changed = asyncio.Event()

    async def refresh(self) -> None:
        """Bring the cells up to date, unless they were within the last second."""
        async with self._lock:
            now = time.monotonic()
            if self._checked is not None and now - self._checked < INTERVAL_SECONDS:
                return
            self._checked = now
            running = self._queue.count_running()
            read = await self._store.run(lambda db: self._read_if_changed(db, running))
            if read is not None:
                self._read = read
            self._update()

    async def follow(self, since: str) -> AsyncIterator[tuple[str, dict[str, str] | None]]:
        """The changed cells after a version, once a second at most; None in their place where the page is another one.

        Yields also where nothing changed, so that whoever sends it can end it.
        """
        while True:
            changed = self._changed
            await self.refresh()
            yield self.version, self._changes(since)
            since = self.version
            checked = self._checked
            wait = INTERVAL_SECONDS if checked is None else max(0.01, checked + INTERVAL_SECONDS - time.monotonic())
            try:
                await asyncio.wait_for(changed.wait(), wait)
            except TimeoutError:
                continue

    def _changes(self, since: str) -> dict[str, str] | None:
        start, _, number = since.partition(".")
        if start != self._start or not number.isdecimal() or int(number) < self._shape_version:
            return None
        return {name: str(html) for name, (version, html) in self._cells.items() if version > int(number)}

    def _read_if_changed(self, db: sqlite3.Connection, running: Mapping[str, int]) -> _Read | None:
        self.reads += 1
        now, last = self._clock(), self._read
        if (
            last is not None
            and last.written == db.total_changes
            and last.running == running
            and 0 <= now - last.at < MAX_AGE_SECONDS
        ):
            return None
        rows = read_class(db, now, running)
        results = {row.last_result.request_id for row in rows if row.last_result}
        for request_id in results - self._prompts.keys():
            self._prompts[request_id] = _read_prompt(db, request_id)
        prompts = {request_id: self._prompts[request_id] for request_id in results}
        while len(self._prompts) > MAX_PROMPTS:
            self._prompts.popitem(last=False)
        return _Read(rows, prompts, db.total_changes, now, dict(running))

    def _update(self) -> None:
        if self._read is None:
            return
        read, cells = self._read, {"queue": render_queue(self._queue.unfinished())}
        by_row: dict[str, tuple[tuple[Any, ...], Cells]] = {}
        for number, row in enumerate(read.rows):
            prompt = read.prompts.get(row.last_result.request_id, "") if row.last_result else ""
            seen, last = (row, prompt), self._by_row.get(row.name)
            by_row[row.name] = last if last is not None and last[0] == seen else (seen, render_cells(row, prompt))
            for name, html in by_row[row.name][1].items():
                cells[f"{name}-{number}"] = html
        self._by_row = by_row
        cells |= {"summary": render_summary(read.rows), "errors": render_errors(read.rows)}
        shape = tuple((row.group, row.name) for row in read.rows)
        changed = {
            name: html for name, html in cells.items() if name not in self._cells or self._cells[name][1] != html
        }
        if changed or shape != self._shape:
            self._version += 1
        if shape != self._shape:
            self._shape, self._shape_version, self._cells = shape, self._version, {}
            changed = cells
        self._cells |= {name: (self._version, html) for name, html in changed.items()}


def _read_prompt(db: sqlite3.Connection, request_id: str) -> str:
    query = "SELECT input FROM requests WHERE id = ? AND length(input) < ?"
    row = db.execute(query, (request_id, MAX_INPUT_CHARS)).fetchone()
    prompt = json.loads(row["input"]).get("prompt") if row is not None else None
    return format_line(prompt[:MAX_PROMPT_CHARS]) if isinstance(prompt, str) else ""
