"""The ledger's data about services: names, addresses, and durations of runs.

A service has a set of aliases, its addresses and ids, and one name, which is stored in the rows of its runs. Every
alias must lead to the name, because runs considered unknown are paid for again. If an address and an id belong to two
services, those are merged. Only a lasting id (see `Identification`) proves that an address now serves another service.
"""

from __future__ import annotations

import posixpath
import re
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from ...util.loopback import is_loopback
from .transitions import COLUMNS, UNDERREPORTED, Entry, State, rank, to_storable

ADDRESS_PREFIX, ID_PREFIX, LASTING_PREFIX = "service at ", "service named ", "service keeps its id "
"""Prefixes of the names in the table `meta`; the value is the name of the service."""

MAX_IDS = 32
"""Maximum number of ids stored for a service; one that changes with each response would fill the ledger."""

_PORTS = {"http": ":80", "https": ":443"}

_SWEPT = "has sweeps"

_LOCAL_FILE = re.compile(r'"https?://(localhost|127\.|\[::1\])')


@dataclass(frozen=True, slots=True)
class Identification:
    """The identification of a service: its address, the id it reported, and whether that id is known to last.

    The embedded service stores its id with its data, and another service on the same machine may get its port.
    """

    address: str
    id: str | None = None
    lasts: bool = False


