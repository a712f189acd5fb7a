"""The board of a class, as a teacher's browser shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.board_class import Board, running_board, student_key
from tests.browser.axe import beyond, faint, findings, tabbed
from tests.browser.looks import overflow, shot
from tests.hostile import PAYLOADS
from tests.support import TEXT, Served, deep

pytestmark = pytest.mark.browser

Scheme = Literal["light", "dark"]
INPUT = {"prompt": "a boat made of new paper", "num_frames": 9, "resolution": "480p", "aspect_ratio": "1:1", "seed": 7}
KEY = re.compile("rb(-[0-9a-z]{4}){6}")
LOOKS: list[Any] = [("light", 1200), ("dark", 320), *deep(("dark", 1200), ("light", 320))]


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    """Sixty students in three groups."""
    names = [f"Student {number:02}" for number in range(60)]
    with running_board(tmp_path_factory.mktemp("board"), names, runs=600, groups=3) as running:
        yield running


@contextmanager
def opened(browser: Browser, board: Board, **options: Any) -> Iterator[Page]:
    """The board in a window of its own, logged in."""
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
    _take_session(context, board.http)
    page = context.new_page()
    try:
        page.goto(board.url)
        yield page
    finally:
        context.close()


def _take_session(context: BrowserContext, http: httpx.Client) -> None:
    context.add_cookies(
        [
            {"name": one.name, "value": one.value or "", "domain": one.domain, "path": one.path}
            for one in http.cookies.jar
        ]
    )


def student(page: Page, name: str) -> Any:
    """The row of a student."""
    return page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name, exact=True))


def test_a_teacher_logs_in_by_keyboard_and_sees_the_class(chromium: Browser, board: Board) -> None:
    """The token and Enter, or the link; then the page is live, and its cookie goes back to it and nowhere else."""
    for url in (board.url, f"{board.url}/login?token={board.token}"):
        context = chromium.new_context()
        page = context.new_page()
        page.goto(url)
        if url == board.url:
            shot(page, "board-login")
            expect(page.get_by_label("Token of the board")).to_be_focused()
            page.keyboard.type(board.token)
            page.keyboard.press("Enter")

        expect(page.locator("#live")).to_have_text("● Live")
        assert page.url == board.url
        expect(page.locator("tbody input[type=checkbox]")).to_have_count(60)
        cookie = context.cookies()[0]
        assert (cookie["path"], cookie["httpOnly"], cookie["sameSite"]) == ("/class", True, "Strict")
        context.close()


def test_a_run_that_ends_is_there_without_a_reload(chromium: Browser, board: Board) -> None:
    """The row of its student changes, with its prompt and a poster that the browser decodes; what is typed stays."""
    with opened(chromium, board) as page:
        expect(page.locator("#live")).to_have_text("● Live")
        page.get_by_label("Credits").fill("12")
        served = Served(board.server, board.http, key=student_key(1))
        served.done(TEXT, INPUT)

        row = student(page, "Student 01")
        expect(row.locator(".result")).to_contain_text("a boat made of new paper")
        expect(row.locator(".credits")).to_contain_text("530 of 2,000")
        row.scroll_into_view_if_needed()
        page.wait_for_function("video => video.readyState >= 2", arg=row.locator("video").element_handle())
        expect(page.get_by_label("Credits")).to_have_value("12")
        page.goto(row.locator(".result a").evaluate("link => link.href"))
        page.wait_for_function("() => document.querySelector('video').currentTime > 0")


def test_buttons_act_at_once_and_say_so(chromium: Browser, board: Board) -> None:
    """Pause keeps the focus where it was; marked students are topped up, and then are marked no more."""
    with opened(chromium, board) as page:
        expect(page.locator("#live")).to_have_text("● Live")
        pause = page.get_by_role("button", name="Pause Student 03")
        pause.focus()
        page.keyboard.press("Enter")
        expect(page.locator("#notice")).to_have_text("Paused: 1 student. Runs in progress continue.")
        expect(student(page, "Student 03")).to_contain_text("paused")
        expect(page.get_by_role("button", name="Resume Student 03")).to_be_focused()

        for name in ("Student 04", "Student 05"):
            page.get_by_role("checkbox", name=name).check()
        expect(page.locator("option").first).to_have_text("the 2 ticked")
        page.get_by_label("Credits").fill("70")
        page.get_by_label("Credits").press("Enter")
        page.get_by_role("button", name="Top up").click()
        expect(student(page, "Student 04").locator(".credits")).to_contain_text("of 2,070")
        expect(student(page, "Student 05").locator(".credits")).to_contain_text("of 2,070")
        expect(page.locator("#notice")).to_have_text("70 credits more for 2 students.")
        expect(page.locator("tbody input:checked")).to_have_count(0)

        page.get_by_role("button", name="Top up").click()
        expect(page.locator("#notice")).to_contain_text("Nobody is selected")
        shot(page, "board-notice")


def test_it_works_without_scripts(chromium: Browser, board: Board) -> None:
    """Plain forms: pause, top up, and a new key after a question, each on a page that says what was done."""
    with opened(chromium, board, java_script_enabled=False) as page:
        page.get_by_role("button", name="Pause Student 08").click()
        expect(page.locator("#notice")).to_contain_text("Paused: 1 student")
        assert page.url.startswith(board.url + "?")
        page.get_by_role("checkbox", name="Student 08").check()
        page.get_by_label("Credits").fill("5")
        page.get_by_role("button", name="Top up").click()
        expect(student(page, "Student 08").locator(".credits")).to_contain_text("of 2,005")
        page.get_by_role("checkbox", name="Student 08").check()
        page.get_by_role("button", name="Replace keys").click()
        page.get_by_role("button", name="Replace").click()
        expect(page.locator("dd.key")).to_have_text(KEY)
        shot(page, "board-keys")
        page.get_by_role("link", name="Back to the class").click()
        expect(page.locator("tbody input[type=checkbox]")).to_have_count(60)
        expect(page.locator("body")).not_to_contain_text(KEY)
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_label("Token of the board")).to_be_visible()


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_it_fits_and_can_be_read(chromium: Browser, board: Board, scheme: Scheme, width: int) -> None:
    """From a telephone's width on, in both schemes; nothing that axe calls serious."""
    with opened(chromium, board, viewport={"width": width, "height": 800}, color_scheme=scheme) as page:
        expect(page.locator("#live")).to_have_text("● Live")
        shot(page, f"board-{scheme}-{width}")

        assert overflow(page) == 0
        assert beyond(page, "body") == []
        assert faint(page, "body") == []
        assert findings(page, "body", colours=False) == []


