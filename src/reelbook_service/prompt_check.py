"""A small safety check of prompts, so that programs can be tested against refusals."""

from __future__ import annotations

import re

from reelbook.models.base import Input

# A word is accepted where the tolerance is higher than its level; words of level 6 never are.
LEVELS = {
    word: level
    for level, words in {
        6: "beheading porn pornographic",
        5: "gore mutilated torture",
        4: "nude naked nsfw massacre",
        3: "bloody corpse",
        2: "blood",
        1: "weapon gun knife",
    }.items()
    for word in words.split()
}
DEFAULT_TOLERANCE = 4


class ContentRefused(Exception):
    """The check refused the prompt or the pictures."""

    error_type = "content_policy_violation"


def check_prompt(request: Input, *, may_be_unchecked: bool) -> None:
    """Raise `ContentRefused` for a prompt with a word above the input's tolerance."""
    if may_be_unchecked and not getattr(request, "enable_safety_checker", True):
        return
    tolerance = int(getattr(request, "safety_tolerance", DEFAULT_TOLERANCE))
    for word in re.findall(r"[a-z]+", getattr(request, "prompt", "").lower()):
        level = LEVELS.get(word, 0)
        if level >= tolerance:
            raise ContentRefused(f"The safety check refused the word {word!r} in the prompt. Nothing was charged.")
