"""Reading a prompt word by word: numbers, colours and sizes go to the next noun, actions to the last one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .prompt_words import is_mass, singular
from .scene import Actor, Heading, Side
from .vocabulary import LONGEST_PHRASE, PHRASES, Meaning

_UNSAID_COUNT = {
    "fish": 5,
    "bird": 5,
    "flower": 9,
    "sunflower": 7,
    "tree": 5,
    "pine": 6,
    "star": 5,
    "bee": 4,
    "lantern": 9,
}
_MARKS = frozenset(".,;:!?")
_LINKS = frozenset({"and", "or", "&", "with", "in", "on", "over", "under", "at", "by", "near", "behind", "through"})
_SKIES = frozenset({"sky", "clouds", "cloudy", "sunset", "dawn", "dusk", "night"})
"""Colours before these are the light's."""
_GROUPS = frozenset({"7", "2", "3", "12", "16"})


@dataclass
class Reading:
    """The result of parsing a prompt, in order of mention."""

    actors: list[Actor] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    times: list[str] = field(default_factory=list)
    weathers: list[str] = field(default_factory=list)
    seasons: list[str] = field(default_factory=list)
    grades: list[str] = field(default_factory=list)
    cameras: list[str] = field(default_factory=list)
    tints: list[str] = field(default_factory=list)
    pace: float = 1.0
    camera_pace: float = 1.0
    avoided: set[str] = field(default_factory=set)
    current: int = 0
    """The index of the actor that the next words refer to."""
    acting: bool = False
    """Whether the last word was an action, so that a noun right after it is its object."""


@dataclass
class _Waiting:
    """Words read before their noun."""

    count: int | None = None
    colours: list[str] = field(default_factory=list)
    size: float = 1.0
    deed: str = ""
    refused: bool = False


def parse_words(words: Sequence[str], *, bare: bool = False) -> Reading:
    """Everything known in the words; `bare` takes every word as a noun, as in a list of things to avoid."""
    reading, waiting = Reading(), _Waiting()
    index = 0
    while index < len(words):
        length, meanings, plural = _longest(words, index)
        near = words[max(0, index - 3) : index + length + 3]
        if not length:
            _unknown(words[index], reading, waiting)
            index += 1
            continue
        phrase = " ".join(words[index : index + length])
        waiting = _understood(meanings, phrase, plural, near, reading, waiting, bare=bare)
        index += length
    reading.tints += waiting.colours
    return reading


def _longest(words: Sequence[str], index: int) -> tuple[int, tuple[Meaning, ...], bool]:
    """The longest known phrase here: how many words, its senses, whether it is a plural."""
    for length in range(min(LONGEST_PHRASE, len(words) - index), 0, -1):
        *head, last = words[index : index + length]
        before = " ".join([*head, ""])
        plain, plural = singular(last, _Tails(before))
        found = PHRASES.get(before + plain)
        if found:
            return length, found, plural
    return 0, (), False


class _Tails:
    """The last words of the phrases that begin in a given way."""

    def __init__(self, before: str) -> None:
        self.before = before

    def __contains__(self, word: object) -> bool:
        return f"{self.before}{word}" in PHRASES


def _unknown(word: str, reading: Reading, waiting: _Waiting) -> None:
    if word.isdigit():
        waiting.count = max(1, min(int(word[:4]), 24)) if int(word[:4]) < 1000 else None
    elif word in _MARKS or word in _LINKS:
        reading.acting = False
        if word not in ("and", ",", "&"):
            waiting.refused = waiting.refused and word == "or"
        if word in _MARKS:
            reading.tints += [] if waiting.count else waiting.colours
            if not waiting.count:
                waiting.colours = []


