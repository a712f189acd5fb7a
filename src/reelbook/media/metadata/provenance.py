"""Read the provenance of a media file, and write it into copies."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BufferedReader
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO

from ...errors import ReelbookError
from ...settings import options
from ...util.replace_file import open_replacement, replace_file
from .file_marks import get_source_type, is_marked, read_marks
from .packets import JPEG_SIGNATURE, MAX_BYTES, MalformedFile, copy_pieces, edit_file, find_record, read_blocks
from .run_record import LONGEST_IN_JPEG, LONGEST_RECORD, NAMES, format_record, parse_record, parse_record_input
from .signing import write_signed

if TYPE_CHECKING:
    from ...models.base import Input

Find = Callable[[str], tuple[Mapping[str, Any], str] | None]
"""A callback that finds the run which made a file of this hash: its facts, and a note on where they were found."""

SIDECAR_SUFFIX = ".reelbook.json"
"""Appended to the full name of the file: `boat.mp4.reelbook.json`."""

_ENGINE_RECORD, _MAX_TRIES = re.compile(rb'\{"endpointId"'), 8
"""How the record that our engines write begins, in whatever field of metadata it is, and how many are tried."""
_LONGEST_WORD = 300
_MAX_SOURCES = 2_000
_HASHES = re.compile(r"sha256[:\"]+([0-9a-f]{64})")
_PICTURES = (".png", ".jpg", ".webp", ".gif")


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a file was made, as the file states it: its metadata are not verified.

    Example::

        how = rb.provenance(rb.run(boat))
        how.model, how.input
    """

    model: str | None = None
    """The model's id."""
    input: Input | None = None
    """The run's input, ready to be run again; None if the model is unknown here, or the values are not a valid input."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The run's input as plain values."""
    seed: int | None = None
    """The seed that was used."""
    engine: str | None = None
    """The program that made it, if stated."""
    engine_version: str | None = None
    request_id: str | None = None
    credits: int | None = None
    credits_source: str | None = None
    """`charged` or `estimated`."""
    made_at: datetime | None = None
    service: str | None = None
    """The service that made it."""
    part: str | None = None
    """The frames of the run's file that it holds, such as `frames 13-25 of 49`; None for the entire file."""
    note: str = ""
    """Where the record was found, if not in the file."""
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The records as they are in the file: the engine's under `engine`, and ours under `reelbook`."""


def read(path: str | os.PathLike[str], facts: Mapping[str, Any] | None = None, find: Find | None = None) -> Provenance:
    """Read how a PNG, JPEG, WebP or MP4 was made; `facts` are those that this session knows of its run.

    A file without a record of its run, because its creator marked it, is looked up by the hash of its content: in the
    sidecar next to it, then with `find`.
    """
    path = Path(path).expanduser()
    records = _read_records(path)
    own = (_as_recorded(facts) if facts else None) or records.get("reelbook")
    external, note = ({}, "") if own else _find_external(path, find)
    parts = (records.get("engine", {}), own or external)
    fields = {name: value for record in parts for name, value in record.items() if value is not None}
    if fields.keys() & NAMES.values():
        return _from_record(fields, records, note)
    raise ReelbookError(_format_missing(path, note))


def write(source: Path, target: Path, facts: Mapping[str, Any]) -> None:
    """Copy a file and add the facts of its run to its metadata; pixels and packets stay unchanged.

    `facts` may hold `model`, `input`, `seed`, `request_id`, `credits`, `credits_source`, `made_at`, `service` and `part`. A
    GIF, a WebM, and other formats without metadata that all programs accept are copied unchanged, without a sidecar. So is
    a file that its creator marked: signed, or with a source type of its own. The copy is written atomically and
    replaces an existing file.
    """
    with _original(source) as original, saving_to(target):
        if target.exists() and target.samefile(source):
            raise ReelbookError(f"{target} is the original itself, which stays as it came. Choose another name.")
        # Symbolic links are followed, as when writing a file.
        final = Path(os.path.realpath(target))
        final.parent.mkdir(parents=True, exist_ok=True)
        with open_replacement(final) as copy:
            if is_marked(original):
                _copy_unchanged(original, copy)
            else:
                _write_ours(source, original, copy, facts)


@contextmanager
def saving_to(target: Path) -> Iterator[None]:
    """Convert errors of the disk and of the encoders to `ReelbookError`."""
    try:
        yield
    except ReelbookError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        raise ReelbookError(
            f"The file could not be saved to {target} ({_reason(error)}). "
            "Choose a place that can be written to, with room for the file, and save it again."
        ) from error


def _write_ours(source: Path, original: BinaryIO, copy: BinaryIO, facts: Mapping[str, Any]) -> None:
    """Write a copy with the record, signed with the user's certificate if `options.sign` is set."""
    original.seek(0)
    is_jpeg = original.read(len(JPEG_SIGNATURE)) == JPEG_SIGNATURE
    record = format_record(facts, LONGEST_IN_JPEG if is_jpeg else LONGEST_RECORD)
    source_type = _find_source_type(source, facts.get("model"), record)
    try:
        pieces = edit_file(original, record, source_type) if record != "{}" else None
    except MalformedFile:
        # The file is paid for: an unchanged copy is better than none.
        pieces = None
    with TemporaryFile(dir=Path(copy.name).parent) if options.sign else nullcontext(copy) as unsigned:
        if pieces is None:
            _copy_unchanged(original, unsigned)
        else:
            copy_pieces(original, unsigned, pieces)
        if options.sign and not write_signed(unsigned, copy, options.sign, source_type):
            _copy_unchanged(unsigned, copy)


