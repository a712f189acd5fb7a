"""Reading of a prompt: what moving, cropping and extending a picture can achieve, and what it cannot."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from .view import Aims

_SIDE = r"(left|right|top|bottom|upper|lower)"
_ABOVE = r"(?:sky|headroom|head room|(?:space|room|air) (?:above|at the top|on top|overhead))"
_BELOW = (
    r"(?:ground|grass|lawn|sea|water|sand|floor|road|street|foreground|(?:space|room) (?:below|under\w*|at the bottom))"
)
_NOT = r"(?:do not|don't|dont|don’t|never|not|no|without|avoid|nothing)"
_KEEP = r"(?:keep|show|include|preserve|retain)"

_RULES = (
    ("rigid", rf"{_NOT}\b.*\b(?:stretch|squash|squeeze|distort|deform|warp|bend)"),
    ("rigid", r"\b(?:undistorted|original proportions|keep (?:the )?proportions)\b"),
    ("keep", rf"{_NOT}\b.*\b(?:crop|cut|lose|trim)\w*\b.*\b{_SIDE}\b"),
    ("whole", rf"{_NOT}\b.*\b(?:crop|cut|left out|trim)"),
    ("room", rf"\b(?:room|space|place|gap)\b.*\b(?:on|at|to) (?:the )?{_SIDE}\b"),
    ("above", rf"\bmore (?:of the )?{_ABOVE}|\bless (?:of the )?{_BELOW}"),
    ("below", rf"\bmore (?:of the )?{_BELOW}|\bless (?:of the )?{_ABOVE}"),
    # Any other negation cannot be done by geometry: better to report it than to do the opposite.
    ("beyond", rf"\b{_NOT}\b"),
    ("whole", rf"\b{_KEEP}\b.*\b(?:everything|whole|entire|all|both sides|full)\b"),
    ("place", rf"\b(?:on|to|towards?|at|align(?:ed)?|third on) (?:the )?{_SIDE}\b"),
    ("keep", rf"\b(?:{_KEEP}|prefer|focus on)\b.*\b{_SIDE}\b"),
    ("centre", r"\b(?:cent(?:er|re)(?:ed|d)?|in the middle)\b"),
    ("plain", r"\b(?:plain|clean|simple|solid|empty|uncluttered|minimal\w*)\b.*\b(?:background|backdrop|sides|fill|edges)\b"),
    ("closer", r"\b(?:closer|close[- ]?up|zoom(?:ed)? in|tight\w*|larger|bigger|fill the frame)\b"),
    ("wider", r"\b(?:wider|further|farther|zoom(?:ed)? out|smaller|more background|more of the scene)\b"),
)  # fmt: skip
"""What a clause asks for, and its pattern; the first that matches counts."""

_HIGH, _LOW = 0.36, 0.66
"""The goal of the subject's centre with more room below it, and with more room above it."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The parsed part of a prompt."""

    aims: Aims = field(default_factory=Aims)
    plain: bool = False
    """Whether added background should have no structure."""
    followed: tuple[str, ...] = ()
    """What is done about it, each as the end of a sentence that begins with "It"."""
    beyond: tuple[str, ...] = ()
    """The parts of the prompt that geometry cannot achieve, in the words of the prompt."""

    def described(self) -> str:
        """A description of how the prompt was followed; empty without one."""
        *first, last = self.followed or [""]
        done = " and ".join(filter(None, [", ".join(first), last]))
        left = ", ".join(f"“{part}”" for part in self.beyond)
        sentences = [
            f"The wish was followed as far as geometry can: it {done}." if done else "",
            f"Not followed, because that takes an image-editing model: {left}." if left else "",
        ]
        return " ".join(filter(None, sentences))


def parse_prompt(prompt: str) -> Wish:
    """The wish in a prompt.

    >>> wish = parse_prompt("Keep the left side, more sky; make it snow")
    >>> wish.aims.edges, wish.aims.place, wish.beyond
    (frozenset({'left'}), (None, 0.66), ('make it snow',))
    """
    wish = Wish()
    for clause in re.split(r"[,.;:!?\n]+|\b(?:and|but|then|also)\b", prompt):
        if words := " ".join(clause.split()):
            wish = _with(wish, words)
    return wish


def _with(wish: Wish, words: str) -> Wish:
    """The wish with one more clause."""
    kind, side = "beyond", ""
    for name, pattern in _RULES:
        if match := re.search(pattern, words.lower()):
            kind, side = name, match[1] if match.re.groups else ""
            break
    side = {"upper": "top", "lower": "bottom"}.get(side, side)
    if kind == "room":
        # The subject goes to the side opposite to the requested room.
        kind, side = "place", {"left": "right", "right": "left", "top": "bottom", "bottom": "top"}[side]
    across, down = wish.aims.place
    aims, note = wish.aims, ""
    match kind:
        case "rigid":
            note = "bends nothing"
        case "keep":
            aims, note = replace(aims, edges=aims.edges | {side}), f"keeps the {side} side"
        case "whole":
            aims, note = replace(aims, whole=True), "leaves nothing out"
        case "above":
            aims, note = replace(aims, place=(across, _LOW)), "leaves more room above"
        case "below":
            aims, note = replace(aims, place=(across, _HIGH)), "leaves more room below"
        case "place":
            place = {"left": (0.33, down), "right": (0.67, down), "top": (across, _HIGH), "bottom": (across, _LOW)}[
                side
            ]
            aims, note = replace(aims, place=place), f"places the subject towards the {side}"
        case "centre":
            aims, note = replace(aims, place=(0.5, 0.5)), "centres the subject"
        case "plain":
            return replace(wish, plain=True, followed=(*wish.followed, "keeps added background plain"))
        case "closer":
            aims, note = replace(aims, closeness=0.8), "comes closer"
        case "wider":
            aims, note = replace(aims, closeness=-0.8), "shows more around the subject"
        case _:
            return replace(wish, beyond=(*wish.beyond, words))
    return replace(wish, aims=aims, followed=(*wish.followed, note))
