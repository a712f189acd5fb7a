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
    undone: bool = False
    id: int = 0


_NAMES = tuple(field.name for field in fields(Judgement))
MAX_LETTERS = 2_000
"""The longest question or name of a rater."""


class Judgements:
    """The judgements in a library. Each is committed before the call returns; any number of processes may write."""

    def __init__(self, ledger: Ledger | Callable[[], Ledger], has_ledger: Callable[[], bool] = lambda: True) -> None:
        """`has_ledger` is false while the library does not exist on disk, and nothing has to be read."""
        self._given, self._has_ledger = ledger, has_ledger

    def add(self, judgement: Judgement) -> None:
        """Store a judgement, with the time and a new mark."""
        stamped = replace(judgement, at=judgement.at or time.time(), mark=judgement.mark or uuid4().hex)
        self._ledger.transact_now(lambda db: _insert(db, [stamped]))

    def undo(self, rater: str, question: str, kinds: Collection[str], clips: Collection[str]) -> Judgement | None:
        """Mark the rater's last judgement of these clips as undone, and return it; None without one."""

        def undo(db: sqlite3.Connection) -> Judgement | None:
            for judgement in reversed(read_judgements(db, question)):
                is_theirs = judgement.rater == to_storable(rater) and judgement.kind in kinds
                if is_theirs and not judgement.undone and _is_about(judgement, clips):
                    db.execute("UPDATE judgements SET undone = 1 WHERE id = ?", (judgement.id,))
                    return judgement
            return None

        return self._ledger.transact_now(undo)

    def read(self, question: str | None = None, clips: Collection[str] | None = None) -> list[Judgement]:
        """The judgements that count, oldest first: of one question or of all, if all their clips are among these."""
        if not self._has_ledger():
            return []
        judgements = self._ledger.read(lambda db: read_judgements(db, question))
        wanted = None if clips is None else frozenset(clips)
        return [
            judgement
            for judgement in judgements
            if not judgement.undone and (wanted is None or _is_about(judgement, wanted)) and is_sound(judgement)
        ]

    @property
    def _ledger(self) -> Ledger:
        return self._given() if callable(self._given) else self._given


def read_judgements(db: sqlite3.Connection, question: str | None = None) -> list[Judgement]:
    """All judgements of a ledger, also undone ones, oldest first."""
    rows = db.execute(
        f"SELECT {', '.join(_NAMES)} FROM judgements WHERE ? IS NULL OR question = ? ORDER BY at, id",
        [to_storable(question)] * 2,
    )
    return [replace(Judgement(*row), undone=bool(row[-2])) for row in rows]


def merge_judgements(db: sqlite3.Connection, judgements: Sequence[Judgement]) -> int:
    """Insert the judgements of another library that are not here, and return their number; one undone there is here, too."""
    before = db.execute("SELECT count(*) FROM judgements").fetchone()[0]
    _insert(db, judgements)
    undone = [(judgement.mark,) for judgement in judgements if judgement.undone]
    db.executemany("UPDATE judgements SET undone = 1 WHERE mark = ? AND NOT undone", undone)
    return int(db.execute("SELECT count(*) FROM judgements").fetchone()[0] - before)


ANSWERS = {
    Kind.PAIRS: frozenset({Answer.LEFT, Answer.RIGHT, Answer.TIE, Answer.BAD, Answer.SKIP}),
    Kind.STARS: frozenset({*"12345", Answer.NONE}),
    Kind.KEEP: frozenset({Answer.KEEP, Answer.REJECT, Answer.NONE}),
}
"""The possible answers of each kind."""


def is_sound(judgement: Judgement) -> bool:
    """Whether the values of a row are valid, which may be of another library."""
    texts = (judgement.rater, judgement.question, judgement.first, judgement.answer, judgement.mark)
    numbers = (judgement.at, judgement.seconds or 0)
    return (
        judgement.answer in ANSWERS.get(judgement.kind, ())  # type: ignore[call-overload]  # A text of any kind.
        and all(isinstance(text, str) and 0 < len(text) <= MAX_LETTERS for text in texts)
        and (isinstance(judgement.second, str) if judgement.kind == Kind.PAIRS else judgement.second is None)
        and all(isinstance(number, (int, float)) and abs(number) < 1e12 for number in numbers)
    )


def _is_about(judgement: Judgement, clips: Collection[str]) -> bool:
    return judgement.first in clips and (judgement.second is None or judgement.second in clips)


def _insert(db: sqlite3.Connection, judgements: Sequence[Judgement]) -> None:
    names = _NAMES[:-1]
    db.executemany(
        f"INSERT OR IGNORE INTO judgements ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
        [[to_storable(getattr(judgement, name)) for name in names] for judgement in judgements],
    )
