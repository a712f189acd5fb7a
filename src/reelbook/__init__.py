"""Reelbook: the notebook toolkit for hosted video and image models.

    import reelbook as rb

    run = rb.run(rb.TextToVideo(prompt="a paper boat on a rainy street", num_frames=49, seed=7))

Importing this module is quick: each name imports its own module when it is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .api.forms import controls, form, studio
    from .api.library import library, provenance
    from .api.runs import attach, cancel_queued, connect, estimate, model, run, start
    from .api.sweeps import derived, rows, sampled, sweep, template, zipped
    from .api.tables import read, strip
    from .client import Client
    from .errors import (
        BadDescription,
        BadRates,
        DownloadFailed,
        FolderInUse,
        Forbidden,
        InsufficientCredits,
        InvalidInput,
        LibraryError,
        NotFound,
        NotReady,
        OverBudget,
        ReelbookError,
        Refused,
        RunCancelled,
        RunFailed,
        RunTimeout,
        ServiceBroken,
        ServiceError,
        TooManyRequests,
        Unauthorized,
        UncertainRun,
        UnknownModel,
        Unreachable,
    )
    from .media.metadata.provenance import Provenance
    from .models.image_to_video import ImageToVideo
    from .models.images import Image
    from .models.images_to_video import Frame, ImagesToVideo
    from .models.pricing import Estimate
    from .models.smart_resize import Size, SmartResize
    from .models.text_to_video import LoRA, TextToVideo
    from .runs.run import Run
    from .settings import options
    from .storage.library import Library
    from .sweeps.plan.plan import Plan

_HOME = {
    "client": ("Client",),
    "api.runs": ("attach", "cancel_queued", "connect", "estimate", "model", "run", "start"),
    "errors": (
        "BadDescription", "BadRates", "DownloadFailed", "FolderInUse", "Forbidden", "InsufficientCredits", "InvalidInput", "LibraryError", "NotFound", "NotReady",
        "OverBudget", "ReelbookError", "Refused", "RunCancelled", "RunFailed", "RunTimeout", "ServiceBroken", "ServiceError",
        "TooManyRequests", "Unauthorized", "UncertainRun", "UnknownModel", "Unreachable",
    ),
    "api.forms": ("controls", "form", "studio"),
    "storage.library": ("Library",),
    "api.tables": ("read", "strip"),
    "media.metadata.provenance": ("Provenance",),
    "models.image_to_video": ("ImageToVideo",),
    "models.images": ("Image",),
    "models.images_to_video": ("Frame", "ImagesToVideo"),
    "models.pricing": ("Estimate",),
    "models.smart_resize": ("Size", "SmartResize"),
    "models.text_to_video": ("LoRA", "TextToVideo"),
    "api.library": ("library", "provenance"),
    "runs.run": ("Run",),
    "settings": ("options",),
    "api.sweeps": ("derived", "rows", "sampled", "sweep", "template", "zipped"),
    "sweeps.plan.plan": ("Plan",),
}  # fmt: skip
"""Module → the public names it defines."""

__all__ = [
    "BadDescription",
    "BadRates",
    "Client",
    "DownloadFailed",
    "Estimate",
    "FolderInUse",
    "Forbidden",
    "Frame",
    "Image",
    "ImageToVideo",
    "ImagesToVideo",
    "InsufficientCredits",
    "InvalidInput",
    "Library",
    "LibraryError",
    "LoRA",
    "NotFound",
    "NotReady",
    "OverBudget",
    "Plan",
    "Provenance",
    "ReelbookError",
    "Refused",
    "Run",
    "RunCancelled",
    "RunFailed",
    "RunTimeout",
    "ServiceBroken",
    "ServiceError",
    "Size",
    "SmartResize",
    "TextToVideo",
    "TooManyRequests",
    "Unauthorized",
    "UncertainRun",
    "UnknownModel",
    "Unreachable",
    "__version__",
    "attach",
    "cancel_queued",
    "connect",
    "controls",
    "derived",
    "estimate",
    "form",
    "library",
    "model",
    "options",
    "provenance",
    "read",
    "rows",
    "run",
    "sampled",
    "start",
    "strip",
    "studio",
    "sweep",
    "template",
    "zipped",
]


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module(".errors", __name__)
    for module, names in _HOME.items():
        if name in names:
            from .util.interrupts import raise_once

            # An interrupt waits for the import: half of one would fail at the next use, and show tracebacks of its own.
            with raise_once():
                value = getattr(import_module(f".{module}", __name__), name)
                globals()[name] = value
                _register_with_notebook()
            return value
    from .util.name_hints import missing_attribute

    raise missing_attribute(sys.modules[__name__], name)


def __dir__() -> list[str]:
    """Names for completion; the exceptions are offered under `errors`."""
    return sorted({"errors", *__all__} - {*_HOME["errors"]})


class _Package(ModuleType):
    """This package; a submodule whose name is easily taken for a function's says so when it is called."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType):
            from .util.name_hints import NAME_HINTS, HintingModule

            if name in NAME_HINTS["reelbook"]:
                value.__class__ = HintingModule
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def _register_with_notebook() -> None:
    """Register the display of Reelbook's values with IPython, as soon as one of its names is used in a notebook."""
    # Another thread may be half way through that import.
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_ipython() if get_ipython else None
    if shell is not None and not getattr(shell, "_reelbook_registered", False):
        from . import display, widgets

        shell._reelbook_registered = True
        display.register(shell)
        widgets.register(shell)
