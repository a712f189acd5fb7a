"""A library with runs in it, which went through the ledger's own moves, and without a service."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reelbook.models.base import Input
from reelbook.models.text_to_video import TextToVideo
from reelbook.storage.ledger import transitions
from reelbook.storage.ledger.claims import RunRequest, find_or_claim
from reelbook.storage.ledger.transitions import State
from reelbook.storage.ledger.writer import Ledger
from reelbook.storage.library import Library
from reelbook.storage.run_identity import dumps, format_canonical, make_identity
from reelbook.storage.shelf import Shelf

Move = Callable[[sqlite3.Connection, int], None]

SERVICE = "https://example.org/api"
BOAT = TextToVideo(prompt="a paper boat", num_frames=49, seed=7)


class Made:
    """A library in a folder, and the means to put runs into it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.ledger, self.shelf = folder, Ledger(folder), Shelf(folder / "media")
        self.library = Library(folder, lambda: self.ledger, self.shelf)

    def close(self) -> None:
        self.ledger.close()

    def sent(self, request: Input | dict[str, Any] = BOAT, *then: Move, model: str = "svc/other", **others: Any) -> int:
        """A run whose answer has not come yet, or that has made these moves then; all in one commit."""
        if isinstance(request, Input):
            model, text = request.endpoint_id, format_canonical(request)
        else:
            text = dumps(request)
        service, price = others.pop("service", SERVICE), others.pop("price", 53)
        asked = RunRequest(
            service, make_identity(model, text), model, text, price, False, False, **{"fresh": True, **others}
        )
        owner = self.ledger.owner

        def moves(db: sqlite3.Connection) -> int:
            verdict = find_or_claim(db, asked, self.ledger)
            assert verdict.action == "send"
            transitions.mark_sending(db, verdict.entry.id, owner, None)
            for move in then:
                move(db, verdict.entry.id)
            return verdict.entry.id

        return self.ledger.transact_now(moves)

    def uncertain(self, request: Input | dict[str, Any] = BOAT, **others: Any) -> int:
        """A run whose answer was lost."""
        return self.sent(
            request,
            lambda db, run: transitions.move(
                db, run, State.UNCERTAIN, error_type="uncertain", error="the connection was reset"
            ),
            **others,
        )

    def accepted(
        self, request: Input | dict[str, Any] = BOAT, request_id: str = "", *then: Move, **others: Any
    ) -> int:  # fmt: skip
        """A run that the service has, and that nobody follows."""
        owner = self.ledger.owner

        def accept(db: sqlite3.Connection, run: int) -> None:
            transitions.mark_accepted(db, run, request_id or f"request-{run}")
            transitions.release(db, run, owner)

        return self.sent(request, accept, *then, **others)

    def failed(self, request: Input | dict[str, Any] = BOAT, request_id: str = "", **others: Any) -> int:
        """A run that the service could not finish."""
        charged = others.pop("charged", 0)
        return self.accepted(
            request,
            request_id,
            lambda db, run: transitions.move(
                db,
                run,
                State.FAILED,
                error_type="source_unreadable",
                error="No picture.",
                charged=charged,
                finished=time.time(),
            ),
            **others,
        )

    def stored(
        self,
        request: Input | dict[str, Any] = BOAT,
        files: Sequence[tuple[bytes, str]] = ((b"a clip", ".mp4"),),
        request_id: str = "",
        *,
        output: dict[str, Any] | None = None,
        charged: int | None = 53,
        **others: Any,
    ) -> int:
        """A finished run with its files on the shelf."""
        paths = [self.shelf.keep(content, suffix) for content, suffix in files]
        media = [
            {"url": f"https://example.org/{path.name}", "sha256": path.stem, "suffix": path.suffix, "file_size": 1}
            for path in paths
        ]
        told = output if output is not None else {"video": {"url": media[0]["url"]}, "seed": 7} if media else {}

        def store(db: sqlite3.Connection, run: int) -> None:
            transitions.move(
                db, run, transitions.COMPLETED, output=dumps(told), charged=charged, queued_s=0.5, running_s=2.0,
                finished=time.time(),
            )  # fmt: skip
            transitions.move(db, run, State.STORED, media=dumps(media))

        return self.accepted(request, request_id, store, **others)

    def entry(self, run: int) -> transitions.Entry:
        return self.ledger.read(lambda db: transitions.get_entry(db, run))

    def entries(self) -> list[transitions.Entry]:
        return [self.entry(run) for (run,) in self.ledger.select("id")]

    def path_of(self, run: int, place: int = 0) -> Path:
        """Where a file of a run should be."""
        file = json.loads(self.entry(run).media or "[]")[place]
        return self.shelf.folder / f"{file['sha256']}{file['suffix']}"

    def aged(self, run: int, days: float) -> None:
        """Make a run older than it is."""
        self.ledger.transact_now(
            lambda db: db.execute(
                "UPDATE runs SET created = created - ?, sent = sent - ?, finished = finished - ? WHERE id = ?",
                (days * 86_400, days * 86_400, days * 86_400, run),
            )
        )
