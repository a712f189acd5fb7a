"""Facts that a special control draws with: canvases and common formats, frame sizes, the field with the frame rate."""

from __future__ import annotations

from typing import Any

from ....models.base import Input
from ....models.common_sizes import FORMATS
from ....models.smart_resize import MAX_SIDE, MIN_SIDE, PRESETS, TIERS, SmartResize
from ....models.text_to_video import FRAME_SIZES, TextToVideo

FRAME_RATES = ("frame_rate", "fps", "frames_per_second")
"""What models call the number of frames shown each second, the spec's own word first."""


def control_facts(kind: type[Input], name: str, special: str) -> dict[str, Any]:
    """What the control of this field must know beyond its node, as plain JSON; empty where nothing is known.

    >>> control_facts(TextToVideo, "num_frames", "frames")
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
        "sides": [MIN_SIDE, MAX_SIDE],
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
