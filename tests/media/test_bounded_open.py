"""Files that swell: what is shown of them takes a bounded part of the kernel's memory, and they are kept and listed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.media.swelling import SOME, files
from tests.support import deep

MAX_MIB = 300
SHOWN = {"animated.gif", "bits.png", "middling.webp", "plain.jpg"}
"""What takes little enough to be shown; the others are said to be too large, but for a small file that browsers show."""


@pytest.mark.parametrize("every", [False, *deep((True,))])
def test_no_file_takes_more_memory_than_is_allowed(tmp_path: Path, every: bool) -> None:
    """Five or thirteen kinds, one after the other and then together, in a process of their own."""
    made = list(files(tmp_path, every=every))
    root = Path(__file__).parents[2]
    shown = subprocess.run(
        [sys.executable, "-m", "tests.media.swelling_shown", str(tmp_path)],
        check=True, cwd=root, capture_output=True, text=True, timeout=300,
    )  # fmt: skip

    found = {name: rest for name, *rest in map(json.loads, shown.stdout.splitlines())}

    expected = SHOWN if every else SHOWN & SOME
    assert len(found) == len(made) + 1
    assert {name: growth for name, (_, growth, *_) in found.items() if growth > MAX_MIB} == {}
    assert {name for name, (_, _, has_poster, told, _) in found.items() if has_poster and not told} == expected | {
        "together"
    }
    assert {name for name, (_, _, has_poster, told, _) in found.items() if told and not has_poster} == set(
        found
    ) - expected - {"together", "still.gif"}
    assert all(is_saved for *_, is_saved in found.values())
    assert found["largest.webp"][0] == [13_000, 13_000]
    assert found["film.mp4"][0] == [9_000, 4_500]
