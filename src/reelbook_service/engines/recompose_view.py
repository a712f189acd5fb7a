"""The part of a picture that suits a size best, and what a prompt wishes of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .saliency import Saliency

Numbers = npt.NDArray[np.float64]
Place = tuple[float | None, float | None]

CLOSEST = 0.12
"""The smallest view, as a share of the largest that lies inside the picture."""

SCALES, PLACES = 20, 41
"""Number of scales tried on either side of that view, and of positions along each side."""

MAX_ADDED = 0.7
"""The share that may be added background before it becomes expensive."""

AIR = 0.06
"""The preferred margin around a subject, as a share of the view."""

_VARIANTS = ((0.0, 0), (0.25, 0), (0.06, 1), (0.06, -1))
"""How much closer each variant comes, and to which side of the middle its subject goes."""

_HIGH, _LOW = 0.36, 0.66
"""The goal of the subject's centre with more room below it, and with more room above it."""

_PLACES: dict[str, Place] = {"left": (0.33, None), "right": (0.67, None), "top": (None, _HIGH), "bottom": (None, _LOW)}
_ROOM = {"left": _PLACES["right"], "right": _PLACES["left"], "top": _PLACES["bottom"], "bottom": _PLACES["top"]}
_SIDE = r"(left|right|top|bottom|upper|lower)"
_ABOVE = r"(?:sky|headroom|head room|(?:space|room|air) (?:above|at the top|on top|overhead))"
_BELOW = (
    r"(?:ground|grass|lawn|sea|water|sand|floor|road|street|foreground|(?:space|room) (?:below|under\w*|at the bottom))"
)
_NOT = r"(?:do not|don't|dont|don’t|never|not|no|without|avoid|nothing)"
_KEEP = r"(?:keep|show|include|preserve|retain)"


