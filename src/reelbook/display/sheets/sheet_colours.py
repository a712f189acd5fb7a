"""The colours of sheets, strips and animations: those of the style sheet, light or dark."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from ...settings import options
from ..formatting import STATE_COLOURS
from ..theme import read_static


@dataclass(frozen=True, slots=True)
class Colours:
    """Colours by their names in the style sheet."""

    ink: str
    soft: str
    line: str
    paper: str
    raised: str
    accent: str
    good: str
    warn: str
    bad: str

    def of(self, state: str) -> str:
        """The colour of a state."""
        found: str = getattr(self, STATE_COLOURS.get(state, "soft"))
        return found


def get_colours() -> Colours:
    """The colours of `rb.options.theme`; with `auto` the light ones, because a picture does not know its page."""
    return get_theme_colours(is_dark=options.theme == "dark")


@cache
def get_theme_colours(*, is_dark: bool) -> Colours:
    """The colours of the style sheet for light or for dark pages."""
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", read_static("tokens.css"))
    wanted = ".rb.rb-dark" if is_dark else ".rb"
    declared = next(
        body for selector, body in rules if wanted in re.split(r",\s*", selector.strip()) and "--_ink" in body
    )
    values = dict(re.findall(r"--_(\w+):\s*(#[0-9a-f]{6})", declared))
    return Colours(**{name: values[name] for name in Colours.__slots__})
