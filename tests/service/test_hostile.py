"""Hostile submissions: each ends in a documented error, soon, for nothing, and nobody else notices."""

from __future__ import annotations

import asyncio
import io
import json
import select
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image

from reelbook_service import request_bodies, spec_decisions
from reelbook_service.accounts import NewAccount
from reelbook_service.queue import Queue, Request
from reelbook_service.refusals import CODES
from reelbook_service.service_files import Files, StoredFile
from tests.support import KEY, RESIZE, STITCH, TEXT, Served, as_data_uri, chunk, png, raw_png, running

ALICE = "alice-key"
SOON = 20.0
"""How many seconds an attack may take."""
PATIENCE = 3.0
"""How many seconds somebody else may wait for a status meanwhile."""
SLACK = 256
"""How many MiB a worker may grow between two looks at its size."""


class Bystander:
    """Alice, who asks for the status of her run all the time, and keeps an eye on the workers."""

    def __init__(self, served: Served) -> None:
        self._served, self._over = served, threading.Event()
        self._request_id = served.submitted(STITCH, {"images": [as_data_uri(png(16, 16))]}, ALICE)
        served.finished(STITCH, self._request_id, ALICE)
        self.worst, self.asked, self.trouble, self.largest = 0.0, 0, "", 0.0
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        path = f"/{STITCH}/requests/{self._request_id}/status"
        with httpx.Client(base_url=self._served.base_url, headers={"x-api-key": ALICE}, trust_env=False) as http:
            while not self._over.wait(0.05):
                began = time.monotonic()
                try:
                    if http.get(path).json()["status"] != "COMPLETED":
                        self.trouble = "the status was lost"
                except (httpx.HTTPError, ValueError, KeyError) as error:
                    self.trouble = repr(error)
                self.worst, self.asked = max(self.worst, time.monotonic() - began), self.asked + 1
                self._look_at_workers()

    def _look_at_workers(self) -> None:
        for pid in list(self._served.server.service.workers.pids.values()):
            with suppress(OSError, StopIteration):
                status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
                peak = next(line for line in status if line.startswith("VmHWM"))
                self.largest = max(self.largest, int(peak.split()[1]) / 1024)

    def stop(self) -> None:
        self._over.set()
        self._thread.join()


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Bystander]]:
    """A service with one worker, an attacker, and a bystander."""
    accounts = [NewAccount("mallory", KEY), NewAccount("alice", ALICE)]
    with running(tmp_path_factory.mktemp("attacked"), *accounts, workers=1) as served:
        bystander = Bystander(served)
        yield served, bystander
        bystander.stop()


def survived(attacked: tuple[Served, Bystander], attack: Callable[[Served], httpx.Response]) -> str | None:
    """What kind of error an attack ends with, None for none; checks what holds for every attack."""
    served, bystander = attacked
    paid_before, bystander.worst = len(served.charges()), 0.0
    began = time.monotonic()

    response = attack(served)
    if response.status_code == 200 and "requestId" in response.json():
        request_id = response.json()["requestId"]
        endpoint_id = response.json()["statusUrl"].removeprefix(served.base_url + "/").partition("/requests/")[0]
        served.finished(endpoint_id, request_id)
        response = served.result(endpoint_id, request_id)

    assert time.monotonic() - began <= SOON
    assert bystander.worst <= PATIENCE
    assert bystander.trouble == ""
    signs = {"reserve": 1, "refund": -1, "settle": -1}
    charges = served.charges()[paid_before:]
    assert sum(signs[charge["kind"]] * charge["credits"] for charge in charges) == 0
    if response.status_code == 200:
        return None
    assert [charge["kind"] for charge in charges] in ([], ["reserve", "refund"])
    body = response.json()
    assert response.status_code == CODES[body["error_type"]]
    assert len(response.content) < 100_000, "the answer throws the attack back"
    return str(body["error_type"])


LARGE = {
    "a zTXt bomb",
    "base64 of 20 MB with an error at its end",
}
"""What takes a second, and for which another of the same kind stands in `make test`."""


def _but_large(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, marks=[pytest.mark.deep] if name in LARGE else []) for name in names]


# --- Bodies ---


def of(input: str, endpoint_id: str = TEXT) -> bytes:
    """A run call whose input is written by hand."""
    return f'{{"endpointId": "{endpoint_id}", "input": {input}}}'.encode("utf-8", "surrogatepass")


