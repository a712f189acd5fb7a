"""Requests: repeated where that is free, sent once where it costs, and every failure one of our errors.

The servers here are fakes, because a real service does not misbehave on demand.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from httpcore._backends.anyio import AnyIOStream

from reelbook import errors
from reelbook.transport.answers import ServiceAnswer
from reelbook.transport.http import Http, Key, check_base_url
from tests.faults.canary import Canary, verbose
from tests.transport.patience import Clock, outcome
from tests.transport.variants import Fault, Hosted, Received, Reply, page

CANARY = Canary()
RUN = "/models/run"


class Watch(Clock):
    """The time as it passes."""

    def __call__(self) -> float:
        return time.monotonic()


FAULTS: list[Fault] = ["close", "reset", "half", "garbage", "deaf"]


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    with Hosted() as hosted:
        yield hosted


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def ask(http: Http) -> Any:
    """What a free call gives."""
    return (await http.free("GET", "/x")).value


def free(base_url: str, **patience: Any) -> Any:
    """What a free call comes to."""
    return outcome(base_url, ask, **patience)


def paid(base_url: str, *, clock: Clock | None = None, paid_seconds: float = 300.0, **options: Any) -> Any:
    """What a paid call comes to: the request id, or an error."""

    async def work(http: Http) -> Any:
        return (await http.paid(RUN, {"a": 1}, credits=53, **options)).request_id

    return outcome(base_url, work, clock=clock, paid_seconds=paid_seconds)


# Free calls


def test_a_free_call_is_repeated_until_the_service_has_found_its_feet(hosted: Hosted, clock: Clock) -> None:
    """Every passing fault is followed by the answer, and each pause has its chance to be longer than the one before."""
    passing = [page(502), Reply(503), Reply(fault="close"), Reply(fault="half", body={"a": 1})]
    hosted.on("GET", "/x", *passing, {"a": 1})

    assert free(hosted.base_url, clock=clock) == {"a": 1}
    assert len(hosted.seen()) == 5
    assert all(0 <= pause <= 0.25 * 2**place for place, pause in enumerate(clock.slept))
    assert len(set(clock.slept)) == 4


@pytest.mark.parametrize("fault", ["drip", "hang"])
def test_a_call_ends_at_its_deadline_though_bytes_keep_dripping(hosted: Hosted, fault: Fault) -> None:
    """One byte every 20 ms would keep a read timeout happy for ever."""
    hosted.on("GET", "/x", Reply(200, {"a": "b" * 1000}, fault=fault))

    error = free(hosted.base_url, attempt_seconds=0.3, max_attempts=1)

    assert isinstance(error, errors.Unreachable)
    assert "no answer within 0.3 s" in str(error)


def test_waiting_for_a_turn_does_not_count_against_the_deadline(hosted: Hosted) -> None:
    """Forty calls of a tenth of a second go eight at a time; each has its own time from when it leaves."""
    hosted.on("GET", "/x", Reply(200, {"a": 1}, delay=0.1))

    async def work(http: Http) -> list[Any]:
        return await asyncio.gather(*[ask(http) for _ in range(40)])

    ends = outcome(hosted.base_url, work, clock=Watch(), attempt_seconds=0.3, free_seconds=0.3, max_attempts=1)

    assert ends == [{"a": 1}] * 40


def test_a_host_that_is_not_reached_in_time_is_said_with_that_time() -> None:
    """A connection has less time than an answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"https://127.0.0.1:{silent.getsockname()[1]}"  # It never answers the greeting of TLS.
        error = free(address, connect_seconds=0.2, max_attempts=1)

    assert "no connection within 0.2 s" in str(error)


@pytest.mark.parametrize(("asked", "floor"), [("7", 7.0), ("600", 60.0), ("soon", 0.0)])
def test_the_pause_that_a_service_asks_for_is_a_floor(hosted: Hosted, clock: Clock, asked: str, floor: float) -> None:
    """At least so long, at most a minute, and a little longer at random; what is no number asks for nothing."""
    hosted.on("GET", "/x", Reply(429, {"detail": "slow"}, {"retry-after": asked}), {"a": 1})

    assert free(hosted.base_url, clock=clock, free_seconds=600) == {"a": 1}
    assert floor <= clock.slept[0] <= floor + 0.25


