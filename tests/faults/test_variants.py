"""Hosted services of this family differ where the specification is silent: the same notebook works with each of them.

One service with only what the specification shows, and then the same with one thing done differently. Each test is
all that API.md calls “One run”, from `rb.connect` to `close`, and then a look at what was asked and paid for.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

import reelbook as rb
from reelbook.runs import follow
from reelbook.transport import downloader, http, poller
from reelbook.transport.http import RetryPolicy
from reelbook.transport.service_calls import NO_REQUEST
from tests.support import as_data_uri
from tests.transport.variants import Hosted, Received, Reply, page

CANARY = "canary-90c2d4be-variants"
AT_ONCE = 22
MODEL = rb.TextToVideo.endpoint_id
BOAT = rb.TextToVideo(prompt="a paper boat", num_frames=9, resolution="480p", aspect_ratio="1:1", seed=7)
LINES = ["loading the model", "first pass", "second pass", "writing the file"]
WHY = "The picture shows what it must not."

RUN, AWAITED, STOPPED, FAILING, ELSEWHERE, REFUSED = 7, 8, 9, 10, 11, 12
"""The seeds of the runs of the story, by which the service tells them apart."""

Looks = Sequence[Any]
"""What the log field of each look is; the last one stays."""


def cumulative(*lines: str) -> Looks:
    """The whole log so far, each time."""
    return [[{"message": line, "level": "INFO"} for line in lines[: end + 1]] for end in range(len(lines))]


def moving(*lines: str, width: int = 2) -> Looks:
    """The last lines only, each time."""
    return [list(lines[max(end + 1 - width, 0) : end + 1]) for end in range(len(lines))]


@dataclass(frozen=True)
class Variant:
    """How a service does what the specification leaves open, and what a notebook then sees."""

    accepted: Callable[[str], Mapping[str, Any]] = lambda name: {"requestId": name}
    accepted_status: int = 200
    states: Sequence[str] = ("IN_QUEUE", "IN_PROGRESS", "IN_PROGRESS", "COMPLETED")
    going_status: int = 200
    """The HTTP status of a status that is not final."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of every status object."""
    metrics: Mapping[str, Any] | None = None
    logs: Looks = field(default_factory=lambda: cumulative(*LINES))
    seen: Sequence[str] = tuple(LINES)
    """The log as the notebook has it in the end."""
    early: Reply | None = None
    """What the result is for a moment after the run has ended."""
    failed_status: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the final status of a run that failed."""
    failed_result: Reply = field(
        default_factory=lambda: Reply(422, {"detail": WHY, "error_type": "content_policy_violation"})
    )
    failure: str = WHY
    cancelled: Reply = field(default_factory=lambda: Reply(200, {"success": True}))
    agreed: bool = True
    stopped_status: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the final status of a run that was cancelled."""
    estimate: Reply | None = None
    credits: tuple[int, str] = (53, "assumed")
    charged: tuple[int, str] | None = None
    """What a run has cost, where the service says so."""
    missing: Reply = field(default_factory=lambda: Reply(404, {"detail": "Not Found"}))
    """What addresses answer that this service does not have."""
    refused: Reply = field(default_factory=lambda: Reply(422, {"detail": WHY, "error_type": "validation_error"}))
    """What a run is answered that the service does not take."""
    queue: str = "/{model}/requests/{name}"
    """Where the queue is."""
    attachable: bool = True
    """Whether a run is found by its id alone."""


