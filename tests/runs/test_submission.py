"""From an input to an accepted run: paid for once, whatever happens on the way."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.runs import submit
from reelbook.storage.ledger import transitions
from reelbook.transport import answers
from reelbook.transport.picture_sources import build_request_input
from tests.support import Served, as_data_uri, png
from tests.transport.variants import Hosted, Received, Reply

STITCH = rb.ImagesToVideo.endpoint_id
BOAT = rb.TextToVideo(prompt="a boat", num_frames=9, resolution="480p", aspect_ratio="1:1", seed=7)
RUN = "/models/run"


@pytest.fixture
def served(shared: Served) -> Served:
    return shared.with_own_account()


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    """A service that shows only the specification, and does what the test says."""
    with Hosted() as service:
        yield service


@pytest.fixture
def client(hosted: Hosted, tmp_path: Path) -> Iterator[Client]:
    with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path / "library") as client:
        yield client


def dot(colour: str = "teal") -> rb.ImagesToVideo:
    """The quickest job there is, a different one for each colour."""
    return rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16, colour), frames=1)])


def states(client: Client) -> list[tuple[str, int, str | None]]:
    """State, take and request of every run in the library."""
    rows = client.ledger.read(lambda db: db.execute("SELECT state, take, request_id FROM runs ORDER BY id").fetchall())
    return [tuple(row) for row in rows]


def finishes(hosted: Hosted, request_id: str = "r1", gate: threading.Event | None = None) -> None:
    """A run of the boat that is completed as soon as it is asked about, or once the gate is open."""
    address = f"/{BOAT.endpoint_id}/requests/{request_id}"
    status = {"status": "COMPLETED", "request_id": request_id}
    hosted.on("GET", f"{address}/status", lambda _: Reply(200, status, gate=gate))
    hosted.on("GET", address, {"video": {"url": f"{hosted.base_url}/file"}, "seed": 1, "prompt": "a boat"})
    hosted.on("GET", "/file", Reply(200, png()))


def reserved(served: Served) -> list[str]:
    """The requests that were paid for, as the service's own charge log has them."""
    return [line["request_id"] for line in served.charges() if line["kind"] == "reserve"]


def test_a_finished_seeded_run_is_served_from_the_library(served: Served, tmp_path: Path) -> None:
    """The second run, also of another client on another day, costs nothing and says so; fresh=True pays again."""
    boat = dot()
    with rb.connect(served.base_url, api_key=served.key, library=tmp_path / "library") as client:
        first = client.run(boat)
        again = client.run(boat)
    with rb.connect(served.base_url, api_key=served.key, library=tmp_path / "library") as client:
        later = client.run(boat)
        paid = reserved(served)
        fresh = client.run(boat, fresh=True)

    assert [run.from_library for run in (first, again, later, fresh)] == [False, True, True, False]
    assert paid == [first.request_id]
    assert later.video.path == first.video.path
    assert "from the library" in repr(later)
    assert (later.credits, later.credits_source) == (53, "charged")
    assert (fresh.take, len(reserved(served))) == (1, 2)


def test_a_run_of_one_service_is_not_served_for_another(
    served: Served, shared_spec_only: Served, tmp_path: Path
) -> None:
    """A clip of the embedded service is not the hosted model's clip of the same input."""
    one, other = served, shared_spec_only.with_own_account()
    with rb.connect(one.base_url, api_key=one.key, library=tmp_path / "library") as client:
        client.run(dot())
    with rb.connect(other.base_url, api_key=other.key, library=tmp_path / "library") as client:
        run = client.run(dot())

    assert not run.from_library
    assert len(reserved(other)) == 1


def test_without_a_seed_each_start_is_a_new_take(hosted: Hosted, client: Client) -> None:
    """Four starts are four clips; a run joins the one that is under way, and opens a new one after it."""
    unseeded = BOAT.revised(seed=None)
    gate = threading.Event()
    count = iter(range(100))
    hosted.on("POST", RUN, lambda _: Reply(200, {"requestId": f"r{next(count)}"}))
    for number in range(6):
        finishes(hosted, f"r{number}", gate)

    first, second = client.start(unseeded), client.start(unseeded)
    waiting = threading.Thread(target=client.run, args=(unseeded,))
    waiting.start()
    gate.set()
    waiting.join(30)
    first.wait(30), second.wait(30)
    third = client.run(unseeded)

    assert [first.take, second.take, third.take] == [0, 1, 2]
    assert len(hosted.seen("POST", RUN)) == 3


