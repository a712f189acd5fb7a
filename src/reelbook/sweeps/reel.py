"""What `table.reel` gives: the files and the money of a table of runs, also of one that was filtered, sorted or joined."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import ReelbookError
from ..libraries.columns import column
from ..libraries.folder import library_folder
from ..media.local import LocalFile
from ..media.measures import METRICS, Cache, measured
from ..models.files import File

VIDEO, IMAGES, COMPLETED = "output_video", "output_images", "completed"
MEASURES = "measures"
"""The folder of a library that keeps what was measured."""


@pd.api.extensions.register_dataframe_accessor("reel")
class Reel:
    """The files and the money of a table. It knows them by its columns, so it does not matter what became of the rest."""

    def __init__(self, table: pd.DataFrame) -> None:
        self._table = table

    def outputs(self) -> pd.DataFrame:
        """One row for each file: which run it is of, its place among that run's files, where it is, and how large."""
        rows = [
            (run, place, path, "video" if LocalFile(Path(path), File(url="")).is_video else "image", _size(path))
            for run, found in zip(self._table.index, self._files(), strict=True)
            for place, path in enumerate(found)
        ]
        names = ["run", "file", "path", "kind", "bytes"]
        columns = (
            dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)) if rows else {name: [] for name in names}
        )
        frame = pd.DataFrame({name: column(values) for name, values in columns.items()})
        return frame.set_index(["run", "file"])

    def cost(self, by: str | Sequence[str] | None = None) -> pd.DataFrame:
        """Credits by the values of one or more columns; of the whole table, if none is named.

        `credits` is what was charged or, where nobody said, estimated; `seconds` are those of the completed videos.
        """
        self._check(["status", "credits"])
        names = [by] if isinstance(by, str) else list(by or [])
        self._check(names)
        plain = self._table.reset_index(drop=True)
        facts = pd.DataFrame(
            {
                "runs": 1,
                "completed": (plain["status"] == COMPLETED).astype("Int64"),
                "credits": plain["credits"].astype("Int64"),
                "seconds": pd.Series(list(self._seconds()), dtype="Float64"),
            }
        )
        keys: Any = [plain[name] for name in names] if names else [pd.Series("all", index=plain.index, name="")]
        found = facts.groupby(keys, observed=True, dropna=False).sum(min_count=0)
        found["credits_per_success"] = _share(found["credits"], found["completed"])
        found["credits_per_second"] = _share(found["credits"], found["seconds"])
        return found

    def measure(
        self,
        metrics: Collection[str] | None = None,
        *,
        reference: int | str | Path | None = None,
        executor: Executor | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> pd.DataFrame:
        """The table with a column for each figure of its files; of a run with several files, of the first.

        `reference` is a file, or the number of the run that the others are compared with. What was measured once is
        read from the library. Where the table has a column of that name already, the figure's is `measured_…`.
        """
        firsts = [found[0] if found else None for found in self._files()]
        against = self._reference(reference, firsts)
        there = [path for path in firsts if path is not None]
        known = dict(
            zip(
                there,
                measured(
                    there, metrics, reference=against, executor=executor, progress=progress,
                    cache=Cache(_library_of(there) / MEASURES),
                ),
                strict=True,
            )
        )  # fmt: skip
        names = list(dict.fromkeys(name for figures in known.values() for name in figures if name in METRICS))
        added = {
            (f"measured_{name}" if name in self._table.columns else name): column(
                [known[path].get(name) if path in known else None for path in firsts]
            ).array
            for name in names
        }
        return self._table.assign(**added)

    def _files(self) -> Iterator[list[str]]:
        """The files of each row, in the order of the output."""
        empty = [None] * len(self._table)
        videos = self._table[VIDEO] if VIDEO in self._table.columns else empty
        images = self._table[IMAGES] if IMAGES in self._table.columns else empty
        if videos is empty and images is empty:
            raise ReelbookError(
                f"This table has neither {VIDEO} nor {IMAGES}, so it says nothing about files. Keep one of them in it."
            )
        for video, pictures in zip(videos, images, strict=True):
            listed = (
                [] if pictures is None or isinstance(pictures, (float, str)) or pictures is pd.NA else list(pictures)
            )
            yield [path for path in (video, *listed) if isinstance(path, str) and path]

    def _seconds(self) -> Iterator[float | None]:
        """How long each completed video is; by its frames and rate where the table has them, else by the file itself."""
        plain = self._table
        if {"num_frames", "frame_rate", "status"} <= set(plain.columns):
            for frames, rate, status in zip(plain["num_frames"], plain["frame_rate"], plain["status"], strict=True):
                yield float(frames) / float(rate) if status == COMPLETED else None
            return
        if VIDEO not in plain.columns:
            yield from [None] * len(plain)
            return
        for path in plain[VIDEO]:
            try:
                yield LocalFile(Path(path), File(url="")).probe.seconds if isinstance(path, str) else None
            except ReelbookError:
                yield None

    def _reference(self, wanted: int | str | Path | None, firsts: Sequence[str | None]) -> str | Path | None:
        if wanted is None or isinstance(wanted, (str, Path)):
            return wanted
        places = [place for place, run in enumerate(self._table.index) if run == wanted]
        path = firsts[places[0]] if places else None
        if path is None:
            raise ReelbookError(f"Run {wanted} of this table has no file to compare with. Name another run, or a file.")
        return path

    def _check(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self._table.columns:
                close = get_close_matches(str(name), list(map(str, self._table.columns)), n=1)
                hint = f" Did you mean {close[0]!r}?" if close else ""
                raise ReelbookError(f"This table has no column {name!r}.{hint}")


def read(path: str | Path) -> pd.DataFrame:
    """A table of runs from the `.parquet` or `.csv` that it was written to."""
    place = Path(path).expanduser()
    try:
        if place.suffix == ".parquet":
            table = pd.read_parquet(place)
        elif place.suffix == ".csv":
            table = pd.read_csv(place, index_col="run").convert_dtypes()
        else:
            raise ReelbookError(f"A table of runs is read from .parquet or .csv, not from {place.name!r}.")
    except (OSError, ValueError) as error:
        raise ReelbookError(
            f"{place} could not be read as a table of runs ({error}). Write one with table.to_parquet(…)."
        ) from error
    if IMAGES in table.columns:
        # A list is a text in a CSV file, and an array in a Parquet file.
        table[IMAGES] = column([_listed(value) for value in table[IMAGES]]).array
    return table


def _listed(value: Any) -> list[Any] | None:
    if isinstance(value, str):
        try:
            found = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            return None
        return list(found) if isinstance(found, (list, tuple)) else None
    return None if value is None or value is pd.NA or isinstance(value, float) else list(value)


def _share(amounts: pd.Series[Any], of: pd.Series[Any]) -> pd.Series[Any]:
    """One divided by the other, and nothing where there is nothing to divide by."""
    whole = of.astype("Float64")
    return (amounts.astype("Float64") / whole.where(whole > 0)).round(3)


def _library_of(paths: Sequence[str]) -> Path:
    """The library that these files lie in; their shelf is its folder `media`."""
    return Path(paths[0]).parent.parent if paths else library_folder()


def _size(path: str) -> int | None:
    try:
        return Path(path).stat().st_size
    except OSError:
        return None