class Service:
    """The service: what it answers to whom, as its variant has it."""

    def __init__(self, hosted: Hosted, variant: Variant, film: bytes) -> None:
        self.hosted, self.variant = hosted, variant
        self.looked: dict[str, int] = {}
        self.early: dict[str, int] = {}
        self.stopped: set[str] = set()
        hosted.on("GET", "/film.mp4", Reply(200, film, {"content-type": "video/mp4"}))
        for method, path in (("GET", "/"), ("GET", "/account"), ("GET", "/models")):
            hosted.on(method, path, variant.missing)
        hosted.on("POST", "/models/pricing/estimate", variant.estimate or variant.missing)
        hosted.on("POST", "/models/run", self._accept)
        for seed in (RUN, AWAITED, STOPPED, FAILING, ELSEWHERE):
            self._open(f"r-{seed}")

    def output(self, name: str) -> Mapping[str, Any]:
        film = {"url": f"{self.hosted.base_url}/film.mp4", "content_type": "video/mp4"}
        return {"video": film, "prompt": BOAT.prompt, "seed": int(name.removeprefix("r-"))}

    def place(self, name: str) -> str:
        return self.variant.queue.format(model=MODEL, name=name)

    def _open(self, name: str) -> None:
        one = self.place(name)
        self.hosted.on("GET", f"{one}/status", lambda _: self._status(name))
        self.hosted.on("GET", one, lambda _: self._result(name))
        self.hosted.on("PUT", f"{one}/cancel", lambda _: self._cancel(name))

    def _accept(self, received: Received) -> Reply:
        seed = received.json["input"]["seed"]
        if seed not in (RUN, AWAITED, STOPPED, FAILING):
            return self.variant.refused
        name = f"r-{seed}"
        told = self.variant.accepted(name)
        return Reply(self.variant.accepted_status, _filled(told, base=self.hosted.base_url, place=self.place(name)))

    def _state(self, name: str) -> str:
        states = self.variant.states
        goes_on = name == f"r-{STOPPED}" and name not in self.stopped
        return states[min(self.looked.get(name, 0), len(states) - (2 if goes_on else 1))]

    def _status(self, name: str) -> Reply:
        variant, state, look = self.variant, self._state(name), self.looked.get(name, 0)
        self.looked[name] = look + 1
        logs = variant.logs[min(look, len(variant.logs) - 1)]
        told = {"status": state, "request_id": name, "logs": logs, **variant.more}
        if state != "COMPLETED":
            return Reply(variant.going_status, told)
        if name == f"r-{FAILING}":
            told |= variant.failed_status
        if name == f"r-{STOPPED}":
            told |= variant.stopped_status
        return Reply(200, told if variant.metrics is None else {**told, "metrics": variant.metrics})

    def _result(self, name: str) -> Reply:
        if self.variant.early is not None and self.early.setdefault(name, 0) < 2:
            self.early[name] += 1
            return self.variant.early
        if name == f"r-{FAILING}":
            return self.variant.failed_result
        if name == f"r-{STOPPED}":
            return Reply(499, {"detail": "The request was cancelled.", "error_type": "cancelled"})
        return Reply(200, self.output(name))

    def _cancel(self, name: str) -> Reply:
        self.stopped.add(name)
        return self.variant.cancelled


def _filled(told: Any, **words: str) -> Any:
    """An answer with the addresses of this service in it."""
    if isinstance(told, Mapping):
        return {name: _filled(value, **words) for name, value in told.items()}
    return told.format(**words) if isinstance(told, str) else told


def addresses(place: str, *names: str, tail: str = "") -> dict[str, str]:
    """Addresses in the answer of the run call: of the status, of the result, and for a cancellation."""
    return dict(zip(names, (f"{place}/status{tail}", place, f"{place}/cancel"), strict=True))


CAMEL, SNAKE = ("statusUrl", "responseUrl", "cancelUrl"), ("status_url", "response_url", "cancel_url")

