"""Descriptions of models, kept for a day so that a form or an input need not ask for them again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

KEPT_SECONDS = 24 * 3600.0


class Descriptions:
    """What one service says of its models."""

    def __init__(self, folder: Path, service: str) -> None:
        self._folder, self._service = folder, service

    def read(self, endpoint_id: str, *, anyhow: bool = False) -> Mapping[str, Any] | None:
        """The description, if it is not older than a day; `anyhow`, however old it is."""
        path = self._path(endpoint_id)
        with contextlib.suppress(OSError, ValueError, RecursionError):
            if anyhow or time.time() - path.stat().st_mtime < KEPT_SECONDS:
                kept = json.loads(path.read_text(encoding="utf-8"))
                return kept if isinstance(kept, dict) else None
        return None

    def keep(self, endpoint_id: str, document: Mapping[str, Any]) -> None:
        """Keep it from now on. A disk that does not take it only means that it is asked for again."""
        path = self._path(endpoint_id)
        part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                json.dump(document, file)
            part.replace(path)

    def _path(self, endpoint_id: str) -> Path:
        # A name of ours: a model's id may hold anything.
        name = hashlib.sha256(f"{self._service}\n{endpoint_id}".encode()).hexdigest()[:32]
        return self._folder / f"{name}.json"
