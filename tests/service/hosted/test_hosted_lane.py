"""Runs by a service elsewhere: a student sees ours alone, and both accounts are exact to the credit."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from reelbook.cli import main
from reelbook.errors import ReelbookError
from reelbook_service import spec_decisions
from reelbook_service.accounts import NewAccount
from reelbook_service.class_admin import read_board_token
from reelbook_service.hosted import lane as hosted_lane
from reelbook_service.hosted import run as paid_run
from reelbook_service.hosted.models_file import make_lane_table, read_models_file
from reelbook_service.server import Server, bind_socket
from reelbook_service.service_settings import Settings
from tests.faults.standin import CANCEL, RESULT, RUN, STATUS, Fault, StandIn
from tests.service.hosted.conftest import TEACHER, Open, Paid, students, write_models
from tests.support import MOVE, STITCH, TEXT, Serve, Served, as_data_uri, png
from tests.transport.variants import Reply


def until_accepted(service: StandIn, count: int = 1) -> None:
    """Wait until the service elsewhere has taken so many runs."""
    waiting = threading.Event()
    while len(service.jobs) < count:
        waiting.wait(0.01)


def text(**more: Any) -> dict[str, Any]:
    return {"prompt": "a paper boat", "num_frames": 9, "seed": 7, "resolution": "480p", **more}


def ended(
    served: Served, input: Mapping[str, Any] | None = None, model: str = TEXT, key: str | None = None
) -> tuple[str, dict[str, Any]]:
    request_id = served.submitted(model, input or text(), key)
    return request_id, served.finished(model, request_id, key)


def sent(service: StandIn) -> list[dict[str, Any]]:
    return [line["input"] for line in service.charges]


def test_two_students_with_the_same_input_share_nothing(paid: Paid) -> None:
    """Two runs are paid for, each file has an address of its own here, and neither sees the other's run."""
    service, served = paid()

    one, _ = ended(served)
    two, _ = ended(served, key="key-of-ben")

    first = served.result(TEXT, one).json()["video"]["url"]
    second = served.result(TEXT, two, "key-of-ben").json()["video"]["url"]
    assert len(service.charges) == 2
    assert first != second
    assert all(url.startswith(served.base_url + "/files/") for url in (first, second))
    assert served.http.get(first).content == served.http.get(second).content
    assert served.result(TEXT, one, "key-of-ben").status_code == 404
    assert (
        service.base_url not in served.result(TEXT, one).text + served.get(f"/{TEXT}/requests/{one}/status?logs=1").text
    )
    assert served.money(one) == [("reserve", 53), ("settle", 53)]


def test_pictures_of_this_service_go_elsewhere_as_pictures(paid: Paid) -> None:
    """An upload by its id, and a file by its address here, which nobody elsewhere could fetch.

    A path would be read here, a hash found in the library of all, and an id be one of the account elsewhere: refused.
    """
    service, served = paid()
    upload = served.http.post("/files", files={"file": ("a.png", png())}, headers={"x-api-key": served.key}).json()

    for picture in (upload["file_id"], upload["url"]):
        ended(served, {"prompt": "closer", "image_url": picture}, MOVE)
    refused = [
        served.run(MOVE, {"prompt": "closer", "image_url": picture}, key)
        for picture, key in [
            *((picture, served.key) for picture in ONLY_HERE),
            (upload["file_id"], "key-of-ben"),
        ]
    ]

    assert [one["image_url"] for one in sent(service)] == [as_data_uri(png())] * 2
    assert {(answer.status_code, answer.json()["error_type"]) for answer in refused} == {(422, "file_download_error")}
    assert len(served.charges()) == 4


ONLY_HERE = (
    "/etc/hostname", "boat.png", "sha256:" + "0" * 64, "file_" + "0" * 32, "file:///etc/hostname", "ftp://host/a.png",
)  # fmt: skip


def test_who_may_not_turn_the_checker_off_cannot_do_it_by_the_account_elsewhere(paid: Paid) -> None:
    """Without the permission here the run is checked there; with it, the account elsewhere decides."""
    service, served = paid()

    ended(served, text(enable_safety_checker=False))
    ended(served, text(enable_safety_checker=False), key="key-of-una")

    assert [one["enable_safety_checker"] for one in sent(service)] == [True, False]


