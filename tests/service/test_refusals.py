"""Every refusal of the service: its code, its type, its sentence, and that it costs nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from reelbook_service import spec_decisions
from reelbook_service.accounts import NewAccount
from reelbook_service.refusals import CODES
from reelbook_service.routes import all_routes
from tests.support import KEY, MOVE, RESIZE, STITCH, TEXT, Serve, Served, as_data_uri, running

SMALL = {"num_frames": 9, "resolution": "480p", "aspect_ratio": "1:1"}
LONG = {"prompt": "a calm lake", "num_frames": 1441}
NOBODY = "00000000-0000-4000-8000-000000000000"

OPEN = {"/", "/models", "/models/openapi.json", "/openapi.json", "/docs", "/files/{token}/{name}"}
"""Addresses that need no key."""


@pytest.fixture(scope="module")
def classroom(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service with a usual account and three with more or fewer rights, or less money."""
    accounts = [
        NewAccount("default", KEY),
        NewAccount("poor", "poor-key", budget=52),
        NewAccount("reader", "reader-key", permissions=("upload",)),
        NewAccount("trusted", "trusted-key", permissions=("run", "unchecked")),
    ]
    with running(tmp_path_factory.mktemp("classroom"), *accounts, workers=1) as served:
        yield served


def check_refusal(response: httpx.Response, error_type: str, *, status: int | None = None) -> dict[str, Any]:
    """What holds for every refusal: code, type, a request id, and sentences that help and give nothing away."""
    body = dict(response.json())
    assert response.status_code == (status or CODES[error_type]), response.text
    assert body["error_type"] == error_type
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-request-id"]
    detail = body["detail"]
    for sentence in [detail] if isinstance(detail, str) else [entry["msg"] for entry in detail]:
        check_sentence(sentence, may_name_a_class=error_type == "engine_error")
    return body


def check_sentence(sentence: str, *, may_name_a_class: bool = False) -> None:
    """A sentence for a person: whole, of a readable length, without the inside of the program."""
    assert 20 <= len(sentence) <= 500, sentence
    assert re.match("[A-Z0-9`]", sentence), sentence
    assert sentence.endswith((".", "!", "?")), sentence
    assert "Traceback" not in sentence
    assert not re.search(r"\.py\b|site-packages|/tmp/|/home/|/root/|\bline \d+, in\b", sentence), sentence
    if not may_name_a_class:
        assert not re.search(r"\b[A-Z]\w*(Error|Exception|Refusal)\b", sentence), sentence


def failed(served: Served, endpoint_id: str, input: Any, key: str = KEY) -> tuple[dict[str, Any], httpx.Response]:
    """The final status of a run, and the answer to the question for its result."""
    request_id = served.submitted(endpoint_id, input, key)
    final = served.finished(endpoint_id, request_id, key)
    return final, served.result(endpoint_id, request_id, key)


# --- Refused at the door: nothing enters the charge log ---


def run(input: Any, endpoint_id: Any = TEXT, **more: Any) -> dict[str, Any]:
    """A run call, as httpx takes it."""
    return {"json": {"endpointId": endpoint_id, "input": input}, **more}


def body(content: bytes, kind: str = "application/json") -> dict[str, Any]:
    return {"content": content, "headers": {"content-type": kind}}


