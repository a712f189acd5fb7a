"""A studio without a page: one form for each model, one gallery and one sum of costs for all, and nothing left behind."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import pytest
from IPython.core.interactiveshell import InteractiveShell
from ipywidgets.widgets.widget import _instances

import reelbook as rb
from reelbook.client import Client
from reelbook.current import Session
from reelbook.errors import ReelbookError
from reelbook.widgets.studio import gallery
from reelbook.widgets.studio.studio import Studio
from tests.support import png
from tests.transport.variants import Hosted, Reply

pytestmark = pytest.mark.usefixtures("quick_updates")

WAIT = 30.0
TEXT, IMAGE = rb.TextToVideo.endpoint_id, rb.ImageToVideo.endpoint_id


def stitch(speed: float = 1.0) -> rb.ImagesToVideo:
    """Two pictures in a row: the quickest run there is, and a pure one."""
    return rb.ImagesToVideo(images=[png(16, 16), png(16, 16, "brown")], fps=speed)


class Watched:
    """A studio, and everything that its page is told."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.head: Any = studio.children[0]
        self.gallery: Any = studio.children[2]
        self.sent: list[dict[str, Any]] = []
        self._news = threading.Condition()
        for part in (self.head, self.gallery):
            setattr(part, "send", self._hear)  # noqa: B010  # mypy lets no method be replaced.
            part.observe(
                lambda _: self._ring(), ["account", "cost", "cards", "chosen"] if part is self.head else ["cards"]
            )

    def tell(self, part: Any, **content: Any) -> None:
        """What the page sends, as JSON and back, as it travels."""
        part._handle_custom_msg(json.loads(json.dumps(content)), [])

    def until(self, claim: Callable[[], bool]) -> None:
        with self._news:
            assert self._news.wait_for(claim, WAIT), (self.gallery.cards, self.head.cost, self.sent)

    def answer(self, key: str) -> dict[str, Any]:
        """What was sent first with this key; the next one is waited for anew."""
        self.until(lambda: any(key in content for content in self.sent))
        found = next(content for content in self.sent if key in content)
        self.sent.remove(found)
        return found

    def run(self, value: Any) -> dict[str, Any]:
        """Fill the form of a model, press Run and wait until the gallery has the end of it."""
        before = len(self.studio.runs)
        form = self.studio.choose(value)
        form._handle_custom_msg({"do": "run"}, [])
        self.until(lambda: before < len(self.studio.runs) <= len(self.gallery.cards) and all(card["status"] not in ("waiting", "running") for card in self.gallery.cards))  # fmt: skip
        return dict(self.gallery.cards[0])

    def _hear(self, content: dict[str, Any], buffers: Any = None) -> None:
        json.dumps(content, allow_nan=False)
        self.sent.append(content)
        self._ring()

    def _ring(self) -> None:
        with self._news:
            self._news.notify_all()


