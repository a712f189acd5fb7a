"""Whatever is answered about a run that is paid for: it comes home or stays unfinished, and nothing is paid for it again.

The oracle is the charge log of a stand-in of the hosted service, which answers only what the specification shows. All runs
of a story are under way side by side, each with a fault of its own, because each of them is mostly waiting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from reelbook.errors import NotReady, RunCancelled, RunFailed
from reelbook.transport import answers
from tests.faults.standin import FOREIGN, KINDS, RESULT, STATUS, Fault, StandIn
from tests.faults.walker import hurry
from tests.support import deep
from tests.transport.variants import Reply

BOAT = rb.TextToVideo(prompt="a paper boat", num_frames=9, resolution="480p", aspect_ratio="1:1")
WHY = "The picture shows what it must not."
CODES = (
    *(400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 412, 413, 414, 415, 416, 417, 418, 421, 422),
    *(423, 424, 425, 426, 428, 429, 431, 451, 499, 500, 501, 502, 503, 504, 505, 507, 508, 511, 520, 522, 530),
)
PAGES = tuple(f"{code} page" for code in CODES)
BODIES = tuple(f"{code} {how}" for how in FOREIGN for code in (404, 422))
FOR_A_WHILE = tuple(
    f"{how} for a while"
    for how in ("404 page", "404 message", "404 detail", "403 page", "503 page", "welcome", "closed")
)

COMMON = {400, 401, 404, 410, 429, 500, 502}
RARE = {
    *(f"{code} page" for code in CODES if code not in COMMON),
    *(f"422 {how}" for how in FOREIGN if how not in ("detail", "gate")),
    *("404 detail", "404 gate", "404 text", "404 list", "404 plain", "another shape", "null", "a list", "reset"),
}
"""Answers that are like others; `make deep` alone tries them."""

PAUSED = ("429 page", "stale", "closed", "reset", "cut off", "garbage")
"""Here it is right to wait for the status: somebody asks for it, or nothing answers at all."""
NEVER_A_STATUS = tuple(kind for kind in (*PAGES, *KINDS) if kind not in PAUSED)
SERVED = tuple(sorted({"late", "huge", "of another"}))
"""What a result can be and still be the result."""


@pytest.fixture(scope="module")
def impatient() -> Iterator[None]:
    """The same rules in a shorter life."""
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch)
        yield


@dataclass(frozen=True)
class Told:
    """What became of one run: at first, and when it was wanted again after the fault was over."""

    first: str
    failure: Exception | None
    again: str
    film: bool
    charges: int


def told_of(folder: Path, faults: Mapping[str, Sequence[Fault]], **service: object) -> Mapping[str, Told]:
    """Each name is a run of its own with these faults; then all is calm, and each is wanted again in another session."""
    names = {name: number + 1 for number, name in enumerate(faults)}
    table = [fault_for(fault, names[name]) for name, some in faults.items() for fault in some]
    with StandIn(table, **service) as hosted:  # type: ignore[arg-type]
        with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=folder) as client:
            first = {name: client.start(BOAT.revised(seed=seed)) for name, seed in names.items()}
            ended = {name: run_to_its_end(run) for name, run in first.items()}
            before = hosted.paid
        hosted.calm()
        with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=folder) as client:
            later = {name: client.start(BOAT.revised(seed=seed)) for name, seed in names.items()}
            again = {name: run_to_its_end(run) for name, run in later.items()}
    assert set(before.values()) == {1}
    paid = {line["input"]["seed"]: 0 for line in hosted.charges}
    for line in hosted.charges:
        paid[line["input"]["seed"]] += 1
    return {
        name: Told(
            ended[name].status, ended[name].failure, again[name].status,
            again[name].status == "completed" and again[name].video.path.exists(), paid[seed],
        )
        for name, seed in names.items()
    }  # fmt: skip


def fault_for(fault: Fault, seed: int) -> Fault:
    return Fault(fault.at, fault.kind, fault.times, fault.seconds, seed, fault.share)


def run_to_its_end(run: rb.Run) -> rb.Run:
    try:
        return run.wait(60)
    except rb.ReelbookError:
        return run


def all_to_their_ends(client: rb.Client, seeds: Iterable[int]) -> list[rb.Run]:
    """The runs with these seeds, paid for one after another and waited for side by side."""
    return [run_to_its_end(run) for run in [client.start(BOAT.revised(seed=seed)) for seed in seeds]]


def without_rare(kinds: Sequence[str]) -> list[Any]:
    """All of them as parameters, of which `make test` leaves the rare ones out."""
    return [pytest.param(kind, marks=[pytest.mark.deep] if kind in RARE else []) for kind in kinds]


def wanted(request: pytest.FixtureRequest, fixture: str) -> list[str]:
    """The kinds of all tests of this session that use this fixture of the module."""
    found = (
        str(item.callspec.params["kind"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and fixture in item.fixturenames
    )
    return list(dict.fromkeys(found))


@pytest.fixture(scope="module")
def lasting(
    request: pytest.FixtureRequest, impatient: None, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Told]:
    """The result is answered so for as long as anybody asks in the first session."""
    kinds = wanted(request, "lasting")
    return told_of(tmp_path_factory.mktemp("lasting"), {kind: [Fault(RESULT, kind)] for kind in kinds})


@pytest.mark.parametrize("kind", without_rare([*PAGES, *BODIES, *KINDS]))
def test_no_page_at_the_result_makes_a_run_failed(lasting: Mapping[str, Told], kind: str) -> None:
    """Paid once: unfinished at first, with words that say so, and home as soon as the result can be had."""
    told = lasting[kind]

    assert told.charges == 1
    assert (told.again, told.film) == ("completed", True)
    if kind in SERVED:
        assert told.first == "completed"
    else:
        assert told.first == "unfinished"
        assert isinstance(told.failure, NotReady)
        assert "It is paid for" in str(told.failure)
        assert "fresh=True" in str(told.failure)


@pytest.fixture(scope="module")
def passing(
    request: pytest.FixtureRequest, impatient: None, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Told]:
    """Status and result are answered so for a while, and then as they are; or the status for ever."""
    kinds = wanted(request, "passing")
    for_a_while = {
        kind: [Fault(at, kind.removesuffix(" for a while"), seconds=0.8) for at in (STATUS, RESULT)]
        for kind in kinds
        if kind in FOR_A_WHILE
    }
    for_ever = {kind: [Fault(STATUS, kind)] for kind in kinds if kind in NEVER_A_STATUS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "RESULT_SECONDS", 10.0)
        patch.setattr(answers, "REFUSED_SECONDS", 10.0)
        return told_of(tmp_path_factory.mktemp("passing"), {**for_a_while, **for_ever})


@pytest.mark.parametrize(
    "kind", [*FOR_A_WHILE[::3], *deep(*((kind,) for kind in FOR_A_WHILE if kind not in FOR_A_WHILE[::3]))]
)
def test_what_passes_by_itself_is_waited_for(passing: Mapping[str, Told], kind: str) -> None:
    """404 and its like at status and result for a moment: the clip comes home in the same session, and is paid once."""
    assert (passing[kind].first, passing[kind].charges) == ("completed", 1)


@pytest.mark.parametrize("kind", without_rare(NEVER_A_STATUS))
def test_a_result_that_is_there_comes_home_whatever_the_status_says(passing: Mapping[str, Told], kind: str) -> None:
    """Nothing that can be read comes from the status, for ever: the result shows by itself that the run has ended."""
    assert (passing[kind].first, passing[kind].charges) == ("completed", 1)


OWN: Mapping[str, Reply | Mapping[str, object]] = {
    "in the status": {"error": WHY, "error_type": "engine_error"},
    "in the status, as an object": {"error": {"message": WHY, "code": 7}},
    "refused content": Reply(422, {"detail": WHY, "error_type": "content_policy_violation"}),
    "refused content with 403": Reply(403, {"detail": WHY, "error_type": "content_policy_violation"}),
    "a list": Reply(422, {"detail": [{"loc": ["body", "image_url"], "msg": WHY, "type": "value_error"}]}),
    "an error object": Reply(400, {"error": {"message": WHY, "code": "unsafe"}}),
    "a name of its own": Reply(400, {"detail": WHY, "error_type": "prompt_rejected"}),
    "the engine": Reply(500, {"detail": WHY, "error_type": "engine_error"}),
    "out of time": Reply(504, {"detail": WHY, "error_type": "engine_timeout"}),
}
"""The service's own words for a run that has failed."""


