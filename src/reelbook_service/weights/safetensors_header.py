"""The header of a safetensors file, read without the library."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .weights_row import BadWeights

MAX_HEADER_BYTES = 100_000_000
"""The limit of the safetensors library itself."""

SAMPLES, SAMPLE_BYTES = 16, 4096

FETCH_AGAIN = "Run `reelbook weights fetch` again; it goes on with the files that are missing."


def read_header(path: Path) -> dict[str, Any]:
    """The table of contents of a safetensors file, tensor by name, checked against the length of the file."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if 2 <= length <= MAX_HEADER_BYTES and 8 + length > size:
            raise BadWeights(f"{path.name} is {size:,} bytes and ends inside its header. {FETCH_AGAIN}")
        table = _parsed_table(file.read(length)) if 2 <= length <= MAX_HEADER_BYTES else None
    if table is None:
        raise BadWeights(f"{path.name} is not a safetensors file. Remove it, and get it again from its authors.")
    table.pop("__metadata__", None)
    expected = 8 + length + max((entry["data_offsets"][1] for entry in table.values()), default=0)
    if expected != size:
        raise BadWeights(f"{path.name} is {size:,} bytes and should be {expected:,}. {FETCH_AGAIN}")
    return table


def file_samples(path: Path) -> Iterator[bytes]:
    """The length of a file, its header if it has one, and some of its bytes from the start to the very end."""
    size = path.stat().st_size
    yield size.to_bytes(8, "little")
    with path.open("rb") as file:
        if path.suffix == ".safetensors":
            yield file.read(8 + struct.unpack("<Q", file.read(8))[0])
        for number in range(SAMPLES):
            file.seek(max(0, size - SAMPLE_BYTES) * number // (SAMPLES - 1))
            yield file.read(SAMPLE_BYTES)


def _parsed_table(text: bytes) -> dict[str, Any] | None:
    """The entries of a header; none if it is not one."""
    try:
        table = json.loads(text)
        tensors = [entry for name, entry in table.items() if name != "__metadata__"]
        is_table = all(
            isinstance(begin, int) and isinstance(end, int) and 0 <= begin <= end
            for begin, end in (entry["data_offsets"] for entry in tensors)
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return table if is_table else None
