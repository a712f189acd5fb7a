"""What a form takes and what the class takes are the same, over odd values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reelbook as rb
from reelbook.errors import InvalidInput, ReelbookError
from reelbook.models.base import Input
from reelbook.models.catalog import CATALOG
from reelbook.models.smart_resize import FORMATS
from tests.support import examples
from tests.widgets.forms.page import Page

WHOLE: dict[type[Input], dict[str, Any]] = {
    rb.TextToVideo: {"prompt": "a boat"},
    rb.ImageToVideo: {"prompt": "a boat", "image_url": "https://example.org/a.png"},
    rb.SmartResize: {"image_url": "https://example.org/a.png", "target_sizes": ["300x600"]},
    rb.ImagesToVideo: {"images": [{"url": "https://example.org/a.png", "frames": 24}]},
}
ODD = st.one_of(
    st.sampled_from([
        "", " ", "  a  ", "a\n", "story", "Story", "FULL HD", "1080X1920", "1080 × 1920", " 300*600px ", "49", "49.0", "1e3", "0x10",
        "16:9", " 16:9", "16:9 ", "480P", "720p", "True", "none", "null", 0, -0.0, 1, 9, 49.0, 0.15, 1441, 2**53 + 1, True, False, None,
        [], [""], ["story"], ["300 x 600", "pin"], [300, 600], {}, {"path": "a"}, [{"path": ""}], [{"path": "a", "scale": 9}],
    ]),
    st.text(max_size=6),
    st.integers(-5, 2000),
    st.floats(-2, 5, allow_nan=False),
    st.sampled_from([name for group in FORMATS.values() for name in group]).map(lambda name: [name]),
)  # fmt: skip
FIELDS = [(row.input, name) for row in CATALOG for name in row.input.model_fields]


@pytest.fixture(scope="module")
def pages() -> dict[type[Input], Page]:
    return {kind: Page(kind) for kind in WHOLE}


@settings(max_examples=examples(80, 300))
@given(place=st.sampled_from(FIELDS), value=ODD)
def test_a_form_takes_from_python_what_the_class_takes(pages: dict[type[Input], Page], place: Any, value: Any) -> None:
    """The same value, the same answer, and the same request where it is taken."""
    kind, name = place
    page = pages[kind]
    page.form.fill(kind(**WHOLE[kind]))

    try:
        expected: Input | None = kind(**{**WHOLE[kind], name: value})
    except InvalidInput:
        expected = None
    try:
        page.form.edit(name, value)
        found = page.value()
    except ReelbookError:
        found = None

    assert found == expected


@pytest.mark.parametrize("prompt", ["", " ", "  a  ", "a\n"])
def test_a_text_is_sent_as_it_was_typed(prompt: str) -> None:
    """Also an empty one, which is a text like any other; nothing is trimmed."""
    page = Page(rb.TextToVideo)

    page.edit("prompt", prompt)

    assert page.value() == rb.TextToVideo(prompt=prompt)
