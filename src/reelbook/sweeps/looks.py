"""The renderer of `table.reel`, registered so that display is not imported before it is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..errors import ReelbookError

if TYPE_CHECKING:
    import pandas as pd
    from PIL.Image import Image

    from ..storage.library import Library


class TableRenderer(Protocol):
    """Renders tables of runs as pictures and pages."""

    def sheet(self, table: pd.DataFrame, *, frames: int, labels: str | Sequence[str] | None, width: int) -> Image:
        """A contact sheet of the table."""

    def gif(self, table: pd.DataFrame, path: str | Path, *, labels: str | Sequence[str] | None, width: int) -> Path:
        """Write the clips side by side as an animated picture; returns its path."""

    def report(self, table: pd.DataFrame, path: str | Path, *, title: str | None, folder: bool) -> Path:
        """Write a report of the table; returns its path."""

    def library(self, table: pd.DataFrame, paths: Sequence[str]) -> Library:
        """The library that the runs of a table are in; `paths` are files of theirs."""

    def measuring(self, files: int) -> AbstractContextManager[Callable[[int, int], object]]:
        """Display the progress of measuring so many files while the block lasts."""


_renderer: list[Callable[[], TableRenderer]] = []


def set_renderer(make_renderer: Callable[[], TableRenderer]) -> None:
    """Register the renderer; called lazily, so that display is not imported before."""
    _renderer[:] = [make_renderer]


def get_renderer() -> TableRenderer:
    """Get the registered renderer."""
    if not _renderer:
        raise ReelbookError("Nobody is here to draw: import reelbook, and take the table from it (rb.read, rb.sweep).")
    return _renderer[0]()


def show_measuring(files: int) -> AbstractContextManager[Callable[[int, int], object] | None]:
    """Display the progress of measuring while the block lasts; nothing without a renderer, which figures do not need."""
    return _renderer[0]().measuring(files) if _renderer else nullcontext()