WAYS: Sequence[Mapping[str, Mapping[str, Any]]] = (
    {  # How a run is accepted, and where its addresses are.
        "requestId": {},
        "request_id": {"accepted": lambda name: {"request_id": name}},
        "id": {"accepted": lambda name: {"id": name}},
        "packed": {"accepted": lambda name: {"success": True, "data": {"requestId": name}}},
        "201": {"accepted": lambda name: {"requestId": name, "status": "IN_QUEUE", "queue_position": 3}, "accepted_status": 201},
        "202": {"accepted": lambda name: {"requestId": name, "more": [1]}, "accepted_status": 202},
        "its own addresses": {"accepted": lambda name: {"requestId": name} | addresses("{base}{place}", *CAMEL), "queue": "/queue/of/{name}", "attachable": False},
        "its own addresses in snake case": {"accepted": lambda name: {"id": name} | addresses("{base}{place}", *SNAKE, tail="?v=2"), "queue": "/v2/{name}", "attachable": False},
        "addresses that lead nowhere": {"accepted": lambda name: {"requestId": name} | addresses("{base}/inside{place}", *CAMEL)},
        "addresses of another host": {"accepted": lambda name: {"requestId": name} | addresses("http://127.0.0.1:9{place}", *CAMEL)},
    },
    {  # The status.
        "200": {},
        "202 until the end": {"going_status": 202},
        "unknown states": {"states": ("PREPARING", "WARMING_UP", "IN_PROGRESS", "COMPLETED")},
        "small letters": {"states": ("in_queue", "in progress", "in-progress", "completed")},
        "back into the queue": {"states": ("IN_QUEUE", "IN_PROGRESS", "IN_QUEUE", "IN_PROGRESS", "COMPLETED")},
        "more fields": {"more": {"queue_position": 2, "eta": {"seconds": [1, 2]}, "worker": None}, "metrics": {"inference_time": 1.5, "gpu": "x"}},
        "odd fields": {"more": {"queue_position": "soon", "status_url": 7, "metrics": "none"}},
        "price in the metrics": {"metrics": {"inference_time": 2.0, "queue_time": 0.5, "credits": 53}, "charged": (53, "charged")},
    },
    {  # The log.
        "list of objects": {},
        "list of texts": {"logs": [LINES[:1], LINES[:3], LINES]},
        "object with entries": {"logs": [{"entries": one} for one in cumulative(*LINES)]},
        "free object": {"logs": [{"stage": "second pass", "gpu": 3}], "seen": ["stage: second pass", "gpu: 3"]},
        "text": {"logs": ["\n".join(LINES[:1]), "\n".join(LINES)]},
        "moving window": {"logs": moving(*LINES)},
        "window, then nothing": {"logs": [*moving(*LINES)[:-1], LINES[-2:], None], "states": ("IN_QUEUE", "IN_PROGRESS", "IN_PROGRESS", "IN_PROGRESS", "COMPLETED")},
        "null": {"logs": [None], "seen": []},
        "repeated lines": {"logs": cumulative("step", "step", "done", "done"), "seen": ["step", "step", "done", "done"]},
    },
    {  # The result, for a moment after the end.
        "there at once": {},
        "early 202": {"early": Reply(202, {})},
        "early 400": {"early": Reply(400, {"detail": "Request is still in progress", "error_type": "not_ready"})},
        "early 404": {"early": Reply(404, {"detail": "No output for this request, it is still pending"})},
        "early 425": {"early": Reply(425, "Too Early")},
        "early 200": {"early": Reply(200, {"status": "IN_PROGRESS"})},
    },
    {  # A failure.
        "failure on the result": {},
        "failure in the status": {"failed_status": {"error": WHY, "error_type": "engine_error"}},
        "failure as an object": {"failed_status": {"error": {"message": WHY, "code": 7}}},
        "failure as a 500": {"failed_result": Reply(500, {"detail": WHY, "error_type": "engine_error"})},
        "failure as a list": {"failed_result": Reply(422, {"detail": [{"loc": ["body", "image_url"], "msg": WHY, "type": "value_error"}]})},
        "failure in an error object": {"failed_result": Reply(400, {"error": {"message": WHY, "code": "unsafe"}})},
    },
    {  # A cancellation.
        "success": {},
        "cancel requested": {"cancelled": Reply(200, {"status": "CANCELLATION_REQUESTED"})},
        "cancel 202": {"cancelled": Reply(202, {"status": "CANCELLED"})},
        "cancel 204": {"cancelled": Reply(204, b"")},
        "cancel refused": {"cancelled": Reply(200, {"success": False}), "agreed": False},
        "cancel too late": {"cancelled": Reply(400, {"status": "ALREADY_COMPLETED"}), "agreed": False},
        "cancel unknown": {"cancelled": Reply(404, {"detail": "Not Found"}), "agreed": False},
        "cancelled in the status": {"stopped_status": {"error": "Stopped by its owner.", "error_type": "cancelled"}},
    },
    {  # A refusal.
        "detail": {},
        "details": {"refused": Reply(422, {"detail": [{"loc": ["body", "input", "seed"], "msg": WHY, "type": "value_error"}]})},
        "error object": {"refused": Reply(400, {"error": {"message": WHY, "code": "bad"}})},
        "plain text": {"refused": Reply(422, WHY)},
        "page for people": {"refused": page(403, WHY)},
    },
    {  # What it does not have: its nature, an account, an estimate.
        "not found": {},
        "page not found": {"missing": page(404, "Not here")},
        "no such method": {"missing": Reply(405, {"detail": "Method Not Allowed"})},
        "a page everywhere": {"missing": page(200, "Welcome")},
        "not implemented": {"missing": Reply(501, {"detail": "Not Implemented"})},
    },
    {  # The price.
        "no estimate": {},
        "credits": {"estimate": Reply(200, {"credits": 54, "breakdown": [{"label": "base", "credits": 54}], "source": "exact"}), "credits": (54, "exact")},
        "total_cost": {"estimate": Reply(200, {"total_cost": 54.0, "currency": "credits"}), "credits": (54, "exact")},
        "estimate": {"estimate": Reply(200, {"estimate": 54}), "credits": (54, "exact")},
        "amount": {"estimate": Reply(200, {"estimate": {"amount": "53.2", "unit": "credits"}}), "credits": (54, "exact")},
        "no known shape": {"estimate": Reply(200, {"price": "ask us"})},
    },
)  # fmt: skip
"""For everything that the specification leaves open, the ways in which services do it; the first is the plainest."""


