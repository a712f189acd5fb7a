"""A hosted service that says another thing of itself to each notebook: the same run is paid for once all the same."""

from __future__ import annotations

import json
import sqlite3
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

import reelbook as rb
from tests.faults.standin import StandIn
from tests.faults.test_answers import BOAT
from tests.support import KEY, Served, as_data_uri, deep, png
from tests.transport.variants import Reply

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


AT_LEAST = ("another id each time", "trouble, then one of ours", "an id, then trouble")
"""Each way in which it changes; tests/storage/test_known_services.py has all of them without a service."""


@pytest.mark.parametrize("case", [*AT_LEAST, *deep(*((case,) for case in SAYS if case not in AT_LEAST))])
def test_three_notebooks_pay_once(shared_spec_only: Served, tmp_path: Path, case: str) -> None:
    """Each has the library's ledger and the service's address, and nothing else in common."""
    served = shared_spec_only.with_own_account()
    request = rb.ImagesToVideo(images=[as_data_uri(png(16, 16))])
    with fronted(served, SAYS[case]) as address:
        runs = []
        for spelling in (address, address + "/", address.replace("127.0.0.1", "localhost")):
            with rb.connect(spelling, api_key=served.key, library=tmp_path / "library"):
                runs.append(rb.run(request))

    assert len({run.id for run in runs}) == 1
    assert len([line for line in served.charges() if line["kind"] == "reserve"]) == 1


def test_a_ledger_with_several_ids_of_one_address_pays_for_none_of_its_runs_again(tmp_path: Path) -> None:
    """As an older version wrote it: each kernel under the id that it was told, and only the last one at the address."""
    boats = [BOAT.revised(seed=seed) for seed in range(1, 6)]
    with StandIn() as hosted:
        hosted.on("GET", "/", lambda _: Reply(200, {"service": "lab", "id": uuid.uuid4().hex}))
        with rb.connect(hosted.base_url, api_key=KEY, library=tmp_path) as client:
            first = [client.run(boat).request_id for boat in boats]
        with closing(sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)) as db:
            db.execute("DELETE FROM meta WHERE name GLOB 'service *' OR name = 'accepted log'")
            for number in range(1, len(boats) + 1):
                db.execute("UPDATE runs SET service = ? WHERE id = ?", (f"random-{number}", number))
            db.execute("INSERT INTO meta VALUES (?, ?)", (f"service at {hosted.base_url}", f"random-{len(boats)}"))
        log = tmp_path / "accepted.jsonl"
        lines = [json.loads(line) for line in log.read_text().split("\n") if line]
        older = [{**line, "service": f"random-{number}"} for number, line in enumerate(lines, 1)]
        for line in older:
            del line["place"]
        log.write_text("".join(json.dumps(line) + "\n" for line in older))
        kernels = []
        for _ in range(2):
            with rb.connect(hosted.base_url, api_key=KEY, library=tmp_path) as client:
                kernels.append([client.run(boat).request_id for boat in boats])
                swept = rb.sweep(BOAT, seed=range(1, 6)).run(budget=5 * 53, client=client)

    assert kernels == [first, first]
    assert set(swept["status"]) == {"completed"}
    assert len(hosted.charges) == len(boats)
