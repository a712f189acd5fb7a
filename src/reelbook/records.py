"""The door to what was made before: the library of all runs, and what a file tells of its own making."""

from __future__ import annotations

from pathlib import Path

from .clients import latest_client
from .connecting import folder_named
from .errors import ReelbookError
from .libraries import disk, second_copy
from .libraries.adopting import library_in
from .libraries.books import Books
from .libraries.folder import library_folder
from .libraries.library import Library
from .libraries.shelf import Shelf
from .media.provenance import Provenance, read, write


def library(folder: str | Path | None = None) -> Library:
    """Everything that was ever run here: the library of the default client, or the one in this folder.

    An empty folder is a library that nothing was put into yet.
    """
    from . import looking  # noqa: F401  # Draws what tables show.
    from .sweeps import reel  # noqa: F401  # Hangs `table.reel` into pandas, for the tables that come from here.

    client = latest_client()
    place = _found(folder_named(folder)) if folder else client.library if client else library_folder()
    if client is None or client.library != place:
        # Nobody is connected: it can be looked into, and nothing can be sent.
        return Library(place, lambda: Books(place), Shelf(place / "media"), write=write)
    return Library(
        place,
        client.books,
        client.shelf,
        fetch=lambda entry: client.attach(entry.request_id or "", model=entry.model),
        resend=client.resend,
        attach=client.settle,
        write=write,
    )


def provenance(file: str | Path) -> Provenance:
    """What a PNG, JPEG, WebP or MP4 tells of its making: model, typed input, seed, and what it cost."""
    return read(file)


def _found(folder: Path) -> Path:
    """The library that is meant; a folder without one is told, because it is a slip of the pen more often than a new one."""
    with disk.in_words(folder):
        if (folder / second_copy.NAME).is_file() or (folder.is_dir() and not any(folder.iterdir())):
            return folder  # A ledger that is gone will be put back from its second copy.
        try:
            return library_in(folder)
        except ReelbookError:
            why = f"no {disk.NAME} is in that folder" if folder.is_dir() else "there is no such folder"
    raise ReelbookError(
        f"There is no library in {folder}: {why}. Check the path; rb.connect(library={str(folder)!r}) begins a new one there."
    )
