"""Races of a form without a page: what is offered, what a press starts and may spend, and what the page gets of the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.decide.race import score
from reelbook.widgets.forms.started import list_measures, parse_measure
from reelbook.widgets.forms.sweeps import NO_MEASURE, STALE, TWICE
from tests.support import png
from tests.widgets.forms.test_form_sweep import BOAT, Bench

pytestmark = pytest.mark.usefixtures("quick_updates")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The embedded service with a library of its own."""
    with rb.connect(library=tmp_path_factory.mktemp("form-race") / "library") as client:
        yield client


@pytest.fixture
def bench(client: Client) -> Iterator[Bench]:
    bench = Bench(BOAT)
    yield bench
    bench.form.close()


def test_a_race_is_offered_where_something_is_to_be_decided(bench: Bench) -> None:
    """Seeds and prompts repeat a setting, so that alone they offer none; two settings do, with the least it costs."""
    bench.vary(seed="0-3")
    assert bench.plan["race"] == {}

    bench.vary(seed="0-3", num_frames="9, 17")

    race = bench.plan["race"]
    assert (race["settings"], race["repeats"]) == (2, 4)
    assert 0 < race["least"] < bench.plan["due"]
    assert {"sharpness", "motion", "-motion", "-bytes"} <= {one["value"] for one in race["measures"]}


def test_pictures_have_no_measure_of_motion() -> None:
    """A model that returns pictures is judged by single frames only, and no measure is taken that it lacks."""
    picture = rb.SmartResize(image_url=png(16, 16), target_sizes=["64x64"])

    values = {measure["value"] for measure in list_measures(picture)}

    assert "sharpness" in values
    assert not {"motion", "duration", "loop_closure"} & values
    assert parse_measure("motion", picture) is None
    assert parse_measure(["sharpness"], picture) is None


def test_a_race_spends_no_more_than_was_agreed_and_fills_the_form(client: Client) -> None:
    """The amount is what is spent from now on, besides what was paid before; the end names the best, and gives its values."""
    bench = Bench(rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16), frames=2)]))
    bench.vary(fps="2, 3")
    bench.run()
    bench.done()
    bench.vary(fps="2-9")
    price = bench.plan["due"] // 6
    spend = 2 * price

    bench.run(spend, by="-bytes")
    bench.run(spend, by="-bytes")
    assert {"sweep_said": TWICE} in [content for content, _ in bench.sent]
    bench.until(lambda: bench.form.sweeps["jobs"][0]["kind"] == "race" and bench.form.sweeps["jobs"][0]["over"])
    card = bench.form.sweeps["jobs"][0]
    bench.tell(do="sweep_film", job=card["key"])
    film, _ = bench.answer("sweep_film")
    bench.tell(do="sweep_use", job=card["key"])
    used, _ = bench.answer("sweep_used")

    (race,) = bench.form.races
    assert card["error"] == ""
    assert card["state"] in ("decided", "undecided")
    assert "best" in card["best"]
    assert 0 < race.progress.spent_now <= spend
    assert used["why"] == ""
    assert bench.form.value == race.best
    assert f"{bench.form.value.fps:g} frames/s" in film["shots"][0]["label"]
    assert len(film["shots"]) == film["of"] == (race.table["status"] == "completed").sum()
    assert f".race(by={{'bytes': -1}}, budget={4 * price})" in card["code"]
    assert len(bench.form.jobs) == 1
    bench.form.close()


def test_a_press_that_fits_nothing_starts_nothing(bench: Bench) -> None:
    """An unknown measure, a plan without settings, another plan's number, too little money: nothing is sent, in words."""
    bench.vary(seed="30-31", num_frames="9, 17")
    bench.run(200, by="beauty")
    bench.tell(do="sweep_run", plan=-1, spend=200, by="sharpness")
    said = [content["sweep_said"] for content, _ in bench.sent if "sweep_said" in content]
    assert said == [NO_MEASURE, STALE]
    bench.tell(do="sweep_code", plan=bench.plan["number"], spend=200, by="beauty")
    code, _ = bench.answer("sweep_code")
    assert (code["sweep_code"], code["why"]) == ("", NO_MEASURE)

    bench.run(60, by="sharpness")

    card = bench.done()
    assert "pays for less than one run of two settings" in card["error"]
    assert card["state"] == "failed"
    assert bench.form.races == ()
    bench.tell(do="sweep_use", job=card["key"])
    assert "no best setting" in bench.answer("sweep_used")[0]["why"]


def test_a_race_is_stopped_from_the_page(bench: Bench) -> None:
    """Cancel sends nothing more, once; the card says that it is over."""
    bench.vary(seed="40-49", num_frames="9, 17")
    bench.run(1_000, by="sharpness")
    bench.until(lambda: bench.form.sweeps["jobs"] and bench.form.sweeps["jobs"][0]["can"] == ["cancel"])

    bench.tell(do="sweep_do", job="1", what="pause")
    bench.tell(do="sweep_do", job="1", what="cancel")

    card = bench.done()
    assert card["can"] == []
    assert len(bench.form.races[0].table) < 20


def test_a_race_by_eye_brings_its_judge_to_the_page(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The panel is sent when there are clips, again for a page that comes back, and goes at the end; elsewhere it is not offered."""
    bench = Bench(rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16, "teal"), frames=2)]))
    assert parse_measure("eye", bench.form.checked()) is None
    monkeypatch.setenv("JPY_SESSION_NAME", "a notebook")
    monkeypatch.setattr(score, "POLL_SECONDS", 0.02)
    bench.vary(fps="2, 3")

    bench.run(by="eye")
    html = str(bench.answer("sweep_judge")[0]["html"])
    bench.sent.clear()
    bench.tell(do="sweep_show", job="1")
    again = str(bench.answer("sweep_judge")[0]["html"])
    bench.sent.clear()
    (race,) = bench.form.races
    pair = race.ratings.next_pair()
    race.ratings.judge(pair.left, pair.right, "left")
    card = bench.done()
    bench.until(lambda: {"sweep_judge": "1", "html": ""} in [content for content, _ in bench.sent])

    assert "data-rb-judge" in html
    assert again == html
    assert ".race(by=rb.judge, budget=106)" in card["code"]
    assert card["best"]
    bench.form.close()
