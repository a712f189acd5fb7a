"""`Ratings`: the judgements of a table's clips, what they say in figures and in words, and what is asked next."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..storage.judgements import Answer, Judgement, Judgements, Kind
from ..storage.table import build_column
from ..util.printable import format_count
from .posterior import logistic
from .ranking import (
    SEEN_ENOUGH,
    Clips,
    JudgedPair,
    Pair,
    Ranking,
    choose_pair,
    choose_row,
    find_axes,
    judge_error,
    number_levels,
    rank_clips,
    rank_units,
)

if TYPE_CHECKING:
    import pandas as pd

SHARES: Mapping[str, float] = {Answer.LEFT: 1.0, Answer.RIGHT: 0.0, Answer.TIE: 0.5}
"""The share of the left clip in a decided pair."""
PAIR_ANSWERS = (Answer.LEFT, Answer.RIGHT, Answer.TIE, Answer.BAD, Answer.SKIP)
MAX_STARS = 5
COLUMNS = {"rating": "score", "rating_low": "low", "rating_high": "high", "wins": "wins", "judgements": "judgements"}
"""The columns of a ranking in a table, by their names there."""
SURE = 0.95
"""The chance to be the best from which the first place is settled."""
MIN_RIVAL = 0.01
"""The least chance to be the best of a clip that more judgements would have to rule out."""
MAX_MORE = 1_000
MEANINGS = (
    (0.8, "they agree"),
    (0.667, "they agree enough for tentative conclusions"),
    (0.2, "they agree in part"),
    (0.0, "they agree hardly more than by chance"),
    (-math.inf, "they disagree more than by chance"),
)
"""What alpha means from a bound on; the upper two are those that Krippendorff recommends."""
Level = Literal["nominal", "ordinal"]


@dataclass(frozen=True, slots=True)
class Counts:
    """How much has been judged, of the kind that these ratings ask for."""

    judged: int
    """Answers that count: without skipped and withdrawn ones."""
    mine: int
    """Those of this rater."""
    raters: int
    clips: int
    """Clips that can be judged."""

    def __str__(self) -> str:
        people = "nobody yet" if not self.raters else "1 person" if self.raters == 1 else f"{self.raters} people"
        return f"{format_count(self.judged, 'judgement')} of {self.clips:,} clips by {people}"


class Advice(tuple[str, ...]):
    """Sentences, printed as lines."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(self)