_RULES: tuple[tuple[str, str, str, Any], ...] = (
    (rf"{_NOT}\b.*\b(?:stretch|squash|squeeze|distort|deform|warp|bend)", "bends nothing", "", None),
    (r"\b(?:undistorted|original proportions|keep (?:the )?proportions)\b", "bends nothing", "", None),
    (rf"{_NOT}\b.*\b(?:crop|cut|lose|trim)\w*\b.*\b{_SIDE}\b", "keeps the {} side", "edges", None),
    (rf"{_NOT}\b.*\b(?:crop|cut|left out|trim)", "leaves nothing out", "whole", True),
    (rf"\b(?:room|space|place|gap)\b.*\b(?:on|at|to) (?:the )?{_SIDE}\b", "leaves room on the {}", "place", _ROOM),
    (rf"\bmore (?:of the )?{_ABOVE}|\bless (?:of the )?{_BELOW}", "leaves more room above", "place", (None, _LOW)),
    (rf"\bmore (?:of the )?{_BELOW}|\bless (?:of the )?{_ABOVE}", "leaves more room below", "place", (None, _HIGH)),
    # Any other negation cannot be done by geometry: better to report it than to do the opposite.
    (rf"\b{_NOT}\b", "", "", None),
    (rf"\b{_KEEP}\b.*\b(?:everything|whole|entire|all|both sides|full)\b", "leaves nothing out", "whole", True),
    (rf"\b(?:on|to|towards?|at|align(?:ed)?|third on) (?:the )?{_SIDE}\b", "places the subject towards the {}", "place", _PLACES),
    (rf"\b(?:{_KEEP}|prefer|focus on)\b.*\b{_SIDE}\b", "keeps the {} side", "edges", None),
    (r"\b(?:cent(?:er|re)(?:ed|d)?|in the middle)\b", "centres the subject", "place", (0.5, 0.5)),
    (r"\b(?:plain|clean|simple|solid|empty|uncluttered|minimal\w*)\b.*\b(?:background|backdrop|sides|fill|edges)\b", "keeps added background plain", "plain", True),
    (r"\b(?:closer|close[- ]?up|zoom(?:ed)? in|tight\w*|larger|bigger|fill the frame)\b", "comes closer", "closeness", 0.8),
    (r"\b(?:wider|further|farther|zoom(?:ed)? out|smaller|more background|more of the scene)\b", "shows more around the subject", "closeness", -0.8),
    (r"", "", "", None),
)  # fmt: skip
"""The pattern of a clause, what is done about it, and the preference that it sets; the first that matches counts."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The parsed part of a prompt: preferences for a view, whose defaults suit most pictures."""

    closeness: float = 0.0
    """Above 0 prefers a closer view, below 0 a wider one."""
    place: Place = (None, None)
    """The target position of the subject's centre, as shares of the result; None derives it from the picture."""
    edges: frozenset[str] = frozenset()
    """The sides of the picture that must remain: left, right, top, bottom."""
    whole: bool = False
    """Whether the complete picture must remain."""
    plain: bool = False
    """Whether added background should have no structure."""
    followed: tuple[str, ...] = ()
    """What is done about the prompt, each as the end of a sentence that begins with "It"."""
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
    >>> wish.edges, wish.place, wish.beyond
    (frozenset({'left'}), (None, 0.66), ('make it snow',))
    """
    wish = Wish()
    for clause in re.split(r"[,.;:!?\n]+|\b(?:and|but|then|also)\b", prompt):
        if words := " ".join(clause.split()):
            wish = _with(wish, words)
    return wish


def _with(wish: Wish, words: str) -> Wish:
    """The wish with one more clause."""
    tried = ((re.search(pattern, words.lower()), note, name, value) for pattern, note, name, value in _RULES)
    match, note, name, value = next(rule for rule in tried if rule[0])
    if not note:
        return replace(wish, beyond=(*wish.beyond, words))
    side = match[1] if match and match.re.groups else ""
    side = {"upper": "top", "lower": "bottom"}.get(side, side)
    if name == "edges":
        value = wish.edges | {side}
    elif name == "place":
        new = value[side] if side else value
        value = tuple(old if wanted is None else wanted for old, wanted in zip(wish.place, new, strict=True))
    return replace(wish, followed=(*wish.followed, note.format(side)), **({name: value} if name else {}))


@dataclass(frozen=True, slots=True)
class View:
    """A rectangle that has the shape of the target, in shares of the picture's sides; it may reach beyond it."""

    left: float
    top: float
    width: float
    height: float

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The visible part of the picture: left, top, right and bottom."""
        return (
            max(0.0, self.left),
            max(0.0, self.top),
            min(1.0, self.left + self.width),
            min(1.0, self.top + self.height),
        )

    @property
    def visible(self) -> tuple[float, float]:
        """The visible shares of the picture's width and height."""
        left, top, right, bottom = self.box
        return right - left, bottom - top

    @property
    def added(self) -> float:
        """The share of the view that lies beyond the picture."""
        across, down = self.visible
        return 1 - across * down / (self.width * self.height)


def views_of(
    saliency: Saliency, source: tuple[int, int], target: tuple[int, int], wish: Wish, count: int, seed: int
) -> Iterator[View]:
    """Yield several different views: the best one first, then closer, and to either side of the middle.

    The best one loses, cuts and adds least. The seed varies positions slightly; the same seed gives the same views for
    every size of one shape.
    """
    generator = np.random.default_rng([seed, 0])
    turn = int(generator.choice([-1, 1]))
    shape = target[0] / target[1] * source[1] / source[0]
    # From the closest view to the largest inside the picture, and on to the smallest around it.
    scales = np.geomspace(CLOSEST, 1, SCALES)
    if max(shape, 1 / shape) > 1.001:
        scales = np.concatenate([scales, np.geomspace(1, max(shape, 1 / shape), SCALES + 1)[1:]])
    width = (min(1.0, shape) * scales)[:, None, None]
    height = width / shape
    places = np.linspace(0, 1, PLACES)
    # At 0 the view begins where the picture does, at 1 both end together, whichever of them is longer.
    left, top = (1 - width) * places[None, None], (1 - height) * places[None, :, None]
    repeated: Numbers = np.zeros(1)
    for closeness, side in _VARIANTS[:count]:
        axis = 0 if target[0] > 0.7 * target[1] else 1
        place = list(wish.place)
        if side and place[axis] is None:
            place[axis] = 0.5 + 0.16 * side * turn
        wanted = replace(wish, closeness=wish.closeness + closeness, place=(place[0], place[1]))
        price = _price(saliency, wanted, (left, top), (width, height)) + repeated
        scale, y, x = np.unravel_index(int(price.argmin()), price.shape)
        wide, high = float(width[scale, 0, 0]), float(height[scale, 0, 0])
        shake = generator.uniform(-0.02, 0.02, 2) * (not (wish.whole or wish.edges))
        along, down = np.clip(places[[x, y]] + shake, 0, 1).tolist()
        view = View((1 - wide) * along, (1 - high) * down, wide, high)
        yield view
        both = _overlap(left, width, view.left, wide) * _overlap(top, height, view.top, high)
        repeated = repeated + 1.5 * np.maximum(both / (width * height + wide * high - both) - 0.75, 0)


