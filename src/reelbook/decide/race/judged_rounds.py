"""The judgements of a race: after each round it waits for some about its clips, and learns from those."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..posterior import learn_pairs

if TYPE_CHECKING:
    import pandas as pd

    from ..posterior import Belief
    from .race_arguments import RaceOptions
    from .rounds import Rounds

PER_CLIP = 2
"""Judgements that a race waits for, for each new clip."""
POLL_SECONDS = 0.5
"""Interval between readings of the library, in which others may judge, too."""
SHARES = {"left": 1.0, "right": 0.0, "tie": 0.5, "bad": 0.5}


class Judging:
    """The ratings of a race's clips, and which of the judgements it has used."""

    def __init__(self, options: RaceOptions) -> None:
        assert options.judge is not None
        self._judge, self._options = options.judge, options
        self.ratings: Any = None
        """The ratings of the clips so far; None before the first round."""
        self._target = self._clips = 0
        self._used: list[tuple[int, int, float]] = []

    @property
    def judged(self) -> int:
        """The judgements that count so far."""
        return len(self._read())

    @property
    def awaited(self) -> int:
        """The judgements that are missing until the race goes on."""
        return max(self._target - self.judged, 0)

    def open(self, table: pd.DataFrame) -> None:
        """Ask about the clips of this table, which contains that of the round before."""
        clips = int((table["status"] == "completed").sum())
        # As many as there are pairs at most, so that a round of one clip does not wait for ever.
        possible = clips * (clips - 1) // 2
        self._target = min(self._target + PER_CLIP * (clips - self._clips), possible)
        self._clips = clips
        if clips < 2:
            return
        ratings = self._judge(table, question=self._options.question, rater=self._options.rater)
        if self.ratings is None:
            self.ratings = ratings
        else:
            # The same object, because its panel may be on the page.
            self.ratings.replace_table(ratings)

    def wait(self, cancelled: threading.Event, changed: Callable[[], None]) -> None:
        """Wait until there are enough judgements, there is nothing more to ask, or the race is cancelled."""
        before = -1
        while not cancelled.is_set() and (awaited := self.awaited) and self.ratings.next_pair() is not None:
            if awaited != before:
                before = awaited
                changed()
            cancelled.wait(POLL_SECONDS)
        # The first ones only, so that a repeated race learns the same from the same.
        self._used = self._read()[: self._target]

    def learn(self, rounds: Rounds) -> tuple[Belief | None, set[int]]:
        """What the judgements used say of the settings, and the rows with a judged clip."""
        if not self._used:
            return None, set()
        rows = [row.number for row in rounds.used]
        left, right = [rows[one] for one, _, _ in self._used], [rows[one] for _, one, _ in self._used]
        settings = rounds.setting_of
        belief = learn_pairs(
            rounds.race.levels,
            np.array([settings[one] for one in left]),
            np.array([settings[one] for one in right]),
            np.array([share for _, _, share in self._used]),
            np.array(left),
            np.array(right),
        )
        return belief, {*left, *right}

    def _read(self) -> list[tuple[int, int, float]]:
        """The judgements of pairs, oldest first: rows of the table, and the share of the left one."""
        if self.ratings is None:
            return []
        frame = self.ratings.frame
        frame = frame[(frame["kind"] == "pairs") & frame["answer"].isin(list(SHARES))]
        return [
            (int(left), int(right), SHARES[str(answer)])
            for left, right, answer in zip(frame["left"], frame["right"], frame["answer"], strict=True)
        ]
