"""The file `models.toml`: which engine answers for each model, and the services that have them."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, StrictBool, StrictInt, ValidationError, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

from reelbook.errors import ReelbookError
from reelbook.models.catalog import CATALOG
from reelbook.models.problems import problems_of
from reelbook.relay import Key

from ..weights.config import (
    MODELS,
    ConfigTable,
    DeviceUse,
    LoRAFolders,
    LtxWeights,
    SafetyCheck,
    WanWeights,
)
from .key_reference import FORMS, read_key

MAX_FILE_BYTES = 1_000_000

_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


class BadModelsFile(ReelbookError, ValueError):
    """A `models.toml` that cannot be used; its text never quotes a key."""


def _refuse(sentence: str) -> PydanticCustomError:
    """An error whose sentence does not quote the value, which may be a key."""
    return PydanticCustomError("unusable", "{sentence}", {"sentence": sentence})


def _check_tables(value: Any, info: ValidationInfo) -> Any:
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        name = info.field_name
        raise _refuse(f'[{name}] holds tables, such as [{name}."NAME"], and nothing else.')
    return value


def _check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise _refuse(f"A service is named with letters, digits, - and _, and not {name[:60]!r}.")
    return name


def _check_address(address: Any) -> str:
    try:
        parts = urlsplit(address) if isinstance(address, str) else None
        is_good = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, is_good = None, False
    if parts is None or not is_good:
        raise _refuse('address is required: "https://host/…", as the service names it.')
    if parts.username or parts.password or parts.query or parts.fragment:
        raise _refuse(
            "The address has a user name, a password or a query in it. Leave those out; the key has a line of its own."
        )
    return str(address).rstrip("/")


def _find_key(reference: Any, info: ValidationInfo) -> Key:
    if isinstance(reference, Key):
        return reference
    if reference is None:
        raise _refuse(f"key is required, as a reference to where it is: {FORMS}.")
    context: Any = info.context
    try:
        return read_key(reference, context["folder"])
    except ReelbookError as error:
        raise _refuse(f"key: {error}") from None


class HostedService(ConfigTable):
    """`[services.NAME]`: a paid service, with the key that pays for its runs."""

    name: Annotated[str, BeforeValidator(_check_name)]
    address: Annotated[str, BeforeValidator(_check_address)] = Field("", validate_default=True, repr=False)
    key: Annotated[Key, BeforeValidator(_find_key), WithJsonSchema({"type": "string"})] = Field(
        None, validate_default=True
    )
    at_once: StrictInt = Field(8, ge=1, le=256)
    """How many runs it works on at once."""
    charges_failures: StrictBool = True
    """Whether a run that failed or was cancelled counts with its price, where the service reports no charge."""

    @property
    def host(self) -> str:
        """Its host and port, for whoever runs the gateway."""
        return urlsplit(self.address).netloc


class LocalModel(ConfigTable):
    """`[models.NAME]` with the engine `local`: the one that comes with the service."""

    engine: Literal["local"]


class HostedModel(ConfigTable):
    """`[models.NAME]` with the engine `hosted`: a paid service, by its name in this file."""

    engine: Literal["hosted"]
    service: str = ""


AnyModel = LocalModel | HostedModel | LtxWeights | WanWeights
ENGINES: Mapping[str, type[LocalModel | HostedModel]] = {"local": LocalModel, "hosted": HostedModel}
FAMILIES: Mapping[str, type[LtxWeights | WanWeights]] = {"ltx": LtxWeights, "wan": WanWeights}
Tables = Annotated[Mapping[str, Mapping[str, Any]], BeforeValidator(_check_tables)]
AnyTable = TypeVar("AnyTable", bound=ConfigTable)


class _Content(ConfigTable):
    """The tables of the file, those with names of their own as they stand there."""

    services: Tables = {}
    models: Tables = {}
    loras: LoRAFolders = LoRAFolders()
    safety: SafetyCheck | None = None
    devices: DeviceUse = DeviceUse()


@dataclass(frozen=True, slots=True)
class ModelsFile:
    """The content of a `models.toml`."""

    path: Path
    services: Mapping[str, HostedService]
    hosted: Mapping[str, str]
    """The name of the service of each model that a paid service answers."""
    weights: Mapping[str, LtxWeights | WanWeights] = field(default_factory=dict)
    """The weights of each model that runs on devices of this machine; all models in neither are local."""
    devices: DeviceUse = field(default_factory=DeviceUse)


def read_models_file(path: str | Path) -> ModelsFile:
    """The content of a `models.toml`, with the keys that it refers to; raises `BadModelsFile`."""
    problem = ""
    try:
        return _read(Path(path).expanduser())
    except ReelbookError as error:
        problem = str(error)
    # Outside the handler: a verbose traceback displays the variables of every frame, and those have the file's text.
    raise BadModelsFile(problem)


def _read(path: Path) -> ModelsFile:
    content = _validate(_Content, _read_toml(path), path, "")
    services = {
        name: _validate(HostedService, {**table, "name": name}, path, f", [services.{name[:40]}]")
        for name, table in content.services.items()
    }
    rows = {pattern: _read_model(pattern, table, content, services, path) for pattern, table in content.models.items()}
    if not rows:
        raise BadModelsFile(
            f'{path} names no model. Write a table such as [models."*"] with engine = "hosted" and service = "NAME" in it.'
        )
    chosen = {row.id: _choose(row.id, rows) for row in CATALOG}
    hosted = {model: row.service for model, row in chosen.items() if isinstance(row, HostedModel)}
    weights = {model: row for model, row in chosen.items() if isinstance(row, (LtxWeights, WanWeights))}
    used = [row.devices for row in weights.values()]
    if any(devices != others and set(devices) & set(others) for devices in used for others in used):
        # They could not share a waiting line.
        raise BadModelsFile(f"{path}: models that share a device name the same devices in the same order.")
    return ModelsFile(path, services, hosted, weights, content.devices)


def _read_toml(path: Path) -> dict[str, Any]:
    problem = ""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            problem = "it is too large for such a file"
        else:
            return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        problem = str(error.strerror)
    except (ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "it is not TOML"
    raise BadModelsFile(f"The models in {path} could not be read: {problem}.")


def _validate(kind: type[AnyTable], values: Mapping[str, Any], path: Path, where: str) -> AnyTable:
    """A table as its model; raises `BadModelsFile` with all of its problems. Relative paths begin at the folder of the file."""
    try:
        return kind.model_validate(values, context={"folder": path.parent})
    except ValidationError as error:
        errors = error.errors(include_url=False)
        own = {finding["loc"]: finding["msg"] for finding in errors if finding["type"] == "unusable"}
        sentences = [own.get(problem.loc, problem.message) for problem in problems_of(kind, error)]
        raise BadModelsFile(f"{path}{where}: {' '.join(sentences)}") from None


def _read_model(
    pattern: str,
    table: Mapping[str, Any],
    content: _Content,
    services: Mapping[str, HostedService],
    path: Path,
) -> AnyModel:
    """The engine of the models with this name or pattern."""
    where, ids = f', [models."{pattern[:80]}"]', [row.id for row in CATALOG]
    if not any(fnmatchcase(model, pattern) for model in ids):
        close = difflib.get_close_matches(pattern[:100], ids, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(ids)}."
        raise BadModelsFile(f"{path}{where}: there is no such model. {hint}")
    if table.get("engine") == "diffusers":
        return _read_weights(pattern, table, content, path, where)
    kind = ENGINES.get(str(table.get("engine")))
    if kind is None:
        raise BadModelsFile(f"{path}{where}: engine is 'local', 'hosted' or 'diffusers', and is required.")
    model = _validate(kind, table, path, where)
    if not isinstance(model, HostedModel):
        return model
    name = model.service or (next(iter(services)) if len(services) == 1 else "")
    if name not in services:
        known = ", ".join(services) or "none yet: write [services.NAME] with address and key"
        raise BadModelsFile(f"{path}{where}: service is the name of one of the services of this file ({known}).")
    return model.changed(service=name)


def _read_weights(
    model: str, table: Mapping[str, Any], content: _Content, path: Path, where: str
) -> LtxWeights | WanWeights:
    """The weights that a model's table describes, with what the file says for all of them."""
    if model not in MODELS:
        raise BadModelsFile(f"{path}{where}: weights run only {' and '.join(MODELS)}, each by its full name.")
    kind = FAMILIES.get(str(table.get("family")))
    if kind is None:
        raise BadModelsFile(f"{path}{where}: `family` is required: {' or '.join(map(repr, FAMILIES))}.")
    shared: dict[str, Any] = {name: getattr(content, name) for name in ("loras", "safety") if name in kind.model_fields}
    return _validate(kind, {**shared, **table, "endpoint_id": model}, path, where)


def _choose(model: str, rows: Mapping[str, AnyModel]) -> AnyModel | None:
    """The engine of a model: of all names that match it, the one with the most letters of its own counts."""
    matching = [pattern for pattern in rows if fnmatchcase(model, pattern)]
    if not matching:
        return None
    return rows[max(matching, key=lambda pattern: (pattern == model, len(re.sub(r"[*?]|\[.*?\]", "", pattern))))]
