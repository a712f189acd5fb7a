"""A report on the screen: opened from the disk of a machine without a network, played, scrubbed, read and printed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pytest
from playwright.sync_api import Browser, Dialog, Page, Request

import reelbook as rb
from reelbook.api import table_accessor  # noqa: F401  # Gives tables their `.reel`.
from reelbook.display.report.make_report import write_report
from reelbook.storage.run_identity import format_canonical
from tests.browser.looks import shot
from tests.clips import film

pytestmark = pytest.mark.browser

FRAMES = (25, 49, 73)
RATE = 24
MAX_APART = 1 / RATE
MAX = 0.75

Scheme = Literal["light", "dark"]

# What is on the screen, sampled with every picture that the browser draws.
SAMPLES = """async seconds => {
  const clock = document.querySelector('[data-rb-clock]').clock, found = [];
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until) {
    await new Promise(requestAnimationFrame);
    const going = clock.clips.filter(({isInView, shown, frames}) => isInView && shown >= 0 && shown < frames - 1 && clock.frame < frames - 1);
    if (going.length < 4) continue;
    const numbers = going.map(({shown}) => shown);
    found.push([Math.max(...numbers) - Math.min(...numbers), Math.max(...numbers.map(number => Math.abs(number - clock.frame))), clock.time]);
  }
  return found;
}"""
LATE = """() => {
  const {clock} = document.querySelector('[data-rb-clock]');
  window.late = clock.clips.find(clip => clip.frames === 73).video;
  window.isInStep = () => !late.seeking && Math.abs(late.currentTime - clock.time) < 0.02;
}"""
HASH = "[...document.querySelectorAll('details[open]')].map(fold => fold.id)"


def table_of(folder: Path, *, seeds: int = 4) -> pd.DataFrame:
    """Twelve runs: films of three lengths, each four times, whose greys tell their frames; one more has failed."""
    rows: list[dict[str, Any]] = []
    for seed in range(seeds):
        for frames in FRAMES:
            asked = rb.TextToVideo(prompt="a paper boat on a rainy street", seed=seed, num_frames=frames)
            path = film(folder / f"{seed}-{frames}.mp4", frames=frames, size=(320, 180), rate=Fraction(RATE)).path
            rows.append(
                {
                    "prompt": asked.prompt, "seed": seed, "num_frames": frames, "output_video": str(path), "output_seed": seed,
                    "status": "completed", "credits": 53, "credits_source": "charged", "running_s": 2.5, "error_type": None,
                    "error": None, "request_id": f"request-{len(rows)}", "model": asked.endpoint_id, "take": 0,
                    "input_json": format_canonical(asked),
                }
            )  # fmt: skip
    failed = {
        **rows[0],
        "seed": seeds,
        "output_video": None,
        "status": "failed",
        "credits": 0,
        "error": "It is no picture.",
    }
    return pd.DataFrame([*rows, failed]).rename_axis("run")


@pytest.fixture(scope="module")
def page_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report."""
    folder = tmp_path_factory.mktemp("report")
    return write_report(table_of(folder), folder / "boats.html")


@contextmanager
def opened(
    browser: Browser, path: Path, scheme: Scheme = "light", width: int = 1200, height: int = 900, **options: Any
) -> Iterator[tuple[Page, list[str]]]:
    """The page without a network, and every address from outside that it asks for, or complaint that it makes."""
    context = browser.new_context(
        offline=True, viewport={"width": width, "height": height}, color_scheme=scheme, **options
    )
    page, noted = context.new_page(), list[str]()

    def note_dialog(dialog: Dialog) -> None:
        noted.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def note_request(request: Request) -> None:
        if not _is_inside(request.url, path):
            noted.append(request.url)

    page.on("request", note_request)
    page.on("pageerror", lambda error: noted.append(f"uncaught: {error}"))
    page.on("dialog", note_dialog)
    context.route("**/*", lambda route: route.continue_() if _is_inside(route.request.url, path) else route.abort())
    try:
        page.goto(path.as_uri())
        yield page, noted
    finally:
        context.close()


def _is_inside(url: str, path: Path) -> bool:
    return url.startswith(("data:", "blob:", path.parent.as_uri()))


@pytest.fixture(scope="module")
def common(page_path: Path, chromium: Browser) -> Iterator[tuple[Page, list[str]]]:
    """One wide window for all tests, each of which loads the report anew."""
    with opened(chromium, page_path) as (page, noted):
        yield page, noted


@pytest.fixture
def told(common: tuple[Page, list[str]], page_path: Path) -> Iterator[Page]:
    """The report on a wide screen, with the clips in view."""
    page, noted = common
    page.goto(page_path.as_uri())
    page.locator("#clips").evaluate("section => section.scrollIntoView()")
    until(page, "clock.clips.filter(c => c.isInView).length >= 9")
    yield page
    assert noted == []


def until(page: Page, claim: str) -> None:
    """Wait until it is true. Playwright's own way to wait needs `eval`, which the policy of the page forbids."""
    page.evaluate(
        f"""async () => {{
          const clock = document.querySelector('[data-rb-clock]')?.clock, end = performance.now() + 10_000;
          while (!({claim})) {{
            if (performance.now() > end) throw new Error({json.dumps(claim)});
            await new Promise(requestAnimationFrame);
          }}
        }}"""
    )


def clock(page: Page, expression: str) -> Any:
    """Something about the clock."""
    return page.evaluate(f"document.querySelector('[data-rb-clock]').clock.{expression}")


