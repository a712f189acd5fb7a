"""Figure 3: on a network where one call in four is damaged, nothing is paid twice and no paid result is lost.

A proxy of our own stands between the client and a real service. The oracles are the service's charge log, what its
database keeps of each request, its own files, and the proxy's journal. Left out, because nobody could tell: a proxy
that makes up a definite refusal (400 to 422 but 429) of a request that it has passed on, and one that answers a paid
request with the sound answer to another.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.runs.submit import Submission
from reelbook.transport import answers, downloader, http
from reelbook.transport.http import RetryPolicy
from reelbook.util.background_loop import background
from reelbook_service.accounts import NewAccount
from tests.faults.audit import Row, reserved, rows_of
from tests.faults.nursery import number_of
from tests.faults.proxy import EVERY, ONCE, SHARE, SOUND, Deck, Only, Passed, Proxy
from tests.support import Serve, Served, as_data_uri, deep, png

SEED = 3
CANARY = "canary-7b21e6f0-network"
"""The key, spelt so that it is found wherever it goes."""
STITCH = rb.ImagesToVideo.endpoint_id
AT_ONCE = 8
MAX_TIMES = 8
"""So often at most the same cell is run; what is left after that is lost."""

SHORT = RetryPolicy(
    free_seconds=4.0,
    attempt_seconds=1.0,
    large_seconds=3.0,
    paid_seconds=1.5,
    repeatable_attempt_seconds=1.0,
    connect_seconds=1.0,
    backoff_seconds=0.02,
)
"""The patience of the clients here: the usual rules in a shorter life."""

DEEP = [pytest.mark.deep, pytest.mark.timeout(900)]
SIZES = [
    pytest.param(12, 60, True, id="ci-spec only"),
    pytest.param(40, 200, True, id="small-spec only", marks=pytest.mark.deep),
    pytest.param(20, 100, False, id="small-idempotent", marks=pytest.mark.deep),
    pytest.param(900, 5_000, False, id="deep-idempotent", marks=DEEP),
    pytest.param(900, 5_000, True, id="deep-spec only", marks=DEEP),
]
"""Runs, the requests that they come to at the least, and whether the service shows only the specification."""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients with little patience; that each call ends at its deadline is in tests/transport/test_http.py."""
    monkeypatch.setattr(http, "RetryPolicy", lambda: SHORT)
    monkeypatch.setattr(downloader, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(downloader, "STALL_SECONDS", 1.0)
    monkeypatch.setattr(answers, "RESULT_SECONDS", 4.0)
    monkeypatch.setattr(answers, "MAX_RETRY_AFTER_SECONDS", 0.1)


def clip(number: int) -> rb.ImagesToVideo:
    """An input for each number, with a picture of its own: the quickest job there is."""
    picture = png(16, 16, f"#{number:06x}")
    return rb.ImagesToVideo(images=[rb.Frame(url=picture, frames=1 + number // 119)], fps=1 + number % 119)


def made(client: Client, number: int) -> rb.Run | rb.ReelbookError:
    """The run of this number as far as it goes; every third as if a person looked at it."""
    try:
        work = client.submit_run(Submission(client.context, clip(number)), watched=number % 3 == 0)
        return background.submit(work).result(60).wait(60)
    except rb.ReelbookError as error:
        return error


def run_again_and_again(
    proxy: Proxy, library: Path, numbers: Sequence[int], key: str = CANARY
) -> list[list[rb.Run | rb.ReelbookError]]:
    """The same cell, in one notebook after another, until all is there that can be; what came of it each time."""
    rounds = []
    for _ in range(MAX_TIMES):
        with rb.connect(proxy.base_url, api_key=key, library=library) as client, ThreadPoolExecutor(AT_ONCE) as pool:
            rounds.append(list(pool.map(partial(made, client), numbers)))
        if all(map(_is_over, rounds[-1])):
            break
    return rounds


def _is_over(outcome: rb.Run | rb.ReelbookError) -> bool:
    """Whether another try changes nothing: it is there, or only a person can say what became of it."""
    return isinstance(outcome, rb.Run) or (isinstance(outcome, rb.UncertainRun) and not outcome.repeatable)


def right_media(served: Served, row: Row) -> bool:
    """Whether the files of a run are those that the service has for its request."""
    output = served.result(STITCH, row.request_id or "", CANARY).json()
    content = served.http.get(output["video"]["url"]).content
    return row.media == (hashlib.sha256(content).hexdigest(),)


def unexplained(proxy: Proxy, served: Served, rows: Sequence[Row]) -> list[Row]:
    """Uncertain runs of which no answer was destroyed or late, and on which nobody hung up before they were read."""
    paid = reserved(served)
    posts = defaultdict[int, list[Passed]](list)
    for post in proxy.of("run"):
        if post.body:
            posts[number_of(post.json["input"])].append(post)

    def explained(row: Row) -> bool:
        told = [post for post in posts[row.number] if row.sent <= post.at <= row.judged]
        if told:
            # The very request that was paid for is the one whose answer was destroyed, or waited for in vain: all of it
            # happens on one machine, which may be busy.
            is_late = row.judged - row.sent >= SHORT.paid_seconds
            return [post.request_ids for post in told] == [paid[row.number]] and (not told[0].arrived or is_late)
        return not paid[row.number] and _hung_up(proxy, row)

    return [row for row in rows if row.state == "uncertain" and not explained(row)]


def _hung_up(proxy: Proxy, row: Row) -> bool:
    """Whether somebody was hung up on before the request was read, while this run was on its way."""
    unread = [(post.at, post.at) for post in proxy.of("run") if not post.body]
    return any(began <= row.judged and row.sent <= ended for began, ended in (*unread, *proxy.outages))


def settled(proxy: Proxy, library: Path) -> None:
    """What a person does who can look into the account's history: each uncertain run is found there, or sent once more."""
    known = {number_of(post.json["input"]): post.request_ids for post in proxy.of("run") if post.request_ids}
    with rb.connect(proxy.base_url, api_key=CANARY, library=library):
        for one in rb.library().uncertain:
            found = known.get(number_of(json.loads(one.entry.input)))
            run = one.attach(found[0]) if found else one.resubmit()
            run.wait(60)


def start(serve: Serve, **settings: Any) -> Served:
    return serve(workers=1, accounts=[NewAccount("default", CANARY)], **settings)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("runs", "requests", "spec_only"), SIZES)
def test_on_a_faulty_network_nothing_is_paid_twice_and_nothing_paid_is_lost(
    serve: Serve, tmp_path: Path, runs: int, requests: int, spec_only: bool
) -> None:
    """Every run is stored, but where a lost answer explains it: and then it is settled with what the account has."""
    served, library = start(serve, spec_only=spec_only), tmp_path / "library"
    # What a service says of itself is for a test of its own: it decides which of the two kinds it is.
    deck = Deck(SEED, ONCE if spec_only else EVERY, spared=["nature"])

    with Proxy(served.base_url, deck) as proxy:
        run_again_and_again(proxy, library, range(runs))
        rows, paid = rows_of(library), reserved(served)
        doubtful = [row for row in rows if row.state == "uncertain"]
        blameless = unexplained(proxy, served, rows)
        passed = list(proxy.journal)
        proxy.calm()
        settled(proxy, library)

    # The network was as bad as promised.
    damaged = [one for one in passed if one.fault != SOUND]
    assert len(passed) >= requests
    slack = 0.1 if requests >= 500 else 0.4  # Three standard deviations of so few.
    assert (1 - slack) / SHARE <= len(damaged) / len(passed) <= (1 + slack) / SHARE
    assert len({one.fault for one in damaged if one.route == "run"}) >= min(18, runs // 6)
    # Nothing was paid twice, and only what cannot be known is uncertain.
    assert {number: names for number, names in paid.items() if len(names) > 1} == {}
    assert blameless == []
    assert Counter(row.state for row in rows) == Counter(stored=runs - len(doubtful), uncertain=len(doubtful))
    assert len(doubtful) >= runs / 10 if spec_only else doubtful == []
    # And in the end everything is there, paid for once.
    last = rows_of(library)
    assert [row.state for row in last] == ["stored"] * runs
    assert [row for row in last if not right_media(served, row)] == []
    assert {number: [row.request_id for row in last if row.number == number] for number in range(runs)} == reserved(served)  # fmt: skip
    assert CANARY not in str(proxy.elsewhere)


@pytest.mark.parametrize("fault", ["502", *deep(("moved",))])
@pytest.mark.usefixtures("impatient")
def test_a_service_that_does_not_say_at_first_who_it_is_is_not_paid_again_when_it_does(
    shared: Served, tmp_path: Path, fault: str
) -> None:
    """On the bad day nothing is sent, because nobody knows whose run it would be."""
    served, library = shared.with_own_account(), tmp_path / "library"

    with Proxy(served.base_url, Only("nature", fault)) as proxy:
        first = run_again_and_again(proxy, library, [1], served.key)
        proxy.calm()
        (again,) = run_again_and_again(proxy, library, [1], served.key)

    assert all(isinstance(one, rb.ServiceError) for (one,) in first)
    assert [len(names) for names in reserved(served).values()] == [1]
    assert [one.request_id for one in again if isinstance(one, rb.Run)] == reserved(served)[1]


@pytest.mark.parametrize("fault", ["page", *deep(("truncated",), ("empty",))])
@pytest.mark.usefixtures("impatient")
def test_a_service_that_is_known_sends_nothing_until_it_says_again_who_it_is(
    shared: Served, tmp_path: Path, fault: str
) -> None:
    """Under another name its paid runs would not be found: they would be lost, or paid twice."""
    served, library = shared.with_own_account(), tmp_path / "library"

    with Proxy(served.base_url, Only("nothing", fault)) as proxy:
        run_again_and_again(proxy, library, [1], served.key)
        proxy.deal(Only("nature", fault))
        hidden = run_again_and_again(proxy, library, [1, 2], served.key)
        proxy.calm()
        (again,) = run_again_and_again(proxy, library, [1, 2], served.key)

    assert all("does not say which one it is" in str(one) for outcomes in hidden for one in outcomes)
    assert [len(reserved(served)[number]) for number in (1, 2)] == [1, 1]
    assert [one.request_id for one in again if isinstance(one, rb.Run)] == [reserved(served)[n][0] for n in (1, 2)]


@pytest.mark.deep
def test_a_client_that_repeats_what_it_has_no_answer_to_pays_twice(serve: Serve) -> None:
    """The control: the same proxy, a few lines of httpx as they are often written, and the same oracle."""
    served = start(serve, spec_only=True)
    picture = as_data_uri(png(16, 16))
    # Such a client would wait for the slow ones for ever, and is through with all its tries before an outage ends.
    faults = [fault for fault in ONCE if fault not in ("deaf", "late", "dripped", "refused")]

    with (
        Proxy(served.base_url, Deck(SEED, faults)) as proxy,
        httpx.Client(base_url=proxy.base_url, headers={"x-api-key": CANARY}, timeout=5, trust_env=False) as naive,
    ):
        for number in range(60):
            asked = {"images": [{"url": picture, "frames": 1 + number // 119}], "fps": 1 + number % 119}
            for _ in range(6):
                with suppress(httpx.HTTPError, ValueError, KeyError):
                    answer = naive.post("/models/run", json={"endpointId": STITCH, "input": asked})
                    assert answer.raise_for_status().json()["requestId"]
                    break

    assert sum(len(names) > 1 for names in reserved(served).values()) >= 5
