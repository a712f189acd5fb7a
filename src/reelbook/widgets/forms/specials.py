"""Facts that a special control draws with: canvases and common formats, frame sizes, the field with the frame rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...models.base import Input
from ...models.smart_resize import LEAST_SIDE, MOST_SIDE, PRESETS, TIERS, SmartResize
from ...models.text_to_video import FRAME_SIZES, TextToVideo

FORMATS: Mapping[str, Mapping[str, str]] = {
    "Posts": {
        "Square": "1080x1080",
        "Portrait 4:5": "1080x1350",
        "Story": "1080x1920",
        "Landscape post": "1080x566",
        "Link preview": "1200x630",
        "Pin": "1000x1500",
        "Video cover": "1280x720",
        "Page header": "1500x500",
    },
    "Screens": {
        "HD": "1280x720",
        "Full HD": "1920x1080",
        "Full HD, upright": "1080x1920",
        "Quad HD": "2560x1440",
        "Ultra HD (4K)": "3840x2160",
        "Ultrawide": "3440x1440",
        "Tablet": "2048x1536",
        "Phone": "1170x2532",
    },
    "Banners": {
        "Medium rectangle": "300x250",
        "Large rectangle": "336x280",
        "Half page": "300x600",
        "Skyscraper": "160x600",
        "Leaderboard": "728x90",
        "Billboard": "970x250",
        "Mobile banner": "320x50",
        "Large mobile banner": "320x100",
    },
    "Print": {
        "A4 at 150 dpi": "1240x1754",
        "A4 at 150 dpi, landscape": "1754x1240",
        "A4 at 300 dpi": "2480x3508",
        "A5 at 150 dpi": "874x1240",
        "Postcard (A6) at 300 dpi": "1240x1748",
        "Letter at 150 dpi": "1275x1650",
        "Photo 10 × 15 cm at 300 dpi": "1181x1772",
        "Photo 13 × 18 cm at 300 dpi": "1535x2126",
    },
    "Small": {
        "Thumbnail": "320x180",
        "Avatar": "400x400",
        "App icon": "512x512",
        "Favicon": "64x64",
    },
}
"""Sizes that are often wanted, by what one calls them."""

FRAME_RATES = ("frame_rate", "fps", "frames_per_second")
"""What models call the number of frames shown each second, the spec's own word first."""


def beside(kind: type[Input], name: str, special: str) -> dict[str, Any]:
    """What the control of this field must know beyond its node, as plain JSON; empty where nothing is known.

    >>> beside(TextToVideo, "num_frames", "frames")
    {'rate': 'frame_rate'}
    """
    match special:
        case "sizes":
            return _sizes(kind)
        case "aspect":
            return _aspect(kind)
        case "frames":
            return _frames(kind, name)
        case _:
            return {}


def _sizes(kind: type[Input]) -> dict[str, Any]:
    formats = [[group, [list(named) for named in sizes.items()]] for group, sizes in FORMATS.items()]
    if not issubclass(kind, SmartResize):
        # Another model may take sizes too, and compose them in a way that nobody here knows.
        return {"formats": formats}
    return {
        "formats": formats,
        "presets": [[preset.aspect_ratio, preset.resolution, preset.width, preset.height] for preset in PRESETS],
        "tiers": list(TIERS),
        "tier": "resolution",
        "sides": [LEAST_SIDE, MOST_SIDE],
    }


def _aspect(kind: type[Input]) -> dict[str, Any]:
    if not issubclass(kind, TextToVideo):
        return {}
    sizes: dict[str, dict[str, list[int]]] = {}
    for (resolution, aspect), size in FRAME_SIZES.items():
        sizes.setdefault(resolution, {})[aspect] = list(size)
    return {"by": "resolution", "sizes": sizes}


def _frames(kind: type[Input], name: str) -> dict[str, Any]:
    rate = next((rate for rate in FRAME_RATES if rate in kind.model_fields and rate != name), None)
    return {"rate": rate} if rate else {}