@dataclass(frozen=True)
class Agreement:
    """How far raters agree: 1 is always, 0 as often as by chance, below 0 less often."""

    alpha: float | None
    """Krippendorff's alpha; None if it cannot be computed."""
    raters: int
    units: int
    """Pairs or clips that more than one of the raters has judged."""
    sentence: str

    def __repr__(self) -> str:
        return self.sentence


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
        self.source, self.clips = table, clips
        self._store = store

    def __repr__(self) -> str:
        return "\n".join([f"<ratings: {self.question!r}, {self.counts}>", *self.advice])

    def replace_table(self, other: Ratings) -> None:
        """Judge the clips of the table of other ratings from now on, such as of one that has grown."""
        self.source, self.clips = other.source, other.clips

    @property
    def rows(self) -> tuple[int, ...]:
        """The numbers of the rows that can be judged; rows with the same clip are judged as one, by the first."""
        return self.clips.rows

    @property
    def counts(self) -> Counts:
        """How much has been judged."""
        given = self._find_given()
        mine = sum(judgement.rater == self.rater for judgement in given)
        return Counts(len(given), mine, len({judgement.rater for judgement in given}), len(self.clips))

    @property
    def pairs(self) -> list[JudgedPair]:
        """The judged pairs that count, oldest first, by the numbers of their clips."""
        by_key = self.clips.by_key
        return [
            JudgedPair(
                by_key[judgement.first], by_key[str(judgement.second)], SHARES.get(judgement.answer),
                judgement.answer == Answer.SKIP, judgement.rater,
            )
            for judgement in self._read()
            if judgement.kind == Kind.PAIRS
        ]  # fmt: skip

    @property
    def frame(self) -> pd.DataFrame:
        """One row per judgement that counts, oldest first; `left` and `right` are rows of the table.

        Of stars, and of what to keep, the row is in `left`.
        """
        import pandas as pd

        rows = dict(zip(self.clips.keys, self.clips.rows, strict=True))
        judgements = [
            (datetime.fromtimestamp(each.at, UTC), each.rater, each.question, str(each.kind), rows[each.first],
             None if each.second is None else rows[each.second], each.answer, each.seconds)
            for each in self._read()
        ]  # fmt: skip
        kinds: dict[str, Any] = {
            "at": "datetime64[ns, UTC]", "rater": "string", "question": "string", "kind": pd.CategoricalDtype(list(map(str, Kind))),
            "left": "Int64", "right": "Int64", "answer": "string", "seconds": "Float64",
        }  # fmt: skip
        return pd.DataFrame(judgements, columns=list(kinds)).astype(kinds)

    @property
    def table(self) -> pd.DataFrame:
        """The table with the columns rating, rating_low, rating_high, wins, judgements, stars and keep.

        `rating` is the score of the ranking, `stars` the mean of all raters, `keep` what most of them want; a judgement
        "both bad" counts against both. Columns of these names are replaced.
        """
        ranking, clips = self.ranking(), self.clips
        decided = ranking[ranking["judgements"] > ranking["bad"]]
        values = {name: decided[column].to_dict() for name, column in COLUMNS.items()}
        rows = {key: clips.rows[clip] for key, clip in clips.by_key.items()}
        values["stars"] = {rows[key]: sum(given) / len(given) for key, given in self._collect_stars().items()}
        values["keep"] = {rows[key]: vote > 0 for key, vote in self._count_votes().items() if vote}
        kinds = {"wins": "integer", "judgements": "integer", "keep": "boolean"}
        of_row = [None if clip is None else clips.rows[clip] for clip in map(clips.by_row.get, self.source.index)]
        return self.source.assign(**{
            name: build_column([by_row.get(row) for row in of_row], kinds.get(name, "number")).array
            for name, by_row in values.items()
        })  # fmt: skip

    @property
    def remaining(self) -> str:
        """About how many judgements more would settle the first place, for one who judges: it names no clip."""
        return describe_first_place(self.clips, self.pairs)[1] if self.kind == Kind.PAIRS else ""

    @property
    def advice(self) -> Advice:
        """Sentences: whether the first place is decided, and roughly how many more judgements would settle it.

        Of stars and of what to keep: which has the most, and how many there are of each.
        """
        if self.kind == Kind.PAIRS:
            return Advice(describe_first_place(self.clips, self.pairs)[0])
        if self.kind == Kind.KEEP:
            votes = self._count_votes().values()
            wanted, rejected = (sum(sign * vote > 0 for vote in votes) for sign in (1, -1))
            left = len(self.clips) - wanted - rejected
            return Advice((f"{wanted:,} to keep, {rejected:,} to reject, {left:,} undecided.",))
        means = {key: sum(given) / len(given) for key, given in self._collect_stars().items()}
        if not means:
            return Advice(("No clip has stars yet.",))
        best = [str(self.clips.rows[self.clips.by_key[key]]) for key in means if means[key] == max(means.values())]
        named = f"Row {best[0]} has" if len(best) == 1 else f"{len(best):,} rows have"
        missing = format_count(len(self.clips) - len(means), "clip")
        left_out = f" {missing} without stars so far." if len(means) < len(self.clips) else ""
        return Advice((f"{named} the most stars, {max(means.values()):.1f} on average.{left_out}",))

    def ranking(self, by: str | None = None) -> pd.DataFrame:
        """The rows of the table, best first: score, low, high, chance to be the best, and counts; empty before any answer.

        Scores are natural logarithms around 0: a clip whose score is 1.1 higher wins three times out of four. Clips with equal
        settings are assumed to be similar, so a clip that nobody has seen has a score, too. The score lies between `low` and
        `high` with 90% certainty. With `by`, such as "num_frames", the values of a column are ranked instead: a judgement
        then counts for the values of its two clips, if they differ.
        """
        if by is None:
            return rank_clips(self.clips, self.pairs).make_frame(self.clips.rows, name="run")
        axes = ", ".join(find_axes(self.source)) or "none"
        if not isinstance(by, str) or by not in self.source.columns:
            raise judge_error(
                f"There is no column {by!r:.60} to rank by; those that vary are {axes}. ratings.agreement() compares the raters."
            )
        values, of_rows = number_levels(self.source, by)
        by_row = dict(zip(map(int, self.source.index), of_rows, strict=True))
        levels = np.array([by_row[row] for row in self.clips.rows])
        if len(set(levels.tolist())) < 2:
            raise judge_error(
                f"{by} has the same value in all clips, so there is nothing to rank. What varies: {axes}."
            )
        return Ranking(self.pairs, levels, np.arange(len(values))[:, None]).make_frame(values, name=by)

    def agreement(self) -> Agreement:
        """Krippendorff's alpha between raters: nominal for pairs and for what to keep, ordinal for stars."""
        answers: dict[object, dict[str, int]] = {}
        for judgement in self._find_given():
            unit: object = judgement.first
            if self.kind == Kind.PAIRS:
                value, unit = PAIR_ANSWERS.index(Answer(judgement.answer)), frozenset((unit, judgement.second))
                # As if the clips of a pair had always stood in the same order.
                value = 1 - value if value < 2 and str(judgement.second) < judgement.first else value
            else:
                is_stars = self.kind == Kind.STARS
                value = int(judgement.answer) - 1 if is_stars else int(judgement.answer == Answer.KEEP)
            answers.setdefault(unit, {})[judgement.rater] = value
        if self.kind == Kind.PAIRS:
            return measure_agreement(answers, 4, mirror=(1, 0, 2, 3))
        level: Level = "ordinal" if self.kind == Kind.STARS else "nominal"
        return measure_agreement(answers, MAX_STARS, level=level, noun="clip")

    def judge(self, left: int, right: int, answer: str, seconds: float | None = None, *, mark: str = "") -> None:
        """Store the answer to a pair: "left", "right", "tie", "bad" (both are) or "skip"; rows by their numbers.

        An answer with the `mark` of an earlier one is the same, sent again, and is not stored again.
        """
        first, second = self.clips.get_clip(left), self.clips.get_clip(right)
        if first == second:
            raise judge_error(f"Rows {left} and {right} are the same clip. Compare two different ones.")
        if answer not in PAIR_ANSWERS:
            raise judge_error(f"The answer to a pair is one of {', '.join(PAIR_ANSWERS)}, not {answer!r:.40}.")
        self._add(Kind.PAIRS, first, second, answer, seconds, mark)

    def rate(self, row: int, stars: int | None, seconds: float | None = None, *, mark: str = "") -> None:
        """Store 1 to 5 stars for a row, in place of earlier ones of this rater; None withdraws them."""
        clip = self.clips.get_clip(row)
        if stars is not None and (isinstance(stars, bool) or stars not in range(1, MAX_STARS + 1)):
            raise judge_error(f"A rating is a number of stars from 1 to {MAX_STARS}, or None, not {stars!r:.40}.")
        self._add(Kind.STARS, clip, None, Answer.NONE if stars is None else str(int(stars)), seconds, mark)

    def keep(self, row: int, wanted: bool | None, seconds: float | None = None, *, mark: str = "") -> None:
        """Store whether a row is to be kept, in place of an earlier answer of this rater; None withdraws it."""
        clip = self.clips.get_clip(row)
        if wanted is not None and not isinstance(wanted, (bool, np.bool_)):
            raise judge_error(f"Whether to keep a row is True, False or None, not {wanted!r:.40}.")
        answer = Answer.NONE if wanted is None else Answer.KEEP if wanted else Answer.REJECT
        self._add(Kind.KEEP, clip, None, answer, seconds, mark)

    def undo(self) -> bool:
        """Take back this rater's last answer of any kind; false if there is none."""
        return self._store.undo(self.rater, self.question, self.clips.keys) is not None

    def next_pair(self, *, without: Iterable[tuple[int, int]] = ()) -> Pair | None:
        """The two rows whose comparison would tell most, left and right; None if nothing is left to ask.

        `without` are pairs that are asked already, as they stand there, and not answered yet.
        """
        asked = [
            JudgedPair(self.clips.get_clip(left), self.clips.get_clip(right), None, is_skipped=True, rater=self.rater)
            for left, right in without
        ]
        return choose_pair(self.clips, [*self.pairs, *asked], rater=self.rater, question=self.question)

    def next_row(self, *, without: Iterable[int] = ()) -> int | None:
        """The row to give stars next, or to keep or reject; None if this rater has judged all; none of the rows `without`."""
        kind = Kind.KEEP if self.kind == Kind.KEEP else Kind.STARS
        mine = {
            self.clips.by_key[judgement.first]: _is_given(judgement)
            for judgement in self._find_latest(kind)
            if judgement.rater == self.rater
        }
        done = {*map(self.clips.get_clip, without), *(clip for clip, is_given in mine.items() if is_given)}
        later = [clip for clip in mine if clip not in done]
        return choose_row(self.clips, done, later=later, name=f"{self.rater}\0{self.question}\0{kind}")

    def _read(self) -> list[Judgement]:
        return self._store.read(self.question, self.clips.keys)

    def _add(self, kind: Kind, first: int, second: int | None, answer: str, seconds: float | None, mark: str) -> None:
        keys, took = self.clips.keys, None if seconds is None else float(seconds)
        other = None if second is None else keys[second]
        self._store.add(Judgement(self.rater, self.question, kind, keys[first], other, str(answer), took, mark=mark))

    def _find_latest(self, kind: Kind) -> list[Judgement]:
        """The last answer of each rater about each clip, of stars or of what to keep."""
        return list({(each.rater, each.first): each for each in self._read() if each.kind == kind}.values())

    def _find_given(self) -> list[Judgement]:
        """Answers of the kind asked for, without skipped and withdrawn ones; about single clips the last of each rater."""
        if self.kind != Kind.PAIRS:
            return list(filter(_is_given, self._find_latest(self.kind)))
        return [judgement for judgement in self._read() if judgement.kind == Kind.PAIRS and _is_given(judgement)]

    def _collect_stars(self) -> dict[str, list[int]]:
        """The stars of each clip that has some."""
        stars: dict[str, list[int]] = {}
        for judgement in filter(_is_given, self._find_latest(Kind.STARS)):
            stars.setdefault(judgement.first, []).append(int(judgement.answer))
        return stars

    def _count_votes(self) -> Mapping[str, int]:
        """The answers to keep each clip less those against; a pair of which both are bad counts against both."""
        votes: Counter[str] = Counter()
        for judgement in self._read():
            if judgement.answer == Answer.BAD:
                votes.subtract([judgement.first, str(judgement.second)])
        for judgement in filter(_is_given, self._find_latest(Kind.KEEP)):
            votes[judgement.first] += 1 if judgement.answer == Answer.KEEP else -1
        return votes


