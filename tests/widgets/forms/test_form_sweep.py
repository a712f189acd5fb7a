"""Sweeps and races of a form without a browser: what is typed is judged, what is shown is what is paid, and no more."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.decide.race import score
from reelbook.display.live import updater
from reelbook.models.base import Input
from reelbook.models.described import describe
from reelbook.sweeps.plan import Plan
from reelbook.widgets.forms import planning, sweeps
from reelbook.widgets.forms.axes import MAX_VALUES, UnreadableValues, can_vary, parse_values, suggest_values
from reelbook.widgets.forms.planning import EYE, list_measures
from reelbook.widgets.forms.schema import get_sheet
from reelbook.widgets.forms.sweeps import CORRECT_VALUES, MAKING, STALE, TWICE
from tests.models.described_inputs import with_fields
from tests.support import Served, png
from tests.sweeps.dots import PRICE, Scripted
from tests.transport.variants import Hosted
from tests.widgets.forms.bench import BOAT, WAIT, Bench, paid
from tests.widgets.forms.described import KINDS

pytestmark = pytest.mark.usefixtures("quick_updates")

Open = Callable[..., Bench]


def dot(colour: str = "black", frames: int = 1) -> rb.ImagesToVideo:
    """The quickest clip there is."""
    return rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16, colour), frames=frames)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sweeping")


@pytest.fixture(scope="module")
def client(one_worker: None, folder: Path) -> Iterator[Client]:
    """A client of the embedded service, as a notebook has it."""
    with rb.connect(library=folder) as client:
        yield client


@pytest.fixture(autouse=True)
def _plans_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person who types would be waited for; here everything is typed at once."""
    monkeypatch.setattr(sweeps, "PAUSE_SECONDS", 0.01)


@pytest.fixture
def bench(client: Client) -> Iterator[Open]:
    opened: list[Bench] = []

    def open_form(value: Input | type[Input] = BOAT) -> Bench:
        opened.append(Bench(value))
        return opened[-1]

    yield open_form
    for one in opened:
        one.close()


def node(kind: type[Input], name: str) -> dict[str, Any]:
    return next(one for one in get_sheet(kind)["fields"] if one["name"] == name)


def preview(form: Bench) -> planning.PlanPreview:
    found = form.form._sweeping.preview
    assert found is not None
    return found


