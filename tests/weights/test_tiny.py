"""The tiny weights that the other tests load: made the same each time."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tests.weights.tiny import LORAS, make_weights


def test_tiny_weights_are_the_same_each_time(weights: Path, tmp_path: Path) -> None:
    """So that a figure found in one test run holds in the next."""
    make_weights(tmp_path)

    def digests(root: Path) -> dict[str, str]:
        files = [path for path in sorted(root.rglob("*.safetensors")) if path.parent.name != LORAS]
        return {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    assert digests(weights) == digests(tmp_path)
