"""What `table.reel` gets from above, where the pictures and pages are."""

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


class Looks(Protocol):
    """Whoever draws."""

    def sheet(self, table: pd.DataFrame, *, frames: int, labels: str | Sequence[str] | None, width: int) -> Image:
        """A contact sheet."""

    def gif(self, table: pd.DataFrame, path: str | Path, *, labels: str | Sequence[str] | None, width: int) -> Path:
        """The clips side by side as an animated picture."""

    def report(self, table: pd.DataFrame, path: str | Path, *, title: str | None, folder: bool) -> Path:
        """A page with everything that there is to see and to know."""

    def library(self, table: pd.DataFrame, paths: Sequence[str]) -> Library:
        """The library that the runs of a table are in; `paths` are files of theirs."""

    def measuring(self, files: int) -> AbstractContextManager[Callable[[int, int], object]]:
        """Shows how far the measuring of so many files is, while the block lasts."""


_hired: list[Callable[[], Looks]] = []


def hire(drawn_by: Callable[[], Looks]) -> None:
    """Name who draws; asked when something is to be drawn, so that nothing is imported before."""
    _hired[:] = [drawn_by]


def drawn_by() -> Looks:
    """Whoever draws here."""
    if not _hired:
        raise ReelbookError("Nobody is here to draw: import reelbook, and take the table from it (rb.read, rb.sweep).")
    return _hired[0]()


def measuring(files: int) -> AbstractContextManager[Callable[[int, int], object] | None]:
    """What shows how far measuring is; nothing where nobody draws, for a figure needs no picture."""
    return _hired[0]().measuring(files) if _hired else nullcontext()
