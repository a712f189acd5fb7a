"""The end of a run: its files stored, its outcome and its credits committed."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from .queue import Queue
from .queued_request import Request
from .service_files import Files, StoredFile

log = logging.getLogger("reelbook_service")


class ResultWriter:
    """Ends requests on behalf of all lanes."""

    def __init__(self, queue: Queue, files: Files, clock: Callable[[], float]) -> None:
        self._queue, self._files, self._clock = queue, files, clock

    async def end(self, request: Request, outcome: Mapping[str, Any], folder: Path) -> None:
        """End a request with its outcome, and store its files; tried again for as long as the disk is full.

        `outcome` has `done`, the output with `$made` for each file in the folder, or `failed`, an error. `charged` is
        the number of credits to charge, where a lane decides that.
        """
        stored_files: dict[str, StoredFile] = {}
        output, error = None, outcome.get("failed")
        while True:
            try:
                if error is None and output is None:
                    output = await self._store_files(request, outcome["done"], folder, stored_files)
                    output |= {"$inline": True} if outcome.get("inline") else {}
                await self._queue.finish(
                    request,
                    output=output,
                    error=error,
                    charged=outcome.get("charged"),
                    in_commit=lambda db: _insert_all(db, stored_files.values()),
                    after_commit=lambda: self._serve_or_drop(request, stored_files.values()),
                )
                break
            except FileNotFoundError:
                charged = outcome.get("charged")
                cost = f"It was charged {charged} credits" if charged else "Nothing was charged"
                detail = f"A file that the run made is gone. {cost}; run it again."
                output, error = None, {"error_type": "engine_error", "detail": detail}
                stored_files.clear()
            except (OSError, sqlite3.Error):
                # A full disk is temporary; the request stays in progress until its outcome can be stored.
                log.info("The end of the run %s cannot be written down yet", request.id, exc_info=True)
                words = "The service cannot write the result down yet, and tries again every second."
                request.log(self._clock(), words, "WARNING", "service")
                await asyncio.sleep(1.0)

    def _serve_or_drop(self, request: Request, stored_files: Iterable[StoredFile]) -> None:
        for stored in stored_files:
            if request.error is None:
                self._files.publish(stored)
            else:
                # Cancelled at the last moment: the files will never be requested.
                self._files.path(stored).unlink(missing_ok=True)

    async def _store_files(
        self, request: Request, value: Any, folder: Path, stored_files: dict[str, StoredFile]
    ) -> Any:
        """The output with every file stored and named by its token."""
        if isinstance(value, list):
            return [await self._store_files(request, item, folder, stored_files) for item in value]
        if not isinstance(value, dict):
            return value
        if "$made" not in value:
            return {name: await self._store_files(request, item, folder, stored_files) for name, item in value.items()}
        name = Path(value["$made"]).name
        if (
            name not in stored_files
        ):  # An output may name a file twice, and a second try finds the first one's files moved.
            label = f"{request.endpoint_id.rsplit('/', 1)[-1]}-{request.id[:8]}" + (
                f"-{len(stored_files) + 1}" if stored_files else ""
            )
            stored_files[name] = await self._files.store_file(
                folder / name, request.account, label, value["content_type"]
            )
        return {"$file": stored_files[name].token, "facts": value["facts"]}


def _insert_all(db: sqlite3.Connection, stored_files: Iterable[StoredFile]) -> None:
    for stored in stored_files:
        stored.insert(db)
