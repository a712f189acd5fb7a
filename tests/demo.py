"""`make demo`, run once for all tests that look at what came of it, whichever worker has them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from reelbook.util.file_locks import try_lock, unlock
from tests.support import examples

ROOT = Path(__file__).resolve().parents[1]
FIRST = ROOT / "notebooks" / "01-first-video.ipynb"
FRAMES = examples(9, 25)
"""How long its clips are: as they are written with `make deep`, and otherwise short and small."""


@dataclass(frozen=True)
class Demo:
    """One run of the demo."""

    page: Path
    notebook: Path
    """The first notebook with its outputs."""
    printed: str
    seconds: float


def run_demo(folders: pytest.TempPathFactory) -> Demo:
    """What the demo made: as `make demo` runs it once the environment is there, with a hosted service it must not call."""
    own = folders.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "demo"
    folder.mkdir(exist_ok=True)
    page, told = folder / "first-video.html", folder / "told.json"
    file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while not try_lock(file, wait=True):
            pass  # Only Windows gives up, after ten seconds.
        if not told.exists():
            told.write_text(json.dumps(_run(page)), encoding="utf-8")
    finally:
        unlock(file)
        os.close(file)
    return Demo(page, page.with_suffix(".ipynb"), **json.loads(told.read_text(encoding="utf-8")))


def _run(page: Path) -> dict[str, object]:
    source = FIRST
    if FRAMES != 25:
        text = FIRST.read_text(encoding="utf-8")
        assert text.count("num_frames=25,") == 1
        source = page.with_name("source.ipynb")
        short = text.replace("num_frames=25,", f'num_frames={FRAMES}, resolution=\\"480p\\",')
        source.write_text(short, encoding="utf-8")
    environment = {**os.environ, "REELBOOK_URL": "http://127.0.0.1:9", "REELBOOK_API_KEY": "not-to-be-used"}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, ".ci/demo.py", str(page), *([str(source)] if source != FIRST else [])], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )  # fmt: skip
    seconds = time.perf_counter() - began
    assert done.returncode == 0, done.stderr
    return {"printed": done.stdout, "seconds": seconds}
