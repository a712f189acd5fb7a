"""Forms on several kernels: typing, running and cancelling work while cells run, nothing is lost, and nothing is paid twice.

Real kernels, spoken to as pages do: JupyterLab gives widgets a thread of their own where the kernel has such threads,
other pages do not, and kernels differ in what they do meanwhile.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.kernels.environments import pins
from tests.kernels.kernels import Notebook, Page, cell_that_waits, cell_that_works
from tests.support import read_charges

PRICE, DOUBLE = 53, 106
LONG = "enable_detail_pass"
"""The field that doubles the price."""


@dataclass(frozen=True)
class Place:
    """A kernel as one kind of page uses it, and what it can do."""

    version: str
    threads: bool = True
    """Whether the page asks for a thread of its own, as JupyterLab does."""
    awaits: bool = True
    """Whether messages are handled while a cell awaits."""
    blocks: bool = False
    """Whether they are handled while a cell blocks; where it is not, they have to wait but must not be lost."""

    @property
    def has_threads(self) -> bool:
        """Whether the page gets a thread of its own."""
        return self.threads and self.version != "6.31"

    def __str__(self) -> str:
        return f"{self.version}-{'lab' if self.threads else 'plain'}"


PLACES = [
    Place("7.4", blocks=True),
    Place("7.4", threads=False),
    Place("7.3", blocks=True),
    Place("7.3", threads=False, awaits=False),
    Place("6.31", awaits=False),
]
NEWEST = PLACES[0]
"""The kernel of the lock as JupyterLab uses it; the others are for `make deep`."""


def places(*places: Place) -> pytest.MarkDecorator:
    """A test on these kernels; all but the newest belong to `make deep`."""
    cases = [place if place is NEWEST else pytest.param(place, marks=pytest.mark.deep) for place in places]
    return pytest.mark.parametrize("place", cases, ids=str, indirect=True)


# In one worker, so that no kernel is started twice.


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.param
    return found


@pytest.fixture(scope="module")
def notebook(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    """A kernel of this version that runs the embedded service, as that of a notebook does."""
    with Notebook(place.version, tmp_path_factory.mktemp("kernel")) as notebook:
        notebook.run("import asyncio, json\nimport reelbook as rb\nclient = rb.connect()")
        notebook.run("import faulthandler, signal\nfaulthandler.register(signal.SIGUSR1)")
        notebook.run("import logging, sys\nlogging.basicConfig(stream=sys.__stderr__)")
        notebook.run("logging.getLogger('reelbook').setLevel(logging.DEBUG)")
        yield notebook


_seeds = itertools.count(1000)


@pytest.fixture
def page(place: Place, notebook: Notebook) -> Iterator[Page]:
    """A new form on a page. Its values are no other form's, so that no run of another test is found in the library."""
    made = f"rb.TextToVideo(prompt='a paper boat', num_frames=1441, seed={next(_seeds)})"
    notebook.run(f"form = rb.form({made})")
    page = Page(notebook, notebook.value("form.model_id"), threads=place.threads)
    yield page
    notebook.run("form.close()")
    page.close()


def type_in(page: Page, text: str) -> None:
    """Type a prompt, one edit for each letter."""
    for end in range(1, len(text) + 1):
        page.edit("prompt", text[:end])


def fifty(page: Page) -> dict[str, Any]:
    """Fifty edits of five fields in turn; what has to stand there in the end."""
    last: dict[str, Any] = {}
    for turn in range(10):
        now = {"prompt": f"boat {turn}", "num_frames": 9 + turn, "frame_rate": 1 + turn, LONG: turn % 2 == 1}
        for name, value in {**now, "negative_prompt": f"no {turn}"}.items():
            page.edit(name, value)
            last[name] = value
    return last


def charges(notebook: Notebook) -> dict[str, list[tuple[str, int]]]:
    """What the service has taken and given back, by request."""
    booked: dict[str, list[tuple[str, int]]] = {}
    for line in read_charges(notebook.library / "service"):
        booked.setdefault(line["request_id"], []).append((line["kind"], line["credits"]))
    return booked


def started(page: Page) -> dict[str, Any]:
    """Press Run, with a double click, and wait until the run can be cancelled."""
    page.send({"do": "run"})
    page.send({"do": "run"})
    return page.until(lambda: next((run for run in runs(page) if can_cancel(run)), None), "a run under way")


def cancelled(page: Page, key: str) -> dict[str, Any]:
    """Wait until this run stands there as cancelled."""
    over = ("cancelled", "completed", "failed")
    run = page.until(
        lambda: next((run for run in runs(page) if run["key"] == key and run["status"] in over), None), "its end"
    )
    assert run["status"] == "cancelled"
    return run


