"""Fixtures of the browser tests: one Chromium for each module, one JupyterLab for all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.lab import Lab

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


# Not for the whole session: while Playwright lives, its thread counts as one with a running event loop,
# and tests of other modules may want to run their own.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    path = chromium_path()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab server; nine seconds to start, so that all tests share it."""
    with Lab(tmp_path_factory.mktemp("lab")) as running:
        yield running
