"""Parsing of a prompt into aims that moving, cropping, warping and extending a picture can achieve."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from .aims import Aims
from .importance import Analysis, CellGrid, subjects_of

HIGH, LOW = 0.36, 0.66
"""The goal of the subject's centre with more room below it, and with more room above it."""

_SIDES = {
    "left": "left", "right": "right", "top": "top", "upper": "top", "bottom": "bottom", "lower": "bottom",
}  # fmt: skip
_COLOURS = {
    "red": (50, 65, 45), "orange": (66, 40, 65), "yellow": (85, 0, 75), "green": (52, -45, 38),
    "turquoise": (70, -40, -8), "blue": (45, 5, -48), "purple": (40, 45, -45), "pink": (75, 40, 0),
    "brown": (38, 18, 28), "black": (8, 0, 0), "white": (97, 0, 0), "grey": (55, 0, 0), "gray": (55, 0, 0),
}  # fmt: skip
"""Names of colours and their values in CIE Lab."""

_SIDE = r"(left|right|top|bottom|upper|lower)"
_ABOVE = r"(?:sky|headroom|head room|(?:space|room|air) (?:above|at the top|on top|overhead))"
_BELOW = (
    r"(?:ground|grass|lawn|sea|water|sand|floor|road|street|foreground|(?:space|room) (?:below|under\w*|at the bottom))"
)
_NOT = r"(?:do not|don't|dont|don’t|never|not|no|without|avoid|nothing)"


@dataclass(frozen=True, slots=True)
class Wish:
    """The parsed part of a prompt."""

    aims: Aims = field(default_factory=Aims)
    plain: bool = False
    """Whether added background should have no structure."""
    colours: tuple[str, ...] = ()
    """The colours of parts to preserve."""
    followed: tuple[str, ...] = ()
    """What is done about it, each as the end of a sentence that begins with "It"."""
    beyond: tuple[str, ...] = ()
    """The parts of the prompt that geometry cannot achieve, in the words of the prompt."""

    def applied(self, analysis: Analysis) -> Analysis:
        """The analysis with increased importance of the wished colours."""
        if not self.colours:
            return analysis
        near = np.max([_nearness(analysis, name) for name in self.colours], axis=0)
        importance = np.minimum(0.2 * analysis.importance + near, 1).astype(np.float32)
        subject, boxes = subjects_of(importance)
        return replace(analysis, importance=importance, subject=subject, boxes=boxes)

    def described(self) -> str:
        """A description of how the prompt was followed; empty without one."""
        done = [f"The wish was followed as far as geometry can: it {_joined(self.followed)}."] if self.followed else []
        left = (
            [f"Not followed, because that takes an image-editing model: {_quoted(self.beyond)}."] if self.beyond else []
        )
        return " ".join([*done, *left])


def parse_prompt(prompt: str) -> Wish:
    """The wish in a prompt.

    >>> wish = parse_prompt("Keep the left side, more sky; make it snow")
    >>> wish.aims.edges, wish.aims.place, wish.beyond
    (frozenset({'left'}), (None, 0.66), ('make it snow',))
    """
    wish = Wish()
    for clause in re.split(r"[,.;:!?\n]+|\b(?:and|but|then|also)\b", prompt):
        words = " ".join(clause.split())
        if words:
            wish = _with(wish, words)
    return wish


def _with(wish: Wish, words: str) -> Wish:
    """The wish with one more clause, parsed by the first rule that matches."""
    for pattern, effect in _RULES:
        found = re.search(pattern, words.lower())
        if found:
            return effect(wish, found) or _beyond(wish, words)
    return _beyond(wish, words)


def _beyond(wish: Wish, words: str) -> Wish:
    return replace(wish, beyond=(*wish.beyond, words))


_Effect = Callable[[Wish, re.Match[str]], Wish | None]


def _aiming(wish: Wish, note: str, **changes: object) -> Wish:
    return replace(wish, aims=replace(wish.aims, **changes), followed=(*wish.followed, note))  # type: ignore[arg-type]  # each rule below names fields of Aims


def _aims(note: str, **changes: object) -> _Effect:
    """The effect of a rule that sets these aims, whatever the words around."""
    return lambda wish, found: _aiming(wish, note, **changes)


_KEEP_ALL, _RIGID = _aims("leaves nothing out", whole=True), _aims("bends nothing", rigid=True)


def _keep_side(wish: Wish, found: re.Match[str]) -> Wish:
    side = _SIDES[found[1]]
    return _aiming(wish, f"keeps the {side} side", edges=wish.aims.edges | {side})


def _free(wish: Wish, found: re.Match[str]) -> Wish:
    """Put the subject on the side opposite to the requested room."""
    opposite = {"left": "right", "right": "left", "top": "bottom", "bottom": "top"}
    return _placed(wish, opposite[_SIDES[found[1]]])


