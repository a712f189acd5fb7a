"""Runs of a form without a browser: each click pays once, and nothing that happens goes without words."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.display.live import updater
from reelbook.models.base import Input
from reelbook.widgets.forms import runs
from reelbook.widgets.forms.runs import ENDED_NOW, GOING, MAX_ENTRIES, SAME, SENDING, TWICE
from tests.display.stand_in import StandIn
from tests.support import Served, png
from tests.sweeps.dots import PRICE, RUN, Scripted
from tests.transport.variants import Hosted, Reply
from tests.widgets.forms.bench import BOAT, WAIT, Bench, paid, resize, stitch

pytestmark = pytest.mark.usefixtures("quick_updates")


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


Open = Callable[..., Bench]


@pytest.fixture
def bench(client: Client) -> Iterator[Open]:
    """Opens forms that are closed with the test."""
    opened: list[Bench] = []

    def open_form(value: Input | type[Input], start: Callable[[Input], Any] | None = None) -> Bench:
        opened.append(Bench(value, start))
        return opened[-1]

    yield open_form
    for one in opened:
        one.close()


class Gate:
    """A service that answers when the test says so."""

    def __init__(self, client: Client) -> None:
        self.client, self.opens, self.asked = client, threading.Event(), list[Input]()

    def __call__(self, value: Input) -> Any:
        self.asked.append(value)
        assert self.opens.wait(WAIT)
        return self.client.start(value)


# First, because no client of another test may be open.


# A press.


def test_a_click_runs_it_and_pays_once(bench: Open, client: Client, folder: Path) -> None:
    """From waiting to completed; the card is what `display` shows of the run, and the account has paid its price."""
    form = bench(stitch(1.0))
    before, charged = client.account()["credits_available"], paid(folder)

    entry = form.run()

    assert (entry["status"], entry["mark"]) == ("completed", "●")
    assert "data-rb-figure" in form.card()
    assert f"{PRICE} credits" in form.card()
    assert "embedded sketch, free" in form.card()
    assert paid(folder) == charged + 1
    assert client.account()["credits_available"] == before - PRICE
    assert form.form.runs[-1].video.path.exists()
    assert isinstance(form.form.runs[-1], rb.Run)


def test_a_click_never_blocks_the_kernel(bench: Open, client: Client) -> None:
    """The message is handled before the service has answered, and the page hears of it meanwhile."""
    gate = Gate(client)
    form = bench(stitch(2.0), gate)

    form.press()
    form.until(lambda: form.entries)
    entry, card = form.entries[0], form.card()
    gate.opens.set()

    assert (entry["status"], entry["isSending"], entry["button"]) == ("waiting", True, "Sending …")
    assert SENDING in card
    assert form.ended()["status"] == "completed"


def test_a_form_that_is_busy_can_be_asked_what_runs(bench: Open) -> None:
    """The clock of all outputs asks while it holds a lock of its own, for which a press may wait: else both wait for ever."""
    form = bench(stitch(2.5)).form
    asker = threading.Thread(target=lambda: form.runs, daemon=True)

    with form.lock:
        asker.start()
        asker.join(WAIT)
        is_answered = not asker.is_alive()

    assert is_answered


@pytest.mark.parametrize("presses", [2, 20])
def test_clicks_while_it_is_being_sent_pay_once(bench: Open, client: Client, folder: Path, at_once: None, presses: int) -> None:  # fmt: skip
    """However many before the service has answered: one run, and the page hears why nothing more happens."""
    gate = Gate(client)
    form = bench(resize(f"clicked {presses} times"), gate)
    charged = paid(folder)

    for _ in range(presses):
        form.press()
    gate.opens.set()
    form.ended()

    assert len(gate.asked) == len(form.form.runs) == 1
    assert paid(folder) == charged + 1
    assert form.said() == [TWICE] * (presses - 1)


def test_a_double_click_and_a_held_key_pay_once(bench: Open, folder: Path) -> None:
    """Also where the service is quick; and a key that repeats takes no offer that nobody could have read."""
    form = bench(resize("clicked twice"))
    charged = paid(folder)

    form.press()
    form.until(lambda: form.form.runs or form.sent)
    for _ in range(60):
        form.press(again=len(form.sent))
    form.ended()

    assert paid(folder) == charged + 1
    assert len(form.form.runs) == 1
    assert set(form.said()) == {TWICE}


def test_two_deliberate_clicks_pay_twice(bench: Open, folder: Path, at_once: None) -> None:
    """Without a seed a second click wants a second clip."""
    form = bench(resize("wanted twice"))
    charged = paid(folder)

    form.run()
    form.run()

    assert paid(folder) == charged + 2
    assert [entry["key"] for entry in form.entries] == ["2", "1"]
    assert [run.take for run in form.form.runs] == [0, 1]


def test_a_press_while_one_runs_or_has_just_ended_is_asked_about(
    bench: Open, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a seed: the answer has a number that the next press carries; each number starts one run."""
    monkeypatch.setattr(runs, "DOUBLE_SECONDS", 0.0)
    form = bench(rb.TextToVideo(prompt="under way", num_frames=1441, resolution="480p"))
    charged = paid(folder)

    form.press()
    form.until(lambda: form.form.runs)
    form.press()
    form.press(again=form.answer("again")["again"] + 7)
    assert paid(folder) == charged + 1
    newest = form.sent[-1]["again"]
    form.press(again=newest)
    form.until(lambda: len(form.form.runs) == 2)
    form.press(again=newest)
    asked = form.said()
    for run in form.form.runs:
        run.cancel()
    form.ended(2)
    other = bench(resize("ended just now"))
    other.run()
    other.press()

    assert asked == [GOING] * 3
    assert paid(folder) == charged + 3
    assert other.said() == [ENDED_NOW]


