"""Export runs to a folder: files with readable names, and tables of inputs and credits."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from numbers import Integral
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import ReelbookError
from ..media.bounded_open import read_picture_size
from ..media.file_names import MAX_NAME_LETTERS, find_picture_name, is_resize, name_size, name_words, slug
from ..settings import options
from ..util.missing_values import is_missing
from ..util.replace_file import replace_file
from .judgements import Judgement
from .ledger.transitions import Entry
from .run_status import get_library_status
from .shelf import hash_file
from .table import INDEX_NAME, format_json, parse_texts

Write = Callable[[Path, Path, Mapping[str, Any]], str | None]
"""Copies a file and embeds these facts; or returns them as text for a sidecar, if the file must not be changed."""

Numbers = Mapping[int, int | str]
"""The number of each run for the user, by its number in the library."""
Axes = Mapping[int, Mapping[str, Any]]
"""The values of a table's axes for each run."""

CSV_NAME, JSON_NAME, SIDECAR_SUFFIX = "runs.csv", "runs.json", ".reelbook.json"
MAX_STEM_BYTES = 180
NAMED = ("prompt", "seed")
"""Inputs that are in every name."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export_runs(
    target: Path,
    entries: Sequence[Entry],
    frame: pd.DataFrame,
    paths: Mapping[str, str],
    write: Write | None = None,
    judgements: Sequence[Judgement] = (),
    rows: tuple[Numbers, Axes] = ({}, {}),
) -> Path:
    """Copy the files of these runs into the folder, and write the tables. Existing copies are not made again.

    Judgements, if there are any, are in the table as JSON. `rows` are the numbers and the axes of the user's table.
    """
    axes = rows[1]
    numbers = {entry.id: rows[0].get(entry.id, entry.id) for entry in entries}
    try:
        target.mkdir(parents=True, exist_ok=True)
        copies = _Copies(target, write or _copy)
        names: dict[int, list[str | None]] = {}
        for entry in entries:
            names[entry.id] = _copy_files(entry, numbers[entry.id], axes.get(entry.id, {}), paths, copies)
        records = [_format_run(entry, numbers[entry.id], names[entry.id]) for entry in entries]
        runs = {entry.request_id: numbers[entry.id] for entry in entries}
        judged = {"judgements": [_format_judgement(judgement, runs) for judgement in judgements]} if judgements else {}
        document = {"runs": records, **judged, "files": copies.notes}
        _write_text(target / JSON_NAME, json.dumps(document, ensure_ascii=False, indent=1, default=str))
        _write_csv(target, frame, numbers, names)
    except OSError as error:
        raise ReelbookError(
            f"The runs could not be exported to {target} ({error.strerror or error}). Choose a folder that can be written "
            "to, with room for the files, and export again: what is there already is not copied twice."
        ) from error
    return target


def format_stem(
    facts: Mapping[str, Any], number: int | str, axes: Mapping[str, Any], size: tuple[int, int] | None = None
) -> str:
    """Format a readable file name that is valid on every system: number, words, size of a resize, seed, and axes."""
    seed = facts["input"].get("seed")
    named = "_".join(filter(None, (name_words(facts), name_size(facts, size))))
    parts = [
        f"{number:04d}" if isinstance(number, int) else slug(number),
        named,
        f"seed-{seed}" if _is_short(seed) else "",
    ]
    stem = "-".join(filter(None, parts))
    for name, value in axes.items():
        words = f"{value:g}" if isinstance(value, float) else find_picture_name(value) or value
        text = slug(f"{name} {words}")
        longer = f"{stem}-{text}"
        # Some systems limit names to 255 bytes.
        stem = longer if len(longer.encode()) <= MAX_STEM_BYTES else stem
    return stem


def read_export_rows(table: pd.DataFrame, runs: Sequence[int | None]) -> tuple[Numbers, Axes]:
    """The numbers in a table of these runs, and the values of its axes, by their numbers in the library."""
    numbers, axes = dict[int, int | str](), dict[int, dict[str, Any]]()
    if table.index.name == INDEX_NAME:
        return numbers, axes
    source = table.attrs.get("reelbook")
    named = [name for name in source.get("axes", ()) if name in table.columns] if isinstance(source, dict) else []
    for (label, row), run in zip(table[named].iterrows(), runs, strict=True):
        if run is not None and run not in numbers:
            numbers[run] = int(label) if isinstance(label, Integral) else str(label)
            axes[run] = {str(name): value for name, value in row.items() if name not in NAMED and _is_nameable(value)}
    return numbers, axes


def _is_nameable(value: Any) -> bool:
    """Whether a value says something in a file name: a number, a short text, or a picture with a name."""
    if isinstance(value, str):
        return bool(find_picture_name(value)) or (len(value) <= MAX_NAME_LETTERS and not value.startswith("sha256:"))
    return not is_missing(value) and bool(pd.api.types.is_bool(value) or pd.api.types.is_number(value))


def get_facts(entry: Entry) -> dict[str, Any]:
    """The facts about a run that are embedded in its copies."""
    (values,), (output,) = parse_texts([entry.input]), parse_texts([entry.output])
    seed = output.get("seed") if isinstance(output, dict) else None
    return {
        "model": entry.model, "input": values if isinstance(values, dict) else {}, "request_id": entry.request_id,
        "credits": entry.credits, "credits_source": entry.credits_source,
        "seed": seed if seed is not None or not isinstance(values, dict) else values.get("seed"),
        "made_at": _format_time(entry.finished or entry.created), "service": entry.service,
    }  # fmt: skip


class _Copies:
    """The copies in the folder, of this and of earlier exports; other files are not overwritten."""

    def __init__(self, folder: Path, write: Write) -> None:
        self.notes = _read_notes(folder)
        """By name, of what each copy is, and its hash."""
        self._folder, self._write = folder, write
        # Names that differ only in case are the same on some systems.
        self._taken: set[str] = set()

    def copy(self, source: Path, sha256: str, stem: str, facts: Mapping[str, Any]) -> str:
        """Copy a file, unless an identical copy exists; returns its name."""
        # Signed and unsigned copies differ.
        key = [sha256, facts, *([repr(options.sign)] if options.sign else [])]
        mark = hashlib.sha256(json.dumps(key, sort_keys=True, default=str).encode()).hexdigest()
        for number in count(1):
            name = f"{stem}{f'~{number}' if number > 1 else ''}{source.suffix}"
            if name.casefold() not in self._taken and self._place(name, mark, source, facts):
                self._taken.add(name.casefold())
                return name
        raise AssertionError("There is always another name.")

    def _place(self, name: str, mark: str, source: Path, facts: Mapping[str, Any]) -> bool:
        """Have this copy under a name; false if a file of this name is not an unchanged copy of an earlier export."""
        note, path = self.notes.get(name, {}), self._folder / name
        sidecar = path.with_name(path.name + SIDECAR_SUFFIX)
        existing = hash_file(path) if path.exists() else None
        is_ours = existing is not None and existing == note.get("sha256")
        if is_ours and note.get("of") == mark and (not note.get("sidecar") or sidecar.exists()):
            return True
        part = self._folder / f".{secrets.token_hex(8)}{source.suffix}"
        try:
            sidecar_text = self._write(source, part, facts)
            sha256 = hash_file(part)
            if existing not in (None, sha256) and not is_ours:
                return False
            if existing != sha256:
                part.replace(path)
            if sidecar_text:
                _write_text(sidecar, sidecar_text)
            self.notes[name] = {"of": mark, "sha256": sha256, **({"sidecar": True} if sidecar_text else {})}
            return True
        finally:
            part.unlink(missing_ok=True)


def _copy_files(
    entry: Entry, number: int | str, axes: Mapping[str, Any], paths: Mapping[str, str], copies: _Copies
) -> list[str | None]:
    """Copy a run's files; returns their names in order, None for a missing file."""
    names: list[str | None] = []
    facts = get_facts(entry)
    for place, sha256 in enumerate(entry.hashes, 1):
        source = paths.get(sha256)
        if source is None or not os.path.exists(source):  # noqa: PTH110  # A string, and one of many thousand.
            names.append(None)
            continue
        size = _read_size(source) if is_resize(facts) else None
        stem = format_stem(facts, number, axes, size)
        several = f"-{place}" if len(entry.hashes) > 1 and not is_resize(facts) else ""
        names.append(copies.copy(Path(source), sha256, f"{stem}{several}", facts))
    return names


