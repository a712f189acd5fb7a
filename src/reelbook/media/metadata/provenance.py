"""Read the provenance of a media file, and write it into copies."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BufferedReader
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO

from ...errors import ReelbookError
from ...settings import options
from ...util.containers import JPEG_SIGNATURE, PNG_SIGNATURE, MalformedFile, get_length
from ...util.replace_file import open_replacement
from . import jpeg, mp4, png, webp
from .file_marks import MANIFEST_SUFFIX, is_marked, read_marks
from .file_pieces import MAX_BYTES, FilePiece, Stretch, assemble
from .input_record import parse_record_input
from .run_record import NAMES, format_record, parse_record
from .sidecar import format_sidecar, hash_file, read_sidecar, sidecar_path
from .signing import write_signed
from .source_types import get_source_type

if TYPE_CHECKING:
    from ...models.base import Input
    from ..local_file import LocalFile

Find = Callable[[str], tuple[Mapping[str, Any], str] | None]
"""A callback that finds the run which made a file of this hash: its facts, and a note on where they were found."""

_LONGEST_WORD = 300
_MAX_TEXTS = 200
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
    """The run's input, ready to be run again; None if the model is unknown here, or the values are no valid input."""
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
    """All texts found, by name in the file."""


def read(file: str | os.PathLike[str] | LocalFile, find: Find | None = None) -> Provenance:
    """Read how a PNG, JPEG, WebP or MP4 was made: `rb.provenance("boat.mp4").input`.

    A file without a record of its run, because its creator marked it, is looked up by the hash of its content: in the
    sidecar next to it, then with `find`.
    """
    path, known = _opened(file)
    texts = _texts(path)
    # Facts known to this session are formatted and parsed, too, so that they pass the same validation.
    own = (parse_record(known) if known else None) or parse_record(texts.get("reelbook", ""))
    external = _ExternalRecord({}) if own else _find_external(path, find)
    engine = next((found for text in texts.values() if (found := _engine_record(text)) is not None), {})
    raw = {name: parse_record(text) or text for name, text in texts.items()}
    records = (engine, own or external.record)
    fields = {name: value for record in records for name, value in record.items() if value is not None}
    if fields.keys() & NAMES.values():
        return _from_record(fields, raw, external.note)
    raise ReelbookError(_format_missing(path, external.note))


provenance = read
"""The public name: `rb.provenance("boat.mp4")`."""


def write(source: Path, target: Path, facts: Mapping[str, Any]) -> None:
    """Copy a file and add the facts of its run to its metadata; pixels and packets stay unchanged.

    `facts` may hold `model`, `input`, `seed`, `request_id`, `credits`, `credits_source`, `made_at`, `service` and `part`. A
    GIF, a WebM, and other formats without metadata that all programs accept are copied unchanged, without a sidecar. So is
    a file that its creator marked: signed, or with a source type of its own. The copy is written atomically and
    replaces an existing file.
    """
    record, manifest = format_record(facts), source.with_suffix(MANIFEST_SUFFIX)
    kind = _source_type(source, facts.get("model"), record)
    with _original(source) as original:
        try:
            if target.exists() and target.samefile(source):
                raise ReelbookError(f"{target} is the original itself, which stays as it came. Choose another name.")
            with _write_atomically(target) as copy:
                if is_marked(source, original):
                    assemble(original, copy, [Stretch(0, get_length(original))])
                else:
                    _write_ours(original, copy, _pieces(original, record, kind), kind)
            if manifest.is_file():
                shutil.copyfile(manifest, target.with_suffix(MANIFEST_SUFFIX))
        except (OSError, ValueError, MalformedFile) as error:
            raise ReelbookError(
                f"{source} could not be copied to {target} ({_reason(error)}). "
                "Choose a place that can be written to, with room for the file, and save it again."
            ) from error


def _write_ours(original: BinaryIO, copy: BinaryIO, pieces: list[FilePiece], source_type: str) -> None:
    """Write the pieces, signed with the user's certificate if `options.sign` is set."""
    if options.sign is None:
        assemble(original, copy, pieces)
        return
    with TemporaryFile(dir=Path(copy.name).parent) as unsigned:
        assemble(original, unsigned, pieces)
        if not write_signed(unsigned, copy, options.sign, source_type):
            assemble(original, copy, pieces)


def write_with_sidecar(source: Path, target: Path, facts: Mapping[str, Any]) -> str | None:
    """Write a copy as `write` does, and return the text of its sidecar, see `sidecar_for`."""
    write(source, target, facts)
    return sidecar_for(source, facts)


def sidecar_for(path: Path, facts: Mapping[str, Any]) -> str | None:
    """The text of the sidecar for a file marked by its creator; None for any other, whose copies contain the record."""
    with _original(path) as file:
        return format_sidecar(hash_file(file), facts) if is_marked(path, file) else None


@dataclass(frozen=True, slots=True)
class _ExternalRecord:
    """A record that is not stored in the file itself."""

    record: Mapping[str, Any]
    note: str = ""
    """Where it was found; or why a sidecar that was found does not match."""