def test_the_same_seed_is_not_sent_again_while_it_runs(bench: Open, folder: Path, at_once: None) -> None:
    """The result would be the same, so that no number is offered; other inputs run at once."""
    value = rb.TextToVideo(prompt="seeded", num_frames=1441, resolution="480p", seed=5)
    form = bench(value)
    charged = paid(folder)

    form.press()
    form.until(lambda: form.form.runs)
    form.press(again=1)
    form.form.fill(value.revised(seed=6))
    form.press()
    form.until(lambda: len(form.form.runs) == 2)

    assert form.said() == [SAME]
    assert paid(folder) == charged + 2
    for run in form.form.runs:
        run.cancel()
    form.ended(2)


def test_what_the_library_has_is_shown_and_costs_nothing(bench: Open, folder: Path, at_once: None) -> None:
    """The same again is found: an entry of its own, with its own state, and no charge."""
    form = bench(stitch(4.0))
    form.run()
    charged = paid(folder)

    form.press()
    form.until(lambda: form.entries[0]["key"] == "2" and form.entries[0]["isOver"])

    entry = form.entries[0]
    assert (entry["status"], entry["mark"]) == ("from library", "◉")
    assert "from library" in form.card()
    assert paid(folder) == charged


# What goes wrong.


def test_an_invalid_form_sends_nothing_and_says_why(bench: Open, folder: Path) -> None:
    """The sentence names the field; there is no entry."""
    form = bench(rb.TextToVideo)
    charged = paid(folder)

    form.press()

    assert "prompt" in form.said()[0]
    assert (form.entries, form.form.runs) == ([], ())
    assert paid(folder) == charged


def test_a_run_that_fails_says_why_and_what_to_change(bench: Open) -> None:
    """State, kind, the service's reason, the field at fault, and that it was not charged."""
    form = bench(rb.TextToVideo(prompt="a beheading", num_frames=9, resolution="480p", seed=1))

    entry, card = form.run(), form.card()

    assert (entry["status"], entry["mark"]) == ("failed", "✕")
    for words in ("content policy violation", "beheading", "not charged", "Change `prompt` and run it again"):
        assert words in card


