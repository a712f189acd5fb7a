"""The front door: what `import reelbook` costs, and what it shows."""

from __future__ import annotations

import ast
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

import reelbook

HEAVY = ("pandas", "ipywidgets", "starlette", "av", "httpx", "pydantic", "numpy", "PIL", "IPython")

LOOK_AROUND = """
import os, sys, threading

class Watched(dict):
    read = []
    def __getitem__(self, name):
        Watched.read.append(name)
        return super().__getitem__(name)

os.environ._data = Watched(os.environ._data)
import reelbook
import json
print(json.dumps({"modules": sorted(sys.modules), "threads": threading.active_count(), "read": [str(name) for name in Watched.read]}))
"""


def in_a_fresh_python(code: str, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=True, timeout=60)


def test_importing_brings_nothing_heavy_along() -> None:
    """The import alone loads no package of others, and of our own only the front door."""
    trace = in_a_fresh_python("import reelbook", "-X", "importtime").stderr

    names = {line.rpartition("|")[2].strip() for line in trace.splitlines()}
    assert "reelbook" in names
    assert not [name for name in names if name.partition(".")[0] in HEAVY]
    assert {name for name in names if name.startswith("reelbook.")} == {"reelbook._version"}


def test_importing_is_quiet() -> None:
    """The import starts no thread and reads no setting from the environment."""
    seen = json.loads(in_a_fresh_python(LOOK_AROUND).stdout)

    assert "reelbook" in seen["modules"]
    assert seen["threads"] == 1
    assert seen["read"] == []


def test_the_watch_on_the_environment_works() -> None:
    """The control of the test above: a setting that is read is noticed."""
    reading = LOOK_AROUND.replace("import reelbook\n", "os.environ.get('REELBOOK_URL')\n")

    assert "REELBOOK_URL" in " ".join(json.loads(in_a_fresh_python(reading).stdout)["read"])


def test_importing_takes_a_third_of_the_time_of_httpx_at_most() -> None:
    """Beside `import httpx`, in turns, the import is quick: at most 0.3 of its time."""
    took: dict[str, list[float]] = {"reelbook": [], "httpx": [], "sys": []}

    for _ in range(3):
        for module, times in took.items():
            began = time.perf_counter()
            in_a_fresh_python(f"import {module}")
            times.append(time.perf_counter() - began)

    # Python's own start is no part of either import.
    start = statistics.median(took["sys"])
    ours, theirs = (statistics.median(took[module]) - start for module in ("reelbook", "httpx"))
    assert ours <= 0.3 * theirs, f"{ours:.3f} s beside {theirs:.3f} s"


def test_every_public_name_is_there() -> None:
    """`__all__` is sorted, holds each name once, and each of them leads to something."""
    names = reelbook.__all__

    assert names == sorted(names)
    assert len(names) == len(set(names))
    assert all(getattr(reelbook, name) is not None for name in names)
    assert set(names) - set(dir(reelbook)) == {*reelbook.errors.__all__} & {*names}


def test_the_types_name_the_same_modules() -> None:
    """The stub, which type checkers and editors read, imports each public name from where it is found."""
    stub = ast.parse(Path(reelbook.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    typed = {
        alias.name: node.module
        for node in ast.walk(stub)
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }

    assert typed == {**vars(reelbook)["_MODULES"], "__version__": "_version"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A name that is not there says so the way Python does, so that `hasattr` works."""
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        reelbook.runn  # type: ignore[attr-defined]  # noqa: B018

    assert not hasattr(reelbook, "_repr_html_")


def test_the_types_are_announced() -> None:
    """Type checkers read our annotations, because the package says that it has them."""
    assert (Path(reelbook.__file__).parent / "py.typed").is_file()
