"""Tables with pictures in a browser: sorted, filtered, scrolled, played, and harmless whatever is written in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from markupsafe import Markup
from playwright.sync_api import Page, expect

from reelbook.display.embedding import data_uri
from reelbook.display.explorer_card import render_explorer
from reelbook.display.figure import file_figure
from reelbook.display.original_links import render_open_attributes, render_posters
from reelbook.display.report.clip_grid import grid_bundle, make_clip_grid
from reelbook.display.tables.table_html import STYLES, render_table_markup, table_bundle
from reelbook.display.theme import render_style
from reelbook.media.local_file import LocalFile
from reelbook.media.posters import get_poster
from reelbook.models.base import File
from tests.browser.bare_page import Open
from tests.browser.looks import playback, shot
from tests.display.stand_in import render_table

pytestmark = pytest.mark.browser

ROWS = "tbody tr"


def runs(count: int, clips: list[str] | None = None, **columns: Any) -> pd.DataFrame:
    """A table as a sweep gives it."""
    status = pd.Categorical(["failed" if row % 10 == 3 else "completed" for row in range(count)])
    table = pd.DataFrame(
        {
            "prompt": "a paper boat on a rainy street", "seed": pd.array([*range(count)], dtype="Int64"),
            "num_frames": [(49, 97, 121)[row % 3] for row in range(count)], "frame_rate": 24, "status": status,
            "credits": [53 + row % 3 for row in range(count)], "credits_source": "charged",
            "sharpness": [None if row % 5 == 4 else 1 / (row + 1) for row in range(count)],
            "note": [f"take {row}, number {'nine' if row == 9 else row}" for row in range(count)],
            "flag": pd.array([row % 2 == 0 for row in range(count)], dtype="boolean"),
        },
        index=pd.RangeIndex(count, name="run"),
    )  # fmt: skip
    table = table.assign(**columns)
    return table if clips is None else table.assign(output_video=[clips[row % len(clips)] for row in range(count)])


def column(page: Page, name: str) -> list[str]:
    """What stands in a column, from the top."""
    heads = page.locator("thead th").all_inner_texts()
    place = next(number for number, head in enumerate(heads) if head.rstrip(" ▲▼") == name)
    return page.locator(f"{ROWS} > :nth-child({place + 1})").all_inner_texts()


def bounds(element: Any) -> Any:
    """Where an element is on the page, and how large."""
    return element.bounding_box()


def head(page: Page, name: str) -> Any:
    return page.locator("thead button", has_text=name)


def filtered(page: Page, text: str) -> str:
    """The summary for this filter."""
    page.get_by_label("Filter rows").fill(text)
    return page.locator(".rb-summary").inner_text()


def test_more_rows_come_as_one_scrolls_on(opened: Open) -> None:
    """Of 5,000 rows some hundred stand there; sorting is of all: up, down, and as it was."""
    page = opened(render_table(runs(5000)))
    box = page.locator(".rb-box")

    first = page.locator(ROWS).count()
    box.evaluate("box => box.scrollTop = box.scrollHeight")
    expect(page.locator(ROWS).nth(first)).to_be_attached()
    head(page, "seed").click()
    head(page, "seed").click()

    assert first <= 200
    assert page.locator(ROWS).count() <= 200
    assert column(page, "run")[0] == "4999"
    head(page, "seed").press("Enter")
    assert (column(page, "run")[0], page.locator("th[aria-sort$=ending]").count()) == ("0", 0)
    assert page.locator("table").get_attribute("aria-rowcount") == "5001"
    assert page.locator(ROWS).first.get_attribute("aria-rowindex") == "2"


def test_without_a_kernel_no_poster_promises_a_clip(opened: Open, clips: list[str]) -> None:
    """In an exported page: no sign and no press, until a kernel is there, and not when it has gone; a copy in the page plays."""
    table = runs(2, clips)
    gallery = render_posters(
        Markup('<img src="{}" alt="seed 0"{}>').format(
            data_uri("image/jpeg", get_poster(Path(clips[0])) or b""), render_open_attributes(Path(clips[0]))
        )
    )
    page = opened(render_table(table, key="mine"), str(gallery), render_table(table, embed="preview"))
    posters = page.locator("button.rb-poster, button.rb-opens")
    signs = "buttons => buttons.map(one => getComputedStyle(one, '::after').content)"

    expect(page.locator(".rb-absent:visible")).to_have_count(2)
    for here, there in ((None, [True] * 3), ("here", [False, False, True]), ("gone", [True] * 3)):
        if here:
            page.evaluate(
                "([what, key]) => dispatchEvent(new CustomEvent(`reelbook:${what}`, { detail: { key } }))",
                [here, "mine"],
            )
        assert [posters.nth(place).is_disabled() for place in range(3)] == there
        assert [("Not in this page" in str(posters.nth(place).get_attribute("title"))) for place in range(3)] == there
    assert "▶" not in page.locator("button.rb-opens").evaluate_all(signs)[0]
    expect(page.get_by_text("Not in this page.").first).to_be_visible()
    posters.nth(3).click()
    expect(page.locator(".rb-film video")).to_have_count(1)


def test_a_poster_opens_its_player_and_escape_closes_it(opened: Open, clips: list[str]) -> None:
    """With the keyboard alone: the clip plays muted in its row, and afterwards the focus is where it was."""
    page = opened(render_table(runs(3, clips), embed="preview"))
    poster = page.locator("button.rb-poster").first

    poster.press("Enter")
    video = page.locator("video")
    clip = playback(video)
    shape = video.bounding_box()
    muted = video.evaluate("video => [video.muted, video.loop, video.autoplay]")
    said = page.locator(".rb-film").inner_text()
    video.focus()
    page.keyboard.press("Escape")

    assert clip["error"] is None
    assert clip["advanced"] > 0
    assert muted == [True, True, False]
    assert said == "preview"
    assert shape is not None
    assert (round(shape["width"]), round(shape["height"])) == (480, 270)
    assert page.locator("video").count() == 0
    assert poster.evaluate("button => button === document.activeElement")
    assert poster.get_attribute("aria-expanded") == "false"
    assert (
        poster.get_attribute("aria-label")
        == "Play a paper boat on a rainy street · seed 0 · 49 frames at 24/s · 2.0 s · 53 credits"
    )


def test_up_and_down_lead_from_an_open_clip_to_the_next(opened: Open, clips: list[str]) -> None:
    """From its poster or its player; rows without a clip are passed over, and at either end it stays."""
    page = opened(
        render_table(
            runs(4).assign(output_video=pd.Series([*clips[:2], None, clips[0]], dtype=object)), embed="preview"
        )
    )
    shown = "() => [...document.querySelectorAll('.rb-poster[aria-expanded=true]')].map(one => one.ariaLabel.match(/seed (.)/)[1]).join()"

    page.locator("button.rb-poster").first.press("Enter")
    seen = []
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
        seen.append(page.evaluate(shown))
    page.locator("input[type=search]").fill("seed=0")

    assert seen == ["1", "3", "3", "1"]
    assert page.locator("video").count() == 0
    assert page.evaluate("document.activeElement.type") == "search"


def test_what_is_shown_is_saved_as_csv(opened: Open, clips: list[str]) -> None:
    """The rows that the filter leaves, in their order, with the columns on the page."""
    page = opened(render_table(runs(3, clips)))
    page.locator("input[type=search]").fill("seed>0")
    head(page, "seed").dblclick()

    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()

    lines = Path(download.value.path()).read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ['"run"', '"2"', '"1"']
    assert lines[0].startswith('"run","status","seed"')


def test_a_clip_plays_below_its_row(opened: Open, clips: list[str]) -> None:
    """Row and player are in view together, also where the table is scrolled to the side; one row is open at a time."""
    page = opened(render_table(runs(100, clips), embed="preview"), width=480)
    box = page.locator(".rb-box")
    box.evaluate("box => box.scrollLeft = 100")

    for row in (20, 1):
        page.locator("button.rb-poster").nth(row).click()
        expect(page.locator(".rb-stage video")).to_have_count(1)
        poster, player, room = map(
            bounds, (page.locator("button.rb-poster").nth(row), page.locator(".rb-stage .rb-detail").first, box)
        )
        shot(page, f"table-open-{row}")
        assert room["y"] < poster["y"] < player["y"]
        assert player["y"] + player["height"] <= room["y"] + room["height"] + 1
        assert (player["x"], player["width"]) == (room["x"], pytest.approx(room["width"], abs=16))

    assert page.locator("tr:has([aria-expanded=true]) + .rb-stage video").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 480
    head(page, "seed").click()
    assert page.locator(".rb-stage").count() == 0


def test_a_clip_plays_in_its_poster_under_a_pointer(opened: Open, clips: list[str]) -> None:
    """A small copy, and only while the pointer is there; posters can be twice as large."""
    page = opened(render_table(runs(3, clips), embed="preview"))
    poster = page.locator("button.rb-poster").nth(1)
    small = bounds(poster)

    poster.hover()
    expect(poster.locator("video")).to_have_count(1)
    page.wait_for_function("document.querySelector('.rb-over').currentTime > 0")
    page.mouse.move(0, 0)
    expect(poster.locator("video")).to_have_count(0)
    page.get_by_role("button", name="Large posters").click()

    large = bounds(poster)
    assert (large["width"], large["height"]) == (2 * small["width"], 2 * small["height"])
    assert page.locator(".rb-stage").count() == 0


def test_rows_stand_in_groups(opened: Open) -> None:
    """By any column that rows have in common; each group says what it comes to, and sorting and filtering are within it."""
    page = opened(render_table(runs(12)))

    page.get_by_label("Group by").select_option(label="by num_frames")
    head(page, "seed").click()
    head(page, "seed").click()
    names = page.locator("tr.rb-heading").all_inner_texts()
    seeds = [text for text in column(page, "seed") if text]
    filtered(page, "seed<2")

    assert [name.split("·")[0].strip() for name in names] == ["num_frames 49", "num_frames 97", "num_frames 121"]
    assert "4 runs" in names[0]
    assert "212 credits" in names[0]
    assert seeds == ["9", "6", "3", "0", "10", "7", "4", "1", "11", "8", "5", "2"]
    assert page.locator("tr.rb-heading").count() == 2


def test_rows_can_be_ticked_where_a_kernel_listens(opened: Open, clips: list[str]) -> None:
    """With the mouse and with keys; sorting and filtering leave the ticks, and without a kernel there are none."""
    page = opened(render_table(runs(12, clips), key="a word"))
    none = page.locator(".rb-select").locator("visible=true").count()
    page.evaluate("""() => {
      window.told = [];
      addEventListener("reelbook:selected", event => told.push(event.detail.rows));
      dispatchEvent(new CustomEvent("reelbook:listens", { detail: { key: "another", rows: [0] } }));
      dispatchEvent(new CustomEvent("reelbook:listens", { detail: { key: "a word", rows: [5] } }));
    }""")

    page.get_by_label("Select a paper boat on a rainy street · seed 2 ").check()
    page.get_by_label("Select a paper boat on a rainy street · seed 4 ").press("Space")
    head(page, "seed").click()
    head(page, "seed").click()
    ticked = [row for row in range(12) if page.locator(f"{ROWS} .rb-select input").nth(row).is_checked()]
    said = filtered(page, "seed>=10")
    page.get_by_label("Select all rows shown").check()
    page.get_by_label("Filter rows").fill("")
    shot(page, "table-selected")

    assert none == 0
    assert page.evaluate("told") == [[2, 5], [2, 4, 5], [2, 4, 5, 10, 11]]
    assert ticked == [11 - 5, 11 - 4, 11 - 2]
    assert "3 selected" in said
    assert "5 selected" in page.locator(".rb-summary").inner_text()
    assert page.get_by_label("Select all rows shown").evaluate("box => box.indeterminate")


def test_a_long_text_opens_in_whole(opened: Open) -> None:
    """An error that does not fit into its cell is read with a click."""
    table = runs(3).assign(error=pd.Series([None, "The source image could not be read. " * 20], dtype=object))
    page = opened(render_table(table))

    page.locator(".rb-text summary", has_text="The source").press("Enter")

    assert page.locator(".rb-text > bdi").inner_text() == "The source image could not be read. " * 20


def test_keys_stay_in_the_table(opened: Open) -> None:
    """What is typed in it does not reach the notebook's shortcuts, and the root says so to Jupyter."""
    page = opened(render_table(runs(3)))
    page.evaluate("window.leaked = []; addEventListener('keydown', event => leaked.push(event.key))")

    page.get_by_label("Filter rows").press_sequentially("dd1b")
    page.keyboard.press("Escape")
    typed = page.get_by_label("Filter rows").input_value()
    head(page, "seed").press("b")
    page.locator("h1").evaluate("h1 => { h1.tabIndex = 0; h1.focus(); }")
    page.keyboard.press("x")

    assert typed == ""
    assert page.evaluate("leaked") == ["x"]
    assert page.locator("[data-rb-table]").get_attribute("data-lm-suppress-shortcuts") == "true"