def test_a_keyboard_reaches_everything(chromium: Browser, board: Board) -> None:
    """Each control has its place in the order, and shows that it has the focus."""
    with opened(chromium, board) as page:
        # Two rows stand for all, which have the same controls.
        page.evaluate(
            "document.querySelectorAll('tbody tr:nth-child(n+4), tbody:nth-of-type(n+2)').forEach(row => row.remove())"
        )

        reached = tabbed(page, "body")

        assert len(reached.controls) > 12
        assert (reached.missed, reached.unseen) == ([], [])


def test_hostile_names_and_prompts_are_text(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Names and prompts that are markup, on the page and as it changes: nothing runs and nothing outside is asked for."""
    payloads = PAYLOADS[:: max(1, len(PAYLOADS) // 60)]
    names = [f"{one.number} {one.text}"[:100] for one in payloads if one.text.isprintable()]
    prompts = [one.text for one in payloads if one.text.isprintable()]
    with (
        running_board(
            tmp_path_factory.mktemp("hostile"), names, runs=len(names) * 2, prompts=prompts, groups=2
        ) as board,
        opened(chromium, board) as page,
    ):
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.reload()
        expect(page.locator("#live")).to_have_text("● Live")
        board.change(do="pause", whom="all")
        expect(page.get_by_role("button", name="Resume ")).to_have_count(len(names) + 1)
        page.goto(page.locator(".result a").first.evaluate("link => link.href"))

        assert page.evaluate("top.__pwned") is None
        assert [url for url in asked if not url.startswith((board.server.base_url, "data:,"))] == []
        control = next(one for one in PAYLOADS if one.place == "text" and "onerror" in one.text)
        page.goto("about:blank")
        page.set_content(control.raw)
        page.wait_for_function("top.__pwned !== undefined")
