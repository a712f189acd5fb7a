"""What is known of a run as one JSON text, for its way into a file and back."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import urllib.parse
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ...models.base import Input
from .file_pieces import MAX_BYTES
from .input_record import make_record_input

LONGEST_RECORD = 400_000
"""Bytes of a record of ours; XML may make five of one, and it still is below what is read."""
LONGEST_TEXT = 4_000
"""Longer sources are known by their hash alone: a file that held its own source picture would be no smaller than it."""

NAMES = {
    "model": "endpointId",
    "input": "input",
    "seed": "seed",
    "request_id": "requestId",
    "credits": "credits",
    "credits_source": "creditsSource",
    "made_at": "madeAt",
    "service": "service",
}
"""What each fact is called in a record; the first three as engines call them."""

_DEEPEST = 40


def format_record(facts: Mapping[str, Any]) -> str:
    """The facts as JSON in a fixed order; texts beyond all measure are shortened, and the input left out at last.

    >>> format_record({"model": "svc/smart-resize", "credits": 11, "note": "not a fact of a run"})
    '{"credits":11,"endpointId":"svc/smart-resize"}'
    """
    told = {NAMES[name]: _plain(facts[name]) for name in NAMES if facts.get(name) is not None}
    for attempt in (told, {**told, "input": _shortened(told.get("input"))}, {**told, "input": None}):
        text = _json(attempt)
        if len(text.encode()) <= LONGEST_RECORD:
            return text
    return "{}"


def parse_record(text: str) -> dict[str, Any] | None:
    """The JSON object of a text; None where it is none, or one that nobody would write."""
    if len(text) > MAX_BYTES or text.lstrip()[:1] != "{":
        return None
    try:
        found = json.loads(text, parse_constant=lambda _: None)
    # Too deep, or a number of too many digits.
    except (ValueError, RecursionError):
        return None
    return _sound(found) if isinstance(found, dict) and _is_shallow(found) else None


def _json(told: Mapping[str, Any]) -> str:
    text = json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    # Half of a surrogate pair cannot be written as UTF-8; as `\udc80` JSON can hold it.
    return text.encode("utf-8", "backslashreplace").decode()


def _plain(value: Any) -> Any:
    """The value as JSON can write it."""
    if isinstance(value, Input):
        return _plain(make_record_input(value))
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, str):
        return _hashed(value) if value[:5].lower() == "data:" and len(value) > LONGEST_TEXT else value
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
    """The hash of the picture that a `data:` URL holds."""
    head, _, body = address.partition(",")
    try:
        content = base64.b64decode(body) if head.lower().endswith(";base64") else urllib.parse.unquote_to_bytes(body)
    except binascii.Error:
        content = address.encode("utf-8", "replace")
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _shortened(value: Any) -> Any:
    """The value without the ends of its long texts, as engines shorten them."""
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        digest = hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()
        return f"{value[:LONGEST_TEXT]}… (sha256={digest})"
    if isinstance(value, dict):
        return {name: _shortened(item) for name, item in value.items()}
    return [_shortened(item) for item in value] if isinstance(value, list) else value


def _sound(value: Any) -> Any:
    """The value without halves of surrogate pairs, on which whoever shows or writes it would break."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_sound(name): _sound(item) for name, item in value.items()}
    return [_sound(item) for item in value] if isinstance(value, list) else value


def _is_shallow(found: dict[str, Any]) -> bool:
    """Whether it is no deeper than what a model is asked; every walk through it then has an end."""
    level: list[Any] = [found]
    for _ in range(_DEEPEST):
        below = [
            list(item.values()) if isinstance(item, dict) else item for item in level if isinstance(item, (dict, list))
        ]
        level = [item for items in below for item in items]
        if not level:
            return True
    return False
