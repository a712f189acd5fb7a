"""What tests use: a running service called with nothing but HTTP, and pictures drawn on the spot."""

from __future__ import annotations

import base64
import io
import json
import re
import sqlite3
import struct
import sys
import time
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import settings
from PIL import Image, ImageDraw

from reelbook_service import class_admin
from reelbook_service.accounts import NewAccount
from reelbook_service.class_admin import Student
from reelbook_service.class_report import read_class
from reelbook_service.server import Server, bind_socket
from reelbook_service.service_settings import Settings
from reelbook_service.spec_decisions import DEFAULT_GRANT
from reelbook_service.store import open_transaction

KEY = "test-key"
TEXT, MOVE = "svc/text-to-video-13b-distilled", "svc/video-gen/v2.1/master/image-to-video"
RESIZE, STITCH = "svc/smart-resize", "svc/frames-api/images-to-video"


@dataclass(frozen=True)
class Served:
    """A running service, called with nothing but HTTP."""

    server: Server
    http: httpx.Client
    key: str = KEY
    account: str | None = None
    """The only one whose charges are shown; None for all."""

    def with_own_account(self, credits: int = DEFAULT_GRANT) -> Served:
        """The same service with the key of a new account: a test's own money, without a service of its own."""
        name = f"guest-{uuid.uuid4().hex[:12]}"
        self.server.service.accounts.open([NewAccount(name, f"key-of-{name}", credits)])
        return replace(self, key=f"key-of-{name}", account=name)

    @property
    def base_url(self) -> str:
        return self.server.base_url

    def run(self, endpoint_id: str, input: Any, key: str | None = None, **headers: str) -> httpx.Response:
        """The shared run call."""
        body = {"endpointId": endpoint_id, "input": input}
        return self.http.post("/models/run", json=body, headers={"x-api-key": self._key(key), **headers})

    def submitted(self, endpoint_id: str, input: Any, key: str | None = None) -> str:
        """The request id of an accepted run."""
        response = self.run(endpoint_id, input, key)
        assert response.status_code == 200, response.text
        return str(response.json()["requestId"])

    def get(self, path: str, key: str | None = None) -> httpx.Response:
        return self.http.get(path, headers={"x-api-key": self._key(key)})

    def finished(self, endpoint_id: str, request_id: str, key: str | None = None, within: float = 60) -> dict[str, Any]:
        """The final status, with its log."""
        return self.status_once(lambda status: status["status"] == "COMPLETED", endpoint_id, request_id, key, within)

    def status_once(
        self,
        holds: Callable[[dict[str, Any]], object],
        endpoint_id: str,
        request_id: str,
        key: str | None = None,
        within: float = 60,
    ) -> dict[str, Any]:
        """The first status of which this holds, with its log; asked for again and again, as the specification has it."""
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            answer = self.get(f"/{endpoint_id}/requests/{request_id}/status?logs=1", key)
            assert answer.status_code == 200, answer.text
            if holds(status := answer.json()):
                return dict(status)
            time.sleep(0.02)
        raise AssertionError("the run did not come that far in time")

    def until(self, words: str, endpoint_id: str, request_id: str) -> dict[str, Any]:
        """The first status that matches these words; the run may be over by then."""
        pattern = re.compile(words)
        return self.status_once(lambda status: pattern.search(json.dumps(status)), endpoint_id, request_id)

    def result(self, endpoint_id: str, request_id: str, key: str | None = None) -> httpx.Response:
        return self.get(f"/{endpoint_id}/requests/{request_id}", key)

    def done(self, endpoint_id: str, input: Any, key: str | None = None) -> dict[str, Any]:
        """The output of a run, from submission to result."""
        request_id = self.submitted(endpoint_id, input, key)
        self.finished(endpoint_id, request_id, key)
        response = self.result(endpoint_id, request_id, key)
        assert response.status_code == 200, response.text
        return dict(response.json())

    def cancel(self, endpoint_id: str, request_id: str, key: str | None = None) -> httpx.Response:
        return self.http.put(f"/{endpoint_id}/requests/{request_id}/cancel", headers={"x-api-key": self._key(key)})

    def moves(self, request_id: str | None = None) -> list[str]:
        """How credits moved, for one request or for all."""
        return [line["kind"] for line in self.charges() if request_id in (None, line["request_id"])]

    def charges(self) -> list[dict[str, Any]]:
        """The charge log, the oracle of all money."""
        lines = read_charges(self.server.service.settings.data)
        return [line for line in lines if self.account in (None, line["account"])]

    def money(self, request_id: str) -> list[tuple[str, int]]:
        """How the credits of a request moved."""
        return [(line["kind"], line["credits"]) for line in self.charges() if line["request_id"] == request_id]

    def _key(self, key: str | None) -> str:
        return self.key if key is None else key


