"""Parser of prompts: numbers, colours and sizes apply to the next noun, actions to the last one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .prompt_words import is_mass, singular
from .scene import Actor, Heading, Side
from .vocabulary import LONGEST_PHRASE, PHRASES, Meaning

_DEFAULT_PLURAL_COUNT = {
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
"""Phrases that apply the colours before them to the light."""
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
class _Modifiers:
    """Modifiers read before their noun."""

    count: int | None = None
    colours: list[str] = field(default_factory=list)
    size: float = 1.0
    deed: str = ""
    negated: bool = False


def parse_words(words: Sequence[str], *, bare: bool = False) -> Reading:
    """Parse all known phrases; with `bare`, ambiguous ones are nouns, as in a negative prompt."""
    reading, modifiers = Reading(), _Modifiers()
    index = 0
    while index < len(words):
        length, meanings, plural = _find_longest(words, index)
        near = words[max(0, index - 3) : index + length + 3]
        if not length:
            _read_unknown(words[index], reading, modifiers)
            index += 1
            continue
        phrase = " ".join(words[index : index + length])
        modifiers = _apply_meanings(meanings, phrase, plural, near, reading, modifiers, bare=bare)
        index += length
    reading.tints += modifiers.colours
    return reading


def _find_longest(words: Sequence[str], index: int) -> tuple[int, tuple[Meaning, ...], bool]:
    """The longest known phrase at this index: its number of words, its meanings, and whether it is a plural."""
    for length in range(min(LONGEST_PHRASE, len(words) - index), 0, -1):
        *head, last = words[index : index + length]
        before = " ".join([*head, ""])
        plain, plural = singular(last, _PhraseEnds(before))
        found = PHRASES.get(before + plain)
        if found:
            return length, found, plural
    return 0, (), False


class _PhraseEnds:
    """The last words of all phrases with a given beginning, as a container."""

    def __init__(self, before: str) -> None:
        self.before = before

    def __contains__(self, word: object) -> bool:
        return f"{self.before}{word}" in PHRASES


def _read_unknown(word: str, reading: Reading, modifiers: _Modifiers) -> None:
    if word.isdigit():
        modifiers.count = max(1, min(int(word[:4]), 24)) if int(word[:4]) < 1000 else None
    elif word in _MARKS or word in _LINKS:
        reading.acting = False
        if word not in ("and", ",", "&"):
            modifiers.negated = modifiers.negated and word == "or"
        if word in _MARKS:
            reading.tints += [] if modifiers.count else modifiers.colours
            if not modifiers.count:
                modifiers.colours = []


def _apply_meanings(
    meanings: tuple[Meaning, ...], phrase: str, plural: bool, near: Sequence[str], reading: Reading, modifiers: _Modifiers,
    *, bare: bool,
) -> _Modifiers:  # fmt: skip
    is_about_camera = any(meaning.about == "camera" for word in near for meaning in PHRASES.get(word, ()))
    names = {meaning.about for meaning in meanings}
    if modifiers.negated and not names & {"count", "colour", "size", "not"}:
        reading.avoided |= {meaning.says for meaning in meanings}
        return _Modifiers(negated=True)
    consumed = False
    for about, says in meanings:
        if about == "not":
            modifiers.negated = True
        elif about == "count":
            _set_count(says, modifiers)
        elif about == "colour":
            modifiers.colours.append(says)
        elif about == "size":
            modifiers.size = float(says)
        elif about == "actor" and not (names & {"weather"} and not _is_thing(says, modifiers, plural, bare)):
            _add_actor(says, plural, phrase, reading, modifiers)
            consumed = True
        else:
            _add_mention(about, says, is_about_camera, reading, modifiers)
    if modifiers.colours and any(meaning.says in _SKIES for meaning in meanings):
        reading.tints += modifiers.colours
    return _Modifiers() if consumed or names & {"place", "time"} else modifiers


def _is_thing(kind: str, modifiers: _Modifiers, plural: bool, bare: bool) -> bool:
    """Whether a word such as "clouds" or "bubbles" is a figure; otherwise it is only weather."""
    return bare or modifiers.count is not None or bool(modifiers.colours) or not plural


def _set_count(says: str, modifiers: _Modifiers) -> None:
    number = int(says)
    # "a flock": the group takes precedence over its article, and a number over the group.
    if modifiers.count in (None, 1) or (number > 1 and says not in _GROUPS):
        modifiers.count = number


def _add_actor(kind: str, plural: bool, phrase: str, reading: Reading, modifiers: _Modifiers) -> None:
    usual = _DEFAULT_PLURAL_COUNT.get(kind, 3)
    count = modifiers.count if modifiers.count is not None else usual if plural or is_mass(phrase) else 1
    if reading.acting:
        # "Children flying a kite": the kite flies, not the children.
        reading.actors[reading.current] = replace(reading.actors[reading.current], deed="")
        reading.acting = False
    known = [actor.kind for actor in reading.actors]
    if kind in known and modifiers.count is None:
        # "A boat and a bird; the boat sails left": the same boat.
        reading.current = known.index(kind)
        return
    reading.current = len(known)
    reading.actors.append(Actor(kind, count, tuple(modifiers.colours), modifiers.size, deed=modifiers.deed))


def _add_mention(about: str, says: str, is_about_camera: bool, reading: Reading, modifiers: _Modifiers) -> None:
    if about == "camera":
        reading.cameras.append(says)
    elif about == "pace":
        if is_about_camera:
            reading.camera_pace = float(says)
        else:
            reading.pace = float(says)
    elif about == "heading":
        _set_heading(says, is_about_camera, reading)
    elif about == "side":
        _change_actor(reading, side=_side(says))
    elif about == "deed":
        if reading.actors and modifiers.count is None:
            _change_actor(reading, deed=says)
            reading.acting = True
        else:
            modifiers.deed = says
    else:
        found = {
            "place": reading.places, "time": reading.times, "weather": reading.weathers,
            "season": reading.seasons, "grade": reading.grades,
        }[about]  # fmt: skip
        if says not in found:
            found.append(says)


def _set_heading(says: str, is_about_camera: bool, reading: Reading) -> None:
    if is_about_camera and says in ("left", "right"):
        reading.cameras.append(f"pan-{says}")
    elif reading.actors:
        _change_actor(reading, heading=_heading(says))


def _change_actor(
    reading: Reading, *, heading: Heading | None = None, deed: str = "", side: Side | None = None
) -> None:
    """Change heading, action or side of the current actor."""
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