def _placed(wish: Wish, side: str) -> Wish:
    across, down = wish.aims.place
    if side in ("left", "right"):
        across = 0.33 if side == "left" else 0.67
    else:
        down = HIGH if side == "top" else LOW
    return _aiming(wish, f"places the subject towards the {side}", place=(across, down))


def _more_above(wish: Wish, found: re.Match[str]) -> Wish:
    return _aiming(wish, "leaves more room above", place=(wish.aims.place[0], LOW))


def _more_below(wish: Wish, found: re.Match[str]) -> Wish:
    return _aiming(wish, "leaves more room below", place=(wish.aims.place[0], HIGH))


def _plain(wish: Wish, found: re.Match[str]) -> Wish:
    return replace(wish, plain=True, followed=(*wish.followed, "keeps added background plain"))


def _coloured(wish: Wish, found: re.Match[str]) -> Wish | None:
    names = tuple(name for name in re.findall(r"[a-z]+", found[0]) if name in _COLOURS)
    if not names:
        return None
    note = f"looks for what is {_joined(names)}"
    return replace(wish, colours=(*wish.colours, *names), followed=(*wish.followed, note))


_RULES: tuple[tuple[str, _Effect], ...] = (
    (rf"{_NOT}\b.*\b(?:stretch|squash|squeeze|distort|deform|warp|bend)", _RIGID),
    (r"\b(?:undistorted|original proportions|keep (?:the )?proportions)\b", _RIGID),
    (rf"{_NOT}\b.*\b(?:crop|cut|lose|trim)\w*\b.*\b{_SIDE}\b", _keep_side),
    (rf"{_NOT}\b.*\b(?:crop|cut|left out|trim)", _KEEP_ALL),
    (rf"\b(?:room|space|place|gap)\b.*\b(?:on|at|to) (?:the )?{_SIDE}\b", _free),
    (rf"\bmore (?:of the )?{_ABOVE}|\bless (?:of the )?{_BELOW}", _more_above),
    (rf"\bmore (?:of the )?{_BELOW}|\bless (?:of the )?{_ABOVE}", _more_below),
    # Any other negation cannot be done by geometry: better to report it than to do the opposite.
    (rf"\b{_NOT}\b", lambda wish, found: None),
    (r"\b(?:keep|show|include|preserve|retain)\b.*\b(?:everything|whole|entire|all|both sides|full)\b", _KEEP_ALL),
    (
        rf"\b(?:on|to|towards?|at|align(?:ed)?|third on) (?:the )?{_SIDE}\b",
        lambda wish, found: _placed(wish, _SIDES[found[1]]),
    ),
    (rf"\b(?:keep|show|include|preserve|retain|prefer|focus on)\b.*\b{_SIDE}\b", _keep_side),
    (r"\b(?:cent(?:er|re)(?:ed|d)?|in the middle)\b", _aims("centres the subject", place=(0.5, 0.5))),
    (
        r"\b(?:plain|clean|simple|solid|empty|uncluttered|minimal\w*)\b.*\b(?:background|backdrop|sides|fill|edges)\b",
        _plain,
    ),
    (
        r"\b(?:closer|close[- ]?up|zoom(?:ed)? in|tight\w*|larger|bigger|fill the frame)\b",
        _aims("comes closer", closeness=0.8),
    ),
    (
        r"\b(?:wider|further|farther|zoom(?:ed)? out|smaller|more background|more of the scene)\b",
        _aims("shows more around the subject", closeness=-0.8),
    ),
    (r"\b(?:keep|show|include|preserve|focus on|focus|feature|emphasi[sz]e)\b.*", _coloured),
)
"""Patterns of clauses and their effects, the most specific first."""


def _nearness(analysis: Analysis, name: str) -> CellGrid:
    """The similarity of each cell to a colour, 0 to 1: mainly by hue, for greys by lightness."""
    lightness, a, b = _COLOURS[name]
    chroma, wanted = np.hypot(analysis.lab[..., 1], analysis.lab[..., 2]), math.hypot(a, b)
    away = (analysis.lab[..., 0] - lightness) / (45 if wanted else 20)
    near = np.exp(-(away**2) / 2)
    if wanted:
        turn = np.arctan2(analysis.lab[..., 2], analysis.lab[..., 1]) - math.atan2(b, a)
        turn = np.abs((turn + np.pi) % (2 * np.pi) - np.pi)
        near *= np.exp(-((turn / 0.4) ** 2) / 2) * np.clip(chroma / (0.6 * wanted), 0, 1)
    else:
        near *= np.exp(-((chroma / 12) ** 2) / 2)
    return np.asarray(np.clip((near - 0.15) / 0.6, 0, 1), np.float32)


def _joined(parts: tuple[str, ...]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _quoted(parts: tuple[str, ...]) -> str:
    return ", ".join(f"“{part}”" for part in parts)
