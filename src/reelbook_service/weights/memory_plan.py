"""How much memory a model's weights take on a card, and the setting with which they fit."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from .weights_row import TextEncoderPlace, WeightsRow

GIB = 2**30
CONTEXT_GIB = 1.5
"""What CUDA takes for itself and its workspaces."""
MARGIN = 1.1
"""The peaks below were computed, not measured on a card."""
DEFAULT_CLIP, LARGEST_CLIP = 121, 1441
SIZE = (1280, 720)

_LTX_13B = {"transformer": 24.3, "text_encoder": 8.9, "vae": 2.3, "upsampler": 0.24}
_LTX_2B = {**_LTX_13B, "transformer": 3.6}
_WAN_5B = {"transformer": 9.3, "text_encoder": 10.6, "vae": 2.6}
_LTX_PEAK = ((6_240, 0.8), (15_360, 1.9), (24_960, 3.1), (51_480, 6.3))
"""GiB above the weights for a number of tokens in one window."""
_DECODER_PEAK = ((8, 1.9), (16, 4.0))
"""The same for latent frames that are decoded together, in tiles."""
_UPSAMPLER_PEAK = ((121, 0.1), (1_441, 1.1))
"""The same for the frames of the whole clip."""
_WAN_PEAK, _WAN_TOKENS = 5.1, 40 * 22 * 31


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """The memory of one model's weights and of a clip made with them, in GiB."""

    weights: Mapping[str, float]
    """Each part that is on the card, or on the CPU where the row says so."""
    text_encoder: str
    peak: float
    """What a clip takes above the weights, at its most."""

    @property
    def stays(self) -> float:
        """The weights that stay on the card."""
        return sum(size for part, size in self.weights.items() if part != "text_encoder" or self.text_encoder == "stay")

    @property
    def card(self) -> float:
        """The most that is on the card at once, without CUDA's own part."""
        encoding = self.weights.get("text_encoder", 0.0) if self.text_encoder == "park" else 0.0
        return self.stays + max(self.peak, encoding)

    @property
    def host(self) -> float:
        """The part of the weights that is in the memory of the machine."""
        return 0.0 if self.text_encoder == "stay" else self.weights.get("text_encoder", 0.0)

    def fits(self, card: float) -> bool:
        """Whether a card of so many GiB has room for it, with a margin."""
        return self.card * MARGIN + CONTEXT_GIB <= card

    def __str__(self) -> str:
        on_card = {part: size for part, size in self.weights.items() if part != "text_encoder" or not self.host}
        parts = " + ".join(f"{part.replace('_', ' ')} {size:.1f}" for part, size in on_card.items())
        place = {"park": ", and while it reads a prompt on the card", "cpu": ""}.get(self.text_encoder, "")
        host = f"; text encoder {self.host:.1f} GiB in the machine's memory{place}" if self.host else ""
        return f"{self.card:.1f} GiB = {parts} + a clip {self.peak:.1f}{host}"


def plan_memory(row: WeightsRow, frames: int = DEFAULT_CLIP, size: tuple[int, int] = SIZE) -> MemoryPlan:
    """The memory of a clip; the sizes of the weights are read from the folder where it is there.

    >>> row = WeightsRow("svc/text-to-video", "ltx", Path("weights/ltx-13b"), upsampler=Path("weights/upsampler"))
    >>> print(plan_memory(row))
    38.8 GiB = transformer 24.3 + text encoder 8.9 + vae 2.3 + upsampler 0.2 + a clip 3.1
    """
    return MemoryPlan(
        _weights(row), row.text_encoder, _wan_peak(size) if row.family == "wan" else _ltx_peak(row, frames, size)
    )


def propose_setting(row: WeightsRow, card: float) -> WeightsRow | None:
    """The first setting with which every clip that may be asked for fits on a card of so many GiB."""
    for candidate in _smaller_settings(row):
        if plan_memory(candidate, LARGEST_CLIP).fits(card):
            return candidate
    return None


def format_setting(row: WeightsRow) -> str:
    """The lines of `models.toml` that say it.

    >>> format_setting(WeightsRow("svc/text-to-video", "ltx", Path("ltx"), storage="float8_e4m3fn", downscale=0.5))
    'storage = "float8_e4m3fn", text_encoder = "stay", downscale = 0.5'
    """
    storage = f'storage = "{row.storage}"' if row.storage else f'dtype = "{row.dtype}"'
    scale = "" if row.family == "wan" else f", downscale = {row.downscale:.4g}"
    return f'{storage}, text_encoder = "{row.text_encoder}"{scale}'


