"""`Ratings`: the judgements of a table's clips, what they say, and what is asked next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from ..storage.judgements import Answer, Judgement, Judgements, Kind
from ..storage.table.typed_columns import build_column
from .advice import Advice, advise, describe_remaining, describe_stars, describe_votes
from .agreement import Agreement, measure_agreement
from .judged_clips import Clips, find_axes, number_levels, usage_error
from .pairs import JudgedPair, Pair, PairChooser, choose_row
from .ranking import Pairs, Ranking, make_pairs, stand_clips

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
        self._chooser = PairChooser(clips)
        self._ranked: tuple[tuple[str, ...], pd.DataFrame] | None = None

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
        self._chooser, self._ranked = PairChooser(other._clips), None

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
        found = [one for one in self._read() if one.kind == self.kind]
        given = [one for one in (found if self.kind == Kind.PAIRS else _find_latest(found)) if _is_given(one)]
        return Counts(
            len(given),
            sum(one.rater == self.rater for one in given),
            len({one.rater for one in given}),
            sum(one.answer == Answer.SKIP for one in found),
            len(self._clips),
        )

    @property
    def frame(self) -> pd.DataFrame:
        """One row per judgement that counts, oldest first; `left` and `right` are rows of the table.

        Of stars, and of what to keep, the row is in `left`.
        """
        import pandas as pd

        found = self._read()
        rows = [(self._row(one.first), self._row(one.second)) for one in found]
        return pd.DataFrame(
            {
                "at": pd.to_datetime([datetime.fromtimestamp(one.at, UTC) for one in found], utc=True),
                "rater": pd.array([one.rater for one in found], dtype="string"),
                "question": pd.array([one.question for one in found], dtype="string"),
                "kind": pd.Categorical([str(one.kind) for one in found], categories=[str(kind) for kind in Kind]),
                "left": pd.array([left for left, _ in rows], dtype="Int64"),
                "right": pd.array([right for _, right in rows], dtype="Int64"),
                "answer": pd.array([one.answer for one in found], dtype="string"),
                "seconds": pd.array([one.seconds for one in found], dtype="Float64"),
            }
        )

    @property
    def table(self) -> pd.DataFrame:
        """The table with the columns rating, rating_low, rating_high, wins, judgements, stars and keep.

        `rating` is the score of the ranking, `stars` the mean of all raters, `keep` what most of them want; a judgement
        "both bad" counts against both.
        """
        found = self._read()
        ranking = self._rank_rows(found) if any(one.answer in SHARES for one in found) else None
        return add_rating_columns(self._table, self._clips, ranking, _find_latest(found), _count_bad(found))

    @property
    def verdict(self) -> Advice:
        """Sentences: whether the first place is decided, and roughly how many more judgements would settle it.

        Of stars and of what to keep: which has the most, and how many there are of each.
        """
        return self._advise(self._read())

    @property
    def remaining(self) -> str:
        """About how many judgements more would settle the first place, for one who judges: it names no clip."""
        return describe_remaining(self._clips, self._make_pairs(self._read())) if self.kind == Kind.PAIRS else ""

    @property
    def advice(self) -> Advice:
        """The sentences of the verdict, and those about raters who answer at random or by the side."""
        found = self._read()
        return self._advise(found, [one.rater for one in found if one.answer in SHARES])

    def ranking(self, by: str | None = None) -> pd.DataFrame:
        """The rows of the table, best first: score, low, high, chance to be the best, and counts; empty before any answer.

        Scores are natural logarithms around 0: a clip whose score is 1.1 higher wins three times out of four. Clips with equal
        settings are assumed to be similar, so a clip that nobody has seen has a score, too. The score lies between `low` and
        `high` with 90% certainty. With `by`, such as "num_frames", the values of a column are ranked instead: a judgement
        then counts for the values of its two clips, if they differ.
        """
        found = self._read()
        if by is None:
            return self._rank_rows(found)
        values, levels = self._find_levels(by)
        unit = np.array([levels[place] for place in self._clip_places()], dtype=np.int64)
        return Ranking(self._make_pairs(found), unit, np.arange(len(values))[:, None]).make_frame(values, name=by)

    def agreement(self) -> Agreement:
        """Krippendorff's alpha between raters: nominal for pairs and for what to keep, ordinal for stars."""
        of_kind = [one for one in self._read() if one.kind == self.kind]
        found = [one for one in (of_kind if self.kind == Kind.PAIRS else _find_latest(of_kind)) if _is_given(one)]
        answers: dict[object, dict[str, int]] = {}
        if self.kind == Kind.PAIRS:
            for one in found:
                first, second = sorted((one.first, str(one.second)))
                flipped = {Answer.LEFT: Answer.RIGHT, Answer.RIGHT: Answer.LEFT}.get(Answer(one.answer), one.answer)
                answer = one.answer if first == one.first else flipped
                answers.setdefault((first, second), {})[one.rater] = PAIR_ANSWERS.index(Answer(answer))
            return measure_agreement(answers, 4, level="nominal", mirror=(1, 0, 2, 3))
        is_stars = self.kind == Kind.STARS
        for one in found:
            value = int(one.answer) - 1 if is_stars else int(one.answer == Answer.KEEP)
            answers.setdefault(one.first, {})[one.rater] = value
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
        number = stars.item() if isinstance(stars, np.generic) else stars
        if number is not None and (isinstance(number, bool) or number not in range(1, MAX_STARS + 1)):
            raise usage_error(f"A rating is a number of stars from 1 to {MAX_STARS}, or None, not {stars!r:.40}.")
        self._add(Kind.STARS, clip, None, Answer.NONE if number is None else str(int(number)), seconds, mark)

    def keep(self, row: int, wanted: bool | None, seconds: float | None = None, *, mark: str = "") -> None:
        """Store whether a row is to be kept, in place of an earlier answer of this rater; None withdraws it."""
        clip = self._clips.get_clip(row)
        value = wanted.item() if isinstance(wanted, np.generic) else wanted
        if value is not None and not isinstance(value, bool):
            raise usage_error(f"Whether to keep a row is True, False or None, not {wanted!r:.40}.")
        self._add(
            Kind.KEEP,
            clip,
            None,
            Answer.NONE if value is None else Answer.KEEP if value else Answer.REJECT,
            seconds,
            mark,
        )

    def undo(self) -> bool:
        """Take back this rater's last answer of any kind; false if there is none. The row is kept, marked as undone."""
        return self._store.undo(self.rater, self.question, tuple(Kind), self._clips.keys) is not None

    def next_pair(self, *, without: Iterable[tuple[int, int]] = ()) -> Pair | None:
        """The two rows whose comparison would tell most, left and right; None if nothing is left to ask.

        `without` are pairs that are asked already, as they stand there, and not answered yet.
        """
        asked = [
            JudgedPair(self._clips.get_clip(left), self._clips.get_clip(right), None, is_skipped=True, is_mine=True)
            for left, right in without
        ]
        compared = [
            JudgedPair(
                self._clips.by_key[one.first], self._clips.by_key[str(one.second)], SHARES.get(one.answer),
                one.answer == Answer.SKIP, one.rater == self.rater,
            )
            for one in self._read()
            if one.kind == Kind.PAIRS
        ]  # fmt: skip
        return self._chooser.choose([*compared, *asked], name=f"{self.rater}\0{self.question}")

    def next_row(self, *, without: Iterable[int] = ()) -> int | None:
        """The row to give stars next, or to keep or reject; None if this rater has judged all; none of the rows `without`."""
        kind = Kind.KEEP if self.kind == Kind.KEEP else Kind.STARS
        mine = [one for one in self._read() if one.kind == kind and one.rater == self.rater]
        asked = list(map(self._clips.get_clip, without))
        latest = [one for one in _find_latest(mine) if self._clips.by_key[one.first] not in asked]
        return choose_row(
            self._clips,
            [self._clips.by_key[one.first] for one in latest if _is_given(one)] + asked,
            later=[self._clips.by_key[one.first] for one in latest if not _is_given(one)],
            name=f"{self.rater}\0{self.question}\0{kind}",
        )

    def _advise(self, found: list[Judgement], raters: list[str] | None = None) -> Advice:
        if self.kind == Kind.STARS:
            return describe_stars(self._clips, collect_stars(_find_latest(found)))
        if self.kind == Kind.KEEP:
            return describe_votes(self._clips, count_votes(_find_latest(found), _count_bad(found)))
        return advise(self._clips, self._make_pairs(found), raters)

    def _read(self) -> list[Judgement]:
        return self._store.read(self.question, self._clips.keys)

    def _add(self, kind: Kind, first: int, second: int | None, answer: str, seconds: float | None, mark: str) -> None:
        took = None if seconds is None else _parse_seconds(seconds)
        keys = self._clips.keys
        self._store.add(
            Judgement(
                self.rater,
                self.question,
                kind,
                keys[first],
                None if second is None else keys[second],
                str(answer),
                took,
                mark=mark,
            )
        )

    def _row(self, key: str | None) -> int | None:
        return None if key is None else self._clips.rows[self._clips.by_key[key]]

    def _judged(self, found: Iterable[Judgement]) -> list[tuple[int, int, float | None]]:
        """The pairs as numbers of clips, with the share of the left one; None where both are bad."""
        by_key = self._clips.by_key
        return [
            (by_key[one.first], by_key[str(one.second)], SHARES.get(one.answer))
            for one in found
            if one.kind == Kind.PAIRS and one.answer != Answer.SKIP
        ]

    def _make_pairs(self, found: Iterable[Judgement]) -> Pairs:
        return make_pairs(self._judged(found))

    def _rank_rows(self, found: Iterable[Judgement]) -> pd.DataFrame:
        """The ranking of the rows, which is computed again only after another judgement."""
        pairs = [one for one in found if one.kind == Kind.PAIRS]
        marks = tuple(one.mark for one in pairs)
        if self._ranked is None or self._ranked[0] != marks:
            self._ranked = (
                marks,
                stand_clips(self._clips, self._make_pairs(pairs)).make_frame(self._clips.rows, name=RUN),
            )
        return self._ranked[1].copy()

    def _clip_places(self) -> list[int]:
        """The position of each clip's row in the table."""
        places = {int(label): place for place, label in enumerate(self._table.index)}
        return [places[row] for row in self._clips.rows]

    def _find_levels(self, by: Any) -> tuple[list[Any], list[int]]:
        """The values of a column, and the level of each row; an error for one that does not vary among the clips."""
        axes = ", ".join(find_axes(self._table)) or "none"
        if not isinstance(by, str) or by not in self._table.columns:
            hint = (
                "a ranking of the raters does not exist; ratings.agreement() compares them. " if by == "rater" else ""
            )
            raise usage_error(
                f"There is no column {by!r:.60} to rank by: {hint}`by` is the name of a column of the table; those that vary are {axes}."
            )
        values, levels = number_levels(self._table, by)
        count = len({levels[place] for place in self._clip_places()})
        if count < 2:
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