@pytest.mark.usefixtures("impatient")
def test_the_services_own_words_make_a_run_failed(tmp_path: Path) -> None:
    """The control of all this: what it says itself counts, and such a run is paid for again when it is wanted again."""
    ends = dict(enumerate(OWN.values(), 1))
    with StandIn(ends=ends) as hosted, rb.connect(hosted.base_url, api_key="a-key", library=tmp_path) as client:
        runs = all_to_their_ends(client, ends)
        found = {name: (type(run.failure), run.status) for name, run in zip(OWN, runs, strict=True)}
        hosted.ends.clear()
        again = [run.status for run in all_to_their_ends(client, ends)]

    assert found == dict.fromkeys(OWN, (RunFailed, "failed"))
    assert all(WHY in str(run.failure) for run in runs)
    assert again == ["completed"] * len(OWN)
    assert set(hosted.paid.values()) == {2}


@pytest.mark.usefixtures("impatient")
def test_a_cancelled_run_says_so_in_its_own_words_only(tmp_path: Path) -> None:
    """499 with the service's body is a cancellation; the page of a gateway that gave up is none."""
    ends = {1: Reply(499, {"detail": "It was cancelled.", "error_type": "cancelled"}), 2: Reply(499, b"")}
    with StandIn(ends=ends) as hosted, rb.connect(hosted.base_url, api_key="a-key", library=tmp_path) as client:
        runs = [run_to_its_end(client.start(BOAT.revised(seed=seed))) for seed in ends]

    assert isinstance(runs[0].failure, RunCancelled)
    assert [run.status for run in runs] == ["cancelled", "unfinished"]


