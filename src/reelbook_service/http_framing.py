"""Strict HTTP/1.1 framing, against request smuggling."""

from __future__ import annotations

import re
from typing import Any

import h11

HEAD_END = re.compile(rb"\n\r?\n")
LENGTH = re.compile(rb"[0-9]{1,18}")
TAIL_BYTES = 4
"""How much received data is stored, to check how a chunked body ended."""


class StrictConnection(h11.Connection):
    """The server's side of a connection, which refuses requests whose end is ambiguous.

    h11 is lenient, as the standard advises: it accepts a length beside chunks, a repeated length, folded header lines
    and bare line feeds. A proxy that parses these differently would forward a hidden second request.
    """

    _recent = b""
    _chunked = False

    def receive_data(self, data: bytes) -> None:
        """Add received data."""
        self._recent = self._recent[-TAIL_BYTES:] + data
        super().receive_data(data)

    def next_event(self) -> Any:
        """The next event; raises `RemoteProtocolError` where the framing is ambiguous."""
        if self.their_state is h11.IDLE:
            self._check_head()
        event = super().next_event()
        if isinstance(event, h11.EndOfMessage) and self._chunked:
            self._check_chunked_end(event)
        return event

    def _check_head(self) -> None:
        received = self.trailing_data[0]
        end = HEAD_END.search(received)
        if end is not None:
            self._chunked = b"chunked" in check_head(received[: end.end()])

    def _check_chunked_end(self, event: h11.EndOfMessage) -> None:
        unread = len(self.trailing_data[0])
        read = self._recent[: len(self._recent) - unread]
        if list(event.headers) or not read.endswith(b"\r\n\r\n"):
            raise h11.RemoteProtocolError("a chunked body ends with an empty chunk and nothing behind it")


def check_head(head: bytes) -> bytes:
    """The transfer encoding in a request's head, empty without one; raises where the body's length is ambiguous.

    >>> check_head(b"POST / HTTP/1.1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n")
    b'chunked'
    """
    if head.count(b"\n") != head.count(b"\r\n") or head.count(b"\r") != head.count(b"\r\n"):
        raise h11.RemoteProtocolError("lines end with CR LF, and neither stands alone")
    request, *lines = head.split(b"\r\n")
    if any(line.startswith((b" ", b"\t")) for line in lines):
        raise h11.RemoteProtocolError("a header line does not go on in the next one")
    fields = [(name.strip().lower(), value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
    lengths = [value for name, value in fields if name == b"content-length"]
    encodings = [value for name, value in fields if name == b"transfer-encoding"]
    if len(lengths) + len(encodings) > 1:
        raise h11.RemoteProtocolError("the length of a body is told once: by Content-Length or by Transfer-Encoding")
    if not all(LENGTH.fullmatch(value) for value in lengths):
        raise h11.RemoteProtocolError("a length is a whole number")
    if encodings and (encodings[0].lower() != b"chunked" or not request.endswith(b"HTTP/1.1")):
        raise h11.RemoteProtocolError("the one transfer encoding is chunked, in HTTP/1.1")
    return encodings[0].lower() if encodings else b""
