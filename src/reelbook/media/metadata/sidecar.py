"""Sidecars: records of runs in separate files, for media files that must not be changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

from .file_pieces import MAX_BYTES
from .run_record import format_record, parse_record

SUFFIX = ".reelbook.json"
"""Appended to the full name of the file: `boat.mp4.reelbook.json`."""


@dataclass(frozen=True, slots=True)
class Sidecar:
    """The content of a sidecar."""

    sha256: str
    """The hash of the media file's content."""
    record: Mapping[str, Any]
    """The record of the run, see `run_record.format_record`."""


def format_sidecar(sha256: str, facts: Mapping[str, Any]) -> str:
    """The text of a sidecar for the file with this hash.

    >>> format_sidecar("ab12", {"model": "svc/smart-resize"})
    '{"sha256": "ab12", "record": {"endpointId": "svc/smart-resize"}}'
    """
    return json.dumps({"sha256": sha256, "record": parse_record(format_record(facts)) or {}}, ensure_ascii=False)


def sidecar_path(path: Path) -> Path:
    """The path of a file's sidecar."""
    return path.with_name(path.name + SUFFIX)


def hash_file(file: BufferedReader) -> str:
    """The sha256 of a file's content."""
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()


def read_sidecar(path: Path) -> Sidecar | None:
    """The sidecar of a file; None if it is missing or invalid."""
    own = sidecar_path(path)
    try:
        if own.stat().st_size > 2 * MAX_BYTES:
            return None
        found = parse_record(own.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if found is None or not isinstance(found.get("sha256"), str) or not isinstance(found.get("record"), dict):
        return None
    return Sidecar(found["sha256"], found["record"])
