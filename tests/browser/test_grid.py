"""Clips of a table on one clock: every frame read back from its pixels, ticks, tabs, one at a time, without a kernel."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import nbformat
import pandas as pd
import pytest
from playwright.sync_api import Browser, Page, expect

from reelbook.display.report.clip_grid import grid_bundle, make_clip_grid
from reelbook.display.theme import render_style
from tests.browser.bare_page import Open
from tests.browser.fake_kernel import answer_requests, listen
from tests.browser.lab import Lab, OpenNotebook
from tests.browser.looks import shot
from tests.numbered import KINDS, READ_NUMBER, Kind, numbered_clip

pytestmark = pytest.mark.browser

KEY, BY = "a key", {"rows": "seed", "cols": "guidance"}
Show = Callable[..., Page]
ROOT = "document.querySelector('[data-rb-viewer]').grid"
# Every clip in view that has frames: the number it should show, by the clock, and the one that its pixels are.
NUMBERS = """() => {
  const {clock} = document.querySelector('[data-rb-viewer]').grid;
  return clock.clips.filter(clip => clip.isInView).map(clip => {
    const {canvas} = clip.picture ?? {};
    const wanted = frameAtOf(clip, clock.timeFor(clip, clock.time));
    return [wanted, canvas ? readNumber(canvas, canvas.width, canvas.height) : -2];
  });
}"""
HELP = """() => {
  window.frameAtOf = (clip, time) => {
    if (!clip.times) return Math.min(Math.max(Math.floor(time * clip.rate + 1e-4), 0), clip.frames - 1);
    const after = clip.times.findIndex(start => start > time + 1e-4 / clip.rate);
    return Math.min(Math.max((after < 0 ? clip.frames : after) - 1, 0), clip.frames - 1);
  };
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("grid")


def table_of(folder: Path, *, rows: int = 4, cols: int = 6, kinds: Sequence[Kind] = KINDS, **more: Any) -> pd.DataFrame:
    """Runs of two axes; the clips are of all kinds, one after the other."""
    pairs = [(seed, steps) for seed in range(rows) for steps in range(cols)]
    paths = [str(numbered_clip(folder, kinds[number % len(kinds)])) for number in range(len(pairs))]
    return pd.DataFrame(
        {
            "seed": [seed for seed, _ in pairs], "guidance": [1.5 * steps for _, steps in pairs],
            "output_video": pd.array(paths, dtype="string"), "status": "completed", "credits": 53, "credits_source": "charged",
            "request_id": [f"request-{number}" for number in range(len(pairs))], "model": "svc/x", **more,
        },
        index=pd.RangeIndex(len(pairs), name="run"),
    )  # fmt: skip


@pytest.fixture
def shown(opened: Open) -> Show:
    """Shows the grid of a table, whose files a kernel sends unless there is none."""

    def show(table: pd.DataFrame, *, has_kernel: bool = True, view: str = "grid", **parts: str) -> Page:
        grid = make_clip_grid(table, key=KEY, view=view, parts=parts or BY)
        page = opened(grid_bundle(grid)["text/html"], render_style("figure.css"), width=1200, height=1400)
        page.evaluate(HELP)
        page.add_script_tag(content=READ_NUMBER.replace("const readNumber", "window.readNumber"))
        if has_kernel:
            connect(page, table)
        return page

    return show


def connect(page: Page, table: pd.DataFrame) -> None:
    """Let a kernel come that sends the files of a table."""
    files = table["output_video"].astype(object)
    answer_requests(page, [[path] if isinstance(path, str) else [] for path in files])
    listen(page, KEY)


def wait_until_loaded(page: Page) -> None:
    page.wait_for_function(f"{ROOT}.clock.clips.every(clip => !clip.isInView || clip.picture || clip.isBroken)")


@pytest.mark.parametrize("by", ["time", "frame"])
def test_every_clip_shows_the_frame_of_the_clock(shown: Show, folder: Path, by: str) -> None:
    """24 clips of mixed rates, lengths, sizes, codecs, turns: after playing, and after 200 scrubs and steps, none is wrong."""
    page = shown(table_of(folder))
    wait_until_loaded(page)
    if by == "frame":
        page.locator("[data-rb-do=by]").first.select_option("frame")
    page.locator("[data-rb-do=play]").click()
    page.wait_for_function(f"{ROOT}.clock.frame > 20")
    page.locator("[data-rb-do=play]").click()
    page.evaluate(f"{ROOT}.clock.seek({ROOT}.clock.frame)")
    wrong = [pair for pair in page.evaluate(NUMBERS) if pair[0] != pair[1]]

    chance, frames, count = random.Random(11), page.evaluate(f"{ROOT}.clock.frames"), 0
    for _ in range(100):
        page.evaluate(f"{ROOT}.clock.seek({chance.randrange(frames)})")
        found = page.evaluate(f"{ROOT}.clock.step({chance.choice((-1, 1))}).then({NUMBERS})")
        wrong += [pair for pair in found if pair[0] != pair[1]]
        count += len(found)

    assert wrong == []
    assert count == 100 * 24


def test_a_click_shows_one_large_and_axes_lead_to_the_others(shown: Show, folder: Path) -> None:
    """At the same frame, from the original file; Escape goes back to the grid, and everything is where it was."""
    page = shown(table_of(folder, rows=2, cols=3, kinds=[KINDS[0]]))
    wait_until_loaded(page)
    page.evaluate(f"{ROOT}.clock.seek(17)")

    page.locator("figure .rb-clip").nth(4).click()
    expect(page.locator(".rb-one-words")).to_contain_text("run 4 · seed 1 · guidance 1.5 · 53 credits")
    page.get_by_role("slider", name="guidance").press("ArrowRight")
    expect(page.locator(".rb-one-words")).to_contain_text("run 5")
    expect(page.locator(".rb-axis output")).to_have_text(["1", "3"])
    expect(page.locator(".rb-sharp canvas")).to_be_visible()
    sharp = page.locator(".rb-sharp canvas").evaluate(
        "canvas => [canvas.width, readNumber(canvas, canvas.width, canvas.height)]"
    )
    numbers = page.evaluate(NUMBERS)
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".rb-one-words")).to_contain_text("run 4")
    page.keyboard.press("Escape")

    assert sharp == [160, 17]
    assert numbers == [[17, 17]] * 2
    assert page.locator("figure").nth(5).locator(".rb-clip").count() == 1
    expect(page.locator("[data-rb-viewer]")).to_have_attribute("data-view", "grid")


