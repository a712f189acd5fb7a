"""What the ledger remembers of services: who they are, where they keep requests, and how long their runs take.

A service is a set of aliases, its addresses and its ids, and one name that stands in the rows of its runs. Whichever
alias is met finds the name, because runs that are taken for unknown are paid for again. Where an address and an id
name two services, they are one service from then on. Only an id that lasts (see `Identification`) may say that an
address answers for another service now.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from .transitions import COLUMNS, STORED, TELLS_LESS, Entry, rank, storable

PLACE, ID, LASTING = "service at ", "service named ", "service keeps its id "
"""Begin the names of what is kept in the table `meta`; the value is the name of the service."""

MAX_IDS = 32
"""So many ids of one service are remembered; one that changes with each answer would fill the ledger."""

_PORTS = {"http": ":80", "https": ":443"}

_SWEPT = "has sweeps"

_LOCAL_FILE = re.compile(r'"https?://(localhost|127\.|\[::1\])')


@dataclass(frozen=True, slots=True)
class Identification:
    """How a service was met: its address, the id that it told, and whether it is known to keep that id for ever.

    A service of ours keeps its id with its data, and on one machine another one may get its port.
    """

    address: str
    id: str | None = None
    lasts: bool = False


def place_of(address: str) -> str:
    """An address in one spelling, whoever wrote it.

    >>> place_of("HTTPS://Host.Example:443/api//v1/"), place_of("http://localhost:8000")
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


def is_loopback(address: str) -> bool:
    """Whether an address is this machine's own."""
    try:
        host = (urlsplit(address).hostname or "").rstrip(".")
        return host == "localhost" or host.endswith(".localhost") or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def name_of(db: sqlite3.Connection, address: str, id: str | None, *, lasts: bool = False) -> str:
    """The name of the service that was met, by its id, else by its address; what is new about it is remembered."""
    met = Identification(str(storable(place_of(address))), storable(id), lasts)
    by_address, by_id = _at(db, met.address, address), _with_id(db, met.id)
    if by_address is not None and by_address != by_id and met.id is not None and _is_another(db, met, by_address):
        by_address = None
    name = by_id or by_address or met.id or met.address
    if by_address is not None and not met.lasts:
        changes = met.id is not None and met.id not in _ids(db, by_address)
        for forgotten in _forgotten(db, met.address, by_address, is_likely=changes):
            if forgotten != name:
                merge(db, forgotten, name)
    if by_address is not None and by_address != name:
        merge(db, by_address, name)
    _remember(db, PLACE + met.address, name)
    if met.id is not None and met.id != name and len(_ids(db, name)) < MAX_IDS:
        _remember(db, ID + met.id, name)
    if met.lasts and met.id is not None:
        _remember(db, LASTING + name, name)
    return name


def current(db: sqlite3.Connection, name: str) -> str:
    """The name that a service goes by now, from any that it has gone by."""
    return _value(db, ID + name) or name


def remember_place(db: sqlite3.Connection, place: str, name: str) -> None:
    """An address at which a service was met, unless one is known there."""
    place = str(storable(place))
    if _value(db, PLACE + place) is None:
        _remember(db, PLACE + place, current(db, str(storable(name))))


def merge(db: sqlite3.Connection, other: str, name: str) -> None:
    """Two names turned out to be one service: everything under `other` is under `name` from now on."""
    rows = db.execute(f"SELECT {COLUMNS} FROM runs WHERE service = ?", (other,)).fetchall()
    for entry in (Entry(*row) for row in rows):
        twin = db.execute(
            f"SELECT {COLUMNS} FROM runs WHERE service = ? AND identity = ? AND take = ?",
            (name, entry.identity, entry.take),
        ).fetchone()
        if twin is not None:
            # Both may have cost something, so both stay; who has come further is the one to be found.
            behind = max(entry, Entry(*twin), key=rank)
            _to_another_take(db, behind, (other, name))
        db.execute("UPDATE runs SET service = ? WHERE id = ?", (name, entry.id))
    db.execute("UPDATE OR IGNORE scopes SET service = ? WHERE service = ?", (name, other))
    db.execute("DELETE FROM scopes WHERE service = ?", (other,))
    db.execute(f"UPDATE meta SET value = ? WHERE value = ? AND {_IS_ALIAS}", (name, other))
    db.execute("UPDATE OR REPLACE meta SET name = ? WHERE name = ?", (TELLS_LESS + name, TELLS_LESS + other))
    _remember(db, ID + other, name)