def variants(alignment: int) -> dict[str, Variant]:
    """Services, each doing everything in some way, so that each way is there: in every alignment in other company."""
    rows = max(map(len, WAYS))
    found = {}
    for row in range(rows):
        chosen = [list(ways.items())[(row + place * alignment) % len(ways)] for place, ways in enumerate(WAYS)]
        changes: dict[str, Any] = {}
        for _, change in chosen:
            changes.update(change)
        found[", ".join(name for name, _ in chosen)] = Variant(**changes)
    return found


PLAIN = variants(0)
SHAPES = PLAIN | variants(1)
FEW = [name for row, name in enumerate(PLAIN) if row in (0, 1, 4, 6)]
"""Each way by itself is in tests/transport/test_service_calls.py."""


def some(names: Iterable[str], few: Collection[str]) -> list[Any]:
    """All of these; those that are not in `few` are for `make deep`."""
    return [pytest.param(name, id=name, marks=() if name in few else pytest.mark.deep) for name in names]


@pytest.fixture(scope="module")
def film() -> bytes:
    """A clip of a few frames."""
    out = io.BytesIO()
    with av.open(out, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=24)
        stream.width = stream.height = 32
        stream.pix_fmt = "yuv420p"
        for shade in (0, 120, 240):
            frame = av.VideoFrame.from_ndarray(np.full((32, 32, 3), shade, np.uint8))
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return out.getvalue()


@dataclass(frozen=True)
class Told:
    """What a notebook has seen, and what its service was asked."""

    price: rb.Estimate
    run: rb.Run
    later: rb.Run
    stopped: rb.Run
    agreed: bool
    failure: str
    refusal: str
    attached: rb.Run
    again: rb.Run
    shown: str
    posts: Sequence[int]
    """The seeds that were paid for, in their order."""


