"""The columns that judgements add to a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..storage.judgements import Answer, Judgement, Kind
from ..storage.table.typed_columns import build_column
from .judged_clips import Clips

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("rating", "rating_low", "rating_high", "wins", "judgements", "stars", "keep")
NOTE = "reelbook_rated"
"""The key in a table's `attrs` that lists its columns of judgements."""
PREFIX = "judged_"
"""Before the name of a column if the table has another one of that name."""


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
            for row, value in ranking[column].items():
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
