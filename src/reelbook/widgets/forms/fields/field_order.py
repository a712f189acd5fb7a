"""The order of a form's fields, which are folded, and which have special controls: one small table per model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The layout of the fields of one model."""

    first: tuple[str, ...] = ()
    """Fields in the order of filling them in; the rest follow as the model lists them."""
    folded: tuple[str, ...] = ()
    """Fields that are rarely changed."""
    special: Mapping[str, str] = field(default_factory=dict)
    """Special controls by field."""


ARRANGEMENTS: Mapping[str, Arrangement] = {
    "svc/text-to-video-13b-distilled": Arrangement(
        first=("prompt", "aspect_ratio", "resolution", "num_frames", "frame_rate", "seed", "enable_detail_pass"),
        folded=(
            "negative_prompt", "loras", "first_pass_num_inference_steps", "second_pass_num_inference_steps",
            "second_pass_skip_initial_steps", "expand_prompt", "reverse_video", "enable_safety_checker",
            "temporal_adain_factor", "tone_map_compression_ratio",
        ),
        special={"aspect_ratio": "aspect", "num_frames": "frames", "loras": "loras"},
    ),
    "svc/video-gen/v2.1/master/image-to-video": Arrangement(
        first=("image_url", "prompt", "duration"),
        folded=("cfg_scale", "negative_prompt"),
        special={"duration": "duration"},
    ),
    "svc/smart-resize": Arrangement(
        first=("image_url", "target_sizes", "prompt"),
        folded=("output_format", "safety_tolerance", "seed", "sync_mode", "num_images_per_size"),
        special={"target_sizes": "sizes"},
    ),
    "svc/frames-api/images-to-video": Arrangement(first=("images", "fps"), special={"images": "timeline"}),
}  # fmt: skip

MAX_OPEN = 8
"""Fields not folded of a model without an arrangement, required ones included."""


def find_arrangement(endpoint_id: str, nodes: Iterable[Mapping[str, Any]]) -> Arrangement:
    """The layout of a model: from the table, else its required fields first, and most others folded."""
    known = ARRANGEMENTS.get(endpoint_id)
    if known is not None:
        return known
    listed = list(nodes)
    needed = [node["name"] for node in listed if node.get("required")]
    others = [node["name"] for node in listed if not node.get("required")]
    room = max(MAX_OPEN - len(needed), 3)
    folded = others[room:] if len(others) > room + 1 else []
    return Arrangement(first=tuple(needed), folded=tuple(folded))


def find_special(arranged: Arrangement, node: Mapping[str, Any]) -> str | None:
    """The special control of a field, from the table or from its name and kind; None if it has none."""
    name, kind = str(node["name"]), node["kind"]
    if name in arranged.special:
        return arranged.special[name]
    if kind == "whole" and name == "seed":
        return "seed"
    if kind == "text" and re.fullmatch(r"prompt|text_prompt", name):
        return "prompt"
    if kind == "choice" and name == "aspect_ratio" and all(_is_shape(choice["value"]) for choice in node["choices"]):
        return "aspect"
    item = node.get("item") or {}
    return "sizes" if kind == "list" and item.get("special") == "size" else None


def _is_shape(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[1-9]\d{0,3}:[1-9]\d{0,3}", value) is not None