def test_keys_alone_go_into_the_large_view_and_back(shown: Show, folder: Path) -> None:
    """To the original file. What was pressed is out of view then: the keys must reach the clip, and afterwards the run that they came from."""
    page = shown(table_of(folder, rows=2, cols=3, kinds=[KINDS[0]]))
    wait_until_loaded(page)
    name = page.locator("figure .rb-name").nth(4)

    name.focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-rb-viewer]")).to_have_attribute("data-view", "one")
    expect(page.locator(".rb-sharp canvas")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"{ROOT}.clock.frame === 1")
    page.keyboard.press("Escape")
    expect(name).to_be_focused()

    page.locator("figure .rb-clip").nth(2).click()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"{ROOT}.clock.frame === 2")
    page.keyboard.press("Escape")
    expect(page.locator("[data-rb-viewer]")).to_have_attribute("data-view", "grid")


def test_ticks_go_to_the_kernel_and_to_the_table_below(shown: Show, folder: Path) -> None:
    """By mouse and by keys; the table that belongs to the grid has the same."""
    page = shown(table_of(folder, rows=2, cols=2, kinds=[KINDS[0]]))
    page.locator("figure").nth(1).get_by_role("checkbox").check()
    page.locator("figure").nth(3).get_by_role("checkbox").press("Space")
    page.get_by_text("Table", exact=True).click()
    assert (
        page.locator(".rb-table .rb-poster img").evaluate_all("all => all.map(one => one.naturalWidth > 0)")
        == [True] * 4
    )
    ticked = page.locator(".rb-table .rb-select input").evaluate_all("boxes => boxes.map(box => box.checked)")
    page.locator(".rb-table tbody .rb-select input").nth(0).check()
    told = [line for line in page.evaluate("toKernel") if line[0] != "want"]

    assert ticked[1:] == [False, True, False, True]
    assert told == [["selected", 1], ["selected", 1, 3], ["selected", 0, 1, 3]]
    assert page.locator("figure[data-picked]").count() == 3
    expect(page.locator(".rb-viewer-bar [role=status]")).to_have_text("3 selected")
    expect(page.get_by_text("Table", exact=True)).to_have_css("color", "rgb(87, 96, 106)")


