"""A parser of server-sent events."""

from __future__ import annotations

from ..errors import ServiceBroken

MAX_EVENT_BYTES = 8 * 1024 * 1024
"""The largest event; a status with a long log is a thousandth of that."""


class EventParser:
    """Turns chunks of bytes into the data of events, each once its empty line has arrived.

    >>> events = EventParser()
    >>> events.feed(b"data: one\\ndata: two\\n"), events.feed(b": a comment\\n\\n")
    ([], ['one\\ntwo'])
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0
        self._begun = False

    def feed(self, content: bytes) -> list[str]:
        """Add a chunk and return the data of the events that it completes."""
        self._size += len(content)
        if self._size > MAX_EVENT_BYTES:
            raise ServiceBroken("The service sent an event that is larger than any status.", status=200)
        found = []
        for line in self._lines(content):
            event = self._read(line)
            if event is not None:
                found.append(event)
        return found

    def _lines(self, content: bytes) -> list[bytes]:
        """The complete lines, ending in LF, CRLF or CR; `splitlines` would also split at other characters."""
        text = self._rest + content
        if not self._begun and len(text) >= 3:
            self._begun, text = True, text.removeprefix(b"\xef\xbb\xbf")
        # A CR at the end may be half of a CRLF.
        held = b"\r" if text.endswith(b"\r") else b""
        text = text[: len(text) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = text.split(b"\n")
        self._rest = rest + held
        return lines

    def _read(self, line: bytes) -> str | None:
        if not line:
            data, self._data = self._data, []
            self._size = len(self._rest)
            return b"\n".join(data).decode("utf-8", "replace") if data else None
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        return None