def _copy(source: Path, target: Path, facts: Mapping[str, Any]) -> None:
    shutil.copyfile(source, target)


def _read_size(path: str) -> tuple[int, int] | None:
    """Width and height of a picture; None for one that cannot be read."""
    try:
        return read_picture_size(Path(path))
    except Exception:  # Decoders raise errors of many types for a broken file.
        return None


def _read_notes(folder: Path) -> dict[str, dict[str, Any]]:
    """The notes of an earlier export about its copies, by name."""
    try:
        notes = json.loads((folder / JSON_NAME).read_text(encoding="utf-8"))
        return {str(name): facts for name, facts in notes["files"].items() if isinstance(facts, dict)}
    except FileNotFoundError:
        if not (folder / CSV_NAME).exists():
            return {}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        pass
    raise ReelbookError(
        f"{folder} holds a {JSON_NAME} or {CSV_NAME} that no export has made, and which would be lost. Choose another folder."
    )


def _format_run(entry: Entry, number: int | str, names: Sequence[str | None]) -> dict[str, Any]:
    (values,), (output,) = parse_texts([entry.input]), parse_texts([entry.output])
    columns = (
        "model", "service", "take", "request_id", "credits", "credits_source", "queued_s", "running_s", "error_type", "error",
    )  # fmt: skip
    return {
        "run": number, INDEX_NAME: entry.id, "status": get_library_status(entry.stage), "input": values, "output": output,
        **{name: getattr(entry, name) for name in columns},
        "created": _format_time(entry.created), "finished": _format_time(entry.finished), "files": list(names),
    }  # fmt: skip


