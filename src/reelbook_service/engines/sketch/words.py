"""Reading of prompts: words become a scene of actors, a place, a time, weather and a camera move."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from .figures import FIGURES
from .noise import generator

TABLE: Mapping[str, Mapping[str, Any]] = tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))

MAX_WORDS = 6000
"""Further words are ignored."""

MAX_FIGURES = 24


@dataclass(frozen=True, slots=True)
class Actor:
    """A noun of the prompt: its kind, number and action."""

    kind: str
    count: int = 1
    colours: tuple[str, ...] = ()
    size: float = 1.0
    """A factor: 1 is ordinary, 0.6 small, 2 giant."""
    heading: str = ""
    deed: str = ""
    """These two as the rows of `[heading]` and `[deed]` in words.toml; empty for what its kind usually does."""


@dataclass(frozen=True, slots=True)
class Camera:
    """The movement of the camera: each value is the limit of a long clip, half reached in the first seconds.

    `zoom` is a fraction of the distance, `pan` picture widths to the right, `tilt` picture heights up.
    """

    zoom: float = 0.0
    pan: float = 0.0
    tilt: float = 0.0
    shake: float = 0.0
    breathing: bool = False
    """True if the prompt names no move: near objects approach slightly, and far ones do not move."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything in a scene."""

    key: str
    """All words, unknown ones included: what the prompt leaves open depends on them."""
    ground: str
    backdrops: tuple[str, ...]
    """What stands between ground and sky, far to near: `mountains`, `pines`, `skyline` …"""
    time: str
    """The name of its light."""
    weather: frozenset[str]
    clouds: float
    stars: float
    actors: tuple[Actor, ...]
    camera: Camera
    pace: float
    grade: str
    season: str
    tints: tuple[str, ...]
    """Colour words without a noun, which tint the light."""

    def chance(self, what: str) -> float:
        """A number from -1 to 1 that depends only on the words of the prompt."""
        return float(generator(self.key, what).uniform(-1, 1))


_WORD = re.compile(r"[a-zà-öø-ÿ]+|\d+|[^\W\d_a-zà-öø-ÿ]|[\u2190-\U0001faff]|[,.;:!?]", re.IGNORECASE)
_DENIED = re.compile(
    r"\b(?:no|not|without|none|never)\b(.*?)(?=[,.;:!?\n]|\b(?:with|in|on|over|under|at|by|near)\b|$)", re.IGNORECASE
)
_MARKS = frozenset(".,;:!?")
_LINKS = frozenset({"and", "or", "&", "with", "in", "on", "over", "under", "at", "by", "near", "behind", "through"})
_SKIES = frozenset({"sky", "clouds", "cloud", "sunset", "dawn", "dusk", "night"})
"""What takes the colours before it as those of the light."""
_GENERAL = ("place", "time", "weather", "season", "grade", "camera", "pace")
_ABOUT = (*_GENERAL, "heading", "deed", "count", "size", "colour")
_WATERS = ("water", "river", "beach")


def spoken(prompt: str) -> list[str]:
    """The words, numbers and punctuation marks of a prompt in order, in lower case.

    >>> spoken("Three RED balloons, 船!")
    ['three', 'red', 'balloons', ',', '船', '!']
    """
    return [word.lower() for word in _WORD.findall(prompt)[:MAX_WORDS]]


@cache
def phrases() -> dict[str, dict[str, str]]:
    """Every known phrase in the singular, and its meanings: what each is about, and what it says."""
    rows = [("actor", kind, figure.words) for kind, figure in FIGURES.items()]
    for about in _ABOUT:
        for says, row in TABLE[about].items():
            rows.append((about, says, row if isinstance(row, str) else row.get("words", "")))
    known: dict[str, dict[str, str]] = {}
    for about, says, words in rows:
        for phrase in words.split():
            # Split like a prompt: at hyphens, and at every character of a script without spaces.
            known.setdefault(" ".join(spoken(phrase)), {}).setdefault(about, says)
    return known


def find_phrase(words: Sequence[str], index: int) -> tuple[str, int, bool]:
    """The longest known phrase at an index in the singular, its number of words, and whether it is a plural.

    >>> find_phrase(["two", "hot", "air", "balloons"], 1)
    ('hot air balloon', 3, True)
    """
    for length in range(min(6, len(words) - index), 0, -1):
        *head, last = words[index : index + length]
        irregular = TABLE["plural"]["irregular"].get(last, last)
        for guess in (last, irregular, re.sub("ies$", "y", last), last.removesuffix("es"), last.removesuffix("s")):
            if (phrase := " ".join([*head, guess])) in phrases():
                return phrase, length, guess != last or last in TABLE["plural"]["same"]
    return "", 1, False


