"""Files are replaced completely, or stay as they were."""

from __future__ import annotations

import os
from pathlib import Path

from reelbook.util.replace_file import PRIVATE, replace_file


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    """Its mode is that of the new file."""
    path = tmp_path / "key"
    path.write_bytes(b"before")

    replace_file(path, b"after", mode=PRIVATE)

    assert path.read_bytes() == b"after"
    assert list(tmp_path.iterdir()) == [path]
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == PRIVATE