@contextmanager
def running(data: Path, *accounts: NewAccount, **settings: Any) -> Iterator[Served]:
    """A service on a free port, with these accounts or the usual one."""
    server = Server(Settings(data=data, **settings), bind_socket("127.0.0.1", 0))
    server.service.accounts.open(accounts or [NewAccount("default", KEY)])
    with server, httpx.Client(base_url=server.base_url, timeout=30, trust_env=False) as http:
        yield Served(server, http)


def read_charges(data: Path) -> list[dict[str, Any]]:
    """The rows of a service's log of charges, in their order."""
    with closing(sqlite3.connect(data / "service.sqlite3", timeout=30)) as db:
        db.row_factory = sqlite3.Row
        rows = db.execute(
            "SELECT at, request_id, account, credits, kind FROM charges WHERE kind <> 'grant' ORDER BY seq"
        )
        return [dict(row) for row in rows]


def administer(data: Path, action: str, now: float | None = None, **options: Any) -> Any:
    """One action on the accounts of a service's folder, as `reelbook class` does it: from outside, while it runs."""
    now = time.time() if now is None else now
    whom = {
        "names": options.pop("names", ()),
        "group": options.pop("group", None),
        "everybody": options.pop("all", False),
    }
    with open_transaction(data) as db:
        match action:
            case "add":
                students = [Student(**student) for student in options.pop("students")]
                return class_admin.add(db, now, students, **options)
            case "report":
                return read_class(db, now, with_results=False)
        names = class_admin.choose(db, **whom)
        keys = class_admin.act(db, now, action, names, **options)
        return keys if action == "replace" else names


Serve = Callable[..., Served]


def deep(*cases: tuple[Any, ...]) -> list[Any]:
    """Cases of a test with parameters that `make deep` alone runs."""
    return [pytest.param(*case, marks=pytest.mark.deep) for case in cases]


def once_each(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    """All pairs of two dimensions: those in which each value comes at least once, and for `make deep` the others."""
    count = max(len(first), len(second))
    some = {(number % len(first), number % len(second)) for number in range(count)}
    return [
        pytest.param(one, other, marks=() if (row, column) in some else pytest.mark.deep)
        for row, one in enumerate(first)
        for column, other in enumerate(second)
    ]


def examples(few: int, many: int) -> int:
    """How many examples Hypothesis tries: few, or many with `make deep`."""
    return many if settings.get_current_profile_name() == "deep" else few


def peak_mib() -> int:
    """The most memory that this process has had in use.

    Not `ru_maxrss` where /proc tells: on Linux a child begins with the peak of the process that started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return next(
            int(line.split()[1]) // 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM")
        )
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 * (1024 if sys.platform == "darwin" else 1))


def png(width: int = 32, height: int = 16, colour: str = "teal", *, kind: str = "PNG") -> bytes:
    """A small picture with a mark in one corner."""
    picture = Image.new("RGB", (width, height), colour)
    ImageDraw.Draw(picture).rectangle((0, 0, width // 4, height // 4), fill="white")
    out = io.BytesIO()
    picture.save(out, kind)
    return out.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    """A part of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def raw_png(width: int, height: int, depth: int, colour: int, pixels: bytes, *extra: bytes) -> bytes:
    """A PNG from its parts, consistent or not; the pixels are deflated already."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(extra) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def as_data_uri(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
