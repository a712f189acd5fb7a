"""Fixtures of the browser tests: one Chromium and one JupyterLab for all of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.bare_page import Open, fill, without_errors
from tests.browser.lab import Lab
from tests.clips import film

FLAGS = [
    "--no-sandbox",  # CI runs as root.
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium_path() -> Path:
    """The browser that REELBOOK_CHROMIUM names, else Debian's; without one the tests fail, for they are wanted.

    The headless build draws no window of its own, and takes less than half of the processor time.
    """
    found = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    path = Path(os.environ.get("REELBOOK_CHROMIUM") or found or "/usr/bin/chromium")
    if not os.access(path, os.X_OK):
        pytest.fail(
            f"The browser tests need Chromium, and there is none at {path}. "
            "Debian and Ubuntu: apt-get install chromium-headless-shell. Elsewhere: set REELBOOK_CHROMIUM to the path of a Chrome or Chromium.",
            pytrace=False,
        )
    return path


class _Started:
    """Chromium, from the first test that wants it to the last test of this folder."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._browser: Browser | None = None

    def browser(self) -> Browser:
        if self._browser is None:
            path = chromium_path()
            playwright = self._stack.enter_context(sync_playwright())
            self._browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
            self._stack.callback(self._browser.close)
        return self._browser

    def stop(self) -> None:
        self._browser = None
        self._stack.close()


_started = _Started()


# Not for the whole session: while Playwright lives, its thread counts as one with a running event loop,
# and tests of other folders may want to run their own.
@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None]:
    """Stop Chromium when the next test is not one of this folder."""
    try:
        return (yield)
    finally:
        if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
            _started.stop()


@pytest.fixture(scope="module")
def chromium() -> Browser:
    return _started.browser()


@pytest.fixture(scope="module")
def offline_page(chromium: Browser) -> Iterator[Page]:
    """A page that one test after the other fills: a window of its own for each would take longer than the tests."""
    context = chromium.new_context(offline=True)
    yield context.new_page()
    context.close()


@pytest.fixture
def opened(offline_page: Page, tmp_path: Path) -> Iterator[Open]:
    """Shows a page with markup on it, in place of the one before; no script may fail."""
    with without_errors(offline_page):
        yield partial(fill, offline_page, tmp_path)
        offline_page.goto("about:blank")


@pytest.fixture(scope="module")
def clips(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Three clips of different shapes."""
    folder = tmp_path_factory.mktemp("films")
    sizes = [(320, 180), (180, 180), (90, 160)]
    return [str(film(folder / f"{number}.mp4", size=size, frames=24).path) for number, size in enumerate(sizes)]


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab server; nine seconds to start, so that all tests share it."""
    with Lab(tmp_path_factory.mktemp("lab")) as running:
        yield running