def _is_given(judgement: Judgement) -> bool:
    return judgement.answer not in (Answer.SKIP, Answer.NONE)


# What judgements say in words.


def describe_first_place(clips: Clips, judged: Sequence[JudgedPair]) -> tuple[list[str], str]:
    """The sentences about the first place, and what is missing in words that name no clip, for one who judges."""
    ranking, names = rank_units(clips, judged), clips.units[0]
    if len(clips) < 2:
        return ["There is only one clip, so there is nothing to compare it with."], ""
    if not ranking.is_decided.any():
        bad = "Both clips were bad in every pair so far" if len(ranking.left) else "No pair has been decided yet"
        return [f"{bad}, so nothing is ranked."], ""
    if len(names) == 1:
        return [f"{names[0]} is the only setting, so there is no first place to decide."], ""
    if new := int((ranking.counts["judgements"] < SEEN_ENOUGH).sum()):
        remaining = f"too early to say: {new:,} of {len(names):,} have not been judged twice yet"
        return [f"{remaining.capitalize()}."], remaining
    first, second = ranking.order[:2]
    chance, other = (f"{min(99, max(1, round(100 * ranking.chances[unit])))}%" for unit in (first, second))
    if ranking.chances[first] >= SURE:
        return [f"Settled: {names[first]} is the best, with a chance of {chance}."], "the first place is settled"
    undecided = f"Undecided: {names[first]} is the best with a chance of {chance}, {names[second]} with {other}."
    more = estimate_more(ranking)
    if more > MAX_MORE:
        remaining = "the leaders cannot be told apart yet"
        why = f"that would take more than about {MAX_MORE:,} more judgements. Take any of them, or ask another question"
        return [undecided, f"{remaining.capitalize()}: {why}."], remaining
    # To one or two digits, so that it does not seem more exact than it is.
    step = 1 if more < 10 else 5 if more < 100 else 50
    remaining = f"at least about {max(1, math.ceil(more / step)) * step:,} more judgements would settle the first place"
    return [undecided, f"{remaining.capitalize()}."], remaining