@pytest.fixture(scope="module")
def client(one_worker: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of the embedded service, as a notebook has it."""
    with rb.connect(library=tmp_path_factory.mktemp("studio") / "library") as client:
        yield client


@pytest.fixture
def opened() -> Iterator[Callable[..., Watched]]:
    """Opens studios that are closed with the test."""
    made: list[Studio] = []

    def open_one(model: Any = None) -> Watched:
        made.append(rb.studio(model))
        return Watched(made[-1])

    yield open_one
    for studio in made:
        studio.close()


# Choosing.


def test_a_model_that_is_chosen_again_has_its_draft(opened: Callable[..., Watched]) -> None:
    """By class, by id and by inputs; each model has one form, which gains what only the other one had."""
    studio = opened().studio
    first = studio.form
    first.edit("num_frames", 49)

    second = studio.choose(IMAGE)
    second.edit("prompt", "it sails")
    shown = studio.children[1]
    back = studio.choose(rb.TextToVideo)

    assert shown is second
    assert back is first
    assert studio.children[1] is first
    assert first.draft == {"num_frames": 49, "prompt": "it sails"}
    assert studio.choose(rb.ImageToVideo).draft == {"prompt": "it sails"}
    assert studio.choose(rb.TextToVideo(prompt="a boat", seed=7)).value == rb.TextToVideo(prompt="a boat", seed=7)
    assert studio.value == rb.TextToVideo(prompt="a boat", seed=7)
    assert len(studio.forms) == 2


def test_a_studio_can_begin_with_inputs_and_stand_anywhere(opened: Callable[..., Watched]) -> None:
    """Its value reads and sets, also inputs of another model; it fits into a layout; what is no model is refused in words."""
    studio = opened(rb.SmartResize(image_url="https://example.org/a.png", target_sizes=["64x32"])).studio

    studio.value = rb.TextToVideo(prompt="a boat")

    assert studio.form.kind is rb.TextToVideo
    assert ipywidgets.Tab([studio]).children == (studio,)
    with pytest.raises(ReelbookError, match=r"choose rb\.ImageToVideo"):
        studio.choose(7)  # type: ignore[arg-type]


def test_what_means_the_same_to_both_models_is_carried_over_once(opened: Callable[..., Watched]) -> None:
    """The picture comes along, and the prompt where it says what to film: to a resize it would be an instruction."""
    page = opened(rb.TextToVideo(prompt="a boat", seed=7, num_frames=49))
    studio, head = page.studio, page.head

    moving = studio.choose(rb.ImageToVideo)
    told = head.carried
    moving.edit("image_url", "https://example.org/a.png")
    resize = studio.choose(rb.SmartResize)
    told_next = head.carried
    resize.edit("prompt", "leave room for a title")
    studio.choose(rb.TextToVideo).edit("prompt", "a tram")
    again = studio.choose(rb.ImageToVideo)

    assert told == "Kept from Text to video: prompt."
    assert told_next == "Kept from Image to video: image."
    assert resize.draft == {"image_url": "https://example.org/a.png", "prompt": "leave room for a title"}
    assert again.draft == {"prompt": "a boat", "image_url": "https://example.org/a.png"}
    assert head.carried == ""


def test_a_picture_from_memory_is_carried_over(opened: Callable[..., Watched]) -> None:
    """Also where it is nowhere but in the form before."""
    studio = opened(rb.ImageToVideo(prompt="it sails", image_url=png())).studio

    studio.choose(rb.SmartResize).edit("target_sizes", ["64x32"])

    assert studio.value.image_url == rb.ImageToVideo(prompt="it sails", image_url=png()).image_url


def test_an_unknown_model_is_told_in_words_and_the_form_stays(client: Client, opened: Callable[..., Watched]) -> None:
    """The page chooses in the background; the refusal names the id."""
    page = opened()
    before = page.studio.form

    page.tell(page.head, do="choose", model="svc/nobody-knows")
    refused = page.answer("refused")["refused"]
    page.tell(page.head, do="choose", model=" ")
    empty = page.answer("refused")["refused"]
    page.tell(page.head, do="choose", model=IMAGE)

    assert page.answer("opened") == {"opened": IMAGE}
    assert "svc/nobody-knows" in refused
    assert refused.endswith("The form stays as it was.")
    assert "Type the id" in empty
    assert page.head.chosen == IMAGE
    assert page.studio.forms[0] is before


# The account.


def test_nobody_is_connected_only_to_show_an_account(
    opened: Callable[..., Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first run it says where that would go, without the password that stands in an address."""
    monkeypatch.setattr(Session, "current", None)
    monkeypatch.setattr(Session, "client", lambda _: pytest.fail("somebody has connected"))
    alone = opened().head.account
    monkeypatch.setenv("REELBOOK_URL", "https://jane:secret@videos.example.org/api")
    page = opened()

    page.tell(page.head, do="refresh")
    page.answer("asked")

    assert alone["service"] == "Not connected yet"
    assert alone["credits"] == "the first run connects to the embedded service on this machine, at no cost"
    assert page.head.account["credits"] == "the first run connects to videos.example.org"


def test_costs_and_credits_are_those_of_the_service(client: Client, opened: Callable[..., Watched]) -> None:
    """Two runs of two models: their sum, what is left, and nothing for one that the library has."""
    page = opened()
    left = client.account()["credits_available"]

    page.run(stitch(2.0))
    page.run(rb.SmartResize(image_url=png(), target_sizes=["16x16"]))
    page.until(lambda: page.head.account.get("credits", "").startswith(f"{left - 64:,} credits left"))
    paid = page.head.cost
    other = opened()
    other.run(stitch(2.0))

    assert paid == "This session: 64 credits in 2 runs"
    assert page.head.account["service"] == "Embedded service on this machine"
    assert "uploads" in page.head.account["offers"]
    assert other.head.cost == "This session: 0 credits in 0 runs · 1 from the library at no cost"
    assert [run.endpoint_id for run in page.studio.runs] == [rb.ImagesToVideo.endpoint_id, rb.SmartResize.endpoint_id]
    assert repr(page.studio) == "<Studio: Smart resize. This session: 64 credits in 2 runs.>"


def test_an_account_that_cannot_be_asked_is_told(tmp_path: Path, opened: Callable[..., Watched]) -> None:
    """A key that was replaced after it was connected: the reason stands in the place of the credits, the key nowhere."""
    with Hosted() as hosted:
        hosted.on("GET", "/account", {"credits_available": 53}, Reply(401, {"detail": "unknown"}))
        with rb.connect(hosted.base_url, api_key="another-key-1234", library=tmp_path / "library"):
            page = opened()
            page.until(lambda: "trouble" in page.head.account)
            told = json.dumps(page.head.get_state(), default=str)

    assert page.head.account["service"] == hosted.base_url
    assert "could not be asked" in page.head.account["trouble"]
    assert "another-key" not in told


# The gallery.


def test_runs_of_all_forms_are_in_the_gallery(client: Client, opened: Callable[..., Watched]) -> None:
    """The newest first, each with its words; a poster, the file and the facts come when they are asked for."""
    page = opened()
    page.run(rb.SmartResize(image_url=png(), target_sizes=["16x16", "32x16"]))
    card = page.run(stitch(3.0))

    page.tell(page.gallery, do="facts", run=card["key"])
    facts = page.answer("facts")
    page.tell(page.gallery, do="want", want=[card["key"], 0, 0])
    poster = page.answer("clip")
    page.tell(page.gallery, do="want", want=[card["key"], 0])

    assert [one["name"] for one in page.gallery.cards] == ["Images to video", "Smart resize"]
    assert (card["status"], card["mark"], card["paid"]) == ("completed", "●", "53 credits")
    assert [file["kind"] for file in card["files"]] == ["video/mp4"]
    assert len(page.gallery.cards[1]["files"]) == 2
    assert card["can"] == ["use", "code", "facts"]
    assert facts["code"].startswith("rb.run(rb.ImagesToVideo(")
    assert (poster["clip"], poster["kind"]) == ([card["key"], 0, 0], "image/jpeg")
    assert page.answer("clip")["kind"] == "video/mp4"


def test_what_failed_is_in_the_gallery_with_its_words(client: Client, opened: Callable[..., Watched]) -> None:
    """A run that the service refused in its worker, which costs nothing."""
    page = opened()

    card = page.run(rb.SmartResize(image_url="https://127.0.0.1:1/a.png", target_sizes=["16x16"]))

    assert (card["status"], card["mark"]) == ("failed", "✕")
    assert card["error"]
    assert page.head.cost == "This session: 0 credits in 1 run"


def test_inputs_of_a_card_come_back_into_the_form_of_their_model(
    client: Client, opened: Callable[..., Watched]
) -> None:
    """Of this studio's runs and of earlier ones, whatever model is chosen meanwhile."""
    first = opened()
    first.run(stitch(5.0))
    page = opened()
    made = page.run(rb.SmartResize(image_url=png(), target_sizes=["24x16"], seed=3))
    page.studio.choose(rb.TextToVideo)

    page.tell(page.gallery, do="use", run=made["key"])
    used = page.answer("used")
    again = page.studio.value
    page.tell(page.gallery, do="earlier", turn=1, text="images-to-video", model="", **{"from": 0})
    (newest, *_) = page.answer("earlier")["cards"]
    page.tell(page.gallery, do="use", run=newest["key"])
    page.answer("used")

    assert used["words"].startswith("The form has the inputs"), used
    assert (again.seed, str(again.target_sizes[0])) == (3, "24x16")
    assert page.head.chosen == rb.ImagesToVideo.endpoint_id
    assert page.studio.value.fps == 5.0


def test_chosen_runs_are_compared(client: Client, opened: Callable[..., Watched]) -> None:
    """The viewer of `rb.compare` with the keys of the gallery, and then the differences; what is no run is told in words."""
    page = opened()
    keys = [page.run(stitch(speed))["key"] for speed in (6.0, 7.0)]

    page.tell(page.gallery, do="compare", runs=keys)
    viewer = page.answer("markup")
    later = page.answer("differences")
    page.tell(page.gallery, do="compare", runs=[keys[0], "none"])
    alone = page.answer("trouble")

    assert viewer["compared"] == later["compared"] == keys
    assert [f'data-rb-key="{key} 0"' in viewer["markup"] for key in keys] == [True, True]
    assert "fps 6" in viewer["markup"]
    assert "data-rb-differences" not in viewer["markup"]
    assert "mean absolute difference" in later["differences"]
    assert "two or more" in alone["trouble"]


def test_gallery_come_a_page_at_a_time(
    client: Client, opened: Callable[..., Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without those that the studio shows; they can be searched by words and by model."""
    page_size = 8
    monkeypatch.setattr(gallery, "PAGE", page_size)
    runs = [client.start(stitch(10.0 + number)) for number in range(page_size + 2)]
    for run in runs:
        run.wait()
    page = opened()
    own = page.run(stitch(10.0))

    page.tell(page.gallery, do="earlier", turn=1, text="", model=rb.ImagesToVideo.endpoint_id, **{"from": 0})
    first = page.answer("earlier")
    page.tell(page.gallery, do="earlier", turn=2, text="", model=rb.ImagesToVideo.endpoint_id, **{"from": page_size})
    second = page.answer("earlier")
    page.tell(page.gallery, do="earlier", turn=3, text="no such words", model="", **{"from": 0})
    nothing = page.answer("earlier")
    page.tell(page.gallery, do="facts", run=first["cards"][0]["key"])

    assert own["status"] == "from library"
    assert len(first["cards"]) == page_size
    assert first["more"] is True
    assert (second["from"], second["more"]) == (page_size, False)
    assert first["total"] == page_size + len(second["cards"])
    assert len({card["key"] for card in [*first["cards"], *second["cards"]]}) == first["total"]
    assert {card["status"] for card in first["cards"]} == {"completed"}
    assert (nothing["cards"], nothing["total"]) == ([], 0)
    assert page.answer("facts")["code"].startswith("rb.run(rb.ImagesToVideo(")


def test_sweeps_are_in_the_gallery_and_in_the_costs(client: Client, opened: Callable[..., Watched]) -> None:
    """What a sweep of a form has made stands in the gallery; what was paid before it is not counted again."""
    client.start(stitch(40.0)).wait()
    page = opened(stitch(40.0))
    form = page.studio.form

    form._handle_custom_msg({"do": "sweep", "view": "v", "n": 1, "axes": [{"name": "fps", "typed": "40, 41, 42"}]}, [])
    form.observe(lambda _: page._ring(), "sweeps")
    page.until(lambda: bool(form.sweeps.get("plan")))
    form._handle_custom_msg({"do": "sweep_run", "plan": form.sweeps["plan"]["number"], "spend": 500}, [])
    page.until(lambda: len(page.gallery.cards) == 3 and page.head.cost == "This session: 106 credits in 2 runs")
    page.tell(page.gallery, do="use", run=page.gallery.cards[0]["key"])
    page.answer("used")

    assert len(page.studio.jobs) == 1
    assert {card["status"] for card in page.gallery.cards} == {"completed"}
    assert page.studio.value.fps == 42.0


def test_credits_left_and_credits_spent_agree_while_a_race_waits_for_its_judge(
    client: Client, opened: Callable[..., Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A race by eye has paid for its clips, and goes on only with answers."""
    monkeypatch.setenv("JPY_SESSION_NAME", "a notebook")
    page = opened(stitch(70.0))
    form = page.studio.form
    form._handle_custom_msg({"do": "sweep", "view": "v", "n": 1, "axes": [{"name": "fps", "typed": "70-73"}]}, [])
    form.observe(lambda _: page._ring(), "sweeps")
    page.until(lambda: bool(form.sweeps.get("plan")))
    left = client.account()["credits_available"]

    number = form.sweeps["plan"]["number"]
    form._handle_custom_msg({"do": "sweep_run", "plan": number, "spend": 212, "by": "eye"}, [])
    page.until(lambda: page.head.cost == "This session: 212 credits in 4 runs")
    page.until(lambda: page.head.account.get("credits", "") == f"{left - 212:,} credits left")

    assert not form.races[0].is_done
    form.races[0].cancel()
    form.races[0].wait(30)


def test_races_are_in_the_gallery_and_in_the_costs(client: Client, opened: Callable[..., Watched]) -> None:
    """What a race of a form has made stands in the gallery, and what it has paid in the costs; it is no sweep."""
    page = opened(stitch(50.0))
    form = page.studio.form
    form._handle_custom_msg({"do": "sweep", "view": "v", "n": 1, "axes": [{"name": "fps", "typed": "50-57"}]}, [])
    form.observe(lambda _: page._ring(), "sweeps")
    page.until(lambda: bool(form.sweeps.get("plan")))

    left = client.account()["credits_available"]
    number = form.sweeps["plan"]["number"]
    form._handle_custom_msg({"do": "sweep_run", "plan": number, "spend": 159, "by": "-bytes"}, [])
    page.until(lambda: len(page.gallery.cards) == 3 and page.head.cost == "This session: 159 credits in 3 runs")
    page.until(lambda: page.head.account.get("credits", "") == f"{left - 159:,} credits left")

    assert page.studio.jobs == ()
    assert len(form.races) == 1


# What stays.


def test_a_saved_notebook_has_words_and_one_small_picture(client: Client, opened: Callable[..., Watched]) -> None:
    """The values of the form, the costs and the runs; no bytes of media in the widgets' states."""
    page = opened()
    page.run(stitch(60.0))
    page.studio.choose(rb.TextToVideo(prompt="a paper <b>boat</b>"))

    picture = page.studio._snapshot()
    states = json.dumps([part.get_state() for part in (page.head, page.gallery)], default=str)

    assert "a paper &lt;b&gt;boat" in picture["text/html"]
    assert "This session: 53 credits in 1 run" in picture["text/plain"]
    assert picture["text/html"].count("data:image/jpeg") == 1
    assert len(picture["text/html"]) < 30_000
    assert "data:" not in states
    assert client.shelf.folder.name not in json.dumps(page.gallery.cards)


def test_a_closed_studio_leaves_nothing_behind(client: Client) -> None:
    """Two studios opened, used and closed: no widget, no thread and no object stays."""
    gc.collect()
    widgets, threads = len(_instances), {thread.name for thread in threading.enumerate()}
    kept: list[weakref.ref[Any]] = []

    for _ in range(2):
        page = Watched(rb.studio())
        page.studio.choose(rb.ImageToVideo)
        page.tell(page.head, do="refresh")
        page.answer("asked")
        kept += [weakref.ref(one) for one in (page.studio, page.head, page.gallery, *page.studio.forms)]
        page.studio.close()
        page.studio.close()
    del page
    # What was asked for before the end may be on its way still.
    for thread in threading.enumerate():
        if thread.name.startswith(("reelbook-studio", "reelbook-form")):
            thread.join(WAIT)
    gc.collect()

    assert [one for one in kept if one() is not None] == []
    assert len(_instances) == widgets
    assert {name for name in {thread.name for thread in threading.enumerate()} - threads if "studio" in name} == set()


def test_a_closed_studio_says_so() -> None:
    """It shows no other form any more."""
    studio = rb.studio()
    studio.close()

    with pytest.raises(ReelbookError, match="closed"):
        studio.choose(rb.ImageToVideo)
    assert list(studio.bundle()) == ["text/plain"]
    assert "closed" in studio.bundle()["text/plain"]


def test_a_message_that_makes_no_sense_changes_nothing(opened: Callable[..., Watched]) -> None:
    """Whatever a page sends, the studio stays what it is."""
    page = opened()
    odd: list[Any] = [
        None, 7, [], {}, {"do": 1}, {"do": "show"}, {"do": "use", "run": 7}, {"do": "facts", "run": "x"},
        {"do": "earlier", "turn": "1"}, {"do": "earlier", "turn": 1, "from": -1}, {"do": "want", "want": []}, {"do": "cancel"},
        {"do": "compare"}, {"do": "compare", "runs": 7}, {"do": "compare", "runs": [[], None]},
    ]  # fmt: skip

    for content in odd:
        page.head._handle_custom_msg(content, [])
        page.gallery._handle_custom_msg(content, [])

    assert page.head.chosen == TEXT
    assert page.gallery.cards == []


def test_the_table_of_a_sweep_is_named_as_a_cell_finds_it() -> None:
    """By the variable of the form or of the studio; by the output of the cell where there is none."""
    from reelbook.widgets.notebook import find_variable_name

    studio = rb.studio()
    form = rb.form(rb.TextToVideo)
    shell = InteractiveShell.instance()
    try:
        names: list[str] = []
        for variables in ({"desk": studio}, {"_7": studio}, {}, {"paper": form}):
            shell.user_ns.update(variables)
            names += [studio.form.name_in_notebook, form.name_in_notebook]
            for name in variables:
                del shell.user_ns[name]
    finally:
        InteractiveShell.clear_instance()
        studio.close()
        form.close()

    assert names == ["desk.form", "form", "_7.form", "form", "studio.form", "form", "studio.form", "paper"]
    assert find_variable_name(studio, {"_": studio}) is None