class Reading:
    """What words say, in order: numbers, colours and sizes apply to the next noun, actions to the last one."""

    def __init__(self, words: Sequence[str]) -> None:
        self.actors: list[Actor] = []
        self.mentions: dict[str, list[str]] = {about: [] for about in _GENERAL}
        self.tints: list[str] = []
        self._current, self._acting = 0, False
        self._expect()
        index = 0
        while index < len(words):
            phrase, length, is_plural = find_phrase(words, index)
            if phrase:
                self._take(phrases()[phrase], is_plural)
            else:
                self._take_unknown(words[index])
            index += length
        self.tints += self._colours

    def _expect(self) -> None:
        """Begin with what describes the next noun."""
        self._count: int | None = None
        self._colours: list[str] = []
        self._size, self._deed = 1.0, ""

    def _take_unknown(self, word: str) -> None:
        if word.isdigit():
            self._count = max(1, min(int(word[:4]), MAX_FIGURES)) if int(word[:4]) < 1000 else None
        elif word in _MARKS or word in _LINKS:
            self._acting = False
            if word in _MARKS and not self._count:
                self.tints += self._colours
                self._colours = []

    def _take(self, meanings: dict[str, str], is_plural: bool) -> None:
        if _SKIES.intersection(meanings.values()):
            self.tints += self._colours
        for about, says in meanings.items():
            match about:
                case "actor":
                    self._add_actor(says, is_plural)
                case "count":
                    # "A flock of five": the group takes precedence over its article, and the number over the group.
                    self._count = int(says) if says != "1" or self._count is None else self._count
                case "colour":
                    self._colours.append(says)
                case "size":
                    self._size = float(says)
                case "deed" if not self.actors or self._count is not None:
                    self._deed = says
                case "heading" | "deed":
                    self._change(**{about: says})
                    self._acting = self._acting or about == "deed"
                case _:
                    self.mentions[about].append(says)
        if meanings.keys() & {"place", "time"}:
            self._expect()

    def _add_actor(self, kind: str, is_plural: bool) -> None:
        kinds = [actor.kind for actor in self.actors]
        if self._acting:
            # "Children flying a kite": the kite flies, not the children.
            self._change(deed="")
        if kinds and (both := f"{kinds[self._current]}-with-{kind}") in FIGURES:
            # "A man with a red umbrella" is one figure.
            self._change(kind=both, colours=tuple(self._colours))
        elif kind in kinds and self._count is None:
            # "A boat and a bird; the boat sails left": the same boat.
            self._current = kinds.index(kind)
        else:
            room = MAX_FIGURES - sum(actor.count for actor in self.actors)
            count = min(room, self._count or (int(FIGURES[kind].number("many", 3)) if is_plural else 1))
            if count:
                self._current = len(kinds)
                self.actors.append(Actor(kind, count, tuple(self._colours), self._size, deed=self._deed))
        self._acting = False
        self._expect()

    def _change(self, **changes: Any) -> None:
        if self.actors:
            self.actors[self._current] = replace(self.actors[self._current], **changes)

    def remove(self, negative: Sequence[str]) -> None:
        """Remove what the words of a negative prompt name."""
        unwanted = Reading(negative)
        self.avoided: set[str] = {actor.kind for actor in unwanted.actors} | set(negative)
        self.avoided.update(*unwanted.mentions.values())
        for place in unwanted.mentions["place"]:
            self.avoided.update(TABLE["place"][place].get("backdrops", "").split())
        self.actors = [actor for actor in self.actors if self.avoided.isdisjoint(actor.kind.split("-with-"))]
        for mentions in self.mentions.values():
            mentions[:] = [name for name in mentions if name not in self.avoided]


def scene_of(prompt: str, negative_prompt: str = "") -> Scene:
    """The scene that a prompt describes, without what the negative prompt names.

    >>> scene = scene_of("three red balloons over a lake at sunset")
    >>> scene.actors[0].count, scene.actors[0].colours, scene.ground, scene.time
    (3, ('red',), 'water', 'sunset')
    """
    # "No people" and "without rain" are a negative prompt inside the prompt.
    words, avoided = spoken(_DENIED.sub("", prompt)), spoken(" ".join([negative_prompt, *_DENIED.findall(prompt)]))
    reading = Reading(words)
    reading.remove(avoided)
    key = " ".join([*words, "/", *avoided])
    mentions, weather = reading.mentions, set(reading.mentions["weather"])
    main, backdrops = _combine(_choose_places(reading, key))
    weather |= {*main.get("weather", "").split(), *(("wind", "rain") if "storm" in weather else ())} - reading.avoided
    time = _choose_time(reading, main, key)
    clouds = max((row["clouds"] for name in weather if "clouds" in (row := TABLE["weather"][name])), default=0.38)
    if time in ("space", "underwater") or "clear" in weather or "cloud" in reading.avoided:
        clouds = 0.0
    stars = 1.0 if "stars" in weather or time == "space" else 0.6 * (time in ("night", "dusk"))
    # Who stands on land has a strip of it in front of the water.
    lands = any(
        FIGURES[actor.kind].where in ("ground", "road", "table") and actor.deed not in ("fly", "swim")
        for actor in reading.actors
    )
    camera = Camera(zoom=0.12, breathing=True)  # A slow approach conveys depth.
    if named := mentions["camera"]:
        rows = [row for name, row in TABLE["camera"].items() if name in named]
        camera = Camera(**{axis: value for row in rows for axis, value in row.items() if axis != "words"})
    return Scene(
        key,
        main["bank"] if lands and "bank" in main else main["ground"],
        tuple(name for name in backdrops if name not in reading.avoided),
        time,
        frozenset(weather),
        min(clouds, 0.12) if {"aurora", "stars"} & weather else clouds,
        0.0 if "stars" in reading.avoided else stars,
        tuple(reading.actors),
        camera,
        pace=float(mentions["pace"][-1]) if mentions["pace"] else 1.0,
        grade=next(iter(mentions["grade"]), ""),
        season=next(iter(mentions["season"]), main.get("season", "")),
        tints=tuple(reading.tints[:3]),
    )