@pytest.mark.parametrize("take", [-1, 10**20])
def test_a_take_beyond_its_bounds_is_refused_before_anything_is_sent(hosted: Hosted, client: Client, take: int) -> None:
    """A sentence says what it may be."""
    with pytest.raises(rb.ReelbookError, match="whole number from 0"):
        client.run(BOAT, take=take)

    assert hosted.seen("POST") == []


def test_a_take_may_be_a_number_of_numpy(served: Served, tmp_path: Path) -> None:
    """As the rows of a table have them."""
    take: Any = np.int64(3)
    with rb.connect(served.base_url, api_key=served.key, library=tmp_path / "library") as client:
        assert client.run(dot(), take=take).take == 3


def test_a_fresh_run_that_meets_a_rate_limit_stays_one_run(hosted: Hosted, client: Client) -> None:
    """It is sent again a moment later, and the library has no refused run beside it."""
    later = Reply(429, {"detail": "slow down", "error_type": "too_many_requests"})
    hosted.on("POST", RUN, later, {"requestId": "r1"})

    client.start(BOAT, fresh=True)

    assert states(client) == [("accepted", 0, "r1")]


def test_the_same_run_from_many_threads_is_paid_for_once(served: Served, tmp_path: Path) -> None:
    """All of them get the same run."""
    with rb.connect(served.base_url, api_key=served.key, library=tmp_path / "library") as client:
        found: list[rb.Run] = []
        threads = [threading.Thread(target=lambda: found.append(client.run(dot()))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

    assert len({run.request_id for run in found}) == 1
    assert len(found) == 8
    assert len(reserved(served)) == 1


def test_a_picture_in_memory_can_be_used_again_from_the_library(served: Served, tmp_path: Path) -> None:
    """Its bytes are kept, so that the input that repr shows is one that runs."""
    with rb.connect(served.base_url, api_key=served.key, library=tmp_path / "library") as client:
        run = client.run(dot())
        same = eval(repr(run.input), {"ImagesToVideo": rb.ImagesToVideo, "Frame": rb.Frame, "Image": rb.Image})
        again = client.run(same)

    assert again.from_library


def test_an_attached_run_is_kept_in_the_library(served: Served, tmp_path: Path) -> None:
    """A run of another notebook, known by its id only, is fetched, kept, and found again without its model."""
    request_id = served.submitted(STITCH, {"images": [{"url": as_data_uri(png(16, 16)), "frames": 1}]})
    with rb.connect(served.base_url, api_key=served.key, library=tmp_path / "library") as client:
        run = client.attach(request_id, model=STITCH).wait(30)
        again = client.attach(request_id)
        with pytest.raises(rb.NotFound, match="Check the spelling"):
            client.attach("no-such-request", model=STITCH)
        with pytest.raises(rb.ReelbookError, match="its model must be named"):
            client.attach("no-such-request")
        rows = states(client)

    assert run.video.path == again.video.path
    assert again.from_library
    assert rows == [("stored", 0, request_id)]


def test_a_run_that_the_service_had_forgotten_is_asked_for_again_before_it_is_paid_for_again(
    hosted: Hosted, client: Client
) -> None:
    """A gateway said 404 for a while: once it is over, the first result comes, and nothing more is paid."""
    hosted.on("POST", RUN, {"requestId": "r1"})
    finishes(hosted)
    hosted.on("GET", f"/{BOAT.endpoint_id}/requests/r1", Reply(404, {"detail": "unknown", "error_type": "not_found"}))
    run = client.start(BOAT)
    client.ledger.transact_now(
        lambda db: db.execute("UPDATE runs SET error_type = 'expired', output = NULL, state = 'accepted', owner = NULL")
    )
    client.ledger.live.clear()
    finishes(hosted)

    again = client.run(BOAT)

    assert again.request_id == run.request_id
    assert len(hosted.seen("POST", RUN)) == 1


@pytest.mark.parametrize("answer", [{"video": None}, {"detail": "overloaded"}])
def test_a_result_without_a_file_is_not_kept_as_the_result(
    hosted: Hosted, client: Client, answer: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked for again when the run is wanted again, at no cost."""
    monkeypatch.setattr(answers, "RESULT_SECONDS", 0.2)
    hosted.on("POST", RUN, {"requestId": "r1"})
    finishes(hosted)
    hosted.on("GET", f"/{BOAT.endpoint_id}/requests/r1", answer)

    with pytest.raises(rb.ReelbookError, match="run the cell again"):
        client.run(BOAT)
    finishes(hosted)
    run = client.run(BOAT)

    assert run.media[0].path.read_bytes() == png()
    assert len(hosted.seen("POST", RUN)) == 1


def test_a_request_arrives_after_its_row_says_that_it_is_sent(
    hosted: Hosted, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the disk takes: a row that says less, read after a crash, would be paid for again."""
    events: list[object] = []
    mark_sending = transitions.mark_sending

    def mark_slowly(*arguments: Any, **options: Any) -> None:
        time.sleep(0.2)
        mark_sending(*arguments, **options)
        events.append("written")

    def answer(_: Received) -> Reply:
        events.append("received")
        events.append(states(client))
        return Reply(200, {"requestId": "r1"})

    monkeypatch.setattr(transitions, "mark_sending", mark_slowly)
    hosted.on("POST", RUN, answer)
    finishes(hosted)
    client.run(BOAT)

    assert events == ["written", "received", [("sending", 0, None)]]


def test_a_claim_that_was_renewed_meanwhile_is_not_sent(
    hosted: Hosted, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row has the same owner and the same state; only its attempt says that another submission sends it."""
    build = build_request_input

    async def build_late(*arguments: Any, **options: Any) -> Any:
        await client.ledger.transact(lambda db: db.execute("UPDATE runs SET attempt = attempt + 1").rowcount)
        return await build(*arguments, **options)

    monkeypatch.setattr(submit, "build_request_input", build_late)
    hosted.on("POST", RUN, {"requestId": "r1"})

    with pytest.raises(rb.ReelbookError, match="Nothing was sent"):
        client.run(BOAT)
    assert hosted.seen("POST", RUN) == []


def test_an_accepted_run_is_recorded_as_soon_as_the_library_can_be_written(
    hosted: Hosted, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk between the answer and its record must not lose the request."""
    left, transact = [3], client.ledger.transact

    async def transact_on_a_full_disk(work: Any, *, line: Any = None) -> Any:
        if line is not None and left[0]:
            left[0] -= 1
            raise rb.LibraryError(str(client.ledger.folder), "the disk is full")
        return await transact(work, line=line)

    monkeypatch.setattr(submit, "RECORD_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(client.ledger, "transact", transact_on_a_full_disk)
    hosted.on("POST", RUN, {"requestId": "r1"})
    finishes(hosted)
    client.run(BOAT)

    assert left == [0]
    assert states(client) == [("stored", 0, "r1")]
    assert len(hosted.seen("POST", RUN)) == 1


def test_a_refused_repetition_says_nothing_about_the_first_request(hosted: Hosted, tmp_path: Path) -> None:
    """It stays to be repeated, with the same key and the same body, and its price counts until then."""
    posts: list[tuple[str, bytes]] = []
    answers = iter([*[Reply(fault="close")] * 5, Reply(422, {"detail": "not now"}), Reply(200, {"requestId": "r1"})])

    def answer(received: Received) -> Reply:
        posts.append((received.headers["idempotency-key"], received.body))
        return next(answers)

    hosted.on("GET", "/", {"service": "x", "id": "svc-1", "features": ["idempotency"]})
    hosted.on("POST", RUN, answer)
    finishes(hosted)
    found = []
    with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path) as client:
        for wrong in (rb.UncertainRun, rb.Refused):
            with pytest.raises(wrong):
                client.run(BOAT)
            query = "SELECT state, attempt_key IS NOT NULL, body IS NOT NULL FROM runs"
            found += client.ledger.read(lambda db: db.execute(query).fetchall())  # noqa: B023  # Run at once.
        run = client.run(BOAT)

    assert found == [("planned", 1, 1)] * 2
    assert run.status == "completed"
    assert len(posts) == 7
    assert len(set(posts)) == 1
