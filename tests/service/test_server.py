"""The service on the network: garbled callers, foreign pages, parts of files, and how it ends."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from reelbook.models.catalog import CATALOG
from reelbook_service import spec_decisions
from tests.support import KEY, STITCH, TEXT, Serve, Served, read_charges

LONG = {"prompt": "a calm lake", "num_frames": 481, "resolution": "480p", "aspect_ratio": "1:1"}


def wire_to(base_url: str) -> socket.socket:
    host, port = base_url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def said(wire: socket.socket, request: bytes) -> bytes:
    """All that the service answers to some bytes, until it hangs up or falls silent."""
    wire.sendall(request)
    wire.settimeout(3)
    answer = b""
    with contextlib.suppress(ConnectionError, TimeoutError):
        while more := wire.recv(65536):
            answer += more
    return answer


# --- Garbled callers ---

START = b"POST /models/run HTTP/1.1\r\nHost: HOST\r\nx-api-key: KEY\r\nContent-Type: application/json\r\n"
REFUSED: dict[str, bytes] = {
    "noise": bytes(range(256)) * 10,
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\nHost: HOST\r\nHost: evil.example\r\n\r\n",
    "a header of a megabyte": b"GET / HTTP/1.1\r\nHost: HOST\r\nX: " + b"y" * 1_000_000 + b"\r\n\r\n",
    "a length and chunks": START + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and a length": START + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "two lengths": START + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "a length with a sign": START + b"Content-Length: +2\r\n\r\n{}",
    "chunks and another encoding": START + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "a chunk longer than it says": START + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_request_whose_end_is_in_doubt_is_refused_and_nothing_hides_behind_it(
    shared: Served, dot: str, name: str
) -> None:
    """One answer, 400, and the connection is closed: the paid request behind it is neither answered nor charged."""
    served = shared.with_own_account()
    body = json.dumps({"endpointId": STITCH, "input": {"images": [dot]}}).encode()
    hidden = START + b"Content-Length: %d\r\n\r\n" % len(body) + body
    host = served.base_url.removeprefix("http://").encode()

    with wire_to(served.base_url) as wire:
        answer = said(wire, (REFUSED[name] + hidden).replace(b"HOST", host).replace(b"KEY", served.key.encode()))

    if answer or name not in ("noise", "a header of a megabyte"):  # What is unread at a close can take the answer back.
        assert re.findall(rb"HTTP/1\.1 (\d+)", answer) == [b"400"]
        assert b"connection: close" in answer.lower()
    assert served.charges() == []


@pytest.mark.parametrize(
    "line",
    [
        b"GET http://evil.example/ HTTP/1.1",
        b"CONNECT evil.example:443 HTTP/1.1",
        b"GET /../../etc/passwd HTTP/1.1",
        b"GET /files/%2e%2e%2f%2e%2e%2fservice.sqlite3/a HTTP/1.1",
        b"GET /%zz%ff%00%c0%af HTTP/1.1",
    ],
)
def test_an_odd_address_opens_nothing(shared: Served, line: bytes) -> None:
    """Tunnels, dots and broken escapes: answered as what they are."""
    host = shared.base_url.removeprefix("http://").encode()

    with wire_to(shared.base_url) as wire:
        answer = said(wire, line + b"\r\nConnection: close\r\nHost: " + host + b"\r\n\r\n")

    assert set(re.findall(rb"HTTP/1\.1 (\d+)", answer)) <= {b"200", b"400", b"404", b"405"}
    assert b"root:" not in answer
    assert b"SQLite" not in answer
    assert shared.http.get("/").status_code == 200


# --- Foreign names and pages ---


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example:PORT",
        "localhost.:PORT",
        "127.0.0.1:1",
        "127.0.0.1",
        "127.0.0.1:0PORT",
        "127.0.0.1:" + "9" * 5000,
        "0.0.0.0:PORT",
        "[::ffff:127.0.0.1]:PORT",
        "127.0.0.1:PORT,evil.example",
        "",
    ],
)
def test_a_foreign_host_is_refused(shared: Served, host: str) -> None:
    """A page that points its own name at this machine gets nothing, and is not taken for an address of ours."""
    port = shared.base_url.rpartition(":")[2]
    known = shared.server.service.files.own_addresses

    with wire_to(shared.base_url) as wire:
        request = f"GET /models HTTP/1.1\r\nHost: {host.replace('PORT', port)}\r\nConnection: close\r\n\r\n"
        answer = said(wire, request.encode("latin-1"))

    assert answer.startswith((b"HTTP/1.1 403", b"HTTP/1.1 400"))
    assert b"svc/" not in answer
    assert shared.server.service.files.own_addresses == known


def test_its_own_names_are_known_and_others_can_be_given(serve: Serve) -> None:
    """127.0.0.1, localhost, ::1 and the names of --name, in any case."""
    served = serve(hosts=("lab.example",))
    port = served.base_url.rpartition(":")[2]

    def code(host: str) -> int:
        return served.http.get("/", headers={"host": f"{host}:{port}"}).status_code

    assert [code(host) for host in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]", "lab.example", "Lab.Example")] == [
        200
    ] * 6
    assert [code(host) for host in ("lab.example.org", "xlab.example")] == [403] * 2
    assert len(served.server.service.files.own_addresses) <= 5


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "file://", "http://localhost:1", "", "http://127.0.0.1"]
)
def test_a_foreign_page_is_refused(shared: Served, origin: str) -> None:
    """Only pages of this very address may call, whatever the method; there are no CORS headers."""
    for method, path in (("GET", "/"), ("POST", "/models/run"), ("OPTIONS", "/models/run"), ("PUT", "/x")):
        response = shared.http.request(method, path, headers={"origin": origin, "x-api-key": KEY})
        assert response.status_code == 403
        assert not any(name.startswith("access-control-") for name in response.headers)

    assert shared.http.get("/", headers={"origin": shared.base_url}).status_code == 200


def test_a_caller_cannot_pass_for_another_one(shared: Served, dot: str) -> None:
    """What a proxy would say of its own caller is not believed of anybody: addresses stay those of this service."""
    forged = {"x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https", "x-forwarded-host": "evil.example"}
    body = {"endpointId": STITCH, "input": {"images": [dot]}}

    answer = shared.http.post("/models/run", json=body, headers={"x-api-key": KEY, **forged}).json()

    assert answer["statusUrl"].startswith(f"{shared.base_url}/")


# --- How it ends ---


def test_the_command_prints_address_and_key_and_ends_cleanly_when_it_is_told_to(command: Any, tmp_path: Path) -> None:
    """SIGTERM with a run under way: status 0, no traceback, the worker gone, the run kept."""
    served = command()
    base_url = served.until(r"Reelbook service at (http://127\.0\.0\.1:\d+)")
    key = served.until(r"key +(rb-\S+)")
    with httpx.Client(base_url=base_url, headers={"x-api-key": key}, trust_env=False) as http:
        account = http.get("/account").json()
        request_id = http.post("/models/run", json={"endpointId": TEXT, "input": LONG}).json()["requestId"]
        while "painting" not in http.get(f"/{TEXT}/requests/{request_id}/status").text:
            time.sleep(0.02)
        workers = children(served.process.pid)
        began = time.monotonic()
        status, out, err = served.ended_by(signal.SIGTERM)

    assert (status, err) == (0, "")
    assert time.monotonic() - began < 15.0
    assert "/docs" in out
    assert account["credits_available"] == spec_decisions.DEFAULT_GRANT
    assert workers
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert [charge["kind"] for charge in read_charges(tmp_path / "service")] == ["reserve"]


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()


# --- Only what the spec shows ---


def test_spec_only_answers_what_the_spec_shows_and_nothing_else(shared_spec_only: Served, dot: str) -> None:
    """No extra addresses, no extra fields where they would give a client a hint, and the charge log all the same."""
    served = shared_spec_only.with_own_account()
    run = served.run(STITCH, {"images": [dot]})
    request_id = run.json()["requestId"]
    absent = [("GET", "/"), ("GET", "/account"), ("GET", "/models"), ("POST", "/files")]

    for method, path in absent:
        response = served.http.request(method, path, headers={"x-api-key": served.key})
        assert (response.status_code, response.json()["error_type"]) == (404, "not_found"), path

    assert set(run.json()) == {"requestId"}
    assert set(served.finished(STITCH, request_id)) == {
        "status", "request_id", "logs", "metrics", "status_url", "response_url", "cancel_url",
    }  # fmt: skip
    assert served.result(STITCH, request_id).json()["video"]["content_type"] == "video/mp4"
    assert served.moves() == ["reserve", "settle"]
    for path in ("/docs", "/openapi.json", f"/models/openapi.json?endpoint_id={TEXT}"):
        assert served.http.get(path).status_code == 200
    body = {"endpointId": TEXT, "input": {"prompt": "a"}}
    assert (
        served.http.post("/models/pricing/estimate", json=body, headers={"x-api-key": served.key}).json()["credits"]
        == 53
    )


def test_spec_only_cancels_with_success_alone_and_knows_no_idempotency(shared_spec_only: Served) -> None:
    """{success}, for all four models' queues; the same key twice is two runs."""
    served = shared_spec_only.with_own_account()
    first, second = (served.run(TEXT, LONG, **{"idempotency-key": "one"}).json()["requestId"] for _ in range(2))

    answers = [served.cancel(TEXT, request_id).json() for request_id in (first, second)]
    served.finished(TEXT, first)
    again = served.cancel(TEXT, first).json()

    assert first != second
    assert answers == [{"success": True}] * 2
    assert again == {"success": False}
    for row in CATALOG:
        unknown = served.http.put(f"/{row.id}/requests/unknown/cancel", headers={"x-api-key": served.key})
        assert unknown.status_code == 404
