"""A cache of measured figures in a folder, by the hash of the file's content."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from .gauge import Value


class Cache:
    """Figures by the hash of a file's content and by name; entries that cannot be read or written are ignored.

    Every measurement adds a small file and changes none, so any number of processes may share a folder.

    >>> from tempfile import mkdtemp
    >>> cache = Cache(mkdtemp())
    >>> cache.keep("c0ffee", {"sharpness 1": 12.5})
    >>> cache.find("c0ffee"), cache.find("decaf")
    ({'sharpness 1': 12.5}, {})
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def find(self, sha256: str) -> dict[str, Value]:
        """All cached figures of the file with this hash."""
        found: dict[str, Value] = {}
        with contextlib.suppress(OSError):
            for path in sorted(self._place(sha256).glob("*.json")):
                found |= _read(path)
        return found

    def keep(self, sha256: str, values: Mapping[str, Value]) -> None:
        """Add figures; disk errors are ignored."""
        if not values:
            return
        # The same names have the same values, so concurrent writers do not matter.
        name = hashlib.sha256(json.dumps(sorted(values)).encode()).hexdigest()[:16]
        part = self._place(sha256) / f"{uuid4().hex}.part"
        try:
            part.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(json.dumps(dict(values)), encoding="utf-8")
            part.replace(part.with_name(f"{name}.json"))
        except OSError:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)

    def _place(self, sha256: str) -> Path:
        return self.folder / sha256[:2] / sha256


def _read(path: Path) -> dict[str, Value]:
    """The figures in one file; none if it is incomplete or of another format."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(values, dict):
        return {}
    return {name: value for name, value in values.items() if value is None or isinstance(value, (int, float, str))}
