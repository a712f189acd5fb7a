"""The lanes that a `models.toml` asks for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial

from reelbook.errors import ReelbookError

from ..core import Service
from ..devices import DeviceGroup, group_rows, make_device_lane
from ..lanes import DEVICES, Lane, LaneTable
from ..weights.config import BadWeights
from ..weights.folder import check_usable, weights_identity
from .lane import HostedLane, lane_name
from .models_file import ModelsFile


def make_lane_table(file: ModelsFile) -> LaneTable:
    """The lane of each model, for the settings of a service; raises `ReelbookError` for weights that cannot be used."""
    try:
        check_usable(file.weights.values())
    except BadWeights as error:
        raise ReelbookError(f"{file.path}: {error}") from None
    used = {name: service for name, service in file.services.items() if name in file.hosted.values()}
    keys = [service.key for service in used.values()]
    groups = group_rows(tuple(file.weights.values()), file.devices.max_loaded, file.devices.keep_warm_s)
    by_model = {model: lane_name(name) for model, name in file.hosted.items()}
    by_model |= {row.endpoint_id: group.lane for group in groups for row in group.rows}
    makers: dict[str, Callable[[Service], Lane]] = {}
    makers |= {lane_name(name): partial(HostedLane, service) for name, service in used.items()}
    makers |= {group.lane: partial(make_device_lane, group) for group in groups}
    labels = {lane_name(name): f"hosted ({name})" for name in used}
    return LaneTable(
        by_model=by_model,
        makers=makers,
        labels=labels | {group.lane: _label(group) for group in groups},
        sources=(*used.values(), *groups),
        weights_id=_weights_id(file),
        is_secret=lambda text: any(key.is_in(text.encode("utf-8", "surrogateescape")) for key in keys),
    )


def _weights_id(file: ModelsFile) -> str:
    """A short name of exactly the weights of a file; empty without any."""
    named = sorted(f"{model} {row.family} {weights_identity(row)}" for model, row in file.weights.items())
    return hashlib.sha256("\n".join(named).encode()).hexdigest()[:12] if named else ""


def _label(group: DeviceGroup) -> str:
    # Whoever reaches a scheduler can run programs on its machines, so that its address is for the owner alone.
    return f"{DEVICES}dask" if group.is_cluster else group.lane
