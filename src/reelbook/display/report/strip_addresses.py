"""Answers of the service without the addresses of results: each holds a right to open its file."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

OUTPUT, URL = "output_", "url"
PLAIN = "biufcmM"
"""The kinds of columns that hold figures and moments, and no texts."""

_BARE = re.compile(r"https?://[^\s'\"<>\\]+", re.IGNORECASE)


def is_address_column(name: str) -> bool:
    """Whether a column holds nothing but addresses of results.

    >>> [is_address_column(name) for name in ("output_video_url", "output_video", "image_url")]
    [True, False, False]
    """
    return name.startswith(OUTPUT) and _is_address(name)


def strip_addresses(value: Any) -> Any:
    """What a cell of an `output_…` column holds, without any address at any depth; also where it is JSON in a text.

    >>> strip_addresses([{"images": [{"url": "https://a/b?token=1", "width": 9}], "zip_url": None}])
    [{'images': [{'width': 9}]}]
    >>> strip_addresses('{"url": "https://a/b", "seed": 7}')
    '{"seed": 7}'
    """
    if isinstance(value, Mapping):
        return {name: strip_addresses(item) for name, item in value.items() if not _is_address(str(name))}
    if isinstance(value, (list, tuple, set, frozenset)) or type(value).__name__ == "ndarray":
        return [strip_addresses(item) for item in value]
    return _text(value) if isinstance(value, str) else value


def _is_address(name: str) -> bool:
    words = name.lower().split("_")
    return words[-1] in (URL, f"{URL}s")


def _text(value: str) -> str:
    """A text; one that was written from lists and dicts is read, and written anew where that takes something away."""
    for read, write in (json.loads, lambda found: json.dumps(found, ensure_ascii=False)), (ast.literal_eval, repr):
        if value.lstrip()[:1] not in ("[", "{"):
            break
        try:
            found = read(value)
        # Whatever it is, it is no such text; the deepest ones overflow both readers.
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        kept = strip_addresses(found)
        return value if kept == found else str(write(kept))
    return _BARE.sub("…", value)
