"""Runs as a folder for other people: files with names to read, and tables of what was asked and paid."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import secrets
import shutil
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import ReelbookError
from ..settings import options
from .ledger.transitions import Entry
from .merge.library_merge import Progress, files_of
from .table.library_table import WORDS, parsed, source_of
from .table.typed_columns import written
from .uncertain import in_words

Write = Callable[[Path, Path, Mapping[str, Any]], str | None]
"""Makes a copy of a file that carries these facts; or returns them as a text, for a file that must stay as it is."""

CSV_NAME, JSON_NAME, SIDECAR_SUFFIX = "runs.csv", "runs.json", ".reelbook.json"
LONGEST_NAME = 48

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def exported(
    target: Path,
    entries: Sequence[Entry],
    frame: pd.DataFrame,
    paths: Mapping[str, str],
    write: Write | None = None,
    progress: Progress | None = None,
) -> Path:
    """Copy the files of these runs into the folder, and write the tables. What is there already stays or is left out."""
    try:
        target.mkdir(parents=True, exist_ok=True)
        copies = _Copies(target, write or _plain_copy)
        names: dict[int, list[str | None]] = {}
        try:
            for done, entry in enumerate(entries, 1):
                names[entry.id] = list(_placed(entry, paths, copies))
                if progress is not None:
                    progress(done, len(entries))
        finally:
            # Also after an interrupt, so that the next time goes on from there.
            _write_json(target, [_told(entry, names[entry.id]) for entry in entries if entry.id in names], copies.notes)
        _write_csv(target, frame, names)
    except OSError as error:
        raise ReelbookError(
            f"The runs could not be exported to {target} ({error.strerror or error}). Choose a folder that can be written "
            "to, with room for the files, and export again: what is there already is not copied twice."
        ) from error
    return target


def folder_of(named: Any, need: str) -> Path:
    """The folder that a person has named, in full. `need` says what it is for, where it is none."""
    try:
        if isinstance(named, (str, os.PathLike)) and os.fspath(named):
            folder = Path(named).expanduser().absolute()
            if b"\0" not in os.fsencode(folder):
                return folder
    except (RuntimeError, ValueError, TypeError):
        pass  # Nobody's home, or a letter that no system has in a name.
    raise ReelbookError(
        f"{need}, and {named!r:.200} names none. Nothing was copied: give its path as a text or a Path."
    )


def name_of(entry: Entry, values: Mapping[str, Any]) -> str:
    """A name that a person can read and every system can write: number, words, seed."""
    seed = values.get("seed")
    words = slug(in_words(values) if values.get("prompt") else entry.model.rpartition("/")[2])
    return "-".join([f"{entry.id:04d}", *([words] if words else []), *([f"seed-{seed}"] if _is_short(seed) else [])])


def slug(text: str) -> str:
    """Letters and digits of any script, joined by hyphens.

    >>> slug("../../A paper boat, at dusk!"), slug("Ein Boot für zwei"), slug("=HYPERLINK(…)")
    ('a-paper-boat-at-dusk', 'ein-boot-für-zwei', 'hyperlink')
    """
    plain = unicodedata.normalize("NFC", text).casefold()
    words = "".join(letter if letter.isalnum() else " " for letter in plain).split()
    found = "-".join(words)[:LONGEST_NAME]
    # Some systems count bytes; a name of a hundred is short enough for all of them.
    while len(found.encode()) > 2 * LONGEST_NAME:
        found = found[:-1]
    return found.strip("-")


def facts_of(entry: Entry) -> dict[str, Any]:
    """What a copy tells of its run."""
    (asked,), (told,) = parsed([entry.input]), parsed([entry.output])
    seed = told.get("seed") if isinstance(told, dict) else None
    return {
        "model": entry.model, "input": asked if isinstance(asked, dict) else {}, "request_id": entry.request_id,
        "credits": entry.credits, "credits_source": source_of(entry.charged),
        "seed": seed if seed is not None or not isinstance(asked, dict) else asked.get("seed"),
        "made_at": _moment(entry.finished or entry.created), "service": entry.service,
    }  # fmt: skip


class _Copies:
    """The files in the folder: which are ours, and which stay as they are."""

    def __init__(self, folder: Path, write: Write) -> None:
        self.made: dict[str, dict[str, Any]] = {}
        self._folder, self._write = folder, write
        self._before = _known(folder)
        # Names that differ in capitals only are one name on some systems.
        self._taken: set[str] = set()

    def copy(self, source: Path, sha256: str, stem: str, facts: Mapping[str, Any]) -> str:
        """The name of a copy of this file, which is made unless the same one is there."""
        # Copies that are to be signed are others than those that are not.
        told = [sha256, facts, *([repr(options.sign)] if options.sign else [])]
        mark = hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()
        for name in _names(stem, source.suffix):
            target, before = self._folder / name, self._before.get(name, {})
            if name.casefold() in self._taken:
                continue
            if before.get("of") == mark and self._is_there(target, before):
                return self._noted(name, before)
            part = self._folder / f".{secrets.token_hex(8)}{source.suffix}"
            try:
                beside = self._write(source, part, facts)
                note = {"of": mark, "sha256": _hash(part), **({"sidecar": True} if beside else {})}
                there = _hash(target) if target.exists() else None
                # What we have made and nobody has changed since may be replaced; anything else of this name stays.
                if there not in (None, note["sha256"], before.get("sha256")):
                    continue
                if there != note["sha256"]:
                    part.replace(target)
                if beside:
                    _write_text(_sidecar(target), beside)
                return self._noted(name, note)
            finally:
                part.unlink(missing_ok=True)
        raise AssertionError("there is always another name")

    @property
    def notes(self) -> dict[str, dict[str, Any]]:
        """What is known of all files that exports have made here."""
        return {**self._before, **self.made}

    def _is_there(self, target: Path, note: Mapping[str, Any]) -> bool:
        """Whether the copy is as it was made, with its sidecar if it has one."""
        has_all = target.exists() and (not note.get("sidecar") or _sidecar(target).exists())
        return has_all and _hash(target) == note.get("sha256")

    def _noted(self, name: str, note: dict[str, Any]) -> str:
        self.made[name] = note
        self._taken.add(name.casefold())
        return name


def _placed(entry: Entry, paths: Mapping[str, str], copies: _Copies) -> Iterator[str | None]:
    """The names of the copies of a run's files, in their order; a gap for a file that is not here."""
    files, facts = files_of(entry), facts_of(entry)
    stem = name_of(entry, facts["input"])
    for number, file in enumerate(files, 1):
        sha256 = str(file.get("sha256"))
        source = paths.get(sha256)
        if source is None or not os.path.exists(source):  # noqa: PTH110  # It is text, and one of many thousand.
            yield None
        else:
            yield copies.copy(Path(source), sha256, f"{stem}-{number}" if len(files) > 1 else stem, facts)


