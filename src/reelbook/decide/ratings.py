"""`Ratings`: the judgements of a table's clips, what they say, and what is asked next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from ..storage.judgements import Answer, Judgement, Judgements, Kind
from ..storage.table import build_column
from .advice import Advice, Agreement, advise, describe_remaining, describe_stars, describe_votes, measure_agreement
from .judged_clips import Clips, find_axes, number_levels, usage_error
from .ranking import JudgedPair, Pair, Ranking, choose_pair, choose_row, rank_clips

if TYPE_CHECKING:
    import pandas as pd

SHARES: Mapping[str, float] = {Answer.LEFT: 1.0, Answer.RIGHT: 0.0, Answer.TIE: 0.5}
"""The share of the left clip in a decided pair."""
PAIR_ANSWERS = (Answer.LEFT, Answer.RIGHT, Answer.TIE, Answer.BAD, Answer.SKIP)
MAX_STARS = 5
MAX_SECONDS = 1e9
RUN = "run"
"""The name of the index of a ranking of rows."""
COLUMNS = ("rating", "rating_low", "rating_high", "wins", "judgements", "stars", "keep")
NOTE = "reelbook_rated"
"""The key in a table's `attrs` that lists its columns of judgements."""
PREFIX = "judged_"
"""Before the name of a column if the table has another one of that name."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How much has been judged, of the kind that these ratings ask for."""

    judged: int
    """Answers that count: without skipped and withdrawn ones."""
    mine: int
    """Those of this rater."""
    raters: int
    skipped: int
    clips: int
    """Clips that can be judged."""

    def __str__(self) -> str:
        people = "nobody yet" if not self.raters else "1 person" if self.raters == 1 else f"{self.raters} people"
        return (
            f"{self.judged:,} {'judgement' if self.judged == 1 else 'judgements'} of {self.clips:,} clips by {people}"
        )


