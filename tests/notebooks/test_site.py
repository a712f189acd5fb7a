"""The documentation as `make docs` has built it: run with `--site build/docs`, as .ci/run does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from playwright.sync_api import Browser, sync_playwright

import reelbook as rb
from tests.browser import axe
from tests.browser.conftest import FLAGS, chromium_path
from tests.notebooks.saved_pages import sample
from tests.notebooks.test_notebooks import SHOWN, find_missing, stored

pytestmark = [pytest.mark.site, pytest.mark.browser]
LOOKED_AT = [
    *("index", "guides/money", "guides/class", "guides/a-run", "guides/the-house", "reference/inputs", "reference/runs"),
    *("reference/command-line", "01-first-video", "04-look-and-compare", "05-forms-and-studio"),
]
MAX_BYTES = 60_000_000


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest) -> Path:
    return Path(request.config.getoption("--site")).resolve()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        yield chromium
        chromium.close()


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def links_of(page: Path) -> list[str]:
    """What a page links to and embeds, less what reports and clips inside of it do."""
    outside_frames = re.sub(r"srcdoc=(\"[^\"]*\"|'[^']*')", "", text_of(page))
    return re.findall(r'<(?:a|img|script|link)\b[^>]*?\b(?:href|src)="([^"]+)"', outside_frames)


def test_every_link_leads_somewhere(site: Path) -> None:
    """To a page or picture of the site, and where a place on a page is named, that place is there."""
    broken = []
    pages = [page for page in site.rglob("*.html") if "_static" not in page.parts]
    for page in pages:
        for link in links_of(page):
            if urlsplit(link).scheme:
                continue
            path, place = urldefrag(unquote(link))
            target = (page.parent / path.partition("?")[0]).resolve() if path else page
            if not target.exists():
                broken.append(f"{page.relative_to(site)}: {link}")
            elif place and target.suffix == ".html" and f'id="{place}"' not in text_of(target):
                broken.append(f"{page.relative_to(site)}: {link} has no such place")

    assert len(pages) > 40
    assert broken == []


def test_it_is_small_and_names_nothing_elsewhere(site: Path) -> None:
    """60 MB at most, and no script, style, font or picture from another host."""
    loaded = re.compile(r"<(?:script|img|link|iframe|source|video)\b[^>]*?\b(?:src|href)=\"https?://[^\"]*\"")

    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) <= MAX_BYTES
    assert {hit for page in site.rglob("*.html") for hit in loaded.findall(text_of(page))} == set()


def test_every_public_name_has_an_entry(site: Path) -> None:
    """The reference knows each name that a notebook types."""
    reference = "".join(text_of(page) for page in (site / "reference").glob("*.html"))

    missing = {name for name in rb.__all__ if name != "__version__" and f'id="reelbook.{name}"' not in reference}
    assert missing == set()


def test_bounds_of_a_field_are_readable(site: Path) -> None:
    """`num_frames: int = 121, 9 to 1441`, and no pydantic."""
    inputs = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", text_of(site / "reference" / "inputs.html")))

    assert "num_frames: int = 121, 9 to 1441" in inputs
    assert "Field(" not in inputs


@pytest.mark.parametrize("name", [path.stem for path in sorted(Path("notebooks").glob("*.ipynb"))])
def test_the_clips_of_a_notebook_play(browser: Browser, site: Path, name: str) -> None:
    """Each player draws a picture from the middle of its clip, each picture is there, and nothing is requested from elsewhere."""
    page = sample(browser, site / f"{name}.html")

    assert [problem for clip in page.clips if (problem := clip.find_problem())] == []
    assert [problem for problem in page.problems if "/build/docs/" not in problem] == []


@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_shows_what_it_tells(site: Path, name: str) -> None:
    """Prices, refusals, sizes and counts are those of its text."""
    assert find_missing(stored(site.parent / "jupyter_execute" / f"{name}.ipynb"), name) == []


@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_is_for_everybody(browser: Browser, site: Path, name: str) -> None:
    """axe finds nothing serious in the text, light or dark, and nothing sticks out on a phone."""
    for scheme, width in (("light", 1280), ("dark", 1280), ("light", 390)):
        page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 844})  # type: ignore[arg-type]
        page.goto((site / f"{name}.html").as_uri())

        assert axe.findings(page, "article") == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.close()
