"""Files that swell: what is shown of them takes a bounded part of the kernel's memory, and they are kept and listed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.media.swelling import SHOWN, make_files

MAX_MIB = 300


def test_no_file_takes_more_memory_than_is_allowed(tmp_path: Path) -> None:
    """One after the other and then together, in a process of their own."""
    make_files(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "tests.media.swelling", str(tmp_path)],
        check=True, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=300,
    )  # fmt: skip

    rows = {name: rest for name, *rest in map(json.loads, done.stdout.splitlines())}

    assert {name: growth for name, (_, growth, *_) in rows.items() if growth > MAX_MIB} == {}
    assert {name for name, (_, _, has_poster, _, _) in rows.items() if has_poster} == {*SHOWN, "together"}
    assert {name for name, (_, _, _, told, _) in rows.items() if told} == {"largest.webp", "film.mp4"}
    assert all(is_saved for *_, is_saved in rows.values())
    assert rows["largest.webp"][0] == [13_000, 13_000]
    assert rows["film.mp4"][0] == [9_000, 4_500]