class Ratings:
    """The judgements of the clips of a table in answer to one question, returned by `rb.judge`.

    They are rows in the library of the clips: every answer is stored before the call returns, and visible to everybody who
    judges the same clips with the same question, in any process. You can stop and continue later.

    Example::

        table = rb.sweep(boat, seed=[7, 8]).run(budget=106)
        ratings = rb.judge(table, rater="ana")
        ratings.judge(0, 1, "tie")
        ratings.ranking()
    """

    def __init__(
        self, table: pd.DataFrame, clips: Clips, store: Judgements, *, question: str, rater: str, kind: str
    ) -> None:
        self.question, self.rater, self.kind = question, rater, Kind(kind)
        self._table, self._clips, self._store = table, clips, store

    def __repr__(self) -> str:
        lines = [f"<ratings: {self.question!r}, {self.counts}>", *self.advice]
        return "\n".join(lines)

    @property
    def source(self) -> pd.DataFrame:
        """The table whose clips are judged, as it was given."""
        return self._table

    def replace_table(self, other: Ratings) -> None:
        """Judge the clips of the table of other ratings from now on, such as of one that has grown."""
        self._table, self._clips = other._table, other._clips

    @property
    def rows(self) -> tuple[int, ...]:
        """The numbers of the rows that can be judged; rows with the same clip are judged as one, by the first."""
        return self._clips.rows

    @property
    def clips(self) -> Clips:
        """The distinct clips of the table, with the request id of each and its row."""
        return self._clips

    @property
    def axes(self) -> tuple[str, ...]:
        """The columns of the settings that vary among the clips."""
        return self._clips.axes

    @property
    def counts(self) -> Counts:
        """How much has been judged."""
        of_kind = [judgement for judgement in self._read() if judgement.kind == self.kind]
        given = self._find_given(of_kind)
        return Counts(
            len(given),
            sum(judgement.rater == self.rater for judgement in given),
            len({judgement.rater for judgement in given}),
            sum(judgement.answer == Answer.SKIP for judgement in of_kind),
            len(self._clips),
        )

    @property
    def pairs(self) -> list[JudgedPair]:
        """The judged pairs that count, oldest first, by the numbers of their clips."""
        return self._make_pairs(self._read())

    @property
    def frame(self) -> pd.DataFrame:
        """One row per judgement that counts, oldest first; `left` and `right` are rows of the table.

        Of stars, and of what to keep, the row is in `left`.
        """
        import pandas as pd

        judgements, by_key = self._read(), dict(zip(self._clips.keys, self._clips.rows, strict=True))
        columns = {
            "at": pd.to_datetime([datetime.fromtimestamp(judgement.at, UTC) for judgement in judgements], utc=True),
            **{name: [getattr(judgement, name) for judgement in judgements] for name in ("rater", "question", "kind")},
            "left": [by_key[judgement.first] for judgement in judgements],
            "right": [None if judgement.second is None else by_key[judgement.second] for judgement in judgements],
            **{name: [getattr(judgement, name) for judgement in judgements] for name in ("answer", "seconds")},
        }
        kinds: dict[str, Any] = {
            "kind": pd.CategoricalDtype(list(map(str, Kind))),
            "left": "Int64",
            "right": "Int64",
            "seconds": "Float64",
        }
        return pd.DataFrame(columns).astype({"rater": "string", "question": "string", "answer": "string", **kinds})

    @property
    def table(self) -> pd.DataFrame:
        """The table with the columns rating, rating_low, rating_high, wins, judgements, stars and keep.

        `rating` is the score of the ranking, `stars` the mean of all raters, `keep` what most of them want; a judgement
        "both bad" counts against both.
        """
        judgements = self._read()
        is_ranked = any(judgement.answer in SHARES for judgement in judgements)
        return add_rating_columns(
            self._table, self._clips, self._rank_rows(judgements) if is_ranked else None,
            collect_stars(judgements), count_votes(judgements),
        )  # fmt: skip

    @property
    def remaining(self) -> str:
        """About how many judgements more would settle the first place, for one who judges: it names no clip."""
        return describe_remaining(self._clips, self.pairs) if self.kind == Kind.PAIRS else ""

    @property
    def advice(self) -> Advice:
        """Sentences: whether the first place is decided, and roughly how many more judgements would settle it.

        Of stars and of what to keep: which has the most, and how many there are of each.
        """
        judgements = self._read()
        if self.kind == Kind.STARS:
            return describe_stars(self._clips, collect_stars(judgements))
        if self.kind == Kind.KEEP:
            return describe_votes(self._clips, count_votes(judgements))
        return advise(self._clips, self._make_pairs(judgements))

    def ranking(self, by: str | None = None) -> pd.DataFrame:
        """The rows of the table, best first: score, low, high, chance to be the best, and counts; empty before any answer.

        Scores are natural logarithms around 0: a clip whose score is 1.1 higher wins three times out of four. Clips with equal
        settings are assumed to be similar, so a clip that nobody has seen has a score, too. The score lies between `low` and
        `high` with 90% certainty. With `by`, such as "num_frames", the values of a column are ranked instead: a judgement
        then counts for the values of its two clips, if they differ.
        """
        if by is None:
            return self._rank_rows(self._read())
        values, levels = self._find_levels(by)
        return Ranking(self.pairs, np.array(levels), np.arange(len(values))[:, None]).make_frame(values, name=by)

    def agreement(self) -> Agreement:
        """Krippendorff's alpha between raters: nominal for pairs and for what to keep, ordinal for stars."""
        given = self._find_given([judgement for judgement in self._read() if judgement.kind == self.kind])
        answers: dict[object, dict[str, int]] = {}
        if self.kind == Kind.PAIRS:
            turned = {Answer.LEFT: Answer.RIGHT, Answer.RIGHT: Answer.LEFT}
            for judgement in given:
                answer, second = Answer(judgement.answer), str(judgement.second)
                if second < judgement.first:
                    answer = turned.get(answer, answer)
                pair = frozenset((judgement.first, second))
                answers.setdefault(pair, {})[judgement.rater] = PAIR_ANSWERS.index(answer)
            return measure_agreement(answers, 4, level="nominal", mirror=(1, 0, 2, 3))
        is_stars = self.kind == Kind.STARS
        for judgement in given:
            value = int(judgement.answer) - 1 if is_stars else int(judgement.answer == Answer.KEEP)
            answers.setdefault(judgement.first, {})[judgement.rater] = value
        return measure_agreement(answers, MAX_STARS, level="ordinal" if is_stars else "nominal", noun="clip")

    def judge(self, left: int, right: int, answer: str, seconds: float | None = None, *, mark: str = "") -> None:
        """Store the answer to a pair: "left", "right", "tie", "bad" (both are) or "skip"; rows by their numbers.

        An answer with the `mark` of an earlier one is the same, sent again, and is not stored again.
        """
        first, second = self._clips.get_clip(left), self._clips.get_clip(right)
        if first == second:
            raise usage_error(f"Rows {left} and {right} are the same clip. Compare two different ones.")
        if answer not in PAIR_ANSWERS:
            raise usage_error(f"The answer to a pair is one of {', '.join(PAIR_ANSWERS)}, not {answer!r:.40}.")
        self._add(Kind.PAIRS, first, second, str(answer), seconds, mark)

    def rate(self, row: int, stars: int | None, seconds: float | None = None, *, mark: str = "") -> None:
        """Store 1 to 5 stars for a row, in place of earlier ones of this rater; None withdraws them."""
        clip = self._clips.get_clip(row)
        if stars is not None and (isinstance(stars, bool) or stars not in range(1, MAX_STARS + 1)):
            raise usage_error(f"A rating is a number of stars from 1 to {MAX_STARS}, or None, not {stars!r:.40}.")
        self._add(Kind.STARS, clip, None, Answer.NONE if stars is None else str(int(stars)), seconds, mark)

    def keep(self, row: int, wanted: bool | None, seconds: float | None = None, *, mark: str = "") -> None:
        """Store whether a row is to be kept, in place of an earlier answer of this rater; None withdraws it."""
        clip = self._clips.get_clip(row)
        if wanted is not None and not isinstance(wanted, (bool, np.bool_)):
            raise usage_error(f"Whether to keep a row is True, False or None, not {wanted!r:.40}.")
        answer = Answer.NONE if wanted is None else Answer.KEEP if wanted else Answer.REJECT
        self._add(Kind.KEEP, clip, None, answer, seconds, mark)

    def undo(self) -> bool:
        """Take back this rater's last answer of any kind; false if there is none. The row is kept, marked as undone."""
        return self._store.undo(self.rater, self.question, tuple(Kind), self._clips.keys) is not None

    def next_pair(self, *, without: Iterable[tuple[int, int]] = ()) -> Pair | None:
        """The two rows whose comparison would tell most, left and right; None if nothing is left to ask.

        `without` are pairs that are asked already, as they stand there, and not answered yet.
        """
        asked = [
            JudgedPair(self._clips.get_clip(left), self._clips.get_clip(right), None, is_skipped=True, rater=self.rater)
            for left, right in without
        ]
        return choose_pair(self._clips, [*self.pairs, *asked], rater=self.rater, question=self.question)

    def next_row(self, *, without: Iterable[int] = ()) -> int | None:
        """The row to give stars next, or to keep or reject; None if this rater has judged all; none of the rows `without`."""
        kind = Kind.KEEP if self.kind == Kind.KEEP else Kind.STARS
        mine = [judgement for judgement in self._read() if judgement.kind == kind and judgement.rater == self.rater]
        given = {self._clips.by_key[judgement.first]: _is_given(judgement) for judgement in _find_latest(mine)}
        done = {*map(self._clips.get_clip, without), *(clip for clip, is_given in given.items() if is_given)}
        later = [clip for clip in given if clip not in done]
        return choose_row(self._clips, done, later=later, name=f"{self.rater}\0{self.question}\0{kind}")

    def _read(self) -> list[Judgement]:
        return self._store.read(self.question, self._clips.keys)

    def _add(self, kind: Kind, first: int, second: int | None, answer: str, seconds: float | None, mark: str) -> None:
        took = None if seconds is None else _parse_seconds(seconds)
        other = None if second is None else self._clips.keys[second]
        self._store.add(
            Judgement(self.rater, self.question, kind, self._clips.keys[first], other, str(answer), took, mark=mark)
        )

    def _find_given(self, of_kind: list[Judgement]) -> list[Judgement]:
        """Answers of the kind asked for, without skipped and withdrawn ones; about single clips the last of each rater."""
        counted = of_kind if self.kind == Kind.PAIRS else _find_latest(of_kind)
        return [judgement for judgement in counted if _is_given(judgement)]

    def _make_pairs(self, judgements: Iterable[Judgement]) -> list[JudgedPair]:
        by_key = self._clips.by_key
        return [
            JudgedPair(
                by_key[judgement.first], by_key[str(judgement.second)], SHARES.get(judgement.answer),
                judgement.answer == Answer.SKIP, judgement.rater,
            )
            for judgement in judgements
            if judgement.kind == Kind.PAIRS
        ]  # fmt: skip

    def _rank_rows(self, judgements: Iterable[Judgement]) -> pd.DataFrame:
        return rank_clips(self._clips, self._make_pairs(judgements)).make_frame(self._clips.rows, name=RUN)

    def _find_levels(self, by: Any) -> tuple[list[Any], list[int]]:
        """The values of a column, and the level of each clip; an error for one that does not vary among the clips."""
        axes = ", ".join(find_axes(self._table)) or "none"
        if not isinstance(by, str) or by not in self._table.columns:
            raise usage_error(
                f"There is no column {by!r:.60} to rank by; those that vary are {axes}. ratings.agreement() compares the raters."
            )
        values, of_rows = number_levels(self._table, by)
        by_row = dict(zip(map(int, self._table.index), of_rows, strict=True))
        levels = [by_row[row] for row in self._clips.rows]
        if len(set(levels)) < 2:
            raise usage_error(
                f"{by} has the same value in all clips, so there is nothing to rank. What varies: {axes}."
            )
        return values, levels


