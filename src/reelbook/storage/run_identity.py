"""What makes two runs the same run: the model and the whole input, with pictures by their content."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from ..models.base import Input
from ..models.images import replace_pictures

Place = tuple[str | int, ...]

_HALF = re.compile("[\ud800-\udfff]")


def format_canonical(request: Input, pictures: Mapping[Place, str] | None = None) -> str:
    """The input as JSON in one fixed form: defaults spelled out, pictures by the hash of their content.

    >>> from reelbook.models.image_to_video import ImageToVideo
    >>> one = ImageToVideo(prompt="closer", image_url="https://example.org/a.png")
    >>> format_canonical(one) == format_canonical(one.revised(cfg_scale=0.5))
    True
    """
    by_content = {place: {"sha256": sha256} for place, sha256 in (pictures or {}).items()}
    return dumps(replace_pictures(request.wire(), by_content))


def make_identity(endpoint_id: str, canonical_input: str) -> str:
    """The name of a run that asks this of this model.

    >>> make_identity("svc/smart-resize", "{}")[:12]
    '81a70284a1e2'
    """
    return hashlib.sha256(f'{{"input":{canonical_input},"model":{json.dumps(endpoint_id)}}}'.encode()).hexdigest()


def dumps(value: Any) -> str:
    """JSON in one fixed form: sorted, compact, and whole numbers without a fraction, however they were typed.

    >>> dumps({"b": 2.0, "a": [1, True, "é"]})
    '{"a":[1,true,"é"],"b":2}'
    """
    text = json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # Half of a surrogate pair can be said in JSON, and cannot be written to a disk in any other way.
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
