"""The vocabulary of the sketch engine: each phrase and its meanings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from .nouns import ACTORS
from .prompt_words import spoken


class Meaning(NamedTuple):
    """One meaning of a phrase: its category and its value."""

    about: str
    says: str


@dataclass(frozen=True, slots=True)
class Place:
    """The setting of a scene."""

    ground: str
    backdrops: tuple[str, ...] = ()
    time: str = ""
    season: str = ""
    grade: str = ""
    sky: bool = True
    """Whether there is a horizon with a sky above it."""


PLACES: Mapping[str, Place] = {
    "sea": Place("water"),
    "lake": Place("water", ("hills", "pines")),
    "pond": Place("water", ("trees", "reeds")),
    "river": Place("river", ("hills", "trees")),
    "waterfall": Place("water", ("waterfall",)),
    "beach": Place("beach", ("palms",)),
    "island": Place("water", ("island",)),
    "harbour": Place("water", ("quay",)),
    "arctic": Place("water", ("icebergs",), season="winter"),
    "forest": Place("forest", ("woods",)),
    "pinewood": Place("forest", ("woods",)),
    "jungle": Place("forest", ("jungle",)),
    "mountains": Place("grass", ("mountains", "pines")),
    "hills": Place("grass", ("hills",)),
    "meadow": Place("grass", ("hills", "blossoms")),
    "lavender": Place("rows-purple", ("hills",)),
    "wheat": Place("rows-gold", ("hills",)),
    "tulips": Place("rows-tulip", ("hills",)),
    "desert": Place("sand", ("dunes",)),
    "canyon": Place("sand", ("mesas",)),
    "snowfield": Place("snow", ("hills", "pines"), season="winter"),
    "street": Place("street", ("facades",)),
    "city": Place("street", ("skyline", "facades")),
    "skyline": Place("roofs", ("skyline",)),
    "village": Place("grass", ("hills", "village")),
    "castle": Place("grass", ("mountains", "castle")),
    "road": Place("road", ("hills", "trees")),
    "railway": Place("rails", ("hills", "trees")),
    "farm": Place("rows-green", ("hills", "barn")),
    "garden": Place("grass", ("hedge", "blossoms")),
    "park": Place("park", ("trees",)),
    "space": Place("none", ("planets",), time="space", sky=False),
    "moonscape": Place("regolith", ("craters",), time="space"),
    "mars": Place("mars", ("mesas",), time="mars"),
    "underwater": Place("seabed", ("reef",), time="underwater", sky=False),
    "clouds": Place("cloudsea", (), sky=False),
    "sky": Place("none", (), sky=False),
    "room": Place("floor", ("room",), sky=False),
    "cave": Place("cave", ("cave",), time="cave", sky=False),
    "volcano": Place("lava", ("volcano",), time="dusk"),
    "stage": Place("stage", ("stage",), time="stage", sky=False),
}

_PLACE_WORDS: Mapping[str, str] = {
    "sea": "sea ocean seas waves wave surf seascape pacific atlantic sailing regatta seaside mer mar meer 海 大海 🌊",
    "lake": "lake loch lagoon reservoir fjord lakeside 湖",
    "pond": "pond marsh swamp wetland",
    "river": "river stream creek brook canal riverbank riverside 河 江",
    "waterfall": "waterfall cascade falls",
    "beach": "beach shore coast seashore sandcastle plage strand 🏖 ⛱",
    "island": "island isle tropical-island desert-island 🏝",
    "harbour": "harbour harbor port dock quay marina pier",
    "arctic": "arctic antarctic antarctica iceberg polar north-pole south-pole glacier",
    "forest": "forest wood woodland grove trees-everywhere 森林 🌲🌲",
    "pinewood": "pine-forest fir-forest taiga",
    "jungle": "jungle rainforest rain-forest amazon",
    "mountains": "mountain peak alp summit alpine himalaya everest mount ridge mountainside valley 山 🏔 ⛰ 🗻",
    "hills": "hill countryside landscape highlands hillside moor",
    "meadow": "meadow field grass pasture grassland prairie lawn savanna savannah nature 草原",
    "lavender": "lavender lavender-field provence",
    "wheat": "wheat wheat-field corn-field cornfield grain barley",
    "tulips": "tulip-field flower-field field-of-flowers field-of-tulips fields-of-flowers",
    "desert": "desert dune sahara oasis sand 沙漠 🏜",
    "canyon": "canyon gorge mesa badlands wild-west",
    "snowfield": "snowfield winter snowy tundra ice frozen ski ski-slope 雪 雪原",
    "street": "street avenue alley boulevard lane pavement sidewalk town market square plaza 街",
    "city": "city downtown metropolis tokyo new-york london paris berlin cyberpunk urban hong-kong shanghai 城市 🏙 🌃",
    "skyline": "skyline skyscraper rooftop rooftops cityscape",
    "village": "village hamlet 村",
    "castle": "castle fortress palace kingdom fairytale fairy-tale 🏰",
    "road": "road highway motorway route freeway asphalt traffic",
    "railway": "railway railroad rail track train-track",
    "farm": "farm farmland barn ranch vineyard orchard",
    "garden": "garden backyard yard flowerbed 花园",
    "park": "park playground bench",
    "space": "space galaxy cosmos universe orbit nebula outer-space milky-way interstellar 宇宙 🌌",
    "moonscape": "on-the-moon lunar moonscape moon-surface surface-of-the-moon",
    "mars": "mars on-mars martian red-planet",
    "underwater": "underwater under-water undersea under-the-sea coral reef coral-reef seabed deep-sea aquarium ocean-floor bottom-of-the-sea 水下",
    "clouds": "above-the-clouds over-the-clouds sea-of-clouds cloudscape",
    "sky": "sky skies air heaven 天空",
    "room": "room kitchen indoors interior bedroom table desk window-sill windowsill living-room library cafe café house-inside office classroom shelf inside-a-house 房间",
    "cave": "cave cavern grotto mine",
    "volcano": "volcano eruption lava crater magma 火山 🌋",
    "stage": "stage theatre theater concert spotlight circus",
}

_TIME_WORDS: Mapping[str, str] = {
    "day": "day daytime noon midday sunny daylight bright summer",
    "dawn": "dawn sunrise morning daybreak early-morning",
    "sunset": "sunset sundown evening 日落 🌅 🌇",
    "golden": "golden-hour golden afternoon late-afternoon",
    "dusk": "dusk twilight nightfall blue-hour",
    "night": "night midnight nighttime moonlight moonlit starlight dark stars starry 夜 夜晚 🌙",
}

_WEATHER_WORDS: Mapping[str, str] = {
    "rain": "rain raining rainy drizzle shower wet downpour pouring monsoon 雨 🌧",
    "snow": "snow snowing snowfall snowflake blizzard flurry ❄ 🌨",
    "fog": "fog foggy mist misty haze hazy smoky smog",
    "storm": "storm stormy thunder thunderstorm lightning tempest hurricane ⛈ 🌩",
    "wind": "wind windy breeze breezy gale blowing",
    "cloudy": "cloudy overcast clouds grey-sky",
    "clear": "clear cloudless clear-sky blue-sky",
    "stars": "star stars starry starlight constellation milky-way ✨ 🌟 ⭐",
    "aurora": "aurora northern-lights aurora-borealis polar-light southern-lights",
    "leaves": "falling-leaf leaf leaves 🍂 🍁",
    "petals": "petal cherry-blossom sakura blossom 🌸 樱花",
    "fireflies": "firefly glow-worm lightning-bug",
    "bubbles": "bubble soap-bubble",
    "dust": "dust dusty sandstorm",
    "sparks": "spark ember",
    "confetti": "confetti party celebration",
}

_SEASON_WORDS: Mapping[str, str] = {
    "winter": "winter snowy snow frozen icy christmas 冬",
    "autumn": "autumn fall-colours fall-colors autumnal october 秋",
    "spring": "spring springtime sakura cherry-blossom blossoming 春",
}

_GRADE_WORDS: Mapping[str, str] = {
    "neon": "neon cyberpunk synthwave vaporwave futuristic",
    "pastel": "pastel dream dreamy dreamlike fairytale whimsical soft watercolour watercolor",
    "mono": "black-and-white monochrome noir black-white",
    "sepia": "sepia vintage old-photo antique retro",
    "vivid": "vivid vibrant colourful colorful saturated",
    "muted": "muted faded pale washed-out desaturated minimal minimalist",
}

_CAMERA_WORDS: Mapping[str, str] = {
    "zoom-in": "zoom zooming zooms zoom-in zooms-in zooming-in dolly dolly-in dolly-forward push-in pushes-in close-in fly-through flythrough approaching",
    "zoom-out": "zoom-out zooms-out zooming-out dolly-out pull-back pulls-back pull-out dolly-back",
    "pan": "pan panning pans tracking tracking-shot truck trucking tracks",
    "pan-left": "pan-left pans-left panning-left camera-left pans-to-the-left pan-to-the-left",
    "pan-right": "pan-right pans-right panning-right camera-right pans-to-the-right pan-to-the-right",
    "tilt-up": "tilt tilting tilts tilt-up tilts-up tilting-up crane crane-up",
    "tilt-down": "tilt-down tilts-down tilting-down crane-down",
    "aerial": "aerial drone drone-shot bird-view",
    "roll": "roll-camera dutch-angle orbit orbiting",
    "shake": "handheld hand-held shaky",
    "hold": "static-camera locked-camera fixed-camera static tripod still-camera static-shot",
}

_PACE_WORDS: Mapping[str, str] = {
    "0.5": "slow slowly calm calmly serene gentle gently peaceful quiet quietly lazily slow-motion tranquil drifting",
    "1.8": "fast quickly quick rapid rapidly racing hurried speeding rushing swift swiftly dashing timelapse time-lapse hectic sprinting galloping",
    "0.12": "motionless frozen-in-time",
}

_HEADING_WORDS: Mapping[str, str] = {
    "left": "left leftward leftwards to-the-left from-right-to-left",
    "right": "right rightward rightwards to-the-right from-left-to-right",
    "up": "up upward upwards rising rises rise ascending ascends climbing lifting-off taking-off take-off takes-off launching launches launch soaring floating-up flying-up",
    "down": "down downward downwards descending descends sinking sinks landing lands falling falls setting",
    "near": "approaching toward towards toward-us towards-us coming-closer",
    "away": "away departing receding into-the-distance",
    "stay": "standing sitting sits stands parked sleeping sleeps resting waiting still anchored lying stationary",
}

_SIDE_WORDS: Mapping[str, str] = {
    "left": "on-the-left at-the-left on-the-left-side",
    "right": "on-the-right at-the-right on-the-right-side",
    "middle": "in-the-middle in-the-centre in-the-center centered centred",
}

_DEED_WORDS: Mapping[str, str] = {
    "fly": "flying flies fly floating floats hovering soaring gliding glides",
    "jump": "jumping jumps jump leaping leaps bouncing bounces hopping hops",
    "rest": "standing sitting sits stands parked sleeping sleeps resting anchored lying",
    "swim": "swimming swims swim diving dives",
    "dance": "dancing dances dance waving swaying",
    "spin": "spinning spins rotating turning twirling",
    "walk": "walking walks walk running runs run strolling driving drives riding sailing sails crossing crosses passing galloping racing",
}

_COUNT_WORDS: Mapping[str, str] = {
    "1": "a an one single lone lonely 一 一只",
    "2": "two pair couple both pair-of couple-of 二 两 两只",
    "3": "three trio few a-few 三 三只",
    "4": "four 四", "5": "five several 五", "6": "six", "7": "seven group flock herd fleet bunch school cluster many lots lots-of",
    "8": "eight", "9": "nine", "10": "ten", "11": "eleven", "12": "twelve dozen a-dozen swarm",
    "16": "hundreds countless hundred a-hundred crowd",
}  # fmt: skip

_SIZE_WORDS: Mapping[str, str] = {
    "0.45": "tiny miniature little-tiny minuscule",
    "0.65": "small little baby young",
    "1.35": "big large tall great",
    "1.8": "giant huge enormous gigantic massive colossal",
}

COLOURS: Mapping[str, tuple[int, int, int]] = {
    "red": (206, 52, 48), "crimson": (170, 24, 52), "scarlet": (220, 48, 32), "orange": (238, 132, 40),
    "yellow": (248, 206, 62), "gold": (226, 176, 58), "green": (72, 152, 82), "lime": (148, 204, 70),
    "olive": (120, 124, 60), "teal": (36, 138, 138), "turquoise": (64, 190, 184), "cyan": (82, 200, 222),
    "blue": (48, 104, 200), "navy": (32, 48, 104), "indigo": (70, 60, 152), "purple": (126, 70, 168),
    "violet": (146, 92, 196), "lilac": (188, 158, 216), "pink": (240, 142, 172), "magenta": (212, 60, 146),
    "brown": (124, 82, 54), "beige": (222, 202, 168), "white": (244, 242, 236), "black": (44, 44, 50),
    "grey": (138, 142, 148), "silver": (186, 192, 198), "cream": (246, 234, 206), "copper": (184, 112, 70),
}  # fmt: skip

_COLOUR_WORDS: Mapping[str, str] = {
    "grey": "gray 灰", "red": "红 红色 rouge rot", "blue": "蓝 蓝色", "green": "绿 绿色", "yellow": "黄 黄色",
    "white": "白 白色", "black": "黑 黑色", "purple": "mauve 紫", "pink": "rose-coloured 粉", "orange": "橙",
}  # fmt: skip

_NOT_WORDS = "no not without none never"


def _table() -> dict[str, tuple[Meaning, ...]]:
    found: dict[str, list[Meaning]] = {}
    for about, rows in (
        ("actor", ACTORS), ("place", _PLACE_WORDS), ("time", _TIME_WORDS), ("weather", _WEATHER_WORDS),
        ("season", _SEASON_WORDS), ("grade", _GRADE_WORDS), ("camera", _CAMERA_WORDS), ("pace", _PACE_WORDS),
        ("heading", _HEADING_WORDS), ("side", _SIDE_WORDS), ("deed", _DEED_WORDS), ("count", _COUNT_WORDS),
        ("size", _SIZE_WORDS), ("colour", {name: name for name in COLOURS}), ("colour", _COLOUR_WORDS),
        ("not", {"not": _NOT_WORDS}),
    ):  # fmt: skip
        for says, phrases in rows.items():
            for phrase in phrases.split():
                # Split like a prompt: at hyphens, and at every character of a script without spaces.
                found.setdefault(" ".join(spoken(phrase)), []).append(Meaning(about, says))
    return {phrase: tuple(meanings) for phrase, meanings in found.items()}


PHRASES: Mapping[str, tuple[Meaning, ...]] = _table()
"""Every known phrase in the singular, and all its meanings."""

LONGEST_PHRASE = max(len(phrase.split()) for phrase in PHRASES)
