"""The sheet of keys on paper: A4, six whole strips on each page, and nothing cut off."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from reelbook_service.accounts import new_key
from reelbook_service.class_admin import NewKey
from reelbook_service.key_sheet import render_key_sheet

LONG_NAME = "Jean-Baptiste Emmanuel Zorg von und zu Hohenstein-Lautenbach the Third, 李小龙"


@pytest.mark.parametrize(
    ("address", "pages"),
    [
        ("http://192.168.1.20:8600", 5),
        ("https://hub.university.example.org/user/teacher/proxy/8600", 5),
        (f"https://{'reels.' * 12}example.org", 6),
    ],
)
def test_thirty_strips_fit_five_pages(chromium: Browser, tmp_path: Path, address: str, pages: int) -> None:
    """Nothing is larger than its strip, which grows with a very long address; codes have the size that a phone reads."""
    keys = [NewKey(LONG_NAME if number == 3 else f"Student {number}", "7 A", new_key()) for number in range(30)]
    path = tmp_path / "keys.html"
    path.write_text(render_key_sheet(keys, address), encoding="utf-8")
    context = chromium.new_context(offline=True, viewport={"width": 794, "height": 1123})
    page = context.new_page()
    page.goto(path.as_uri())

    printed = page.pdf(prefer_css_page_size=True)
    page.emulate_media(media="print")
    strips = page.evaluate(
        """() => [...document.querySelectorAll("section")].map(strip => {
            const box = strip.getBoundingClientRect(), inner = strip.firstElementChild, code = strip.querySelector("svg")
            return {height: box.height, over: inner.scrollHeight - strip.clientHeight, wide: inner.scrollWidth - inner.clientWidth,
                    code: code.getBoundingClientRect().width}
        })"""
    )
    context.close()

    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == pages
    assert re.search(rb"/MediaBox\s*\[\s*0 0 59[45]\.?\d* 84[12]\.?\d*\s*\]", printed)
    assert len(strips) == 30
    assert max(strip["over"] for strip in strips) <= 0
    assert max(strip["wide"] for strip in strips) <= 0
    # 36 mm, at 96 pixels to the inch.
    assert min(strip["code"] for strip in strips) > 130
