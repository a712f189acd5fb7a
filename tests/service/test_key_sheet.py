"""The printable sheet: one strip for each student, with everything to begin, and nothing from elsewhere."""

from __future__ import annotations

import html
import re

import pytest
import segno

from reelbook_service import key_sheet
from reelbook_service.accounts import new_key
from reelbook_service.class_admin import NewKey
from reelbook_service.key_sheet import FIRST_RUN, connect_line, render_key_sheet
from tests.hostile import TEXTS

ADDRESS = "http://192.168.1.20:8600"


def strokes(text: str) -> str:
    """The path of the QR code of a text."""
    return re.search(r' d="([^"]+)"', segno.make(text, error="m", micro=False, boost_error=False).svg_inline(border=4))[
        1
    ]  # type: ignore[index]


def test_each_student_has_a_strip_with_name_address_key_and_two_lines() -> None:
    """In the order given, and each with its own key alone; nothing comes from elsewhere, and a policy would stop it."""
    keys = [NewKey(f"Student {number}", "7 A", new_key()) for number in range(30)]

    page = render_key_sheet(keys, ADDRESS)

    strips = page.split("<section>")[1:]
    assert len(strips) == 30
    for key, strip in zip(keys, strips, strict=True):
        text = html.unescape(re.sub(r"<[^>]+>", "", strip.split("<svg")[0]))
        assert key.name in text
        assert "7 A" in text
        assert f"Address{ADDRESS}Key{key.key}" in text
        assert connect_line(ADDRESS, key.key) + FIRST_RUN in text
        assert strokes(connect_line(ADDRESS, key.key)) in strip
        assert sum(other.key in strip for other in keys) == 1
    # The name of SVG is no place from which anything is loaded.
    assert set(re.findall(r"https?://[^\s\"'<&]+", page)) - {"http://www.w3.org/2000/svg"} == {ADDRESS}
    assert "default-src 'none'" in page
    assert not re.search(r"<script|\bsrc=|\bhref=|@import|url\(", page)


def test_the_page_warns_of_an_address_that_no_student_can_reach() -> None:
    """In a note above the strips, which is not printed; an address in the network has none."""
    address = "http://localhost:8600"
    keys = [NewKey("Ada", "", new_key())]

    page = render_key_sheet(keys, address)

    assert f"Only this machine can reach {address}: students at other computers cannot." in page.split("<section>")[0]
    assert "reelbook serve --host 0.0.0.0" in page
    assert "<code>--address</code>" in page
    assert "Only this machine" not in render_key_sheet(keys, ADDRESS)


def test_hostile_names_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names come from lists that others write; the codes, which have none in them, are left out for their time."""
    monkeypatch.setattr(key_sheet, "render_qr_code", lambda text: "")

    page = render_key_sheet([NewKey(text, text, "rb-key") for text in TEXTS], ADDRESS)

    allowed = {"html", "meta", "title", "style", "p", "code", "main", "section", "div", "h2", "small", "dl", "dt", "dd", "ol", "li"}  # fmt: skip
    assert set(re.findall(r"<([a-zA-Z][a-zA-Z0-9]*)", page)) <= allowed
