"""The service's addresses as methods: content with what the specification shows, glad of the rest, confused by nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from reelbook import errors
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.models.text_to_video import TextToVideo
from reelbook.transport.answers import ServiceInfo
from reelbook.transport.service_calls import ServiceCalls
from tests.transport.patience import Clock, outcome
from tests.transport.variants import Answering, Hosted, Reply, page

T = TypeVar("T")
MODEL = "svc/frames-api/images-to-video"
ONE = f"/{MODEL}/requests/r-1"
RUN = "/models/run"


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    with Hosted() as hosted:
        yield hosted


def told(work: Callable[[ServiceCalls], Any], base_url: str, renew: Callable[[], str] | None = None) -> Any:
    """What some calls give; an error is given as a value."""
    return outcome(base_url, lambda http: work(ServiceCalls(http)), renew=renew)


# What a service says of itself


OWN = {"service": "reelbook", "id": "s-1", "features": ["uploads", 7, None]}
NOTHING: list[Answering] = [
    {"service": 7, "id": {"odd": 1}, "features": "uploads"}, ["uploads"], page(200, "Welcome"), page(404), Reply(401, {"detail": "key?"}),
    Reply(204, b""),
]  # fmt: skip


@pytest.mark.parametrize("answer", [OWN, *NOTHING], ids=str)
def test_what_a_service_offers_is_asked_once(hosted: Hosted, answer: Answering) -> None:
    """Fifty ask at once and then again; an answer of another kind means that it offers the specification only."""
    hosted.on("GET", "/", answer)

    async def work(calls: ServiceCalls) -> set[ServiceInfo]:
        return {*await asyncio.gather(*[calls.service_info() for _ in range(50)]), await calls.service_info()}

    expected = ServiceInfo("s-1", frozenset({"uploads"})) if answer is OWN else ServiceInfo()
    assert told(work, hosted.base_url) == {expected}
    assert len(hosted.seen()) == 1


@pytest.mark.parametrize("answer", [Reply(307, {}, {"location": "/login"}), Reply(503), Reply(429)], ids=str)
def test_what_says_nothing_of_the_service_settles_nothing(hosted: Hosted, answer: Reply) -> None:
    """A network that wants a login points elsewhere: a minute later the service is asked again."""
    clock = Clock()
    hosted.on("GET", "/", answer)

    async def work(calls: ServiceCalls) -> list[ServiceInfo]:
        first = await calls.service_info()
        hosted.on("GET", "/", OWN)
        clock.now += 61
        return [first, await calls.service_info()]

    known = ServiceInfo("s-1", frozenset({"uploads"}))
    assert outcome(hosted.base_url, lambda http: work(ServiceCalls(http)), clock=clock) == [ServiceInfo(), known]


FILE = {"url": "https://host.example/a.mp4"}


@pytest.mark.parametrize(
    ("answer", "request_id", "output", "credits"),
    [
        ({"requestId": "r-1"}, "r-1", None, None),
        (Reply(201, {"request_id": "r-1", "credits": 53}), "r-1", None, 53),
        ({"id": 17, "credits": "53"}, "17", None, 53),
        ({"requestId": "r-1", "id": "svc/model", "credits": True, "output": {}}, "r-1", None, None),
        ({"requestId": "r-1", "status": "IN_QUEUE", "output": {"video": FILE}}, "r-1", None, None),
        ({"requestId": "r-1", "output": {"video": FILE}}, "r-1", {"video": FILE}, None),
        ({"video": FILE, "seed": 7}, None, {"video": FILE, "seed": 7}, None),
    ],
    ids=str,
)
def test_every_way_of_accepting_a_run_is_understood(
    hosted: Hosted, answer: Answering, request_id: str | None, output: Any, credits: int | None
) -> None:
    """The id under any of its names, or the output itself from a service that answers with it at once."""
    hosted.on("POST", RUN, answer)

    accepted = told(lambda calls: calls.run(MODEL, {"fps": 24}, credits=53), hosted.base_url)

    assert (accepted.request_id, accepted.output, accepted.credits) == (request_id, output, credits)
    assert hosted.seen()[0].json == {"endpointId": MODEL, "input": {"fps": 24}}
    assert hosted.seen()[0].headers["content-type"] == "application/json"


BOAT = TextToVideo(prompt="a paper boat")


# One answer, and what it comes to


ASKED: dict[str, tuple[str, str, Callable[[ServiceCalls], Any]]] = {
    "status": ("GET", f"{ONE}/status", lambda calls: calls.status(MODEL, "r-1")),
    "result": ("GET", ONE, lambda calls: calls.result(MODEL, "r-1")),
    "cancel": ("PUT", f"{ONE}/cancel", lambda calls: calls.cancel(MODEL, "r-1")),
    "models": ("GET", "/models", lambda calls: calls.models()),
    "account": ("GET", "/account", lambda calls: calls.account()),
    "price": ("POST", "/models/pricing/estimate", lambda calls: calls.estimate(BOAT)),
}
OUTPUT = {"video": FILE, "seed": 7, "status": "fine", "more": [1]}
TWO_MODELS = [{"id": "svc/a"}, {"id": "svc/b"}]
ASSUMED = "the catalog's"
ANSWERS: list[tuple[str, Any, Any]] = [
    *[("status", answer, errors.ServiceBroken) for answer in ({"status": 7}, Reply(200, []), Reply(200, b""), page(200))],
    ("status", Reply(202, {"status": "IN_QUEUE", "queue_position": "3"}), ("IN_QUEUE", 3, [])),
    ("status", {"status": "completed", "request_id": 17, "logs": {"entries": ["a"]}, "metrics": [1]}, ("COMPLETED", None, ["a"])),
    ("status", {"status": "PAUSED", "queue_position": "soon", "logs": "a\nb", "status_url": 7}, ("PAUSED", None, ["a", "b"])),
    ("result", OUTPUT, OUTPUT),  # One of its fields happens to be called `status`.
    ("result", Reply(200, [FILE]), {"output": [FILE]}),
    ("result", {}, {}),
    *[("result", Reply(202, body), errors.NotReady) for body in ({"status": "IN_PROGRESS"}, b"")],
    ("result", {"status": "IN_QUEUE", "request_id": "r-1"}, errors.NotReady),
    ("result", Reply(400, {"detail": "Request is still in progress"}), errors.NotReady),
    ("result", Reply(425, b""), errors.NotReady),
    ("result", page(200, "Log in"), errors.ServiceBroken),
    ("result", Reply(400, {"detail": "bad id"}), errors.Refused),
    *[("cancel", answer, True) for answer in ({"success": True}, Reply(202, {"status": "CANCELLATION_REQUESTED"}), Reply(204, b""))],
    *[("cancel", answer, False) for answer in ({"success": False}, Reply(404, {"detail": "Not Found"}))],
    ("cancel", Reply(400, {"success": False, "detail": "finished"}), False),
    ("cancel", Reply(401, {"detail": "who?"}), errors.Unauthorized),  # False would mean that it has finished.
    ("models", Reply(200, TWO_MODELS), TWO_MODELS),
    ("models", {"models": [{"id": "svc/a"}, 7, "svc/b"]}, TWO_MODELS),
    *[(call, answer, errors.ServiceBroken) for call in ("models", "account") for answer in (page(200), Reply(200, "7"), Reply(204, b""))],
    *[("price", {"credits": price}, 53) for price in (53, 52.1, "53")],
    ("price", {"credits": 0}, 0),
    # The shape of that call is not in the specification, so no other answer to it stops a run.
    *[("price", {"credits": price}, ASSUMED) for price in (-1, True, "many", 1e300)],
    *[("price", answer, ASSUMED) for answer in ({"price": 53}, Reply(200, []), page(200), Reply(404, {"detail": "Not Found"}), Reply(400, {}))],
    ("price", Reply(422, {"detail": [{"loc": ["body", "model"], "msg": "Field required"}]}), ASSUMED),
    ("price", Reply(401, {"detail": "who?"}), errors.Unauthorized),
    ("price", Reply(402, {"detail": "poor"}), errors.InsufficientCredits),
]  # fmt: skip


@pytest.mark.parametrize(("call", "answer", "expected"), ANSWERS, ids=str)
def test_an_answer_comes_to_what_it_means(hosted: Hosted, call: str, answer: Any, expected: Any) -> None:
    """In every shape in which services send it; asking again would change nothing."""
    method, path, ask = ASKED[call]
    hosted.on(method, path, answer)

    found = told(ask, hosted.base_url)

    if isinstance(expected, type):
        assert type(found) is expected
    elif call == "price":
        assert (found.credits, found.source) == ((53, "assumed") if expected is ASSUMED else (expected, "exact"))
    elif call == "status":
        assert (found.status, found.queue_position, found.log_lines) == expected
    else:
        assert found == expected
    assert len(hosted.seen(method, path)) == 1


def test_ids_stay_one_part_of_the_path_and_cannot_lead_to_another_address(hosted: Hosted) -> None:
    """Whatever is in them, a proxy cannot take it for a way up."""
    ids = ["a b", "ä?#%2e", "50%", "a;b=c", "../../account", "..", "a/../b", "..\\x", "a\nb", "a\0"]

    async def work(calls: ServiceCalls) -> None:
        for request_id in ids:
            with pytest.raises(errors.NotFound):
                await calls.status("svc/ä b?x=1", request_id)

    assert told(work, hosted.base_url) is None
    assert [seen.query for seen in hosted.seen()] == ["logs=1"] * len(ids)
    assert all(seen.path.startswith("/svc/%C3%A4%20b%3Fx%3D1/requests/") for seen in hosted.seen())
    assert all(seen.path.count("/") == 5 and ".." not in seen.path for seen in hosted.seen())


def test_no_picture_is_sent_to_ask_for_a_price(hosted: Hosted) -> None:
    """Neither a large data URI nor the path of a file on this machine; an address on the web says what it is."""
    large = "data:image/png;base64," + "A" * 100_000
    hosted.on("POST", "/models/pricing/estimate", {"credits": 53})
    slides = ImagesToVideo(images=["/home/me/secret.png", large, "https://host.example/a.png"])

    told(lambda calls: calls.estimate(slides), hosted.base_url)
    told(lambda calls: calls.estimate(ImageToVideo(prompt="x", image_url="/home/me/secret.png")), hosted.base_url)

    sent, other = hosted.seen()
    urls = [image["url"] for image in sent.json["input"]["images"]]
    assert urls[0] == urls[1] == other.json["input"]["image_url"]
    assert urls[0].startswith("data:image/png;base64,iVBOR")
    assert urls[2] == "https://host.example/a.png"
    assert len(sent.body) < 1_000


# A service that moves


class Moving:
    """What an embedded service's owner knows: where it is now; it counts how often it is asked, and in which threads."""

    def __init__(self, new: Hosted) -> None:
        self.new, self.asked, self.threads = new, 0, set[str]()

    def __call__(self) -> str:
        self.asked += 1
        self.threads.add(threading.current_thread().name)
        return self.new.base_url + "/"


