"""Validate the signature of a file with the C2PA library, if installed."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

_OFFLINE = {"verify": {"remote_manifest_fetch": False, "ocsp_fetch": False}}


def validation_state(path: Path) -> str:
    """`Trusted`, `Valid` or `Invalid`; empty if c2pa-python is not installed, or cannot read the file.

    No requests are made: remote manifests are ignored, and no list of trusted issuers is downloaded.
    """
    try:
        status = path.stat()
        return _state(str(path), status.st_mtime_ns, status.st_size)
    # The library raises errors of many types for a broken file; the state is optional for display.
    except Exception:
        return ""


@lru_cache(maxsize=1024)
def _state(path: str, changed: int, size: int) -> str:
    import c2pa

    with c2pa.Context.from_dict(_OFFLINE) as context, c2pa.Reader(path, context=context) as reader:
        return str(json.loads(reader.json()).get("validation_state") or "")