BIG = "1" + "0" * 4000
BODIES: dict[str, tuple[Callable[[], bytes], str]] = {
    "a model that is a number": (lambda: b'{"endpointId": 5, "input": {}}', "validation_error"),
    "a model of a megabyte": (lambda: of("{}", "svc/" + "x" * 1_000_000), "not_found"),
    "an input that is a number": (lambda: of("5"), "validation_error"),
    "not a number": (lambda: of('{"prompt": "a", "seed": NaN}'), "bad_request"),
    "1e999 frames": (lambda: of('{"prompt": "a", "num_frames": 1e999}'), "validation_error"),
    "4,000 digits of frames": (lambda: of(f'{{"prompt": "a", "num_frames": {BIG}}}'), "validation_error"),
    "10,000 digits": (lambda: of(f'{{"prompt": "a", "seed": {"9" * 10_000}}}'), "bad_request"),
    "lists 100,000 deep": (lambda: of("[" * 100_000 + "]" * 100_000), "bad_request"),
    "40 MiB": (lambda: of('{"prompt": "' + "x" * 40 * spec_decisions.MIB + '"}'), "too_large"),
    "16 million numbers": (lambda: of("[" + "1," * 16_000_000 + "1]"), "too_large"),
    "240,000 empty objects": (lambda: of('{"images": [' + "{}," * 240_000 + "{}]}", STITCH), "validation_error"),
    "240,000 unknown fields": (
        lambda: of("{" + ", ".join(f'"{n}": 0' for n in range(240_000)) + "}"),
        "validation_error",
    ),
    "broken UTF-8": (lambda: b'{"endpointId": "\xff\xfe", "input": {}}', "bad_request"),
    "UTF-16": (lambda: of('{"prompt": "a"}').decode().encode("utf-16"), "bad_request"),
    "a field twice": (lambda: b'{"endpointId": "svc/smart-resize", "endpointId": "svc/no", "input": {}}', "not_found"),
    "240,000 sizes": (
        lambda: of(json.dumps({"image_url": "data:,", "target_sizes": ["10x10"] * 240_000}), RESIZE),
        "validation_error",
    ),
    "a size of a megabyte": (
        lambda: of(json.dumps({"image_url": "data:,", "target_sizes": ["1" * 1_000_000]}), RESIZE),
        "validation_error",
    ),
    "more frames than a video holds": (
        lambda: of(json.dumps({"images": [{"url": "data:,", "frames": 100_000}] * 2}), STITCH),
        "validation_error",
    ),
    "base64 of 20 MB with an error at its end": (
        lambda: of(json.dumps({"images": ["data:image/png;base64," + "A" * 20_000_000 + "!"]}), STITCH),
        "validation_error",
    ),
    "a data address of 25 MB": (
        lambda: of(json.dumps({"images": ["data:image/png;base64," + "A" * 32_100_000]}), STITCH),
        "validation_error",
    ),
}


@pytest.mark.parametrize("name", _but_large(BODIES))
def test_a_hostile_body_is_refused_at_the_door(attacked: tuple[Served, Bystander], name: str) -> None:
    """Wrong types, sizes, depths and bytes: refused at once, while others are served."""
    content, error_type = BODIES[name]
    body = content()

    def attack(served: Served) -> httpx.Response:
        headers = {"x-api-key": KEY, "content-type": "application/json"}
        return served.http.post("/models/run", content=body, headers=headers)

    assert survived(attacked, attack) == error_type


def endless(base_url: str, head: str, piece: bytes = b"") -> bytes:
    """What the service answers to a body that does not end."""
    host, port = base_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as wire:
        wire.sendall(f"POST /models/run HTTP/1.1\r\nHost: {host}:{port}\r\nx-api-key: {KEY}\r\n{head}\r\n\r\n".encode())
        wire.setblocking(False)
        received, left = b"", piece
        deadline = time.monotonic() + SOON
        with suppress(ConnectionError):
            while b"error_type" not in received and time.monotonic() < deadline:
                readable, writable, _ = select.select([wire], [wire] if piece else [], [], 0.1)
                if readable and not (more := wire.recv(65536)):
                    break
                received += more if readable else b""
                if writable:
                    left = left[wire.send(left) :] or piece
        return received