def advise_memory(row: WeightsRow, card: float) -> str:
    """Whether the row fits on a card, as a sentence, and otherwise what to write in `models.toml`."""
    plan, proposed = plan_memory(row, LARGEST_CLIP), propose_setting(row, card)
    needed = f"the longest clip takes {plan.card:.1f} GiB and CUDA about {CONTEXT_GIB:g}; the card has {card:.1f}"
    if proposed == row:
        return f"{needed}: it fits"
    if proposed is None:
        return (
            f"{needed}: no setting makes these weights fit. Take smaller ones, such as LTX-Video 2B, or a larger card"
        )
    there = plan_memory(proposed, LARGEST_CLIP).card
    return f"{needed}: write {format_setting(proposed)} in models.toml, which takes {there:.1f} GiB"


def plan_card(rows: Sequence[WeightsRow], max_loaded: int = 1) -> float:
    """What the models of one card take together in GiB, where so many folders stay loaded."""
    plans = {(row.folder, row.upsampler): plan_memory(row, LARGEST_CLIP) for row in rows}.values()
    most = sorted((plan.stays for plan in plans), reverse=True)[:max_loaded]
    return sum(most) + max((plan.card - plan.stays for plan in plans), default=0.0)


def _smaller_settings(row: WeightsRow) -> Iterator[WeightsRow]:
    """Ever smaller ones, beginning with the row's own; what costs quality or time comes late."""
    yield row
    places: tuple[TextEncoderPlace, ...] = ("stay", "park", "cpu")
    for storage in dict.fromkeys((row.storage, "float8_e4m3fn")):
        for downscale in dict.fromkeys((row.downscale, min(row.downscale, 0.5))):
            yield from (replace(row, storage=storage, text_encoder=place, downscale=downscale) for place in places)


def _weights(row: WeightsRow) -> dict[str, float]:
    family = _WAN_5B if row.family == "wan" else _LTX_2B if _is_small(row) else _LTX_13B
    found = {
        part: _measure(row, row.folder / part) or size * _width(row, part) / 2
        for part, size in family.items()
        if part != "upsampler"
    }
    if row.upsampler is not None:
        inner = row.upsampler / "latent_upsampler"
        found["upsampler"] = _measure(row, inner if inner.is_dir() else row.upsampler) or _LTX_13B["upsampler"]
    return found


def _is_small(row: WeightsRow) -> bool:
    return re.search(r"(?<![0-9])2b(?![a-z0-9])", f"{row.repository} {row.folder.name}", re.IGNORECASE) is not None


def _width(row: WeightsRow, part: str) -> float:
    """Bytes of one number of a part; the table of Wan's VAE is in float32 already."""
    if part == "transformer" and row.storage:
        return 1
    return 2 if row.dtype != "float32" or (row.family, part) == ("wan", "vae") else 4


def _measure(row: WeightsRow, folder: Path) -> float:
    """GiB of a part once it is loaded, by the headers of its files; 0 where there are none."""
    width = 4 if (row.family, folder.name) == ("wan", "vae") else _width(row, folder.name)
    try:
        return sum(_count_numbers(path) for path in folder.glob("*.safetensors")) * width / GIB
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return 0.0  # Damaged, which the check of the folder says better.


def _count_numbers(path: Path) -> int:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > 100_000_000:
            raise ValueError("no safetensors file")
        header = json.loads(file.read(length))
    return sum(math.prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")


def _ltx_peak(row: WeightsRow, frames: int, size: tuple[int, int]) -> float:
    width, height = _largest_pass(row, size)
    tokens = width // 32 * (height // 32) * (-(-(min(frames, row.window_frames) - 1) // 8) + 1)
    at_once = 1 if row.guidance[1] <= 1 else 2
    upsampler = 0.0 if row.upsampler is None else _interpolate(_UPSAMPLER_PEAK, frames)
    return max(_interpolate(_LTX_PEAK, tokens * at_once), _interpolate(_DECODER_PEAK, row.decode_latents), upsampler)


def _largest_pass(row: WeightsRow, size: tuple[int, int]) -> tuple[int, int]:
    whole = tuple(-(-side // 32) * 32 for side in size)
    if row.upsampler is None:
        return whole[0], whole[1]
    if row.downscale <= 0.5:
        return -(-whole[0] // 64) * 64, -(-whole[1] // 64) * 64
    return int(whole[0] * row.downscale) // 32 * 64, int(whole[1] * row.downscale) // 32 * 64


def _wan_peak(size: tuple[int, int]) -> float:
    tokens = math.ceil(size[0] / 32) * math.ceil(size[1] / 32) * 31
    return _WAN_PEAK * tokens / _WAN_TOKENS


def _interpolate(table: Sequence[tuple[int, float]], value: float) -> float:
    """The value between the neighbours of a table, or beyond it along its last two.

    >>> [round(_interpolate(((10, 1.0), (20, 2.0)), value), 2) for value in (5, 15, 40)]
    [0.5, 1.5, 4.0]
    """
    first, second = next((pair for pair in pairwise(table) if value <= pair[1][0]), (table[-2], table[-1]))
    return max(0.0, first[1] + (value - first[0]) * (second[1] - first[1]) / (second[0] - first[0]))
