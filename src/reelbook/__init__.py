"""Reelbook: the notebook toolkit for hosted video and image models.

    import reelbook as rb

    run = rb.run(rb.TextToVideo(prompt="a paper boat on a rainy street", num_frames=49, seed=7))

Importing this module is quick: each name imports its own module when it is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from ._version import __version__ as __version__

_NAMES = {
    "client": ("Client",),
    "api.runs": ("attach", "cancel_queued", "connect", "estimate", "model", "run", "start"),
    "errors": (
        "BadDescription", "BadRates", "DownloadFailed", "FolderInUse", "Forbidden", "InsufficientCredits", "InvalidInput", "LibraryError", "NotFound", "NotReady",
        "OverBudget", "ReelbookError", "Refused", "RunCancelled", "RunFailed", "RunTimeout", "ServiceBroken", "ServiceError",
        "TooManyRequests", "Unauthorized", "UncertainRun", "UnknownModel", "Unreachable",
    ),
    "api.forms": ("form", "studio"),
    "storage.library": ("Library",),
    "api.comparisons": ("compare",),
    "api.judging": ("judge", "race"),
    "media.metadata.provenance": ("Provenance",),
    "models.image_to_video": ("ImageToVideo",),
    "models.images": ("Image",),
    "models.images_to_video": ("Frame", "ImagesToVideo"),
    "models.catalog": ("Estimate",),
    "models.smart_resize": ("Size", "SmartResize"),
    "models.text_to_video": ("LoRA", "TextToVideo"),
    "api.library": ("library", "provenance", "read", "strip"),
    "runs.run": ("Run",),
    "settings": ("options",),
    "sweeps.parts": ("rows", "sampled", "template", "zipped"),
    "sweeps.plan": ("Plan", "sweep"),
}  # fmt: skip
"""Module → the public names it defines."""

_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted([*_MODULES, "__version__"])  # Their types are in __init__.pyi.


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module(".errors", __name__)
    if name in _MODULES:
        value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
        globals()[name] = value
        _register_with_notebook()
        return value
    raise AttributeError(f"module 'reelbook' has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    """Names for completion; the exceptions are offered under `errors`."""
    return sorted({"errors", *__all__} - {*_NAMES["errors"]})


def _register_with_notebook() -> None:
    """Register the display of Reelbook's values with IPython or marimo, as soon as one of its names is used in a notebook."""
    # Another thread may be half way through that import.
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_ipython() if get_ipython else None
    if shell is not None and not getattr(shell, "_reelbook_registered", False):
        from . import display, widgets

        shell._reelbook_registered = True
        display.register(shell)
        widgets.register(shell)
    is_marimo = getattr(sys.modules.get("marimo"), "running_in_notebook", None)
    if shell is None and is_marimo is not None and is_marimo():
        from .widgets import marimo_cells

        marimo_cells.register(sys.modules["marimo"])


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext reelbook` adds `%reel` and `%%sweep`."""
    from .api.magics import register

    register(ipython)