def test_a_body_without_an_end_is_cut_off(attacked: tuple[Served, Bystander], monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunk after chunk, beyond what is taken and beyond what is drained: the connection ends, memory stays flat."""
    served, bystander = attacked
    monkeypatch.setattr(spec_decisions, "MAX_BODY_BYTES", spec_decisions.MIB)
    monkeypatch.setattr(request_bodies, "MAX_DRAINED_BYTES", 32 * spec_decisions.MIB)
    bystander.worst = 0.0
    piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"

    answer = endless(served.base_url, "content-type: application/json\r\ntransfer-encoding: chunked", piece * 4)

    assert b"too_large" in answer
    assert bystander.worst <= PATIENCE
    assert bystander.trouble == ""


def test_a_body_that_drips_is_given_up(attacked: tuple[Served, Bystander], monkeypatch: pytest.MonkeyPatch) -> None:
    """A body has a time in which it must arrive."""
    served, _ = attacked
    monkeypatch.setattr(spec_decisions, "BODY_SECONDS", 0.2)

    answer = endless(served.base_url, "content-type: application/json\r\ncontent-length: 100")

    assert b"did not arrive within 0.2 s" in answer


def test_the_service_s_own_address_is_no_way_in(attacked: tuple[Served, Bystander]) -> None:
    """Only its files are read by address, and only those that are there."""
    for path in ("/account", "/files/../service.sqlite3", "/files/unknown/a.png", "/files/"):
        asked = {"images": [attacked[0].base_url + path]}
        assert survived(attacked, lambda served, asked=asked: served.run(STITCH, asked)) == "file_download_error"  # type: ignore[misc]


# --- Pictures ---


@cache
def deflated_zeros(size: int) -> bytes:
    """A small text that inflates to a large one."""
    packer = zlib.compressobj(1)
    block = bytes(spec_decisions.MIB)
    return b"".join(packer.compress(block) for _ in range(size // spec_decisions.MIB)) + packer.flush()


def black(width: int, height: int) -> bytes:
    """A whole PNG with one bit for each pixel."""
    return raw_png(width, height, 1, 0, zlib.compress(bytes(height * (1 + (width + 7) // 8)), 1))


def small_png(*extra: bytes) -> bytes:
    return raw_png(16, 16, 8, 2, zlib.compress(bytes(16 * 49)), *extra)


def gif(width: int, height: int, frame_width: int, frame_height: int, frames: int = 1) -> bytes:
    frame = b"," + struct.pack("<HHHHB", 0, 0, frame_width, frame_height, 0) + b"\x02\x02\x4c\x01\x00"
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    return head + frame * frames + b";"


def encoded(kind: str, width: int = 64, height: int = 64, **options: Any) -> bytes:
    out = io.BytesIO()
    Image.effect_noise((width, height), 50).convert("RGB").save(out, kind, **options)
    return out.getvalue()


def jpeg_of(width: int, height: int, *, progressive: bool = False) -> bytes:
    """A small JPEG that says it is a large one."""
    data = bytearray(encoded("JPEG", progressive=progressive))
    start = data.index(b"\xff\xc2" if progressive else b"\xff\xc0")
    data[start + 5 : start + 9] = struct.pack(">HH", height, width)
    return bytes(data)


LOAD = ("image_load_error",)
PICTURES: dict[str, tuple[Callable[[], bytes], tuple[str, ...]]] = {
    "a PNG of 20,000 × 20,000": (lambda: black(20_000, 20_000), LOAD),
    "a PNG of 2³¹ × 2³¹": (lambda: raw_png(2**31 - 1, 2**31 - 1, 8, 6, b""), LOAD),
    "a zTXt bomb": (lambda: small_png(chunk(b"zTXt", b"c\0\0" + deflated_zeros(100_000_000))), LOAD),
    "80 iTXt bombs": (
        lambda: small_png(*[chunk(b"iTXt", b"c\0\1\0\0\0" + deflated_zeros(spec_decisions.MIB))] * 80),
        LOAD,
    ),
    "an iCCP bomb": (lambda: small_png(chunk(b"iCCP", b"c\0\0" + deflated_zeros(100_000_000))), LOAD),
    "an animation of 2³¹ frames": (lambda: small_png(chunk(b"acTL", struct.pack(">II", 2**31 - 1, 0))), (*LOAD, "")),
    "a GIF with an absurd screen": (lambda: gif(65_535, 65_535, 1, 1), LOAD),
    "a JPEG of 65,500 × 65,500": (lambda: jpeg_of(65_500, 65_500), LOAD),
    "a JPEG of 200,000 empty comments": (lambda: b"\xff\xd8" + b"\xff\xfe\0\x02" * 200_000, LOAD),
}


@pytest.mark.parametrize("name", _but_large(PICTURES))
def test_a_hostile_picture_ends_its_run_and_nothing_else(attacked: tuple[Served, Bystander], name: str) -> None:
    """Bombs, polyglots and cut files: the run fails with the reason and is refunded."""
    content, error_types = PICTURES[name]
    address = as_data_uri(content())

    assert (survived(attacked, lambda served: served.run(STITCH, {"images": [address]})) or "") in error_types


@pytest.mark.parametrize("name", ["a.mp4", "../../etc/passwd", "a\r\nx-evil: 1.png", "a" * 3000, "é\0.png", ".."])
def test_an_upload_is_what_its_bytes_are_whatever_it_is_called(attacked: tuple[Served, Bystander], name: str) -> None:
    """A playlist that claims to be a video is kept as bytes without a meaning, under a name of ours, and is no picture."""
    served, _ = attacked
    script = b"ffconcat version 1.0\nfile /etc/passwd\n"

    response = served.http.post("/files", files={"file": (name, script, "video/mp4")}, headers={"x-api-key": KEY})
    file = response.json()
    fetched = served.http.get(file["url"])

    assert file["content_type"] == fetched.headers["content-type"] == "application/octet-stream"
    assert file["file_name"].startswith("upload-")
    assert fetched.headers["content-security-policy"].startswith("default-src 'none'")
    assert fetched.headers["x-content-type-options"] == "nosniff"
    assert "evil" not in str(fetched.headers)
    assert survived(attacked, lambda served: served.run(STITCH, {"images": [file["file_id"]]})) == "image_load_error"


def multipart(*parts: bytes) -> bytes:
    return b"".join(b"--b\r\n" + part + b"\r\n" for part in parts) + b"--b--\r\n"


FILE = b'content-disposition: form-data; name="file"; filename="a"\r\n\r\n'
UPLOADS: dict[str, tuple[bytes, bytes]] = {
    "nothing": (b"", b"b"),
    "no file": (multipart(b'content-disposition: form-data; name="file"\r\n\r\nx'), b"b"),
    "a header of 5 MB": (multipart(b"x: " + b"y" * 5_000_000 + b"\r\n\r\nz"), b"b"),
    "20,000 parts without a file": (multipart(*[b'content-disposition: form-data; name="a"\r\n\r\nx'] * 20_000), b"b"),
    "a boundary of 10,000": (multipart(FILE + b"x"), b"b" * 10_000),
    "another boundary": (multipart(FILE + b"x"), b"c"),
    "noise": (bytes(range(256)) * 1000, b"b"),
}


@pytest.mark.parametrize("name", UPLOADS)
def test_a_hostile_upload_is_refused_and_leaves_nothing_behind(attacked: tuple[Served, Bystander], name: str) -> None:
    """Broken and bloated forms end in bad_request; no half-written file stays."""
    content, boundary = UPLOADS[name]
    headers = {b"x-api-key": KEY.encode(), b"content-type": b"multipart/form-data; boundary=" + boundary}

    ended = survived(attacked, lambda served: served.http.post("/files", content=content, headers=headers))

    assert ended == "bad_request"
    assert list(attacked[0].server.service.settings.data.glob("*.part")) == []


# --- What must hold for the service itself ---


def test_after_all_of_this_the_service_is_well(attacked: tuple[Served, Bystander], dot: str) -> None:
    """It works, nobody was kept waiting or told nonsense, no worker grew beyond its share, and the books are right."""
    served, bystander = attacked

    assert served.done(STITCH, {"images": [dot]})["video"]["url"]

    statement = served.get("/account").json()
    settled = sum(
        charge["credits"] for charge in served.charges() if (charge["account"], charge["kind"]) == ("mallory", "settle")
    )
    assert (statement["credits_reserved"], statement["credits_spent"]) == (0, settled)
    assert bystander.trouble == ""
    assert bystander.asked > 20
    assert bystander.largest <= served.server.service.settings.worker_mib + SLACK


def test_who_is_told_that_a_run_is_cancelled_does_not_pay_for_it(
    shared: Served, dot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancellation in the very moment in which the files are taken over: success and refund go together."""
    served = shared.with_own_account()
    service = served.server.service
    keep, answers = Files.store_file, []

    async def keep_slowly(files: Files, path: Path, *arguments: Any, **options: Any) -> StoredFile:
        stored = await keep(files, path, *arguments, **options)
        (request,) = (one for one in service.queue._live.values() if one.account == served.account)
        answers.append(await service.cancel(request))
        return stored

    monkeypatch.setattr(Files, "store_file", keep_slowly)
    request_id = served.submitted(STITCH, {"images": [dot]})
    final = served.finished(STITCH, request_id)

    assert answers == ["CANCELLATION_REQUESTED"]
    assert final["error_type"] == "cancelled"
    assert served.moves() == ["reserve", "refund"]
    assert served.result(STITCH, request_id).status_code == 499


def test_a_cancellation_that_comes_too_late_says_so(shared: Served, dot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked when the end is on its way to the disk, the answer is ALREADY_COMPLETED, and the run stays paid."""
    served = shared.with_own_account()
    service = served.server.service
    finish, answers, answered = Queue.finish, [], threading.Event()

    async def finish_and_cancel(queue: Queue, request: Request, **ending: Any) -> None:
        finishing = asyncio.ensure_future(finish(queue, request, **ending))
        await asyncio.sleep(0)  # Now its commit stands first in the store's line.
        answers.append(await service.cancel(request))
        answered.set()
        await finishing

    monkeypatch.setattr(Queue, "finish", finish_and_cancel)
    request_id = served.submitted(STITCH, {"images": [dot]})
    served.finished(STITCH, request_id)

    assert answered.wait(30)  # The end is seen before the answer to whoever came too late.
    assert served.result(STITCH, request_id).status_code == 200
    assert answers == ["ALREADY_COMPLETED"]
    assert served.moves() == ["reserve", "settle"]
