"""A report on the screen: opened from the disk of a machine without a network, played, scrubbed, read and printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import reelbook as rb
from reelbook.api import table_accessor  # noqa: F401  # Gives tables their `.reel`.
from reelbook.display.report.make_report import write_report
from reelbook.storage.run_identity import format_canonical
from tests.browser.bare_page import from_disk
from tests.browser.looks import shot
from tests.clips import DARKEST, STEP, film

pytestmark = pytest.mark.browser

FRAMES = (25, 49, 73)
RATE = 24
MAX_APART = 1 / RATE

PLOT, VIEWS = "#views-1 [data-rb-plot]", "[data-rb-compare]"
# The frame of each half of the wipe, by its grey; the comparison waits until both are drawn.
GREYS = """async ([root, frame]) => {
  const {clock, stage, views} = root.compare;
  await clock.seek(frame);
  while (stage.dataset.frame !== String(frame)) await new Promise(requestAnimationFrame);
  const {canvas} = views[0], row = canvas.height / 2;
  const grey = share => views[0].context.getImageData(Math.round(canvas.width * share), row, 1, 1).data[0];
  return [grey(0.3), grey(0.7)];
}"""
HASH = "[...document.querySelectorAll('details[open] > .rb-recipe')].map(recipe => recipe.id)"


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
    """The report, with a plot and a comparison of two runs."""
    folder = tmp_path_factory.mktemp("report")
    table: Any = table_of(folder)
    table["sharpness"] = np.random.default_rng(1).random(len(table))
    views = [table.reel.plot("num_frames", "sharpness", "prompt"), table.reel.compare(0, 1)]
    return write_report(table, folder / "boats.html", views=views)


@pytest.fixture(scope="module")
def common(page_path: Path, chromium: Browser) -> Iterator[tuple[Page, list[str]]]:
    """One wide window for all tests, each of which loads the report anew."""
    with from_disk(chromium, page_path) as (page, noted):
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
    """Not unasked; then over a loop all show the frame of the clock, and those that have ended their last."""
    assert clock(told, "clips.filter(clip => clip.picture).length") == 0
    assert clock(told, "clips.every(clip => clip.video.muted)")
    told.evaluate("document.querySelector('[data-rb-clock]').clock.seek(36)")
    told.locator("#clips [data-rb-do=play]").click()

    for ahead in ("clock.frame > 60", "clock.frame < 20", "clock.frame > 30"):
        until(
            told,
            f"{ahead} && clock.clips.filter(c => c.isInView).every(c => c.shown === Math.min(clock.frame, c.frames - 1))",
        )

    assert clock(told, "playing")
    assert clock(told, "clips.every(clip => clip.box.dataset.loaded !== 'played')")


def test_beside_the_page_the_files_themselves_play(chromium: Browser, tmp_path: Path) -> None:
    """Those that an export has written there, by the browser, because a page on a disk may not read its neighbours."""
    table = table_of(tmp_path, seeds=1)
    exported = {
        Path(path).name: request for path, request in zip(table["output_video"][:3], table["request_id"], strict=False)
    }
    target = write_report(table, tmp_path / "index.html", exported=exported)

    with from_disk(chromium, target) as (page, noted):
        page.locator("#clips").evaluate("section => section.scrollIntoView()")
        page.locator("#clips [data-rb-do=play]").click()
        until(page, "clock.time > 0.3")
        assert clock(page, "clips.map(clip => clip.box.dataset.loaded)") == ["played"] * 3
        until(page, f"clock.clips.every(clip => Math.abs(clip.video.currentTime - clock.time) < {MAX_APART})")
        links = page.locator("#again a").evaluate_all("links => links.map(link => link.getAttribute('href'))")

    assert noted == []
    assert links == list(exported)
    assert 'src="data:video' not in target.read_text()


def test_what_is_out_of_view_rests(told: Page) -> None:
    """And has its place again when it is seen."""
    told.locator("#clips [data-rb-do=play]").click()
    until(told, "clock.time > 0.2")

    told.locator("footer").scroll_into_view_if_needed()
    until(told, "clock.clips.every(c => !c.isInView)")
    before = clock(told, "clips.map(clip => clip.shown)")
    until(told, "clock.time > 1 && clock.time < 2")
    assert clock(told, "clips.map(clip => clip.shown)") == before
    told.locator("#clips").evaluate("section => section.scrollIntoView()")
    until(told, "clock.clips.filter(c => c.isInView && c.shown === clock.frame).length >= 4")
    assert clock(told, "playing")


def test_a_clip_leads_to_its_recipe_and_the_table_plays_it(told: Page) -> None:
    """The number of a run opens how it was made; its poster in the table plays the clip that the page has already."""
    told.locator("figcaption a").nth(4).click()
    until(told, f"{HASH}.length === 1")
    opened_folds = told.evaluate(HASH)
    told.locator("#clips [data-rb-do=on]").click()
    until(told, "clock.clips.some(clip => clip.picture)")
    told.locator(".rb-table tbody tr button, .rb-table tbody tr img").first.click()
    until(told, "document.querySelector('.rb-table video')?.readyState >= 1")

    assert opened_folds == ["again-4"]
    assert told.locator("#again-4 code").first.inner_text().startswith("import reelbook as rb")


def test_on_paper_there_are_pictures_and_the_table(chromium: Browser, page_path: Path) -> None:
    """Posters and all rows, and no buttons; black on white, also where the screen is dark."""
    with from_disk(chromium, page_path, color_scheme="dark", viewport={"width": 720, "height": 900}) as (page, _):
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
    assert 1 <= pages <= 5


def point(page: Page, row: int) -> Locator:
    return page.locator(f"{PLOT} .rb-drawing:visible use[data-row='{row}']")


def painted(grey: float) -> int:
    """The number that a film's grey means, up to 25."""
    return round((grey - DARKEST) / STEP)


