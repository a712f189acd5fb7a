"""A file in a service's response."""

from __future__ import annotations

from .base import Output


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
