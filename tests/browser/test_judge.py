"""Judging in a browser: blind, quick, by keyboard, and nothing is lost with a kernel."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from reelbook.widgets.judge import make_bundle
from tests.browser.axe import beyond, faint, findings, tabbed
from tests.browser.bare_page import Open, fill, new_page
from tests.browser.judge_kernel import PLACE, KernelProcess, LinkInTest, connect, make_ratings, show
from tests.browser.looks import shot
from tests.clips import film
from tests.hostile import TEXTS as HOSTILE
from tests.support import deep, png

pytestmark = pytest.mark.browser

JUDGE = "document.querySelector('[data-rb-judge]').judge"
SEEN = f"{JUDGE}.now.asked.of.map(one => one.number)"

# What is asked, if it is something else than before, and on the screen: how many answers are saved, and the numbers of its clips.
NEXT = """before => {
  const judge = document.querySelector('[data-rb-judge]').judge;
  const seen = JSON.stringify([judge.saved, judge.now?.asked.of.map(one => one.number)]);
  return judge.isAsking && seen !== before && seen;
}"""


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Sixteen small clips, each of its own number of frames."""
    folder = tmp_path_factory.mktemp("guidance-7.25")
    return [str(film(folder / f"guidance-7.25-{place}.mp4", frames=6 + place % 4).path) for place in range(16)]


def make_rows(films: list[str], count: int | None = None) -> list[dict[str, Any]]:
    """Rows of a table whose settings would be noticed in a page."""
    return [
        {
            "prompt": "a paper boat", "guidance": 7.25 + place // 2, "num_frames": 86420001 + place % 2, "output_video": path,
            "request_id": f"request-{place}", "status": "completed",
        }
        for place, path in enumerate(films[: count or len(films)])
    ]  # fmt: skip


