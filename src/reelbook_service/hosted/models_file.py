"""The file `models.toml`: which engine answers for each model, and the services that have them."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from reelbook.errors import ReelbookError
from reelbook.models.catalog import CATALOG
from reelbook.relay import Key

from ..weights.config import (
    MODELS,
    SHARED,
    BadWeights,
    ConfigTable,
    DeviceUse,
    LtxWeights,
    WanWeights,
    read_table,
    read_weights,
)
from .key_reference import FORMS, read_key

LOCAL, HOSTED, DIFFUSERS = "local", "hosted", "diffusers"
ENGINES = (LOCAL, HOSTED, DIFFUSERS)
AT_ONCE, MAX_AT_ONCE = 8, 256
"""How many runs a service elsewhere works on at once, and the most that may be set."""
MAX_FILE_BYTES = 1_000_000

_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


class BadModelsFile(ReelbookError, ValueError):
    """A `models.toml` that cannot be used; its text never quotes a key."""


@dataclass(frozen=True, slots=True)
class HostedService:
    """A service elsewhere, with the key that pays for its runs."""

    name: str
    address: str = field(repr=False)
    key: Key
    at_once: int = AT_ONCE
    charges_failures: bool = True
    """Whether a run that failed or was cancelled counts with its price, where the service reports no charge."""
    trust_prices: bool = False
    """Whether a price that the service reports counts even where it is below the one in the catalog."""

    @property
    def host(self) -> str:
        """Its host and port, for whoever runs the gateway."""
        return urlsplit(self.address).netloc


@dataclass(frozen=True, slots=True)
class ModelsFile:
    """The content of a `models.toml`."""

    path: Path
    services: Mapping[str, HostedService]
    hosted: Mapping[str, str]
    """The name of the service of each model that a service elsewhere answers."""
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
    tables = _read_toml(path)
    _check_names(f"{path}", tables, ("services", "models", *SHARED))
    shared = {name: _read_shared(path, name, tables.get(name, {})) for name in SHARED}
    services = {name: _read_service(path, name, table) for name, table in _tables(path, tables, "services").items()}
    rows = {
        pattern: _read_row(path, pattern, table, services, shared)
        for pattern, table in _tables(path, tables, "models").items()
    }
    if not rows:
        raise BadModelsFile(
            f'{path} names no model. Write a table such as [models."*"] with engine = "hosted" and service = "NAME" in it.'
        )
    chosen = {row.id: _choose(row.id, rows) for row in CATALOG}
    hosted = {model: name for model, name in chosen.items() if isinstance(name, str)}
    weights = {model: row for model, row in chosen.items() if isinstance(row, (LtxWeights, WanWeights))}
    _check_devices(path, [row.devices for row in weights.values()])
    devices = shared["devices"]
    assert isinstance(devices, DeviceUse)
    return ModelsFile(path, services, hosted, weights, devices)


def _read_shared(path: Path, name: str, table: Any) -> ConfigTable:
    if not isinstance(table, dict):
        raise BadModelsFile(f"{path}: [{name}] is a table.")
    try:
        return read_table(SHARED[name], table, path.parent)
    except BadWeights as error:
        raise BadModelsFile(f"{path}, [{name}]: {error}") from None


def _check_devices(path: Path, used: Collection[tuple[str, ...]]) -> None:
    """Refuse models that share a device but not all of them: they could not share a waiting line."""
    if any(one != other and set(one) & set(other) for one in used for other in used):
        raise BadModelsFile(f"{path}: models that share a device name the same devices in the same order.")


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


def _tables(path: Path, tables: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = tables.get(name, {})
    if not isinstance(found, dict) or not all(isinstance(table, dict) for table in found.values()):
        raise BadModelsFile(f'{path}: [{name}] holds tables, such as [{name}."NAME"], and nothing else.')
    return found


def _read_service(path: Path, name: str, table: Mapping[str, Any]) -> HostedService:
    where = f"{path}, [services.{name[:40]}]"
    if not _NAME.fullmatch(name):
        raise BadModelsFile(f"{path}: a service is named with letters, digits, - and _, and not {name[:60]!r}.")
    _check_names(where, table, ("address", "key", "at_once", "charges_failures", "trust_prices"))
    at_once = table.get("at_once", AT_ONCE)
    if isinstance(at_once, bool) or not isinstance(at_once, int) or not 1 <= at_once <= MAX_AT_ONCE:
        raise BadModelsFile(f"{where}: at_once is a whole number from 1 to {MAX_AT_ONCE}.")
    switches = {"charges_failures": True, "trust_prices": False}
    switches |= {name: table[name] for name in switches if name in table}
    if bad := next((name for name, value in switches.items() if not isinstance(value, bool)), None):
        raise BadModelsFile(f"{where}: {bad} is true or false.")
    if "key" not in table:
        raise BadModelsFile(f"{where}: key is required, as a reference to where it is: {FORMS}.")
    address = _check_address(where, table.get("address"))
    try:
        return HostedService(name, address, read_key(table["key"], path.parent), at_once, **switches)
    except ReelbookError as error:
        raise BadModelsFile(f"{where}: key: {error}") from None


def _check_address(where: str, address: Any) -> str:
    # Not quoted: an address with a password in it is the likeliest one to be refused.
    try:
        parts = urlsplit(address) if isinstance(address, str) else None
        is_good = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, is_good = None, False
    if parts is None or not is_good:
        raise BadModelsFile(f'{where}: address is required: "https://host/…", as the service names it.')
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BadModelsFile(
            f"{where}: the address has a user name, a password or a query in it. Leave those out; the key has a line of its own."
        )
    return str(address).rstrip("/")


def _read_row(
    path: Path,
    pattern: str,
    table: Mapping[str, Any],
    services: Mapping[str, HostedService],
    shared: Mapping[str, ConfigTable],
) -> str | LtxWeights | WanWeights | None:
    """The service or the weights of the models with this name or pattern; None for the local engine."""
    where, ids = f'{path}, [models."{pattern[:80]}"]', [row.id for row in CATALOG]
    if not any(fnmatchcase(model, pattern) for model in ids):
        raise BadModelsFile(f"{where}: there is no such model. {_suggest(pattern, ids)}")
    engine = table.get("engine")
    if engine == DIFFUSERS:
        if pattern not in MODELS:
            raise BadModelsFile(f"{where}: weights run only {' and '.join(MODELS)}, each by its full name.")
        try:
            return read_weights(pattern, table, shared, path.parent)
        except BadWeights as error:
            raise BadModelsFile(f"{where}: {error}") from None
    if engine not in ENGINES:
        raise BadModelsFile(f"{where}: engine is {' or '.join(map(repr, ENGINES))}, and is required.")
    _check_names(where, table, ("engine", "service") if engine == HOSTED else ("engine",))
    if engine == LOCAL:
        return None
    name = table.get("service", next(iter(services)) if len(services) == 1 else None)
    if name not in services:
        known = ", ".join(services) or "none yet: write [services.NAME] with address and key"
        raise BadModelsFile(f"{where}: service is the name of one of the services of this file ({known}).")
    return str(name)


def _choose(
    model: str, rows: Mapping[str, str | LtxWeights | WanWeights | None]
) -> str | LtxWeights | WanWeights | None:
    """The service or the weights of a model: of all names that match it, the one with the most letters of its own counts."""
    matching = [pattern for pattern in rows if fnmatchcase(model, pattern)]
    if not matching:
        return None
    return rows[max(matching, key=lambda pattern: (pattern == model, len(re.sub(r"[*?]|\[.*?\]", "", pattern))))]


def _check_names(where: str, table: Mapping[str, Any], known: Collection[str]) -> None:
    unknown = next((name for name in table if name not in known), None)
    if unknown is not None:
        raise BadModelsFile(f"{where}: there is no setting {unknown[:60]!r}. {_suggest(unknown, known)}")


def _suggest(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name[:100], list(known), n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(known)}."