def one_run(variant: Variant, film: bytes, library: Path) -> Told:
    """All of “One run”, with the blocking calls and with `await`."""
    with Hosted() as hosted, rb.connect(hosted.base_url, api_key=CANARY, library=library) as client:
        Service(hosted, variant, film)
        with pytest.raises(rb.ServiceError):
            client.account()
        price = client.estimate(BOAT)
        run = client.run(BOAT)
        stopped = client.start(BOAT.revised(seed=STOPPED))
        later = asyncio.run(_awaited(client.start(BOAT.revised(seed=AWAITED))))
        agreed = stopped.cancel()
        with pytest.raises(rb.RunCancelled):
            stopped.wait(20)
        with pytest.raises(rb.RunFailed) as failed:
            client.run(BOAT.revised(seed=FAILING))
        # Words that are not in the service's own shape leave it open whether the run was taken.
        with pytest.raises((rb.ServiceError, rb.UncertainRun)) as refused:
            client.run(BOAT.revised(seed=REFUSED))
        attached = client.attach(f"r-{ELSEWHERE if variant.attachable else AWAITED}", model=MODEL).wait(20)
        again = client.run(BOAT)
        posts = [one.json["input"]["seed"] for one in hosted.seen("POST", "/models/run")]
        return Told(
            price, run, later, stopped, agreed, str(failed.value), str(refused.value), attached, again, repr(client), posts
        )  # fmt: skip


async def _awaited(run: rb.Run) -> rb.Run:
    return await run