def _parse_seconds(seconds: Any) -> float:
    """The duration of a judgement as a number; an `InvalidInput` for what is none."""
    try:
        if 0 <= (took := float(seconds)) < MAX_SECONDS:
            return took
    except (TypeError, ValueError, OverflowError):
        pass
    raise usage_error(f"The seconds of a judgement are a number from 0, not {seconds!r:.40}.")


def _find_latest(judgements: Iterable[Judgement]) -> list[Judgement]:
    """The last answer of each rater about each clip, of stars and of what to keep."""
    latest = {(each.kind, each.rater, each.first): each for each in judgements if each.kind != Kind.PAIRS}
    return list(latest.values())


def _is_given(judgement: Judgement) -> bool:
    return judgement.answer not in (Answer.SKIP, Answer.NONE)


def add_rating_columns(
    table: pd.DataFrame, clips: Clips, ranking: pd.DataFrame | None, stars: Mapping[str, list[int]], votes: Mapping[str, int]
) -> pd.DataFrame:  # fmt: skip
    """The table with its ratings; earlier ones are replaced."""
    by_row: dict[str, dict[Any, Any]] = {name: {} for name in COLUMNS}
    if ranking is not None:
        decided = ranking[ranking["judgements"] > ranking["bad"]]
        for name, column in zip(COLUMNS, ("score", "low", "high", "wins", "judgements"), strict=False):
            by_row[name] = decided[column].to_dict()
    rows = {key: clips.rows[clip] for key, clip in clips.by_key.items()}
    by_row["stars"] = {rows[key]: sum(given) / len(given) for key, given in stars.items()}
    by_row["keep"] = {rows[key]: vote > 0 for key, vote in votes.items() if vote}
    kinds = {"wins": "integer", "judgements": "integer", "keep": "boolean"}
    of_clip = [clips.by_row.get(int(label)) for label in table.index]
    earlier = list(table.attrs.get(NOTE, ()))
    names = {name: f"{PREFIX}{name}" if name in table.columns and name not in earlier else name for name in COLUMNS}
    columns = {}
    for name, values in by_row.items():
        listed = [None if clip is None else values.get(clips.rows[clip]) for clip in of_clip]
        columns[names[name]] = build_column(listed, kinds.get(name, "number")).array
    result = table.assign(**columns)
    result.attrs[NOTE] = sorted({*earlier, *(name for name in names.values() if not name.startswith(PREFIX))})
    return result


def collect_stars(judgements: Iterable[Judgement]) -> dict[str, list[int]]:
    """The stars of each clip that has some."""
    stars: dict[str, list[int]] = {}
    for judgement in _find_latest(judgements):
        if judgement.kind == Kind.STARS and judgement.answer != Answer.NONE:
            stars.setdefault(judgement.first, []).append(int(judgement.answer))
    return stars


def count_votes(judgements: Sequence[Judgement]) -> dict[str, int]:
    """The answers to keep each clip less those against; a pair of which both are bad counts against both."""
    votes: Counter[str] = Counter()
    for judgement in judgements:
        if judgement.answer == Answer.BAD:
            votes.subtract([judgement.first, str(judgement.second)])
    for judgement in _find_latest(judgements):
        if judgement.kind == Kind.KEEP and judgement.answer != Answer.NONE:
            votes[judgement.first] += 1 if judgement.answer == Answer.KEEP else -1
    return dict(votes)
