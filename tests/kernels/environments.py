"""Other kernels than the lock's: made once with the project's own Python, and kept under build/.

    folder = environment("6.31")    # what stands in 6.31.txt, beside all else of the lock

A folder holds only what differs from the lock; it goes first on the path of a kernel that is started with this very Python.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from reelbook.util.file_locks import try_lock, unlock

HERE = Path(__file__).parent
KEPT = HERE.parents[1] / "build" / "kernels"
SECONDS = 90.0
"""How long a registry may take for less than one megabyte."""


class NoKernel(AssertionError):
    """A kernel of this version could not be had: the claims about it are not tested, so the test fails."""


def pins(name: str) -> list[str]:
    """The lines of a list of exact versions, such as `ipykernel==7.3.0`."""
    lines = (HERE / f"{name}.txt").read_text(encoding="utf-8").split()
    assert all("==" in line for line in lines), f"{name}.txt has a line that is no exact version: {lines}"
    return lines


def environment(name: str) -> Path | None:
    """The folder with these versions, made if need be; None where this Python has them already."""
    missing = [pin for pin in pins(name) if not is_installed(pin)]
    if not missing:
        return None
    # Another list, or another Python, is another folder; nothing is ever changed in one.
    told = "\n".join([sys.implementation.cache_tag, *missing])
    folder = KEPT / f"{name}-{hashlib.sha256(told.encode()).hexdigest()[:12]}"
    if not folder.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        make(name, missing, folder)
    return folder


def is_installed(pin: str) -> bool:
    name, _, wanted = pin.partition("==")
    try:
        return version(name) == wanted
    except PackageNotFoundError:
        return False


def make(name: str, missing: Sequence[str], folder: Path) -> None:
    """Install into a folder beside, then put it there whole; others who want the same one wait meanwhile."""
    file = os.open(folder.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while not try_lock(file, wait=True):
            pass  # Only Windows gives up, after ten seconds.
        if not folder.exists():
            with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=KEPT) as beside:
                install(name, missing, Path(beside) / "made")
                (Path(beside) / "made").rename(folder)
    finally:
        unlock(file)
        os.close(file)


def install(name: str, missing: Sequence[str], folder: Path) -> None:
    """Let the installer of this environment do it: it knows the person's registry."""
    command = [*installer(name), "--quiet", "--no-deps", "--only-binary=:all:", "--target", str(folder), *missing]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise NoKernel(told(name, missing, f"there was no answer within {SECONDS:.0f} s")) from None
    if ended.returncode:
        raise NoKernel(told(name, missing, "the installer ended with an error", ended.stderr or ended.stdout))


def installer(name: str) -> list[str]:
    """How packages are installed here: with pip, where this environment has it, else with uv."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable]
    raise NoKernel(f"The kernel of {name}.txt could not be installed: this environment has no pip, and there is no uv.")


def told(name: str, missing: Sequence[str], why: str, words: str = "") -> str:
    """The sentence of a failure. What the installer said may name the person's registry, so only its last words are shown."""
    wanted, last = ", ".join(missing), words.strip().splitlines()[-1:]
    return (
        f"The kernel of tests/kernels/{name}.txt could not be installed ({wanted}), so nothing is known about it: {why}. "
        "These tests need a package registry once; what they install is kept under build/kernels. "
        f"Make it reachable and run them again. {' '.join(last)}".strip()
    )
