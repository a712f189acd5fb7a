"""Whether the signature of a file holds, as far as the C2PA library is installed to say so."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

_OFFLINE = {"verify": {"remote_manifest_fetch": False, "ocsp_fetch": False}}


def validation_state(path: Path) -> str:
    """`Trusted`, `Valid` or `Invalid`; empty where c2pa-python is not installed, or cannot read the file.

    Nothing is fetched: a manifest that is elsewhere is not looked at, and no list of trusted issuers is asked for.
    """
    try:
        status = path.stat()
        return _state(str(path), status.st_mtime_ns, status.st_size)
    # Whatever a library of native code stumbles over, it is the file; and a run is shown without it, too.
    except Exception:
        return ""


@lru_cache(maxsize=1024)
def _state(path: str, changed: int, size: int) -> str:
    import c2pa

    with c2pa.Context.from_dict(_OFFLINE) as context, c2pa.Reader(path, context=context) as reader:
        return str(json.loads(reader.json()).get("validation_state") or "")
