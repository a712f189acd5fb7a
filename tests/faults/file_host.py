"""Files that are served badly: a document at an address of `Hosted`, and for each request the fault that was planned.

with Hosted() as host:
    host.on("GET", "/clip.mp4", document := Document(content, faults=("short",)))
    ...
    assert document.asked == 2
"""

from __future__ import annotations

import gzip
import hashlib
import re
from dataclasses import dataclass, replace

from tests.transport.variants import Received, Reply, chunked

PAGE = b"<!DOCTYPE html><html><head><title>Link expired</title></head><body><h1>Sorry</h1></body></html>"


@dataclass
class Document:
    """One file at the host, and what goes wrong when it is asked for: one fault for each request, then none."""

    content: bytes
    content_type: str = "video/mp4"
    faults: tuple[str, ...] = ()
    for_ever: bool = False
    """The last fault never ends."""
    other: bytes = b""
    """What another file of the same host holds, for hosts that mix them up."""
    asked: int = 0

    @property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.content).hexdigest()[:16]}"'

    def __call__(self, received: Received) -> Reply:
        self.asked += 1
        fault = self.faults[-1] if self.for_ever and self.faults else "sound"
        if self.asked <= len(self.faults):
            fault = self.faults[self.asked - 1]
        part = re.fullmatch(r"bytes=(\d+)-", received.headers.get("range", ""))
        # Wrong parts are for those who ask for one; a whole other file, rightly told, could not be noticed.
        fault = "sound" if fault.startswith("part_") and part is None else fault
        is_continued = part is not None and received.headers.get("if-range") == self.etag
        return self._replies(received.path, int(part[1]) if part else 0, is_continued)[fault]

    def _replies(self, path: str, start: int, is_continued: bool) -> dict[str, Reply]:
        """What the host answers, by fault."""
        whole, tag = self.content, self.etag
        full = Reply(200, whole, {"content-type": self.content_type, "etag": tag})
        untagged = full.with_headers(etag="")
        # A beginning that is long enough to be continued, and never the whole.
        half = replace(full, body=whole[: max(len(whole) * 2 // 3, 1)])
        broken_off = half.with_headers(content_length=str(len(whole)))
        half_untagged, open_ended = half.with_headers(etag=""), {"content_length": "", "connection": "close"}
        other = (self.other * (len(whole) // max(len(self.other), 1) + 1))[: len(whole)]
        flipped = whole[: len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 16]) + whole[len(whole) // 2 + 1 :]
        zipped, page = gzip.compress(whole), Reply(200, PAGE, {"content-type": "text/html"})

        def part(body: bytes, *, first: int = start, of: int = len(whole), tag: str = tag) -> Reply:
            told = replace(full, status=206, body=body)
            return told.with_headers(content_range=f"bytes {first}-{len(whole) - 1}/{of}", etag=tag)

        rest = part(whole[start:])
        short = replace(rest, body=whole[start:][: len(whole[start:]) * 2 // 3])
        short = short.with_headers(content_length=str(len(whole) - start)) if is_continued else broken_off
        nowhere = Reply(302, b"")
        return {
            "sound": rest if is_continued else full.with_headers(accept_ranges="bytes"),
            "untagged": untagged,
            "open_ended": replace(untagged, fault="cut").with_headers(**open_ended),
            "chunked": chunked(untagged),
            "zipped": replace(full, body=zipped).with_headers(content_encoding="gzip"),
            "zipped_and_cut": replace(full, body=zipped[: len(zipped) // 2]).with_headers(content_encoding="gzip"),
            "called_html": full.with_headers(content_type="text/html; charset=utf-8"),
            "short": replace(short, fault="cut"),
            "short_untagged": replace(broken_off, fault="cut").with_headers(etag=""),
            "cut_open": replace(half_untagged, fault="cut").with_headers(**open_ended),
            "cut_chunked": replace(chunked(half_untagged, ended=False), fault="cut"),
            "ended_chunked": chunked(half_untagged),
            "told_less": half,
            "told_more": replace(full, fault="cut").with_headers(content_length=str(len(whole) + 100)),
            "page": replace(untagged, body=PAGE),
            "page_as_html": page,
            "told_in_json": replace(untagged, body=b'{"error": "this link has expired"}'),
            "empty": replace(untagged, body=b""),
            "flipped": replace(full, body=flipped),
            "busy": replace(page, status=503).with_headers(retry_after="0"),
            "too_many": Reply(429, b"", {"retry-after": "0"}),
            "expired": replace(page, status=403),
            "missing": replace(page, status=404),
            "gone": replace(page, status=410),
            "loop": nowhere.with_headers(location=path),
            "to_a_file": nowhere.with_headers(location="file:///etc/passwd"),
            "reset": replace(full, fault="reset"),
            "silent": replace(full, fault="close"),
            "garbage": replace(full, fault="garbage"),
            "stalled": replace(broken_off, fault="stall"),
            "dripping": replace(full, fault="drip body"),
            "part_ignored": full,
            "part_elsewhere": part(whole[start + 1000 :], first=start + 1000),
            # The file has changed in between, and the host does not care for `If-Range`.
            "part_of_another": part(other[start:], tag='"another"'),
            "part_unnamed": rest.with_headers(content_range=""),
            "part_of_more": part(whole[start:], of=len(whole) + 500),
            "part_refused": Reply(416, b"", {"content-range": f"bytes */{len(whole)}"}),
        }
