"""Runs of a form, started and watched without a page: each click pays once, and nothing that happens goes without words."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.current import Session
from reelbook.display.run_text import describe_run
from reelbook.display.update_clock import updater
from reelbook.errors import InvalidInput, Problem
from reelbook.models.base import Input
from reelbook.widgets.forms import run_cards, runs
from reelbook.widgets.forms.form import Form
from reelbook.widgets.forms.runs import ENDED, GOING, MAX_ENTRIES, SAME, TWICE, FormRuns
from tests.display.stand_in import StandIn
from tests.support import Served, png, read_charges
from tests.sweeps.dots import BOAT, PRICE, RUN, Scripted
from tests.transport.variants import Hosted, Reply

pytestmark = pytest.mark.usefixtures("quick_updates")

SHORT_SECONDS = 0.1
"""How often pages are told where that is measured."""
WAIT = 30.0
RunCard = dict[str, Any]


class Paper:
    """Stands in for a form: it has a value, and remembers what its page is told."""

    def __init__(self, start: Callable[[Input], Any], value: Input | Exception) -> None:
        self.session, self.start_run = Session(), start
        self.asked = value
        self.lock = threading.RLock()
        self.tellings: list[tuple[float, list[RunCard]]] = []
        self.sent: list[tuple[dict[str, Any], list[bytes]]] = []
        self.filled: list[Input] = []
        self._news = threading.Condition()
        self._threads: list[threading.Thread] = []
        self.running = FormRuns(cast(Any, self))

    @property
    def value(self) -> Input:
        if isinstance(self.asked, Exception):
            raise self.asked
        return self.asked

    @property
    def records(self) -> list[RunCard]:
        return self.tellings[-1][1] if self.tellings else []

    @records.setter
    def records(self, told: list[RunCard]) -> None:
        json.dumps(told, allow_nan=False)  # The page understands nothing else.
        with self._news:
            self.tellings.append((time.monotonic(), told))
            self._news.notify_all()

    def send(self, content: dict[str, Any], buffers: list[bytes] | None = None) -> None:
        json.dumps(content, allow_nan=False)
        with self._news:
            self.sent.append((content, [bytes(one) for one in buffers or []]))
            self._news.notify_all()

    def fill(self, value: Input) -> None:
        self.filled.append(value)

    def find_sweep_run(self, key: Any) -> None:
        """It has no sweeps."""

    def in_background(self, name: str, work: Callable[[], object]) -> None:
        thread = threading.Thread(target=work, name=f"form-{name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def press(self, do: str, **content: Any) -> None:
        """What the page sends."""
        self.running.handlers[do]({"do": do, **content}, [])

    def until(self, claim: Callable[[Paper], bool]) -> None:
        with self._news:
            assert self._news.wait_for(lambda: claim(self), WAIT), (self.records, self.sent)

    def run(self) -> RunCard:
        """Press Run and wait for the end of it."""
        self.press("run")
        self.until(lambda paper: bool(paper.records) and is_over(paper.records[0]))
        return self.records[0]

    def answer(self, key: str) -> tuple[dict[str, Any], list[bytes]]:
        """The first answer of this kind."""
        self.until(lambda paper: any(key in content for content, _ in paper.sent))
        return next(one for one in self.sent if key in one[0])

    def close(self) -> None:
        self.running.close()
        for thread in self._threads:
            thread.join(WAIT)
            assert not thread.is_alive()


def is_over(run: RunCard) -> bool:
    return run["status"] not in ("waiting", "running")


def stitch(speed: float) -> rb.ImagesToVideo:
    """Two pictures in a row: the quickest run there is, and a pure one."""
    return rb.ImagesToVideo(images=[png(16, 16), png(16, 16, "brown")], fps=speed)


def resize(prompt: str) -> rb.SmartResize:
    """The quickest run that gives another result each time, for it has no seed."""
    return rb.SmartResize(image_url=png(16, 16), target_sizes=["16x16"], prompt=prompt)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("running")


@pytest.fixture(scope="module")
def client(one_worker: None, folder: Path) -> Iterator[Client]:
    """A client of the embedded service, as a notebook has it."""
    with rb.connect(library=folder) as client:
        yield client


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Presses count at once, however quick they are."""
    monkeypatch.setattr(runs, "DOUBLE_SECONDS", 0.0)
    monkeypatch.setattr(runs, "RECENT_SECONDS", 0.0)


