"""A small safety check of prompts, so that programs can be tested against refusals."""

from __future__ import annotations

import re

from reelbook.models.base import Input

# A word is accepted where the tolerance is higher than its level; words of level 6 never are.
LEVELS: dict[str, int] = {
    "beheading": 6,
    "gore": 5,
    "mutilated": 5,
    "torture": 5,
    "nude": 4,
    "naked": 4,
    "nsfw": 4,
    "porn": 6,
    "pornographic": 6,
    "massacre": 4,
    "blood": 2,
    "bloody": 3,
    "corpse": 3,
    "weapon": 1,
    "gun": 1,
    "knife": 1,
}

DEFAULT_TOLERANCE = 4


class ContentRefused(Exception):
    """The check refused the prompt; ends the run with `content_policy_violation`."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word

    def __str__(self) -> str:
        return f"The safety check refused the word {self.word!r} in the prompt. Nothing was charged; choose other words and run it again."


def check_prompt(request: Input, *, may_be_unchecked: bool) -> None:
    """Raise `ContentRefused` for a prompt with a word above the input's tolerance."""
    if may_be_unchecked and not getattr(request, "enable_safety_checker", True):
        return
    tolerance = int(getattr(request, "safety_tolerance", DEFAULT_TOLERANCE))
    for word in re.findall(r"[a-z]+", getattr(request, "prompt", "").lower()):
        level = LEVELS.get(word, 0)
        if level >= tolerance:
            raise ContentRefused(word)