def _choose_places(reading: Reading, key: str) -> list[str]:
    """The places of a scene: those that the prompt names, or where its actors or its weather belong."""
    places, times, kinds = reading.mentions["place"], reading.mentions["time"], [actor.kind for actor in reading.actors]
    figures = [FIGURES[kind] for kind in kinds]
    above = set(times) - {"day"} or any(figure.where in ("water", "heaven") for figure in figures)
    above = above or any(actor.deed in ("jump", "fly") for actor in reading.actors)
    is_wet = all(TABLE["place"][place]["ground"] in _WATERS for place in places)
    if is_wet and not above and any("swimmer" in figure.options for figure in figures):
        return ["underwater"]
    if places:
        # "A pink sky over the sea" is a sea.
        return [place for place in places if place != "sky"] or places
    if "bridge" in kinds:
        return ["river"]
    # The first noun with a home decides; flying figures join the others, and then the weather.
    rows = [*(TABLE["weather"][name] for name in reading.mentions["weather"]), *(TABLE["time"][name] for name in times)]
    homes = [figure.options["home"] for figure in figures if "home" in figure.options]
    rooted = [home for home in homes if home not in ("sky", "clouds", "meadow", "hills")]
    homes = [*rooted, *(row["home"] for row in rows if "home" in row), *homes]
    choices = ["meadow", "sea", "mountains", "hills", "lake", "clouds", "desert", "beach"]
    return [next((home for home in homes if home not in reading.avoided), str(generator(key, "place").choice(choices)))]


def _combine(names: Sequence[str]) -> tuple[dict[str, Any], Sequence[str]]:
    """The place whose ground is painted, and the backdrops of all places that can share a horizon, far to near."""
    first, *_ = places = [TABLE["place"][name] for name in names[:4]]
    if "closed" in first or len(places) == 1:
        return first, first.get("backdrops", "").split()
    # A mountain lake is a lake among mountains: water is the ground, the rest are backdrops.
    places = [place for place in places if "closed" not in place]
    main = next((place for place in places if place["ground"] in _WATERS), places[0])
    shown = {name for place in places if place is not main for name in place.get("backdrops", "").split()}
    own = set(main.get("backdrops", "").split())
    return main, sorted(
        shown | (own - {"hills", "pines", "trees"} if shown else own), key=[*TABLE["backdrop"], *FIGURES].index
    )


def _choose_time(reading: Reading, main: dict[str, Any], key: str) -> str:
    lit = str(main.get("light", ""))
    if lit in ("space", "mars", "underwater"):
        return lit
    if times := reading.mentions["time"]:
        return times[0]
    nightly = [actor.kind for actor in reading.actors if "nightly" in FIGURES[actor.kind].options]
    weather = set(reading.mentions["weather"])
    if nightly or {"stars", "aurora", "fireflies"} & weather or "neon" in reading.mentions["grade"]:
        return "dusk" if "fire" in nightly and not weather else "night"
    is_golden = generator(key, "golden").random() > 0.75 and not weather and "sun" not in reading.avoided
    return lit or ("golden" if is_golden else "day")


def expanded(prompt: str) -> str:
    """The prompt with a time, a mood, a living thing and a camera move added where it names none.

    >>> expanded("a red boat at night, slow zoom in").startswith("a red boat at night, slow zoom in, ")
    True
    """
    reading, parts = Reading(spoken(prompt)), [prompt.strip() or "an open landscape"]
    mentioned = {about for about, names in reading.mentions.items() if names} | {actor.kind for actor in reading.actors}
    if {"underwater", "space"} & set(reading.mentions["place"]):
        mentioned.add("time")
    for about, choices in TABLE["expand"].items():
        if about not in mentioned:
            parts.append(choices[int(generator(prompt, about).integers(len(choices)))])
    return ", ".join([*parts, "soft light, rich colours, gentle motion"])