def aliases(db: sqlite3.Connection) -> dict[str, list[str]]:
    """All that services are known by in this ledger, as it is kept in `meta`, by their names."""
    found: dict[str, list[str]] = {}
    for alias, name in db.execute(f"SELECT name, value FROM meta WHERE {_IS_ALIAS}"):
        found.setdefault(str(name), []).append(str(alias))
    return found


def joined(db: sqlite3.Connection, theirs: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """The names here of another ledger's services, by their names there; their aliases are remembered here."""
    names: dict[str, str] = {}
    for name, others in theirs.items():
        # An address of another machine's own says nothing here.
        known_as = [alias for alias in others if not is_loopback(alias.removeprefix(PLACE))]
        places = [storable(name)] if "://" in name and not is_loopback(name) else []
        at = [_at(db, alias.removeprefix(PLACE)) for alias in known_as if alias.startswith(PLACE)]
        with_id = [_with_id(db, alias.removeprefix(ID)) for alias in known_as if alias.startswith(ID)]
        ours = [_with_id(db, storable(name)), *with_id, *at, *(_at(db, place) for place in places)]
        names[name] = next(filter(None, ours), str(storable(name)))
        for alias in known_as:
            if _value(db, alias) is None and alias != ID + names[name]:
                _remember(db, alias, names[name])
    return names


def names_of(db: sqlite3.Connection, told: Collection[str]) -> dict[str, set[str]]:
    """For each name that a table has of a service, those under which the ledger may have its runs now."""
    found = {name: (storable(name), _with_id(db, storable(name)), _at(db, place_of(name), name)) for name in told}
    return {name: {str(one) for one in ours if one is not None} for name, ours in found.items()}


def mark_swept(db: sqlite3.Connection) -> None:
    """Note that a sweep was run with this library, so that there are tables which number its runs in another way."""
    db.execute("INSERT OR IGNORE INTO meta VALUES (?, '')", (_SWEPT,))


def is_swept(db: sqlite3.Connection) -> bool:
    """Whether a sweep was ever run with this library."""
    query = "SELECT EXISTS (SELECT 1 FROM meta WHERE name = ?) OR EXISTS (SELECT 1 FROM scopes)"
    return bool(db.execute(query, (_SWEPT,)).fetchone()[0])


def keep_addresses(db: sqlite3.Connection, request_id: str, addresses: str) -> None:
    """Where a service said that a request is to be found, as JSON; only where that is not the usual place."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (storable(f"addresses of {request_id}"), addresses))


def addresses_of(db: sqlite3.Connection, request_id: str) -> str | None:
    """What was kept of that."""
    return _value(db, storable(f"addresses of {request_id}"))


def knows(db: sqlite3.Connection, request_id: str) -> bool:
    """Whether some run has exactly this request id."""
    return db.execute("SELECT 1 FROM runs WHERE request_id = ?", (storable(request_id),)).fetchone() is not None


def model_of(db: sqlite3.Connection, service: str, request_id: str) -> str | None:
    """The model of a request that the library knows."""
    query = "SELECT model FROM runs WHERE service = ? AND request_id = ?"
    row = db.execute(query, (current(db, service), storable(request_id))).fetchone()
    return None if row is None else str(row[0])


def past_seconds(db: sqlite3.Connection, most: int = 40) -> dict[str, list[float]]:
    """How long runs took lately, by model."""
    rows = db.execute(
        "SELECT model, finished - sent FROM runs WHERE state = ? AND sent IS NOT NULL ORDER BY id DESC LIMIT ?",
        (STORED, most * 8),
    )
    found: dict[str, list[float]] = {}
    for model, seconds in rows:
        if seconds is not None and seconds >= 0 and len(found.setdefault(model, [])) < most:
            found[model].append(seconds)
    return found


_IS_ALIAS = f"(name GLOB '{PLACE}*' OR name GLOB '{ID}*' OR name GLOB '{LASTING}*')"


def _at(db: sqlite3.Connection, place: str, written: str | None = None) -> str | None:
    """The name of the service at an address; a service that never told an id goes by the address itself."""
    scheme, _, rest = place.partition(":")
    other = f"{'http' if scheme == 'https' else 'https'}:{rest}"
    for spelling in dict.fromkeys((place, str(storable(written or place)), other)):
        if (name := _value(db, PLACE + spelling) or _in_use(db, spelling)) is not None:
            return name
    return None


def _with_id(db: sqlite3.Connection, id: str | None) -> str | None:
    return None if id is None else _value(db, ID + id) or _in_use(db, id)


def _in_use(db: sqlite3.Connection, name: str) -> str | None:
    """The name itself, if runs or aliases are kept under it."""
    row = db.execute("SELECT 1 FROM runs WHERE service = ? LIMIT 1", (name,)).fetchone()
    row = row or db.execute(f"SELECT 1 FROM meta WHERE value = ? AND {_IS_ALIAS} LIMIT 1", (name,)).fetchone()
    return None if row is None else current(db, name)


def _is_another(db: sqlite3.Connection, met: Identification, known: str) -> bool:
    """Whether the service known at an address is another one than the one that was met there now."""
    told_ids = _ids(db, known)
    keeps_id = met.lasts or _value(db, LASTING + known) is not None
    return keeps_id and bool(told_ids) and met.id not in told_ids


def _forgotten(db: sqlite3.Connection, place: str, known: str, *, is_likely: bool) -> list[str]:
    """Names of runs that no address leads to, and that are those of the service `known` at this place.

    Older ledgers remember the last id of an address only. Whose the others were cannot be read there:
    they are this service's where it is seen to change its id (`is_likely`), or where no other service has an address.
    Services that keep their id have never lost one, and what was made on this machine was not made at another host.
    """
    if _value(db, LASTING + known) is not None:
        return []
    is_local = is_loopback(place)
    at = db.execute(f"SELECT name, value FROM meta WHERE name GLOB '{PLACE}*'").fetchall()
    others = {value for alias, value in at if is_local or not is_loopback(str(alias).removeprefix(PLACE))} - {known}
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


def _ids(db: sqlite3.Connection, name: str) -> list[str]:
    """The ids that a service has told."""
    query = f"SELECT name FROM meta WHERE value = ? AND name GLOB '{ID}*'"
    told = [str(row[0]).removeprefix(ID) for row in db.execute(query, (name,))]
    return [alias for alias in (name, *told) if "://" not in alias]


def _to_another_take(db: sqlite3.Connection, entry: Entry, services: tuple[str, str]) -> None:
    query = "SELECT max(take) + 1 FROM runs WHERE identity = ? AND service IN (?, ?)"
    (take,) = db.execute(query, (entry.identity, *services)).fetchone()
    db.execute("UPDATE runs SET take = ? WHERE id = ?", (take, entry.id))
    db.execute(
        "INSERT OR IGNORE INTO scopes SELECT scope, service, identity, ? FROM scopes"
        " WHERE service IN (?, ?) AND identity = ? AND take = ?",
        (take, *services, entry.identity, entry.take),
    )


def _value(db: sqlite3.Connection, name: str) -> str | None:
    row = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return None if row is None else str(row[0])


def _remember(db: sqlite3.Connection, name: str, value: str) -> None:
    if _value(db, name) != value:
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