def _find_latest(found: Iterable[Judgement]) -> list[Judgement]:
    """The last answer of each rater about each clip, of stars and of what to keep."""
    latest = {(one.kind, one.rater, one.first): one for one in found if one.kind != Kind.PAIRS}
    return list(latest.values())


def _count_bad(found: Iterable[Judgement]) -> Counter[str]:
    """How often each clip was one of two that are both bad."""
    return Counter(key for one in found if one.answer == Answer.BAD for key in (one.first, str(one.second)))


def _is_given(judgement: Judgement) -> bool:
    return judgement.answer not in (Answer.SKIP, Answer.NONE)


def add_rating_columns(
    table: pd.DataFrame,
    clips: Clips,
    ranking: pd.DataFrame | None,
    latest: Sequence[Judgement],
    bad: Counter[str],
) -> pd.DataFrame:
    """The table with its ratings; earlier ones are replaced. `latest` are the answers about single clips."""
    by_clip: dict[str, list[Any]] = {name: [None] * len(clips) for name in COLUMNS}
    if ranking is not None:
        places = {row: clip for clip, row in enumerate(clips.rows)}
        for name, column in zip(COLUMNS, ("score", "low", "high", "wins", "judgements"), strict=False):
            for row, value in ranking[ranking["judgements"] > ranking["bad"]][column].items():
                by_clip[name][places[int(str(row))]] = value
    for key, given in collect_stars(latest).items():
        by_clip["stars"][clips.by_key[key]] = sum(given) / len(given)
    for key, vote in count_votes(latest, bad).items():
        by_clip["keep"][clips.by_key[key]] = None if not vote else vote > 0
    kinds = {"wins": "integer", "judgements": "integer", "keep": "boolean"}
    rows = [clips.by_row.get(int(label)) for label in table.index]
    earlier = list(table.attrs.get(NOTE, ()))
    names = {name: f"{PREFIX}{name}" if name in table.columns and name not in earlier else name for name in COLUMNS}
    columns = {
        names[name]: build_column(
            [None if clip is None else values[clip] for clip in rows], kinds.get(name, "number")
        ).array
        for name, values in by_clip.items()
    }
    result = table.assign(**columns)
    result.attrs[NOTE] = sorted({*earlier, *(name for name in names.values() if not name.startswith(PREFIX))})
    return result


def collect_stars(latest: Iterable[Judgement]) -> dict[str, list[int]]:
    """The stars of each clip that has some."""
    stars: dict[str, list[int]] = {}
    for one in latest:
        if one.kind == Kind.STARS and one.answer != Answer.NONE:
            stars.setdefault(one.first, []).append(int(one.answer))
    return stars


def count_votes(latest: Iterable[Judgement], bad: Mapping[str, int]) -> dict[str, int]:
    """The answers to keep each clip less those against; a pair of which both are bad counts against both."""
    votes = Counter({key: -count for key, count in bad.items()})
    for one in latest:
        if one.kind == Kind.KEEP and one.answer != Answer.NONE:
            votes[one.first] += 1 if one.answer == Answer.KEEP else -1
    return dict(votes)
