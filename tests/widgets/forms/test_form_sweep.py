"""Sweeps of a form, planned and run without a page: what is typed is judged, what is shown is what is paid, and no more."""

from __future__ import annotations

import base64
import gc
import io
import json
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ipywidgets
import pytest
from PIL import Image

import reelbook as rb
from reelbook.client import Client
from reelbook.display.input_code import format_sweep_code
from reelbook.display.update_clock import updater
from reelbook.models.base import Input
from reelbook.sweeps.plan import Plan
from reelbook.widgets.forms import planning
from reelbook.widgets.forms.axes import (
    MAX_VALUES,
    UnreadableValues,
    can_vary,
    parse_values,
    suggest_values,
)
from reelbook.widgets.forms.form import Form
from reelbook.widgets.forms.planning import CORRECT_VALUES, MAKING
from reelbook.widgets.forms.schema import get_sheet
from reelbook.widgets.forms.sweeps import STALE, TWICE
from tests.support import png, read_charges
from tests.sweeps.dots import PRICE, Scripted
from tests.transport.variants import Hosted
from tests.widgets.forms.described import KINDS

pytestmark = pytest.mark.usefixtures("quick_updates")

WAIT = 30.0
DOT = rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16), frames=1)])
BOAT = rb.TextToVideo(prompt="a paper boat", num_frames=9, resolution="480p")


class Bench:
    """A form, and a page that sends what a page sends and waits for what the kernel tells."""

    def __init__(self, value: Input | type[Input]) -> None:
        self.form = rb.form(value)
        self.sent: list[tuple[dict[str, Any], list[bytes]]] = []
        self._number = 0
        self._news = threading.Condition()
        self.form.observe(self._heard, ["sweeps", "records"])
        self.form.send = self._send  # type: ignore[method-assign]

    def _send(self, content: dict[str, Any], buffers: Any = None) -> None:
        json.dumps(content, allow_nan=False)
        with self._news:
            self.sent.append((content, [bytes(one) for one in buffers or []]))
            self._news.notify_all()

    def _heard(self, _: Any) -> None:
        json.dumps(self.form.sweeps, allow_nan=False)
        with self._news:
            self._news.notify_all()

    def tell(self, **content: Any) -> None:
        """What the page sends, as JSON and back, as it travels."""
        self.form._handle_custom_msg(json.loads(json.dumps(content)), [])

    def until(self, claim: Callable[[], Any]) -> None:
        with self._news:
            assert self._news.wait_for(lambda: bool(claim()), WAIT), (self.form.sweeps, self.sent)

    def vary(self, **axes: Any) -> dict[str, Any]:
        """Type these axes, and wait for what there is to say about them."""
        self._number += 1
        listed = [{"name": name, **({} if typed is ... else {"typed": typed})} for name, typed in axes.items()]
        self.tell(do="sweep", view="v", n=self._number, axes=listed)
        self.until(self.is_answered)
        return dict(self.form.sweeps)

    def is_answered(self) -> bool:
        told = self.form.sweeps
        return bool(told["n"] == self._number and told["why"] != MAKING)

    @property
    def plan(self) -> dict[str, Any]:
        return dict(self.form.sweeps["plan"])

    def run(self, spend: int | None = None, **more: Any) -> None:
        self.tell(do="sweep_run", plan=self.plan["number"], spend=self.plan["due"] if spend is None else spend, **more)

    def done(self) -> dict[str, Any]:
        """Wait for the end of the newest sweep, and give what the page has of it."""
        self.until(lambda: self.form.sweeps["jobs"] and self.form.sweeps["jobs"][0]["over"])
        return dict(self.form.sweeps["jobs"][0])

    def answer(self, key: str) -> tuple[dict[str, Any], list[bytes]]:
        self.until(lambda: any(key in content for content, _ in self.sent))
        return next(one for one in self.sent if key in one[0])


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
    monkeypatch.setattr(planning, "PAUSE_SECONDS", 0.01)


