"""Reading of prompts: words become a scene of actors, a place, a time, weather and a camera move."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from .noise import generator
from .tables import FIGURES, TABLE

MAX_WORDS = 6000
"""Further words are ignored."""

MAX_ACTORS, MAX_FIGURES = 8, 24


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
    side: str = ""
    """These three as the rows of `[heading]`, `[deed]` and `[side]` in words.toml; empty for what its kind usually does."""


@dataclass(frozen=True, slots=True)
class Camera:
    """The movement of the camera: each value is the limit of a long clip, half reached in the first seconds.

    `zoom` is a fraction of the distance, `pan` picture widths to the right, `tilt` picture heights up.
    """

    zoom: float = 0.0
    pan: float = 0.0
    tilt: float = 0.0
    shake: float = 0.0
    pace: float = 1.0
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
_SAME_IN_PLURAL = frozenset(TABLE["plural"]["same"].split())
_MARKS = frozenset(".,;:!?")
_LINKS = frozenset({"and", "or", "&", "with", "in", "on", "over", "under", "at", "by", "near", "behind", "through"})
_SKIES = frozenset({"sky", "clouds", "cloudy", "sunset", "dawn", "dusk", "night"})
"""What takes the colours before it as those of the light."""
_ABOUT = (
    *("place", "time", "weather", "season", "grade", "camera", "pace", "heading", "side", "deed"),
    *("count", "size", "not", "colour"),
)
_WATERS = ("water", "river", "beach")


def spoken(prompt: str) -> list[str]:
    """The words, numbers and punctuation marks of a prompt in order, in lower case.

    >>> spoken("Three RED balloons, 船!")
    ['three', 'red', 'balloons', ',', '船', '!']
    """
    return [word.lower() for word, _ in zip(_WORD.findall(prompt), range(MAX_WORDS), strict=False)]


@cache
def phrases() -> dict[str, dict[str, str]]:
    """Every known phrase in the singular, and its meanings: what each is about, and what it says."""
    rows = [("actor", kind, figure.words) for kind, figure in FIGURES.items()]
    for about in _ABOUT:
        rows += [
            (about, says, row if isinstance(row, str) else row.get("words", "")) for says, row in TABLE[about].items()
        ]
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
                return phrase, length, guess != last
    return "", 1, False


class Reading:
    """What words say, in order: numbers, colours and sizes apply to the next noun, actions to the last one.

    With `bare`, ambiguous words are nouns, as in a negative prompt.
    """

    def __init__(self, words: Sequence[str], *, bare: bool = False) -> None:
        self.actors: list[Actor] = []
        self.mentions: dict[str, list[str]] = {about: [] for about in _ABOUT}
        self.tints: list[str] = []
        self.avoided: set[str] = set()
        self.pace = self.camera_pace = 1.0
        self._bare, self._current, self._acting, self._negated = bare, 0, False, False
        self._expect()
        index = 0
        while index < len(words):
            phrase, length, plural = find_phrase(words, index)
            if phrase:
                near = words[max(0, index - 3) : index + length + 3]
                self._take(phrase, plural, any("camera" in phrases().get(word, ()) for word in near))
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
            self._negated = self._negated and word in ("and", "or", ",", "&")
            if word in _MARKS and not self._count:
                self.tints += self._colours
                self._colours = []

    def _take(self, phrase: str, plural: bool, on_camera: bool) -> None:
        meanings = phrases()[phrase]
        says_any = set(meanings.values())
        if self._negated and not meanings.keys() & {"count", "colour", "size", "not"}:
            self.avoided |= says_any
            self._expect()
            return
        # A word such as "clouds" or "bubbles" is a figure only if something describes it, and weather otherwise.
        is_thing = self._bare or self._count is not None or bool(self._colours) or not plural
        self.tints += self._colours if says_any & _SKIES else []
        for about, says in meanings.items():
            if about != "actor":
                self._mention(about, says, on_camera)
            elif is_thing or "weather" not in meanings:
                self._add_actor(says, plural or phrase in _SAME_IN_PLURAL)
        if meanings.keys() & {"place", "time"}:
            self._expect()

    def _add_actor(self, kind: str, plural: bool) -> None:
        kinds = [actor.kind for actor in self.actors]
        if self._acting:
            # "Children flying a kite": the kite flies, not the children.
            self._change(deed="")
        if kind in kinds and self._count is None:
            # "A boat and a bird; the boat sails left": the same boat.
            self._current = kinds.index(kind)
        else:
            self._current = len(kinds)
            count = self._count or (int(FIGURES[kind].number("many", 3)) if plural else 1)
            self.actors.append(Actor(kind, count, tuple(self._colours), self._size, deed=self._deed))
        self._acting = self._negated = False
        self._expect()

    def _mention(self, about: str, says: str, on_camera: bool) -> None:
        match about:
            case "not":
                self._negated = True
            case "count":
                # "A flock of five": the group takes precedence over its article, and the number over the group.
                self._count = int(says) if says != "1" or self._count is None else self._count
            case "colour":
                self._colours.append(says)
            case "size":
                self._size = float(says)
            case "pace" if on_camera:
                self.camera_pace = float(says)
            case "pace":
                self.pace = float(says)
            case "heading" if on_camera and says in ("left", "right"):
                self.mentions["camera"].append(f"pan-{says}")
            case "heading" | "side":
                self._change(**{about: says})
            case "deed" if not self.actors or self._count is not None:
                self._deed = says
            case "deed":
                self._change(deed=says)
                self._acting = True
            case _ if says not in self.mentions[about]:
                self.mentions[about].append(says)

    def _change(self, **changes: Any) -> None:
        if self.actors:
            self.actors[self._current] = replace(self.actors[self._current], **changes)

    def remove(self, negative: Sequence[str]) -> None:
        """Remove what the words of a negative prompt, or a "without" in the prompt, name."""
        unwanted = Reading(negative, bare=True)
        self.avoided |= {actor.kind for actor in unwanted.actors} | set(negative)
        self.avoided |= {name for names in unwanted.mentions.values() for name in names}
        if {"cloudy", "cloud"} & self.avoided:
            # Clouds are weather as well as figures; unwanted ones are removed in both senses.
            self.avoided |= {"cloudy", "cloud"}
        for place in unwanted.mentions["place"]:
            self.avoided |= set(TABLE["place"][place].get("backdrops", "").split())
        self.actors = [actor for actor in self.actors if actor.kind not in self.avoided]
        for mentions in self.mentions.values():
            mentions[:] = [name for name in mentions if name not in self.avoided]


def scene_of(prompt: str, negative_prompt: str = "") -> Scene:
    """The scene that a prompt describes, without what the negative prompt names.

    >>> scene = scene_of("three red balloons over a lake at sunset")
    >>> scene.actors[0].count, scene.actors[0].colours, scene.ground, scene.time
    (3, ('red',), 'water', 'sunset')
    """
    words, avoided = spoken(prompt), spoken(negative_prompt)
    reading = Reading(words)
    reading.remove(avoided)
    key = " ".join([*words, "/", *avoided])
    mentions, weather = reading.mentions, set(reading.mentions["weather"])
    main, backdrops = _combine(_choose_places(reading, key))
    if "storm" in weather:
        weather |= {"wind"} | ({"rain"} - reading.avoided)
    time = _choose_time(reading, main, key)
    covers = [row["clouds"] for name in weather if "clouds" in (row := TABLE["weather"][name])]
    clouds = max(covers, default=0.38)
    if {"aurora", "stars"} & weather:
        clouds = min(clouds, 0.12)
    if time in ("space", "underwater") or {"cloudy", "cloud"} & reading.avoided:
        clouds = 0.0
    stars = 1.0 if "stars" in weather or time == "space" else 0.6 * (time in ("night", "dusk"))
    landed = any(
        FIGURES[actor.kind].where in ("ground", "road", "table") and actor.deed not in ("fly", "swim")
        for actor in reading.actors
    )
    # Who stands on land has a strip of it in front of the water.
    ground = main.get("bank", "beach") if main["ground"] == "water" and landed else main["ground"]
    camera = Camera(zoom=0.12, pace=reading.camera_pace, breathing=True)  # A slow approach conveys depth.
    if named := mentions["camera"]:
        rows = [row for name, row in TABLE["camera"].items() if name in named]
        moves = {axis: value for row in rows for axis, value in row.items() if axis != "words"}
        camera = Camera(pace=reading.camera_pace, **moves)
    return Scene(
        key, ground, tuple(name for name in backdrops if name not in reading.avoided),
        time, frozenset(weather), clouds, 0.0 if "stars" in reading.avoided else stars,
        _choose_actors(reading.actors), camera, min(3.0, max(0.1, reading.pace)),
        grade=next(iter(mentions["grade"]), ""),
        season=next(iter(mentions["season"]), main.get("season", "")),
        tints=tuple(reading.tints[:3]),
    )  # fmt: skip


def _choose_places(reading: Reading, key: str) -> list[str]:
    """The places of a scene: those that the prompt names, or where its actors, weather or time belong."""
    places, times, weather = reading.mentions["place"], reading.mentions["time"], set(reading.mentions["weather"])
    kinds = [actor.kind for actor in reading.actors]
    figures = [FIGURES[kind] for kind in kinds]
    swimming = any("swimmer" in figure.options for figure in figures)
    on_surface = set(times) - {"day"} or {"sun", "moon"} & set(kinds) or any(item.where == "water" for item in figures)
    if places:
        # "A pink sky over the sea" is a sea.
        places = [place for place in places if place != "sky"] or places
        wet = all(TABLE["place"][place]["ground"] in _WATERS for place in places)
        above = on_surface or any(actor.deed in ("jump", "fly") for actor in reading.actors)
        return ["underwater"] if swimming and wet and not above else places
    if not kinds and {"snow", "rain"} & weather:
        return ["snowfield" if "snow" in weather else "street"]
    if swimming and on_surface:
        return ["sea"]
    # The first noun with a home decides; flying figures join the others.
    homes = [figure.options["home"] for figure in figures if "home" in figure.options]
    rooted = [home for home in homes if home not in ("sky", "clouds", "meadow", "hills")]
    homes = [home for home in (rooted or homes) if home not in reading.avoided]
    starry = {"stars", "aurora"} & weather
    if homes:
        # Trees would hide the sky.
        looks_up = starry or any(figure.where == "heaven" for figure in figures)
        home = "mountains" if homes[0] == "forest" and looks_up else homes[0]
        return ["river" if "bridge" in kinds and "river" in homes else home]
    if starry or "night" in times:
        return ["snowfield" if "aurora" in weather else "mountains"]
    choices = "sea hills" if times else "meadow sea mountains hills lake clouds desert beach"
    return [str(generator(key, "place").choice(choices.split()))]


def _combine(names: Sequence[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The place whose ground is painted, and the backdrops of all places that can share a horizon."""
    places = [TABLE["place"][name] for name in names[:4]]
    # A mountain lake is a lake among mountains: water is the ground, the rest are backdrops.
    first, open_places = places[0], [place for place in places if "closed" not in place]
    main = (
        first
        if "closed" in first
        else next((place for place in open_places if place["ground"] in _WATERS), open_places[0])
    )
    own = main.get("backdrops", "").split()
    if "closed" in main or len(places) == 1:
        return main, tuple(own)
    names = [name for place in open_places if place is not main for name in place.get("backdrops", "").split()]
    far = TABLE["far"]["far"].split()
    names += [name for name in own if not names or name not in ("hills", "pines", "trees")]
    return main, tuple(dict.fromkeys(sorted(names, key=lambda name: far.index(name) if name in far else len(far))))


