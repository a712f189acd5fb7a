"""JSON for values between a form and its page, which does not know every number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MAX_SAFE = 2**53
"""JavaScript represents every whole number up to this one exactly."""


def to_page_json(value: Any) -> Any:
    """A value as JSON that a page reads without loss: whole numbers too large for it become texts.

    >>> to_page_json([1, 2**60, {"a": 0.5}])
    [1, '1152921504606846976', {'a': 0.5}]
    """
    if isinstance(value, Mapping):
        return {str(name): to_page_json(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_page_json(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) <= MAX_SAFE else str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def sendable(value: Any) -> Any:
    """A JSON value that can be sent: lone surrogates, which a page can send, are replaced.

    >>> sendable({"prompt": "\\ud83d"})
    {'prompt': '�'}
    """
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {sendable(name): sendable(item) for name, item in value.items()}
    return [sendable(item) for item in value] if isinstance(value, list) else value
