"""The file `models.toml`: which engine answers for each model, the services that have them, and the lanes of it all."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, ValidationError, ValidationInfo

from reelbook.errors import ReelbookError
from reelbook.models.catalog import CATALOG
from reelbook.models.problems import not_a_choice, problems_of

from ..core import Service
from ..lanes import Lane, LaneTable
from ..weights.config import FAMILIES, MODELS, TEXT_TO_VIDEO, ConfigTable, LoRAFolders, SafetyCheck, WanWeights, Weights
from ..weights.folder import check_usable, weights_identity
from ..workers import DeviceGroup, WorkerLane
from .lane import HostedLane
from .paid_service import HostedService


class BadModelsFile(ReelbookError, ValueError):
    """A `models.toml` that cannot be used; its text never quotes a key."""


def _check_tables(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        name = info.field_name
        raise ReelbookError(f'[{name}] holds tables, such as [{name}."NAME"], and nothing else.')
    return value


class OtherModel(ConfigTable):
    """`[models.NAME]` without weights: run by the service itself, or by a paid service, by its name in this file."""

    engine: Literal["local", "hosted", "diffusers"]
    service: str = ""


Tables = Annotated[Mapping[str, Mapping[str, Any]], BeforeValidator(_check_tables)]
AnyTable = TypeVar("AnyTable", bound=ConfigTable)


class _Content(ConfigTable):
    """The tables of the file, those with names of their own as they stand there."""

    services: Tables = {}
    models: Tables = {}
    loras: LoRAFolders = LoRAFolders()
    safety: SafetyCheck | None = None


@dataclass(frozen=True, slots=True)
class ModelsFile:
    """The content of a `models.toml`."""

    path: Path
    services: Mapping[str, HostedService]
    hosted: Mapping[str, str]
    """The name of the service of each model that a paid service answers."""
    weights: Mapping[str, Weights] = field(default_factory=dict)
    """The weights of each model that runs on devices of this machine; all models in neither are local."""

    def groups(self) -> list[DeviceGroup]:
        """The devices of the weights; models with the same devices share a group."""
        by_devices: dict[tuple[str, ...], list[Weights]] = {}
        for row in self.weights.values():
            by_devices.setdefault(row.devices, []).append(row)
        return [DeviceGroup(devices, tuple(rows)) for devices, rows in by_devices.items()]


def make_lane_table(file: ModelsFile) -> LaneTable:
    """The lane of each model, for the settings of a service; raises `ReelbookError` for weights that cannot be used."""
    try:
        check_usable(file.weights.values())
    except ReelbookError as error:
        raise ReelbookError(f"{file.path}: {error}") from None
    used = [service for name, service in file.services.items() if name in file.hosted.values()]
    groups = file.groups()
    makers: dict[str, Callable[[Service], Lane]] = {service.lane: partial(HostedLane, service) for service in used}
    makers |= {group.lane: partial(WorkerLane, group=group) for group in groups}
    named = sorted(f"{model} {row.family} {weights_identity(row)}" for model, row in file.weights.items())
    return LaneTable(
        by_model={model: file.services[name].lane for model, name in file.hosted.items()}
        | {row.endpoint_id: group.lane for group in groups for row in group.rows},
        makers=makers,
        labels={service.lane: service.label for service in used} | {group.lane: group.label for group in groups},
        sources=(*used, *groups),
        weights_id=hashlib.sha256("\n".join(named).encode()).hexdigest()[:12] if named else "",
        is_secret=lambda text: any(service.key.hide(text) != text for service in used),
    )


def read_models_file(path: str | Path) -> ModelsFile:
    """The content of a `models.toml`, with the keys that it refers to; raises `BadModelsFile`."""
    try:
        return _read(Path(path).expanduser())
    except ReelbookError as error:
        problem = str(error)
    # Outside the handler: a verbose traceback displays the variables of every frame, and those have the file's text.
    raise BadModelsFile(f"{path}: {problem}")


def _read(path: Path) -> ModelsFile:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ReelbookError(
            f"the file could not be read: {error}. Text stands in quotes, in single ones where it has backslashes "
            "(folder = 'C:\\weights'), and a number has a point (0.5)."
        ) from None
    except (OSError, ValueError) as error:
        raise ReelbookError(f"the file could not be read: {getattr(error, 'strerror', None) or error}.") from None
    content = _validate(_Content, tables, path)
    services = {
        name: _validate(HostedService, {**table, "name": name}, path, f"[services.{name[:40]}]: ")
        for name, table in content.services.items()
    }
    rows = {name: _read_model(name, table, content, services, path) for name, table in content.models.items()}
    if not rows:
        raise ReelbookError(
            'it names no model. Write a table such as [models."*"] with engine = "hosted" and service = "NAME" in it.'
        )
    chosen = {row.id: rows.get(row.id, rows.get("*")) for row in CATALOG}  # The more exact name wins.
    hosted = {model: row.service for model, row in chosen.items() if isinstance(row, OtherModel) and row.service}
    weights = {model: row for model, row in chosen.items() if row is not None and not isinstance(row, OtherModel)}
    used = [row.devices for row in weights.values()]
    if any(devices != others and set(devices) & set(others) for devices in used for others in used):
        # They could not share a waiting line.
        raise ReelbookError("models that share a device name the same devices in the same order.")
    return ModelsFile(path, services, hosted, weights)


def _validate(kind: type[AnyTable], values: Mapping[str, Any], path: Path, where: str = "") -> AnyTable:
    """A table as its model; raises an error with all of its problems. Relative paths begin at the folder of the file."""
    try:
        return kind.model_validate(values, context={"folder": path.parent})
    except ValidationError as error:
        problem = " ".join(problem.message for problem in problems_of(kind, error))
    except ReelbookError as error:  # Of an address or a key, whose sentence does not quote it.
        problem = str(error)
    raise ReelbookError(where + problem)


def _read_model(
    name: str, table: Mapping[str, Any], content: _Content, services: Mapping[str, HostedService], path: Path
) -> OtherModel | Weights:
    """The engine of the model with this name, or of all others with `*`, with what the file says for all weights."""
    where, ids = f'[models."{name[:80]}"]: ', ["*", *(row.id for row in CATALOG)]
    if name not in ids:
        raise ReelbookError(where + not_a_choice(("name",), "", name, ids).message)
    if table.get("engine") == "diffusers":
        if name not in MODELS:
            raise ReelbookError(f"{where}weights run only {' and '.join(MODELS)}, each by its full name.")
        family = FAMILIES.get(str(table.get("family")))
        if family is None:
            raise ReelbookError(f"{where}`family` is 'ltx', or 'wan' for image to video only, in small letters.")
        if family is WanWeights and name == TEXT_TO_VIDEO:
            raise ReelbookError(f"{where}the family wan is for image to video only; text to video runs on ltx.")
        shared: dict[str, Any] = {
            key: getattr(content, key) for key in ("loras", "safety") if key in family.model_fields
        }
        return _validate(family, {**shared, **table, "endpoint_id": name}, path, where)
    if table.get("engine") not in ("local", "hosted"):
        table = {key: value for key, value in table.items() if key == "engine"}  # It decides what else can be said.
    model = _validate(OtherModel, table, path, where)
    if model.engine == "hosted" and not model.service and len(services) == 1:
        model = model.changed(service=next(iter(services)))
    if model.service not in (services if model.engine == "hosted" else ("",)):
        names = ", ".join(services) or "none yet: write [services.NAME] with address and key"
        raise ReelbookError(
            f'{where}with engine = "hosted", `service` names one of the services in this file ({names}); with any other, '
            "leave it out."
        )
    return model
