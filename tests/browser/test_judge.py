"""Judging in a browser: blind, quick, by keyboard, and nothing is lost with a kernel."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import choix
import numpy as np
import pytest
from playwright.sync_api import Browser, Error, Page, expect

from tests.browser.judge_kernel import KernelProcess, LinkInTest, connect, make_ratings, open_page, show
from tests.clips import film

pytestmark = pytest.mark.browser

JUDGE = "document.querySelector('[data-rb-judge]').judge"
SEEN = f"{JUDGE}.now.asked.of.map(one => one.number)"

# Waits until something new is asked and on the screen, or nothing is, and returns the numbers of its clips.
NEXT = """before => new Promise(resolve => {
  const judge = document.querySelector('[data-rb-judge]').judge;
  const check = () => {
    const seen = JSON.stringify([judge.count, judge.now?.asked.of.map(one => one.number)]);
    if (judge.isAsking && seen !== before) resolve(seen);
    else setTimeout(check, 2);
  };
  check();
})"""


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Sixteen small clips, each of its own number of frames."""
    folder = tmp_path_factory.mktemp("guidance-7.25")
    return [str(film(folder / f"guidance-7.25-{place}.mp4", frames=6 + place % 4).path) for place in range(16)]


def make_rows(films: list[str], count: int | None = None) -> list[dict[str, Any]]:
    """Rows of a table whose settings would be noticed in a page."""
    return [
        {
            "prompt": "a paper boat", "guidance": 7.25 + place // 2, "num_frames": 5001 + place % 2, "output_video": path,
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
        found: str = self.page.evaluate(NEXT, before)
        return found, json.loads(found)[1]

    def press(self, key: str) -> None:
        """Press a key, and wait until its answer is saved."""
        before, _ = self.next()
        self.page.keyboard.press(key)
        self.page.evaluate(NEXT, before)

    @property
    def words(self) -> str:
        return self.page.locator(".rb-judge-words").inner_text()


@pytest.fixture
def bench(chromium: Browser, tmp_path: Path) -> Iterator[Bench]:
    """A page of its own; nothing may complain."""
    complaints: list[str] = []

    def note(error: Error) -> None:
        complaints.append(str(error))

    context = chromium.new_context(offline=True, viewport={"width": 800, "height": 700})
    page = context.new_page()
    page.on("pageerror", note)
    open_page(page, tmp_path)
    yield Bench(page, tmp_path)
    context.close()
    assert complaints == []


def judge_many(
    bench: Bench, start: KernelProcess, count: int, kills: dict[int, str], rng: np.random.Generator
) -> list[Any]:
    """Answer so many pairs by keyboard as a person of stable but noisy taste; the kernel dies of some answers."""
    worth: dict[int, float] = {}
    given: list[Any] = []
    kernel = start
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
            kernel = KernelProcess(bench.folder, "ana", f"key {len(given)}")
            bench.open(kernel, f"key {len(given)}")
            before = ""
    bench.next(before)
    return given


def test_two_hundred_answers_outlive_two_kernels(bench: Bench, films: list[str]) -> None:
    """Killed before an answer is saved and after; all are there once and in order, sides are balanced, and the ranking is that of choix."""
    rows = make_rows(films)
    (bench.folder / "rows.json").write_text(json.dumps(rows))

    with KernelProcess(bench.folder, "ana", "a key") as kernel:
        given = judge_many(bench, kernel, 200, {70: "before", 130: "after"}, np.random.default_rng(3))

    ratings = make_ratings(bench.folder, rows)
    stored = list(ratings.frame[["left", "right", "answer"]].itertuples(index=False, name=None))
    numbers = {number: row for row, number in LinkInTest(ratings, "").link.numbers.items()}
    assert stored == [(numbers[left], numbers[right], answer) for left, right, answer in given]
    lefts, rights = Counter(one[0] for one in stored), Counter(one[1] for one in stored)
    assert all(abs(lefts[row] - rights[row]) <= 2 for row in range(len(rows)))
    ranking = ratings.ranking()
    wins = np.zeros((len(rows), len(rows)))
    for left, right, answer in stored:
        wins[left, right] += {"left": 1, "tie": 0.5}.get(answer, 0)
        wins[right, left] += {"right": 1, "tie": 0.5}.get(answer, 0)
    expected = choix.ilsr_pairwise_dense(wins, alpha=0, max_iter=10_000)
    assert np.abs(ranking["score"].sort_index().to_numpy() - (expected - expected.mean())).max() < 1e-3