@pytest.mark.parametrize(("forced", "scheme"), [("dark", "light"), ("light", "dark")])
def test_inside_a_chosen_theme_a_table_has_its_colours(opened: Open, forced: str, scheme: Any) -> None:
    """Whatever the machine prefers; one outside of it follows the machine, and one with a theme of its own keeps that."""
    table = render_table_markup(runs(2))
    own = Markup(str(table).replace('class="rb rb-table ', f'class="rb rb-table rb-{scheme} '))
    page = opened(
        render_style(*STYLES),
        Markup('<div class="rb rb-{}">{}{}</div>').format(forced, table, own),
        table,
        color_scheme=scheme,
    )

    lightness = page.locator(".rb-summary").evaluate_all(
        "all => all.map(one => Number(getComputedStyle(one).color.match(/[0-9]+/)[0]))"
    )
    inks = ["light" if value > 128 else "dark" for value in lightness]

    # Light letters stand on dark paper.
    assert inks == (["light", "dark", "dark"] if forced == "dark" else ["dark", "light", "light"])


def test_other_displays_on_the_page_leave_it_as_it_is(opened: Open, clips: list[str]) -> None:
    """Its bar, groups, texts and an open clip look the same beside a figure, a grid and an explorer, which have styles of their own."""
    table = runs(4, clips).assign(
        seed=[0, 0, 1, 1], note=[f"{row} so long a text that its cell opens for it" for row in range(4)]
    )
    clip = LocalFile(Path(clips[0]), File(url="http://127.0.0.1/a.mp4"))
    others = (
        str(grid_bundle(make_clip_grid(table, key="grid"))["text/html"]),
        render_explorer(clip.explore(), key="explorer"),
        file_figure(clip),
    )

    def places(*html: str) -> Any:
        page = opened(str(table_bundle(table, key="key")["text/html"]), *html)
        page.evaluate("addEventListener('reelbook:is', event => event.preventDefault())")
        page.evaluate("dispatchEvent(new CustomEvent('reelbook:here', { detail: { key: 'key' } }))")
        page.locator(".rb-table").first.get_by_label("Group by").select_option(label="by seed")
        page.locator(".rb-table button.rb-poster").first.click()
        page.get_by_text("Not in this page").first.wait_for()
        return page.locator(".rb-table").first.evaluate(
            """table => [...table.querySelectorAll('*')].map(one => {
              const {color, backgroundColor} = getComputedStyle(one);
              return JSON.stringify([one.outerHTML.slice(0, 60), one.getBoundingClientRect(), color, backgroundColor]);
            })"""
        )

    assert places(*others) == places()
