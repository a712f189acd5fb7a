"""Pages without JupyterLab, in which no script may fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Dialog, Error, Page, Request

PAGE = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>.</title><style>:root{{color-scheme:light dark}}"
    "@media (prefers-color-scheme:dark){{:root{{color-scheme:dark;background:#121212}}}}body{{margin:16px}}</style><h1>.</h1>{}"
)

Open = Callable[..., Page]


@contextmanager
def without_errors(page: Page) -> Iterator[Page]:
    """The page; afterwards no script of it may have failed meanwhile."""
    errors: list[str] = []

    def note(error: Error) -> None:
        errors.append(str(error))

    page.on("pageerror", note)
    yield page
    page.remove_listener("pageerror", note)
    assert errors == []


@contextmanager
def new_page(chromium: Browser, **options: Any) -> Iterator[Page]:
    """A page of its own context, made with these options."""
    context = chromium.new_context(**options)
    with without_errors(context.new_page()) as page:
        yield page
        context.close()


@contextmanager
def from_disk(chromium: Browser, path: Path, **options: Any) -> Iterator[tuple[Page, list[str]]]:
    """A page of its own folder, cut off from any network; every address outside that it asks for, and its complaints."""
    context = chromium.new_context(offline=True, **{"viewport": {"width": 1200, "height": 900}, **options})
    page, noted = context.new_page(), list[str]()

    def note_dialog(dialog: Dialog) -> None:
        noted.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def note_request(request: Request) -> None:
        if not request.url.startswith(("data:", "blob:", path.parent.as_uri())):
            noted.append(request.url)

    page.on("request", note_request)
    page.on("pageerror", lambda error: noted.append(f"uncaught: {error}"))
    page.on("dialog", note_dialog)
    page.goto(path.as_uri())
    yield page, noted
    context.close()


def fill(
    page: Page,
    folder: Path,
    *html: str,
    width: int = 1000,
    height: int = 900,
    color_scheme: Any = "light",
    reduced_motion: Any = "no-preference",
) -> Page:
    """The page with this markup in place of what was on it, from a file: elsewhere browsers decode no single frames."""
    page.goto("about:blank")
    page.mouse.move(0, 0)
    page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion, media="screen")
    page.set_viewport_size({"width": width, "height": height})
    path = folder / "page.html"
    path.write_text(PAGE.format("".join(html)), encoding="utf-8")
    page.goto(path.as_uri())
    return page