def test_tabs_hold_the_values_of_a_third_axis(shown: Show, folder: Path) -> None:
    """One of them is in view."""
    table = table_of(folder, rows=4, cols=2, kinds=[KINDS[0]])
    table.insert(1, "style", ["plain", "plain", "loud", "loud"] * 2)
    table["seed"] = [0, 0, 0, 0, 1, 1, 1, 1]
    page = shown(table, rows="seed", cols="guidance", tabs="style")

    page.get_by_role("button", name="loud").click()

    expect(page.get_by_role("button", name="loud")).to_have_attribute("aria-pressed", "true")
    assert page.locator("figure:visible").count() == 4


def test_what_has_no_clip_says_why(shown: Show, folder: Path) -> None:
    """Failed, not started, gone from the disk, broken: a word in the place of the clip, and the others play."""
    table = table_of(folder, rows=2, cols=3, kinds=[KINDS[0]])
    (folder / "broken.mp4").write_bytes(b"\0\0\0\x18ftypmp42" + b"no film" * 40)
    table["status"] = ["failed", "not started", *["completed"] * 4]
    table["error"] = ["The prompt was refused.", *[None] * 5]
    table["output_video"] = [
        None,
        None,
        str(folder / "gone.mp4"),
        str(folder / "broken.mp4"),
        *table["output_video"].iloc[4:],
    ]

    page = shown(table)

    words = page.locator(".rb-none p").all_inner_texts()
    assert words[0] == "✕ failed · The prompt was refused."
    assert words[1].endswith("not started")
    assert words[2] == "its file is gone"
    assert "broken.mp4 cannot be read as a video" in words[3]
    wait_until_loaded(page)
    page.evaluate(f"{ROOT}.clock.seek(9)")
    assert page.evaluate(NUMBERS) == [[9, 9], [9, 9]]


def test_a_busy_kernel_holds_nothing_up(shown: Show, folder: Path) -> None:
    """What has come steps at once; what has not says that it comes, and shows the frame of the clock when it does."""
    table = table_of(folder, rows=1, cols=2, kinds=[KINDS[0]])
    page = shown(table, has_kernel=False, cols="guidance")
    page.evaluate("window.holding = { 1: new Promise((resolve) => { window.release = resolve; }) }")
    connect(page, table)
    page.wait_for_function(f"{ROOT}.clock.clips[0].picture")

    page.evaluate(f"{ROOT}.clock.seek(5)")
    waiting = page.locator("figure").nth(1).locator(".rb-clip").get_attribute("data-waiting")
    page.evaluate(f"{ROOT}.clock.seek(6)")
    first = page.evaluate(NUMBERS)[0]
    page.evaluate("release()")
    page.wait_for_function(f"{ROOT}.clock.clips[1].shown === 6")

    assert waiting == "Loading, waiting for the kernel."
    assert first == [6, 6]
    assert page.evaluate(NUMBERS) == [[6, 6], [6, 6]]


