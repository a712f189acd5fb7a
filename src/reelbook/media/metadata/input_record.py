"""The input in a record: on its way into a file without the folders of whoever made it, on its way back typed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...models.base import Input
from ...models.catalog import CATALOG
from ...models.images import Image, parse_picture, pictures_of, replace_pictures

_HASHED = re.compile(r"data:[^,]*,sha256=([0-9a-f]{64})\Z")
"""What engines write in place of a source picture that is too long for a record."""
_SHORTENED = re.compile(r"… \(sha256=[0-9a-f]{64}\)\Z")


def make_record_input(request: Input) -> dict[str, Any]:
    """The JSON of an input as a file may tell it to anybody.

    >>> from reelbook.models.images_to_video import ImagesToVideo
    >>> make_record_input(ImagesToVideo(images=["/home/jane/secret plan/a.png"]))
    {'images': [{'url': 'a.png', 'frames': 24}], 'fps': 24.0}
    """
    return replace_pictures(request.wire(), _changed(request))


def parse_record_input(model: str, values: Mapping[str, Any]) -> Input | None:
    """The input that these values are; None where the model is not in the catalog, or they are not what it takes.

    A picture that is only known by its hash is one of the library. One that is only known by its path keeps its name
    alone: a file from somebody else must not make anybody send a picture from their own folders.
    """
    row = next((row for row in CATALOG if row.id == model), None)
    if row is None or _is_shortened(values):
        return None
    try:
        # Not `row.input(**values)`, whose error words a hint for each of a hundred thousand wrong names.
        request = row.input.model_validate(values)
        changed = _changed(request)
        return row.input.model_validate(replace_pictures(request.wire(), changed)) if changed else request
    # These values are a stranger's: whatever goes wrong with them, they make no input.
    except Exception:
        return None


def _changed(request: Input) -> dict[tuple[str | int, ...], str]:
    """The pictures that are told in another way than they were given."""
    return {place: told for place, picture in pictures_of(request) if (told := _format_picture(picture)) != picture}


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
