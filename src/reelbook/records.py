"""The door to what was made before: the library of all runs, and what a file tells of its own making."""

from __future__ import annotations

from pathlib import Path

from .clients import latest_client
from .libraries.books import Books
from .libraries.folder import library_folder
from .libraries.library import Library
from .libraries.shelf import Shelf
from .media.provenance import Provenance, read, write


def library(folder: str | Path | None = None) -> Library:
    """Everything that was ever run here: the library of the default client, or the one in this folder."""
    from .sweeps import reel  # noqa: F401  # Hangs `table.reel` into pandas, for the tables that come from here.

    client = latest_client()
    place = Path(folder).expanduser().absolute() if folder else client.library if client else library_folder()
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
