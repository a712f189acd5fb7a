"""The part of a picture that suits a size best, and what a prompt wishes of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .saliency import Saliency

Numbers = npt.NDArray[np.float64]

CLOSEST = 0.12
"""The smallest view, as a share of the largest that lies inside the picture."""

SCALES, PLACES = 20, 41
"""Number of scales tried on either side of that view, and of positions along each side."""

AIR = 0.06
"""The preferred margin around a subject, as a share of the view."""

_VARIANTS = ((0.0, 0), (0.25, 0), (0.06, 1), (0.06, -1))
"""How much closer each variant comes, and to which side of the middle its subject goes."""

CLOSER, WHOLE, CENTRED, KEPT = "comes closer", "leaves nothing out", "centres the subject", "keeps the {} side"
"""What geometry can do about a wish, each as the end of a sentence that begins with "It"."""

_NOT = r"\b(?:do not|don't|dont|don’t|never|not|no|without|avoid|nothing)\b"
_CUT = r"\b(?:crop|cut|lose|trim|left out)"
_KEEP = r"\b(?:keep|show|include|preserve|retain|prefer|focus on)\b"
_SIDE = r"\b(left|right|top|bottom)\b"

_WISHES = (
    ((_NOT, _CUT, _SIDE), KEPT),
    ((_NOT, _CUT), WHOLE),
    ((_NOT,), ""),  # Any other negation is reported: better than doing the opposite.
    ((_KEEP, r"\b(?:everything|whole|entire|all|both sides|full)\b"), WHOLE),
    ((_KEEP, _SIDE), KEPT),
    ((r"\b(?:cent(?:er|re)(?:ed|d)?|in the middle)\b",), CENTRED),
    ((r"\b(?:closer|close[- ]?up|zoom(?:ed)? in|tight\w*|larger|bigger)\b",), CLOSER),
)
"""The patterns that a clause contains, and what is done about it; the first row counts."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a prompt wishes."""

    followed: tuple[str, ...] = ()
    """What is done about it."""
    beyond: tuple[str, ...] = ()
    """The parts that are not followed, in the words of the prompt."""

    def described(self) -> str:
        """A description of how the prompt was followed; empty without one."""
        *first, last = self.followed or [""]
        done = " and ".join(filter(None, [", ".join(first), last]))
        left = ", ".join(f"“{part}”" for part in self.beyond)
        sentences = [
            f"The wish was followed as far as geometry can: it {done}." if done else "",
            f"Not followed, as this engine cannot do it: {left}." if left else "",
        ]
        return " ".join(filter(None, sentences))


def parse_prompt(prompt: str) -> Wish:
    """The wish in a prompt.

    >>> parse_prompt("Keep the left side, closer; make it snow")
    Wish(followed=('keeps the left side', 'comes closer'), beyond=('make it snow',))
    """
    followed, beyond = [], []
    for clause in re.split(r"[,.;:!?\n]+|\b(?:and|but|then|also)\b", prompt):
        words = " ".join(clause.split())
        rows = (note for patterns, note in _WISHES if all(re.search(pattern, words.lower()) for pattern in patterns))
        if note := next(rows, ""):
            followed.append(note.format(*re.findall(_SIDE, words.lower())))
        elif words:
            beyond.append(words)
    return Wish(tuple(followed), tuple(beyond))


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
        right, bottom = self.left + self.width, self.top + self.height
        return max(0.0, self.left), max(0.0, self.top), min(1.0, right), min(1.0, bottom)

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

    def layout(self, target: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
        """The size of the visible part in a target of the view's shape, and its offset."""
        size, offset = list(target), [0, 0]
        sides = zip((self.left, self.top), (self.width, self.height), self.visible, strict=True)
        for axis, (start, length, shown) in enumerate(sides):
            size[axis] = max(1, round(target[axis] * shown / length))
            offset[axis] = min(max(0, round(-start / length * target[axis])), target[axis] - size[axis])
        return (size[0], size[1]), (offset[0], offset[1])


def views_of(
    saliency: Saliency, source: tuple[int, int], target: tuple[int, int], wish: Wish, count: int, seed: int
) -> list[View]:
    """Several different views: the best one first, then closer, and to either side of the middle.

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
    height, places = width / shape, np.linspace(0, 1, PLACES)
    # At 0 the view begins where the picture does, at 1 both end together, whichever of them is longer.
    left, top = (1 - width) * places[None, None], (1 - height) * places[None, :, None]
    shown = _overlap(left, width, 0, 1) * _overlap(top, height, 0, 1)
    loss = _loss(saliency, wish, (left, top), (width, height), shown)
    is_centred, views = CENTRED in wish.followed, []
    for closeness, side in _VARIANTS[:count]:
        price = loss + 2.0 * (closeness + 1.5 * (CLOSER in wish.followed)) * shown
        for axis, (start, length) in enumerate(((left, width), (top, height))):
            # Usually half way between the middle and its position in the picture.
            centre = saliency.centre[axis]
            weight, goal = (6.0, 0.5) if is_centred else (0.3, (centre + 0.5) / 2)
            if side and not is_centred and axis == (target[0] <= 0.7 * target[1]):
                weight, goal = 6.0, 0.5 + 0.16 * side * turn
            price = price + weight * np.abs((centre - start) / length - goal)
        scale, y, x = np.unravel_index(int(price.argmin()), price.shape)
        shake = generator.uniform(-0.02, 0.02, 2) * (not wish.followed)
        wide, high = float(width[scale, 0, 0]), float(height[scale, 0, 0])
        along, down = np.clip(places[[x, y]] + shake, 0, 1).tolist()
        views.append(View((1 - wide) * along, (1 - high) * down, wide, high))
    return views


def _loss(
    saliency: Saliency, wish: Wish, starts: tuple[Numbers, Numbers], lengths: tuple[Numbers, Numbers], shown: Numbers
) -> Numbers:
    """What each view costs, wherever its subject has to be: what of it is cut, and what is added."""
    (left, top), (width, height) = starts, lengths
    shares: Numbers = np.ones(1)
    near, upmost, far, lowest = box = saliency.box or (0.5, 0.5, 0.5, 0.5)
    for start, length, first_edge, last_edge in ((left, width, near, far), (top, height, upmost, lowest)):
        # With a margin, which the picture's own border does not need.
        low, high = np.maximum(0, first_edge - AIR * length), np.minimum(1, last_edge + AIR * length)
        shares = shares * _overlap(start, length, low, high - low) / (high - low)
    price: Numbers = 4.0 * (1 - shares)
    gaps = {"left": left, "top": top, "right": 1 - left - width, "bottom": 1 - top - height}
    for (side, gap), edge in zip(gaps.items(), box, strict=True):
        # A subject that the border cuts stays at that border.
        is_cut = edge in (0, 1)
        price = price + 3.0 * (KEPT.format(side) in wish.followed) * (gap > 1e-9) + 3.0 * is_cut * np.maximum(-gap, 0)
    added = 1 - shown / (width * height)
    price = price + (4.0 if WHOLE in wish.followed else 0.14) * (1 - shown)
    # A narrow strip is not worth the seam.
    return np.asarray(price + (1.3 + 0.6 * added) * added + 0.1 * (added > 1e-6))


def _overlap(start: Numbers, length: Numbers, low: Numbers | float, extent: Numbers | float) -> Numbers:
    """The length that intervals share with another one."""
    return np.asarray(np.maximum(np.minimum(start + length, low + extent) - np.maximum(start, low), 0))
