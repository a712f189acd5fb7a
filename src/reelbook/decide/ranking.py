"""The clips of a table, what judged pairs say of them or of the settings that they share, and what is asked next.

A pair is worth the information that its answer has about the strengths (as in Houlsby et al., Bayesian active learning for
classification and preference learning, 2011), times the chance that one of the two is among the best. Pairs with a clip
that was not seen twice come first.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..sweeps.plan import number_values
from ..sweeps.table_files import find_column
from ..sweeps.values import usage_error
from ..util.missing_values import is_missing
from .posterior import Belief, FloatArray, IntArray, learn_pairs, logistic

if TYPE_CHECKING:
    import pandas as pd

    from ..errors import InvalidInput

CONTENT = frozenset({"prompt", "image", "image_url", "images"})
"""Inputs that say what a clip shows; clips are compared within the same content as far as possible."""
REPEATS = frozenset({"seed", "take"})
"""Inputs that only repeat a setting."""
PREFIXES = ("input_", "label_")
SEEN_ENOUGH = 2
"""Answers about a clip before which it is too early to say whether it is the best."""
DRAWS = 64
MIN_INTEREST = 0.05
"""The interest in a clip that is never among the best, where one that always is counts 1."""
SKIPPED_FOR = 8
"""The number of answers within which a skipped pair is not asked again, if there is another."""
MAX_TIMES = 2
"""A rater is asked each pair at most so often; a second time only after all others."""


@dataclass(frozen=True)
class Clips:
    """The distinct clips of a table, numbered from 0."""

    keys: tuple[str, ...]
    """The request id of each clip."""
    rows: tuple[int, ...]
    """The row number of each clip; the first, if several rows have the same clip."""
    by_row: dict[int, int]
    """The clip of each row that has one."""
    content: IntArray
    """The number of what each clip shows."""
    levels: IntArray
    """The levels of its settings, one column for each axis."""
    axes: tuple[str, ...]
    """The names of those axes."""
    values: tuple[tuple[Any, ...], ...] = ()
    """The value of each level of each axis."""
    by_key: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_key", {key: clip for clip, key in enumerate(self.keys)})

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def units(self) -> tuple[tuple[str, ...], IntArray, IntArray]:
        """What can be the best: the names of the clips, or of several contents of their settings; the number of each
        clip's, and their levels. Clips of different content are hardly compared with each other.
        """
        if len(set(self.content.tolist())) <= 1 or not self.axes:
            return tuple(f"Row {row}" for row in self.rows), np.arange(len(self)), self.levels
        settings, number = np.unique(self.levels, axis=0, return_inverse=True)
        names = (
            ", ".join(f"{axis} {of[level]}" for axis, of, level in zip(self.axes, self.values, levels, strict=True))
            for levels in settings
        )
        return tuple(names), number.reshape(-1), settings

    def get_clip(self, row: Any) -> int:
        """The clip of a row, by its number; an `InvalidInput` if the row has none."""
        if isinstance(row, bool) or not isinstance(row, (int, np.integer)) or int(row) not in self.by_row:
            few = ", ".join(map(str, list(self.by_row)[:4])) + (", …" if len(self.by_row) > 4 else "")
            raise judge_error(f"The table has no clip in row {row!r:.40}. The rows with a clip are {few or 'none'}.")
        return self.by_row[int(row)]


def judge_error(sentence: str) -> InvalidInput:
    """The error for a judgement that cannot be stored, or a table that cannot be judged."""
    return usage_error(sentence, "judge")


def find_clips(table: pd.DataFrame, keys: Sequence[str | None]) -> Clips:
    """The distinct clips of a table; `keys` are the request ids of its rows, None for a row without a clip."""
    labels = list(table.index)
    if not all(isinstance(label, (int, np.integer)) and not isinstance(label, bool) for label in labels) or (
        len(set(labels)) < len(labels)
    ):
        raise judge_error(
            "The rows of this table have no numbers of their own: its index has texts or repeats itself. "
            "Pass table.reset_index(drop=True)."
        )
    places = [place for place, key in enumerate(keys) if key is not None]
    firsts: dict[str, int] = {}
    for place in places:
        firsts.setdefault(str(keys[place]), place)
    numbers = {key: clip for clip, key in enumerate(firsts)}
    axes, chosen = find_axes(table), list(firsts.values())
    shown = [name for base in sorted(CONTENT) for name in (base, f"input_{base}") if name in table.columns]
    distinct = table.loc[:, ~table.columns.duplicated()].iloc[chosen]
    of_axes, of_content = ([list(map(_hashable, distinct[name])) for name in names] for names in (axes, shown))
    content = list(zip(*of_content, strict=True)) if of_content else [()] * len(chosen)
    levels = np.array([number_values(values) for values in of_axes], dtype=np.int64)
    return Clips(
        tuple(firsts),
        tuple(int(labels[place]) for place in chosen),
        {int(labels[place]): numbers[str(keys[place])] for place in places},
        np.array(number_values(content), dtype=np.int64),
        levels.reshape(len(axes), len(chosen)).T,
        tuple(axes),
        tuple(tuple(dict.fromkeys(values)) for values in of_axes),
    )


def find_axes(table: pd.DataFrame) -> list[str]:
    """The columns of the settings that vary: neither what is shown, nor what only repeats a setting."""
    source = table.attrs.get("reelbook")
    named = [str(name) for name in source.get("axes", ())] if isinstance(source, dict) else []
    columns = [prefix + name for name in named if name not in CONTENT | REPEATS for prefix in ("", *PREFIXES)]
    return [name for name in columns if name in table.columns and len(set(map(_hashable, table[name]))) > 1]


def number_levels(table: pd.DataFrame, name: str) -> tuple[list[Any], list[int]]:
    """The distinct values of a column, in order if they can be sorted, and the level of each row."""
    column = find_column(table, name)
    assert column is not None
    values = list(map(_hashable, column))
    distinct = list(dict.fromkeys(values))
    with contextlib.suppress(TypeError):
        distinct.sort(key=lambda value: (value is None, value))
    levels = {value: level for level, value in enumerate(distinct)}
    return distinct, [levels[value] for value in values]


def _hashable(value: Any) -> Hashable:
    """A value as a key: None if it is missing, a text of one that has no hash."""
    if is_missing(value):
        return None
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, Hashable) and not isinstance(value, tuple) else repr(value)


# What judged pairs say.


class JudgedPair(NamedTuple):
    """One judged pair of clips, by their numbers."""

    left: int
    right: int
    share: float | None
    """1 if the left one won, 0 if the right one, 0.5 for a tie; None if it was skipped or both are bad."""
    is_skipped: bool = False
    rater: str = ""


class Pair(NamedTuple):
    """Two rows of the table, by their numbers, as they stand on the left and on the right."""

    left: int
    right: int


class Ranking:
    """What judged pairs say of units: of the clips, or of settings that several clips share. Computed when first asked."""

    def __init__(self, judged: Sequence[JudgedPair], unit: IntArray, levels: IntArray) -> None:
        """`unit` is the number of each clip's unit, and `levels` are those of the units on each axis."""
        answered = [pair for pair in judged if not pair.is_skipped and pair.left != pair.right]
        self.left, self.right = (np.array([pair[side] for pair in answered], dtype=np.int64) for side in (0, 1))
        self.share = np.array([np.nan if pair.share is None else pair.share for pair in answered])
        self.is_decided = ~np.isnan(self.share)
        """False where both clips are bad."""
        self._unit, self._levels = unit, levels
        self._sides = unit[self.left], unit[self.right]
        self._differ = self._sides[0] != self._sides[1]

    @cached_property
    def belief(self) -> Belief:
        """The strengths of the units, as natural logarithms around 0."""
        counts = self.is_decided & self._differ
        left, right = (side[counts] for side in self._sides)
        # A clip that wins ten times says less of its unit than ten clips that win.
        is_clips = len(set(self._unit.tolist())) == len(self._unit)
        clips = () if is_clips else (self.left[counts], self.right[counts])
        belief = learn_pairs(self._levels, left, right, self.share[counts], *clips, is_rough=True)
        # What nobody has seen is as good as its settings let expect, and not by luck the best.
        return replace(belief, tried=None)

    @cached_property
    def chances(self) -> FloatArray:
        """The chance of each unit to be the best."""
        return self.belief.chances(np.random.default_rng(0))

    @cached_property
    def order(self) -> list[int]:
        """The units, the one with the highest chance first."""
        return sorted(range(len(self.chances)), key=lambda unit: (-self.chances[unit], -self.belief.mean[unit]))

    @cached_property
    def counts(self) -> dict[str, IntArray]:
        """The number of wins, ties, losses, judgements, and pairs where both are bad, of each unit."""
        left, right = (side[self._differ] for side in self._sides)
        share, size = self.share[self._differ], len(self._levels)

        def count(on_left: Any, on_right: Any) -> IntArray:
            return np.bincount(left[on_left], minlength=size) + np.bincount(right[on_right], minlength=size)

        wins, ties, losses = (count(share == value, share == 1 - value) for value in (1.0, 0.5, 0.0))
        bad = count(np.isnan(share), np.isnan(share))
        return {"wins": wins, "ties": ties, "losses": losses, "judgements": wins + ties + losses + bad, "bad": bad}

    def make_frame(self, items: Sequence[Any], *, name: str) -> pd.DataFrame:
        """The units by the names in `items`, best first; none before a pair is decided."""
        import pandas as pd

        order = np.array(self.order if self.is_decided.any() else [], dtype=np.int64)
        low, high = self.belief.bounds()
        columns = {"score": self.belief.mean, "low": low, "high": high, "chance": self.chances, **self.counts}
        return pd.DataFrame(
            {title: values[order] for title, values in columns.items()},
            index=pd.Index([items[unit] for unit in order], name=name),
        )


