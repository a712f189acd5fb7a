"""Lossless JSON for values between a form and its page, which does not represent every number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

JSON_TEXT = "__text__"
"""The key of a value sent as JSON in a text: typed as such, or not reproduced exactly by a page."""
MAX_SAFE = 2**53
"""JavaScript represents every whole number up to this one exactly."""
MAX_LEVELS = 50
"""The maximum depth of displayed values; no class takes deeper ones."""


def to_page_json(value: Any) -> Any:
    """A value as JSON that a page reads without loss: whole numbers too large for it become texts.

    >>> to_page_json([1, 2**60, {"a": 0.5}])
    [1, '1152921504606846976', {'a': 0.5}]
    """
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) <= MAX_SAFE else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): to_page_json(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_page_json(item) for item in value]
    return sendable(str(value))


def distinct_json(value: Any) -> Any:
    """A value for a field that takes numbers and texts: a long number is marked, to tell it from a text.

    >>> distinct_json([2**60, "1152921504606846976"])
    [{'__text__': '1152921504606846976'}, '1152921504606846976']
    """
    if isinstance(value, Mapping):
        return {str(name): distinct_json(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [distinct_json(item) for item in value]
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return {JSON_TEXT: str(value)} if is_number and abs(value) > MAX_SAFE else to_page_json(value)


def is_json_text(value: Any) -> bool:
    """Whether a value is JSON wrapped in a text."""
    return isinstance(value, dict) and set(value) == {JSON_TEXT} and isinstance(value[JSON_TEXT], str)


def sendable(value: Any, level: int = 0) -> Any:
    """A value that can be sent as JSON: lone surrogates, which a page can send, are replaced, and deep nesting is cut.

    >>> sendable({"prompt": "\\ud83d"})
    {'prompt': '�'}
    """
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if not isinstance(value, (dict, list)):
        return value
    if level > MAX_LEVELS:
        return "…"
    if isinstance(value, dict):
        return {sendable(name): sendable(item, level + 1) for name, item in value.items()}
    return [sendable(item, level + 1) for item in value]