RUN, REQUEST = "POST /models/run", f"/{TEXT}/requests/{NOBODY}"
BOY = {"prompt": "a boy"}
REFUSED: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "no body": (RUN, body(b""), "bad_request", "well-formed"),
    "a list": (RUN, body(b"[]"), "bad_request", "object"),
    "a text of a page": (RUN, body(b"{}", "text/plain"), "bad_request", "content-type"),
    "an upload that is none": ("POST /files", body(b"{}"), "bad_request", "multipart"),
    "too poor": (RUN, run(BOY, key="poor-key"), "insufficient_credits", "53"),
    "not allowed": (RUN, run(BOY, key="reader-key"), "forbidden", "'run'"),
    "not allowed to upload": ("POST /files", {"key": "trusted-key"}, "forbidden", "'upload'"),
    "a foreign name": ("GET /", {"headers": {"host": "evil.example"}}, "forbidden", "host name"),
    "an unknown model": (RUN, run({}, "svc/unknown"), "not_found", "The models are: svc/"),
    "an unknown model's path": ("POST /svc/unknown", {"json": {}}, "not_found", "/docs"),
    "an unknown path": ("GET /nothing/here", {}, "not_found", "/docs"),
    "an unknown status": (f"GET {REQUEST}/status", {}, "not_found", NOBODY),
    "an unknown result": (f"GET {REQUEST}", {}, "not_found", NOBODY),
    "an unknown file": ("GET /files/unknown/a.png", {}, "not_found", "no such file"),
    "a path with an escaped slash": (f"GET /{TEXT}/requests/..%2f..%2fetc%2fpasswd", {}, "not_found", ""),
    "a GET where a POST is due": ("GET /models/run", {}, "method_not_allowed", "It takes POST"),
    "a POST where a PUT is due": (f"POST {REQUEST}/cancel", {}, "method_not_allowed", "PUT"),
    "too large": (RUN, body(b" " * (spec_decisions.MAX_BODY_BYTES + 1)), "too_large", "33,554,432 bytes"),
    "too many values": (RUN, body(b"[" + b"1," * 250_001 + b"1]"), "too_large", "250,000"),
    "no model": ("GET /models/openapi.json", {}, "validation_error", "endpoint_id"),
    "an odd key": (RUN, run(BOY, headers={"idempotency-key": "a b"}), "validation_error", "Idempotency-Key"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_call_that_is_refused_at_once_says_why_and_costs_nothing(classroom: Served, name: str) -> None:
    """Each code of the table, with its type and a sentence; nothing was reserved for it."""
    call, options, error_type, says = REFUSED[name]
    before = len(classroom.charges())
    headers = {"x-api-key": options.get("key", KEY), **options.get("headers", {})}

    response = classroom.http.request(
        *call.split(), headers=headers, content=options.get("content"), json=options.get("json")
    )

    assert says in str(check_refusal(response, error_type)["detail"])
    assert len(classroom.charges()) == before
    if error_type == "method_not_allowed":
        assert response.headers["allow"] in ("POST", "PUT")
    if error_type == "insufficient_credits":
        assert (response.json()["needed"], response.json()["available"]) == (53, 52)


@pytest.mark.parametrize("key", [None, "", "unknown", "test-key ", "TEST-KEY", "x" * 10_000])
def test_without_a_known_key_every_other_address_is_closed(classroom: Served, key: str | None) -> None:
    """401 everywhere but at the open addresses, before anything else is looked at."""
    closed = [row for row in all_routes() if row.path not in OPEN]
    headers = {} if key is None else {"x-api-key": key}
    # The server trims the blanks around a header's value, as HTTP wants it.
    if key is not None and key.strip() == KEY:
        headers["x-api-key"] = f"{KEY}."

    for row in closed:
        response = classroom.http.request(row.method, row.path.format(request_id=NOBODY), headers=headers)
        body = check_refusal(response, "unauthorized")
        assert ("needs a key" if not key else "not known") in body["detail"]

    assert len(closed) >= 20


def test_an_invalid_input_has_one_entry_for_each_field_with_its_place(classroom: Served, dot: str) -> None:
    """422 names every wrong field at once, the inner ones by their whole place."""
    wrong = {
        "num_frames": 5,
        "resolution": "1080p",
        "seed": "7",
        "loras": [{"path": "a"}, {"path": "b", "scale": 9}],
        "temporal_adain_factor": 0.07,
        "colour": "red",
    }

    body = check_refusal(classroom.run(TEXT, wrong), "validation_error")

    places = ["prompt", "num_frames", "resolution", "seed", "loras.1.scale", "temporal_adain_factor", "colour"]
    assert {".".join(map(str, entry["loc"])) for entry in body["detail"]} == {f"body.input.{place}" for place in places}
    for entry in body["detail"]:
        assert set(entry) == {"loc", "msg", "type", "ctx"}
        assert str(entry["loc"][-1]) in entry["msg"]


# --- Refused in the worker: the run ends, and its credits come back ---

DOWNLOAD, PICTURE, CONTENT = "file_download_error", "image_load_error", "content_policy_violation"
RUNS: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "a private source": (MOVE, {"prompt": "a", "image_url": "http://127.0.0.1:9/a.png"}, DOWNLOAD, "public internet"),
    "a file of the machine": (RESIZE, {"image_url": "file:///etc/passwd", "target_sizes": ["16x16"]}, DOWNLOAD, "only"),
    "an unknown upload": (STITCH, {"images": [f"file_{'0' * 32}"]}, DOWNLOAD, "file_ids of uploads"),
    "an empty address": (STITCH, {"images": [""]}, DOWNLOAD, "only http"),
    "text as a picture": (STITCH, {"images": [as_data_uri(b"hello, I am text")]}, PICTURE, "not a picture"),
    "nothing as a picture": (STITCH, {"images": ["data:image/png;base64,"]}, PICTURE, "empty"),
    "a refused word": (TEXT, {"prompt": "a lot of gore", **SMALL}, CONTENT, "'gore'"),
    "a refused word, unasked": (
        TEXT,
        {"prompt": "a NUDE painting", "enable_safety_checker": False, **SMALL},
        CONTENT,
        "'nude'",
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_fails_says_why_with_its_status_and_its_result_and_is_refunded(classroom: Served, name: str) -> None:
    """COMPLETED with error and error_type; the result has the error's own code; reserve and refund cancel out."""
    endpoint_id, asked, error_type, says = RUNS[name]

    final, result = failed(classroom, endpoint_id, asked)

    body = check_refusal(result, error_type, status=422)
    assert says in body["detail"]
    assert (final["error"], final["error_type"]) == (body["detail"], error_type)
    assert result.headers["x-request-id"] == final["request_id"]
    assert final["metrics"]["credits"] == 0
    assert classroom.moves(final["request_id"]) == ["reserve", "refund"]


def test_only_an_account_that_may_is_left_unchecked(classroom: Served) -> None:
    """With the permission, turning the checker off works; leaving it on still checks."""
    prompt = {"prompt": "a nude painting", "seed": 1, **SMALL}

    off, shown = failed(classroom, TEXT, {**prompt, "enable_safety_checker": False}, "trusted-key")
    on, _ = failed(classroom, TEXT, prompt, "trusted-key")

    assert "error" not in off
    assert shown.status_code == 200
    assert on["error_type"] == CONTENT


# --- Refusals that need a service of their own ---


def test_too_many_waiting_requests_are_429_with_a_time_to_wait(serve: Serve, dot: str) -> None:
    """The one over the limit is refused; other accounts are not, and neither is a repeated call of an accepted one."""
    served = serve(workers=1, max_waiting=2, accounts=[NewAccount("a", KEY), NewAccount("b", "key-b")])
    running = served.submitted(TEXT, LONG)
    served.until("IN_PROGRESS", TEXT, running)
    first = served.run(STITCH, {"images": [dot]}, **{"idempotency-key": "one"}).json()
    served.submitted(STITCH, {"images": [dot]})

    refused = served.run(STITCH, {"images": [dot]})
    repeated = served.run(STITCH, {"images": [dot]}, **{"idempotency-key": "one"})
    other = served.run(STITCH, {"images": [dot]}, "key-b", **{"idempotency-key": "theirs"})
    borrowed = served.run(STITCH, {"images": [dot]}, **{"idempotency-key": "theirs"})
    served.cancel(TEXT, running)

    body = check_refusal(refused, "too_many_requests", status=429)
    assert "2 requests" in body["detail"]
    assert int(refused.headers["retry-after"]) >= 1
    assert repeated.json()["requestId"] == first["requestId"]
    assert (other.status_code, borrowed.status_code) == (200, 429)
    assert served.moves().count("reserve") == 4


@pytest.mark.parametrize(
    ("settings", "error_type", "says"),
    [({"worker_mib": 160}, "engine_error", "memory"), ({"run_seconds": 0.7}, "engine_timeout", "longer than 0.7 s")],
)
def test_an_engine_that_breaks_off_is_the_service_s_fault_and_costs_nothing(
    serve: Serve, settings: dict[str, Any], error_type: str, says: str
) -> None:
    """500 for a worker that needs too much memory, 504 for one that takes too long; both are refunded."""
    served = serve(workers=1, **settings)

    final, result = failed(served, TEXT, LONG)

    assert says in check_refusal(result, error_type)["detail"]
    assert final["error_type"] == error_type
    assert served.moves(final["request_id"]) == ["reserve", "refund"]
    assert served.get("/account").json()["credits_reserved"] == 0


def test_a_run_whose_worker_dies_again_and_again_ends(serve: Serve, dot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After three tries it fails and is refunded; the next one finds a worker."""
    served = serve(workers=1)
    with monkeypatch.context() as broken:
        broken.setattr("reelbook_service.workers.sys.executable", "/nowhere/python")
        final, result = failed(served, STITCH, {"images": [dot]})

    check_refusal(result, "engine_error")
    assert served.moves(final["request_id"]) == ["reserve", "refund"]
    assert served.done(STITCH, {"images": [dot]})["video"]["url"]


def test_trouble_inside_the_service_is_a_503_without_its_inside(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A fault of ours is told as one, and its traceback goes to the log instead of the caller."""
    served = serve()

    def broken(*_: object) -> None:
        raise RuntimeError("secret of the house")

    monkeypatch.setattr(served.server.service, "estimate", broken)

    response = served.run(TEXT, {"prompt": "a"})

    check_refusal(response, "unavailable")
    assert "secret" not in response.text
    assert "secret of the house" in caplog.text
    assert served.charges() == []


def test_at_the_end_nothing_is_reserved_and_only_what_was_made_is_paid(classroom: Served) -> None:
    """After all of the above, each account has spent what its finished runs cost, and not a credit more."""
    spent: dict[str, int] = {}
    for charge in classroom.charges():
        spent[charge["account"]] = spent.get(charge["account"], 0) + charge["credits"] * (charge["kind"] == "settle")

    for account, key in (("default", KEY), ("poor", "poor-key"), ("trusted", "trusted-key")):
        statement = classroom.get("/account", key).json()
        assert statement["credits_reserved"] == 0
        assert statement["credits_spent"] == spent.get(account, 0)
