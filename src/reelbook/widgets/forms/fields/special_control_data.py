"""Data of special controls: canvases and common formats, frame sizes, the field with the frame rate."""

from __future__ import annotations

from typing import Any

from ....models.base import Input
from ....models.common_sizes import FORMATS
from ....models.smart_resize import MAX_SIDE, MIN_SIDE, PRESETS, TIERS, SmartResize
from ....models.text_to_video import FRAME_SIZES, TextToVideo

FRAME_RATES = ("frame_rate", "fps", "frames_per_second")
"""Names of the field with the frame rate, that of the specification first."""


def get_control_data(kind: type[Input], name: str, special: str) -> dict[str, Any]:
    """The data that the control of a field needs beyond its node, as plain JSON; empty if there is none.

    >>> get_control_data(TextToVideo, "num_frames", "frames")
    {'rate': 'frame_rate'}
    """
    match special:
        case "sizes":
            return _sizes_data(kind)
        case "aspect":
            return _aspect_data(kind)
        case "frames":
            return _frames_data(kind, name)
        case _:
            return {}


def _sizes_data(kind: type[Input]) -> dict[str, Any]:
    formats = [[group, [list(named) for named in sizes.items()]] for group, sizes in FORMATS.items()]
    if not issubclass(kind, SmartResize):
        # Another model may take sizes too, and compose them in an unknown way.
        return {"formats": formats}
    return {
        "formats": formats,
        "presets": [[preset.aspect_ratio, preset.resolution, preset.width, preset.height] for preset in PRESETS],
        "tiers": list(TIERS),
        "tier": "resolution",
        "sides": [MIN_SIDE, MAX_SIDE],
    }


def _aspect_data(kind: type[Input]) -> dict[str, Any]:
    if not issubclass(kind, TextToVideo):
        return {}
    sizes: dict[str, dict[str, list[int]]] = {}
    for (resolution, aspect), size in FRAME_SIZES.items():
        sizes.setdefault(resolution, {})[aspect] = list(size)
    return {"by": "resolution", "sizes": sizes}


def _frames_data(kind: type[Input], name: str) -> dict[str, Any]:
    rate = next((rate for rate in FRAME_RATES if rate in kind.model_fields and rate != name), None)
    return {"rate": rate} if rate else {}