@pytest.fixture(scope="module")
def impatient() -> Iterator[None]:
    """The same rules in a shorter life."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            http,
            "RetryPolicy",
            lambda: RetryPolicy(free_seconds=20, attempt_seconds=10, paid_seconds=10, backoff_seconds=0.01),
        )
        patch.setattr(follow, "TICK_SECONDS", 0.02)
        patch.setattr(downloader, "PAUSE_SECONDS", 0.01)
        patch.setattr(poller, "FIRST_SECONDS", 0.02)
        yield


@pytest.fixture(scope="module")
def told(
    request: pytest.FixtureRequest, film: bytes, tmp_path_factory: pytest.TempPathFactory, impatient: None
) -> Iterator[Mapping[str, Future[Told]]]:
    """The stories of all variants that are wanted, side by side, because each of them is mostly waiting."""
    found = {
        item.callspec.params["name"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and "told" in item.fixturenames
    }
    folder = tmp_path_factory.mktemp("variants")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            name: pool.submit(one_run, variant, film, folder / f"library-{number}")
            for number, (name, variant) in enumerate(SHAPES.items())
            if name in found
        }


@pytest.mark.parametrize("name", some(SHAPES, FEW))
def test_one_run_works_with_every_kind_of_service(told: Mapping[str, Future[Told]], film: bytes, name: str) -> None:
    """From `connect` to `close`, and every run is paid for exactly once."""
    variant = SHAPES[name]

    seen = told[name].result(60)

    assert (seen.price.credits, seen.price.source) == variant.credits
    for run in (seen.run, seen.later, seen.attached, seen.again):
        assert run.status == "completed"
        assert run.video.path.read_bytes() == film
        assert run.output.prompt == BOAT.prompt
    assert (seen.run.output.seed, seen.run.request_id, seen.later.output.seed) == (RUN, f"r-{RUN}", AWAITED)
    assert (seen.run.credits, seen.run.credits_source) == (variant.charged or (variant.credits[0], "estimated"))
    assert seen.run.logs == list(variant.seen)
    assert seen.run.timings["total"] > 0
    assert seen.run.timings.get("running") == (variant.metrics or {}).get("inference_time")
    assert (seen.agreed, seen.stopped.status) == (variant.agreed, "cancelled")
    assert variant.failure in seen.failure
    assert WHY in seen.refusal
    assert (seen.again.from_library, seen.again.video.path) == (True, seen.run.video.path)
    assert CANARY not in seen.shown
    assert seen.posts == [RUN, STOPPED, AWAITED, FAILING, REFUSED]


@pytest.mark.usefixtures("impatient")
def test_a_queue_that_is_named_by_the_first_two_parts_of_the_model_s_id_is_found(film: bytes, tmp_path: Path) -> None:
    """Followed, cancelled, fetched, and picked up by its id, though the answer of the run call names no address."""
    model = rb.ImagesToVideo.endpoint_id
    hold = rb.ImagesToVideo(images=["https://example.org/a.png"])
    with Hosted() as hosted:
        hosted.queue(
            model.rpartition("/")[0], request_id="r-1", output={"video": {"url": f"{hosted.base_url}/film.mp4"}}
        )
        hosted.on("GET", "/film.mp4", Reply(200, film, {"content-type": "video/mp4"}))

        with rb.connect(hosted.base_url, api_key=CANARY, library=tmp_path / "one") as client:
            run = client.start(hold)
            agreed = run.cancel()
            run.wait(20)
        with rb.connect(hosted.base_url, api_key=CANARY, library=tmp_path / "two") as client:
            attached = client.attach("r-1", model=model).wait(20)

    assert model.count("/") == 2
    assert agreed
    assert run.video.path.read_bytes() == attached.video.path.read_bytes() == film
    assert len(hosted.seen("POST", "/models/run")) == 1


FILM = {"url": "{base}/film.mp4", "content_type": "video/mp4"}
AT_ONCE_WITH = {
    "its id": {"requestId": "r-7", "output": {"video": FILM, "seed": 7}},
    "a state": {"request_id": "r-7", "status": "COMPLETED", "response": {"video": FILM, "seed": 7}},
    "no id": {"video": FILM, "prompt": BOAT.prompt, "seed": 7},
    "no id, packed": {"output": {"video": FILM, "seed": 7}, "credits": 60},
    "the film inside": {"id": "r-7", "output": {"video": {"url": "{film}"}, "seed": 7}},
}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("way", some(AT_ONCE_WITH, ("its id", "no id, packed")))
def test_an_answer_that_holds_the_output_is_the_whole_run(film: bytes, tmp_path: Path, way: str) -> None:
    """Nobody is asked for a status, there is a film, and the library has it."""
    with Hosted() as hosted:
        words = {"base": hosted.base_url, "film": as_data_uri(film, "video/mp4")}
        hosted.on("POST", "/models/run", _filled(AT_ONCE_WITH[way], **words))
        hosted.on("GET", "/film.mp4", Reply(200, film, {"content-type": "video/mp4"}))

        with rb.connect(hosted.base_url, api_key=CANARY, library=tmp_path) as client:
            run, again = client.run(BOAT), client.run(BOAT)
            known = client.attach(run.request_id)

    assert (run.video.path.read_bytes(), run.output.seed) == (film, 7)
    assert run.request_id == "r-7" or way.startswith("no id")
    assert run.credits == (60 if way == "no id, packed" else 53)
    assert again.from_library
    assert known.video.path == run.video.path
    assert len(hosted.seen("POST", "/models/run")) == 1
    assert [one.path for one in hosted.seen("GET") if "requests" in one.path and NO_REQUEST not in one.path] == []


GATES = {
    "a code of its own": Reply(503, {"error": {"code": 503, "message": "upstream connect error"}}),
    "a kind of its own": Reply(502, {"detail": "bad gateway", "error_type": "gateway"}),
    "a page": page(504, "Gateway timeout"),
    "too many": Reply(429, {"error": {"code": "rate_limited", "message": "slow down"}}, {"retry-after": "0"}),
    "never ready": Reply(400, {"detail": "Request is still in progress", "error_type": "not_ready"}),
}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("gate", some(GATES, ("a page", "never ready")))
def test_a_paid_result_that_cannot_be_had_today_is_not_paid_for_again(
    film: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gate: str
) -> None:
    """Whatever stands before the service, the run did not fail: on the next day it is there, at no cost."""
    monkeypatch.setattr(follow, "RESULT_SECONDS", 0.1)
    with Hosted() as hosted, rb.connect(hosted.base_url, api_key=CANARY, library=tmp_path) as client:
        service = Service(hosted, Variant(), film)
        hosted.on("GET", service.place("r-7"), GATES[gate])
        with pytest.raises(rb.ServiceError):
            client.run(BOAT)
        hosted.on("GET", service.place("r-7"), service.output("r-7"))

        run = client.run(BOAT)

        assert run.video.path.read_bytes() == film
        assert len(hosted.seen("POST", "/models/run")) == 1