def test_all_clips_play_in_step(told: Page) -> None:
    """Over a loop and from the start: all show the same frame, which is that of the clock or the one before.

    A machine that is busy with other tests takes the page away for a moment now and then, so most looks have to be so.
    """
    told.evaluate("document.querySelector('[data-rb-clock]').clock.seek(36)")
    told.locator("[data-rb-do=play]").click()

    # Looked at again where the machine was away too often: three times in a row it is the clock.
    for _ in range(3):
        samples = told.evaluate(SAMPLES, 3.0)
        apart, late = (sorted(sample[place] for sample in samples) for place in (0, 1))
        if apart[int(len(apart) * MAX)] == 0 and late[int(len(late) * MAX)] <= 1:
            break

    times = [time for _, _, time in samples]
    assert len(samples) > 20
    assert any(later < earlier for earlier, later in pairwise(times)), "it did not loop"
    assert apart[int(len(apart) * MAX)] == 0
    assert late[int(len(late) * MAX)] <= 1
    assert clock(told, "clips.every(clip => clip.box.dataset.loaded !== 'played')")


def test_a_played_clip_that_fell_behind_catches_up(chromium: Browser, tmp_path: Path) -> None:
    """Where the browser plays it, because nobody knows its frames: by playing a little quicker, and not by a jump; one that is far off jumps.

    While it is set back the others play on, and on a busy machine so long that a jump is right: then it is set back again.
    """
    target = write_report(table_of(tmp_path, seeds=1), tmp_path / "boats.html")
    target.write_text(re.sub(r' data-index="[^"]*"', "", target.read_text()))

    with opened(chromium, target) as (page, noted):
        page.locator("#clips").evaluate("section => section.scrollIntoView()")
        page.locator("[data-rb-do=play]").click()
        until(page, "clock.time > 0.3")

        page.evaluate(LATE)
        until(page, "isInStep()")
        until(page, "late.playbackRate > 1.05 || (isInStep() && ((late.currentTime -= 0.08), false))")
        until(page, f"Math.abs(late.currentTime - clock.time) < {MAX_APART} && clock.time > 0.5")
        page.evaluate("late.currentTime = 2.9")
        until(page, f"!late.seeking && Math.abs(late.currentTime - clock.time) < {MAX_APART}")
        broken = page.locator("[data-broken]").count()

    assert noted == []
    assert broken == 0


def test_beside_the_page_the_files_themselves_play(chromium: Browser, tmp_path: Path) -> None:
    """Those that an export has written there, by the browser, because a page on a disk may not read its neighbours."""
    table = table_of(tmp_path, seeds=1)
    exported = {
        Path(path).name: request for path, request in zip(table["output_video"][:3], table["request_id"], strict=False)
    }
    target = write_report(table, tmp_path / "index.html", exported=exported)

    with opened(chromium, target) as (page, noted):
        page.locator("#clips").evaluate("section => section.scrollIntoView()")
        page.locator("[data-rb-do=play]").click()
        until(page, "clock.time > 0.3")
        assert clock(page, "clips.map(clip => clip.box.dataset.loaded)") == ["played"] * 3
        links = page.locator("#again a").evaluate_all("links => links.map(link => link.getAttribute('href'))")

    assert noted == []
    assert links == list(exported)
    assert 'src="data:video' not in target.read_text()


def test_what_is_out_of_view_rests(told: Page) -> None:
    """And has its place again when it is seen."""
    told.locator("[data-rb-do=play]").click()
    until(told, "clock.time > 0.2")

    told.locator("footer").scroll_into_view_if_needed()
    until(told, "clock.clips.every(c => !c.isInView)")
    before = clock(told, "clips.map(clip => clip.shown)")
    until(told, "clock.time > 1 && clock.time < 2")
    assert clock(told, "clips.map(clip => clip.shown)") == before
    told.locator("#clips").evaluate("section => section.scrollIntoView()")
    until(told, "clock.clips.filter(c => c.isInView && c.shown === clock.frame).length >= 4")
    assert clock(told, "playing")


def test_nothing_plays_unasked(told: Page) -> None:
    """No film is even loaded before somebody wants to see it."""
    assert clock(told, "clips.filter(clip => clip.picture).length") == 0
    assert clock(told, "clips.every(clip => clip.video.muted)")


def test_a_clip_leads_to_its_recipe_and_the_table_plays_it(told: Page) -> None:
    """The number of a run opens how it was made; its poster in the table plays the clip that the page has already."""
    told.locator("figcaption a").nth(4).click()
    until(told, f"{HASH}.length === 1")
    opened_folds = told.evaluate(HASH)
    told.locator("[data-rb-do=on]").click()
    until(told, "clock.clips.some(clip => clip.picture)")
    told.locator(".rb-table tbody tr button, .rb-table tbody tr img").first.click()
    until(told, "document.querySelector('.rb-table video')?.readyState >= 1")

    assert opened_folds == ["again-4"]
    assert told.locator("#again-4 code").first.inner_text().startswith("import reelbook as rb")


def test_on_paper_there_are_pictures_and_the_table(chromium: Browser, page_path: Path) -> None:
    """Posters and all rows, and no buttons; black on white, also where the screen is dark."""
    with opened(chromium, page_path, "dark", width=720) as (page, _):
        page.emulate_media(media="print")
        shot(page, "report-print", whole=True)
        seen = {
            name: page.locator(name).first.is_visible()
            for name in (".rb-transport", "video", ".rb-table .rb-bar", ".rb-clip img", ".rb-costs")
        }
        rows = page.locator(".rb-table tbody tr:visible").count()
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        pages = page.pdf(format="A4").count(b"/Type /Page\n")

    assert seen == {
        ".rb-transport": False, "video": False, ".rb-table .rb-bar": False, ".rb-clip img": True,
        ".rb-costs": True,
    }  # fmt: skip
    assert rows == 13
    assert paper == "rgb(255, 255, 255)"
    assert 1 <= pages <= 4
