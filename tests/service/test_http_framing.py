"""Where a request ends: what two readers could see in two places is refused, and nothing behind it is carried out."""

from __future__ import annotations

import contextlib
import json
import re
import socket

import h11
import httpx
import pytest

from reelbook_service.http_framing import StrictConnection
from tests.support import KEY, Served

STITCH = "svc/frames-api/images-to-video"
START = b"POST /models/run HTTP/1.1\r\nHost: HOST\r\nx-api-key: KEY\r\nContent-Type: application/json\r\n"

DOUBTFUL: dict[str, bytes] = {
    "a length and chunks": START + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and a length": START + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "the same length twice": START + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "two lengths": START + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "two lengths on one line": START + b"Content-Length: 2, 2\r\n\r\n{}",
    "a length with a sign": START + b"Content-Length: +2\r\n\r\n{}",
    "a length in letters": START + b"Content-Length: 0x2\r\n\r\n{}",
    "an empty length": START + b"Content-Length:\r\n\r\n",
    "chunks told twice": START + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and another encoding": START + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "identity and a length": START + b"Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}",
    "chunks with odd white space": START + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    "chunks in an old protocol": START.replace(b"/1.1", b"/1.0") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a header that goes on": START + b"X-One: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
    "a length that goes on": START + b"Content-Length:\r\n 2\r\n\r\n{}",
    "chunks that go on": START + b"Transfer-Encoding:\r\n\tchunked\r\n\r\n0\r\n\r\n",
    "a space before the colon": START + b"Content-Length : 2\r\n\r\n{}",
    "line feeds alone": START.replace(b"\r\n", b"\n") + b"Content-Length: 2\n\n{}",
    "one line feed alone": START + b"X-One: a\nContent-Length: 2\r\n\r\n{}",
    "a head that ends with a line feed": START + b"Content-Length: 2\r\n\n{}",
    "a carriage return alone": START + b"X-One: a\rb\r\nContent-Length: 2\r\n\r\n{}",
    "a chunk after a line feed": START + b"Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n",
    "a chunk that ends with a line feed": START + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\n0\r\n\r\n",
    "a last line feed alone": START + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\n",
    "trailers": START + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nContent-Length: 9\r\n\r\n",
    "a chunk longer than it says": START + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n",
    "a chunk of a negative size": START + b"Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n",
    "empty lines first": b"\r\n\r\n" + START + b"Content-Length: 2\r\n\r\n{}",
}


def answered(served: Served, sent: bytes, piece: int = 1 << 20) -> bytes:
    """All that the service answers before it closes the connection, to bytes that are sent in pieces of this size."""
    host, port = served.base_url.removeprefix("http://").split(":")
    sent = sent.replace(b"HOST", f"{host}:{port}".encode()).replace(b"KEY", KEY.encode())
    answer = b""
    with socket.create_connection((host, int(port)), timeout=10) as wire, contextlib.suppress(ConnectionError):
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(sent), piece):
            wire.sendall(sent[at : at + piece])
        while more := wire.recv(65536):
            answer += more
    return answer


def run_of(served: Served, dot: str) -> bytes:
    """A whole and valid paid request."""
    body = json.dumps({"endpointId": STITCH, "input": {"images": [{"url": dot, "frames": 1}]}}).encode()
    return START + b"Content-Length: %d\r\n\r\n" % len(body) + body


@pytest.mark.parametrize("name", DOUBTFUL)
@pytest.mark.parametrize("piece", [1 << 20, 7], ids=["at once", "in pieces"])
def test_doubtful_framing_is_refused_and_what_hides_behind_it_is_not_carried_out(
    shared: Served, dot: str, name: str, piece: int
) -> None:
    """One answer, 400, and the connection is closed: the paid request behind it is neither answered nor charged."""
    before = len(shared.charges())

    answer = answered(shared, DOUBTFUL[name] + run_of(shared, dot), piece)

    if answer or piece > 7:  # Where more arrives when it has closed, the system takes the answer back.
        assert re.findall(rb"HTTP/1\.1 (\d+)", answer) == [b"400"]
        assert b"connection: close" in answer.lower()
    assert len(shared.charges()) == before


def test_the_hidden_request_is_carried_out_where_framing_is_lenient(
    shared: Served, dot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: with h11's own reading, the same bytes carry a second request in, and it is charged."""
    monkeypatch.setattr(StrictConnection, "next_event", h11.Connection.next_event)
    before = len(shared.charges())
    hidden = run_of(shared, dot).replace(b"HTTP/1.1\r\n", b"HTTP/1.1\r\nConnection: close\r\n", 1)

    answered(shared, DOUBTFUL["a length and chunks"] + hidden)

    assert len(shared.charges()) > before


def test_ordinary_requests_are_taken_in_whatever_pieces_they_come(shared: Served, dot: str) -> None:
    """A length, chunks, two requests on one connection, and one byte at a time."""
    headers = {"x-api-key": KEY}
    body = {"endpointId": STITCH, "input": {"images": [{"url": dot, "frames": 1}]}}
    content = json.dumps(body).encode()
    chunks = [content[at : at + 9] for at in range(0, len(content), 9)]
    chunked = {"headers": {**headers, "content-type": "application/json"}}
    last = run_of(shared, dot).replace(b"HTTP/1.1\r\n", b"HTTP/1.1\r\nConnection: close\r\n", 1)
    in_chunks = START.replace(b"HTTP/1.1\r\n", b"HTTP/1.1\r\nConnection: close\r\n", 1)
    in_chunks += b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(content), content)

    with httpx.Client(base_url=shared.base_url, trust_env=False) as http:
        answers = [
            http.post("/models/run", json=body, headers=headers),
            http.post("/models/run", content=iter(chunks), **chunked),  # type: ignore[arg-type]
            http.post("/models/run", json=body, headers=headers),
        ]
    twice = answered(shared, run_of(shared, dot) + last)
    dripped = answered(shared, in_chunks, piece=1)

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert re.findall(rb"HTTP/1\.1 (\d+)", twice) == [b"200", b"200"]
    assert re.findall(rb"HTTP/1\.1 (\d+)", dripped) == [b"200"]