def _price(
    saliency: Saliency, wish: Wish, starts: tuple[Numbers, Numbers], lengths: tuple[Numbers, Numbers]
) -> Numbers:
    """The cost of each view: of what is lost, cut, added, or not in its place."""
    (left, top), (width, height) = starts, lengths
    rows, columns = saliency.importance.shape
    sums = np.pad(saliency.importance, ((1, 0), (1, 0))).cumsum(0, dtype=np.float64).cumsum(1)
    first, last = (np.rint(np.clip(edge, 0, 1) * columns).astype(int) for edge in (left, left + width))
    upper, lower = (np.rint(np.clip(edge, 0, 1) * rows).astype(int) for edge in (top, top + height))
    inside = sums[lower, last] - sums[upper, last] - sums[lower, first] + sums[upper, first]
    price: Numbers = 1.2 * (1 - inside / max(float(sums[-1, -1]), 1e-6))
    for box in saliency.boxes:
        shares: Numbers = np.ones(1)
        for start, length, low, high in ((left, width, box.left, box.right), (top, height, box.top, box.bottom)):
            # With a margin, which the picture's own border does not need.
            near, far = np.maximum(0, low - AIR * length), np.minimum(1, high + AIR * length)
            shares = shares * _overlap(start, length, near, far - near) / (far - near)
        price = price + 3.0 * box.weight * (1 - shares)
    area = _overlap(left, width, 0, 1) * _overlap(top, height, 0, 1)
    price = price + (4.0 if wish.whole else 0.14 - 2.0 * wish.closeness) * (1 - area)
    borders = (("left", "right"), ("top", "bottom"))
    cells = saliency.importance
    touched = {"left": cells[:, 0], "right": cells[:, -1], "top": cells[0], "bottom": cells[-1]}
    for axis, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        goal, now = wish.place[axis], (saliency.centre[axis] - start) / length
        # Half way between the middle and its position in the picture.
        price = price + (
            0.3 * np.abs(now - (saliency.centre[axis] + 0.5) / 2) if goal is None else 6.0 * np.abs(now - goal)
        )
        for side, gap in zip(borders[axis], (start / length, (1 - start - length) / length), strict=True):
            # Background is better added where no subject touches the side.
            price = price + 6 * float(touched[side].mean()) * np.maximum(-gap, 0)
            if side in wish.edges:
                price = price + 3.0 * (gap > 1e-9)
    added: Numbers = 1 - area / (width * height)
    # A narrow strip is not worth the seam.
    return np.asarray(price + (1.3 + 0.6 * added) * added + 0.1 * (added > 1e-6) + 5 * np.maximum(added - MAX_ADDED, 0))


def _overlap(start: Numbers, length: Numbers, low: Numbers | float, extent: Numbers | float) -> Numbers:
    """The length that intervals share with another one."""
    return np.asarray(np.maximum(np.minimum(start + length, low + extent) - np.maximum(start, low), 0))
