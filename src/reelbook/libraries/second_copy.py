"""The second copy of the request ids: a plain file beside the ledger that only grows, one line for each accepted run."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from .ledger import MOST_CREDITS

NAME = "accepted.jsonl"


def line_of(facts: Mapping[str, Any]) -> bytes:
    """A line of the copy. Plain ASCII, so that no text of a stranger is too odd to be written."""
    return json.dumps(facts).encode("ascii")


def append(folder: Path, lines: Sequence[bytes]) -> None:
    """More lines, on disk when this returns."""
    # A line begins with its own line break: the one before it may have been torn.
    content = b"".join(b"\n" + line for line in lines) + b"\n"
    file = os.open(folder / NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        # In one call, so that the lines of two processes never mix.
        if os.write(file, content) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(file)
    finally:
        os.close(file)


def read(folder: Path, identities: Collection[str] | None = None) -> list[dict[str, Any]]:
    """The lines that can be read, of these runs or of all; a torn one is left out."""
    wanted = None if identities is None else [json.dumps(name).encode("ascii") for name in identities]
    found = []
    try:
        with (folder / NAME).open("rb") as file:
            for line in file:
                # Parsing is what takes time, so it is done for few.
                if wanted is None or any(name in line for name in wanted):
                    found += _parsed(line)
    except FileNotFoundError:
        return []
    return found


def _parsed(line: bytes) -> list[dict[str, Any]]:
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(line)
        if isinstance(value, dict) and _is_acceptance(value):
            return [value]
    return []


def _is_acceptance(value: Mapping[str, Any]) -> bool:
    texts = ("service", "identity", "model", "input", "request_id")
    price, at = value.get("price"), value.get("at")
    return (
        all(isinstance(value.get(name), str) for name in texts)
        and all(_is_whole(value.get(name)) for name in ("take", "attempt"))
        and (price is None or _is_whole(price))
        and isinstance(at, (int, float))
        and not isinstance(at, bool)
    )


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST_CREDITS