def _choose_time(reading: Reading, main: dict[str, Any], key: str) -> str:
    weather, lit = {*reading.mentions["weather"]}, str(main.get("light", ""))
    nightly = [actor.kind for actor in reading.actors if "nightly" in FIGURES[actor.kind].options]
    if lit in ("space", "mars", "underwater"):
        return lit
    if times := reading.mentions["time"]:
        return times[0]
    if {"stars", "aurora", "fireflies"} & weather or "neon" in reading.mentions["grade"]:
        return "night"
    if nightly:
        return "dusk" if "fire" in nightly else "night"
    is_golden = generator(key, "golden").random() > 0.75 and not weather and "sun" not in reading.avoided
    return lit or ("golden" if is_golden else "day")


def _choose_actors(actors: list[Actor]) -> tuple[Actor, ...]:
    """The actors, a person and an umbrella as one figure, limited to a number that can be told apart."""
    by_kind = {actor.kind: actor for actor in reversed(actors)}
    if "person" in by_kind and "umbrella" in by_kind:
        umbrella, holder = by_kind["umbrella"], by_kind["person"]
        both = replace(holder, kind="person-with-umbrella", colours=umbrella.colours, deed=holder.deed or umbrella.deed)
        actors = [both if actor is holder else actor for actor in actors if actor is not umbrella]
    left, chosen = MAX_FIGURES, []
    for actor in actors[:MAX_ACTORS]:
        if left:
            chosen.append(replace(actor, count=min(actor.count, left)))
            left -= chosen[-1].count
    return tuple(chosen)


def expanded(prompt: str) -> str:
    """The prompt with a time, a mood, a living thing and a camera move added where it names none.

    >>> expanded("a red boat at night, slow zoom in").startswith("a red boat at night, slow zoom in, ")
    True
    """
    reading, parts = Reading(spoken(prompt)), [prompt.strip() or "an open landscape"]
    mentioned = {about for about, names in reading.mentions.items() if names}
    mentioned |= {"time"} if {"underwater", "space"} & set(reading.mentions["place"]) else set()
    mentioned |= {"bird"} & {actor.kind for actor in reading.actors}
    for about, choices in TABLE["expand"].items():
        if about not in mentioned:
            parts.append(choices[int(generator(prompt, about).integers(len(choices)))])
    return ", ".join([*parts, "soft light, rich colours, gentle motion"])
