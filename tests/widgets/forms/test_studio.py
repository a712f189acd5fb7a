"""A studio without a browser: one form for each model, one shelf and one sum of costs for all, and nothing left behind."""

from __future__ import annotations

import gc
import json
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import ipywidgets
import pytest
from ipywidgets.widgets.widget import _instances

import reelbook as rb
from reelbook.client import Client
from reelbook.current import Session
from reelbook.display.live import updater
from reelbook.errors import ReelbookError
from reelbook.widgets.studio import PAGE, Studio
from tests.support import png
from tests.transport.variants import Hosted, Reply
from tests.widgets.forms.bench import WAIT, resize, settle, stitch

pytestmark = pytest.mark.usefixtures("quick_updates")

TEXT, IMAGE = rb.TextToVideo.endpoint_id, rb.ImageToVideo.endpoint_id


class Watched:
    """A studio, and everything that its page hears."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.head: Any = studio.children[0]
        self.gallery: Any = studio.children[2]
        self.sent: list[dict[str, Any]] = []
        self.costs: list[str] = []
        self._turn = 0
        self._news = threading.Condition()
        self.head.observe(lambda change: self.costs.append(change["new"]), "cost")
        for part in (self.head, self.gallery):
            setattr(part, "send", self._hear)  # noqa: B010  # mypy lets no method be replaced.
            part.observe(lambda _: self._ring(), ["account", "cost", "chosen"] if part is self.head else ["shelf"])

    def tell(self, part: Any, **content: Any) -> None:
        """What the page sends, as JSON and back, as it travels."""
        part._handle_custom_msg(json.loads(json.dumps(content)), [])

    def until(self, claim: Callable[[], Any]) -> None:
        with self._news:
            assert self._news.wait_for(lambda: bool(claim()), WAIT), (self.gallery.shelf, self.head.cost, self.sent)

    def answer(self, key: str) -> dict[str, Any]:
        """What was sent first with this key; the next one is waited for anew."""
        self.until(lambda: any(key in content for content in self.sent))
        found = next(content for content in self.sent if key in content)
        self.sent.remove(found)
        return found

    def look(self, text: str = "", only: str = "", count: int = PAGE) -> list[dict[str, Any]]:
        """Ask for runs of the library, and give their cards."""
        before = self.gallery.shelf
        self.tell(self.gallery, do="find", text=text, only=only, count=count)
        self.until(lambda: self.gallery.shelf is not before and self.gallery.shelf["wish"] == self.gallery._wish)
        return list(self.gallery.shelf["cards"])

    def act(self, what: str, *keys: str, **more: Any) -> dict[str, Any]:
        """Do something with these runs, and give the answer."""
        self.tell(self.gallery, do="act", what=what, runs=list(keys), **more)
        return self.answer("acted")

    def run(self, value: Any) -> dict[str, Any]:
        """Fill the form of a model, press Run, wait for its end, and give its card."""
        form = self.studio.choose(value)
        before = len(form.runs)
        form._handle_custom_msg({"do": "run"}, [])
        form.observe(lambda _: self._ring(), "records")
        self.until(lambda: len(form.runs) > before)
        with suppress(ReelbookError):  # One that fails is on the shelf, too.
            self.studio.runs[-1].wait(WAIT)
        number = self.studio.runs[-1].id
        return next(card for card in self.look(count=500) if card["key"] == str(number))

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


@pytest.fixture(autouse=True)
def _no_other_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a client a studio has the usual library, in which no other test may have typed anything."""
    monkeypatch.setenv("REELBOOK_LIBRARY", str(tmp_path / "usual"))


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
    settle()


# Choosing.


def test_a_model_that_is_chosen_again_has_its_draft(opened: Callable[..., Watched]) -> None:
    """By class, by id and by inputs; each model has one form, which gains what only the other one had."""
    studio = opened().studio
    first = studio.form
    first.edit("num_frames", 49)

    second = studio.choose(IMAGE)
    second.edit("prompt", "it sails")
    shown = studio.children[1].children[0]
    back = studio.choose(rb.TextToVideo)

    assert shown is second
    assert back is first
    assert studio.children[1].children[0] is first
    assert first.draft == {"num_frames": 49, "prompt": "it sails"}
    assert studio.choose(rb.ImageToVideo).draft == {"prompt": "it sails"}
    assert studio.choose(rb.TextToVideo(prompt="a boat", seed=7)).value == rb.TextToVideo(prompt="a boat", seed=7)
    assert studio.value == rb.TextToVideo(prompt="a boat", seed=7)
    assert len(studio.forms) == 2


