"""A file that a model made, as the service names it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from .base import Output
from .values import Text

PictureURL = Annotated[Text, Field(json_schema_extra={"x-media": "image"})]
"""Where a source picture is: an http(s) or `data:` URL, or the `file_id` of an upload.

`x-media` tells a form that this text names a picture.
"""


class File(Output):
    """A file at the service, ready to be fetched."""

    url: str
    """Where to fetch it."""
    content_type: str | None = None
    """Its MIME type, as far as the service tells."""
    file_name: str | None = None
    """Its name; the service makes one up where nobody gave one."""
    file_size: int | None = None
    """Its size in bytes."""


def pictures_of(request: BaseModel) -> list[tuple[tuple[str | int, ...], str]]:
    """Every source picture that an input names, with its place.

    >>> from reelbook.models.images_to_video import ImagesToVideo
    >>> pictures_of(ImagesToVideo(images=["a.png"]))
    [(('images', 0, 'url'), 'a.png')]
    """
    found: list[tuple[tuple[str | int, ...], str]] = []
    for name, field in type(request).model_fields.items():
        value = getattr(request, name)
        if isinstance(field.json_schema_extra, dict) and field.json_schema_extra.get("x-media") == "image":
            found.append(((name,), value))
        elif isinstance(value, tuple):
            parts = [(place, part) for place, part in enumerate(value) if isinstance(part, BaseModel)]
            found += [((name, place, *inner), url) for place, part in parts for inner, url in pictures_of(part)]
    return found
