"""A cache of model descriptions on disk, which expire after a day."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..util.replace_file import PRIVATE, replace_file

CACHE_SECONDS = 24 * 3600.0


class DescriptionCache:
    """The descriptions of one service's models."""

    def __init__(self, folder: Path, service: str) -> None:
        self._folder, self._service = folder, service

    def read(self, endpoint_id: str, *, allow_stale: bool = False) -> Mapping[str, Any] | None:
        """Read a description up to a day old, or of any age with `allow_stale`; None if there is none."""
        path = self._path(endpoint_id)
        with contextlib.suppress(OSError, ValueError, RecursionError):
            if allow_stale or time.time() - path.stat().st_mtime < CACHE_SECONDS:
                document = json.loads(path.read_text(encoding="utf-8"))
                return document if isinstance(document, dict) else None
        return None

    def save(self, endpoint_id: str, document: Mapping[str, Any]) -> None:
        """Store a description. Disk errors are ignored: it is then requested again."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._path(endpoint_id), json.dumps(document).encode(), mode=PRIVATE)

    def _path(self, endpoint_id: str) -> Path:
        # Hashed: a model's id may contain anything.
        return self._folder / f"{hashlib.sha256(f'{self._service} {endpoint_id}'.encode()).hexdigest()[:32]}.json"
