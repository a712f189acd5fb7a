"""What judgements say so far: whether the first place is decided, and how many more would settle it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..storage.judgements import Judgement
from .judged_clips import Clips
from .pairs import learn_strengths, make_prior
from .ranking import NOTHING, Pairs


class Advice(tuple[str, ...]):
    """Sentences, printed as lines."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(self)


def advise(clips: Clips, pairs: Pairs, judged: Sequence[Judgement]) -> Advice:
    """The sentences about these pairs."""
    decided = pairs.decided
    if not len(decided.left):
        return Advice((NOTHING,))
    strengths = learn_strengths(make_prior(clips), decided.left, decided.right, decided.share)
    return Advice((f"Row {clips.rows[int(np.argmax(strengths.mean))]} leads.",))
