"""What a page holds of a file."""

from __future__ import annotations

import base64


def decoded(uri: str) -> tuple[str, bytes]:
    """The kind and the content of a data URI."""
    kind, _, body = uri.removeprefix("data:").partition(";base64,")
    return kind, base64.b64decode(body, validate=True)