def test_a_studio_can_begin_with_inputs_and_stand_anywhere(opened: Callable[..., Watched]) -> None:
    """Its value reads and sets, also inputs of another model; it fits into a layout."""
    studio = opened(rb.SmartResize(image_url="https://example.org/a.png", target_sizes=["64x32"])).studio

    studio.value = rb.TextToVideo(prompt="a boat")

    assert studio.form.kind is rb.TextToVideo
    assert ipywidgets.Tab([studio]).children == (studio,)


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

    assert told == "Kept from Text to video: Prompt."
    assert told_next == "Kept from Image to video: Image."
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

    page.tell(page.head, do="choose", id="1", model="svc/nobody-knows")
    refused = page.answer("did")
    page.tell(page.head, do="choose", id="2", model=IMAGE)

    assert page.answer("did") == {"did": "2"}
    assert "svc/nobody-knows" in refused["error"]
    assert page.head.chosen == IMAGE
    assert page.studio.forms[0] is before


def test_what_was_typed_survives_a_restart(tmp_path: Path) -> None:
    """Another studio begins where the last one ended, with each model's draft, also half done; and says so."""
    with rb.connect(library=tmp_path / "library"):
        studio = rb.studio()
        studio.form.edit("num_frames", 49)
        studio.choose(IMAGE).edit("prompt", "it sails")
        studio._refresh()
        studio.close()
        page = Watched(rb.studio())
        drafts = page.studio.form.draft, page.head.carried, page.studio.choose(IMAGE).draft
        page.studio.close()
        settle()

    assert drafts[0] == {"num_frames": 49}
    assert drafts[1:] == ("Kept from last time: Number of frames.", {"prompt": "it sails"})


# The account.


