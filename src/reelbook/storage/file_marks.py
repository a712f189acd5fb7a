"""The marks that the files of a run carry, as recorded when they were downloaded."""

from __future__ import annotations

import json
import re
from typing import Any

_MARKS = re.compile(r'"marks":"([^"\\]+)"')


def find_marks(media: Any) -> str | None:
    """The marks of a row's files, as recorded when they were downloaded; None if not recorded.

    >>> find_marks('[{"marks":"signed by Acme, ai-marked","sha256":"ab"}]'), find_marks('[{"sha256":"ab"}]'), find_marks(None)
    ('signed by Acme, ai-marked', None, None)
    """
    if not media or '"marks"' not in media:
        return None
    found = _MARKS.findall(media)
    if len(found) != media.count('"marks"'):
        try:
            files = json.loads(media)
        except ValueError:
            return None
        found = [str(file["marks"]) for file in files if isinstance(file, dict) and file.get("marks")]
    return "; ".join(dict.fromkeys(found)) or None