def test_a_service_that_has_moved_is_found_once_for_all_callers(hosted: Hosted) -> None:
    """Fifty calls fail together, one looks for it, in a thread, and all go on there."""
    renew = Moving(hosted)
    hosted.on("GET", "/account", {"name": "lab"})

    async def work(calls: ServiceCalls) -> Any:
        accounts = await asyncio.gather(*[calls.account() for _ in range(50)])
        return accounts, calls.base_url

    assert told(work, "http://127.0.0.1:9", renew) == ([{"name": "lab"}] * 50, hosted.base_url)
    assert renew.asked == 1
    assert threading.main_thread().name not in renew.threads


def test_a_paid_call_that_was_never_sent_goes_to_the_new_address(hosted: Hosted) -> None:
    """Nothing had left, so it is sent there, once."""
    hosted.on("POST", RUN, {"requestId": "r-1"})
    sent: list[str] = []

    async def sending() -> None:
        sent.append("sending")

    async def work(calls: ServiceCalls) -> Any:
        return await calls.run(MODEL, {}, idempotency_key="k", before_send=sending)

    assert told(work, "http://127.0.0.1:9", Moving(hosted)).request_id == "r-1"
    assert (len(hosted.seen()), sent) == (1, ["sending"])


def test_a_lost_paid_call_is_repeated_at_the_new_address_with_the_same_key(hosted: Hosted) -> None:
    """The old service took it and died; the new one has its books and recognises the key."""
    hosted.on("POST", RUN, {"requestId": "r-1"})
    with Hosted() as old:
        old.on("POST", RUN, Reply(fault="close"))

        accepted = told(lambda calls: calls.run(MODEL, {}, idempotency_key="k-1"), old.base_url, Moving(hosted))

        assert accepted.request_id == "r-1"
        assert [one.headers["idempotency-key"] for one in (*old.seen(), *hosted.seen())] == ["k-1", "k-1"]