def _names(stem: str, suffix: str) -> Iterator[str]:
    yield f"{stem}{suffix}"
    number = 1
    while True:
        number += 1
        yield f"{stem}~{number}{suffix}"


def _plain_copy(source: Path, target: Path, facts: Mapping[str, Any]) -> None:
    shutil.copyfile(source, target)


def _sidecar(path: Path) -> Path:
    return path.with_name(path.name + SIDECAR_SUFFIX)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _known(folder: Path) -> dict[str, dict[str, Any]]:
    """What an earlier export has noted of the files that it made."""
    try:
        told = json.loads((folder / JSON_NAME).read_text(encoding="utf-8"))
        return {str(name): facts for name, facts in told["files"].items() if isinstance(facts, dict)}
    except FileNotFoundError:
        if not (folder / CSV_NAME).exists():
            return {}
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        pass
    raise ReelbookError(
        f"{folder} holds a {JSON_NAME} or {CSV_NAME} that no export has made, and which would be lost. Choose another folder."
    )


def _told(entry: Entry, names: Sequence[str | None]) -> dict[str, Any]:
    (asked,), (told,) = parsed([entry.input]), parsed([entry.output])
    return {
        "run": entry.id, "model": entry.model, "service": entry.service, "take": entry.take,
        "status": WORDS.get(entry.state, entry.state), "request_id": entry.request_id, "input": asked, "output": told,
        "credits": entry.credits, "credits_source": source_of(entry.charged), "queued_s": entry.queued_s,
        "running_s": entry.running_s, "error_type": entry.error_type, "error": entry.error,
        "created": _moment(entry.created), "finished": _moment(entry.finished), "files": list(names),
    }  # fmt: skip


def _write_json(folder: Path, runs: Sequence[Mapping[str, Any]], files: Mapping[str, Any]) -> None:
    text = json.dumps({"runs": runs, "files": files}, ensure_ascii=False, indent=1, default=str)
    _write_text(folder / JSON_NAME, text)


def _write_csv(folder: Path, frame: pd.DataFrame, names: Mapping[int, Sequence[str | None]]) -> None:
    # The paths of this machine say nothing elsewhere; the names in the folder stand for them.
    told = frame.drop(columns=["output_video", "output_images"])
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["run", "files", *map(_safe, told.columns)])
    columns = [told[name].tolist() for name in told.columns]
    for run, *values in zip(told.index, *columns, strict=True):
        writer.writerow([run, " ".join(filter(None, names.get(run, ()))), *map(_cell, values)])
    _write_text(folder / CSV_NAME, text.getvalue())


def _cell(value: Any) -> Any:
    if isinstance(value, (list, dict)):
        return _safe(written(value))
    if isinstance(value, str):
        return _safe(value)
    return "" if pd.isna(value) else value.isoformat() if isinstance(value, datetime) else value


def _safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula: what a stranger wrote must not be run by who opens the table."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _write_text(path: Path, text: str) -> None:
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        part.write_text(text, encoding="utf-8", errors="replace", newline="")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _moment(seconds: float | None) -> str | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def _is_short(seed: Any) -> bool:
    return type(seed) is int and abs(seed) < 10**12
