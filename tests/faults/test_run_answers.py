"""A page in the place of the answer to a paid request: the run may be paid for, so it is never sent again by itself.

The stand-in charges every run whose refusal does not stand in `REFUSED`, and then answers with whatever the fault says.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import reelbook as rb
from reelbook.display.sweep_panel import format_panel, render_panel
from reelbook.transport import poller
from tests.faults.nursery import PATIENCE, until
from tests.faults.standin import FOREIGN, REFUSED, RUN, Fault, StandIn, media
from tests.faults.test_answers import BOAT, CODES
from tests.support import deep
from tests.transport.variants import Hosted, Reply

OWN_SHAPE = frozenset({"gate", "call", "path", "query"})
"""Bodies in which services of this family refuse a call, too."""
PAGES = tuple(f"{code} page" for code in CODES)
BODIES = tuple(f"{code} {how}" for how in FOREIGN if how not in OWN_SHAPE for code in (400, 403, 404, 422, 429, 503))
ALL = (*PAGES, *BODIES)
FEW = (
    *(f"{code} page" for code in (400, 401, 403, 404, 422, 429, 500, 502, 504)),
    *("400 message", "403 detail", "404 text", "422 code", "429 problem", "503 gateway", "400 cut", "404 empty"),
    "503 plain",
)
"""Each kind of status, and most kinds of foreign bodies."""


@pytest.fixture
def quick_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are over as soon as they are asked for."""
    monkeypatch.setattr(poller, "FIRST_SECONDS", 0.02)


@pytest.mark.parametrize("kinds", [pytest.param(FEW, id="ci"), pytest.param(ALL, id="deep", marks=pytest.mark.deep)])
def test_whatever_stands_in_the_place_of_the_answer_nothing_is_paid_twice(tmp_path: Path, kinds: Sequence[str]) -> None:
    """Uncertain, listed with a reason, and not sent again in another session, when all is calm."""
    faults = [Fault(RUN, kind, seed=seed) for seed, kind in enumerate(kinds, 1)]
    with StandIn(faults) as hosted:
        for _ in range(2):
            with rb.connect(hosted.base_url, api_key="a-key", library=tmp_path) as client:
                ends = Counter(outcome(client, seed) for seed in range(1, len(kinds) + 1))
            assert ends == {"UncertainRun": len(kinds)}
            hosted.calm()

    listed = rb.library(tmp_path).uncertain
    assert set(hosted.paid.values()) == {1}
    assert len(listed) == len(hosted.charges) == len(kinds)
    assert listed.credits == 53 * len(kinds)
    assert all(kind.partition(" ")[0] in one.reason for kind, one in zip(kinds, listed, strict=True))


@pytest.mark.usefixtures("quick_polls")
def test_the_services_own_words_leave_a_run_free_to_be_run_again(tmp_path: Path) -> None:
    """The control: nothing was charged, nothing is uncertain, and the same input runs once the reason is gone."""
    faults = [Fault(RUN, kind, seed=seed, times=1) for seed, kind in enumerate(REFUSED, 1)]
    with StandIn(faults) as hosted, rb.connect(hosted.base_url, api_key="a-key", library=tmp_path) as client:
        refused = [outcome(client, seed) for seed in range(1, len(faults))]
        again = [client.run(BOAT.revised(seed=seed)).status for seed in range(1, len(faults) + 1)]
        uncertain = rb.library(tmp_path).uncertain

    assert refused == ["InsufficientCredits", "NotFound", "Forbidden", "Unauthorized", "Refused"]
    assert again == ["completed"] * len(faults)
    assert len(uncertain) == 0
    assert set(hosted.paid.values()) == {1}


@pytest.mark.parametrize("kind", ["407 page", "502 page", "welcome"])
def test_the_error_says_what_came_in_place_of_the_answer_and_what_to_do(tmp_path: Path, kind: str) -> None:
    """In one sentence each, and beside it what it may have cost."""
    with (
        StandIn([Fault(RUN, kind)]) as hosted,
        rb.connect(hosted.base_url, api_key="k", library=tmp_path) as client,
        pytest.raises(rb.UncertainRun) as caught,
    ):
        client.run(BOAT.revised(seed=1))

    words = str(caught.value)
    assert "with an HTML page" in words
    assert "may have cost up to 53 credits" in words
    assert "rb.library().uncertain" in words


@pytest.mark.parametrize("kind", ["401 page", "429 page", *deep(("404 page",), ("407 page",), ("413 page",))])
def test_a_sweep_that_meets_a_page_at_once_pays_for_no_other_run(tmp_path: Path, kind: str) -> None:
    """The first one goes alone, and what refuses it refuses all."""
    with StandIn([Fault(RUN, kind)]) as hosted, rb.connect(hosted.base_url, api_key="k", library=tmp_path) as client:
        table = rb.sweep(BOAT, seed=range(20)).run(budget=20 * 53, client=client)

    assert Counter(table["status"]) == {"uncertain": 1, "not started": 19}
    assert len(hosted.charges) == 1


