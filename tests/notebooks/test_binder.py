"""Binder's files: the Python that it takes, and an environment made of them in which the first notebook runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]


def test_binder_takes_a_python_that_the_package_allows() -> None:
    """Without a line about it, Binder would take one that is too old."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]

    name, _, version = (ROOT / "binder" / "runtime.txt").read_text(encoding="utf-8").strip().partition("-")

    assert name == "python"
    assert version in SpecifierSet(wanted)


@pytest.mark.deep
@pytest.mark.timeout(600)
def test_the_first_notebook_runs_in_an_environment_of_binders_files(tmp_path: Path) -> None:
    """The lock in a fresh environment, the package on top by postBuild, and the notebook from top to bottom."""
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tmp_path / "copy" / name)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "made"], check=True)
    path = f"{tmp_path / 'made' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "REELBOOK", "VIRTUAL"))}
    environment = {**kept, "PATH": path, "HOME": str(tmp_path), "IPYTHONDIR": str(tmp_path), "JUPYTER_PREFER_ENV_PATH": "1"}

    def do(*command: str, folder: str = "") -> None:
        ended = subprocess.run(
            command, cwd=tmp_path / "copy" / folder, env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr[-2000:]

    do("python", "-m", "pip", "install", "--quiet", "-r", "binder/requirements.txt")
    do("sh", "binder/postBuild")
    done = tmp_path / "done.ipynb"
    do(*"python -m jupyter nbconvert --to notebook --execute 01-first-video.ipynb --output".split(), str(done), folder="notebooks")

    cells = nbformat.read(done, as_version=4).cells  # type: ignore[no-untyped-call]
    shown = [output for cell in cells for output in cell.get("outputs", ())]
    assert any("<video" in output.get("data", {}).get("text/html", "") for output in shown)