def rank_clips(clips: Clips, judged: Sequence[JudgedPair]) -> Ranking:
    """What judged pairs say of each clip."""
    return Ranking(judged, np.arange(len(clips)), clips.levels)


def rank_units(clips: Clips, judged: Sequence[JudgedPair]) -> Ranking:
    """What they say of that which can be the best: the clips, or of several contents their settings."""
    _, unit, levels = clips.units
    return Ranking(judged, unit, levels)


# What is asked next.


def choose_pair(clips: Clips, compared: Sequence[JudgedPair], *, rater: str, question: str = "") -> Pair | None:
    """The next pair for a rater; None if nothing is left to ask. What is left to chance depends on rater and question."""
    if len(clips) < 2:
        return None
    mine = [pair for pair in compared if pair.rater == rater]
    rng = _make_rng(f"{rater}\0{question}", len(mine))
    sides = _find_allowed(clips, compared, mine)
    if sides is None:
        return None
    belief = rank_clips(clips, compared).belief
    variance = np.diag(belief.covariance)
    spread = variance[sides[0]] + variance[sides[1]] - 2 * belief.covariance[sides]
    chance = logistic(belief.mean[sides[0]] - belief.mean[sides[1]])
    information = np.log1p(np.maximum(spread, 0) * chance * (1 - chance))
    interest = _compute_interest(clips.content, belief, rng)
    # With a little chance, so that every rater has an own order.
    worth = information * (interest[sides[0]] + interest[sides[1]]) * (1 + 0.05 * rng.random(len(chance)))
    first, second = (clips.rows[int(side[worth.argmax()])] for side in sides)
    return Pair(second, first) if rng.random() < 0.5 else Pair(first, second)


