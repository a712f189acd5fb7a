"""Functions that packages above offer to those below: registered by name, imported when first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

PACKAGES = ("reelbook.api", "reelbook.display", "reelbook.widgets")
"""The packages that offer something, each in its `__init__`, which is small."""

_MODULES: dict[str, str] = {}


def register(module: str, *names: str) -> None:
    """Offer these names of a module."""
    _MODULES.update(dict.fromkeys(names, module))


def find(name: str) -> Any:
    """What was registered under this name."""
    for package in PACKAGES:
        import_module(package)
    return getattr(import_module(_MODULES[name]), name)
