"""The door to what was made before: the library of all runs, and what a file tells of its own making."""

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
    """Everything that was ever run here: the library of the default client, or the one in this folder.

    An empty folder is a library that nothing was put into yet.
    """
    from ..sweeps.results import accessor  # noqa: F401  # Hangs `table.reel` into pandas, for the tables that come from here.
    from . import tables  # noqa: F401  # Draws what tables show.

    client = latest_client()
    folder_path = (
        _find_folder(parse_library_folder(folder)) if folder else client.library if client else library_folder()
    )
    if client is None or client.library != folder_path:
        # Nobody is connected: it can be looked into, and nothing can be sent.
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
    """What is known of the making of a PNG, JPEG, WebP or MP4: model, typed input, seed, and what it cost.

    Takes a file or its path, a run, a row of any table of runs such as `table.loc[[7]]`, or a request id.

    From the file itself; for a file that its maker has signed, which nothing may be added to, from the sidecar that an export
    has put beside it, or from the run in the library that has made a file of the same content.
    """
    from .run_arguments import find_file

    return read(find_file(file, "rb.provenance"), _find_by_content)


def _find_by_content(sha256: str) -> tuple[Mapping[str, Any], str] | None:
    """The facts of the newest run of the library that has made a file of this content."""
    try:
        stored_library = library()
        runs = stored_library.runs_with(sha256)
    except ReelbookError:
        return None  # A library that cannot be opened has nothing to say about a file; whatever needs it says why.
    if not runs:
        return None
    older = f"; so have {len(runs) - 1} other runs there" if len(runs) > 1 else ""
    return get_facts(runs[-1]), f"found by its content: run {runs[-1].id} of {stored_library.folder} has made it{older}"


def _find_folder(folder: Path) -> Path:
    """The library that is meant; a folder without one is told, because it is a slip of the pen more often than a new one."""
    with connection.translate_errors(folder):
        if (folder / second_copy.NAME).is_file() or (folder.is_dir() and not any(folder.iterdir())):
            return folder  # A ledger that is gone will be put back from its second copy.
        try:
            return find_library(folder)
        except ReelbookError:
            why = f"no {connection.NAME} is in that folder" if folder.is_dir() else "there is no such folder"
    raise ReelbookError(
        f"There is no library in {folder}: {why}. Check the path; rb.connect(library={str(folder)!r}) begins a new one there."
    )