def test_all_attempts_of_a_free_call_share_one_deadline(hosted: Hosted, clock: Clock) -> None:
    """Each attempt is refused after what feels like 25 seconds: a minute has room for three, and no pause begins after it."""

    def slowly(_: Received) -> Reply:
        clock.now += 25
        return Reply(503)

    hosted.on("GET", "/x", slowly)

    assert isinstance(free(hosted.base_url, clock=clock), errors.ServiceBroken)
    assert len(hosted.seen()) == 3


@pytest.mark.parametrize(
    "base_url",
    ["http://[::1", "ftp://host", "http://", "host/api", "http://host:99999", "http://a?b=1", "http://me:canary@host"],
)
def test_what_is_no_address_is_refused_before_anything_is_tried(base_url: str) -> None:
    """The sentence says what an address looks like, and repeats no password."""
    with pytest.raises(errors.ReelbookError, match=r"not the URL of a service.*api_key") as caught:
        check_base_url(base_url)

    assert "canary" not in str(caught.value)


# Paid calls

REFUSING = (400, 401, 402, 403, 404, 405, 413, 415, 422, 429)
"""With these a service says that it has not accepted a run."""


@pytest.mark.parametrize(
    "answer",
    [
        *[Reply(200, {"requestId": "r"}, fault=fault) for fault in FAULTS],
        *[Reply(status, {"detail": "x"}) for status in (302, 408, 409, 418, 425, 500, 503)],
        *[page(status) for status in (200, 502, *REFUSING)],
        *[Reply(200, body) for body in ({"ok": True}, b"")],
        *[Reply(status, {"detail": "no" * 50}, fault="half") for status in REFUSING],
        Reply(402, {"detail": "Payment Required"}),
        Reply(403, {"message": "Forbidden"}),
        Reply(404, {"detail": "the upstream is gone", "error_type": "bad_gateway"}),
    ],
    ids=lambda reply: f"{reply.status} {reply.fault or reply.content[:16]}",
)
def test_a_paid_call_whose_answer_is_lost_is_sent_once_and_called_uncertain(hosted: Hosted, answer: Reply) -> None:
    """No second POST, whatever comes back; the error names the worst-case price."""
    hosted.on("POST", RUN, answer)

    error = paid(hosted.base_url)

    assert isinstance(error, errors.UncertainRun)
    assert "53 credits" in str(error)
    assert hosted.connections == 1


@pytest.mark.parametrize("status", REFUSING)
def test_a_definite_refusal_of_a_paid_call_is_no_uncertain_run(hosted: Hosted, status: int) -> None:
    """These mean "not accepted", where the service says why in a body of its own."""
    problem, error = {"loc": ["body"], "msg": "no"}, {"code": "refused", "message": "no"}
    words: list[dict[str, Any]] = [{"detail": "no"}, {"detail": [problem]}, {"error": error}]
    hosted.on("POST", RUN, *[Reply(status, body) for body in words])

    assert [getattr(paid(hosted.base_url), "status", 0) for _ in words] == [status] * 3


def test_a_paid_call_with_an_idempotency_key_asks_again_with_the_same_key(hosted: Hosted, clock: Clock) -> None:
    """A lost answer is asked for again, and the service can tell that it is the same request."""
    lost = [Reply(fault="close"), page(403), Reply(503, {}, {"retry-after": "9"}), Reply(422, {"message": "no route"})]
    hosted.on("POST", RUN, *lost, {"requestId": "r"})

    assert paid(hosted.base_url, idempotency_key="k-1", clock=clock) == "r"
    assert [one.headers["idempotency-key"] for one in hosted.seen()] == ["k-1"] * 5
    assert clock.slept[2] >= 9