@pytest.fixture
def paper(client: Client) -> Iterator[Callable[..., Paper]]:
    """Makes forms that are closed with the test."""
    made: list[Paper] = []

    def make(value: Input | Exception, *, start: Callable[[Input], Any] = client.start) -> Paper:
        made.append(Paper(start, value))
        return made[-1]

    yield make
    for one in made:
        one.close()


def paid(folder: Path) -> list[str]:
    """The requests that the service has charged for."""
    logs = list(folder.rglob("service.sqlite3"))
    return [line["request_id"] for log in logs for line in read_charges(log.parent) if line["kind"] == "reserve"]


# One run.


def test_a_form_of_a_folder_of_a_hosted_service_says_so_before_it_makes_a_sketch(
    shared_spec_only: Served,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    at_once: None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Whoever forgets to connect after a restart gets no clip of the embedded service unasked, and its clips name it."""
    monkeypatch.setenv("REELBOOK_LIBRARY", str(tmp_path / "library"))
    host = shared_spec_only.base_url.removeprefix("http://")
    with rb.connect(shared_spec_only.base_url, api_key=shared_spec_only.key):
        form = rb.form(stitch(3))
        form._handle_custom_msg({"do": "run"}, [])
        until_over(form)
        hosted = form.records[0]
        form.close()
    forgetful = rb.form(stitch(4))

    forgetful._handle_custom_msg({"do": "run"}, [])
    until_over(forgetful)
    refused = forgetful.records[0]
    with forgetful.session.client():
        forgetful._handle_custom_msg({"do": "run"}, [])
        until_over(forgetful, 2)
        made = forgetful.runs[0]
        forgetful.close()

    assert refused["status"] == "failed"
    assert f"made by http://{host}" in refused["error"]
    assert "Press Run again" in refused["error"]
    assert any(f"rb.connect('http://{host}'" in record.message for record in caplog.records)
    assert any(host in fact for fact in hosted["facts"])
    assert ("made by", "embedded sketch, free") in describe_run(made).outputs
    assert forgetful.records[0]["facts"][-1] == "embedded sketch, free"


def until_over(form: Form, runs: int = 1) -> None:
    """Wait for the end of this many presses of Run."""
    news = threading.Event()
    form.observe(lambda _: news.set(), "records")
    deadline = time.monotonic() + WAIT
    while len(form.records) < runs or not is_over(form.records[0]):
        news.wait(0.05)
        news.clear()
        assert time.monotonic() < deadline, form.records


def test_a_click_runs_it_and_pays_once(paper: Callable[..., Paper], client: Client, folder: Path) -> None:
    """The entry goes from waiting to completed, with its files, its facts and what it cost; the account has paid that."""
    form = paper(stitch(1.0))
    before, charged = client.account()["credits_available"], len(paid(folder))

    run = form.run()

    assert (run["status"], run["mark"]) == ("completed", "●")
    assert run["facts"][-2:] == [f"{PRICE} credits", "embedded sketch, free"]
    assert run["files"][0]["kind"] == "video/mp4"
    assert (run["files"][0]["width"], run["files"][0]["height"]) == (16, 16)
    assert form.tellings[0][1][0]["status"] == "waiting"
    assert len(paid(folder)) == charged + 1
    assert client.account()["credits_available"] == before - PRICE
    assert form.running.runs[0].video.path.exists()


def test_a_click_never_blocks_the_kernel(paper: Callable[..., Paper], client: Client) -> None:
    """The message is handled before the service has answered, and the page is told meanwhile."""
    gate = threading.Event()

    def start(value: Input) -> Any:
        gate.wait(WAIT)
        return client.start(value)

    form = paper(stitch(2.0), start=start)

    form.press("run")
    form.until(lambda paper: bool(paper.records))
    meanwhile = form.records[0]
    gate.set()
    form.until(lambda paper: is_over(paper.records[0]))

    assert (meanwhile["status"], meanwhile["sending"], meanwhile["line"]) == ("waiting", True, run_cards.SENDING)
    assert meanwhile["can"] == ["use"]
    assert form.records[0]["status"] == "completed"


def test_two_clicks_while_it_is_being_sent_pay_once(
    paper: Callable[..., Paper], client: Client, folder: Path, at_once: None
) -> None:
    """Twenty clicks before the service has answered are one run; the page is told why nothing more happens."""
    gate = threading.Event()
    started: list[Input] = []

    def start(value: Input) -> Any:
        started.append(value)
        gate.wait(WAIT)
        return client.start(value)

    form = paper(resize("clicked often"), start=start)
    charged = len(paid(folder))

    for _ in range(20):
        form.press("run")
    gate.set()
    form.until(lambda paper: bool(paper.records) and is_over(paper.records[0]))

    assert len(started) == 1
    assert len(paid(folder)) == charged + 1
    assert len(form.records) == len(form.running.runs) == 1
    assert [content for content, _ in form.sent] == [{"said": TWICE}] * 19


def test_a_double_click_pays_once_also_where_the_service_is_quick(
    paper: Callable[..., Paper], client: Client, folder: Path
) -> None:
    """The service has the run before the second half of the click comes; it counts as one all the same."""
    form = paper(resize("clicked twice"))
    charged = len(paid(folder))

    form.press("run")
    form.until(lambda paper: bool(paper.running.runs) or bool(paper.sent))
    form.press("run")
    form.until(lambda paper: bool(paper.records) and is_over(paper.records[0]))

    assert len(paid(folder)) == charged + 1
    assert len(form.running.runs) == 1


def test_two_deliberate_clicks_pay_twice(paper: Callable[..., Paper], folder: Path, at_once: None) -> None:
    """Without a seed a second click wants a second clip: the guard against double clicks does not stop it."""
    form = paper(resize("wanted twice"))
    charged = len(paid(folder))

    form.run()
    form.press("run")
    form.until(lambda paper: len(paper.records) == 2 and all(map(is_over, paper.records)))

    assert len(paid(folder)) == charged + 2
    assert [run["key"] for run in form.records] == ["2", "1"]
    assert [run.take for run in form.running.runs] == [0, 1]


def test_a_press_while_one_runs_is_asked_about_and_paid_for_only_then(
    paper: Callable[..., Paper], client: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a seed: the page is told, with a number that the next press carries; each number starts one run."""
    monkeypatch.setattr(runs, "DOUBLE_SECONDS", 0.0)
    form = paper(rb.TextToVideo(prompt="under way", num_frames=1441, resolution="480p"))
    charged = len(paid(folder))

    form.press("run")
    form.until(lambda paper: bool(paper.running.runs))
    form.press("run")
    offer = form.answer("again")[0]
    form.press("run", again=offer["again"] + 7)
    assert len(paid(folder)) == charged + 1
    newest = form.sent[-1][0]
    form.press("run", again=newest["again"])
    form.until(lambda paper: len(paper.running.runs) == 2)
    form.press("run", again=newest["again"])

    assert offer == {"said": GOING, "again": 1}
    assert form.sent[-1][0]["said"] == GOING
    assert len(paid(folder)) == charged + 2
    for run in form.running.runs:
        run.cancel()
    form.until(lambda paper: all(map(is_over, paper.records)))


def test_a_press_just_after_the_end_is_asked_about(
    paper: Callable[..., Paper], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quick service is done before the second press comes, which was meant for the first run; a later one is not asked."""
    monkeypatch.setattr(runs, "DOUBLE_SECONDS", 0.0)
    form = paper(resize("ended just now"))
    form.run()
    charged = len(paid(folder))

    form.press("run")
    offered = form.answer("again")[0]
    monkeypatch.setattr(runs, "RECENT_SECONDS", 0.0)
    form.press("run")
    form.until(lambda paper: len(paper.records) == 2 and all(map(is_over, paper.records)))

    assert offered["said"] == ENDED
    assert len(paid(folder)) == charged + 1


def test_the_same_seed_is_not_sent_again_while_it_runs(
    paper: Callable[..., Paper], folder: Path, at_once: None
) -> None:
    """The result would be the same, so that no number is offered; other inputs run at once."""
    value = rb.TextToVideo(prompt="seeded", num_frames=1441, resolution="480p", seed=5)
    form = paper(value)
    charged = len(paid(folder))

    form.press("run")
    form.until(lambda paper: bool(paper.running.runs))
    form.press("run", again=1)
    form.asked = value.revised(seed=6)
    form.press("run")
    form.until(lambda paper: len(paper.running.runs) == 2)

    assert [content for content, _ in form.sent] == [{"said": SAME}]
    assert len(paid(folder)) == charged + 2
    for run in form.running.runs:
        run.cancel()
    form.until(lambda paper: all(map(is_over, paper.records)))


def test_a_held_key_never_pays_twice(paper: Callable[..., Paper], folder: Path) -> None:
    """Enter repeats thirty times a second, and takes no offer that nobody could have read."""
    form = paper(resize("held down"))
    charged = len(paid(folder))

    for _ in range(60):
        form.press("run", again=len(form.sent))
    form.until(lambda paper: bool(paper.records) and all(map(is_over, paper.records)))

    assert len(form.running.runs) == 1
    assert len(paid(folder)) == charged + 1
    assert {content["said"] for content, _ in form.sent} == {TWICE}


def test_several_run_at_once(paper: Callable[..., Paper], client: Client, at_once: None) -> None:
    """Other inputs do not wait for the first to be sent."""
    gate, started = threading.Event(), threading.Semaphore(0)

    def start(value: Input) -> Any:
        started.release()
        gate.wait(WAIT)
        return client.start(value)

    form = paper(stitch(3.0), start=start)

    form.press("run")
    form.asked = stitch(3.5)
    form.press("run")
    both = started.acquire(timeout=WAIT) and started.acquire(timeout=WAIT)
    gate.set()
    form.until(lambda paper: len(paper.records) == 2 and all(map(is_over, paper.records)))

    assert both
    assert {run["status"] for run in form.records} == {"completed"}


def test_what_the_library_has_is_shown_and_costs_nothing(
    paper: Callable[..., Paper], folder: Path, at_once: None
) -> None:
    """The same again is found: no charge, its own state, and one entry in place of two."""
    form = paper(stitch(4.0))
    form.run()
    charged = len(paid(folder))

    form.press("run")
    form.until(lambda paper: paper.records[0]["key"] == "2" and is_over(paper.records[0]))

    (run,) = form.records
    assert (run["status"], run["mark"]) == ("from library", "◉")
    assert run["line"].endswith("nothing paid now")
    assert len(paid(folder)) == charged


# What goes wrong.


def test_an_invalid_form_sends_nothing_and_says_why(paper: Callable[..., Paper], folder: Path) -> None:
    """The sentence names the field; there is no entry."""
    form = paper(InvalidInput("TextToVideo", [Problem(("prompt",), "`prompt` is missing.", "missing")]))
    charged = len(paid(folder))

    form.press("run")

    assert form.answer("said")[0] == {"said": "TextToVideo: `prompt` is missing."}
    assert (form.records, form.running.runs) == ([], ())
    assert len(paid(folder)) == charged


def test_a_run_that_fails_says_why_and_what_to_change(paper: Callable[..., Paper]) -> None:
    """State, kind, the service's reason, the field at fault, and that it was not charged."""
    form = paper(rb.TextToVideo(prompt="a beheading", num_frames=9, resolution="480p", seed=1))

    run = form.run()

    assert (run["status"], run["mark"]) == ("failed", "✕")
    assert run["line"].startswith("content policy violation")
    assert "'beheading'" in run["error"]
    assert run["blamed"][0][0] == "Prompt"
    assert run["advice"] == "Change Prompt and run it again."
    assert run["facts"] == ["not charged"]


def test_no_credits_is_an_entry_with_words(
    paper: Callable[..., Paper], shared: Served, tmp_path: Path, at_once: None
) -> None:
    """The service says no: the entry says so, and what to do; the next click tries again."""
    account = shared.with_own_account(PRICE - 1)
    with rb.connect(shared.base_url, api_key=account.key, library=tmp_path / "library") as poor:
        form = paper(stitch(1.0), start=poor.start)

        run = form.run()
        form.press("run")
        form.until(lambda paper: len(paper.records) == 2 and all(map(is_over, paper.records)))

    assert (run["status"], run["line"]) == ("failed", "not accepted")
    assert "Ask the people who run the service." in run["error"]
    assert account.charges() == []
    assert form.running.runs == ()


def test_nobody_there_is_an_entry_with_words(paper: Callable[..., Paper], tmp_path: Path, impatient: None) -> None:
    """Nothing answers: not sent, and nothing paid."""
    with Hosted() as hosted:
        address = hosted.base_url
    with rb.connect(address, api_key="a-key-of-this-test", library=tmp_path / "library") as lonely:
        form = paper(BOAT, start=lonely.start)

        run = form.run()

    assert (run["status"], run["line"]) == ("failed", "not sent")
    assert "Nothing was charged" in run["error"]


def test_a_lost_answer_is_uncertain_and_never_called_failed(paper: Callable[..., Paper], tmp_path: Path) -> None:
    """It may have been paid: it has a state of its own, its worst price, and the way to settle it."""
    with Hosted() as hosted:
        hosted.on("POST", RUN, Reply(fault="close"))
        with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path / "library") as unlucky:
            form = paper(BOAT, start=unlucky.start)

            run = form.run()

        sent = len(hosted.seen("POST", RUN))
    assert (run["status"], run["mark"]) == ("uncertain", "?")
    assert run["line"] == f"may have been paid · up to {PRICE} credits"
    assert "rb.library().uncertain" in run["error"]
    assert sent == 1


def test_a_fault_of_ours_is_told_too(paper: Callable[..., Paper]) -> None:
    """Whatever breaks, the click is answered; nothing is claimed about money that nobody knows."""

    def start(value: Input) -> Any:
        raise ZeroDivisionError

    run = paper(stitch(1.0), start=start).run()

    assert (run["status"], run["line"]) == ("failed", "")
    assert run["error"] == "Something unexpected happened (ZeroDivisionError)."


# While it runs.


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[tuple[Scripted, Client]]:
    """A service whose runs end when the test says so."""
    with Hosted() as hosted:
        scripted = Scripted(hosted)
        with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path / "library") as client:
            yield scripted, client
            scripted.end.set()