def can_cancel(run: dict[str, Any]) -> bool:
    return any(action[0] == "cancel" for action in run["actions"])


def runs(page: Page) -> list[dict[str, Any]]:
    return list(page.model.get("records", []))


@places(*PLACES)
def test_the_kernel_is_the_one_that_is_meant(place: Place, notebook: Notebook) -> None:
    """The kernel under test is of the pinned version, not the one of the lock."""
    version = notebook.value("__import__('ipykernel').__version__")

    assert f"ipykernel=={version}" in pins(place.version)
    assert version.startswith(f"{place.version}.")
    assert notebook.has_threads == (place.version != "6.31")


@places(*PLACES)
def test_an_edit_is_answered_with_its_number_and_price(page: Page) -> None:
    """The form says which edit it has seen, holds the value, and names the new price."""
    before = page.edit(LONG, False)
    page.until(lambda: page.answered(before)["price"]["credits"] == PRICE or None, "the price before")

    edit = page.edit(LONG, True)

    state = page.answered()
    assert (state["view"], state["n"], state["draft"][LONG]) == (page.view, edit, True)
    page.until(lambda: page.answered()["price"]["credits"] == DOUBLE or None, "the new price")


@places(*PLACES)
def test_typing_goes_on_while_a_cell_awaits(place: Place, notebook: Notebook, page: Page) -> None:
    """Each letter is answered while the cell awaits, where the kernel can; else after it, and nothing is lost."""
    with cell_that_waits(notebook, "awaiting"):
        type_in(page, "a whale under the ice")
        if place.awaits:
            assert page.answered()["draft"]["prompt"] == "a whale under the ice"

    assert page.answered()["draft"]["prompt"] == "a whale under the ice"
    assert notebook.value("form.value.prompt") == "a whale under the ice"


@places(*PLACES)
def test_fifty_edits_do_not_jam_a_form(notebook: Notebook, page: Page) -> None:
    """Sent while a cell awaits, they are all there after it, and the form goes on answering."""
    with cell_that_waits(notebook, "awaiting"):
        wanted = fifty(page)
    page.answered()

    page.edit("seed", 7)

    wanted["seed"] = 7
    assert wanted.items() <= page.answered()["draft"].items()
    assert notebook.value(f"{{name: getattr(form.value, name) for name in {list(wanted)}}}") == wanted
    page.until(lambda: page.answered()["price"]["credits"] == DOUBLE or None, "the price of what stands there")


@places(*PLACES)
def test_a_cell_that_blocks_loses_nothing(place: Place, notebook: Notebook, page: Page) -> None:
    """While a cell keeps the kernel's first thread, edits are answered or they wait; after it they are all there."""
    page.edit("seed", 1)
    page.answered()

    with cell_that_waits(notebook, "blocking"):
        wanted = fifty(page)
        if place.blocks:
            assert wanted.items() <= page.answered()["draft"].items()

    assert wanted.items() <= page.answered()["draft"].items()
    page.edit("seed", 2)
    assert page.answered()["draft"]["seed"] == 2


@places(*PLACES)
def test_a_run_is_cancelled_while_a_cell_awaits(place: Place, notebook: Notebook, page: Page) -> None:
    """Run and Cancel work at once where the kernel can, else after the cell; pressed twice, they do it once."""
    known = set(charges(notebook))
    run = None if place.awaits else started(page)

    with cell_that_waits(notebook, "awaiting"):
        run = run or started(page)
        page.send({"do": "act", "run": run["key"], "what": "cancel"})
        page.send({"do": "act", "run": run["key"], "what": "cancel"})
        if place.awaits:
            cancelled(page, run["key"])

    cancelled(page, run["key"])
    assert len(runs(page)) == 1
    (request,) = set(charges(notebook)) - known
    assert charges(notebook)[request] == [("reserve", PRICE), ("refund", PRICE)]


# Elsewhere the cell would wait for the run's end, and the page for the cell's.
@places(*[place for place in PLACES if place.awaits])
def test_a_cell_that_awaits_a_run_hears_that_it_was_cancelled(notebook: Notebook, page: Page) -> None:
    """The cell awaits the very run that the page cancels: it goes on at once, and learns why."""
    page.edit(LONG, True)
    page.answered()
    run = started(page)
    request = notebook.value("form.runs[-1].request_id")
    cell = notebook.start(
        f"try:\n    heard = repr(await rb.attach({request!r}, model=rb.TextToVideo.endpoint_id))\n"
        "except rb.RunCancelled:\n    heard = 'cancelled'"
    )
    page.edit("frame_rate", 30)
    page.answered()

    page.send({"do": "act", "run": run["key"], "what": "cancel"})

    notebook.ended(cell)
    assert notebook.value("heard") == "cancelled", f"{page.said} {page.model['records']} {notebook.complaints}"
    cancelled(page, run["key"])


