"""How other kernels are made: once, whole, by one at a time, and with a clear word where there is no registry."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.kernels import environments
from tests.kernels.environments import NoKernel, environment, installer, pins

ABSENT = "a-package-that-nobody-has==1.0"
MAKES = """
import pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--target") + 1])
folder.mkdir()
(folder / "wanted.txt").write_text(sys.argv[-1])
with (folder.parent.parent / "made.txt").open("a") as made:
    made.write(folder.parent.name + "\\n")
"""
FAILS = "import sys; sys.exit('Looking in the shelf\\nERROR: no route to it')"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for kernels, and one list, of a package that is not installed."""
    (tmp_path / "9.9.txt").write_text(f"{ABSENT}\n")
    monkeypatch.setattr(environments, "HERE", tmp_path)
    monkeypatch.setattr(environments, "KEPT", tmp_path / "kept")
    return tmp_path / "kept"


def install_with(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let a script stand in for the installer."""
    monkeypatch.setattr(environments, "installer", lambda name: [sys.executable, "-c", script])


@pytest.mark.parametrize("name", ["6.31", "7.3", "7.4"])
def test_every_list_names_one_kernel_of_its_version(name: str) -> None:
    """A list is exact versions, and the kernel's is the one of the list's name."""
    (kernel,) = (pin for pin in pins(name) if pin.startswith("ipykernel=="))

    assert kernel.startswith(f"ipykernel=={name}.")


def test_several_at_a_time_make_one(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that want the same kernel at once wait for the first of them, and all use what it made."""
    install_with(monkeypatch, MAKES)

    with ThreadPoolExecutor(4) as pool:
        folders = set(pool.map(environment, ["9.9"] * 4))

    (folder,) = folders
    assert folder is not None
    assert (folder / "wanted.txt").read_text() == ABSENT
    assert len((kept / "made.txt").read_text().splitlines()) == 1


def test_one_that_is_there_is_not_made_again(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time nothing is installed, so no registry is needed."""
    install_with(monkeypatch, MAKES)
    first = environment("9.9")
    install_with(monkeypatch, FAILS)

    assert environment("9.9") == first


def test_nothing_is_left_of_one_that_could_not_be_made(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failure says what is missing, why, and what to do, and the next try begins anew."""
    install_with(monkeypatch, FAILS)

    with pytest.raises(NoKernel) as raised:
        environment("9.9")

    assert ABSENT in str(raised.value)
    assert "need a package registry once" in str(raised.value)
    assert str(raised.value).endswith("ERROR: no route to it")
    assert [path.suffix for path in kept.iterdir()] == [".lock"]
    install_with(monkeypatch, MAKES)
    assert environment("9.9")


def test_what_is_installed_already_needs_no_folder(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that the project's own Python meets is met by it."""
    (kept.parent / "9.9.txt").write_text(f"pytest=={pytest.__version__}\n")
    install_with(monkeypatch, FAILS)

    assert environment("9.9") is None
    assert not kept.exists()


def test_a_python_without_pip_uses_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that uv made has no pip; without either the failure says so."""
    known = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pip" else known(name))
    monkeypatch.setattr(shutil, "which", lambda name: f"/somewhere/{name}")
    assert installer("9.9")[:3] == ["/somewhere/uv", "pip", "install"]

    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(NoKernel, match=r"9\.9.* no pip.* no uv"):
        installer("9.9")
