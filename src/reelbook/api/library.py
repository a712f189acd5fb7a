"""`rb.library` and `rb.provenance`: stored runs, and how a file was generated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ReelbookError
from ..media.metadata.provenance import Provenance, read
from ..session import session
from ..storage.export import get_facts
from ..storage.library import Library

if TYPE_CHECKING:
    import pandas as pd

    from ..media.local_file import LocalFile
    from ..runs.run import Run


def library(folder: str | Path | None = None) -> Library:
    """The library of the current client, or the one in a folder, with all its runs.

    An empty folder is an empty library.
    """
    return session.library(folder)


def provenance(file: str | Path | LocalFile | Run | pd.DataFrame | pd.Series[Any]) -> Provenance:
    """The provenance of a PNG, JPEG, WebP or MP4: model, typed input, seed, and cost.

    Accepts a file or its path, a run, a row of any table of runs such as `table.loc[[7]]`, or a request id.

    Read from the file's metadata; for a file signed by its maker, which must not be changed, from the sidecar of an
    exported copy, or from the run in the library that generated a file with the same content.
    """
    from .which_run import find_file

    return read(find_file(file, "rb.provenance"), _find_by_content)


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
