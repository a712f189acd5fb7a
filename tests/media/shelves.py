"""Files as they lie on a library's shelf: under the hash of their content."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from tests.clips import film


def shelved(path: Path, library: Path) -> Path:
    """A file, moved to the shelf of a library."""
    shelf = library / "media"
    shelf.mkdir(parents=True, exist_ok=True)
    return path.rename(shelf / f"{hashlib.sha256(path.read_bytes()).hexdigest()}{path.suffix}")


def shelved_film(library: Path, **how: Any) -> Path:
    """A film on the shelf of a library."""
    library.mkdir(parents=True, exist_ok=True)
    return shelved(film(library / "clip.mp4", **how).path, library)