@pytest.fixture
def bench(client: Client) -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(value: Input | type[Input] = BOAT) -> Bench:
        made.append(Bench(value))
        return made[-1]

    yield make
    for one in made:
        one.form.close()


def paid(folder: Path) -> list[str]:
    """The requests that the service has charged for."""
    logs = list(folder.rglob("service.sqlite3"))
    return [line["request_id"] for log in logs for line in read_charges(log.parent) if line["kind"] == "reserve"]


def node(kind: type[Input], name: str) -> dict[str, Any]:
    return next(one for one in get_sheet(kind)["fields"] if one["name"] == name)


# What is typed.


@pytest.mark.parametrize(
    ("typed", "values"),
    [
        ("0-7", [0, 1, 2, 3, 4, 5, 6, 7]), ("0..3", [0, 1, 2, 3]), ("0...3", [0, 1, 2, 3]), ("0…3", [0, 1, 2, 3]), ("9–11", [9, 10, 11]),
        ("9, 49, 97", [9, 49, 97]), ("9;49\n97", [9, 49, 97]), ("9 49 97", [9, 49, 97]), (" 9 , ", [9]), ("", []), (" , ", []),
        ("9 to 33 step 8", [9, 17, 25, 33]), ("9 to 33, step 8", [9, 17, 25, 33]), ("9-33 by 12", [9, 21, 33]), ("9 TO 33 in steps of 12", [9, 21, 33]),
        ("0 to 10 every 4", [0, 4, 8]), ("3-0", [3, 2, 1, 0]), ("9 to 0 step 3", [9, 6, 3, 0]), ("-3--1", [-3, -2, -1]), ("−2 to 1", [-2, -1, 0, 1]),
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
        ("1,000", "Write 1000 for a thousand"), ("0.1-0.9", "needs a step: 0.1 to 0.9 step 0.2"), ("1-5 step 0", "never end"),
        ("0-99999999", "makes 100,000,000 values"), ("1e9-9e99", "far too many"), ("nan", "is not a number"), ("inf", "is not a number"), ("5-", "is not a number"),
        ("9" * 5000, "too long"), ("٣", "is not a number"), ("1-10000, 1-10000", "makes 20,000 values"),
        ("1," * 10_001, "“1,1,1"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_told_in_words(typed: str, words: str) -> None:
    """Which piece, and how to write it; nothing is ever evaluated, and nothing large is ever made."""
    with pytest.raises(UnreadableValues) as found:
        parse_values({"kind": "whole"}, typed)

    assert words in str(found.value)


def test_what_is_no_json_is_told_as_what_it_is() -> None:
    """A word that some write for a number is not called too long."""
    with pytest.raises(UnreadableValues, match="NaN is not a number there"):
        parse_values({"kind": "json"}, "NaN")
    with pytest.raises(UnreadableValues, match="too long or too deep"):
        parse_values({"kind": "json"}, "[" * 100_000)


def test_steps_of_a_field_are_those_of_its_ranges() -> None:
    """A field of twentieths goes by twentieths."""
    assert parse_values({"kind": "real", "step": 0.05}, "0.5-0.6") == [0.5, 0.55, 0.6]


def test_lines_are_texts_or_json() -> None:
    """One text or one JSON value per line; a list may be written without its brackets where it has one entry."""
    images, sizes = node(rb.ImagesToVideo, "images"), node(rb.SmartResize, "target_sizes")

    assert parse_values({"kind": "text"}, "a boat\n\n  a kite, 7-9 ") == ["a boat", "a kite, 7-9"]
    assert parse_values({"kind": "image"}, "a.png\nhttps://example.org/b.png") == ["a.png", "https://example.org/b.png"]
    assert parse_values(images, '["a.png", {"url": "b.png", "frames": 2}]\nc.png') == [["a.png", {"url": "b.png", "frames": 2}], ["c.png"]]  # fmt: skip
    assert parse_values(sizes, "300x250, 728x90\n1024x1024") == [["300x250", "728x90"], ["1024x1024"]]
    assert parse_values({"kind": "json"}, '{"a": 12345678901234567890}') == ['{"a": 12345678901234567890}']
    assert parse_values({"kind": "check"}, "yes\nno") == [True, False]
    with pytest.raises(UnreadableValues, match="is not JSON"):
        parse_values(images, "[1,")
    with pytest.raises(UnreadableValues, match="is not JSON"):
        parse_values({"kind": "json"}, "NaN")
    with pytest.raises(UnreadableValues, match="too deep"):
        parse_values({"kind": "json"}, "[" * 100_000)
    with pytest.raises(UnreadableValues, match="lines"):
        parse_values({"kind": "text"}, "a\n" * (MAX_VALUES + 1))


def test_each_field_begins_with_sensible_values(bench: Callable[..., Bench]) -> None:
    """Those it proposes are right by its own model, of four models and of described ones; what has one value is not offered."""
    assert suggest_values(node(rb.TextToVideo, "seed"), 7) == "7-10"
    assert suggest_values(node(rb.TextToVideo, "resolution"), None) == ["480p", "720p"]
    assert suggest_values(node(rb.TextToVideo, "enable_detail_pass"), True) == [False, True]
    assert suggest_values(node(rb.TextToVideo, "num_frames"), 9) == "9, 18"
    assert not can_vary({"kind": "constant", "value": 1})

    boat = bench(BOAT.revised(seed=7))
    names = [one["name"] for one in boat.form.sheet["fields"] if can_vary(one) and one["name"] != "loras"]
    told = boat.vary(**dict.fromkeys(names[:5], ...))

    assert [axis["words"] for axis in told["axes"]] == [""] * 5
    for name in names:
        (axis,) = boat.vary(**{name: ...})["axes"]
        assert (axis["words"], axis["count"] > 0) == ("", True), axis


@pytest.mark.parametrize("name", ["scene_tree", "training_job", "voice_cloner"])
def test_fields_of_described_models_can_be_swept(name: str) -> None:
    """A sensible start can be read again for each of their fields, whatever its kind."""
    for one in get_sheet(KINDS[name])["fields"]:
        if can_vary(one):
            parse_values(one, suggest_values(one, None))


# The plan.


def test_a_plan_is_that_of_rb_sweep(bench: Callable[..., Bench]) -> None:
    """Its numbers are those of the same plan made in code, of which its line and its first rows tell."""
    form = bench()
    expected = rb.sweep(BOAT, seed=range(4), num_frames=[9, 17, 25])

    told = form.vary(seed="0-3", num_frames="9 to 25 step 8")
    facts = expected.facts

    assert told["plan"]["due"] == facts.credits_due == expected.credits
    assert told["plan"]["possible"] == len(expected) == 12
    assert told["plan"]["line"].startswith("12 runs · 636 credits (exact)")
    assert [axis["count"] for axis in told["axes"]] == [4, 3]
    assert told["axes"][0]["told"] == "0, 1, 2, 3"
    assert told["plan"]["head"] == ["seed", "num_frames"]
    assert [row["cells"] for row in told["plan"]["rows"][:2]] == [["0", "9"], ["0", "17"]]
    assert told["plan"]["more"] == 4
    assert told["why"] == ""


def test_values_are_the_same_as_typed_into_the_form(bench: Callable[..., Bench]) -> None:
    """Each row asks for what a form asks for in which the value was typed: numbers, choices, checks, texts, objects."""
    form = bench()
    axes = {
        "seed": "9007199254740993", "resolution": ["720p"], "enable_detail_pass": [True], "negative_prompt": "grey\nblue sky",
        "temporal_adain_factor": "0.25", "loras": '[{"path": "ink", "scale": 0.5}]\n{"path": "oil"}',
    }  # fmt: skip
    form.vary(**axes)
    rows = list(form.form._sweeping.planning.preview.plan)  # type: ignore[union-attr]

    asked = [BOAT.revised(seed=9007199254740993, resolution="720p", enable_detail_pass=True, temporal_adain_factor=0.25, negative_prompt=words, loras=loras)
             for words in ("grey", "blue sky") for loras in ([rb.LoRA(path="ink", scale=0.5)], [rb.LoRA(path="oil")])]  # fmt: skip
    assert [row.input for row in rows] == asked


def test_what_is_wrong_is_told_beside_its_axis(bench: Callable[..., Bench]) -> None:
    """Which value, why, and the nearest that is right; without values there is a hint; no plan is made of either."""
    form = bench()

    told = form.vary(num_frames="9, 5, 2000", seed="")

    assert "Number of frames = 5 is outside 9 to 1441. The nearest allowed value is 9." in told["axes"][0]["words"]
    assert "2000" in told["axes"][0]["words"]
    assert (told["axes"][1]["empty"], told["axes"][1]["words"]) == (True, "Give it at least one value.")
    assert (told["plan"], told["why"]) == ({}, CORRECT_VALUES)
    assert form.vary(num_frames="9.5")["axes"][0]["words"].startswith("Number of frames needs a whole number, not 9.5")


def test_what_does_not_go_together_cannot_run(bench: Callable[..., Bench]) -> None:
    """Values that are right alone and wrong together are counted, with the reason, and cost nothing."""
    form = bench()

    told = form.vary(second_pass_num_inference_steps="4, 8", second_pass_skip_initial_steps="2, 5")

    assert [axis["words"] for axis in told["axes"]] == ["", ""]
    assert told["plan"]["possible"] == 3
    assert told["plan"]["impossible"][0].startswith("1 cannot run: ")
    assert [row["credits"] for row in told["plan"]["rows"]].count("✕ cannot run") == 1
    assert told["plan"]["due"] == 3 * PRICE


def test_too_many_runs_are_refused_in_words(bench: Callable[..., Bench]) -> None:
    """Before anything large is made of them."""
    form = bench()

    told = form.vary(seed="1-10000", num_frames="9-1400", frame_rate="1-60")

    assert "That makes 835,200,000 runs; a form plans 10,000 at most." in told["why"]
    assert told["plan"] == {}


def test_a_swept_field_need_not_be_filled(bench: Callable[..., Bench]) -> None:
    """An empty prompt is no matter where the prompt varies; any other field that is missing is named."""
    form = bench(rb.TextToVideo)

    told = form.vary(seed="1, 2")
    assert told["why"] == "Correct the form first. Type a prompt."
    told = form.vary(prompt="a boat\na kite", seed="1, 2")
    assert told["plan"]["possible"] == 4
    form.form.edit("num_frames", 5)
    form.until(lambda: form.form.sweeps["why"].startswith("Correct the form first. Number of frames = 5"))


def test_the_plan_follows_the_form(bench: Callable[..., Bench]) -> None:
    """Another value of the form makes another plan; what costs twice as much says so, and the old one cannot be run."""
    form = bench()
    first = form.vary(seed="0-3")["plan"]

    form.form.edit("enable_detail_pass", True)
    stopped = form.plan
    form.until(lambda: form.plan.get("due") == 8 * PRICE)
    form.tell(do="sweep_run", plan=first["number"], spend=first["due"])

    assert stopped == {}
    assert form.answer("sweep_said")[0]["sweep_said"] == STALE
    assert form.form.jobs == ()


def test_the_newest_wins(bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch) -> None:
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
    form._number = 50

    form.tell(do="sweep", view="v", n=1, axes=[{"name": "seed", "typed": "1"}])
    assert begun.wait(WAIT)
    before = time.perf_counter()
    for number in range(2, 51):
        form.tell(do="sweep", view="v", n=number, axes=[{"name": "seed", "typed": f"1-{number}"}])
    form.tell(do="sweep", view="v", n=7, axes=[])
    took = time.perf_counter() - before
    gate.set()
    form.until(form.is_answered)

    assert made == [1, 50]
    assert form.plan["possible"] == 50
    assert took < 1.0


def test_messages_without_sense_change_nothing(bench: Callable[..., Bench]) -> None:
    """Unknown fields, fields twice, numbers for texts, axes without end: nothing happens, and nothing breaks."""
    form = bench()
    before = form.vary(seed="1")
    odd: list[Any] = [
        [{"name": "nothing", "typed": "1"}], [{"name": "seed", "typed": "1"}] * 2, [{"name": "seed", "typed": 5}], "seed", None, [7],
        [{"name": f"{number}"} for number in range(1000)],
    ]  # fmt: skip

    for number, axes in enumerate(odd):
        form.tell(do="sweep", view="v", n=100 + number, axes=axes)
    for what in ("sweep_do", "sweep_show", "sweep_film", "sweep_sheet"):
        form.tell(do=what, job="9", what="cancel")
    form.tell(do="sweep_run", plan="1", spend=5)

    assert form.form.sweeps == before
    assert form.form.jobs == ()


# Running.


def test_a_sweep_is_run_under_its_budget_and_paid_once(
    bench: Callable[..., Bench], client: Client, folder: Path
) -> None:
    """Twenty presses start it once; the account has paid its price; table, panel and contact sheet are there."""
    form = bench(DOT)
    form.vary(fps="1-4")
    number, charged, before = form.plan["number"], len(paid(folder)), client.account()["credits_available"]

    for _ in range(20):
        form.run()
    told = form.done()
    form.until(lambda: form.plan.get("number", number) != number)
    again = form.plan
    form.tell(do="sweep_sheet", job=told["key"])
    sheet, _ = form.answer("sweep_sheet")

    assert [content for content, _ in form.sent if "sweep_said" in content] == [{"sweep_said": TWICE}] * 19
    assert len(form.form.jobs) == 1
    assert list(form.form.jobs[-1].frame["status"]) == ["completed"] * 4
    assert len(paid(folder)) == charged + 4
    assert client.account()["credits_available"] == before - 4 * PRICE
    assert (told["state"], told["mark"], told["table"], told["sheet"]) == ("completed", "●", "form.jobs[-1].frame", 4)
    assert "4 of 4" in next(content["html"] for content, _ in reversed(form.sent) if "sweep_panel" in content)
    assert (sheet["runs"], sheet["words"]) == (4, "Time runs across, one row for each run.")
    picture = base64.b64decode(sheet["html"].split('src="data:image/jpeg;base64,')[1].split('"')[0])
    assert Image.open(io.BytesIO(picture)).width == 1280
    assert (again["runs"], again["due"], again["line"].split(" · ")[1]) == (
        0,
        0,
        "212 credits, all paid earlier; nothing now",
    )
    assert len(json.dumps(form.form.sweeps)) < 20_000


def test_the_picture_that_stays_has_what_was_made(bench: Callable[..., Bench]) -> None:
    """In every cell that shows the form: values by their labels, the price, and the runs and sweeps with one small picture."""
    form = bench(rb.SmartResize(image_url=png(64, 64, "olive"), target_sizes=["32x32"]))
    drawn: list[list[str]] = [[], []]

    def place(one: list[str]) -> Any:
        """A fake of what IPython gives for an output."""

        def update(bundle: dict[str, Any], raw: bool) -> None:
            one.append(bundle["text/html"])
            form._heard(None)

        return SimpleNamespace(update=update)

    form.form._snapshots = [place(one) for one in drawn]
    form.tell(do="run")
    form.until(lambda: drawn[1] and "● completed" in drawn[1][-1])
    form.vary(output_format=["jpeg"])
    form.run(100)
    form.until(lambda: "sweep completed" in drawn[1][-1])

    (picture,) = {one[-1] for one in drawn}
    assert "Target sizes" in picture
    assert "<bdi>target_sizes" not in picture
    assert picture.count("data:image/jpeg") == 1
    assert "Run the cell to use the form again" in picture


def test_nothing_is_started_at_a_service_whose_price_nobody_has_seen(tmp_path: Path) -> None:
    """A plan, and a form, were priced here; somebody connects to a hosted service; the press pays nothing, and says why."""
    with Hosted() as hosted, rb.connect(library=tmp_path / "here"):
        scripted = Scripted(hosted)
        bench = Bench(BOAT)
        bench.vary(seed="0-3")
        with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path / "there"):
            bench.run()
            bench.tell(do="run")
            refused = [content for content, _ in bench.sent if "sweep_said" in content or "said" in content]
            bench.until(bench.is_answered)
            # Now the price of the other service stands there, and a press means it.
            scripted.end.set()
            bench.tell(do="run")
            bench.until(lambda: bench.form.runs)
            bench.form.runs[0].wait(WAIT)
        sent = scripted.sent
        bench.form.close()

    assert refused[0] == {"sweep_said": STALE}
    assert hosted.base_url in refused[1]["said"]
    assert len(refused) == 2
    assert sent == 1


def test_nothing_is_started_at_a_service_that_was_connected_after_the_press(
    bench: Callable[..., Bench], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody connects between the press and its thread: nothing is paid where nobody has seen the price."""
    form = bench(BOAT)
    form.vary(seed="0-3")
    begun = form.form.in_background
    others: list[Client] = []
    with Hosted() as hosted:
        service = Scripted(hosted)

        def late(name: str, function: Callable[[], None]) -> None:
            if name == "sweep":
                others.append(rb.connect(hosted.base_url, api_key="k", library=tmp_path))
            begun(name, function)

        monkeypatch.setattr(form.form, "in_background", late)
        form.run()
        told = form.done()
        others[0].close()

    assert service.sent == 0
    assert hosted.base_url in told["error"]
    assert form.form.jobs == ()


def test_an_amount_is_for_what_is_paid_now(bench: Callable[..., Bench], folder: Path) -> None:
    """What the library has does not count: with five runs open, an amount for two pays for two, and says where it stopped."""
    form = bench(DOT.revised(images=[rb.Frame(url=png(16, 16, "navy"), frames=1)]))
    form.vary(fps="1-3")
    form.run()
    form.done()
    form.vary(fps="1-8")
    charged = len(paid(folder))

    form.run(spend=2 * PRICE)
    form.until(lambda: len(form.form.sweeps["jobs"]) == 2)
    told = form.done()
    form.until(lambda: "Stopped" in form.sent[-1][0].get("html", ""))

    assert len(paid(folder)) == charged + 2
    assert told["state"] == "stopped"
    assert sorted(form.form.jobs[-1].frame["status"]) == ["completed"] * 5 + ["not started"] * 3
    assert [job["table"] for job in form.form.sweeps["jobs"]] == ["form.jobs[-1].frame", "form.jobs[-2].frame"]


def test_what_a_sweep_has_made_is_labelled_and_brought_also_from_the_library(
    bench: Callable[..., Bench],
) -> None:
    """Each result by what varies, in the order of the plan; the page gets the poster and the file of any of them."""
    form = bench(DOT.revised(images=[rb.Frame(url=png(16, 16, "teal"), frames=1)]))
    form.vary(fps="1-2")
    form.run()
    form.done()
    form.vary(fps="1-3")
    form.run()
    form.until(lambda: len(form.form.sweeps["jobs"]) == 2)
    form.done()

    form.tell(do="sweep_film", job=form.form.sweeps["jobs"][0]["key"])
    film = form.answer("sweep_film")[0]
    form.tell(do="want", want=[film["shots"][0]["key"], 0, 0])
    poster = form.answer("clip")
    form.sent.clear()
    form.tell(do="want", want=[film["shots"][2]["key"], 0])
    clip = form.answer("clip")

    assert [shot["label"] for shot in film["shots"]] == ["1 frames/s", "2 frames/s", "3 frames/s"]
    assert film["of"] == 3
    assert {shot["files"][0]["kind"] for shot in film["shots"]} == {"video/mp4"}
    assert bytes(poster[1][0])[:2] == b"\xff\xd8"
    assert clip[0]["kind"] == "video/mp4"


def test_nothing_to_spend_shows_what_the_library_has_or_says_what_is_missing(
    bench: Callable[..., Bench], folder: Path
) -> None:
    """With 0 credits a plan of which nothing is paid for starts nothing, in words; another one shows what is there."""
    form = bench(DOT.revised(images=[rb.Frame(url=png(16, 16, "olive"), frames=1)]))
    form.vary(fps="1-2")
    charged = len(paid(folder))

    form.tell(do="sweep_run", plan=form.plan["number"], spend=0)
    said = form.answer("sweep_said")[0]["sweep_said"]
    nothing = form.form.jobs
    form.run()
    form.done()
    form.vary(fps="1-3")
    form.run(spend=0)
    form.until(lambda: len(form.form.sweeps["jobs"]) == 2)
    form.done()

    assert said == f"With 0 credits none of these runs can be paid for. All of them need {2 * PRICE} credits."
    assert nothing == ()
    assert sorted(form.form.jobs[-1].frame["status"]) == ["completed", "completed", "not started"]
    assert len(paid(folder)) == charged + 2


@pytest.mark.parametrize("spend", [None, -1, 1.5, "many", 10**16, True])
def test_an_amount_that_is_none_pays_nothing(bench: Callable[..., Bench], spend: Any) -> None:
    """Words say what is wanted; nothing was started."""
    form = bench(DOT)
    form.vary(fps="5-6")

    form.tell(do="sweep_run", plan=form.plan["number"], spend=spend)

    assert "spend" in form.answer("sweep_said")[0]["sweep_said"]
    assert form.form.jobs == ()


def test_where_nobody_knows_the_price_it_is_asked_for(bench: Callable[..., Bench]) -> None:
    """A described model without a price: the most that one run may cost is needed, too, and nothing starts without it."""
    form = bench(KINDS["upscaler"])
    form.form.edit("factor", form.form.node("factor")["choices"][0]["value"])

    told = form.vary(image_url="https://example.org/a.png\nhttps://example.org/b.png")["plan"]
    form.run(spend=100)

    assert (told["possible"], told["unpriced"], told["due"]) == (2, 2, 0)
    assert "price unknown" in told["line"]
    assert "Set the most that one run may cost" in form.answer("sweep_said")[0]["sweep_said"]
    assert form.form.jobs == ()


def test_a_sweep_is_paused_resumed_cancelled_and_stopped(tmp_path: Path) -> None:
    """Each button does what it says, and is there where it is of use; what is told of it follows."""
    with Hosted() as hosted, rb.connect(hosted.base_url, api_key="k", library=tmp_path / "library"):
        service, form = Scripted(hosted), Bench(BOAT)
        form.vary(seed="1-30")
        form.run()

        def job() -> Any:
            return form.form.sweeps["jobs"][0]

        form.until(lambda: "pause" in job()["can"])
        hosted.wait_until(lambda _: service.sent > 0)  # Else there would be nothing to cancel there.
        form.tell(do="sweep_do", job="1", what="pause")
        form.until(lambda: job()["can"] == ["resume", "cancel", "stop"])
        form.tell(do="sweep_do", job="1", what="resume")
        form.until(lambda: job()["can"] == ["pause", "cancel", "stop"])
        form.tell(do="sweep_do", job="1", what="cancel")
        form.until(lambda: job()["can"] == ["stop"])
        form.tell(do="sweep_do", job="1", what="stop")
        told = form.done()
        form.form.close()

    assert service.cancelled
    assert service.sent < 30
    assert "cancelled" in told["spoken"]
    assert told["can"] == []


def test_what_goes_wrong_at_the_service_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody there: the plan says so in words, and nothing is started."""
    with Hosted() as hosted, rb.connect(hosted.base_url, api_key="k", library=tmp_path / "library"):
        Scripted(hosted)
        form = Bench(BOAT)
        form.vary(seed="1-3")
        monkeypatch.setattr(planning, "sweep", _fail)
        told = form.vary(seed="1-4")
        form.form.close()

    assert told["why"] == "Nobody answers there. Try again later."
    assert told["plan"] == {}


def _fail(request: Input, **axes: Any) -> Plan:
    raise rb.errors.ReelbookError("Nobody answers there. Try again later.")


def test_a_start_that_fails_is_an_entry_with_words(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words stand in the section; a new plan comes, so that it can be tried again; no job is counted."""
    form = bench(DOT)
    form.vary(fps="7-8")
    number = form.plan["number"]

    def fail(*_: Any, **__: Any) -> Any:
        raise rb.errors.ReelbookError("The account has no credits.")

    monkeypatch.setattr(Plan, "start", fail)
    form.run()
    told = form.done()
    form.until(lambda: form.plan.get("number", number) > number)

    assert (told["state"], told["error"]) == ("failed", "Nothing was started. The account has no credits.")
    assert form.form.jobs == ()


# Code.


@pytest.mark.parametrize(
    "axes",
    [
        {"seed": "0-5", "num_frames": "9, 49", "resolution": ["480p", "720p"]},
        {"prompt": 'it\'s "quoted"\nشارع\na\\b', "enable_detail_pass": [True]},
        {"loras": '[{"path": "ink", "scale": 0.5}]\n{"path": "oil"}', "temporal_adain_factor": "0.1, 0.35"},
    ],
)
def test_copied_code_makes_an_equal_plan(bench: Callable[..., Bench], axes: dict[str, Any]) -> None:
    """Evaluated, it is the plan that was shown, under the budget of the whole."""
    form = bench()
    form.vary(**axes)

    form.tell(do="sweep_code", plan=form.plan["number"], spend=form.plan["due"])
    text = form.answer("sweep_code")[0]["sweep_code"]
    expression, _, budget = text.removeprefix("table = ").rpartition(".run(budget=")

    assert eval(expression, {"rb": rb}) == form.form._sweeping.planning.preview.plan  # type: ignore[union-attr]
    assert int(budget.rstrip(")")) == form.form._sweeping.planning.preview.plan.credits  # type: ignore[union-attr]


def test_code_of_pictures_and_odd_names_can_be_run(client: Client) -> None:
    """A picture of the library is named by its hash; fields that are no names of Python stand in a dict."""
    odd = KINDS["hostile_words"]
    name = next(one["name"] for one in get_sheet(odd)["fields"] if not one["name"].isidentifier())
    picture = rb.Image.from_library("a" * 64)

    text = format_sweep_code(BOAT, {name: ["x"], "class": [picture, {"a": [picture]}]}, 5, price=7)

    compile(text, "copied", "exec")
    assert f"{name!r}: ['x']" in text
    assert "rb.Image.from_library" in text
    assert text.endswith(".run(budget=5, price=7)")


# The end.


def test_closing_leaves_nothing_and_cancels_nothing(client: Client) -> None:
    """The job goes on to its end; of the form no thread, no clock and no object stays, planned, run or neither."""
    updater.join(WAIT)
    ipywidgets.Widget.close_all()
    threads = set(threading.enumerate())
    jobs = []
    kept: list[weakref.ref[Any]] = []
    for colour in ("red", "green"):
        form: Form = rb.form(DOT.revised(images=[rb.Frame(url=png(16, 16, colour), frames=1)]))
        form._handle_custom_msg({"do": "sweep", "view": "v", "n": 1, "axes": [{"name": "fps", "typed": "1-3"}]}, [])
        until = time.monotonic() + WAIT
        while not form.sweeps["plan"]:
            assert time.monotonic() < until
            time.sleep(0.01)
        form._handle_custom_msg({"do": "sweep_run", "plan": form.sweeps["plan"]["number"], "spend": 3 * PRICE}, [])
        while not form.jobs:
            assert time.monotonic() < until
            time.sleep(0.01)
        jobs.append(form.jobs[0])
        form._handle_custom_msg({"do": "sweep", "view": "v", "n": 2, "axes": [{"name": "fps", "typed": "1-4"}]}, [])
        form.close()
        kept += [weakref.ref(form), weakref.ref(form._sweeping)]
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