def outcome(client: rb.Client, seed: int) -> str:
    """What comes of this run: the kind of its error, or how it ended."""
    try:
        return client.start(BOAT.revised(seed=seed)).status
    except rb.ReelbookError as error:
        return type(error).__name__


FILM = {"url": "{base}/film.mp4", "content_type": "video/mp4"}
AT_ONCE_WITH = {
    "its id": {"requestId": "r-7", "output": {"video": FILM, "seed": 7}},
    "a state": {"request_id": "r-7", "status": "COMPLETED", "response": {"video": FILM, "seed": 7}},
    "no id, packed": {"output": {"video": FILM, "seed": 7}, "credits": 60},
}


@pytest.mark.parametrize("answer", AT_ONCE_WITH.values(), ids=AT_ONCE_WITH)
def test_an_answer_that_holds_the_output_is_the_whole_run(tmp_path: Path, answer: Mapping[str, object]) -> None:
    """Nobody is asked for a status, there is a film, and the library has it."""
    with Hosted() as hosted, rb.connect(hosted.base_url, api_key="k", library=tmp_path) as client:
        hosted.on("POST", "/models/run", json.loads(json.dumps(answer).replace("{base}", hosted.base_url)))
        hosted.on("GET", "/film.mp4", Reply(200, media()[".mp4"], {"content-type": "video/mp4"}))
        boat = BOAT.revised(seed=7)
        run, again = client.run(boat), client.run(boat)
        known = client.attach(run.request_id)

    assert (run.video.path.read_bytes(), run.output.seed) == (media()[".mp4"], 7)
    assert run.credits == answer.get("credits", 53)
    assert again.from_library
    assert known.video.path == run.video.path
    assert len(hosted.seen("POST", "/models/run")) == 1


@pytest.mark.usefixtures("quick_polls")
def test_a_queue_that_is_named_by_the_first_two_parts_of_the_model_s_id_is_found(tmp_path: Path) -> None:
    """Followed, fetched, and picked up by its id, though the answer of the run call names no address."""
    model = rb.ImagesToVideo.endpoint_id
    with Hosted() as hosted:
        output = {"video": {"url": f"{hosted.base_url}/film.mp4"}}
        hosted.queue(model.rpartition("/")[0], request_id="r-1", output=output)
        hosted.on("GET", "/film.mp4", Reply(200, media()[".mp4"], {"content-type": "video/mp4"}))
        with rb.connect(hosted.base_url, api_key="k", library=tmp_path / "one") as client:
            run = client.run(rb.ImagesToVideo(images=["https://example.org/a.png"]))
        with rb.connect(hosted.base_url, api_key="k", library=tmp_path / "two") as client:
            attached = client.attach("r-1", model=model).wait(20)

    assert run.video.path.read_bytes() == attached.video.path.read_bytes() == media()[".mp4"]
    assert len(hosted.seen("POST", "/models/run")) == 1


LATER = Reply(429, {"detail": "slow down", "error_type": "too_many_requests"}, {"Retry-After": "30"})


def test_a_service_that_says_later_costs_nothing_and_says_what_to_do(tmp_path: Path) -> None:
    """The same can be run again; a sweep waits by itself."""
    with Hosted() as hosted, rb.connect(hosted.base_url, api_key="k", library=tmp_path) as client:
        hosted.on("POST", "/models/run", LATER)
        with pytest.raises(rb.TooManyRequests, match=r"Nothing was charged.*wait a minute, then run it again"):
            client.run(BOAT)

    assert len(hosted.seen("POST", "/models/run")) == 1


def test_a_sketch_in_the_folder_of_a_hosted_service_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Once somebody who forgot to connect again is with the embedded service; not before."""
    with StandIn([]) as hosted, rb.connect(hosted.base_url, api_key="k", library=tmp_path) as client:
        client.run(BOAT)
    before = caplog.text
    with rb.connect(library=tmp_path):
        pass

    assert "sketches" not in before
    assert f"made by {hosted.base_url}. This is the embedded service, whose clips are sketches" in caplog.text


def test_a_sweep_waits_for_a_rate_limit_and_says_so(tmp_path: Path) -> None:
    """From its first run on, as long as the service asks for; here it is cancelled."""
    with Hosted() as hosted, rb.connect(hosted.base_url, api_key="k", library=tmp_path):
        hosted.on("POST", "/models/run", LATER)
        job = rb.sweep(BOAT, seed=range(3)).start(budget=999)
        until(lambda: bool(job.progress.waits))
        progress = job.progress
        job.cancel()
        table = job.wait(PATIENCE)

    assert re.search(r"waiting to ask the service again, (29|3\d) s left", format_panel(progress))
    assert "waiting to ask" in render_panel(progress)
    assert set(table["status"]) == {"not started"}
    assert len(hosted.seen("POST", "/models/run")) == 1