def estimate_more(ranking: Ranking) -> float:
    """About how many more judgements would settle the first place, if all of them compare the leader with its rivals.

    Each then adds the information `p (1 - p)` about the distance of two. Distances are taken for what they seem to be now,
    which is why it is an estimate.
    """
    belief, chances, leader = ranking.belief, ranking.chances, ranking.order[0]
    rivals = [int(rival) for rival in np.flatnonzero(chances >= MIN_RIVAL) if rival != leader]
    # Any one of several rivals may be the better one, so that the leader must be the surer about each.
    deviations = NormalDist().inv_cdf(1 - (1 - SURE) / max(1, len(rivals)))
    more = 0.0
    for rival in rivals:
        gap = float(belief.mean[leader] - belief.mean[rival])
        sides = belief.covariance[np.ix_([leader, rival], [leader, rival])]
        known = 1 / max(float(sides[0, 0] + sides[1, 1] - 2 * sides[0, 1]), 1e-12)
        chance = float(logistic(np.array(gap)))
        more += max(0.0, (deviations / max(abs(gap), 1e-6)) ** 2 - known) / (chance * (1 - chance))
    return more


def compute_alpha(
    units: Sequence[Sequence[int]], categories: int, *, level: Level = "nominal", mirror: Sequence[int] | None = None
) -> float | None:
    """Krippendorff's alpha of values from 0, one sequence for each unit; None where there is nothing to compute.

    `mirror` gives the value that each becomes when the two clips of a pair change places: the result then does not
    depend on which of them is called the first.

    >>> compute_alpha([[0, 0], [1, 1], [0, 1]], 2)
    0.4444444444444444
    """
    coincidences = np.zeros((categories, categories))
    for values in units:
        if len(values) > 1:
            counts = np.bincount(values, minlength=categories).astype(np.float64)
            coincidences += (np.outer(counts, counts) - np.diag(counts)) / (len(values) - 1)
    if mirror is not None:
        coincidences = (coincidences + coincidences[np.ix_(mirror, mirror)]) / 2
    totals = coincidences.sum(axis=1)
    middle = np.cumsum(totals) - totals / 2
    distance = 1.0 - np.eye(categories) if level == "nominal" else (middle[:, None] - middle[None, :]) ** 2
    expected = float((np.outer(totals, totals) * distance).sum())
    if expected == 0:
        return None
    return 1 - (float(totals.sum()) - 1) * float((coincidences * distance).sum()) / expected


def measure_agreement(
    answers: Mapping[object, Mapping[str, int]], categories: int,
    *, level: Level = "nominal", mirror: Sequence[int] | None = None, noun: str = "pair",
) -> Agreement:  # fmt: skip
    """The agreement on units, each with the value that each rater gave it."""
    raters = {rater for values in answers.values() for rater in values}
    shared = [list(values.values()) for values in answers.values() if len(values) > 1]
    alpha = compute_alpha(shared, categories, level=level, mirror=mirror)
    basis = f"on the {format_count(len(shared), noun)} that more than one of {len(raters)} people judged"
    if not shared:
        nobody = "Nothing has been judged yet" if not raters else f"Only one person has judged ({min(raters)})"
        several = f"{len(raters)} people have judged, but no {noun} was judged by two of them"
        sentence = f"{several if len(raters) > 1 else nobody}, so there is no agreement to measure."
    elif alpha is None:
        sentence = f"All gave the same answer {basis}, so agreement cannot be told from chance."
    else:
        meaning = next(text for least, text in MEANINGS if alpha >= least)
        sentence = f"Krippendorff's alpha is {alpha:.2f} {basis}: {meaning}."
    return Agreement(alpha, len(raters), len(shared), sentence)