def _format_judgement(judgement: Judgement, runs: Mapping[str | None, int | str]) -> dict[str, Any]:
    """A judgement as plain values, with the numbers of its runs."""
    clips = [clip for clip in (judgement.first, judgement.second) if clip is not None]
    return {
        **{name: getattr(judgement, name) for name in ("question", "rater", "kind", "answer", "seconds")},
        "at": _format_time(judgement.at), "runs": [runs.get(clip) for clip in clips], "request_ids": clips,
    }  # fmt: skip


def _write_csv(folder: Path, frame: pd.DataFrame, numbers: Numbers, names: Mapping[int, Sequence[str | None]]) -> None:
    # Local paths mean nothing on another machine; the names in the folder replace them.
    table = frame.drop(columns=["output_video", "output_images"]).rename_axis(INDEX_NAME).reset_index()
    table.insert(0, "run", [numbers[run] for run in frame.index])
    table.insert(1, "files", [" ".join(filter(None, names.get(run, ()))) for run in frame.index])
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(map(_format_cell, table.columns))
    writer.writerows(map(_format_cell, row) for row in zip(*(table[name].tolist() for name in table), strict=True))
    _write_text(folder / CSV_NAME, text.getvalue())


def _format_cell(value: Any) -> Any:
    """A value for a cell, with text escaped that a spreadsheet would take for a formula."""
    if isinstance(value, (list, dict)):
        value = format_json(value)
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return "" if pd.isna(value) else value.isoformat() if isinstance(value, datetime) else value


def _write_text(path: Path, text: str) -> None:
    replace_file(path, text.encode(errors="replace"))


def _format_time(seconds: float | None) -> str | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def _is_short(seed: Any) -> bool:
    return type(seed) is int and abs(seed) < 10**12