def shows_what_it_holds(notebook: Notebook, page: Page) -> bool:
    """Whether the page has what the kernel has, once the service has told its own price."""
    page.until(lambda: page.model["state"]["price"]["source"].startswith("exact") or None, "the price of the service")
    # Asked a few times: edits that another thread handles may still be on their way.
    return any(page.model["state"] == notebook.value("form.state") for _ in range(20))


@places(*PLACES)
def test_edits_from_page_and_python_at_the_same_time(notebook: Notebook, page: Page) -> None:
    """While a cell sets some values and the page others, on another thread where there is one, what is typed stays."""
    work = """
for number in range(100):
    form.edit("seed", number)
    form.edit("temporal_adain_factor", (number % 20) / 20)
    await asyncio.sleep(0)
"""
    with cell_that_works(notebook, work):
        wanted = fifty(page)

    # The last edit may be answered before those that another thread handles.
    page.until(lambda: wanted.items() <= page.answered()["draft"].items() or None, "all that was typed")
    assert notebook.value(f"{{name: getattr(form.value, name) for name in {list(wanted)}}}") == wanted
    page.edit("seed", 3)
    assert page.answered()["draft"]["seed"] == 3
    assert shows_what_it_holds(notebook, page)


@places(*PLACES)
def test_whole_inputs_from_python_and_edits_at_the_same_time(notebook: Notebook, page: Page) -> None:
    """`form.value = …` in a cell, again and again, while the page edits: the form stays whole, and shows what it holds."""
    work = """
for number in range(50):
    form.value = rb.TextToVideo(prompt=f"from Python {number}", seed=number)
    assert form.value.prompt
    await asyncio.sleep(0)
"""
    with cell_that_works(notebook, work):
        fifty(page)

    page.edit("prompt", "the last word")
    assert page.answered()["draft"]["prompt"] == "the last word"
    assert shows_what_it_holds(notebook, page)
    assert page.model["state"]["draft"] == notebook.value("form.draft")
    assert page.model["state"]["ready"]


@places(*PLACES)
def test_a_late_edit_does_not_undo_a_newer_one(place: Place, notebook: Notebook, page: Page) -> None:
    """A kernel may handle messages of one page on two threads; what was typed last stays, whatever is handled last."""
    page.edit("prompt", "newest")
    newest = page.answered()["n"]
    for number, text in ((newest + 2, "newer still"), (newest + 1, "late")):
        edit = {"do": "edit", "view": page.view, "n": number, "draft": {"prompt": text}}
        page.send(edit)
    page.sent = newest + 2
    page.typed["prompt"] = ("newer still",)

    page.edit("seed", 5)

    assert page.answered()["draft"]["prompt"] == "newer still"


@places(*[place for place in PLACES if place.has_threads])
def test_an_edit_that_was_overtaken_does_not_undo_a_newer_one(notebook: Notebook, page: Page) -> None:
    """One edit waits behind a cell that blocks, the next one is handled on the page's own thread: the next one stays."""
    thread = page.thread
    with cell_that_waits(notebook, "blocking"):
        page.thread = None
        page.edit("prompt", "overtaken")
        page.thread = thread
        page.edit("prompt", "newest")
        page.answered()

    page.edit("frame_rate", 30)

    assert {"prompt": "newest", "frame_rate": 30}.items() <= page.answered()["draft"].items()


@places(*PLACES)
def test_a_page_that_is_opened_again_gets_answers(place: Place, notebook: Notebook, page: Page) -> None:
    """The thread of a page goes with it; the next page has another one, and the form answers there."""
    page.edit("seed", 5)
    page.answered()
    page.close()

    again = Page(notebook, page.id, threads=place.threads)
    again.send({"do": "here", "view": again.view})
    again.edit("seed", 6)

    assert again.answered()["draft"]["seed"] == 6
    again.close()


@places(*PLACES)
def test_no_kernel_complains(notebook: Notebook) -> None:
    """All that the tests above did raised no error in a kernel, made it warn of nothing, and lost it no message."""
    notebook.settle()
    notebook.run("1")

    assert notebook.complaints == ""