def _copy_unchanged(source: BinaryIO, target: BinaryIO) -> None:
    source.seek(0)
    shutil.copyfileobj(source, target)


def write_sidecar(source: Path, target: Path, facts: Mapping[str, Any]) -> None:
    """Write the record beside a copy of a file that its creator marked; copies of any other contain it."""
    with _original(source) as file:
        if is_marked(file):
            sidecar = {"sha256": _hash_file(file), "record": _as_recorded(facts)}
            replace_file(sidecar_path(target), json.dumps(sidecar, ensure_ascii=False).encode())


def sidecar_path(path: Path) -> Path:
    """The path of a file's sidecar: a record in a file of its own, for one that must not be changed."""
    return path.with_name(path.name + SIDECAR_SUFFIX)


def _as_recorded(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts as they are read from a record, so that all pass the same validation."""
    return parse_record(format_record(facts)) or {}


def _read_sidecar(path: Path) -> tuple[str, dict[str, Any]] | None:
    """The hash and the record in the sidecar of a file; None if it is missing or invalid."""
    try:
        with sidecar_path(path).open(encoding="utf-8") as file:
            content = parse_record(file.read(MAX_BYTES)) or {}
    except (OSError, ValueError):
        return None
    sha256, record = content.get("sha256"), content.get("record")
    return (sha256, record) if isinstance(sha256, str) and isinstance(record, dict) else None


def _hash_file(file: BufferedReader) -> str:
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()


def _find_external(path: Path, find: Find | None) -> tuple[Mapping[str, Any], str]:
    """The record of the run that made a file of this content; and where it was found, or why a sidecar does not match."""
    sidecar, name = _read_sidecar(path), sidecar_path(path).name
    if sidecar is None and find is None:
        return {}, ""
    with _original(path) as file:
        sha256 = _hash_file(file)
    if sidecar is not None and sidecar[0] == sha256:
        return sidecar[1], f"found by its content in {name}"
    run = find(sha256) if find is not None else None
    if run is not None:
        return _as_recorded(run[0]), run[1]
    changed = f"{name} does not match it: the file was changed or replaced since that was written"
    return {}, changed if sidecar is not None else ""


def _format_missing(path: Path, note: str) -> str:
    """The error message for a file without a record."""
    marks, note = read_marks(path), f" {note}." if note else ""
    if not marks.is_signed:
        return (
            f"{path} carries no provenance: nothing in it says how it was made.{note} Files that a run saved carry it, unless "
            "another program rewrote them since; look for the run itself in rb.library()."
        )
    stated = f" ({marks.signer}, as stated)" if marks.signer else ""
    return (
        f"{path} carries no provenance of ours: its maker has signed it{stated}, so nothing may be added to it, and no run that is "
        f"known here has made a file of this content.{note} If it came from another library, open that with rb.connect(library=…)."
    )


def _original(path: Path) -> BufferedReader:
    try:
        return path.open("rb")
    # Python raises ValueError for a path with a null character.
    except (OSError, ValueError) as error:
        raise ReelbookError(
            f"{path} cannot be opened ({_reason(error)}). Check the path and its permissions."
        ) from error


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _read_records(path: Path) -> dict[str, dict[str, Any]]:
    """The records in a file, found by how they begin: an engine's under `engine`, and our own under `reelbook`."""
    records: dict[str, dict[str, Any]] = {}
    with _original(path) as file:
        for block in read_blocks(file):
            if "engine" not in records and (engine := _find_engine_record(block)):
                records["engine"] = engine
            if "reelbook" not in records and (own := parse_record(find_record(block) or "")):
                records["reelbook"] = own
    return records


def _find_engine_record(block: bytes) -> dict[str, Any] | None:
    for start in islice(_ENGINE_RECORD.finditer(block), _MAX_TRIES):
        record = parse_record(block[start.start() : start.start() + MAX_BYTES].decode("utf-8", "replace"))
        if record and isinstance(record.get("endpointId"), str) and "engine" in record:
            return record
    return None


def _find_source_type(source: Path, model: Any, record: str) -> str:
    """The IPTC digital source type of a model's output."""
    engine = _read_records(source).get("engine", {})
    # The source pictures are on the same shelf.
    hashes = list(dict.fromkeys(_HASHES.findall(record)))[:_MAX_SOURCES]
    files = (source.with_name(f"{sha256}{suffix}") for sha256 in hashes for suffix in _PICTURES)
    return get_source_type(model, engine, (read_marks(file).source_type for file in files if file.exists()))


def _from_record(fields: Mapping[str, Any], raw: Mapping[str, Any], note: str) -> Provenance:
    stated = fields.get("input")
    values: dict[str, Any] = stated if isinstance(stated, dict) else {}
    keys = {**NAMES, "engine": "engine", "engine_version": "engineVersion"}
    parsers = {"seed": _parse_int, "credits": _parse_int, "made_at": _parse_time}
    facts: dict[str, Any] = {
        name: parsers.get(name, _word)(fields.get(key)) for name, key in keys.items() if name != "input"
    }
    typed = parse_record_input(facts["model"], values) if facts["model"] else None
    return Provenance(input=typed, values=values, note=note, raw=raw, **facts)


def _word(value: Any) -> str | None:
    """A short text without unprintable characters; None for any other value."""
    if not isinstance(value, str):
        return None
    return "".join(letter for letter in value[:_LONGEST_WORD] if letter.isprintable()).strip() or None


def _parse_int(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _parse_time(value: Any) -> datetime | None:
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
