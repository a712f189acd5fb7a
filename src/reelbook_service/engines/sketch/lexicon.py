"""Conversion of a prompt to a scene: actors, place, time, weather and camera."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .figures import FIGURES
from .grammar import Reading, parse_words
from .homes import HOME, NIGHTLY, SWIMMERS, UNKNOWN
from .prompt_words import spoken, style_of
from .scene import Actor, Camera, Scene, Weather
from .vocabulary import PLACES, Place

MAX_ACTORS = 8
MAX_FIGURES = 24

_WATER = frozenset({"sea", "lake", "pond", "river", "harbour", "island", "arctic", "waterfall", "beach"})
_SURFACE = frozenset(
    {"boat", "paper boat", "rowing boat", "ship", "duck", "swan", "lighthouse", "bridge", "sun", "moon"}
)
_CELESTIAL = frozenset({"sun", "moon", "rainbow", "planet", "comet", "firework"})


def scene_of(prompt: str, negative_prompt: str = "") -> Scene:
    """The scene that a prompt describes, without what the negative prompt names.

    >>> scene = scene_of("three red balloons over a lake at sunset")
    >>> scene.actors[0].count, scene.actors[0].colours, scene.ground, scene.time
    (3, ('red',), 'water', 'sunset')
    """
    words, avoided = spoken(prompt), spoken(negative_prompt)
    reading = parse_words(words)
    _remove_unwanted(reading, parse_words(avoided, bare=True))
    style = style_of(words, avoided)
    places = _choose_places(reading, float(style[11]), float(style[12]))
    main, backdrops = _combine_places(places)
    backdrops = tuple(name for name in backdrops if name not in reading.avoided)
    main = _add_shore(main, places, reading)
    time = _choose_time(reading, main, float(style[13]))
    return Scene(
        prompt=prompt,
        ground=main.ground,
        backdrops=backdrops,
        time=time,
        weather=_make_weather(reading, time, float(style[14])),
        actors=_choose_actors(reading),
        camera=_make_camera(reading),
        pace=float(np.clip(reading.pace, 0.1, 3)),
        grade=next(iter(reading.grades), main.grade),
        season=next(iter(reading.seasons), main.season),
        tints=tuple(reading.tints[:3]),
        style=tuple(float(number) for number in style),
    )


def _remove_unwanted(reading: Reading, unwanted: Reading) -> None:
    """Remove what the negative prompt, or a "without" in the prompt, names."""
    names = {actor.kind for actor in unwanted.actors} | set(unwanted.places) | set(unwanted.weathers)
    names |= set(unwanted.times) | set(unwanted.grades)
    # Clouds are weather as well as figures; unwanted ones are removed in both senses.
    names |= {"cloudy"} & names and {"cloud"}
    names |= {"cloud"} & names and {"cloudy"}
    names |= reading.avoided
    for place in unwanted.places:
        names |= set(PLACES[place].backdrops)
    reading.avoided |= names
    reading.actors = [actor for actor in reading.actors if actor.kind not in names]
    for found in (reading.places, reading.times, reading.weathers, reading.grades):
        found[:] = [name for name in found if name not in names]


def _choose_places(reading: Reading, chance: float, more: float) -> list[str]:
    kinds = [actor.kind for actor in reading.actors]
    surface = _SURFACE.intersection(kinds) or set(reading.times) - {"day"}
    swimming = [kind for kind in kinds if kind in SWIMMERS]
    if len(reading.places) > 1 and "sky" in reading.places:
        # "A pink sky over the sea" is a sea.
        reading.places.remove("sky")
    if reading.places:
        only_water = all(place in _WATER for place in reading.places)
        if (
            swimming
            and only_water
            and not surface
            and not any(actor.deed in ("jump", "fly") for actor in reading.actors)
        ):
            return ["underwater"]
        return reading.places
    if "snow" in reading.weathers and not kinds:
        return ["snowfield"]
    if "rain" in reading.weathers and not kinds:
        return ["street"]
    if swimming and surface:
        return ["sea"]
    # The first noun with an entry in HOME decides; flying figures join the others.
    homes = [HOME[kind] for kind in kinds if kind in HOME]
    rooted = [home for home in homes if home not in ("sky", "clouds", "meadow", "hills")]
    homes = [home for home in (rooted or homes) if home not in reading.avoided]
    if "bridge" in kinds and "river" in homes:
        return ["river"]
    if homes:
        # Trees would hide the sky.
        has_sky_subject = {"stars", "aurora"} & set(reading.weathers) or _CELESTIAL.intersection(kinds)
        return ["mountains"] if homes[0] == "forest" and has_sky_subject else homes[:1]
    if "aurora" in reading.weathers:
        return ["snowfield"]
    if "stars" in reading.weathers or "night" in reading.times:
        return ["mountains"]
    if reading.times:
        return ["sea" if chance > 0 else "hills"]
    choice = int((chance * 0.5 + 0.5) * 997 + (more * 0.5 + 0.5) * 991) % len(UNKNOWN)
    return [UNKNOWN[choice]]


def _combine_places(names: Sequence[str]) -> tuple[Place, tuple[str, ...]]:
    """The place whose ground is painted, and the backdrops of all places that can share a horizon."""
    places = [PLACES[name] for name in names[:4]]
    # A mountain lake is a lake among mountains: water is the ground, the rest are backdrops.
    watery = [place for name, place in zip(names, places, strict=False) if name in _WATER]
    closed = [place for place in places if not place.sky]
    main = places[0] if places[0] in closed else (watery or places)[0]
    if not main.sky or len(places) == 1:
        return main, main.backdrops
    others = [name for place in places if place is not main and place.sky for name in place.backdrops]
    own = [name for name in main.backdrops if not others or name not in ("hills", "pines", "trees")]
    return main, tuple(dict.fromkeys(sorted([*others, *own], key=_distance)))


_BANKS = {"sea": "beach", "island": "beach", "harbour": "beach", "lake": "river", "pond": "river", "arctic": "floe"}


def _add_shore(main: Place, places: Sequence[str], reading: Reading) -> Place:
    """Open water with a strip of land in front, where an actor needs it."""
    bank = next((_BANKS[name] for name in places if name in _BANKS), "beach")
    landed = [
        actor
        for actor in reading.actors
        if FIGURES[actor.kind].where in ("ground", "road", "table") and actor.deed not in ("fly", "swim")
    ]
    return replace(main, ground=bank) if main.ground == "water" and landed else main


def _distance(backdrop: str) -> int:
    far_to_near = ("planets", "mountains", "volcano", "mesas", "skyline", "island", "hills", "icebergs", "dunes")
    return far_to_near.index(backdrop) if backdrop in far_to_near else len(far_to_near)


def _choose_time(reading: Reading, main: Place, chance: float) -> str:
    if main.time in ("space", "underwater", "cave", "stage", "mars"):
        return main.time
    if reading.times:
        return reading.times[0]
    if {"stars", "aurora", "fireflies"}.intersection(reading.weathers):
        return "night"
    if any(actor.kind in NIGHTLY for actor in reading.actors):
        return "dusk" if any(actor.kind == "fire" for actor in reading.actors) else "night"
    if "neon" in reading.grades:
        return "night"
    if main.time:
        return main.time
    if "sun" in reading.avoided:
        return "day"
    return "golden" if chance > 0.55 and not reading.weathers else "day"


_CLOUDS = {"clear": 0.0, "cloudy": 0.75, "rain": 0.85, "storm": 0.95, "snow": 0.7, "fog": 0.5}
_DRIFTERS = ("leaves", "petals", "fireflies", "bubbles", "dust", "sparks", "confetti")


def _make_weather(reading: Reading, time: str, chance: float) -> Weather:
    named = reading.weathers
    clouds = max((_CLOUDS[name] for name in named if name in _CLOUDS), default=0.38 + 0.12 * chance)
    if {"aurora", "stars"} & set(named):
        clouds = min(clouds, 0.12)
    if time in ("space", "underwater") or {"cloudy", "cloud"} & reading.avoided:
        clouds = 0.0
    night = time in ("night", "space", "dusk")
    return Weather(
        clouds=clouds,
        rain=1.0 if "rain" in named else (0.8 if "storm" in named and "rain" not in reading.avoided else 0.0),
        snow=1.0 if "snow" in named and time != "underwater" else 0.0,
        fog=1.0 if "fog" in named else 0.0,
        storm=1.0 if "storm" in named else 0.0,
        wind=1.0 if {"wind", "storm"} & set(named) else 0.0,
        stars=0.0 if "stars" in reading.avoided else (1.0 if "stars" in named or time == "space" else 0.6 * night),
        aurora=1.0 if "aurora" in named else 0.0,
        drifting=next((name for name in _DRIFTERS if name in named), ""),
    )


def _choose_actors(reading: Reading) -> tuple[Actor, ...]:
    """The actors, with nouns merged that are one figure, limited to a distinguishable number."""
    actors = _merge_umbrella(reading.actors)
    left, chosen = MAX_FIGURES, []
    for actor in actors[:MAX_ACTORS]:
        count = min(actor.count, left)
        if count:
            chosen.append(replace(actor, count=count))
            left -= count
    return tuple(chosen)


def _merge_umbrella(actors: list[Actor]) -> list[Actor]:
    """The actors, with a person and an umbrella as one figure."""
    kinds = [actor.kind for actor in actors]
    if "person" not in kinds or "umbrella" not in kinds:
        return actors
    umbrella = actors[kinds.index("umbrella")]
    holder = actors[kinds.index("person")]
    held = replace(holder, kind="person with umbrella", colours=umbrella.colours, deed=holder.deed or umbrella.deed)
    return [held if actor is holder else actor for actor in actors if actor is not umbrella]


def _make_camera(reading: Reading) -> Camera:
    moves, named = Camera(pace=reading.camera_pace), set(reading.cameras)
    if "hold" in named:
        return moves
    sideways = named & {"pan", "pan-left", "pan-right", "tilt-up", "tilt-down"}
    zoom = -0.42 if "zoom-out" in named else 0.55 if "zoom-in" in named else 0.2 if "aerial" in named else 0.0
    return replace(
        moves,
        # No move is named: a slow zoom in conveys depth.
        zoom=zoom if named else 0.12,
        breathing=not named,
        pan=-0.3 if "pan-left" in named else 0.3 if sideways & {"pan", "pan-right"} else 0.0,
        tilt=-0.2 if "tilt-down" in named else 0.2 if "tilt-up" in named else 0.0,
        roll=4.0 if "roll" in named else 0.0,
        shake=1.0 if "shake" in named else 0.0,
    )