def test_a_cell_is_replaced_while_a_sweep_runs(shown: Show, folder: Path) -> None:
    """The place of a run that has come keeps the frame of the others."""
    done = table_of(folder, rows=1, cols=2, kinds=[KINDS[0]])
    before = done.copy()
    before["output_video"], before["status"] = [done["output_video"].iloc[0], None], ["completed", "running"]
    page = shown(before, has_kernel=False, cols="guidance")
    connect(page, done)
    page.wait_for_function(f"{ROOT}.clock.clips[0].picture")
    page.evaluate(f"{ROOT}.clock.seek(12)")
    waiting = page.locator("figure").nth(1).inner_text()

    cell = make_clip_grid(done, key=KEY, parts={"cols": "guidance"}).make_cell(1)
    page.evaluate(
        "cell => dispatchEvent(new CustomEvent('reelbook:cells', {detail: {key: 'a key', cells: [cell]}}))", cell
    )
    page.wait_for_function(f"{ROOT}.clock.clips.length === 2 && {ROOT}.clock.clips[1].shown === 12")

    assert "running" in waiting
    assert page.evaluate(NUMBERS) == [[12, 12], [12, 12]]


CELLS = (
    """\
import reelbook as rb
client = rb.connect(library={library!r})
plan = rb.sweep(rb.TextToVideo(prompt="a paper boat", resolution="480p"), seed=range(2), num_frames=[9, 17])
job = plan.start(budget=plan.credits)
filling = job.grid(rows="seed", cols="num_frames")
filling""",
    "table = job.wait()\ngrid = table.reel.grid(rows='seed', cols='num_frames')\ngrid",
    "print(list(grid.selected.index), grid.selected['num_frames'].tolist(), len(filling.selected))",
)


def test_a_sweep_fills_its_grid_in_a_notebook(lab: Lab, chromium: Browser, tmp_path: Path) -> None:
    """Cells come while it runs; clips step, one is large from its original, ticks are rows in Python; the saved notebook is small."""
    sources = [text.replace("{library!r}", repr(str(tmp_path / "library"))) for text in CELLS]
    path = lab.write("grid", *sources)
    with OpenNotebook(lab, chromium, path, height=1400) as notebook:
        page = notebook.open().page
        notebook.command("notebook:run-cell-and-select-next")
        expect(page.locator("[data-rb-viewer]").first.locator("figure [data-rb-clip]")).to_have_count(4, timeout=60_000)
        notebook.command("notebook:run-cell-and-select-next")
        grid = page.locator("[data-rb-viewer]").nth(1)
        expect(grid.locator(".rb-pick")).to_have_count(4, timeout=30_000)
        grid.locator(".rb-pick").nth(1).check()
        grid.locator("[data-rb-do=on]").click()
        expect(grid.locator("[data-loaded=decoded] canvas")).to_have_count(4)
        shot(page, "grid-lab")
        grid.locator("figure .rb-clip").nth(3).click()
        expect(grid.locator(".rb-sharp canvas")).to_be_visible()
        wide = grid.locator(".rb-sharp canvas").evaluate("canvas => canvas.width")
        page.locator(".jp-CodeCell .jp-InputArea-editor").nth(2).click()
        notebook.command("notebook:run-cell")
        expect(page.locator(".jp-OutputArea-output").last).to_contain_text("[1] [17]", timeout=20_000)
        complaints = [*notebook.complaints, *notebook.cell_errors()]
        notebook.save()

    saved = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    assert complaints == []
    assert wide > 800
    assert saved.cells[2].outputs[0].text.startswith("[1] [17] 0")
    assert path.stat().st_size < 1_000_000
    for cell in saved.cells[:2]:
        html = "".join(output["data"]["text/html"] for output in cell.outputs if "text/html" in output.get("data", {}))
        assert html.count("data:image/jpeg") >= 4
        assert 'src="blob:' not in html
