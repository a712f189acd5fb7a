"""A file that a model made, as the service names it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

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
