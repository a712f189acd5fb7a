"""The names a notebook types: there, documented, and never hidden by a module of the same name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import textwrap
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image

import reelbook
from reelbook.current import session


def test_no_module_takes_the_place_of_a_public_name() -> None:
    """Importing a submodule sets an attribute of its name on the package; a function of that name would vanish."""
    modules = [
        name
        for _, name, _ in pkgutil.walk_packages(reelbook.__path__, "reelbook.")
        # The pipelines need torch, which is not here.
        if not name.endswith("__main__") and ".weights.pipelines." not in name
    ]

    for name in modules:
        importlib.import_module(name)

    assert "reelbook.client" in modules
    assert [name for name in reelbook.__all__ if isinstance(getattr(reelbook, name), ModuleType)] == []


HELD = (
    "sweeps.job.SweepJob", "decide.race.race.Race", "decide.ratings.Ratings", "media.local_file.LocalFile",
    "display.compare.comparison.Comparison", "widgets.forms.form.Form", "media.local_file.Explorer", "api.table_accessor.Reel",
)  # fmt: skip
"""What a notebook holds without having typed its name."""


def examples() -> dict[str, str]:
    """The docstring of each public name that is no error, and of what a notebook holds."""
    named = {name: getattr(reelbook, name) for name in reelbook.__all__ if not name.startswith("__")}
    for path in HELD:
        module, name = path.rsplit(".", 1)
        named[name] = getattr(importlib.import_module(f"reelbook.{module}"), name)
    return {name: value.__doc__ for name, value in named.items() if not is_error(value)}


def is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)


def test_every_public_name_has_a_docstring() -> None:
    """help(rb.anything) says what you get."""
    undocumented = [
        name for name in reelbook.__all__ if not name.startswith("__") and not getattr(reelbook, name).__doc__
    ]

    assert undocumented == []


def test_every_public_name_has_an_example_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a reader would paste it, after `import reelbook as rb` and an input called `boat`; doctests run by themselves."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REELBOOK_LIBRARY", str(tmp_path / "library"))
    Image.new("RGB", (64, 64)).save("boat.png")
    boat = reelbook.TextToVideo(prompt="a paper boat", num_frames=9, resolution="480p", aspect_ratio="1:1", seed=7)
    without = []
    try:
        for name, docstring in examples().items():
            before, separator, example = inspect.cleandoc(docstring).partition("Example::\n\n")
            if separator:
                exec(textwrap.dedent(example), {"rb": reelbook, "boat": boat})
            elif ">>>" not in before and "Example" not in before:
                without.append(name)
    finally:
        while session.current:
            session.current.close()

    assert without == []
