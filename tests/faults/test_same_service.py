"""A hosted service that says another thing of itself to each notebook: the same run is paid for once all the same."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

import reelbook as rb
from tests.support import KEY, Serve, Served, as_data_uri, png

Said = tuple[int, Mapping[str, Any]]


@contextmanager
def fronted(served: Served, said: Callable[[int], Said]) -> Iterator[str]:
    """The address of a gateway that passes everything on and answers `GET /` by itself."""
    asked = count()

    class Gateway(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path == "/":
                status, told = said(next(asked))
                self.answer(status, json.dumps(told).encode(), "application/json")
            else:
                self.pass_on()

        def do_POST(self) -> None:
            self.pass_on()

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            given = {name: self.headers[name] for name in ("x-api-key", "content-type") if name in self.headers}
            found = httpx.request(
                self.command, served.base_url + self.path, content=body, headers=given, trust_env=False, timeout=30
            )
            self.answer(found.status_code, found.content, found.headers["content-type"])

        def answer(self, status: int, content: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


LATER: Said = 501, {"detail": "the gateway is being set up"}
"""In doubt like every 5xx, and not worth a repetition, which would take seconds here."""
LAB: Said = 200, {"service": "lab", "id": "one"}
OURS: Said = 200, {"service": "reelbook", "id": "one"}
SAYS: dict[str, Callable[[int], Said]] = {
    "another id each time": lambda _: (200, {"service": "lab", "id": uuid.uuid4().hex, "features": []}),
    "another id each time, as one of ours": lambda _: (200, {"service": "reelbook", "id": uuid.uuid4().hex}),
    "trouble, then an id": lambda number: LATER if number == 0 else LAB,
    "trouble, then one of ours": lambda number: LATER if number == 0 else OURS,
    "an id, then trouble": lambda number: LAB if number == 0 else LATER,
    "one of ours, then trouble": lambda number: OURS if number < 2 else LATER,
    "an id, then nothing": lambda number: LAB if number == 0 else (200, {}),
}


@pytest.mark.parametrize("case", SAYS)
def test_three_notebooks_pay_once(serve: Serve, tmp_path: Path, case: str) -> None:
    """Each has the library's ledger and the service's address, and nothing else in common."""
    served = serve(spec_only=True)
    request = rb.ImagesToVideo(images=[as_data_uri(png(16, 16))])
    with fronted(served, SAYS[case]) as address:
        runs = []
        for spelling in (address, address + "/", address.replace("127.0.0.1", "localhost")):
            with rb.connect(spelling, api_key=KEY, library=tmp_path / "library"):
                runs.append(rb.run(request))

    assert len({run.id for run in runs}) == 1
    assert len([line for line in served.charges() if line["kind"] == "reserve"]) == 1