def test_no_credits_is_an_entry_with_words(bench: Open, shared: Served, tmp_path: Path, at_once: None) -> None:
    """The service says no: the entry says so, and what to do; the next click tries again."""
    account = shared.with_own_account(PRICE - 1)
    with rb.connect(shared.base_url, api_key=account.key, library=tmp_path / "library") as poor:
        form = bench(stitch(1.0), poor.start)
        entry = form.run()
        form.run()

    assert entry["status"] == "failed"
    assert "not accepted" in form.card("1")
    assert "Ask the people who run the service." in form.card("1")
    assert account.charges() == []
    assert form.form.runs == ()


def test_nobody_there_is_an_entry_with_words(bench: Open, tmp_path: Path, impatient: None) -> None:
    """Nothing answers: not sent, and nothing paid."""
    with Hosted() as hosted:
        address = hosted.base_url
    with rb.connect(address, api_key="a-key-of-this-test", library=tmp_path / "library") as lonely:
        form = bench(BOAT, lonely.start)
        entry = form.run()

    assert entry["status"] == "failed"
    assert "not sent" in form.card()
    assert "Nothing was charged" in form.card()


def test_a_lost_answer_is_uncertain_and_never_called_failed(bench: Open, tmp_path: Path) -> None:
    """It may have been paid: it has a state of its own, its worst price, and the way to settle it."""
    with Hosted() as hosted:
        hosted.on("POST", RUN, Reply(fault="close"))
        with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path / "library") as unlucky:
            form = bench(BOAT, unlucky.start)
            entry = form.run()
        sent = len(hosted.seen("POST", RUN))

    assert (entry["status"], entry["mark"]) == ("uncertain", "?")
    assert f"may have been paid · up to {PRICE} credits" in form.card()
    assert "rb.library().uncertain" in form.card()
    assert sent == 1


def test_a_fault_of_ours_has_words_too(bench: Open) -> None:
    """Whatever breaks, the click is answered; nothing is claimed about money that nobody knows."""

    def start(value: Input) -> Any:
        raise ZeroDivisionError

    form = bench(stitch(1.0), start)

    assert form.run()["status"] == "failed"
    assert "Something unexpected happened (ZeroDivisionError)." in form.card()


# While it runs, and after.


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[tuple[Scripted, Client]]:
    """A service whose runs end when the test says so."""
    with Hosted() as hosted:
        scripted = Scripted(hosted)
        with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path / "library") as client:
            yield scripted, client
            scripted.end.set()


def test_a_run_is_cancelled_from_its_entry(bench: Open, scripted: tuple[Scripted, Client]) -> None:
    """Two clicks ask the service once; the entry ends as cancelled."""
    service, client = scripted
    form = bench(BOAT, client.start)
    form.press()
    form.until(lambda: "cancel" in form.actions())

    form.tell(do="act", run="1", what="cancel")
    form.tell(do="act", run="1", what="cancel")
    entry = form.ended()

    assert service.cancelled == ["r0"]
    assert (entry["status"], entry["mark"]) == ("cancelled", "⊘")
    assert "said" not in entry


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(200, {"success": False}), "it continues"),
        (Reply(403, {"detail": "Not yours to stop"}), "Not yours to stop"),
    ],
)
def test_a_refused_cancel_has_words(bench: Open, scripted: tuple[Scripted, Client], reply: Reply, words: str) -> None:
    """They stand at the entry, which goes on and can be cancelled again."""
    service, client = scripted
    form = bench(BOAT, client.start)
    form.press()
    form.until(lambda: "cancel" in form.actions())
    service.hosted.on("PUT", f"/{BOAT.endpoint_id}/requests/r0/cancel", reply)

    form.act("cancel")
    form.until(lambda: "said" in form.entries[0])
    entry, actions = form.entries[0], form.actions()
    service.end.set()

    assert words in entry["said"]
    assert "cancel" in actions
    assert form.ended()["status"] == "completed"


