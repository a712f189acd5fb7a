"""Export runs to a folder: files with readable names, and a table of inputs and credits."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import ReelbookError
from ..media.bounded_open import read_picture_size
from ..media.file_names import is_resize, make_file_name, slug
from ..media.metadata.provenance import write, write_sidecar
from ..util.replace_file import replace_file
from .ledger.transitions import Entry
from .shelf import Shelf, hash_file
from .table import INDEX_NAME, format_json, get_facts

CSV_NAME = "runs.csv"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export_runs(
    folder: Path, entries: Sequence[Entry], frame: pd.DataFrame, shelf: Shelf, labels: Mapping[int, int | str]
) -> Path:
    """Copy the files of these runs into the folder, and write their table. Existing copies stay as they are.

    `labels` are those of the runs in the user's table, by their number in the library.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        earlier = read_exported(folder)
        numbers, names = [], []
        for entry in entries:
            number = labels.get(entry.id, entry.id)
            facts, copies = get_facts(entry), []
            for place, sha256 in enumerate(entry.hashes, 1):
                if (source := shelf.find(sha256)) is not None:
                    several = f"-{place}" if len(entry.hashes) > 1 else ""
                    stem = f"{_format_stem(facts, number, source)}{several}"
                    copies.append(_copy(source, folder, stem, facts, earlier))
            numbers.append(number)
            names.append(" ".join(copies))
        # Local paths mean nothing on another machine; the names in the folder replace them.
        # So do the addresses of results, each of which gives access to its file.
        hidden = [name for name in frame.columns if name.startswith("output_") and name.endswith("url")]
        table = frame.drop(columns=["output_video", "output_images", *hidden]).rename_axis(INDEX_NAME).reset_index()
        table.insert(0, "run", numbers)
        table.insert(1, "files", names)
        table = table.astype(object).map(_format_cell).rename(columns=_format_cell)
        replace_file(folder / CSV_NAME, table.to_csv(index=False).encode(errors="replace"))
    except OSError as error:
        raise ReelbookError(
            f"The runs could not be exported to {folder} ({error.strerror or error}). Choose a folder that can be written "
            "to, with room for the files, and export again."
        ) from error
    return folder


def _format_stem(facts: Mapping[str, Any], number: int | str, source: Path) -> str:
    """A readable file name that is valid on every system: number, words, size of a resize, and seed."""
    size = None
    if is_resize(facts):
        with contextlib.suppress(Exception):  # Decoders raise errors of many types for a broken file.
            size = read_picture_size(source)
    prefix = f"{number:04d}" if isinstance(number, int) else slug(number)
    return f"{prefix}-{make_file_name(facts, size)}"


def _copy(source: Path, folder: Path, stem: str, facts: Mapping[str, Any], earlier: Mapping[str, Any]) -> str:
    """Copy a file, unless it is there from an earlier export; returns the copy's name."""
    part = folder / f".{secrets.token_hex(8)}{source.suffix}"
    try:
        for number in count(1):
            path = folder / f"{stem}{f'~{number}' if number > 1 else ''}{source.suffix}"
            if not path.exists() or earlier.get(path.name) != facts["request_id"]:
                write(source, part, facts)
                if path.exists() and hash_file(path) != hash_file(part):
                    continue
                if not path.exists():
                    write_sidecar(source, path, facts)
                    part.replace(path)
            return path.name
    finally:
        part.unlink(missing_ok=True)
    raise AssertionError("There is always another name.")


def read_exported(folder: Path) -> dict[str, str]:
    """The request of each file that an earlier export made here, by its name."""
    try:
        table = pd.read_csv(folder / CSV_NAME, dtype=str, keep_default_na=False)
        return {
            name: request.removeprefix("'")
            for names, request in zip(table["files"], table["request_id"], strict=True)
            for name in names.removeprefix("'").split()
        }
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError):
        raise ReelbookError(
            f"{folder} has a {CSV_NAME} that no export has made, and which would be lost. Choose another folder."
        ) from None


def _format_cell(value: Any) -> Any:
    """A value for a cell, with text escaped that a spreadsheet would take for a formula."""
    if isinstance(value, (list, dict)):
        value = format_json(value)
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return "" if pd.isna(value) else value.isoformat() if isinstance(value, datetime) else value