@pytest.mark.usefixtures("impatient")
def test_a_request_that_the_service_forgets_is_not_paid_for_again(tmp_path: Path) -> None:
    """It says so in its own words, for good: known as expired, counted with its price, and paid anew only on demand."""
    gone = {"detail": "There is no such request.", "error_type": "not_found"}
    faults = [Fault(STATUS, "404 gone", seed=1), Fault(RESULT, "404 gone", seed=1)]
    with pytest.MonkeyPatch.context() as patch, StandIn(faults) as hosted:
        patch.setitem(FOREIGN, "gone", gone)
        patch.setattr(answers, "REFUSED_SECONDS", 0.3)
        boat = BOAT.revised(seed=1)
        with rb.connect(hosted.base_url, api_key="a-key", library=tmp_path) as client:
            runs = [run_to_its_end(client.start(boat)) for _ in range(3)]
            table = rb.library(tmp_path).frame
            charged = len(hosted.charges)
            hosted.calm()
            fresh = client.run(boat, fresh=True)
            last = client.run(boat)

    assert {run.request_id for run in runs} == {"r-0"}
    assert [run.status for run in runs] == ["unfinished"] * 3
    assert "does not know this run any more" in str(runs[2].failure)
    assert "fresh=True" in str(runs[2].failure)
    assert (table["status"].tolist(), table["credits"].tolist()) == (["unfinished"], [53])
    assert charged == 1
    assert (fresh.status, fresh.request_id, len(hosted.charges)) == ("completed", "r-1", 2)
    assert last.request_id == "r-1"