def choose_row(clips: Clips, judged: Iterable[int], *, later: Sequence[int] = (), name: str) -> int | None:
    """The row that a rater gives stars next, or keeps, in an order of the rater's own; None if all are judged.

    `later` are clips that the rater has passed over, the earliest first: they come after all others, in that order.
    """
    done = {*judged, *later}
    waiting = [*(int(clip) for clip in _make_rng(name, 0).permutation(len(clips)) if clip not in done), *later]
    return clips.rows[waiting[0]] if waiting else None


def _compute_interest(content: IntArray, belief: Belief, rng: np.random.Generator) -> FloatArray:
    """The chance of each clip to be the best of its content, scaled so that the likeliest is 1."""
    draws = belief.draws(rng, DRAWS)
    chances = np.zeros(len(content))
    for shown in np.unique(content):
        members = np.flatnonzero(content == shown)
        chances[members] = np.bincount(draws[:, members].argmax(axis=1), minlength=len(members)) / DRAWS
    return np.asarray(MIN_INTEREST + np.sqrt(chances / chances.max()))


def _find_allowed(
    clips: Clips, compared: Sequence[JudgedPair], mine: Sequence[JudgedPair]
) -> tuple[IntArray, IntArray] | None:  # fmt: skip
    """The pairs that may be asked: new ones of the same content, else new ones, else once more; None if all are done."""
    count = len(clips)
    times, is_skipped = np.zeros((count, count), dtype=np.int64), np.zeros((count, count), dtype=bool)
    for age, pair in enumerate(reversed(mine)):
        cell = tuple(sorted((pair.left, pair.right)))
        times[cell] += not pair.is_skipped
        is_skipped[cell] |= pair.is_skipped and age < SKIPPED_FOR
    # Of several contents, how often a clip of the setting was seen.
    unit = clips.units[1]
    answered = np.array([clip for pair in compared if not pair.is_skipped for clip in pair[:2]], dtype=np.int64)
    is_new = np.bincount(unit[answered], minlength=int(unit.max(initial=0)) + 1)[unit] < SEEN_ENOUGH
    upper = np.triu(np.ones((count, count), dtype=bool), 1)
    same = upper & (clips.content[:, None] == clips.content[None, :])
    again = same if same.any() else upper
    for choice in (same & (times == 0), upper & (times == 0), again & (times < MAX_TIMES)):
        if choice.any():
            # As far as there are any: pairs that were not skipped just now, and those with a clip hardly seen.
            for wanted in (~is_skipped, is_new[:, None] | is_new[None, :]):
                choice = choice & wanted if (choice & wanted).any() else choice
            first, second = np.nonzero(choice)
            return first, second
    return None


def _make_rng(name: str, asked: int) -> np.random.Generator:
    digest = hashlib.sha256(f"{asked} {name}".encode(errors="backslashreplace")).digest()
    return np.random.default_rng(int.from_bytes(digest[:8]))
