"""`rb.library` and `rb.provenance`: earlier runs, and how a file was made."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..client import latest_client
from ..errors import ReelbookError
from ..media.metadata.provenance import Provenance, read, write_with_sidecar
from ..storage.export import get_facts
from ..storage.ledger import connection, second_copy
from ..storage.ledger.writer import Ledger
from ..storage.library import Library
from ..storage.library_folder import library_folder
from ..storage.merge.library_merge import find_library
from ..storage.shelf import Shelf
from .runs import parse_library_folder
from .stored_runs import runs_with_client, runs_without_client

if TYPE_CHECKING:
    import pandas as pd

    from ..media.local_file import LocalFile
    from ..runs.run import Run


def library(folder: str | Path | None = None) -> Library:
    """The library of the current client, or the one in this folder, with all runs that were made there.

    An empty folder is an empty library.
    """
    from ..sweeps.results import accessor  # noqa: F401  # Registers `table.reel` with pandas, for the tables of the library.
    from . import tables  # noqa: F401  # Registers the renderer of `table.reel`.

    client = latest_client()
    folder_path = (
        _find_folder(parse_library_folder(folder)) if folder else client.library if client else library_folder()
    )
    if client is None or client.library != folder_path:
        # Without a client the library can be read, and nothing can be sent.
        ledger, shelf = cache(lambda: Ledger(folder_path)), Shelf(folder_path / "media")
        return Library(
            folder_path,
            ledger,
            shelf,
            write=write_with_sidecar,
            runs=lambda entries: runs_without_client(ledger(), shelf, entries),
        )
    return Library(
        folder_path,
        client.ledger,
        client.shelf,
        fetch=lambda entry: client.attach(entry.request_id or "", model=entry.model),
        resend=client.resend,
        attach=client.resolve,
        write=write_with_sidecar,
        runs=lambda entries: runs_with_client(client, entries),
    )


def provenance(file: str | Path | LocalFile | Run | pd.DataFrame | pd.Series[Any]) -> Provenance:
    """The provenance of a PNG, JPEG, WebP or MP4: model, typed input, seed, and cost.

    Takes a file or its path, a run, a row of any table of runs such as `table.loc[[7]]`, or a request id.

    Read from the metadata of the file; for a file signed by its maker, to which nothing may be added, from the sidecar beside
    an exported copy, or from the run in the library that made a file of the same content.
    """
    from .run_arguments import find_file

    return read(find_file(file, "rb.provenance"), _find_by_content)


def _find_by_content(sha256: str) -> tuple[Mapping[str, Any], str] | None:
    """The facts of the newest run in the library that made a file of this content, and a note on it; None if there is none."""
    try:
        stored_library = library()
        runs = stored_library.runs_with(sha256)
    except ReelbookError:
        return None  # A library that cannot be opened is an error only for calls that need it.
    if not runs:
        return None
    older = f"; so have {len(runs) - 1} other runs there" if len(runs) > 1 else ""
    return get_facts(runs[-1]), f"found by its content: run {runs[-1].id} of {stored_library.folder} has made it{older}"


def _find_folder(folder: Path) -> Path:
    """The folder of the library at this path; raises a ReelbookError without one, which is more often a typo than a new library."""
    with connection.translate_errors(folder):
        if (folder / second_copy.NAME).is_file() or (folder.is_dir() and not any(folder.iterdir())):
            return folder  # A lost ledger is restored from its second copy.
        try:
            return find_library(folder)
        except ReelbookError:
            why = f"no {connection.NAME} is in that folder" if folder.is_dir() else "there is no such folder"
    raise ReelbookError(
        f"There is no library in {folder}: {why}. Check the path; rb.connect(library={str(folder)!r}) begins a new one there."
    )
