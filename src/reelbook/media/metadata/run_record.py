"""Format and parse the record of a run, a JSON text stored in media files."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ...models.base import Input
from ...util.data_address import DataAddressError, is_data_address, parse_data_address
from ...util.printable import map_texts, replace_surrogates
from .file_pieces import MAX_BYTES
from .input_record import make_record_input

LONGEST_RECORD = 400_000
"""Maximum bytes of our own record; escaped for XML it may take five times as much, yet stays below `MAX_BYTES`."""
LONGEST_TEXT = 4_000
"""Longer source pictures are replaced by their hash: a file should not contain its own source picture."""

NAMES = {
    "model": "endpointId",
    "input": "input",
    "seed": "seed",
    "request_id": "requestId",
    "credits": "credits",
    "credits_source": "creditsSource",
    "made_at": "madeAt",
    "service": "service",
    "part": "part",
}
"""The key of each fact in a record; the first three are those that engines use."""

_DEEPEST = 40


def format_record(facts: Mapping[str, Any]) -> str:
    """The facts as JSON in a fixed order; if too long, long texts are shortened, then the input is left out.

    >>> format_record({"model": "svc/smart-resize", "credits": 11, "note": "not a fact of a run"})
    '{"credits":11,"endpointId":"svc/smart-resize"}'
    """
    fields = {NAMES[name]: _plain(facts[name]) for name in NAMES if facts.get(name) is not None}
    for attempt in (fields, {**fields, "input": _shortened(fields.get("input"))}, {**fields, "input": None}):
        text = _json(attempt)
        if len(text.encode()) <= LONGEST_RECORD:
            return text
    return "{}"


def parse_record(text: str) -> dict[str, Any] | None:
    """Parse a text as a JSON object; None if it is none, or exceeds the limits of size and depth."""
    if len(text) > MAX_BYTES or text.lstrip()[:1] != "{":
        return None
    try:
        found = json.loads(text, parse_constant=lambda _: None)
    # Nested too deeply, or a number with too many digits.
    except (ValueError, RecursionError):
        return None
    # A lone surrogate would cause errors when the record is displayed or written.
    return map_texts(found, replace_surrogates) if isinstance(found, dict) and _is_shallow(found) else None


def _json(fields: Mapping[str, Any]) -> str:
    text = json.dumps(fields, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    # A lone surrogate cannot be encoded as UTF-8, but JSON can escape it as `\udc80`.
    return text.encode("utf-8", "backslashreplace").decode()


def _plain(value: Any) -> Any:
    """Convert a value to JSON types."""
    if isinstance(value, Input):
        return _plain(make_record_input(value))
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, str):
        return _hashed(value) if is_data_address(value) and len(value) > LONGEST_TEXT else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value)


def _hashed(address: str) -> str:
    """The hash of the picture in a `data:` URL."""
    try:
        content = parse_data_address(address)
    except DataAddressError:
        content = address.encode("utf-8", "replace")
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _shortened(value: Any) -> Any:
    """The value with its long texts truncated, in the format that engines use."""
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        digest = hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()
        return f"{value[:LONGEST_TEXT]}… (sha256={digest})"
    if isinstance(value, dict):
        return {name: _shortened(item) for name, item in value.items()}
    return [_shortened(item) for item in value] if isinstance(value, list) else value


def _is_shallow(found: dict[str, Any]) -> bool:
    """Whether the object is nested no deeper than `_DEEPEST`, so that recursion over it is safe."""
    level: list[Any] = [found]
    for _ in range(_DEEPEST):
        below = [
            list(item.values()) if isinstance(item, dict) else item for item in level if isinstance(item, (dict, list))
        ]
        level = [item for items in below for item in items]
        if not level:
            return True
    return False
