"""`rb.library`, `rb.read`, `rb.strip` and `rb.provenance`: stored runs and tables, and what a file tells of its run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..current import session
from ..errors import ReelbookError
from ..media.local_file import LocalFile
from ..media.metadata import provenance as metadata
from ..media.metadata.provenance import Provenance
from ..runs.run import Run
from ..storage.library import Library
from ..storage.table import get_facts
from ..sweeps.table_files import read_table
from ..util import registry
from .which_run import find_file, find_run_or_file

if TYPE_CHECKING:
    from PIL.Image import Image


def library(folder: str | Path | None = None) -> Library:
    """The library of the current client, or the one in a folder, with all its runs.

    An empty folder is an empty library.

    Example::

        rb.run(boat)
        rb.library().find(prompt="boat")[["seed", "status", "credits"]]
    """
    return session.library(folder)


def read(path: str | Path) -> pd.DataFrame:
    """Read a table of runs from a `.parquet` file, with its `.reel`.

    Example::

        table = rb.sweep(boat, seed=[7, 8]).run(budget=106)
        table.to_parquet("boats.parquet")
        rb.read("boats.parquet").reel.cost()
    """
    registry.find("Reel")  # Its module gives tables their `.reel`.
    return read_table(path)


def strip(
    run_or_file: Run | LocalFile | str | Path | pd.DataFrame | pd.Series[Any], *, frames: int = 6, width: int = 1600
) -> Image:
    """Draw frames of a clip side by side, with times and a caption; for a run of pictures, all of them.

    Accepts a run, a file or its path, a row of any table of runs such as `table.loc[[7]]`, or a request id.

    Example::

        rb.strip(rb.run(boat)).save("strip.png")
    """
    from ..display.sheets import draw_strip

    return draw_strip(find_run_or_file(run_or_file, "rb.strip"), frames=frames, width=width)


def provenance(file: str | Path | LocalFile | Run | pd.DataFrame | pd.Series[Any]) -> Provenance:
    """The provenance of a PNG, JPEG, WebP or MP4: model, typed input, seed, and cost.

    Accepts a file or its path, a run, a row of any table of runs such as `table.loc[[7]]`, or a request id.

    It is read from the file's metadata. A file signed by its maker must not be changed, so there it comes from the
    `.reelbook.json` next to an exported copy, or from the run in the library that made a file with the same content.

    Example::

        run = rb.run(boat)
        rb.provenance(run).input == boat
    """
    named = find_file(file, "rb.provenance")
    if isinstance(named, LocalFile):
        return metadata.read(named.path, named.facts, _find_by_content)
    if not isinstance(named, Path):
        raise ReelbookError(
            f"rb.provenance is of a file or of a run, and not of {type(named).__name__}. "
            "Pass a run, a path, or a row such as table.loc[[7]]."
        )
    return metadata.read(named, find=_find_by_content)


def _find_by_content(sha256: str) -> tuple[Mapping[str, Any], str] | None:
    """The facts of the newest run in the library with a file of this content, and a note on it; None without one."""
    try:
        stored_library = session.library()
        runs = stored_library.runs_with(sha256)
    except ReelbookError:
        return None  # The library is optional here, so failing to open it is no error.
    if not runs:
        return None
    older = f"; so have {len(runs) - 1} other runs there" if len(runs) > 1 else ""
    return get_facts(runs[-1]), f"found by its content: run {runs[-1].id} of {stored_library.folder} has made it{older}"