def test_a_run_is_cancelled_from_its_entry(paper: Callable[..., Paper], scripted: tuple[Scripted, Client]) -> None:
    """Two clicks ask the service once; the entry ends as cancelled."""
    service, client = scripted
    form = paper(BOAT, start=client.start)
    form.press("run")
    form.until(lambda paper: bool(paper.records) and "cancel" in paper.records[0]["can"])

    form.press("cancel", run="1")
    form.press("cancel", run="1")
    form.until(lambda paper: is_over(paper.records[0]))

    assert service.cancelled == ["r0"]
    assert (form.records[0]["status"], form.records[0]["mark"]) == ("cancelled", "⊘")
    assert "said" not in form.records[0]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(200, {"success": False}), "it continues"),
        (Reply(403, {"detail": "Not yours to stop"}), "Not yours to stop"),
    ],
)
def test_what_the_service_says_to_a_cancel_is_told(
    paper: Callable[..., Paper], scripted: tuple[Scripted, Client], reply: Reply, words: str
) -> None:
    """A refusal is words at the entry, which goes on and can be cancelled again."""
    service, client = scripted
    form = paper(BOAT, start=client.start)
    form.press("run")
    form.until(lambda paper: bool(paper.records) and "cancel" in paper.records[0]["can"])
    service.hosted.on("PUT", f"/{BOAT.endpoint_id}/requests/r0/cancel", reply)

    form.press("cancel", run="1")
    form.until(lambda paper: "said" in paper.records[0])
    told = form.records[0]
    service.end.set()
    form.until(lambda paper: is_over(paper.records[0]))

    assert words in told["said"]
    assert "cancel" in told["can"]
    assert form.records[0]["status"] == "completed"