def test_nobody_is_connected_only_to_show_an_account(
    opened: Callable[..., Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first run it says where that would go, without the password that stands in an address."""
    monkeypatch.setattr(Session, "current", None)
    monkeypatch.setattr(Session, "client", lambda _: pytest.fail("somebody has connected"))
    page = opened()
    page.tell(page.head, do="here")
    page.until(lambda: page.head.account)
    alone = page.head.account
    monkeypatch.setenv("REELBOOK_URL", "https://jane:secret@videos.example.org/api")
    other = opened()
    other.tell(other.head, do="here")
    other.until(lambda: other.head.account)

    assert alone.endswith(" · the first run connects to the embedded service on this machine, at no cost")
    assert other.head.account == "Not connected yet · the first run connects to videos.example.org"


def test_costs_and_credits_are_those_of_the_service(client: Client, opened: Callable[..., Watched]) -> None:
    """Two runs of two models: their sum, what is left, and nothing for one that the library has."""
    page = opened()
    left = client.account()["credits_available"]

    page.run(stitch(2.0))
    page.run(rb.SmartResize(image_url=png(), target_sizes=["16x16"]))
    page.until(lambda: page.head.account == f"Embedded service on this machine · {left - 64:,} credits left")
    page.until(lambda: page.head.cost == "This session: 64 credits")
    other = opened()
    other.run(stitch(2.0))
    other.until(lambda: other.head.cost == "This session: 0 credits · 1 from the library at no cost")

    assert [run.endpoint_id for run in page.studio.runs] == [rb.ImagesToVideo.endpoint_id, rb.SmartResize.endpoint_id]
    assert repr(page.studio) == "<Studio: Smart resize. This session: 64 credits.>"


def test_an_account_that_cannot_be_asked_is_told(tmp_path: Path, opened: Callable[..., Watched]) -> None:
    """A key that was replaced after it was connected: the reason stands in the place of the credits, the key nowhere."""
    with Hosted() as hosted:
        hosted.on("GET", "/account", {"credits_available": 53}, Reply(401, {"detail": "unknown"}))
        with rb.connect(hosted.base_url, api_key="another-key-1234", library=tmp_path / "library"):
            page = opened()
            page.until(lambda: "could not be asked" in page.head.account)
            told = json.dumps(page.head.get_state(), default=str)

    assert page.head.account.startswith(hosted.base_url)
    assert "another-key" not in told


# The gallery.


def test_runs_of_the_library_are_on_the_shelf(client: Client, opened: Callable[..., Watched]) -> None:
    """The newest first, each with its words and its poster; the card is what `display` shows of the run."""
    page = opened()
    two = page.run(rb.SmartResize(image_url=png(), target_sizes=["16x16", "32x16"]))
    card = page.run(stitch(3.0))
    failed = page.run(rb.SmartResize(image_url="https://127.0.0.1:1/a.png", target_sizes=["16x16"]))

    page.tell(page.gallery, do="show", run=card["key"])
    large = page.answer("card")
    page.tell(page.gallery, want=[card["file"], 0, 320])
    poster = page.answer("clip")

    assert [one["name"] for one in page.look()[:3]] == ["Smart resize", "Images to video", "Smart resize"]
    assert (card["status"], card["mark"]) == ("completed", "●")
    assert "53 credits" in card["facts"]
    assert "2 files" in two["facts"]
    assert (failed["status"], failed["error"] != "", "file" in failed) == ("failed", True, False)
    assert (large["card"], "data-rb-figure" in large["html"]) == (card["key"], True)
    assert poster["kind"] == "image/jpeg"


def test_inputs_and_frames_come_back_into_the_form_of_their_model(client: Client, opened: Callable[..., Watched]) -> None:  # fmt: skip
    """Of this studio's runs and of earlier ones, whatever model is chosen meanwhile."""
    opened().run(stitch(5.0))
    page = opened()
    made = page.run(rb.SmartResize(image_url=png(), target_sizes=["24x16"], seed=3))
    page.studio.choose(rb.TextToVideo)

    used = page.act("use", made["key"])
    again = page.studio.value
    newest = page.look("images-to-video")[0]
    page.act("use", newest["key"])
    chosen, value = page.head.chosen, page.studio.value
    framed = page.act("use_in", newest["key"], model=IMAGE, frame=1, file=0)

    assert used["used"]
    assert (again.seed, str(again.target_sizes[0])) == (3, "24x16")
    assert (chosen, value.fps) == (rb.ImagesToVideo.endpoint_id, 5.0)
    assert framed["words"] == "Image to video has frame 1 now."
    assert page.head.chosen == IMAGE
    assert "image_url" in page.studio.form.draft


def test_runs_are_starred_hidden_and_found_again(client: Client, opened: Callable[..., Watched]) -> None:
    """What is hidden is gone until it is asked for; the library keeps it for the next studio."""
    page = opened()
    first, second = (page.run(stitch(speed))["key"] for speed in (6.0, 7.0))

    page.act("star", first)
    page.act("hide", second)
    other = opened()
    starred, hidden = ([card["key"] for card in other.look(only=only)] for only in ("starred", "hidden"))
    shown = [card["key"] for card in other.look()]
    other.act("unmark", first, second)

    assert (starred, hidden) == ([first], [second])
    assert first in shown
    assert second not in shown
    assert other.look(only="starred") == other.look(only="hidden") == []


def test_runs_are_searched_a_page_at_a_time(client: Client, opened: Callable[..., Watched]) -> None:
    """By words, also of the model; more when they are asked for."""
    for number in range(3):
        client.start(resize(f"page {number}")).wait()
    page = opened()
    found = page.look("PAGE resize")

    assert [card["title"] for card in found] == ["page 2", "page 1", "page 0"]
    assert page.gallery.shelf["total"] == 3
    assert page.look("no such words") == []
    assert page.gallery.shelf["of"] == len(client_frame(client))


def client_frame(client: Client) -> Any:
    return rb.library(client.library).frame


def test_runs_are_saved_and_deleted_with_their_price(
    client: Client, opened: Callable[..., Watched], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saved under readable names; deleted only after the price was read, and only what nothing else needs."""
    monkeypatch.chdir(tmp_path)
    page = opened()
    made, kept = page.run(resize("to be deleted")), page.run(resize("to be kept"))
    page.run(
        rb.SmartResize(image_url=rb.library(client.library).run(int(kept["key"])).images[0], target_sizes=["16x16"])
    )
    path = rb.library(client.library).run(int(made["key"])).images[0].path

    saved = page.act("save", made["key"])
    asked = page.act("delete", made["key"])
    was_there = path.exists()
    deleted = page.act("delete", made["key"], sure=True)
    refused = page.act("delete", kept["key"])

    assert any(file.suffix == ".png" for file in (tmp_path / "picked").iterdir()), saved
    assert "Making it again costs 11 credits." in asked["ask"]
    assert was_there
    assert deleted["words"].startswith("Deleted 1 file, ")
    assert not path.exists()
    assert refused["words"] == "These runs have no files here that nothing else needs."
    page.until(lambda: "file" not in next(card for card in page.gallery.shelf["cards"] if card["key"] == made["key"]))


def test_sweeps_and_races_are_in_the_costs(client: Client, opened: Callable[..., Watched]) -> None:
    """What was paid before is not counted again; what a race has paid is; and what they made is on the shelf."""
    client.start(stitch(40.0)).wait()
    page = opened(stitch(40.0))
    form = page.studio.form
    form.observe(lambda _: page._ring(), "sweeps")

    def start(number: int, typed: str, *, spend: int | None = None, **by: str) -> None:
        axes = [{"name": "fps", "typed": typed}]
        form._handle_custom_msg({"do": "sweep", "view": "v", "n": number, "axes": axes, "spend": spend}, [])
        page.until(lambda: form.sweeps["n"] == number and form.sweeps.get("number"))
        shown = {name: form.sweeps[name] for name in ("spend", "cost")}
        form._handle_custom_msg({"do": "sweep_run", "plan": form.sweeps["number"], **shown, **by}, [])

    start(1, "40, 41, 42")
    page.until(lambda: page.head.cost == "This session: 106 credits")
    start(2, "50-57", spend=159, by="-bytes")
    page.until(lambda: page.head.cost == "This session: 265 credits")
    under_way = [cost.rpartition(" · ")[2] for cost in page.costs if cost.endswith("under way")]
    assert set(under_way) == {"1 under way"}
    left = client.account()["credits_available"]
    page.until(lambda: page.head.account.endswith(f"{left:,} credits left"))

    assert len(form.races) == 1
    assert len(page.look("images-to-video", count=500)) >= 6


# What stays.


def test_a_saved_notebook_has_words_and_one_small_picture(client: Client, opened: Callable[..., Watched]) -> None:
    """The values of the form, the costs and the runs; no bytes of media in the widgets' states."""
    page = opened()
    page.run(stitch(60.0))
    page.studio.choose(rb.TextToVideo(prompt="a paper <b>boat</b>"))
    page.until(lambda: page.head.cost == "This session: 53 credits")

    picture = page.studio._snapshot()
    states = json.dumps([part.get_state() for part in (page.head, page.gallery)], default=str)

    assert "a paper &lt;b&gt;boat" in picture["text/html"]
    assert "This session: 53 credits" in picture["text/plain"]
    assert picture["text/html"].count("data:image/jpeg") == 1
    assert len(picture["text/html"]) < 30_000
    assert "data:" not in states
    assert client.shelf.folder.name not in json.dumps(page.gallery.shelf)


def test_a_closed_studio_leaves_nothing_behind(client: Client) -> None:
    """Two studios opened, used and closed: no widget, no thread and no object stays."""
    gc.collect()
    widgets, threads = len(_instances), {thread.name for thread in threading.enumerate()}
    kept: list[weakref.ref[Any]] = []

    for _ in range(2):
        page = Watched(rb.studio())
        page.studio.choose(rb.ImageToVideo)
        page.tell(page.head, do="here")
        page.look()
        kept += [weakref.ref(one) for one in (page.studio, page.head, page.gallery, *page.studio.forms)]
        page.studio.close()
        page.studio.close()
    del page
    settle()
    updater.join(WAIT)  # The clock of all outputs drops what is closed at its next turn.
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
        None, 7, [], {}, {"do": 1}, {"do": "show"}, {"do": "show", "run": "../x"}, {"do": "find", "turn": "1"}, {"want": []}, {"do": "act"},
        {"do": "act", "what": "delete", "runs": 7}, {"do": "act", "what": "delete", "runs": [[], None]}, {"do": "act", "what": "wait", "runs": ["1"]},
    ]  # fmt: skip

    for content in odd:
        page.head._handle_custom_msg(content, [])
        page.gallery._handle_custom_msg(content, [])

    assert page.head.chosen == TEXT
    assert page.sent == []
