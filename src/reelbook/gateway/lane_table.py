"""The lanes that a `models.toml` asks for."""

from __future__ import annotations

from ..service.lanes import LaneTable
from .hosted_lane import lane_name, make_lane
from .models_file import ModelsFile


def make_lane_table(file: ModelsFile) -> LaneTable:
    """The lane of each model, for the settings of a service."""
    used = {name: service for name, service in file.services.items() if name in file.hosted.values()}
    keys = [service.key for service in used.values()]
    return LaneTable(
        by_model={model: lane_name(name) for model, name in file.hosted.items()},
        makers={lane_name(name): make_lane(service) for name, service in used.items()},
        labels={lane_name(name): f"hosted ({name})" for name in used},
        sources=tuple(used.values()),
        is_secret=lambda text: any(key.is_in(text.encode("utf-8", "surrogateescape")) for key in keys),
    )
