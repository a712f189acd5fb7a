"""Judgements of clips by people, as rows in the ledger's database; a clip is named by the request id of its run.

A request id, unlike the number, identity or take of a run, never changes: not when libraries are merged, when two
names of a service turn out to be one, or when the input of an attached run becomes known.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import partial
from typing import Any
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
_STORED = _NAMES[:-1]
_COLUMNS = ", ".join(_NAMES)
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
        self._ledger.transact_now(partial(_insert, judgements=[stamped]))

    def undo(self, rater: str, question: str, kinds: Collection[str], clips: Collection[str]) -> Judgement | None:
        """Mark the rater's last judgement of these clips as undone, and return it; None without one."""
        return self._ledger.transact_now(
            partial(_undo, rater=rater, question=question, kinds=frozenset(kinds), clips=frozenset(clips))
        )

    def read(self, question: str | None = None, clips: Collection[str] | None = None) -> list[Judgement]:
        """The judgements that count, oldest first: of one question or of all, if all their clips are among these."""
        if not self._has_ledger():
            return []
        found = self._ledger.read(partial(read_judgements, question=question))
        wanted = None if clips is None else frozenset(clips)
        return [one for one in found if not one.undone and (wanted is None or _is_about(one, wanted)) and is_sound(one)]

    @property
    def _ledger(self) -> Ledger:
        return self._given() if callable(self._given) else self._given


def read_judgements(db: sqlite3.Connection, question: str | None = None) -> list[Judgement]:
    """All judgements of a ledger, also undone ones, oldest first; none in a ledger of an older version."""
    if db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'judgements'").fetchone() is None:
        return []
    where = "" if question is None else "WHERE question = ?"
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM judgements {where} ORDER BY at, id",
        [] if question is None else [to_storable(question)],
    )
    return [_parse_row(row) for row in rows]


def merge_judgements(db: sqlite3.Connection, judgements: Sequence[Judgement]) -> int:
    """Insert the judgements of another library that are not here, and return their number; one undone there is here, too."""
    before = db.execute("SELECT count(*) FROM judgements").fetchone()[0]
    _insert(db, judgements)
    undone = [(one.mark,) for one in judgements if one.undone]
    db.executemany("UPDATE judgements SET undone = 1 WHERE mark = ? AND NOT undone", undone)
    return int(db.execute("SELECT count(*) FROM judgements").fetchone()[0] - before)


ANSWERS = {
    Kind.PAIRS: frozenset({Answer.LEFT, Answer.RIGHT, Answer.TIE, Answer.BAD, Answer.SKIP}),
    Kind.STARS: frozenset({*"12345", Answer.NONE}),
    Kind.KEEP: frozenset({Answer.KEEP, Answer.REJECT, Answer.NONE}),
}
"""The possible answers of each kind."""


def is_sound(judgement: Judgement) -> bool:
    """Whether the values of a row are valid: one of another library, or one rescued from a damaged ledger."""
    texts = (judgement.rater, judgement.question, judgement.first, judgement.answer, judgement.mark)
    return (
        judgement.answer in ANSWERS.get(judgement.kind, ())  # type: ignore[call-overload]  # A text of any kind.
        and all(isinstance(text, str) and 0 < len(text) <= MAX_LETTERS for text in texts)
        and (isinstance(judgement.second, str) if judgement.kind == Kind.PAIRS else judgement.second is None)
        and _is_number(judgement.at)
        and (judgement.seconds is None or _is_number(judgement.seconds))
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and abs(value) < 1e12


def _is_about(judgement: Judgement, clips: frozenset[str]) -> bool:
    return judgement.first in clips and (judgement.second is None or judgement.second in clips)


def _insert(db: sqlite3.Connection, judgements: Sequence[Judgement]) -> None:
    db.executemany(
        f"INSERT OR IGNORE INTO judgements ({', '.join(_STORED)}) VALUES ({', '.join('?' * len(_STORED))})",
        [[to_storable(getattr(one, name)) for name in _STORED] for one in judgements],
    )


def _undo(
    db: sqlite3.Connection, *, rater: str, question: str, kinds: frozenset[str], clips: frozenset[str]
) -> Judgement | None:  # fmt: skip
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM judgements WHERE question = ? AND rater = ? AND NOT undone ORDER BY at DESC, id DESC",
        (to_storable(question), to_storable(rater)),
    )
    last = next((one for one in map(_parse_row, rows) if one.kind in kinds and _is_about(one, clips)), None)
    if last is not None:
        db.execute("UPDATE judgements SET undone = 1 WHERE id = ?", (last.id,))
    return last


def _parse_row(row: Sequence[Any]) -> Judgement:
    return replace(Judgement(*row), undone=bool(row[-2]))
