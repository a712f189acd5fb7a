"""The tables of a `models.toml` that describe weights on devices of this machine."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

from reelbook.errors import ReelbookError

from ..lanes import DASK
from ..weights.weights_folder import check_weights, read_record
from ..weights.weights_row import BadWeights, Family, TextEncoderPlace, WeightsRow

FAMILIES: tuple[str, ...] = get_args(Family)
MODELS = ("svc/text-to-video-13b-distilled", "svc/video-gen/v2.1/master/image-to-video")
PACKAGES = (
    "torch",
    "diffusers",
    "transformers",
    "accelerate",
    "peft",
    "safetensors",
    "sentencepiece",
    "google.protobuf",
)
"""The packages of the extra `weights`, which are looked for and not imported."""
CLUSTER = re.compile(rf"{DASK}(tcp|tls)://[A-Za-z0-9.\-\[\]:]+:\d{{1,5}}(/cpu)?")
DTYPES = ("bfloat16", "float16", "float32")
PATHS = ("folder", "upsampler", "detailer")
KINDS: Mapping[str, type | tuple[type, ...]] = MappingProxyType(
    {
        "family": str, "repository": str, "revision": str, "folder": str, "upsampler": str, "upsampler_repository": str,
        "upsampler_revision": str, "accept_license": str, "device": (str, list), "dtype": str, "storage": str,
        "text_encoder": str, "guidance": list, "steps": int, "downscale": (int, float), "window_frames": int,
        "overlap_frames": int, "decode_latents": int, "detailer": str,
    }
)  # fmt: skip
"""The type of each key of a model with weights."""
CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"family": FAMILIES, "dtype": DTYPES, "storage": ("", "float8_e4m3fn"), "text_encoder": get_args(TextEncoderPlace)}
)
MAX_GUIDANCE = 100
RANGES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "steps": (1, 200),
        "downscale": (0.25, 1),
        "window_frames": (25, 1441),
        "overlap_frames": (17, 240),
        "decode_latents": (4, 200),
    }
)
SHARED: Mapping[str, Mapping[str, type | tuple[type, ...]]] = MappingProxyType(
    {
        "loras": {"folders": list, "most_mib": int},
        "safety": {"folder": str, "label": str, "threshold": (int, float)},
        "expand": {"folder": str},
        "devices": {"max_loaded": int, "keep_warm_s": (int, float)},
    }
)
"""The tables that hold for all models with weights, and the type of each of their keys."""


class BadTable(ReelbookError, ValueError):
    """A table that describes no weights, in the words of its problem alone."""


def read_row(model: str, table: Mapping[str, Any], shared: Mapping[str, Any], folder: Path) -> WeightsRow:
    """The row of a model with weights; relative paths begin at `folder`."""
    if model not in MODELS:
        raise BadTable(f"only generative models run on weights: {' and '.join(MODELS)}.")
    check_kinds(table, KINDS)
    for name in ("family", "folder"):
        if not table.get(name):
            raise BadTable(f"{name} is required{': ' + ' or '.join(FAMILIES) if name == 'family' else ''}.")
    for name, choices in CHOICES.items():
        if name in table and table[name] not in choices:
            raise BadTable(f"{name} is one of {', '.join(repr(choice) for choice in choices)}.")
    for name, (least, most) in RANGES.items():
        if name in table and not least <= table[name] <= most:
            raise BadTable(f"{name} is a number from {least:g} to {most:g}.")
    if table.get("overlap_frames", 24) >= table.get("window_frames", 257):
        raise BadTable("overlap_frames is less than window_frames.")
    if model == MODELS[0] and table["family"] != "ltx":
        raise BadTable("text to video runs on the family ltx.")
    values: dict[str, Any] = {
        name: value for name, value in table.items() if name not in ("engine", "device", "guidance", *PATHS)
    }
    values |= {name: _path(folder, table[name]) for name in PATHS if table.get(name)}
    values |= {"guidance": _guidance(table["guidance"])} if "guidance" in table else {}
    usual = WeightsRow(model, table["family"], Path())
    loras, safety, expand = (shared.get(name, {}) for name in ("loras", "safety", "expand"))
    return WeightsRow(
        model, **values,
        devices=_devices(table.get("device", "cuda:0")),
        lora_folders=tuple(_path(folder, one) for one in loras.get("folders", ())),
        max_lora_mib=loras.get("most_mib", usual.max_lora_mib),
        expand_folder=_path(folder, expand["folder"]) if "folder" in expand else None,
        check_folder=_path(folder, safety["folder"]) if "folder" in safety else None,
        check_label=safety.get("label", usual.check_label),
        check_threshold=safety.get("threshold", usual.check_threshold),
    )  # fmt: skip


def check_kinds(table: Mapping[str, Any], kinds: Mapping[str, type | tuple[type, ...]]) -> None:
    """Raise `BadTable` where a value has the wrong type."""
    for name, kind in kinds.items():
        wanted = kind if isinstance(kind, tuple) else (kind,)
        if name in table and (not isinstance(table[name], wanted) or isinstance(table[name], bool)):
            words = {str: "a text", int: "a whole number", float: "a number", list: "a list"}
            raise BadTable(f"{name} is {' or '.join(words[one] for one in wanted)}.")


def check_shared(name: str, table: Mapping[str, Any]) -> None:
    """Raise `BadTable` unless one of the shared tables can be used; its keys are known."""
    check_kinds(table, SHARED[name])
    if not all(isinstance(one, str) for one in table.get("folders", ())):
        raise BadTable("folders is a list of texts.")
    if not 0 <= table.get("threshold", 0) <= 1:
        raise BadTable("threshold is a number from 0 to 1.")
    if table.get("max_loaded", 1) < 1 or table.get("most_mib", 1) < 1 or not table.get("keep_warm_s", 1) > 0:
        raise BadTable("max_loaded, most_mib and keep_warm_s are greater than 0.")


def check_devices(rows: Mapping[str, WeightsRow]) -> None:
    """Raise `BadTable` where two models share a device but not all of them: they could not share a waiting line."""
    for one in rows.values():
        for other in rows.values():
            if one.devices != other.devices and set(one.devices) & set(other.devices):
                raise BadTable("models that share a device name the same devices in the same order.")


def check_usable(rows: Mapping[str, WeightsRow]) -> None:
    """Raise `BadWeights` unless the extra is installed, the folders are complete and their licences accepted."""
    clusters = [row for row in rows.values() if row.devices[0].startswith(DASK)]
    # The machines of a cluster have torch and its friends; this one needs to reach them only.
    needed = (*(PACKAGES if len(clusters) < len(rows) else ()), *(("distributed",) if clusters else ()))
    if missing := [name for name in needed if not _is_installed(name)]:
        extra = "cluster" if missing[0] == "distributed" else "weights"
        raise BadWeights(
            f"Models with engine = \"diffusers\" need {missing[0]}, which is not installed. Install the extra: pip install 'reelbook[{extra}]'"
        )
    for row in rows.values():
        check_weights(row)
        for folder in (row.folder, row.upsampler):
            word = None if folder is None else read_record(folder).get("license")
            if word and str(word) not in row.accepted_licenses:
                raise BadWeights(
                    f'{row.endpoint_id}: the weights in {folder} came with the licence "{word}". Read it, and if you accept it '
                    f"write its name into accept_license of this model."
                )


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # The package around it is not there.
        return False


def _path(folder: Path, text: str) -> Path:
    return (folder / Path(text).expanduser()).absolute()


def _devices(value: str | list[Any]) -> tuple[str, ...]:
    if isinstance(value, str) and value.startswith(DASK):
        if not CLUSTER.fullmatch(value):
            raise BadTable('device for a Dask cluster is "dask:tcp://HOST:PORT", the address of its scheduler.')
        return (value,)
    devices = (value,) if isinstance(value, str) else tuple(value)
    if not devices or not all(isinstance(one, str) and re.fullmatch(r"cpu|cuda:\d{1,2}", one) for one in devices):
        raise BadTable(
            'device is "cuda:0" or "cpu", or a list of such names with one worker for each, or "dask:tcp://HOST:PORT".'
        )
    if len(set(devices)) < len(devices):
        raise BadTable("device names each device once.")
    return devices


def _guidance(value: list[Any]) -> tuple[float, float]:
    if len(value) != 2 or not all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in value):
        raise BadTable("guidance is a list of two numbers: those at cfg_scale 0 and 1.")
    if not all(0 <= one <= MAX_GUIDANCE for one in value):
        raise BadTable(f"guidance has numbers from 0 to {MAX_GUIDANCE}.")
    return float(value[0]), float(value[1])
