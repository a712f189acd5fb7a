"""The record of a run, a JSON text stored in media files: facts formatted without the user's folders, and parsed back."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ...models.base import Input
from ...models.catalog import find_endpoint
from ...models.images import Image, parse_picture, pictures_of, replace_pictures
from ...util.data_address import DataAddressError, is_data_address, parse_data_address
from ...util.printable import replace_surrogates
from .packets import MAX_BYTES

LONGEST_RECORD, LONGEST_IN_JPEG = 400_000, 30_000
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
_HASHED = re.compile(r"data:[^,]*,sha256=([0-9a-f]{64})\Z")
"""What engines write in place of a source picture too long for a record."""
_SHORTENED = re.compile(r"… \(sha256=[0-9a-f]{64}\)\Z")


def format_record(facts: Mapping[str, Any], longest: int = LONGEST_RECORD) -> str:
    """The facts as JSON in a fixed order; if too long, without the input.

    >>> format_record({"model": "svc/smart-resize", "credits": 11, "note": "not a fact of a run"})
    '{"credits":11,"endpointId":"svc/smart-resize"}'
    """
    fields = {NAMES[name]: _plain(facts[name]) for name in NAMES if facts.get(name) is not None}
    for attempt in (fields, {**fields, "input": None}):
        text = json.dumps(attempt, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
        # A lone surrogate cannot be encoded as UTF-8, but JSON can escape it as `\udc80`.
        content = text.encode("utf-8", "backslashreplace")
        if len(content) <= longest:
            return content.decode()
    return "{}"


def parse_record(text: str) -> dict[str, Any] | None:
    """Parse the JSON object that a text begins with; None if there is none, or it exceeds the limits of size and depth."""
    try:
        record, _ = json.JSONDecoder(parse_constant=lambda _: None).raw_decode(text[:MAX_BYTES].lstrip())
        return _clean(record, _DEEPEST) if isinstance(record, dict) else None
    # Nested too deeply, or a number with too many digits.
    except (ValueError, RecursionError):
        return None


def _clean(value: Any, deepest: int) -> Any:
    """A JSON value without lone surrogates, which would cause errors when the record is displayed or written."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if not isinstance(value, (dict, list)):
        return value
    if not deepest:
        raise RecursionError
    if isinstance(value, dict):
        return {replace_surrogates(name): _clean(item, deepest - 1) for name, item in value.items()}
    return [_clean(item, deepest - 1) for item in value]


def make_record_input(request: Input) -> dict[str, Any]:
    """The JSON of an input for publication in a file: paths are reduced to names.

    >>> from reelbook.models.images_to_video import ImagesToVideo
    >>> make_record_input(ImagesToVideo(images=["/home/jane/secret plan/a.png"]))
    {'images': [{'url': 'a.png', 'frames': 24}], 'fps': 24.0}
    """
    return replace_pictures(request.wire(), _changed(request))


def parse_record_input(model: str, values: Mapping[str, Any]) -> Input | None:
    """Validate values as the model's input; None if the model is not in the catalog, or the values are invalid.

    A picture known only by its hash refers to the library. One known only by its path is reduced to its name: a file
    from another user must not cause a picture from the caller's own folders to be sent.
    """
    row = find_endpoint(model)
    if row is None or _is_shortened(values):
        return None
    try:
        # Not `row.input(**values)`, whose error has a hint for each unknown name, of which there may be thousands.
        request = row.input.model_validate(values)
        changed = _changed(request)
        return row.input.model_validate(replace_pictures(request.wire(), changed)) if changed else request
    # The values are untrusted: any error means that they are not a valid input.
    except Exception:
        return None


def _changed(request: Input) -> dict[tuple[str | int, ...], str]:
    """The pictures whose form in a record differs from the given one, by their path in the input."""
    return {path: text for path, picture in pictures_of(request) if (text := _format_picture(picture)) != picture}


def _format_picture(picture: str) -> str:
    if _is_path(picture):
        name = re.split(r"[/\\]", picture)[-1]
        return name if name and _is_path(parse_picture(name)) else "unknown"
    hashed = _HASHED.match(picture)
    return f"sha256:{hashed[1]}" if hashed else str(picture)


def _is_path(picture: str) -> bool:
    return isinstance(picture, Image) and picture.sha256 is None


def _is_shortened(value: Any) -> bool:
    if isinstance(value, str):
        return _SHORTENED.search(value[-100:]) is not None
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return any(_is_shortened(item) for item in items)


def _plain(value: Any) -> Any:
    """Convert a value to JSON types."""
    if isinstance(value, Input):
        return _plain(make_record_input(value))
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, str):
        return _hashed(value) if is_data_address(value) and len(value) > LONGEST_TEXT else value
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    is_json = value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value))
    return value if is_json else str(value)


def _hashed(address: str) -> str:
    """The hash of the picture in a `data:` URL."""
    try:
        content = parse_data_address(address)
    except DataAddressError:
        content = address.encode("utf-8", "replace")
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