def test_a_point_shows_its_poster_and_plays(told: Page) -> None:
    """From the files of the page: the poster is that of the grid, and the clip too; the prompt is said once."""
    point(told, 4).hover(force=True)
    card = told.locator(f"{PLOT} .rb-card")
    poster = card.locator("img").get_attribute("src")
    words = card.inner_text()
    point(told, 4).click(force=True)
    video = told.locator(f"{PLOT} .rb-stage video")
    expect(video).to_have_js_property("readyState", 4)

    assert poster == told.locator("#clips figure[data-row='4'] img").get_attribute("src")
    assert video.get_attribute("src") == told.locator("#clips figure[data-row='4'] video").get_attribute("src")
    assert words.count("paper boat") == 1
    assert (told.locator(f"{PLOT} .rb-points use").first.get_attribute("aria-label") or "").count("paper boat") == 1


def test_what_is_selected_is_so_in_plot_grid_and_table(told: Page) -> None:
    """In each direction; there is no button that needs a kernel."""
    point(told, 4).click(modifiers=["Shift"], force=True)
    told.locator("#clips figure[data-row='7'] .rb-pick").check()
    told.get_by_role("checkbox", name="Select ", exact=False).and_(told.locator(".rb-table tbody input")).nth(2).check()

    assert told.locator(f"{PLOT} .rb-drawing:visible use[aria-pressed=true]").evaluate_all(
        "all => all.map(one => +one.dataset.row).sort()"
    ) == [2, 4, 7]
    assert told.locator("#clips figure[data-picked]").count() == 3
    assert told.locator(".rb-table tbody input:checked").count() == 3
    assert not told.get_by_role("button", name="Copy to a folder").is_visible()
    told.locator(f"{PLOT} .rb-drawing:visible").click(position={"x": 2, "y": 2})
    assert told.locator("#clips figure[data-picked]").count() == 0


@pytest.mark.parametrize(("frame", "expected"), [(7, (7, 7)), (40, (24, 15))])
def test_a_comparison_plays_from_the_page(told: Page, frame: int, expected: tuple[int, int]) -> None:
    """Exactly that frame of both clips. A clip that has ended stays at its last."""
    root = told.locator(VIEWS)
    root.locator(".rb-compare-stage").scroll_into_view_if_needed()
    expect(root.locator(".rb-compare-words")).to_have_text("")

    greys = told.evaluate(GREYS, [root.element_handle(), frame])

    assert tuple(map(painted, greys)) == expected
    assert told.evaluate(
        "root => root.compare.clock.clips.every(clip => clip.box.dataset.loaded === 'decoded')", root.element_handle()
    )
    assert "previews of the clips, at most 320 pixels" in root.inner_text()
