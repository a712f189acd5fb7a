"""Convert an input to its JSON in a record, without the user's folders, and back to a typed input."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...models.base import Input
from ...models.catalog import find_endpoint
from ...models.images import Image, parse_picture, pictures_of, replace_pictures

_HASHED = re.compile(r"data:[^,]*,sha256=([0-9a-f]{64})\Z")
"""What engines write in place of a source picture too long for a record."""
_SHORTENED = re.compile(r"… \(sha256=[0-9a-f]{64}\)\Z")


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
    # The values are untrusted: any error means that they are no valid input.
    except Exception:
        return None


def _changed(request: Input) -> dict[tuple[str | int, ...], str]:
    """The pictures whose form in a record differs from the given one, by their place in the input."""
    return {place: text for place, picture in pictures_of(request) if (text := _format_picture(picture)) != picture}


def _format_picture(picture: str) -> str:
    if _is_path(picture):
        name = re.split(r"[/\\]", picture)[-1]
        return name if name and _is_path(parse_picture(name)) else "unknown"
    known = _HASHED.match(picture)
    return f"sha256:{known[1]}" if known else str(picture)


def _is_path(picture: str) -> bool:
    return isinstance(picture, Image) and picture.kind == "path"


def _is_shortened(value: Any) -> bool:
    if isinstance(value, str):
        return _SHORTENED.search(value[-100:]) is not None
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return any(_is_shortened(item) for item in items)