def normalise_address(address: str) -> str:
    """An address in canonical spelling.

    >>> normalise_address("HTTPS://Host.Example:443/api//v1/"), normalise_address("http://localhost:8000")
    ('https://host.example/api/v1', 'http://127.0.0.1:8000')
    """
    try:
        parts = urlsplit(address.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return address
    if not host:
        return address
    host = "127.0.0.1" if is_loopback(address) else f"[{host}]" if ":" in host else host
    at = "" if port is None or f":{port}" == _PORTS.get(parts.scheme) else f":{port}"
    path = posixpath.normpath("/" + parts.path.strip("/"))
    return f"{parts.scheme}://{host}{at}{'' if path == '/' else path}"


def register_service(db: sqlite3.Connection, address: str, id: str | None, *, lasts: bool = False) -> str:
    """Find or create the name of a service by its id, else by its address; new aliases are stored."""
    met = Identification(str(to_storable(normalise_address(address))), to_storable(id), lasts)
    by_address, by_id = _find_by_address(db, met.address, address), _find_by_id(db, met.id)
    if by_address is not None and by_address != by_id and met.id is not None and _is_another(db, met, by_address):
        by_address = None
    name = by_id or by_address or met.id or met.address
    if by_address is not None and not met.lasts:
        changes = met.id is not None and met.id not in _get_ids(db, by_address)
        for forgotten in _find_forgotten(db, met.address, by_address, is_likely=changes):
            if forgotten != name:
                merge_services(db, forgotten, name)
    if by_address is not None and by_address != name:
        merge_services(db, by_address, name)
    _remember(db, ADDRESS_PREFIX + met.address, name)
    if met.id is not None and met.id != name and len(_get_ids(db, name)) < MAX_IDS:
        _remember(db, ID_PREFIX + met.id, name)
    if met.lasts and met.id is not None:
        _remember(db, LASTING_PREFIX + name, name)
    return name


def get_current_name(db: sqlite3.Connection, name: str) -> str:
    """The current name of a service, from any of its names."""
    return _get_value(db, ID_PREFIX + name) or name


def remember_address(db: sqlite3.Connection, place: str, name: str) -> None:
    """Store the address of a service, unless the address is known."""
    place = str(to_storable(place))
    if _get_value(db, ADDRESS_PREFIX + place) is None:
        _remember(db, ADDRESS_PREFIX + place, get_current_name(db, str(to_storable(name))))


def merge_services(db: sqlite3.Connection, other: str, name: str) -> None:
    """Move everything under the name `other` to `name`, because both are the same service."""
    rows = db.execute(f"SELECT {COLUMNS} FROM runs WHERE service = ?", (other,)).fetchall()
    for entry in (Entry(*row) for row in rows):
        twin = db.execute(
            f"SELECT {COLUMNS} FROM runs WHERE service = ? AND identity = ? AND take = ?",
            (name, entry.identity, entry.take),
        ).fetchone()
        if twin is not None:
            # Both may have been charged, so both are kept; the preferred one keeps the take number.
            less_preferred = max(entry, Entry(*twin), key=rank)
            _move_to_new_take(db, less_preferred, (other, name))
        db.execute("UPDATE runs SET service = ? WHERE id = ?", (name, entry.id))
    db.execute("UPDATE OR IGNORE scopes SET service = ? WHERE service = ?", (name, other))
    db.execute("DELETE FROM scopes WHERE service = ?", (other,))
    db.execute(f"UPDATE meta SET value = ? WHERE value = ? AND {_IS_ALIAS}", (name, other))
    db.execute("UPDATE OR REPLACE meta SET name = ? WHERE name = ?", (UNDERREPORTED + name, UNDERREPORTED + other))
    _remember(db, ID_PREFIX + other, name)


def get_aliases(db: sqlite3.Connection) -> dict[str, list[str]]:
    """The aliases of all services in `meta`, by name."""
    found: dict[str, list[str]] = {}
    for alias, name in db.execute(f"SELECT name, value FROM meta WHERE {_IS_ALIAS}"):
        found.setdefault(str(name), []).append(str(alias))
    return found


def import_services(db: sqlite3.Connection, theirs: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Store the aliases of another ledger's services; returns the names in this ledger by those in the other."""
    names: dict[str, str] = {}
    for name, others in theirs.items():
        # A loopback address of another machine has no meaning here.
        known_as = [alias for alias in others if not is_loopback(alias.removeprefix(ADDRESS_PREFIX))]
        places = [to_storable(name)] if "://" in name and not is_loopback(name) else []
        at = [
            _find_by_address(db, alias.removeprefix(ADDRESS_PREFIX))
            for alias in known_as
            if alias.startswith(ADDRESS_PREFIX)
        ]
        with_id = [_find_by_id(db, alias.removeprefix(ID_PREFIX)) for alias in known_as if alias.startswith(ID_PREFIX)]
        ours = [_find_by_id(db, to_storable(name)), *with_id, *at, *(_find_by_address(db, place) for place in places)]
        names[name] = next(filter(None, ours), str(to_storable(name)))
        for alias in known_as:
            if _get_value(db, alias) is None and alias != ID_PREFIX + names[name]:
                _remember(db, alias, names[name])
    return names


def find_names(db: sqlite3.Connection, names: Collection[str]) -> dict[str, set[str]]:
    """For each service name in a table, the names under which the ledger may have its runs now."""
    found = {
        name: (
            to_storable(name),
            _find_by_id(db, to_storable(name)),
            _find_by_address(db, normalise_address(name), name),
        )
        for name in names
    }
    return {name: {str(known) for known in ours if known is not None} for name, ours in found.items()}


def record_sweep(db: sqlite3.Connection) -> None:
    """Record that a sweep was run with this library, whose tables number runs differently."""
    db.execute("INSERT OR IGNORE INTO meta VALUES (?, '')", (_SWEPT,))


def has_sweeps(db: sqlite3.Connection) -> bool:
    """Whether a sweep was ever run with this library."""
    query = "SELECT EXISTS (SELECT 1 FROM meta WHERE name = ?) OR EXISTS (SELECT 1 FROM scopes)"
    return bool(db.execute(query, (_SWEPT,)).fetchone()[0])


def save_request_addresses(db: sqlite3.Connection, request_id: str, addresses: str) -> None:
    """Store the addresses that a service returned for a request, as JSON; only for non-default ones."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (to_storable(f"addresses of {request_id}"), addresses))


def get_request_addresses(db: sqlite3.Connection, request_id: str) -> str | None:
    """The stored addresses of a request, as JSON; None for the default ones."""
    return _get_value(db, to_storable(f"addresses of {request_id}"))


def has_request(db: sqlite3.Connection, request_id: str) -> bool:
    """Whether any run has exactly this request id."""
    return db.execute("SELECT 1 FROM runs WHERE request_id = ?", (to_storable(request_id),)).fetchone() is not None


def find_model(db: sqlite3.Connection, service: str, request_id: str) -> str | None:
    """The model of a request; None if it is not in the library."""
    query = "SELECT model FROM runs WHERE service = ? AND request_id = ?"
    row = db.execute(query, (get_current_name(db, service), to_storable(request_id))).fetchone()
    return None if row is None else str(row[0])


def get_past_seconds(db: sqlite3.Connection, max_runs: int = 40) -> dict[str, list[float]]:
    """The durations of the latest runs of each model."""
    rows = db.execute(
        "SELECT model, finished - sent FROM runs WHERE state = ? AND sent IS NOT NULL ORDER BY id DESC LIMIT ?",
        (State.STORED, max_runs * 8),
    )
    found: dict[str, list[float]] = {}
    for model, seconds in rows:
        if seconds is not None and seconds >= 0 and len(found.setdefault(model, [])) < max_runs:
            found[model].append(seconds)
    return found


_IS_ALIAS = f"(name GLOB '{ADDRESS_PREFIX}*' OR name GLOB '{ID_PREFIX}*' OR name GLOB '{LASTING_PREFIX}*')"


def _find_by_address(db: sqlite3.Connection, place: str, written: str | None = None) -> str | None:
    """The name of the service at an address, which may be the address itself for a service without an id."""
    scheme, _, rest = place.partition(":")
    other = f"{'http' if scheme == 'https' else 'https'}:{rest}"
    for spelling in dict.fromkeys((place, str(to_storable(written or place)), other)):
        if (name := _get_value(db, ADDRESS_PREFIX + spelling) or _find_in_use(db, spelling)) is not None:
            return name
    return None


def _find_by_id(db: sqlite3.Connection, id: str | None) -> str | None:
    return None if id is None else _get_value(db, ID_PREFIX + id) or _find_in_use(db, id)


def _find_in_use(db: sqlite3.Connection, name: str) -> str | None:
    """The current form of a name, if runs or aliases are stored under it."""
    row = db.execute("SELECT 1 FROM runs WHERE service = ? LIMIT 1", (name,)).fetchone()
    row = row or db.execute(f"SELECT 1 FROM meta WHERE value = ? AND {_IS_ALIAS} LIMIT 1", (name,)).fetchone()
    return None if row is None else get_current_name(db, name)


def _is_another(db: sqlite3.Connection, met: Identification, known: str) -> bool:
    """Whether the service that now responds at an address is another than the one known there."""
    ids = _get_ids(db, known)
    keeps_id = met.lasts or _get_value(db, LASTING_PREFIX + known) is not None
    return keeps_id and bool(ids) and met.id not in ids


def _find_forgotten(db: sqlite3.Connection, place: str, known: str, *, is_likely: bool) -> list[str]:
    """Service names in runs that have no address, and that belong to the service `known` at this address.

    Older ledgers store only the last id of an address. The others are attributed to this service if it is known to
    change its id (`is_likely`), or if no other service has an address. Services with a lasting id have never lost one,
    and runs of a local service do not belong to a remote one.
    """
    if _get_value(db, LASTING_PREFIX + known) is not None:
        return []
    is_local = is_loopback(place)
    at = db.execute(f"SELECT name, value FROM meta WHERE name GLOB '{ADDRESS_PREFIX}*'").fetchall()
    others = {value for alias, value in at if is_local or not is_loopback(str(alias).removeprefix(ADDRESS_PREFIX))} - {
        known
    }
    if others and not is_likely:
        return []
    rows = db.execute(
        f"SELECT DISTINCT service FROM runs WHERE service NOT IN (SELECT value FROM meta WHERE {_IS_ALIAS})"
        " AND service != ? AND instr(service, '://') = 0",
        (known,),
    ).fetchall()
    return [str(row[0]) for row in rows if is_local or not _was_local(db, str(row[0]))]


def _was_local(db: sqlite3.Connection, name: str) -> bool:
    """Whether the files of this service's runs were on this machine."""
    rows = db.execute("SELECT output FROM runs WHERE service = ? AND output IS NOT NULL LIMIT 20", (name,))
    return any(_LOCAL_FILE.search(str(row[0])) for row in rows)


def _get_ids(db: sqlite3.Connection, name: str) -> list[str]:
    """The ids that a service has reported."""
    query = f"SELECT name FROM meta WHERE value = ? AND name GLOB '{ID_PREFIX}*'"
    stored = [str(row[0]).removeprefix(ID_PREFIX) for row in db.execute(query, (name,))]
    return [alias for alias in (name, *stored) if "://" not in alias]


def _move_to_new_take(db: sqlite3.Connection, entry: Entry, services: tuple[str, str]) -> None:
    query = "SELECT max(take) + 1 FROM runs WHERE identity = ? AND service IN (?, ?)"
    (take,) = db.execute(query, (entry.identity, *services)).fetchone()
    db.execute("UPDATE runs SET take = ? WHERE id = ?", (take, entry.id))
    db.execute(
        "INSERT OR IGNORE INTO scopes SELECT scope, service, identity, ? FROM scopes"
        " WHERE service IN (?, ?) AND identity = ? AND take = ?",
        (take, *services, entry.identity, entry.take),
    )


def _get_value(db: sqlite3.Connection, name: str) -> str | None:
    row = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return None if row is None else str(row[0])


def _remember(db: sqlite3.Connection, name: str, value: str) -> None:
    if _get_value(db, name) != value:
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