class Bench:
    """A page with a panel, and the kernel that answers it; `kernel` may be replaced by another."""

    def __init__(self, page: Page, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.kernel: KernelProcess | LinkInTest | None = None
        page.expose_function("toKernel", lambda _, message: self.kernel.handle(message) if self.kernel else None)

    def open(self, kernel: KernelProcess | LinkInTest, key: str = "a key", *, rest: int = 0) -> None:
        """Show the panel of a kernel, with this many milliseconds between answers, and wait until it asks."""
        self.kernel = kernel
        show(self.page, kernel.html)
        connect(self.page, key)
        self.page.wait_for_function(f"{JUDGE}.isAsking || {JUDGE}.root.dataset.ended === ''")
        self.page.evaluate(f"{JUDGE}.rest = {rest}")
        self.page.locator("[data-rb-judge]").focus()

    def make(self, rows: list[dict[str, Any]], *, rater: str = "ana", kind: str = "pairs") -> LinkInTest:
        return LinkInTest(make_ratings(self.folder / "library", rows, rater=rater, kind=kind), "a key")

    def next(self, before: str = "") -> tuple[str, list[int]]:
        """Wait for something else than before, and return the numbers of its clips."""
        found: str = self.page.wait_for_function(NEXT, arg=before, polling=5, timeout=8000).json_value()
        return found, json.loads(found)[1]

    def press(self, key: str) -> None:
        """Press a key, and wait until its answer is saved."""
        before, _ = self.next()
        self.page.keyboard.press(key)
        self.next(before)

    @property
    def words(self) -> str:
        return self.page.locator(".rb-judge-words").inner_text()


@pytest.fixture
def bench(chromium: Browser, tmp_path: Path) -> Iterator[Bench]:
    """A page of its own, because a page can be given the kernel's function only once."""
    with new_page(chromium, offline=True, viewport={"width": 800, "height": 700}) as page:
        fill(page, tmp_path, PLACE, width=800, height=700)
        yield Bench(page, tmp_path)


def judge_many(
    bench: Bench, start: Callable[[str], KernelProcess], count: int, kills: dict[int, str], rng: np.random.Generator
) -> list[Any]:
    """Answer so many pairs by keyboard as a person of stable but noisy taste; the kernel dies of some answers."""
    worth: dict[int, float] = {}
    given: list[Any] = []
    kernel = start("a key")
    bench.open(kernel)
    before = ""
    while len(given) < count:
        before, (left, right) = bench.next(before)
        for number in (left, right):
            worth.setdefault(number, 0.25 * len(worth))
        gap = worth[left] - worth[right] + rng.logistic()
        key, answer = ("t", "tie") if abs(gap) < 0.3 else ("a", "left") if gap > 0 else ("b", "right")
        kernel.die = kills.get(len(given), "")
        given.append((left, right, answer))
        bench.page.keyboard.press(key)
        if kernel.die:
            bench.page.wait_for_function("window.kernel && sessionStorage.length")
            bench.page.evaluate("disconnect()")
            expect(bench.page.locator(".rb-judge-words")).to_contain_text("kept in this page")
            kernel = start(f"key {len(given)}")
            bench.open(kernel, f"key {len(given)}")
            before = ""
    bench.next(before)
    return given


@pytest.mark.parametrize(("count", "clips"), [(30, 8), *deep((200, 16))])
def test_answers_outlive_two_kernels(bench: Bench, films: list[str], count: int, clips: int) -> None:
    """Killed before an answer is saved and after; all are there once and in order."""
    rows = make_rows(films, clips)
    (bench.folder / "rows.json").write_text(json.dumps(rows))

    with ExitStack() as stack:

        def start(key: str) -> KernelProcess:
            return stack.enter_context(KernelProcess(bench.folder, "ana", key))

        given = judge_many(
            bench, start, count, {count // 3: "before", 2 * count // 3: "after"}, np.random.default_rng(3)
        )

    ratings = make_ratings(bench.folder, rows)
    stored = list(ratings.frame[["left", "right", "answer"]].itertuples(index=False, name=None))
    numbers = {number: row for row, number in LinkInTest(ratings, "").link.numbers.items()}
    assert stored == [(numbers[left], numbers[right], answer) for left, right, answer in given]


def test_nothing_on_the_page_tells_the_setting(bench: Bench, films: list[str]) -> None:
    """Neither markup, names, addresses and messages, nor the reason why a file does not come."""
    rows = make_rows(films, 6)
    rows[3]["output_video"] = rows[3]["output_video"].replace(".mp4", "-gone.mp4")
    kernel = bench.make(rows)
    bench.open(kernel)

    for key in "abtxsab":
        bench.press(key)

    expect(bench.page.locator(".rb-judge-prompt")).to_have_text("a paper boat")
    tree = bench.page.locator("body").aria_snapshot()
    messages = bench.page.evaluate("JSON.stringify(fromKernel.map(one => ({...one, index: 0, times: 0})))")
    everything = (
        kernel.html
        + bench.page.content()
        + tree
        + messages
        + bench.page.evaluate("JSON.stringify({...sessionStorage})")
    )
    assert "is not there any more" in messages
    for secret in ("guidance", "7.25", "8.25", "86420001", "86420002", "request-", ".mp4", str(bench.folder), 'run"'):
        assert secret not in everything, secret


def test_a_double_press_judges_once(bench: Bench, films: list[str]) -> None:
    """A key that is pressed twice or held, and a button clicked twice, answer one pair."""
    bench.open(bench.make(make_rows(films, 6)), rest=250)
    bench.page.wait_for_timeout(260)

    before, _ = bench.next()
    bench.page.keyboard.press("a")
    bench.page.keyboard.press("a")
    after, pair = bench.next(before)
    bench.page.keyboard.press("a")
    bench.page.evaluate(
        "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'b', repeat: true, bubbles: true}))"
    )
    assert bench.words.startswith("1 judged here")
    assert bench.next() == (after, pair)
    bench.page.wait_for_timeout(260)
    bench.page.get_by_role("button", name="B is the answer").dblclick()
    bench.next(after)

    assert list(make_ratings(bench.folder / "library", make_rows(films, 6)).frame["answer"]) == ["left", "right"]


def test_an_answer_waits_for_a_busy_kernel(bench: Bench, films: list[str]) -> None:
    """The page says so, asks nothing new before the answer is on disk, and saves it once after the page was loaded again."""
    rows = make_rows(films, 6)
    kernel = bench.make(rows)
    bench.open(kernel)
    before, pair = bench.next()

    bench.page.evaluate("() => { window.busy = new Promise(resolve => { window.free = resolve; }); }")
    bench.page.keyboard.press("b")
    expect(bench.page.locator(".rb-judge-words")).to_contain_text(
        "kept in this page, and saved when the kernel is free"
    )
    bench.page.keyboard.press("a")
    bench.page.keyboard.press("u")
    assert bench.page.evaluate(SEEN) == pair
    bench.page.evaluate("free()")
    bench.next(before)
    assert bench.words.startswith("1 judged here")
    # The kernel takes the next one and dies before it answers; then the page is loaded again.
    before, pair = bench.next()
    bench.page.evaluate("window.busy = undefined")
    bench.kernel = None
    bench.page.keyboard.press("t")
    bench.page.wait_for_function("Object.values(sessionStorage).some(text => text.includes('tie'))")
    bench.page.evaluate("disconnect()")
    expect(bench.page.locator(".rb-judge-words")).to_contain_text("run the cell again to save it")
    bench.page.reload()
    bench.open(bench.make(rows))

    frame = make_ratings(bench.folder / "library", rows).frame
    assert list(frame["answer"]) == ["right", "tie"]
    assert bench.words.startswith("2 judged here")


def test_undo_asks_the_same_pair_again(bench: Bench, films: list[str]) -> None:
    """By U and by Backspace, on the same sides; and what was next comes after it."""
    rows = make_rows(films, 6)
    bench.open(bench.make(rows))
    _, first = bench.next()
    bench.press("a")
    _, second = bench.next()

    bench.press("Backspace")
    _, again = bench.next()
    bench.press("x")
    _, then = bench.next()

    assert (again, then) == (first, second)
    assert list(make_ratings(bench.folder / "library", rows).frame["answer"]) == ["bad"]
    assert "no answer" not in bench.words
    bench.press("u")
    bench.page.keyboard.press("u")
    expect(bench.page.locator(".rb-judge-words")).to_have_text("You have no answer to take back.")


def test_the_player_keeps_its_keys_and_the_next_pair_is_there(bench: Bench, films: list[str]) -> None:
    """Clips play by themselves until Space stops them, arrows step, ? lists the keys; none of them reaches the notebook."""
    bench.open(bench.make(make_rows(films, 6)))
    page = bench.page
    page.evaluate("window.leaked = []; document.addEventListener('keydown', event => leaked.push(event.key))")
    page.wait_for_function(f"{JUDGE}.next.sides.every(side => side.clip.picture)")

    page.wait_for_function(f"{JUDGE}.clock.playing")
    page.keyboard.press(" ")
    page.wait_for_function(f"!{JUDGE}.clock.playing")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"{JUDGE}.clock.clips.every(clip => clip.shown === 2)")
    page.keyboard.press("?")
    expect(page.locator(".rb-keys")).to_contain_text("X both bad")
    page.keyboard.press(" ")
    page.wait_for_function(f"{JUDGE}.clock.playing")
    bench.press("a")

    page.wait_for_function(f"{JUDGE}.clock.playing")
    # The space bar plays also after a click, and does not press the button again.
    before, _ = bench.next()
    page.get_by_role("button", name="Tie").click()
    bench.next(before)
    page.keyboard.press(" ")
    page.wait_for_function(f"!{JUDGE}.clock.playing")
    assert bench.words.startswith("2 judged here")
    assert page.evaluate("leaked") == []


@pytest.mark.parametrize(
    ("kind", "keys", "answers"),
    [("stars", "35s1", ["3", "5", "none", "1"]), ("keep", "krsk", ["keep", "reject", "none", "keep"])],
)
def test_stars_and_keep_are_given_by_keys(
    bench: Bench, films: list[str], kind: str, keys: str, answers: list[str]
) -> None:
    """One clip at a time; and then all clips with their stars or shares as a ranking."""
    rows = make_rows(films, 4)
    kernel = bench.make(rows, kind=kind)
    bench.open(kernel)

    for key in keys:
        bench.press(key)
    bench.page.get_by_role("button", name="Show ranking").click()
    bench.page.wait_for_function("() => true")

    assert list(make_ratings(bench.folder / "library", rows, kind=kind).frame["answer"]) == answers
    assert len(kernel.updates) == 1
    show(bench.page, kernel.updates[0])
    expect(bench.page.locator("[data-rb-judge-ranking] tbody tr")).to_have_count(3)


def test_pictures_of_a_run_are_judged_together(bench: Bench, tmp_path: Path) -> None:
    """Runs with several pictures, as resizing gives them: no player, all pictures of each side."""
    paths = [tmp_path / f"{number}.png" for number in range(6)]
    for number, path in enumerate(paths):
        path.write_bytes(png(64, 48 + number))
    rows = [
        {
            "size": place,
            "output_images": [str(path) for path in paths[2 * place : 2 * place + 2]],
            "request_id": f"r{place}",
        }
        for place in range(3)
    ]
    bench.open(bench.make(rows))

    expect(bench.page.locator(".rb-judge-slot img")).to_have_count(4)
    expect(bench.page.locator("[data-rb-transport]")).to_be_hidden()
    bench.press("b")
    expect(bench.page.locator(".rb-judge-slot img")).to_have_count(4)


def test_the_end_is_a_ranking(bench: Bench, films: list[str]) -> None:
    """When nothing is left to ask, the output has the ranking with posters and intervals, and says how to go on."""
    kernel = bench.make(make_rows(films, 2))
    bench.open(kernel)
    bench.press("a")

    bench.page.keyboard.press("a")
    bench.page.wait_for_function(f"{JUDGE}.now === null")
    while not kernel.updates:
        bench.page.wait_for_timeout(20)
    show(bench.page, kernel.updates[0])

    ranking = bench.page.locator("[data-rb-judge-ranking]")
    expect(ranking.locator("tbody img[src^='data:image/']")).to_have_count(2)
    expect(ranking.get_by_role("img", name="between")).to_have_count(2)
    expect(ranking).to_contain_text("86420002 frames")
    expect(bench.page.get_by_text("Run the cell again to judge on.")).to_be_visible()


def test_a_panel_that_was_off_the_page_goes_on(bench: Bench, films: list[str]) -> None:
    """As Lab takes a cell off the page that is cut or far away, and puts it back."""
    bench.open(bench.make(make_rows(films, 4)))
    bench.press("a")

    bench.page.evaluate("window.kept = document.querySelector('[data-rb-judge]'), kept.remove()")
    bench.page.wait_for_function("kept.judge.clock.clips.every(clip => !clip.picture)")
    bench.page.evaluate("document.querySelector('#out').append(kept)")
    bench.page.wait_for_function(f"{JUDGE}.isAsking")
    bench.page.locator("[data-rb-judge]").focus()
    bench.press("b")

    assert bench.words.startswith("2 judged here")


def test_nothing_plays_by_itself_for_who_wants_no_motion(bench: Bench, films: list[str]) -> None:
    """For others clips do: motion is judged in motion."""
    bench.page.emulate_media(reduced_motion="reduce")
    bench.open(bench.make(make_rows(films, 4)))

    assert not bench.page.evaluate(f"{JUDGE}.clock.playing")


def test_keys_are_shown_where_they_act(bench: Bench, films: list[str]) -> None:
    """Without the focus they are the notebook's, so a button asks for it."""
    bench.open(bench.make(make_rows(films, 4)))
    bench.page.evaluate("document.activeElement.blur()")
    key, button = (
        bench.page.locator("[data-rb-judge] kbd").first,
        bench.page.get_by_text("Click here to use the keys"),
    )
    expect(key).to_be_hidden()
    bench.page.keyboard.press("x")
    assert bench.words.startswith("0 judged here")

    button.click()

    expect(key).to_be_visible()
    expect(button).to_be_hidden()
    bench.press("x")
    assert bench.words.startswith("1 judged here")


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_everybody_can_use_the_panel(bench: Bench, films: list[str], color_scheme: Any) -> None:
    """No grave finding of axe, no faint words, nothing beyond the edge at 320 pixels, all by keyboard; hostile texts stay texts."""
    rows = make_rows(films, 3)
    for place, row in enumerate(rows):
        row |= {"prompt": HOSTILE[0], "guidance": HOSTILE[place]}
    ratings = make_ratings(bench.folder / "library", rows)
    ratings.question = HOSTILE[1]
    page = bench.page
    page.emulate_media(color_scheme=color_scheme)
    kernel = LinkInTest(ratings, "a key")
    bench.open(kernel)
    bench.press("a")
    page.keyboard.press("?")

    _check_access(page, f"judge_{color_scheme}")
    page.get_by_role("button", name="Show ranking").click()
    while not kernel.updates:
        page.wait_for_timeout(20)
    show(page, kernel.updates[0])
    expect(page.locator("[data-rb-judge-ranking]")).to_be_visible()
    _check_access(page, f"judge_ranking_{color_scheme}")

    assert page.evaluate("top.__pwned ?? null") is None


def _check_access(page: Page, name: str) -> None:
    for width in (1280, 320):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("width => innerWidth === width", arg=width)
        shot(page, f"{name}_{width}")
        assert beyond(page, "[data-rb-judge]") == []
    assert findings(page, "[data-rb-judge]", colours=False) == []
    assert faint(page, "[data-rb-judge]") == []
    reached = tabbed(page, "[data-rb-judge]")
    assert (reached.missed, reached.unseen) == ([], [])


def test_a_finger_can_judge(chromium: Browser, films: list[str], tmp_path: Path) -> None:
    """Buttons are large enough, and a tap on a clip stops both."""
    with new_page(chromium, offline=True, has_touch=True, is_mobile=True) as page:
        fill(page, tmp_path, PLACE, width=360, height=740)
        bench = Bench(page, tmp_path)
        bench.open(bench.make(make_rows(films, 4)))

        page.wait_for_function(f"{JUDGE}.clock.playing")
        page.locator(".rb-judge-slot").first.tap()
        page.wait_for_function(f"!{JUDGE}.clock.playing")
        before, _ = bench.next()
        page.get_by_role("button", name="B is the answer").tap()
        bench.next(before)

        heights = page.locator("[data-rb-answer]").evaluate_all("all => all.map(one => one.offsetHeight)")
        assert min(heights) >= 44
        assert bench.words.startswith("1 judged here")


def test_a_page_without_a_kernel_can_be_read(opened: Open, films: list[str], tmp_path: Path) -> None:
    """A saved notebook has the question and the counts while clips are judged, and no controls that do nothing."""
    ratings = make_ratings(tmp_path / "library", make_rows(films, 4))
    ratings.judge(0, 1, "left")

    page = opened(make_bundle(ratings, key="gone", group="g")["text/html"])

    text = page.locator("[data-rb-judge]").inner_text()
    assert text.splitlines()[0] == "Which moves more naturally?"
    assert "1 judgement of 4 clips by 1 person. Run the cell to judge." in text
    expect(page.get_by_role("button")).to_have_count(0)