@pytest.mark.parametrize("status", [401, 402, 429, 422])
def test_a_gate_that_closes_after_a_lost_answer_settles_nothing(hosted: Hosted, status: int) -> None:
    """The first attempt may have spent the last credits itself: a 402 then says nothing about it, a 422 does."""
    hosted.on("POST", RUN, Reply(fault="close"), Reply(status, {"detail": "no"}))

    error = paid(hosted.base_url, idempotency_key="k-1")

    assert type(error) is (errors.Refused if status == 422 else errors.UncertainRun)


def test_a_paid_call_that_was_never_sent_is_not_uncertain(hosted: Hosted) -> None:
    """Nobody listens, or nobody speaks TLS: Unreachable, and `before_send` was never told."""
    told: list[str] = []

    async def sending() -> None:
        told.append("sending")

    nowhere = ["http://127.0.0.1:9", hosted.base_url.replace("http:", "https:")]
    ends = [type(paid(base_url, before_send=sending)) for base_url in nowhere]

    assert (ends, told) == ([errors.Unreachable] * 2, [])


def test_sending_is_written_down_before_the_first_byte_leaves(hosted: Hosted) -> None:
    """The connection stands, nothing has been received, `before_send` ends; only then do bytes arrive. Each attempt, once."""
    received: list[int] = []

    async def sending() -> None:
        await asyncio.to_thread(hosted.connected.wait, 10)
        hosted.connected.clear()
        received.append(hosted.bytes_received)

    hosted.on("POST", RUN, Reply(fault="close"), {"requestId": "r"})

    assert paid(hosted.base_url, idempotency_key="k", before_send=sending) == "r"
    assert received == [0, hosted.bytes_received / 2]


@pytest.mark.parametrize("error", [errors.LibraryError("/x", "disk full"), OSError("disk"), TimeoutError()], ids=repr)
def test_what_sending_raises_comes_out_and_nothing_is_sent(hosted: Hosted, error: Exception) -> None:
    """A disk that is full stops the request, also where it fails like a broken connection would."""

    async def sending() -> None:
        raise error

    assert paid(hosted.base_url, before_send=sending, idempotency_key="k") is error
    assert hosted.bytes_received == 0


def test_a_lost_answer_stays_uncertain_when_the_service_is_gone_at_the_second_attempt(hosted: Hosted) -> None:
    """The last attempt was never sent, and the first one was: that is not "nothing was sent"."""

    def last_words(_: Received) -> Reply:
        threading.Thread(target=hosted.stop_listening).start()
        return Reply(fault="hang")

    hosted.on("POST", RUN, last_words)

    error = paid(hosted.base_url, idempotency_key="k-1")

    assert isinstance(error, errors.UncertainRun)
    assert "refused" in str(error)


def test_what_sending_raises_at_a_repetition_does_not_hide_that_the_first_attempt_left(hosted: Hosted) -> None:
    """A stop between two attempts: no second one, no further try, and the run is uncertain with the stop as its reason."""
    hosted.on("POST", RUN, Reply(fault="close"))
    told: list[str] = []

    async def sending() -> None:
        told.append("sending")
        if len(told) > 1:
            raise errors.ReelbookError("The run was stopped.")

    error = paid(hosted.base_url, before_send=sending, idempotency_key="k")

    assert isinstance(error, errors.UncertainRun)
    assert "it was not repeated: The run was stopped." in str(error)
    assert (len(hosted.seen()), told) == (1, ["sending"] * 2)


def test_the_deadline_begins_when_the_bytes_leave(hosted: Hosted) -> None:
    """Writing `sending` down takes longer than the deadline, and neither is it broken off nor does the answer come late."""
    hosted.on("POST", RUN, {"requestId": "r"})
    written = asyncio.Event()

    async def sending() -> None:
        asyncio.get_running_loop().call_later(0.4, written.set)
        await written.wait()

    assert paid(hosted.base_url, before_send=sending, paid_seconds=0.3) == "r"