@pytest.mark.usefixtures("impatient")
def test_a_sweep_has_unfinished_runs_and_asks_for_them_before_it_pays_for_others(tmp_path: Path) -> None:
    """They keep their price reserved, and the same plan run again brings them home though its budget is used up."""
    faults = [Fault(RESULT, "410 page", seed=2), Fault(RESULT, "404 message", seed=3)]
    plan = rb.sweep(BOAT, seed=[1, 2, 3])
    with StandIn(faults) as hosted, rb.connect(hosted.base_url, api_key="a-key", library=tmp_path) as client:
        first = plan.run(budget=3 * 53, client=client)
        hosted.calm()
        again = plan.run(budget=3 * 53, client=client)

    assert first["status"].tolist() == ["completed", "unfinished", "unfinished"]
    assert first["credits"].tolist() == [53, 53, 53]
    assert again["status"].tolist() == ["completed"] * 3
    assert len(hosted.charges) == 3


ODD = {
    "dots": "..", "a dot": ".", "a way up": "../../account", "slashes": "a//b", "backslashes": "..\\x", "bidi": "r\u202e\u2066-1",
    "a line": "r\n1", "spaces": "  r 1  ", "a NUL": "r\0", "terminal": "r\x1b]0;x\x07", "long": "x" * 6_000, "quoted": "a%2Fb%", "query": "a?b#c&d",
    "unicode": "ид-日本-🎬", "markup": "<img src=x onerror=alert(1)>", "a number": 7, "nought": 0,
}  # fmt: skip
NO_ID = {"nothing": "", "blank": "   ", "null": None, "a list": ["r-1"], "true": True, "endless": "x" * 60_000}


@pytest.mark.usefixtures("impatient")
def test_an_odd_id_is_kept_as_it_is_and_asked_about_quoted(tmp_path: Path) -> None:
    """Paid once, home, and in the library under its own name; in another session too. What is shown of it harms nobody."""
    ids = list(ODD.values())
    unfinished = [Fault(RESULT, "410 page", seed=1 + number) for number in range(len(ids))]
    with StandIn(unfinished, ids=lambda number: ids[number]) as hosted:
        with rb.connect(hosted.base_url, api_key="a-key", library=tmp_path) as client:
            for number, first in enumerate(all_to_their_ends(client, range(1, 1 + len(ids)))):
                assert (first.status, first.request_id) == ("unfinished", str(ids[number]))
                shown = f"{first!r} {first.failure} {first.resume_hint}"
                assert shown.replace("\n", "").isprintable()
                assert len(shown) < 20_000
        hosted.calm()
        with rb.connect(hosted.base_url, api_key="a-key", library=tmp_path) as client:
            again = all_to_their_ends(client, range(1, 1 + len(ids)))
            attached = [client.attach(str(name), model=BOAT.endpoint_id) for name in ids if isinstance(name, str)]
        strange = [
            one.path for one in hosted.received if "/requests/" in one.path and one.path.count("/requests/") != 1
        ]

    assert [run.status for run in again] == ["completed"] * len(ids)
    assert [run.request_id for run in again] == [str(name) for name in ids]
    assert all(run.from_library for run in attached)
    assert len(hosted.charges) == len(ids)
    assert strange == []


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("kind", ["nothing", "null", "endless", *deep(("blank",), ("a list",), ("true",))])
def test_an_answer_without_a_usable_id_leaves_an_uncertain_run(tmp_path: Path, kind: str) -> None:
    """It may be paid for, and nobody can ask about it: that is said, and nothing is sent again by itself."""
    with (
        StandIn(ids=lambda number: NO_ID[kind]) as hosted,
        rb.connect(hosted.base_url, api_key="a-key", library=tmp_path) as client,
    ):
        for _ in range(2):
            with pytest.raises(rb.UncertainRun):
                client.run(BOAT.revised(seed=1))

    assert len(hosted.charges) == 1


@pytest.mark.deep
def test_the_rule_that_was_pays_twice_and_is_seen(
    impatient: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: were any refusal of a result a failure, the same oracle would show it."""
    monkeypatch.setattr(
        answers, "get_end_by_refusal", lambda request_id, error: RunFailed(request_id, str(error), None)
    )  # fmt: skip

    told = told_of(tmp_path, {kind: [Fault(RESULT, kind)] for kind in ("400 page", "405 page", "410 page", "411 page")})

    assert [one.charges for one in told.values()] == [2] * 4