def _find_external(path: Path, find: Find | None) -> _ExternalRecord:
    """Find the record of the run that made a file of this content."""
    sidecar = read_sidecar(path)
    if sidecar is None and find is None:
        return _ExternalRecord({})
    with _original(path) as file:
        sha256 = hash_file(file)
    if sidecar is not None and sidecar.sha256 == sha256:
        return _ExternalRecord(sidecar.record, f"found by its content in {sidecar_path(path).name}")
    found = find(sha256) if find is not None else None
    if found is not None:
        return _ExternalRecord(parse_record(format_record(found[0])) or {}, found[1])
    if sidecar is not None:
        name = sidecar_path(path).name
        return _ExternalRecord({}, f"{name} does not match it: the file was changed or replaced since that was written")
    return _ExternalRecord({})


def _format_missing(path: Path, note: str) -> str:
    """The error message for a file without a record."""
    marks = read_marks(path)
    if note:
        note = f" {note}."
    if not marks.is_signed:
        return (
            f"{path} carries no provenance: nothing in it says how it was made.{note} Files that a run saved carry it, unless "
            "another program rewrote them since; look for the run itself in rb.library()."
        )
    stated = f" ({marks.signer}, as stated)" if marks.signer else ""
    return (
        f"{path} carries no provenance of ours: its maker has signed it{stated}, so nothing may be added to it, and no run that is "
        f"known here has made a file of this content.{note} If it came from another library, open that with rb.connect(library=…) and "
        "ask again; if another program has changed it since, ask for the file as it was saved."
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


def _opened(file: str | os.PathLike[str] | LocalFile) -> tuple[Path, str | None]:
    """The path of a file, and the record of the facts that this session knows about it."""
    from ..local_file import LocalFile

    if isinstance(file, LocalFile):
        return file.path, format_record(file.facts) if file.facts else None
    path = Path(file).expanduser()
    if path.exists() and not path.is_file():
        raise ReelbookError(f"{path} cannot be opened as a picture or a video: it is not a file.")
    return path, None


Texts = Callable[[BinaryIO], Iterator[tuple[str, str]]]
Edited = Callable[[BinaryIO, str, str], list[FilePiece]]


def _find_format(head: bytes) -> tuple[Texts, Edited] | None:
    """The functions to read and write metadata of a file with these first bytes."""
    if head.startswith(PNG_SIGNATURE):
        return png.read_texts, png.build_pieces
    if head.startswith(JPEG_SIGNATURE):
        return jpeg.read_texts, jpeg.build_pieces
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return webp.read_texts, webp.build_pieces
    return (mp4.read_texts, mp4.build_pieces) if head[4:8] == b"ftyp" else None


def _texts(path: Path) -> dict[str, str]:
    """The texts of a file by name, the first of each, before the first malformed part."""
    found: dict[str, str] = {}
    room = 4 * MAX_BYTES
    with _original(path) as file:
        try:
            functions = _find_format(file.read(12))
            for name, text in functions[0](file) if functions else ():
                room -= len(text)
                if room < 0 or len(found) >= _MAX_TEXTS:
                    break
                found.setdefault(name, text)
        except OSError as error:
            raise ReelbookError(
                f"{path} cannot be read ({_reason(error)}). Check the path and its permissions."
            ) from error
        except MalformedFile:
            pass
    return found


def _source_type(source: Path, model: Any, record: str) -> str:
    """The IPTC digital source type of a model's output."""
    engine = next((found for text in _texts(source).values() if (found := _engine_record(text)) is not None), {})
    # The source pictures are on the same shelf.
    hashes = list(dict.fromkeys(_HASHES.findall(record)))[:_MAX_SOURCES]
    files = (source.with_name(f"{sha256}{suffix}") for sha256 in hashes for suffix in _PICTURES)
    return get_source_type(model, engine, (read_marks(file).source_type for file in files if file.exists()))


def _pieces(file: BinaryIO, record: str, source_type: str) -> list[FilePiece]:
    unchanged: list[FilePiece] = [Stretch(0, get_length(file))]
    file.seek(0)
    functions = _find_format(file.read(12))
    if functions is None or record == "{}":
        return unchanged
    try:
        return functions[1](file, record, source_type)
    except MalformedFile:
        # The file is paid for: an unchanged copy is better than none.
        return unchanged


@contextmanager
def _write_atomically(target: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that is renamed to the target after it is complete."""
    # Follow symbolic links, as writing a file does.
    target = Path(os.path.realpath(target))
    target.parent.mkdir(parents=True, exist_ok=True)
    with open_replacement(target) as file:
        yield file


def _engine_record(text: str) -> dict[str, Any] | None:
    found = parse_record(text)
    return found if found and isinstance(found.get("endpointId"), str) and "engine" in found else None


def _from_record(fields: Mapping[str, Any], raw: Mapping[str, Any], note: str) -> Provenance:
    model = _word(fields.get("endpointId"))
    stated = fields.get("input")
    values: dict[str, Any] = stated if isinstance(stated, dict) else {}
    return Provenance(
        model=model,
        input=parse_record_input(model, values) if model else None,
        values=values,
        seed=_parse_int(fields.get("seed")),
        engine=_word(fields.get("engine")),
        engine_version=_word(fields.get("engineVersion")),
        request_id=_word(fields.get("requestId")),
        credits=_parse_int(fields.get("credits")),
        credits_source=_word(fields.get("creditsSource")),
        made_at=_parse_time(fields.get("madeAt")),
        service=_word(fields.get("service")),
        part=_word(fields.get("part")),
        note=note,
        raw=raw,
    )


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
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