REFUSALS = [
    ("no credits", "engine_error", "has too few credits left there. It is not your fault"),
    ("no key", "engine_error", "the shared key is not accepted there"),
    ("in words", "engine_error", "the shared key may not start this run there"),
    ("no such model", "engine_error", "it does not know this model"),
    ("no input", "validation_error", "refuses this input"),
]


def test_a_refusal_elsewhere_is_free_and_plain(paid: Paid) -> None:
    """What is the teacher's matter is said to be that; the credits come back."""
    service, served = paid(*(Fault(RUN, kind, seed=seed) for seed, (kind, _, _) in enumerate(REFUSALS)))

    for seed, (_, error_type, words) in enumerate(REFUSALS):
        request_id, final = ended(served, text(seed=seed))
        assert final["error_type"] == error_type
        assert words in final["error"]
        assert final["error"].count("Nothing was charged") == 1
        assert served.money(request_id) == [("reserve", 53), ("refund", 53)]
    assert service.charges == []


def test_a_lost_answer_ends_the_run_and_counts(paid: Paid) -> None:
    """It is not sent again; the student is told, pays its price, and the teacher finds it in the library."""
    service, served = paid(Fault(RUN, "cut off"))

    request_id, final = ended(served)
    served.server.stop()

    assert final["error_type"] == "answer_lost"
    assert "53 credits were charged" in final["error"]
    assert final["metrics"]["credits"] == 53
    assert len(service.charges) == 1
    assert served.money(request_id) == [("reserve", 53), ("settle", 53)]
    (uncertain,) = rb.library(served.server.service.settings.data / "hosted").uncertain
    assert uncertain.credits == 53


@pytest.mark.parametrize(("counts", "charged"), [(True, 53), (False, 0)])
def test_a_failure_elsewhere_costs_what_the_service_says_or_the_file(paid: Paid, counts: bool, charged: int) -> None:
    """Where it does not say, the price counts unless models.toml knows better; the reason is the student's."""
    words = "It shows what it must not." if counts else "It shows what it must not. Nothing was charged."
    refused = Reply(422, {"detail": words, "error_type": "content_policy_violation"})
    _, served = paid(ends={7: refused}, settings={"charges_failures": counts})

    request_id, final = ended(served)

    assert final["error_type"] == "content_policy_violation"
    assert "It shows what it must not." in final["error"]
    assert final["error"].count("charged.") == 1, "the cost is said once"
    assert dict(served.money(request_id)).get("settle", 0) == charged


def test_what_a_service_does_not_give_at_first_is_asked_for_again(
    elsewhere: Callable[..., StandIn], gateway: Open
) -> None:
    """429 to the run, then errors in place of its status and result, and a cut file: the student only waits."""
    service = elsewhere(
        Fault(RUN, "later", times=2), Fault(STATUS, "502 page", times=2), Fault(RESULT, "503 page", times=8),
        Fault("file", "cut off", times=2),
    )  # fmt: skip
    served = gateway(service.base_url)

    request_id, final = ended(served)

    assert "error" not in final
    assert len(service.charges) == 1
    assert served.money(request_id)[-1] == ("settle", 53)
    assert served.result(TEXT, request_id).status_code == 200


def until(served: Served, request_id: str, *states: str) -> None:
    """Follow a run until it is in one of these states."""
    served.status_once(lambda status: status["status"] in states, TEXT, request_id)


@pytest.mark.parametrize(("counts", "charged"), [(True, 53), (False, 0)])
def test_a_cancellation_reaches_the_service_elsewhere(paid: Paid, counts: bool, charged: int) -> None:
    """The run is cancelled there; what it does not say it gives back is not given back here, unless the file says so."""
    service, served = paid(seconds=20.0, settings={"charges_failures": counts})
    request_id = served.submitted(TEXT, text())
    until_accepted(service)
    # It waits elsewhere, and has a place though none is told: other clients of this API, such as fal-client, read it.
    assert served.get(f"/{TEXT}/requests/{request_id}/status").json()["queue_position"] == 0

    answer = served.cancel(TEXT, request_id).json()
    final = served.finished(TEXT, request_id)

    assert answer == {"success": True, "status": "CANCELLATION_REQUESTED"}
    assert [job.cancelled for job in service.jobs.values()] == [True]
    assert final["error_type"] == "cancelled"
    assert dict(served.money(request_id)).get("settle", 0) == charged


