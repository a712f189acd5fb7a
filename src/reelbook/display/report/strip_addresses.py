"""Removal of the addresses of results from outputs, because each gives access to its file."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

OUTPUT, URL = "output_", "url"
PLAIN = "biufcmM"
"""The kinds of dtypes that hold numbers and times, and no texts."""

_BARE = re.compile(r"https?://[^\s'\"<>\\]+", re.IGNORECASE)


def is_address_column(name: str) -> bool:
    """Whether a column holds only addresses of results.

    >>> [is_address_column(name) for name in ("output_video_url", "output_video", "image_url")]
    [True, False, False]
    """
    return name.startswith(OUTPUT) and _is_address(name)


def strip_addresses(value: Any) -> Any:
    """The value of an `output_…` column without addresses at any depth, also inside a text of JSON.

    >>> strip_addresses([{"images": [{"url": "https://a/b?token=1", "width": 9}], "zip_url": None}])
    [{'images': [{'width': 9}]}]
    >>> strip_addresses('{"url": "https://a/b", "seed": 7}')
    '{"seed": 7}'
    """
    if isinstance(value, Mapping):
        return {name: strip_addresses(item) for name, item in value.items() if not _is_address(str(name))}
    if isinstance(value, (list, tuple, set, frozenset)) or type(value).__name__ == "ndarray":
        return [strip_addresses(item) for item in value]
    return _strip_text(value) if isinstance(value, str) else value


def _is_address(name: str) -> bool:
    words = name.lower().split("_")
    return words[-1] in (URL, f"{URL}s")


def _strip_text(value: str) -> str:
    """The text without addresses; one of lists and dicts is parsed, and formatted anew where addresses were removed."""
    for read, write in (json.loads, lambda found: json.dumps(found, ensure_ascii=False)), (ast.literal_eval, repr):
        if value.lstrip()[:1] not in ("[", "{"):
            break
        try:
            found = read(value)
        # Not such a text; very deep ones overflow both parsers.
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        stripped = strip_addresses(found)
        return value if stripped == found else str(write(stripped))
    return _BARE.sub("…", value)