def test_the_details_have_the_log(paper: Callable[..., Paper], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an endless log the last lines, each cut; the newest stands with the run."""
    monkeypatch.setattr(run_cards, "MAX_LINES", 3)
    one = StandIn(status="IN_PROGRESS", progress=(0.5, "x"), logs=["a", "<b>", "c" * 5000])
    form = paper(BOAT, start=lambda value: one)
    form.press("run")
    form.until(lambda paper: bool(paper.records) and "facts" in paper.records[0]["can"])

    form.press("facts", run="1")
    form.until(lambda paper: len(paper.sent) == 1)
    one.logs += ["d"]
    form.press("facts", run="1")
    form.until(lambda paper: len(paper.sent) == 2)
    one.status = "failed"

    first, second = (content["log"] for content, _ in form.sent)
    assert first == f"a\n<b>\n{'c' * 1000}"
    assert second == f"<b>\n{'c' * 1000}\nd"
    assert form.records[0]["log"].startswith("ccc")
    assert form.records[0]["lines"] == 3


# What came of it.


def test_its_inputs_come_back_into_the_form(paper: Callable[..., Paper], at_once: None) -> None:
    """Those of that run, whatever stands in the form now."""
    form = paper(stitch(5.0))
    form.run()
    form.asked = stitch(6.0)

    form.press("use", run="1")

    assert form.filled == [stitch(5.0)]


def test_it_tells_what_was_asked_and_answered(paper: Callable[..., Paper]) -> None:
    """The facts of the result, what the service made of the words, and the code that gets it again with the seed that was drawn."""
    form = paper(
        rb.TextToVideo(prompt="a kite", expand_prompt=True, num_frames=9, resolution="480p", aspect_ratio="1:1")
    )
    run = form.run()
    seed = form.running.runs[0].output.seed

    form.press("facts", run="1")
    told, _ = form.answer("facts")

    assert told["facts"] == "1"
    assert ["prompt", "a kite"] in [list(pair) for pair in told["asked"]]
    assert {"seed", "credits", "time", "model", "request"} <= {name for name, _ in told["answered"]}
    assert f"seed={seed}" in told["code"]
    assert run["facts"][0] == f"seed {seed}"
    assert run["expanded"] == form.running.runs[0].output.prompt != "a kite"
    assert run["lead"] == "a kite"
    assert run["whole"].startswith("a kite · seed")


SENSELESS: list[dict[str, Any]] = [
    {}, {"run": None}, {"run": 1}, {"run": ["1"]}, {"run": "2"}, {"run": {"key": "1"}}, {"want": 7}, {"want": ["1", -1]},
    {"want": ["1", True]}, {"want": ["1", 0, 9]}, {"want": ["1", "0"]}, {"want": [1, 0]}, {"want": ["1", 0, []]},
]  # fmt: skip


def test_a_message_that_makes_no_sense_does_nothing(paper: Callable[..., Paper]) -> None:
    """A page is data from outside: nothing is sent, filled, cancelled or raised."""
    one = StandIn(status="IN_PROGRESS", progress=(0.5, "x"), input=BOAT)
    form = paper(BOAT, start=lambda value: one)
    form.press("run")
    form.until(lambda paper: bool(paper.records) and "cancel" in paper.records[0]["can"])

    for content in SENSELESS:
        for do in ("want", "cancel", "use", "facts"):
            form.press(do, **content)
        assert [content, *(sent for sent, _ in form.sent if "words" not in sent)] == [content]
        assert form.filled == [], content
    one.status = "failed"


def test_the_page_keeps_the_newest_and_counts_the_others(paper: Callable[..., Paper], at_once: None) -> None:
    """Fifty and whatever still runs; Python has all of them."""
    first = BOAT.revised(seed=0)
    one = StandIn(status="IN_PROGRESS", progress=(0.5, "x"), request_id="r0", input=first)

    def start(value: Input) -> Any:
        return one if value == first else StandIn(status="failed", request_id=str(value), input=value)

    form = paper(BOAT, start=start)
    for number in range(MAX_ENTRIES + 10):
        form.asked = BOAT.revised(seed=number)
        form.press("run")
    form.until(lambda paper: len(paper.records) == MAX_ENTRIES and paper.records[0]["key"] == str(MAX_ENTRIES + 10))
    form.until(lambda paper: len(paper.running.runs) == MAX_ENTRIES + 10 and paper.records[-1]["key"] == "1")
    told = form.records
    one.status = "failed"

    assert told[-1]["key"] == "1"
    assert told[-1]["older"] == 10
    assert len(form.running.runs) == MAX_ENTRIES + 10


# The end.


def test_a_form_closed_while_it_sends_keeps_the_run_in_the_library(client: Client, folder: Path) -> None:
    """What is being paid for is not given up, and the page that is gone is not told."""
    gate, here = threading.Event(), threading.Event()
    done: list[Any] = []

    def start(value: Input) -> Any:
        here.set()
        gate.wait(WAIT)
        done.append(client.start(value))
        return done[0]

    form = Paper(start, stitch(10.0))
    form.press("run")
    assert here.wait(WAIT)
    form.running.close()
    told = len(form.tellings)
    gate.set()
    form.close()

    assert done[0].wait(WAIT).status == "completed"
    assert len(form.tellings) == told


def test_a_form_can_be_closed_by_who_follows_its_runs(client: Client) -> None:
    """In the middle of an update: neither the clock of all outputs nor the form waits for itself."""
    form = rb.form(stitch(21.0))
    closed = threading.Event()

    def follow(_: Any) -> None:
        form.close()
        closed.set()

    form.observe(follow, "records")
    form._handle_custom_msg({"do": "run"}, [])

    assert closed.wait(WAIT)
    updater.join(WAIT)
    assert form.lock.acquire(timeout=WAIT)
    form.lock.release()
    for thread in threading.enumerate():
        if thread.name == "reelbook-form-run":
            thread.join(WAIT)
    for run in form.runs:
        run.wait(WAIT)


def test_the_runs_of_a_form_are_runs(client: Client) -> None:
    """With their clips."""
    form = rb.form(stitch(22.0))
    started = threading.Event()
    form.observe(lambda _: started.set() if form.runs else None, "records")

    form._handle_custom_msg({"do": "run"}, [])

    assert started.wait(WAIT)
    assert isinstance(form.runs[-1], rb.Run)
    assert form.runs[-1].video.path.exists()
    form.close()


def test_nothing_is_sent_to_a_service_that_was_connected_after_the_press(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody connects between the press and its thread: nobody has seen what it costs there, and the entry says so."""
    with Hosted() as hosted:
        service, form = Scripted(hosted), rb.form(BOAT)
        others: list[Client] = []
        begun = form.in_background

        def late(name: str, function: Callable[[], None]) -> None:
            if name == "run":
                others.append(rb.connect(hosted.base_url, api_key="k", library=tmp_path))
            begun(name, function)

        monkeypatch.setattr(form, "in_background", late)
        told = threading.Event()
        form.observe(lambda change: told.set() if is_over(change["new"][0]) else None, "records")
        form._handle_custom_msg({"do": "run"}, [])
        assert told.wait(WAIT)
        others[0].close()
        form.close()

    assert service.sent == 0
    assert hosted.base_url in form.records[0]["error"]
    assert form.records[0]["error"].startswith("Nothing was sent. ")