def test_a_service_that_gives_credits_back_gives_them_to_the_student(serve: Serve, gateway: Open) -> None:
    """Cancelled at one of our services, which says that nothing was charged: all of it comes back."""
    there = serve(accounts=[NewAccount("teacher", TEACHER)], workers=1)
    served = gateway(there.base_url)
    request_id = served.submitted(TEXT, {"prompt": "a paper boat", "num_frames": 1441})
    until(served, request_id, "IN_PROGRESS")

    served.cancel(TEXT, request_id)
    final = served.finished(TEXT, request_id)

    assert (final["error_type"], final["metrics"]["credits"]) == ("cancelled", 0)
    assert served.money(request_id) == [("reserve", 53), ("refund", 53)]
    assert [line["kind"] for line in there.charges()] == ["reserve", "refund"]


def test_a_cancellation_that_was_not_heard_is_repeated_after_a_restart(
    paid: Paid, gateway: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service elsewhere answers cancellations with an error until the gateway was stopped and started again."""
    monkeypatch.setattr(spec_decisions, "CANCEL_SECONDS", 0.2)
    service, first = paid(Fault(CANCEL, "500 page"), seconds=60.0)
    request_id = first.submitted(TEXT, text())
    until_accepted(service)
    answer = first.cancel(TEXT, request_id).json()
    first.server.stop()
    service.calm()

    second = gateway(service.base_url)
    final = second.finished(TEXT, request_id)

    assert answer["status"] == "CANCELLATION_REQUESTED"
    assert final["error_type"] == "cancelled"
    assert [job.cancelled for job in service.jobs.values()] == [True]
    assert len(service.charges) == 1


def test_a_resumed_run_is_not_given_back_before_its_lane_has_seen_it(paid: Paid, gateway: Open) -> None:
    """After a restart it waits here behind another one; it may be paid for elsewhere, so a cancellation is asked for there."""
    service, first = paid(seconds=20.0, settings={"at_once": 2})
    one, two = first.submitted(TEXT, text()), first.submitted(TEXT, text(seed=8))
    until_accepted(service, 2)
    first.server.stop()

    second = gateway(service.base_url, at_once=1)
    answer = second.cancel(TEXT, two).json()
    second.cancel(TEXT, one)
    final = second.finished(TEXT, two)

    assert answer["status"] == "CANCELLATION_REQUESTED"
    assert final["error_type"] == "cancelled"
    assert second.money(two) == [("reserve", 53), ("settle", 53)]
    assert [job.cancelled for job in service.jobs.values()] == [True, True]


def test_what_waits_here_is_cancelled_here(paid: Paid) -> None:
    """`at_once = 1`: the second run waits in our queue, and was never sent."""
    service, served = paid(seconds=20.0, settings={"at_once": 1})
    first, second = served.submitted(TEXT, text()), served.submitted(TEXT, text())
    until_accepted(service)

    answer = served.cancel(TEXT, second).json()

    assert answer["status"] == "CANCELLED"
    assert served.money(second) == [("reserve", 53), ("refund", 53)]
    served.cancel(TEXT, first)
    served.finished(TEXT, first)
    assert len(service.charges) == 1


def test_a_restart_with_another_service_sends_nothing_again(elsewhere: Callable[..., StandIn], gateway: Open) -> None:
    """models.toml names another address by now: the run ends, counts, and the new service hears nothing of it."""
    old, new = elsewhere(seconds=20.0), elsewhere()
    first = gateway(old.base_url)
    request_id = first.submitted(TEXT, text())
    until_accepted(old)
    first.server.stop()

    second = gateway(new.base_url)
    final = second.finished(TEXT, request_id)

    assert final["error_type"] == "answer_lost"
    assert "another service" in final["error"]
    assert (len(old.charges), len(new.charges)) == (1, 0)
    assert second.money(request_id) == [("reserve", 53), ("settle", 53)]


def test_a_run_whose_engine_is_gone_waits_for_it(paid: Paid, gateway: Open, serve: Serve, tmp_path: Path) -> None:
    """Started without models.toml: it is neither run here nor given back; with the file again it ends."""
    service, first = paid(seconds=1.0)
    request_id = first.submitted(TEXT, text())
    until_accepted(service)
    first.server.stop()
    without = serve(accounts=students(), data=tmp_path / "gateway")
    headers = {"x-api-key": "key-of-ana"}
    status = without.http.get(f"/{TEXT}/requests/{request_id}/status?logs=1", headers=headers).json()
    refused = without.http.put(f"/{TEXT}/requests/{request_id}/cancel", headers=headers)
    without.server.stop()

    again = gateway(service.base_url)
    final = again.finished(TEXT, request_id)

    assert status["status"] == "IN_QUEUE"
    assert "not set up at present" in str(status["logs"])
    assert refused.status_code == 503
    assert "error" not in final
    assert len(service.charges) == 1


def test_local_engines_go_on_beside(paid: Paid, dot: str) -> None:
    """One model is made here, at no cost elsewhere, by a worker without the teacher's key; `/` and `/docs` say which."""
    service, served = paid(settings={"local": STITCH})

    ended(served)
    _, final = ended(served, {"images": [dot]}, STITCH)

    assert "error" not in final
    assert len(service.charges) == 1
    engines = served.http.get("/").json()["engines"]
    assert (engines[TEXT], engines[STITCH]) == ("hosted (paid)", "local")
    pages = served.http.get("/docs").text + served.http.get("/").text
    assert "engine hosted (paid)" in pages
    assert service.base_url not in pages
    assert f"{service.port}" not in pages
    (worker,) = (worker for worker in served.server.service.workers.workers if worker.alive)
    assert TEACHER in os.environ.values()
    assert TEACHER.encode() not in Path(f"/proc/{worker.pid}/environ").read_bytes()


def test_a_notebook_has_the_same_file(elsewhere: Callable[..., StandIn], tmp_path: Path) -> None:
    """`rb.connect(models=…)`: the embedded service runs it elsewhere; a sweep asks for a budget, because it costs."""
    service = elsewhere()
    models = write_models(tmp_path, service.base_url)

    with rb.connect(models=models, library=tmp_path / "library") as client:
        run = client.run(rb.TextToVideo(prompt="a paper boat", num_frames=9, seed=7))
        again = client.run(rb.TextToVideo(prompt="a paper boat", num_frames=9, seed=7))
        with pytest.raises(ReelbookError, match="budget"):
            rb.sweep(rb.TextToVideo(prompt="a paper boat"), seed=range(2)).run()

    # Connected again without the file, the library's service is that of this machine, and pays nobody.
    with rb.connect(library=tmp_path / "library") as plain:
        plain.run(rb.TextToVideo(prompt="a paper boat", num_frames=9, resolution="480p", seed=7))

    assert run.credits == 53
    assert again.from_library
    assert len(service.charges) == 1
    assert (client.is_embedded, plain.is_embedded) == (False, True)


def test_a_cancellation_that_is_refused_elsewhere_is_refused_here(
    elsewhere: Callable[..., StandIn], gateway: Open
) -> None:
    """Too late there: the run goes on, and its owner gets what was paid for."""
    service = elsewhere(Fault(CANCEL, "another shape"), seconds=1.0)
    service.on("PUT", f"/{TEXT}/requests/r-0/cancel", Reply(200, {"success": False}))
    served = gateway(service.base_url)
    request_id = served.submitted(TEXT, text())
    until_accepted(service)

    answer = served.cancel(TEXT, request_id).json()
    final = served.finished(TEXT, request_id)

    assert answer == {"success": False, "status": "ALREADY_COMPLETED"}
    assert "error" not in final
    assert served.money(request_id)[-1] == ("settle", 53)


def test_a_cancelled_run_that_was_paid_for_is_asked_for_with_pauses(
    elsewhere: Callable[..., StandIn], gateway: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cancelled too late, and its result fails: it is asked for now and then, while another run is made."""
    monkeypatch.setattr(spec_decisions, "CANCEL_SECONDS", 0.2)
    monkeypatch.setattr(paid_run, "PAUSE_SECONDS", 5.0)
    monkeypatch.setattr("reelbook.transport.answers.RESULT_SECONDS", 0.1)
    monkeypatch.setattr("reelbook.transport.answers.RESULT_SECONDS", 0.1)
    service = elsewhere(Fault(RESULT, "503 page", seed=7), seconds=1.0)
    service.on("PUT", f"/{TEXT}/requests/r-0/cancel", Reply(200, {"success": False}))
    served = gateway(service.base_url)
    request_id = served.submitted(TEXT, text())
    until_accepted(service)

    served.cancel(TEXT, request_id)
    served.until("result cannot be fetched now", TEXT, request_id)
    ended(served, text(seed=8))

    logs = served.get(f"/{TEXT}/requests/{request_id}/status?logs=1").text
    assert logs.count("result cannot be fetched now") <= 3
    assert len(service.charges) == 2


def test_retention_ends_in_the_library_of_the_gateway_too(paid: Paid, serve: Serve, tmp_path: Path) -> None:
    """Clips and prompts of students are nowhere in its folder once they are older than files are kept; a lost one stays."""
    _, first = paid(Fault(RUN, "cut off", seed=9), estimates=True)
    secret = "a very private paper boat"
    for seed in (7, 8):
        ended(first, text(prompt=secret, seed=seed))
    ended(first, text(prompt="a lost boat", seed=9))
    library = first.server.service.settings.data / "hosted"
    first.server.stop()
    assert list((library / "media").rglob("*.mp4"))
    assert secret.encode() in (library / "accepted.jsonl").read_bytes()

    table = make_lane_table(read_models_file(tmp_path / "models.toml"))
    later = time.time() + 8 * 24 * 3600
    second = serve(
        accounts=students(), lanes=table, data=tmp_path / "gateway", clock=lambda: later, retention=7 * 24 * 3600.0
    )
    waiting = threading.Event()
    while list((library / "media").rglob("*.mp4")):
        waiting.wait(0.02)
    second.server.stop()

    assert [path.name for path in library.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()] == []
    (lost,) = rb.library(library).uncertain
    assert lost.what == "a lost boat"
    assert sum(rb.library(library).frame["credits"]) == 3 * 53


def test_the_board_and_the_report_say_how_the_paid_service_is(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Since when it is silent and how many runs wait, until it takes runs again; then what is left on its key."""
    monkeypatch.setattr(hosted_lane, "ACCOUNT_SECONDS", 0.05)
    port = bind_socket("127.0.0.1", 0)
    address = f"http://127.0.0.1:{port.getsockname()[1]}"
    table = make_lane_table(read_models_file(write_models(tmp_path, address)))
    served = serve(accounts=students(), lanes=table, data=tmp_path / "gateway", has_board=True)
    token = served.server.service.store.submit(read_board_token).result()
    served.http.get("/class/login", params={"token": token})
    waiting = threading.Event()

    def report() -> str:
        assert main(["class", "report", "--data", str(tmp_path / "gateway")]) == 0
        return capsys.readouterr().out

    while "has not answered since" not in served.http.get("/class").text:
        waiting.wait(0.05)  # Before anybody runs anything.
    request_id = served.submitted(TEXT, text(), "key-of-ana")  # At the catalog's price.
    ana = Served(served.server, served.http, "key-of-ana")
    ana.until(r"does not take the run now \(it does not answer\)", TEXT, request_id)
    assert re.search(r"The paid service 'paid' has not answered since \d\d:\d\d; 1 run waits.\n", report())

    server = Server(Settings(data=tmp_path / "late"), port)
    server.service.accounts.open([NewAccount("teacher", TEACHER, 1000)])
    with server:
        assert "error" not in served.finished(TEXT, request_id, "key-of-ana")
        while "947 credits left at the paid service" not in (page := served.http.get("/class").text):
            waiting.wait(0.05)
        assert "has not answered since" not in page
        assert "947 credits left at the paid service 'paid'.\n" in (said := report())
        assert "has not answered since" not in said
        served.server.stop()
