"""The names a notebook types: there, documented, and never hidden by a module of the same name."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

import reelbook


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


def test_every_public_name_has_a_docstring() -> None:
    """help(rb.anything) says what you get."""
    undocumented = [
        name for name in reelbook.__all__ if not name.startswith("__") and not getattr(reelbook, name).__doc__
    ]

    assert undocumented == []
