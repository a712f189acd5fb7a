"""A file host that misbehaves on purpose: a real server on loopback, and for each request the fault that was planned."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
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


@dataclass
class Answer:
    """The pieces of one answer, each of which a fault may spoil."""

    writer: asyncio.StreamWriter
    asked: Asked
    document: Document

    async def send(self, status: str, body: bytes, *headers: str, type: str | None = None, length: bool = True) -> None:
        lines = [f"HTTP/1.1 {status}", f"content-type: {type or self.document.content_type}", *headers]
        lines += [f"content-length: {len(body)}"] if length else []
        self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await self.writer.drain()

    async def hang_up(self) -> None:
        raise Hangup

    @property
    def tag(self) -> str:
        return f"etag: {self.document.etag}"

    @property
    def half(self) -> bytes:
        """A beginning that is long enough to be continued, and never the whole."""
        content = self.document.content
        return content[: max(len(content) * 2 // 3, 1)]

    async def part(self, *, first: int | None = None, tag: str | None = None, total: int | None = None) -> None:
        """The end of the file as it was asked for, or with something told wrongly."""
        content, start = self.document.content, self.asked.start or 0
        first, total = start if first is None else first, len(content) if total is None else total
        await self.send(
            "206 Partial Content", content[first:], f"content-range: bytes {first}-{len(content) - 1}/{total}", tag or self.tag
        )  # fmt: skip


async def sound(answer: Answer) -> None:
    asked, document = answer.asked, answer.document
    if asked.start is not None and asked.headers.get("if-range") == document.etag:
        await answer.part()
    else:
        await answer.send("200 OK", document.content, answer.tag, "accept-ranges: bytes")


async def untagged(answer: Answer) -> None:
    await answer.send("200 OK", answer.document.content)


async def open_ended(answer: Answer) -> None:
    await answer.send("200 OK", answer.document.content, "connection: close", length=False)
    await answer.hang_up()


async def chunked(answer: Answer) -> None:
    await _chunks(answer, answer.document.content, ended=True)


async def zipped(answer: Answer) -> None:
    await answer.send("200 OK", gzip.compress(answer.document.content), answer.tag, "content-encoding: gzip")


async def called_zipped(answer: Answer) -> None:
    await answer.send("200 OK", answer.document.content, "content-encoding: gzip")


async def zipped_and_cut(answer: Answer) -> None:
    whole = gzip.compress(answer.document.content)
    await answer.send("200 OK", whole[: len(whole) // 2], "content-encoding: gzip")


async def called_html(answer: Answer) -> None:
    await answer.send("200 OK", answer.document.content, answer.tag, type="text/html; charset=utf-8")


async def short(answer: Answer) -> None:
    start = answer.asked.start
    if start is not None and answer.asked.headers.get("if-range") == answer.document.etag:
        rest = answer.document.content[start:]
        told = f"content-range: bytes {start}-{len(answer.document.content) - 1}/{len(answer.document.content)}"
        await answer.send(
            "206 Partial Content",
            rest[: len(rest) * 2 // 3],
            told,
            answer.tag,
            f"content-length: {len(rest)}",
            length=False,
        )
    else:
        await answer.send(
            "200 OK", answer.half, answer.tag, f"content-length: {len(answer.document.content)}", length=False
        )
    await answer.hang_up()


async def short_untagged(answer: Answer) -> None:
    await answer.send("200 OK", answer.half, f"content-length: {len(answer.document.content)}", length=False)
    await answer.hang_up()


async def cut_open(answer: Answer) -> None:
    await answer.send("200 OK", answer.half, "connection: close", length=False)
    await answer.hang_up()


async def cut_chunked(answer: Answer) -> None:
    await _chunks(answer, answer.half, ended=False)
    await answer.hang_up()


async def ended_chunked(answer: Answer) -> None:
    await _chunks(answer, answer.half, ended=True)


async def told_less(answer: Answer) -> None:
    await answer.send("200 OK", answer.half, answer.tag)


async def told_more(answer: Answer) -> None:
    content = answer.document.content
    await answer.send("200 OK", content, answer.tag, f"content-length: {len(content) + 100}", length=False)
    await answer.hang_up()


async def page(answer: Answer) -> None:
    await answer.send("200 OK", PAGE)


async def page_as_html(answer: Answer) -> None:
    await answer.send("200 OK", PAGE, type="text/html")


async def told_in_json(answer: Answer) -> None:
    await answer.send("200 OK", b'{"error": "this link has expired"}')


async def empty(answer: Answer) -> None:
    await answer.send("200 OK", b"")


async def flipped(answer: Answer) -> None:
    content = bytearray(answer.document.content)
    content[len(content) // 2] ^= 16
    await answer.send("200 OK", bytes(content), answer.tag)


async def busy(answer: Answer) -> None:
    await answer.send("503 Service Unavailable", PAGE, "retry-after: 0", type="text/html")


async def too_many(answer: Answer) -> None:
    await answer.send("429 Too Many Requests", b"", "retry-after: 0")


async def expired(answer: Answer) -> None:
    await answer.send("403 Forbidden", PAGE, type="text/html")


async def missing(answer: Answer) -> None:
    await answer.send("404 Not Found", PAGE, type="text/html")


async def gone(answer: Answer) -> None:
    await answer.send("410 Gone", PAGE, type="text/html")


async def loop(answer: Answer) -> None:
    await answer.send("302 Found", b"", f"location: {answer.asked.path}")


async def to_a_file(answer: Answer) -> None:
    await answer.send("302 Found", b"", "location: file:///etc/passwd")


async def reset(answer: Answer) -> None:
    await answer.send(
        "200 OK", answer.half, answer.tag, f"content-length: {len(answer.document.content)}", length=False
    )
    answer.writer.transport.abort()
    await answer.hang_up()


async def silent(answer: Answer) -> None:
    await answer.hang_up()


async def garbage(answer: Answer) -> None:
    answer.writer.write(b"\x16\x03\x01\x02\0 this is no HTTP\r\n\r\n")
    await answer.hang_up()


async def stalled(answer: Answer) -> None:
    """Two thirds, and then nothing, until the other side gives up."""
    await answer.send(
        "200 OK", answer.half, answer.tag, f"content-length: {len(answer.document.content)}", length=False
    )
    await asyncio.Event().wait()


async def dripping(answer: Answer) -> None:
    """Two thirds, and then a byte now and again, so that no read ever waits long."""
    content = answer.document.content
    await answer.send("200 OK", answer.half, answer.tag, f"content-length: {len(content)}", length=False)
    for byte in content[len(answer.half) :]:
        await asyncio.sleep(DRIP_SECONDS)
        answer.writer.write(bytes([byte]))
        await answer.writer.drain()
    await answer.hang_up()


async def part_ignored(answer: Answer) -> None:
    await answer.send("200 OK", answer.document.content, answer.tag)


async def part_elsewhere(answer: Answer) -> None:
    """Honest, and not what was asked for."""
    await answer.part(first=(answer.asked.start or 0) + 1000)


async def part_lying(answer: Answer) -> None:
    """It says the place that was asked for, and sends bytes from another."""
    content, start = answer.document.content, answer.asked.start or 0
    body = (content[1:] + content[:1])[start:]
    await answer.send(
        "206 Partial Content", body, f"content-range: bytes {start}-{len(content) - 1}/{len(content)}", answer.tag
    )


async def part_of_another(answer: Answer) -> None:
    """The file has changed in between, and the host does not care for `If-Range`."""
    content, start = answer.document.content, answer.asked.start or 0
    other = (answer.document.other * (len(content) // max(len(answer.document.other), 1) + 1))[: len(content)]
    await answer.send(
        "206 Partial Content",
        other[start:],
        f"content-range: bytes {start}-{len(content) - 1}/{len(content)}",
        'etag: "another"',
    )


async def part_of_another_lying(answer: Answer) -> None:
    """The same, under the old name."""
    content, start = answer.document.content, answer.asked.start or 0
    other = (answer.document.other * (len(content) // max(len(answer.document.other), 1) + 1))[: len(content)]
    await answer.send(
        "206 Partial Content",
        other[start:],
        f"content-range: bytes {start}-{len(content) - 1}/{len(content)}",
        answer.tag,
    )


async def part_unnamed(answer: Answer) -> None:
    await answer.send("206 Partial Content", answer.document.content[answer.asked.start or 0 :], answer.tag)


async def part_of_more(answer: Answer) -> None:
    await answer.part(total=len(answer.document.content) + 500)


async def part_refused(answer: Answer) -> None:
    await answer.send("416 Range Not Satisfiable", b"", f"content-range: bytes */{len(answer.document.content)}")


FAULTS: dict[str, Callable[[Answer], Awaitable[None]]] = {
    behave.__name__: behave
    for behave in (
        *(sound, untagged, open_ended, chunked, zipped, called_zipped, called_html),
        *(short, short_untagged, cut_open, cut_chunked, ended_chunked, told_less, told_more, zipped_and_cut, empty),
        *(page, page_as_html, told_in_json, flipped, busy, too_many, expired, missing, gone, loop, to_a_file),
        *(reset, silent, garbage, stalled, dripping),
        *(part_ignored, part_elsewhere, part_lying, part_of_another, part_of_another_lying, part_unnamed),
        *(part_of_more, part_refused),
    )
}


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
        answer = Answer(writer, asked, document)
        if asked.path.startswith("/moved") and self.elsewhere:
            await answer.send(
                "307 Temporary Redirect", b"", f"location: {self.elsewhere}{asked.path}", "set-cookie: a=b"
            )
            return
        fault = document.next_fault()
        # Wrong parts are for those who ask for one; a whole other file, rightly told, could not be noticed.
        await FAULTS["sound" if fault.startswith("part_") and asked.start is None else fault](answer)


def _parsed(head: bytes) -> Asked:
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
    # Values as they came: the ones that matter here are told apart by their letters.
    for line in lines:
        name, _, value = line.partition(": ")
        if name.lower() in headers:
            headers[name.lower()] = value
    return Asked(first.split(" ")[1], headers, head)


async def _chunks(answer: Answer, body: bytes, *, ended: bool) -> None:
    pieces = [body[at : at + 3000] for at in range(0, len(body), 3000)]
    lines = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + (b"0\r\n\r\n" if ended else b"")
    await answer.send("200 OK", lines, "transfer-encoding: chunked", length=False)
