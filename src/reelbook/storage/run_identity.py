"""The identity of a run: a hash of the model and the complete input, with pictures by their content."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from ..models.base import Input
from ..models.catalog import find_endpoint
from ..models.images import replace_pictures

INPUT_JSON = "input_json"
"""The column of a table with the whole input in canonical form, from which a row can be run again."""
Place = tuple[str | int, ...]

_SURROGATE = re.compile("[\ud800-\udfff]")


def format_canonical(request: Input, pictures: Mapping[Place, str] | None = None) -> str:
    """The input as canonical JSON: with defaults, and pictures by the hash of their content.

    >>> from reelbook.models.image_to_video import ImageToVideo
    >>> one = ImageToVideo(prompt="closer", image_url="https://example.org/a.png")
    >>> format_canonical(one) == format_canonical(one.revised(cfg_scale=0.5))
    True
    """
    by_content = {place: {"sha256": sha256} for place, sha256 in (pictures or {}).items()}
    return dumps(replace_pictures(request.wire(), by_content))


def make_identity(endpoint_id: str, canonical_input: str) -> str:
    """The hash that identifies runs of this model with this input.

    >>> make_identity("svc/smart-resize", "{}")[:12]
    '81a70284a1e2'
    """
    return hashlib.sha256(f'{{"input":{canonical_input},"model":{json.dumps(endpoint_id)}}}'.encode()).hexdigest()


def make_price_key(request: Input) -> str:
    """What the price of an input depends on: the model, and every field that is not price-neutral."""
    row = find_endpoint(request.endpoint_id)
    return dumps([request.endpoint_id, _plain(request.wire(), row.price_neutral if row else ())])


def dumps(value: Any) -> str:
    """Canonical JSON: sorted, compact, and integral floats as integers.

    >>> dumps({"b": 2.0, "a": [1, True, "é"]})
    '{"a":[1,true,"é"],"b":2}'
    """
    text = json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # A lone surrogate cannot be encoded as UTF-8, but JSON can escape it.
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _plain(value: Any, without: Collection[str] = ()) -> Any:
    """A value with integral floats as integers, and without the fields of these names."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _plain(item, without) for name, item in value.items() if name not in without}
    return [_plain(item, without) for item in value] if isinstance(value, (list, tuple)) else value