# What is typed.


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("0-7", [0, 1, 2, 3, 4, 5, 6, 7]), ("9–11", [9, 10, 11]),
        ("9, 49, 97", [9, 49, 97]), ("9;49\n97", [9, 49, 97]), ("9 49 97", [9, 49, 97]), (" 9 , ", [9]), ("", []), (" , ", []),
        ("9 to 33 step 8", [9, 17, 25, 33]), ("9 TO 33 STEP 12", [9, 21, 33]),
        ("3-0", [3, 2, 1, 0]), ("9 to 0 step 3", [9, 6, 3, 0]), ("-3--1", [-3, -2, -1]), ("−2 to 1", [-2, -1, 0, 1]),
        ("0.1 to 0.3 step 0.1", [0.1, 0.2, 0.3]), (".5, 1.50", [0.5, 1.5]), ("1e3, 2.5e-1", [1000, 0.25]), ("24.0", [24]), ("+5", [5]),
        ("9007199254740993", [9007199254740993]), ("1-2, 5, 8-9", [1, 2, 5, 8, 9]), ("7, 7", [7, 7]),
    ],
)  # fmt: skip
def test_numbers_are_read_as_people_write_them(typed: str, values: list[Any]) -> None:
    """Lists, ranges of many spellings, steps, fractions without rounding; whole numbers stay whole."""
    found = parse_values({"kind": "real"}, typed)

    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("abc", "“abc” is not a number"), ("range(4)", "is not a number"), ("0:8", "is not a number"), ("__import__('os')", "is not a number"),
        ("1,000", "and 1000 for a thousand"), ("0.1-0.9", "needs a step: 0.1 to 0.9 step 0.2"), ("1-5 step 0", "never end"),
        ("0-99999999", "makes 100,000,000 values"), ("1e9-9e99", "far too many"), ("nan", "is not a number"), ("inf", "is not a number"), ("5-", "is not a number"),
        ("9" * 5000, "is not a number"), ("٣", "is not a number"), ("1-10000, 1-10000", "makes 20,000 values"),
        ("1," * 10_001, "“1,1,1"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_told_in_words(typed: str, words: str) -> None:
    """Which piece, and how to write it; nothing is ever evaluated, and nothing large is ever made."""
    with pytest.raises(UnreadableValues) as found:
        parse_values({"kind": "whole"}, typed)

    assert words in str(found.value)


def test_steps_of_a_field_are_those_of_its_ranges() -> None:
    """A field of twentieths goes by twentieths."""
    assert parse_values({"kind": "real", "step": 0.05}, "0.5-0.6") == [0.5, 0.55, 0.6]


def test_lines_are_texts() -> None:
    """One text per line, whatever it is; chips are values."""
    assert parse_values({"kind": "text"}, "a boat\n\n  a kite, 7-9 ") == ["a boat", "a kite, 7-9"]
    assert parse_values({"kind": "image"}, "a.png\nhttps://example.org/b.png") == ["a.png", "https://example.org/b.png"]
    assert parse_values({"kind": "check"}, [True, False]) == [True, False]
    with pytest.raises(UnreadableValues, match="lines"):
        parse_values({"kind": "text"}, "a\n" * (MAX_VALUES + 1))


def test_each_field_begins_with_sensible_values(bench: Open) -> None:
    """Those it proposes are right by its own model; what has one value, or many inside, is not offered."""
    assert suggest_values(node(rb.TextToVideo, "seed"), 7) == "7-10"
    assert suggest_values(node(rb.TextToVideo, "resolution"), None) == ["480p", "720p"]
    assert suggest_values(node(rb.TextToVideo, "enable_detail_pass"), True) == [False, True]
    assert suggest_values(node(rb.TextToVideo, "num_frames"), 9) == "9"
    assert not can_vary({"kind": "constant", "value": 1})
    assert not can_vary(node(rb.TextToVideo, "loras"))
    for kind in ("scene_tree", "training_job", "voice_cloner"):
        for one in get_sheet(KINDS[kind])["fields"]:
            if can_vary(one):
                parse_values(one, suggest_values(one, None))

    boat = bench(BOAT.revised(seed=7))
    for name in [one["name"] for one in boat.form.sheet["fields"] if can_vary(one)]:
        (axis,) = boat.vary(**{name: ...})["axes"]
        assert (axis["empty"] or axis["told"] != "", axis["empty"] or axis["words"] == "") == (True, True), axis


# The plan.


def test_a_plan_is_that_of_rb_sweep(bench: Open) -> None:
    """Its card is what `display` shows of the same plan made in code, and the button costs what it costs."""
    form = bench()
    expected = rb.sweep(BOAT, seed=range(4), num_frames=[9, 17, 25])

    plan = form.vary(seed="0-3", num_frames="9 to 25 step 8")

    assert preview(form).plan == expected
    assert (plan["label"], plan["cost"], plan["spend"]) == ("Run 12 · 636 credits", 636, 636)
    assert "636 credits (exact)" in plan["html"]
    assert [axis["told"] for axis in plan["axes"]] == ["4 values: 0, 1, 2, 3", "3 values: 9, 17, 25"]
    assert (plan["ready"], plan["why"]) == (True, "No more than this is spent.")


def test_values_are_the_same_as_typed_into_the_form(bench: Open) -> None:
    """Each row asks for what a form asks for in which the value was typed: numbers, choices, checks, texts."""
    form = bench()
    axes: dict[str, Any] = {
        "seed": "9007199254740993", "resolution": ["720p"], "enable_detail_pass": [True], "negative_prompt": "grey\nblue sky",
        "temporal_adain_factor": "0.25",
    }  # fmt: skip
    form.vary(**axes)

    asked = [
        BOAT.revised(seed=9007199254740993, resolution="720p", enable_detail_pass=True, temporal_adain_factor=0.25, negative_prompt=words)
        for words in ("grey", "blue sky")
    ]  # fmt: skip
    assert [row.input for row in preview(form).plan] == asked


def test_what_is_wrong_has_words_beside_its_axis(bench: Open) -> None:
    """Which value, why, and the nearest that is right; without values there is a hint; no plan is made of either."""
    form = bench()

    told = form.vary(num_frames="9, 5, 2000", seed="")

    assert "Number of frames = 5 is outside 9 to 1441. The nearest allowed value is 9." in told["axes"][0]["words"]
    assert (told["axes"][1]["empty"], told["axes"][1]["words"]) == (True, "Give it at least one value.")
    assert ("number" in told, told["why"]) == (False, CORRECT_VALUES)
    assert "835,200,000 runs; a form plans 10,000 at most" in form.vary(seed="1-10000", num_frames="9-1400", frame_rate="1-60")["why"]  # fmt: skip


def test_what_does_not_go_together_cannot_run(bench: Open) -> None:
    """Values that are right alone and wrong together are counted, with the reason, and cost nothing."""
    told = bench().vary(second_pass_num_inference_steps="4, 8", second_pass_skip_initial_steps="2, 5")

    assert [axis["words"] for axis in told["axes"]] == ["", ""]
    assert "1 impossible" in told["html"]
    assert told["label"] == f"Run 3 · {3 * PRICE} credits"


def test_the_plan_follows_the_form(bench: Open) -> None:
    """A swept field need not be filled; another value makes another plan and price, and the old one cannot be run."""
    form = bench(rb.TextToVideo)
    assert form.vary(seed="1, 2")["why"] == "Correct the form first. Type a prompt."
    first = form.vary(prompt="a boat\na kite", seed="1, 2")
    form.form.edit("num_frames", 5)
    form.until(lambda: form.form.sweeps["why"].startswith("Correct the form first. Number of frames = 5"))
    form.form.edit("num_frames", 9)
    form.until(lambda: form.form.sweeps.get("number"))

    form.form.edit("enable_detail_pass", True)
    stopped = dict(form.form.sweeps)
    form.until(lambda: form.form.sweeps.get("cost") == 2 * first["cost"])
    form.tell(do="sweep_run", plan=first["number"], spend=first["spend"], cost=first["cost"])
    form.tell(do="sweep_run", plan=form.form.sweeps["number"], spend=first["spend"] * 2, cost=first["cost"])

    assert ("number" in stopped, stopped["why"]) == (False, MAKING)
    assert form.said("sweep_said") == [STALE, STALE]
    assert form.form.jobs == ()


def test_what_cannot_be_read_stops_a_sweep_of_another_field(bench: Open) -> None:
    """Half a JSON value would otherwise be sent as a text, and paid for."""
    form = bench(describe(with_fields({"note": {}, "size": {"type": "integer"}})))
    form.tell(do="edit", view="v", n=1, draft={"note": '{"half'})

    assert form.vary(size="1-3")["why"].startswith("Correct the form first. Note")


def test_the_newest_wins(bench: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a plan is being made others are asked for: the kernel never waits, and only the last of them is made and shown."""
    form = bench()
    gate, begun, made = threading.Event(), threading.Event(), list[int]()
    plan_of = rb.sweep

    def plan(request: Input, **axes: Any) -> Plan:
        begun.set()
        assert gate.wait(WAIT)
        made.append(len(axes["seed"]))
        return plan_of(request, **axes)

    monkeypatch.setattr(planning, "sweep", plan)
    for number in range(1, 51):
        form.tell(do="sweep", view="v", n=number, axes=[{"name": "seed", "typed": f"1-{number}"}])
        assert begun.wait(WAIT)
    form.tell(do="sweep", view="v", n=7, axes=[])
    gate.set()
    form.until(lambda: form.form.sweeps["why"] != MAKING)

    assert made == [1, 50]
    assert form.form.sweeps["label"].startswith("Run 50 · ")


def test_messages_without_sense_change_nothing(bench: Open) -> None:
    """Unknown fields, fields twice, numbers for texts, axes without end: nothing happens, and nothing breaks."""
    form = bench()
    before = form.vary(seed="1")
    odd: list[Any] = [
        [{"name": "nothing", "typed": "1"}], [{"name": "seed", "typed": "1"}] * 2, [{"name": "seed", "typed": 5}], "seed", None, [7],
        [{"name": f"{number}"} for number in range(1000)],
    ]  # fmt: skip

    for number, axes in enumerate(odd):
        form.tell(do="sweep", view="v", n=100 + number, axes=axes)
    form.tell(do="sweep_run", plan="1", spend=5)

    assert form.form.sweeps == before
    assert form.form.jobs == ()


# Money.


def test_what_is_shown_is_run_and_paid_once(bench: Open, client: Client, folder: Path) -> None:
    """Twenty presses start it once; the account has paid its price; table and panel are there."""
    form = bench(dot())
    number = form.vary(fps="1-4")["number"]
    charged, before = paid(folder), client.account()["credits_available"]

    for _ in range(20):
        form.tell(do="sweep_run", plan=number, spend=4 * PRICE, cost=4 * PRICE)
    entry = form.ended()
    form.until(lambda: form.form.sweeps.get("number", number) != number)

    assert form.said("sweep_said") == [TWICE] * 19
    assert list(form.form.jobs[-1].frame["status"]) == ["completed"] * 4
    assert len(form.form.jobs) == 1
    assert paid(folder) == charged + 4
    assert client.account()["credits_available"] == before - 4 * PRICE
    assert (entry["kind"], entry["status"], entry["mark"]) == ("sweep", "completed", "●")
    assert "4 of 4" in form.card()
    assert "data-rb-opens" in form.card()
    assert (form.form.sweeps["label"], form.form.sweeps["cost"]) == ("Show 4 from the library", 0)
    assert "all paid earlier; nothing now" in form.form.sweeps["html"]


def test_an_amount_is_for_what_is_paid_now(bench: Open, folder: Path) -> None:
    """What the library has does not count: with five runs open, an amount for two pays for two, and says where it stopped."""
    form = bench(dot("navy"))
    form.vary(fps="1-3")
    form.start()
    form.ended()
    offer = form.vary(fps="1-8", spend=2 * PRICE + 7)
    charged = paid(folder)

    form.start()
    entry = form.ended(2)

    assert offer["label"] == f"Run 2 of 5 · {2 * PRICE} credits"
    assert offer["why"].startswith(f"Enough for 2 of 5 runs. All of them need {5 * PRICE} credits")
    assert paid(folder) == charged + 2
    assert entry["status"] == "stopped"
    assert "Stopped" in form.card()
    assert sorted(form.form.jobs[-1].frame["status"]) == ["completed"] * 5 + ["not started"] * 3


def test_nothing_to_spend_shows_what_the_library_has_or_says_what_is_missing(bench: Open, folder: Path) -> None:
    """With 0 credits a plan of which nothing is paid for starts nothing, in words; another one shows what is there."""
    form = bench(dot("olive"))
    form.vary(fps="1-2", spend=0)
    charged = paid(folder)

    form.start()
    nothing = form.form.jobs
    form.start(2 * PRICE)
    form.ended()
    offer = form.vary(fps="1-3", spend=0)
    form.start()
    form.ended(2)

    assert form.said("sweep_said")[0] == f"Enough for none of 2 runs. All of them need {2 * PRICE} credits."
    assert nothing == ()
    assert offer["label"] == "Show 2 from the library"
    assert sorted(form.form.jobs[-1].frame["status"]) == ["completed", "completed", "not started"]
    assert paid(folder) == charged + 2


@pytest.mark.parametrize("spend", [None, -1, 1.5, "many", 10**16, True])
def test_an_amount_that_is_none_pays_nothing(bench: Open, spend: Any) -> None:
    """It is not what stands on the page; nothing was started."""
    form = bench(dot())
    plan = form.vary(fps="5-6")

    form.tell(do="sweep_run", plan=plan["number"], spend=spend, cost=plan["cost"])

    assert form.said("sweep_said") == [STALE]
    assert form.form.jobs == ()


def test_no_press_spends_more_than_the_account_has(shared: Served, tmp_path: Path) -> None:
    """A mistyped range is shown with what the account pays for, and that is paid, and no more."""
    served = shared.with_own_account(2 * PRICE + 7)
    with rb.connect(served.base_url, api_key=served.key, library=tmp_path / "library"):
        form = Bench(BOAT)
        offer = form.vary(seed="0-99")
        form.start()
        entry = form.ended()
        form.close()

    assert offer["label"] == f"Run 2 of 100 · {2 * PRICE} credits"
    assert offer["why"] == f"Your account has {2 * PRICE + 7} credits: enough for 2 of 100 runs."
    assert entry["status"] == "stopped"
    assert [line["credits"] for line in served.charges() if line["kind"] == "reserve"] == [PRICE, PRICE]


def test_where_nobody_knows_the_price_nothing_starts(bench: Open) -> None:
    """A described model without a price: no amount limits it, and the words lead to code."""
    form = bench(KINDS["upscaler"])
    form.form.edit("factor", form.form.node("factor")["choices"][0]["value"])

    told = form.vary(image_url="https://example.org/a.png\nhttps://example.org/b.png")
    form.start()

    assert "price unknown" in told["html"]
    assert not told["ready"]
    assert "In code, price=… says the most that one may cost." in form.said("sweep_said")[0]
    assert form.form.jobs == ()


def test_nothing_is_started_at_a_service_whose_price_nobody_has_seen(tmp_path: Path) -> None:
    """A plan, and a form, were priced here; somebody connects to a hosted service; the press pays nothing, and says why."""
    with Hosted() as hosted, rb.connect(library=tmp_path / "here"):
        scripted, form = Scripted(hosted), Bench(BOAT)
        form.vary(seed="0-3")
        number, spend = form.form.sweeps["number"], form.form.sweeps["spend"]
        with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path / "there"):
            form.tell(do="sweep_run", plan=number, spend=spend, cost=spend)
            form.press()
            refused = form.said("sweep_said"), form.said()
            scripted.end.set()
            # Now the price of the other service stands there, and a press means it.
            form.press()
            form.until(lambda: form.form.runs)
            form.form.runs[0].wait(WAIT)
        sent = scripted.sent
        form.close()

    assert refused[0] == [STALE]
    assert hosted.base_url in refused[1][0]
    assert sent == 1


def test_nothing_is_started_at_a_service_that_was_connected_after_the_press(
    bench: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody connects between the press and its thread: nothing is paid where nobody has seen the price."""
    form = bench()
    form.vary(seed="0-3")
    begun, others = form.form.in_background, list[Client]()
    with Hosted() as hosted:
        service = Scripted(hosted)

        def late(name: str, function: Callable[[], None]) -> None:
            if name == "sweep":
                others.append(rb.connect(hosted.base_url, api_key="k", library=tmp_path))
            begun(name, function)

        monkeypatch.setattr(form.form, "in_background", late)
        form.start()
        form.ended()
        others[0].close()

    assert service.sent == 0
    assert hosted.base_url in form.card()
    assert form.form.jobs == ()


def test_a_sweep_is_paused_resumed_and_cancelled(tmp_path: Path) -> None:
    """Each button does what it says, and is there where it is of use."""
    with Hosted() as hosted, rb.connect(hosted.base_url, api_key="k", library=tmp_path / "library"):
        service, form = Scripted(hosted), Bench(BOAT)
        form.vary(seed="1-30")
        form.start()
        form.until(lambda: "pause" in form.actions())
        for what, *next_actions in (("pause", "resume", "cancel"), ("resume", "pause", "cancel"), ("cancel",)):
            form.act(what)
            form.offers(*next_actions)
        service.end.set()
        entry = form.ended()
        form.close()

    assert service.sent < 30
    assert entry["status"] == "stopped"


def test_a_start_that_fails_is_an_entry_with_words(bench: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words stand on its card; no job is counted; and a plan that cannot be made says why."""
    form = bench(dot())
    form.vary(fps="7-8")

    def fail(*_: Any, **__: Any) -> Any:
        raise rb.errors.ReelbookError("The account has no credits.")

    monkeypatch.setattr(Plan, "start", fail)
    form.start()
    entry = form.ended()
    monkeypatch.setattr(planning, "sweep", fail)

    assert entry["status"] == "failed"
    assert "Nothing was started. The account has no credits." in form.card()
    assert form.form.jobs == ()
    assert form.vary(fps="7-9")["why"] == "The account has no credits."


# Races.


def test_the_best_is_offered_where_something_is_to_be_decided(bench: Open) -> None:
    """Seeds and prompts repeat a setting, so that alone they offer none; two settings do, at most for the amount."""
    form = bench()
    assert "best" not in form.vary(seed="0-3")

    plan = form.vary(seed="0-3", num_frames="9, 17")
    assert plan["best"] == f"Find the best · at most {8 * PRICE} credits"
    assert {"sharpness", "motion", "-motion", "-bytes"} <= {one["value"] for one in plan["measures"]}
    assert form.vary(seed="0-3", num_frames="9, 17", spend=200)["best"].endswith("at most 200 credits")

    picture = rb.SmartResize(image_url=png(16, 16), target_sizes=["64x64"])
    assert not {"motion", "duration", "loop_closure"} & {measure["value"] for measure in list_measures(picture)}


def test_a_race_spends_no_more_than_was_agreed_and_fills_the_form(bench: Open) -> None:
    """The amount is what is spent from now on, besides what was paid before; the end names the best, and gives its values."""
    form = bench(dot(frames=2))
    form.vary(fps="2, 3")
    form.start()
    form.ended()
    form.vary(fps="2-9")
    spend = 2 * PRICE

    form.start(spend, by="-bytes")
    form.start(by="-bytes")
    entry = form.ended(2)
    used = form.act("best")

    (race,) = form.form.races
    assert form.said("sweep_said") == [TWICE]
    assert (entry["kind"], entry["status"] in ("decided", "undecided")) == ("race", True)
    assert 0 < race.progress.spent_now <= spend
    assert used["words"] == "The form has these values now."
    assert form.form.value == race.best
    assert len(form.form.jobs) == 1


def test_a_press_that_fits_nothing_starts_no_race(bench: Open) -> None:
    """An unknown measure, another plan's number, too little money: nothing is sent, in words."""
    form = bench()
    form.vary(seed="30-31", num_frames="9, 17")
    form.start(by="beauty")
    form.tell(do="sweep_run", plan=-1, spend=200, cost=200, by="sharpness")
    form.start(60, by="sharpness")
    form.ended()

    assert form.said("sweep_said") == [STALE, STALE]
    assert "Nothing was started." in form.card()
    assert form.form.races == ()


def test_a_race_is_stopped_from_the_page(bench: Open) -> None:
    """Cancel sends nothing more, once; the entry says that it is over."""
    form = bench()
    form.vary(seed="40-49", num_frames="9, 17")
    form.start(1_000, by="sharpness")
    form.offers("cancel")

    form.tell(do="act", run=form.entries[0]["key"], what="pause")
    form.act("cancel")

    assert "cancel" not in [name for name, _, _ in form.ended()["actions"]]
    assert len(form.form.races[0].table) < 20


def test_a_race_by_eye_brings_its_judge_to_the_page(bench: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """The panel is sent when there are clips, again for a page that comes back, and goes at the end; elsewhere it is not offered."""
    form = bench(dot("teal", frames=2))
    assert EYE not in [measure["value"] for measure in list_measures(form.form.checked())]
    monkeypatch.setenv("JPY_SESSION_NAME", "a notebook")
    monkeypatch.setattr(score, "POLL_SECONDS", 0.02)
    form.vary(fps="2, 3")

    form.start(by="eye")
    html = form.answer("judge")["html"]
    form.until(lambda: form.entries)
    form.sent.clear()
    form.tell(do="show", run=form.entries[0]["key"])
    again = form.answer("judge")["html"]
    (race,) = form.form.races
    pair = race.ratings.next_pair()
    race.ratings.judge(pair.left, pair.right, "left")
    form.ended()
    form.until(lambda: any(content.get("judge") and content["html"] == "" for content in form.sent))

    assert "data-rb-judge" in html
    assert again == html


# The end.


def test_closing_leaves_nothing_and_cancels_nothing(client: Client) -> None:
    """The job goes on to its end; of the form no thread, no clock and no object stays, planned, run or neither."""
    updater.join(WAIT)
    ipywidgets.Widget.close_all()
    threads = set(threading.enumerate())
    jobs, kept = [], list[weakref.ref[Any]]()
    for colour in ("red", "green"):
        form = Bench(dot(colour))
        form.vary(fps="1-3")
        form.start()
        form.until(partial(getattr, form.form, "jobs"))
        jobs.append(form.form.jobs[0])
        form.tell(do="sweep", view="v", n=2, axes=[{"name": "fps", "typed": "1-4"}])
        form.close()
        kept += [weakref.ref(form.form), weakref.ref(form.form._sweeping)]
        del form

    tables = [job.wait(WAIT) for job in jobs]
    updater.join(WAIT)
    for thread in set(threading.enumerate()) - threads:
        if thread.name.startswith("reelbook-form"):
            thread.join(WAIT)
            assert not thread.is_alive()
    gc.collect()

    assert [list(table["status"]) for table in tables] == [["completed"] * 3] * 2
    assert [dead() for dead in kept] == [None] * 4
    assert not any(thread.name == "reelbook-progress" for thread in threading.enumerate())
