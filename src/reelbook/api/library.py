"""`rb.library` and `rb.provenance`: stored runs, and how a file was generated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ..current import session
from ..errors import InvalidInput, ReelbookError
from ..media.local_file import LocalFile
from ..media.metadata.provenance import Provenance, read
from ..runs.run import Run
from ..storage.export import get_facts
from ..storage.ledger import connection
from ..storage.library import Library


def library(folder: str | Path | None = None) -> Library:
    """The library of the current client, or the one in a folder, with all its runs.

    An empty folder is an empty library.

    Example::

        rb.run(boat)
        rb.library().find(prompt="boat")[["seed", "status", "credits"]]
    """
    return session.library(folder)


def provenance(file: str | Path | LocalFile | Run | pd.DataFrame | pd.Series[Any]) -> Provenance:
    """The provenance of a PNG, JPEG, WebP or MP4: model, typed input, seed, and cost.

    Accepts a file or its path, a run, a row of any table of runs such as `table.loc[[7]]`, or a request id.

    It is read from the file's metadata. A file signed by its maker must not be changed, so there it comes from the
    `.reelbook.json` next to an exported copy, or from the run in the library that made a file with the same content.

    Example::

        run = rb.run(boat)
        rb.provenance(run).input == boat
    """
    from .tables import find_file

    named = find_file(file, "rb.provenance")
    if isinstance(named, LocalFile):
        return read(named.path, named.facts, _find_by_content)
    return read(named, find=_find_by_content)


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


def find_library_of(table: pd.DataFrame, opened: Callable[[str | None], Library], paths: Sequence[str]) -> Library:
    """The library with the runs of a table: its source, one that contains its files, or the current one."""
    source = table.attrs.get("reelbook")
    named = [source.get("library")] if isinstance(source, dict) else []
    named += [str(Path(path).parent.parent) for path in paths]
    folders = [folder for folder in dict.fromkeys(named) if folder and (Path(folder) / connection.NAME).is_file()]
    failure: InvalidInput | None = None
    for folder in [*folders[:_MAX_FOLDERS], None]:
        library = opened(folder)
        try:
            library.numbers(table)
        except InvalidInput as error:
            failure = failure or error
        else:
            return library
    assert failure is not None, "at least one library was asked"
    raise failure


_MAX_FOLDERS = 8
