"""From Python into a form and back: inputs, the code that a form writes, and the draft that it keeps stay the same thing."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reelbook
from reelbook.models.base import Input
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images import Image, pictures_of
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.models.smart_resize import SmartResize
from reelbook.models.text_to_video import LoRA, TextToVideo
from tests.models.inputs import IMAGE_TO_VIDEO, IMAGES_TO_VIDEO, SMART_RESIZE, TEXT_TO_VIDEO
from tests.support import png
from tests.widgets.forms.described import EACH_KIND, KINDS, inputs
from tests.widgets.forms.page import Page

SIZES = [pytest.param(6, id="ci"), pytest.param(500, id="deep", marks=[pytest.mark.deep, pytest.mark.timeout(900)])]
"""How many inputs of each kind make the journey: 36 in all, or 8,000."""

OWN: dict[str, st.SearchStrategy[Any]] = {
    "TextToVideo": TEXT_TO_VIDEO,
    "ImageToVideo": IMAGE_TO_VIDEO,
    "SmartResize": SMART_RESIZE,
    "ImagesToVideo": IMAGES_TO_VIDEO,
}

BOAT, SHIP = png(64, 48), png(48, 64)
HARD: list[Input] = [
    TextToVideo(prompt="it's a \"boat\"\\\n\twith '''three''' quotes \u2028\u202e{0}%s${x}😀\x00\x7f"),
    TextToVideo(prompt="", seed=10**4000),
    TextToVideo(prompt="a", seed=-(2**53) - 1, num_frames=9.0, temporal_adain_factor=0.15000000000000002),
    TextToVideo(prompt="a", loras=[LoRA(path='it\'s/a "path"\n', scale=4), LoRA(path="", weight_name="")]),
    ImageToVideo(prompt="a", image_url=BOAT),
    ImageToVideo(prompt="a", image_url='C:\\it\'s a\n"boat".png', cfg_scale=5e-324),
    ImageToVideo(prompt="a", image_url="file_0a1b"),
    ImageToVideo(prompt="a", image_url=Image.from_library("0" * 64)),
    ImagesToVideo(images=[BOAT, "~/boat.png", SHIP, BOAT], fps=23.976),
    SmartResize(image_url=SHIP, target_sizes=[(16, 16), "1080x1920", (16, 16)], seed=2**64),
    KINDS["upscaler"](image_url=BOAT, factor=1.5, reference_image_urls=[SHIP, "https://example.org/a.png"]),
    KINDS["upscaler"](image_url="", factor=3.0, seed=2**63 - 1, mask=None, gamma=None),
    KINDS["segmenter"](mode="prompts", photo=BOAT, prompts=[{"type": "point", "at": [0, 1]}]),
    KINDS["training_job"](images=[{"image_url": BOAT}], trigger_word="boat", class_="a", extra={"None": None}),
    KINDS["hostile_words"](**{"copy": 1, "__text__": "undefined", "map": {"__text__": "{", "__proto__": ""}, "": True}),
    KINDS["hostile_words"](copy=1, unlimited={"__text__": "{"}, deep=[{"__proto__": "", "__text__": ""}]),
    KINDS["voice_cloner"](text="a", voice="ada", quality="best", big=2**53 + 1, speed=None),
    KINDS["voice_cloner"](text=["a"], voice="ada", quality="1", nothing=None, language="xx", accent="north"),
    KINDS["voice_cloner"](text="a", voice={"sample_url": "https://example.org/a.wav"}, quality={"bits": 16}),
    KINDS["transcriber"](
        audio_url="a",
        language="en",
        beam=1,
        speakers=False,
        hints=[],
        extra=[10**30, "1", None, {"": [True]}],
        context="",
    ),
]
"""Inputs that are easily changed on the way."""


BY_ID: dict[str, type[Input]] = {kind.endpoint_id: kind for kind in KINDS.values()}
"""What a connected service would have: every model of these tests."""
RB = SimpleNamespace(**{**{name: getattr(reelbook, name) for name in reelbook.__all__}, "model": BY_ID.__getitem__})
"""What `rb` is in a notebook."""


@pytest.fixture(scope="module")
def pages() -> Iterator[dict[type[Input], Page]]:
    """A page for each kind, opened once."""
    opened = {kind: Page(kind) for kind in KINDS.values()}
    yield opened
    for page in opened.values():
        page.form.close()


def comes_back(page: Page, request: Input) -> None:
    """Put inputs into a form and take them out in each way there is."""
    page.form.value = request

    assert page.places == []
    assert page.form.value == request
    assert page.form.value.wire() == request.wire()
    assert page.form.draft == json.loads(json.dumps(page.form.draft, allow_nan=False))
    again = eval(page.form.code, {"rb": RB})
    assert again == request
    assert again.wire() == request.wire()


@pytest.mark.parametrize("examples", SIZES)
@pytest.mark.parametrize("name", EACH_KIND)
def test_inputs_come_back_out_of_a_form(pages: dict[type[Input], Page], name: str, examples: int) -> None:
    """`form.value = x` shows x, `form.value` is x again, and so is what `form.code` gives when it is run."""
    kind = KINDS[name]
    drawn = OWN[name] if name in OWN else inputs(name).map(lambda values: kind(**values))

    @settings(max_examples=examples, database=None)
    @given(drawn)
    def journey(request: Input) -> None:
        comes_back(pages[kind], request)

    journey()


@pytest.mark.parametrize("request_", HARD, ids=lambda request: type(request).__name__)
def test_hard_inputs_come_back_out_of_a_form(pages: dict[type[Input], Page], request_: Input) -> None:
    """Quotes, line breaks, long numbers, odd names, and pictures of every sort."""
    comes_back(pages[type(request_)], request_)


@pytest.mark.parametrize("request_", HARD, ids=lambda request: type(request).__name__)
def test_a_draft_that_is_typed_anew_gives_the_same_inputs(pages: dict[type[Input], Page], request_: Input) -> None:
    """What the page was given, sent back by the page value for value, is what it was."""
    page = pages[type(request_)]
    page.form.value = request_
    draft = json.loads(json.dumps(page.form.draft))

    for name, value in ((name, value) for name, value in draft.items() if name in page.names):
        page.send(name)
        page.send(name, value)

    assert page.form.value == request_


@pytest.mark.parametrize(
    "request_", [one for one in HARD if pictures_of(one)], ids=lambda request: type(request).__name__
)
def test_no_bytes_of_a_picture_are_kept_in_a_draft(pages: dict[type[Input], Page], request_: Input) -> None:
    """Content in memory is named by its hash; what goes to the page and into the notebook is short text."""
    page = pages[type(request_)]
    page.form.value = request_

    kept = json.dumps([page.form.draft, page.form.state, page.form.code])

    in_memory = [picture for _, picture in pictures_of(request_) if isinstance(picture, Image) and picture.content]
    assert all(picture in kept for picture in in_memory)
    for picture in in_memory:
        assert picture.content is not None
        assert base64.b64encode(picture.content)[20:60].decode() not in kept
    after = [picture for _, picture in pictures_of(page.form.value)]
    assert [getattr(one, "content", None) for one in after] == [
        getattr(one, "content", None) for _, one in pictures_of(request_)
    ]
