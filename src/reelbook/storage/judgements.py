"""Judgements of clips by people, as rows in the ledger's database; a clip is named by the request id of its run.

A request id, unlike the number, identity or take of a run, never changes: not when libraries are merged, or when the
input of an attached run becomes known.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from uuid import uuid4

from .ledger.transitions import to_storable
from .ledger.writer import Ledger


class Kind(StrEnum):
    """What was asked: which of two clips, a number of stars, or whether to keep a clip."""

    PAIRS = "pairs"
    STARS = "stars"
    KEEP = "keep"


class Answer(StrEnum):
    """The answer to a pair, or to whether a clip is kept; stars are stored as a digit."""

    LEFT = "left"
    RIGHT = "right"
    TIE = "tie"
    BAD = "bad"
    """Both are bad."""
    SKIP = "skip"
    KEEP = "keep"
    REJECT = "reject"
    NONE = "none"
    """An earlier answer about this clip is withdrawn, or the clip was passed over."""


MAX_LETTERS = 2_000
"""The longest question or name of a rater."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One answer of one person."""

    rater: str
    question: str
    kind: str
    first: str
    """The request id of the clip, or of the clip on the left."""
    second: str | None
    """The request id of the clip on the right."""
    answer: str
    seconds: float | None = None
    """How long the person took."""
    at: float = 0.0
    mark: str = ""
    """A random name, by which a copy in another library is recognised."""
    id: int = 0

    def is_about(self, clips: Collection[str]) -> bool:
        """Whether all its clips are among these."""
        return self.first in clips and (self.second is None or self.second in clips)


_NAMES = tuple(field.name for field in fields(Judgement))


class Judgements:
    """The judgements in a library. Each is committed before the call returns; any number of processes may write."""

    def __init__(self, ledger: Callable[[], Ledger], has_ledger: Callable[[], bool] = lambda: True) -> None:
        """`has_ledger` is false while the library does not exist on disk, and nothing has to be read."""
        self._ledger, self._has_ledger = ledger, has_ledger

    def add(self, judgement: Judgement) -> None:
        """Store a judgement, with the time and a new mark."""
        stamped = replace(judgement, at=judgement.at or time.time(), mark=judgement.mark or uuid4().hex)
        self._ledger().transact_now(lambda db: merge_judgements(db, [stamped]))

    def undo(self, rater: str, question: str, clips: Collection[str]) -> Judgement | None:
        """Delete the rater's last judgement of these clips, and return it; None without one."""

        def undo(db: sqlite3.Connection) -> Judgement | None:
            for judgement in reversed(read_judgements(db, question)):
                if judgement.rater == to_storable(rater) and judgement.is_about(clips):
                    db.execute("DELETE FROM judgements WHERE id = ?", (judgement.id,))
                    return judgement
            return None

        return self._ledger().transact_now(undo)

    def read(self, question: str | None = None, clips: Collection[str] | None = None) -> list[Judgement]:
        """The judgements, oldest first: of one question or of all, if all their clips are among these."""
        if not self._has_ledger():
            return []
        wanted = None if clips is None else frozenset(clips)
        return [
            judgement
            for judgement in self._ledger().read(lambda db: read_judgements(db, question))
            if wanted is None or judgement.is_about(wanted)
        ]


def read_judgements(db: sqlite3.Connection, question: str | None = None) -> list[Judgement]:
    """The judgements of a ledger, oldest first."""
    rows = db.execute(
        f"SELECT {', '.join(_NAMES)} FROM judgements WHERE ? IS NULL OR question = ? ORDER BY at, id",
        [to_storable(question)] * 2,
    )
    return [Judgement(*row) for row in rows]


def merge_judgements(db: sqlite3.Connection, judgements: Sequence[Judgement]) -> int:
    """Insert the judgements that are not here, and return their number."""
    names, before = _NAMES[:-1], db.total_changes
    db.executemany(
        f"INSERT OR IGNORE INTO judgements ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
        [[to_storable(getattr(judgement, name)) for name in names] for judgement in judgements],
    )
    return db.total_changes - before