def test_its_inputs_and_its_frame_come_back_into_the_form(bench: Open, at_once: None) -> None:
    """Those of that run, whatever stands in the form now; and the frame that is displayed becomes the picture."""
    form = bench(resize("first"))
    form.run()
    form.form.fill(resize("second"))

    used = form.act("use", "1")
    form.form.edit("image_url", png(32, 32, "red"))
    framed = form.act("use_in", "1", model=rb.SmartResize.endpoint_id, frame=0, file=0)

    assert "inputs of this run" in used["words"]
    assert form.form.value.prompt == "first"
    assert "has this picture now" in framed["words"]
    assert form.form.value.image_url != resize("first").image_url
    assert form.entries[0]["uses"] == [[rb.SmartResize.endpoint_id, "Smart resize"]]


def test_a_card_and_its_file_come_when_they_are_asked_for(bench: Open) -> None:
    """A page that has come back has neither."""
    form = bench(stitch(7.0))
    entry = form.run()
    form.sent.clear()

    form.tell(do="show", run="1")
    card = form.answer("card")
    form.tell(want=[entry["file"], 0, 320])
    poster = form.answer("clip")

    assert card["card"] == "1"
    assert "data-rb-figure" in card["html"]
    assert poster["kind"] == "image/jpeg"


def test_a_message_that_makes_no_sense_does_nothing(bench: Open) -> None:
    """A page is data from outside: nothing is sent, filled, cancelled or raised."""
    going = StandIn(status="IN_PROGRESS", progress=(0.5, "x"), input=BOAT)
    form = bench(BOAT, lambda _: going)
    form.press()
    form.until(lambda: "cancel" in form.actions())
    form.sent.clear()
    odd: list[Any] = [
        {}, {"run": None}, {"run": 1}, {"run": ["1"]}, {"run": "2", "what": "cancel"}, {"run": "1", "what": "wait"}, {"run": "1", "what": 7},
        {"want": 7}, {"want": ["1", -1]}, {"want": [0, True]}, {"want": [0, 0, 9]}, {"want": ["1", "0"]}, {"want": [0, 0, []]},
    ]  # fmt: skip

    for content in odd:
        for do in ("act", "show", "want"):
            form.tell(do=do, **content)

    assert [content for content in form.sent if "card" not in content and "words" not in content] == []
    assert form.form.value == BOAT
    going.status = "failed"


def test_the_page_keeps_the_newest(bench: Open, at_once: None) -> None:
    """Twenty; Python has all of them."""

    def start(value: Input) -> Any:
        return StandIn(status="failed", request_id=str(value), input=value)

    form = bench(BOAT, start)
    for number in range(MAX_ENTRIES + 10):
        form.form.fill(BOAT.revised(seed=number))
        form.press()
    form.until(lambda: form.entries and form.entries[0]["key"] == str(MAX_ENTRIES + 10))
    form.until(lambda: len(form.form.runs) == MAX_ENTRIES + 10)

    assert len(form.entries) == MAX_ENTRIES
    assert form.entries[-1]["key"] == "11"


# Services, and the end.


def test_nothing_is_sent_to_a_service_that_was_connected_after_the_press(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody connects between the press and its thread: nobody has seen what it costs there, and the entry says so."""
    with Hosted() as hosted:
        service, form = Scripted(hosted), Bench(BOAT)
        others: list[Client] = []
        begun = form.form.in_background

        def late(name: str, function: Callable[[], None]) -> None:
            if name == "run":
                others.append(rb.connect(hosted.base_url, api_key="k", library=tmp_path))
            begun(name, function)

        monkeypatch.setattr(form.form, "in_background", late)
        form.run()
        others[0].close()
        form.close()

    assert service.sent == 0
    assert hosted.base_url in form.card()
    assert "Nothing was sent. " in form.card()


def test_a_form_closed_while_it_sends_keeps_the_run_in_the_library(client: Client, folder: Path) -> None:
    """What is being paid for is not given up, and the page that is gone hears nothing."""
    gate = Gate(client)
    form = Bench(stitch(10.0), gate)
    form.press()
    form.until(lambda: gate.asked and form.entries)
    form.form.close()
    charged = paid(folder)
    gate.opens.set()
    for thread in threading.enumerate():
        if thread.name == "reelbook-form-run":
            thread.join(WAIT)

    assert paid(folder) == charged + 1


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