def _understood(
    meanings: tuple[Meaning, ...], phrase: str, plural: bool, near: Sequence[str], reading: Reading, waiting: _Waiting,
    *, bare: bool,
) -> _Waiting:  # fmt: skip
    filming = any(meaning.about == "camera" for word in near for meaning in PHRASES.get(word, ()))
    names = {meaning.about for meaning in meanings}
    if waiting.refused and not names & {"count", "colour", "size", "not"}:
        reading.avoided |= {meaning.says for meaning in meanings}
        return _Waiting(refused=True)
    consumed = False
    for about, says in meanings:
        if about == "not":
            waiting.refused = True
        elif about == "count":
            _count(says, waiting)
        elif about == "colour":
            waiting.colours.append(says)
        elif about == "size":
            waiting.size = float(says)
        elif about == "actor" and not (names & {"weather"} and not _is_thing(says, waiting, plural, bare)):
            _enter(says, plural, phrase, reading, waiting)
            consumed = True
        else:
            _mention(about, says, filming, reading, waiting)
    if waiting.colours and any(meaning.says in _SKIES for meaning in meanings):
        reading.tints += waiting.colours
    return _Waiting() if consumed or names & {"place", "time"} else waiting


def _is_thing(kind: str, waiting: _Waiting, plural: bool, bare: bool) -> bool:
    """Whether "clouds" or "bubbles" are counted things here; otherwise they are only weather."""
    return bare or waiting.count is not None or bool(waiting.colours) or not plural


def _count(says: str, waiting: _Waiting) -> None:
    number = int(says)
    # "a flock": the group outweighs its article, but a number outweighs the group's word.
    if waiting.count in (None, 1) or (number > 1 and says not in _GROUPS):
        waiting.count = number


def _enter(kind: str, plural: bool, phrase: str, reading: Reading, waiting: _Waiting) -> None:
    usual = _UNSAID_COUNT.get(kind, 3)
    count = waiting.count if waiting.count is not None else usual if plural or is_mass(phrase) else 1
    if reading.acting:
        # "Children flying a kite": it is the kite that flies.
        reading.actors[reading.current] = replace(reading.actors[reading.current], deed="")
        reading.acting = False
    known = [actor.kind for actor in reading.actors]
    if kind in known and waiting.count is None:
        # "A boat and a bird; the boat sails left": the same boat again.
        reading.current = known.index(kind)
        return
    reading.current = len(known)
    reading.actors.append(Actor(kind, count, tuple(waiting.colours), waiting.size, deed=waiting.deed))


def _mention(about: str, says: str, filming: bool, reading: Reading, waiting: _Waiting) -> None:
    if about == "camera":
        reading.cameras.append(says)
    elif about == "pace":
        if filming:
            reading.camera_pace = float(says)
        else:
            reading.pace = float(says)
    elif about == "heading":
        _head(says, filming, reading)
    elif about == "side":
        _change(reading, side=_side(says))
    elif about == "deed":
        if reading.actors and waiting.count is None:
            _change(reading, deed=says)
            reading.acting = True
        else:
            waiting.deed = says
    else:
        found = {
            "place": reading.places, "time": reading.times, "weather": reading.weathers,
            "season": reading.seasons, "grade": reading.grades,
        }[about]  # fmt: skip
        if says not in found:
            found.append(says)


def _head(says: str, filming: bool, reading: Reading) -> None:
    if filming and says in ("left", "right"):
        reading.cameras.append(f"pan-{says}")
    elif reading.actors:
        _change(reading, heading=_heading(says))


def _change(reading: Reading, *, heading: Heading | None = None, deed: str = "", side: Side | None = None) -> None:
    """Set what the current actor does."""
    if not reading.actors:
        return
    actor = reading.actors[reading.current]
    reading.actors[reading.current] = replace(
        actor, heading=heading or actor.heading, deed=deed or actor.deed, side=side or actor.side
    )


def _heading(says: str) -> Heading:
    headings: dict[str, Heading] = {
        "left": "left", "right": "right", "up": "up", "down": "down", "near": "near", "away": "away", "stay": "stay",
    }  # fmt: skip
    return headings[says]


def _side(says: str) -> Side:
    sides: dict[str, Side] = {"left": "left", "right": "right", "middle": "middle"}
    return sides[says]