@pytest.mark.parametrize(
    ("reply", "kind", "says"),
    [
        (Reply(401, {"detail": "who?"}), errors.Unauthorized, "who?"),
        (Reply(403, {"detail": "User is locked."}), errors.InsufficientCredits, "locked"),
        (Reply(403, {"detail": "not you"}), errors.Forbidden, "not you"),
        (Reply(404, {"error": {"message": "gone", "code": "nf"}}), errors.NotFound, "gone"),
        (Reply(422, {"detail": [{"loc": ["a", 0], "msg": "m"}, "and", 7, None]}), errors.Refused, "a.0: m. (Re"),
        (Reply(422, {"detail": [{"loc": ["body", "x"], "msg": "x is bad"}]}), errors.Refused, "x is bad. (Re"),
        (Reply(422, {"detail": [{"loc": ["query", "x"], "msg": "too long"}]}), errors.Refused, "x: too long. (Re"),
        (Reply(422, {"detail": [{"loc": ["body", "input", "path"], "msg": "odd"}]}), errors.Refused, "path: odd. (Re"),
        (Reply(409, {"error": "busy"}), errors.Refused, "busy"),
        (Reply(422, b'"quoted words"'), errors.Refused, "quoted words"),
        (Reply(500, {"detail": {"odd": 1}}), errors.ServiceBroken, "answered 500 with the text"),
        (Reply(500, "[" * 100_000), errors.ServiceBroken, "[[["),
        (page(502), errors.ServiceBroken, "502 with an HTML page."),
        (Reply(302, {}, {"location": "http://127.0.0.1:9/"}), errors.ServiceBroken, "points to another address"),
        (Reply(404, {"detail": "\x1b[31mred\x00\u202eevil\r\nline"}), errors.NotFound, "[31mred evil line"),
        (Reply(404, {"detail": "x" * 10_000}), errors.NotFound, "x" * 400),
    ],
    ids=lambda value: f"{value.status} {value.content[:30]!r}" if isinstance(value, Reply) else "",
)
def test_every_way_of_saying_no_becomes_the_matching_error(hosted: Hosted, reply: Reply, kind: type, says: str) -> None:
    """String and list details, nested errors and pages of HTML are all read; the request id stands in the sentence."""
    hosted.on("GET", "/x", Reply(reply.status, reply.body, {**reply.headers, "x-request-id": "r-77"}))

    error = free(hosted.base_url, max_attempts=1)

    assert type(error) is kind
    assert says in str(error)
    assert "query." not in str(error)
    assert "(Request r-77.)" in str(error)
    assert str(error).isprintable()
    assert len(str(error)) < 1_000
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), vars(again)) == (kind, vars(error))


# The key


def test_a_call_that_is_cancelled_while_its_headers_leave_does_not_show_the_key(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worst moment: the frames of the HTTP library hold the headers."""

    async def never(*_: Any, **__: Any) -> None:
        await asyncio.Event().wait()

    async def cancelled(http: Http) -> None:
        async with asyncio.timeout(0.05):
            await ask(http)

    monkeypatch.setattr(AnyIOStream, "write", never)
    error = outcome(hosted.base_url, cancelled, key=CANARY.key)

    assert isinstance(error, TimeoutError)
    assert CANARY.found_in_error(error) == []


def test_a_result_can_be_stored_and_a_short_key_does_not_damage_it() -> None:
    """Half a surrogate pair would break the ledger, and NaN is no JSON; a key that may be a word stays in results."""
    answer = ServiceAnswer(200, {}, rb'{"a": "x\ud800y", "b": NaN, "c": [Infinity, "\u00fc boat"]}', Key("boat").hide)

    assert answer.value == {"a": "x?y", "b": None, "c": [None, "ü boat"]}


@pytest.mark.parametrize("key", ["two\nlines-canary", "nul\0-canary", "schlüssel-canary"])
def test_a_key_that_cannot_stand_in_a_header_is_refused_without_showing_it(key: str) -> None:
    """Neither the sentence nor the frames of the traceback repeat the key."""
    with pytest.raises(errors.ReelbookError, match="a character that no key has") as caught:
        Key(key)

    assert "canary" not in verbose(caught.value)


def test_a_key_is_neither_pickled_nor_copied() -> None:
    """It would end up in a file."""
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="not pickled"):
            pickle.dumps(Key(CANARY.key), protocol)

    assert CANARY.key not in repr(Key(CANARY.key))
