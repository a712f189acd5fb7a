"""The build: what `make` offers, which Pythons it takes, and a lock that names versions and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LOCK = re.sub(r" \\\n *", " ", (ROOT / "binder" / "requirements.txt").read_text(encoding="utf-8")).splitlines()
"""One package a line, with its hashes."""
PINNED = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9._-]*)==(?P<version>[0-9][A-Za-z0-9.+!]*)(?: ; (?P<marker>[^;]+?))?"
    r"(?: --hash=sha256:[0-9a-f]{64})+"
)


def script(path: Path, body: str) -> Path:
    """A program made of a few lines of shell."""
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A PATH with the two tools that the script needs, so that no uv of this machine is found."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("sh", "rm"):
        (folder / tool).symlink_to(shutil.which(tool) or f"/bin/{tool}")
    return folder


def made(python: Path | str, venv: Path, tools: Path) -> subprocess.CompletedProcess[str]:
    """What .ci/venv does with this Python."""
    return subprocess.run(
        ["sh", ".ci/venv"], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False,
        env={"PATH": str(tools), "PYTHON": str(python), "VENV": str(venv)},
    )  # fmt: skip


@pytest.mark.parametrize("arguments", [[], ["help"]])
def test_make_lists_its_targets(arguments: list[str]) -> None:
    """`make` alone, or `make help`, names each target with what it does, and makes nothing."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}

    done = subprocess.run(
        ["make", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=30, check=True, env=environment
    )

    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    listed = dict(re.findall(r"^\s*make ([\w-]+)\s+(\S.*)$", done.stdout, re.MULTILINE))
    assert listed.keys() == set(phony.split())
    assert {"demo", "test"} <= listed.keys()
    assert all(len(words) > 10 for words in listed.values())


class TestEnvironment:
    """Making the environment on machines that lack something."""

    def test_an_old_python_is_refused_in_a_sentence(self, tmp_path: Path, tools: Path) -> None:
        """What is needed, what there is, and how to name another one; nothing is made."""
        old = script(tmp_path / "python3", 'case "$1" in -V) echo "Python 3.9.2";; *) exit 1;; esac')

        done = made(old, tmp_path / "venv", tools)

        assert done.returncode == 1
        assert f"Reelbook needs Python 3.11 or newer; '{old}' is Python 3.9.2." in done.stderr
        assert "make PYTHON=" in done.stderr
        assert not (tmp_path / "venv").exists()

    def test_a_missing_python_is_refused_in_a_sentence(self, tmp_path: Path, tools: Path) -> None:
        """A name that leads nowhere is not mistaken for an old one."""
        done = made(tmp_path / "nowhere", tmp_path / "venv", tools)

        assert done.returncode == 1
        assert "Reelbook needs Python 3.11 or newer" in done.stderr
        assert not (tmp_path / "venv").exists()

    def test_a_python_without_venv_names_the_missing_package(self, tmp_path: Path, tools: Path) -> None:
        """Where a system splits `venv` off, the message says which package to install."""
        bare = script(tmp_path / "python3", 'case "$1" in -m) echo "no ensurepip" >&2; exit 1;; *) exit 0;; esac')

        done = made(bare, tmp_path / "venv", tools)

        assert done.returncode == 1
        assert "python3-venv" in done.stderr

    def test_an_environment_that_broke_off_is_made_anew(self, tmp_path: Path, tools: Path) -> None:
        """A folder without a working pip is removed before a new one is made in its place."""
        (tmp_path / "venv" / "bin").mkdir(parents=True)
        script(tmp_path / "venv" / "bin" / "python", 'case "$1" in -m) exit 1;; *) exit 0;; esac')
        (tmp_path / "venv" / "left over").touch()
        maker = script(
            tmp_path / "python3", f'case "$1" in -m) echo "made in $3" > {tmp_path}/log; exit 1;; *) exit 0;; esac'
        )

        made(maker, tmp_path / "venv", tools)

        assert (tmp_path / "log").read_text() == f"made in {tmp_path / 'venv'}\n"
        assert not (tmp_path / "venv").exists()


class TestLock:
    """binder/requirements.txt."""

    def pins(self) -> dict[str, str]:
        lines = [line for line in LOCK if not line.startswith("#")]
        found = [PINNED.fullmatch(line) for line in lines]
        assert [line for line, pin in zip(lines, found, strict=True) if pin is None] == []
        return {pin["name"]: pin["version"] for pin in found if pin}

    def test_each_line_is_one_exact_version(self) -> None:
        """A name, `==`, a version, at most a marker, and hashes; a name twice only where markers tell the two apart."""
        assert len(self.pins()) > 100

    def test_it_names_no_place(self) -> None:
        """No address, no host, no option of pip, no path: the person's own pip decides where packages come from."""
        text = "\n".join(LOCK)

        assert not re.search(r"://|^\s*-|@|file:|\bindex\b|\.(com|org|io|net)\b", text, re.MULTILINE)

    def test_it_holds_all_that_the_package_asks_for(self) -> None:
        """Every dependency, and those of the extras that demo and tests use, has its version."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        extras = project["optional-dependencies"]
        wanted = [*project["dependencies"], *extras["lab"], *extras["test"]]

        names = {re.split(r"[\[<>=!~ ;]", need)[0].lower() for need in wanted}
        assert names - self.pins().keys() == set()


def test_the_top_level_holds_what_was_agreed() -> None:
    """What git tracks there: five folders and the usual files of a project, and no leftover of a tool."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    entries = {line.partition("/")[0] for line in tracked.splitlines()}

    assert entries == {
        *("src", "notebooks", "tests", "binder", ".ci", ".github", ".gitattributes", ".gitignore", ".pre-commit-config.yaml"),
        *("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "pyproject.toml"),
    }  # fmt: skip
