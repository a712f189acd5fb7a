"""Pages of the runs of a library, filtered by text and model, the newest first."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...sweeps.results.table_files import IMAGES, VIDEO, find_column, find_paths
from .gallery_cards import LibraryRun

if TYPE_CHECKING:
    from ...models.base import Input

PAGE = 24
"""Runs of one page."""
SEARCHED = ("prompt", "model", "error", "status", "seed", "output_seed")
KindOf = Callable[[str], "type[Input] | None"]


class EarlierRuns:
    """A snapshot of the runs of a library, without those that the studio displays already."""

    def __init__(self, frame: pd.DataFrame, kind_of: KindOf, *, without: Collection[str] = ()) -> None:
        self._kind_of = kind_of
        requests = find_column(frame, "request_id")
        self._frame = frame if requests is None else frame[~requests.isin(list(without))]
        self._has_files = find_column(frame, VIDEO) is not None or find_column(frame, IMAGES) is not None

    @property
    def models(self) -> list[str]:
        """The models of these runs, sorted."""
        found = find_column(self._frame, "model")
        return [] if found is None else sorted({str(model) for model in found})

    def page(self, start: int, text: str = "", model: str = "") -> tuple[list[LibraryRun], int]:
        """One page of the runs that contain all these words, and the number of all of them."""
        found = self._search(text, model)
        part = found.iloc[::-1].iloc[start : start + PAGE]
        paths = list(find_paths(part)) if self._has_files else [[] for _ in range(len(part))]
        rows: list[dict[Any, Any]] = part.to_dict("records")
        return [
            LibraryRun(
                f"l{number}",
                {str(name): value for name, value in row.items()},
                [Path(path) for path in each],
                self._kind_of(str(row.get("model"))),
            )
            for number, row, each in zip(part.index, rows, paths, strict=True)
        ], len(found)

    def _search(self, text: str, model: str) -> pd.DataFrame:
        frame = self._frame
        models = find_column(frame, "model")
        if model and models is not None:
            frame = frame[models.astype(str) == model]
        columns = [column for name in SEARCHED if (column := find_column(frame, name)) is not None]
        for word in text.lower().split():
            # As plain text, not as a pattern.
            hits = [column.astype(str).str.lower().str.contains(word, regex=False) for column in columns]
            mask = pd.concat(hits, axis=1).any(axis=1) if hits else pd.Series(False, index=frame.index)
            frame = frame[mask]
            columns = [column[mask] for column in columns]
        return frame
