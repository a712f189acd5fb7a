"""A file host that misbehaves on purpose: a real server on loopback, and for each request the fault that was planned."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Self

PAGE = b"<!DOCTYPE html><html><head><title>Link expired</title></head><body><h1>Sorry</h1></body></html>"
DRIP_SECONDS = 0.02


def here() -> str:
    """The service whose files are fetched, on the host of the file hosts of tests."""
    return "http://127.0.0.1:9"


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

    def next_fault(self) -> str:
        self.asked += 1
        if self.asked <= len(self.faults):
            return self.faults[self.asked - 1]
        return self.faults[-1] if self.for_ever else "sound"


@dataclass
class Asked:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def start(self) -> int | None:
        """Where it wants to begin, if it asks for a part."""
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("range", ""))
        return int(found[1]) if found else None


class Hangup(Exception):
    """The host closes the connection."""


@dataclass(frozen=True)
class Answer:
    """One answer of the host, as it is or spoilt."""

    body: bytes = b""
    headers: tuple[str, ...] = ()
    status: str = "200 OK"
    type: str | None = None
    """None for that of the document."""
    length: bool = True
    """Whether the header says how long the body is."""
    end: str = ""
    """`close`, `reset`, `stall` for ever, or `drip` the rest a byte at a time; else the connection goes on."""


def make_answer(fault: str, document: Document, asked: Asked) -> Answer:
    """What the host answers, with this fault."""
    whole, start = document.content, asked.start or 0
    # A beginning that is long enough to be continued, and never the whole.
    half, tag = whole[: max(len(whole) * 2 // 3, 1)], f"etag: {document.etag}"
    told = f"content-length: {len(whole)}"
    is_continued = asked.start is not None and asked.headers.get("if-range") == document.etag
    other = (document.other * (len(whole) // max(len(document.other), 1) + 1))[: len(whole)]
    flipped = whole[: len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 16]) + whole[len(whole) // 2 + 1 :]

    def part(body: bytes, *, first: int = start, of: int = len(whole), tag: str = tag) -> Answer:
        return Answer(body, (f"content-range: bytes {first}-{len(whole) - 1}/{of}", tag), "206 Partial Content")

    rest = part(whole[start:])
    short = replace(
        rest, body=rest.body[: len(rest.body) * 2 // 3], headers=(*rest.headers, f"content-length: {len(rest.body)}")
    )
    broken_off = Answer(half, (tag, told), length=False)
    gzipped, page = ("content-encoding: gzip",), Answer(PAGE, type="text/html")
    answers = {
        "sound": rest if is_continued else Answer(whole, (tag, "accept-ranges: bytes")),
        "untagged": Answer(whole), "open_ended": Answer(whole, ("connection: close",), length=False, end="close"),
        "chunked": _chunked(whole), "zipped": Answer(gzip.compress(whole), (tag, *gzipped)),
        "zipped_and_cut": Answer(gzip.compress(whole)[: len(gzip.compress(whole)) // 2], gzipped),
        "called_html": Answer(whole, (tag,), type="text/html; charset=utf-8"),
        "short": replace(short if is_continued else broken_off, length=False, end="close"),
        "short_untagged": Answer(half, (told,), length=False, end="close"),
        "cut_open": Answer(half, ("connection: close",), length=False, end="close"),
        "cut_chunked": replace(_chunked(half, ended=False), end="close"), "ended_chunked": _chunked(half),
        "told_less": Answer(half, (tag,)),
        "told_more": Answer(whole, (tag, f"content-length: {len(whole) + 100}"), length=False, end="close"),
        "page": Answer(PAGE), "page_as_html": page, "told_in_json": Answer(b'{"error": "this link has expired"}'), "empty": Answer(),
        "flipped": Answer(flipped, (tag,)),
        "busy": replace(page, status="503 Service Unavailable", headers=("retry-after: 0",)),
        "too_many": Answer(b"", ("retry-after: 0",), "429 Too Many Requests"), "expired": replace(page, status="403 Forbidden"),
        "missing": replace(page, status="404 Not Found"), "gone": replace(page, status="410 Gone"),
        "loop": Answer(b"", (f"location: {asked.path}",), "302 Found"),
        "to_a_file": Answer(b"", ("location: file:///etc/passwd",), "302 Found"),
        "reset": replace(broken_off, end="reset"), "silent": Answer(end="silent"), "garbage": Answer(end="garbage"),
        "stalled": replace(broken_off, end="stall"), "dripping": replace(broken_off, end="drip"),
        "part_ignored": Answer(whole, (tag,)),
        "part_elsewhere": part(whole[start + 1000 :], first=start + 1000),
        # The file has changed in between, and the host does not care for `If-Range`.
        "part_of_another": part(other[start:], tag='etag: "another"'),
        "part_unnamed": replace(rest, headers=(tag,)), "part_of_more": part(whole[start:], of=len(whole) + 500),
        "part_refused": Answer(b"", (f"content-range: bytes */{len(whole)}",), "416 Range Not Satisfiable"),
    }  # fmt: skip
    return answers[fault]


def _chunked(body: bytes, *, ended: bool = True) -> Answer:
    pieces = [body[at : at + 3000] for at in range(0, len(body), 3000)]
    lines = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + (b"0\r\n\r\n" if ended else b"")
    return Answer(lines, ("transfer-encoding: chunked",), length=False)


async def send(answer: Answer, document: Document, writer: asyncio.StreamWriter) -> None:
    """Write an answer, and end it as it says."""
    if answer.end == "garbage":
        writer.write(b"\x16\x03\x01\x02\0 this is no HTTP\r\n\r\n")
    elif answer.end != "silent":
        lines = [f"HTTP/1.1 {answer.status}", f"content-type: {answer.type or document.content_type}", *answer.headers]
        lines += [f"content-length: {len(answer.body)}"] if answer.length else []
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + answer.body)
        await writer.drain()
    if answer.end == "stall":
        await asyncio.Event().wait()
    if answer.end == "drip":
        for byte in document.content[len(answer.body) :]:
            await asyncio.sleep(DRIP_SECONDS)
            writer.write(bytes([byte]))
            await writer.drain()
    if answer.end == "reset":
        writer.transport.abort()
    if answer.end:
        raise Hangup


@dataclass
class FileHost:
    """Serves documents by path, badly where they say so, and remembers every request."""

    documents: dict[str, Document] = field(default_factory=dict)
    requests: list[Asked] = field(default_factory=list)
    elsewhere: str = ""
    """Another host; what is asked for under /moved lies there."""
    address: str = ""

    async def __aenter__(self) -> Self:
        self._talks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)
        await self._server.wait_closed()

    def add(self, path: str, document: Document) -> str:
        """The address of a new document."""
        self.documents[path] = document
        return self.address + path

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        try:
            # Whoever asks may hang up at any time.
            with suppress(Hangup, ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while True:
                    await self._answer(_parsed(await reader.readuntil(b"\r\n\r\n")), writer)
        finally:
            self._talks.discard(task)
            writer.close()

    async def _answer(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        self.requests.append(asked)
        document = self.documents.get(asked.path.partition("?")[0], Document(PAGE, faults=("missing",), for_ever=True))
        if asked.path.startswith("/moved") and self.elsewhere:
            moved = (f"location: {self.elsewhere}{asked.path}", "set-cookie: a=b")
            await send(Answer(b"", moved, "307 Temporary Redirect"), document, writer)
            return
        fault = document.next_fault()
        # Wrong parts are for those who ask for one; a whole other file, rightly told, could not be noticed.
        fault = "sound" if fault.startswith("part_") and asked.start is None else fault
        await send(make_answer(fault, document, asked), document, writer)


def _parsed(head: bytes) -> Asked:
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
    # Values as they came: the ones that matter here are told apart by their letters.
    for line in lines:
        name, _, value = line.partition(": ")
        if name.lower() in headers:
            headers[name.lower()] = value
    return Asked(first.split(" ")[1], headers, head)
