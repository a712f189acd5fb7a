"""Pictures in described inputs: where they are taken, what becomes of them, and what is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from reelbook.errors import InvalidInput
from reelbook.models.base import File
from reelbook.models.described import describe
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images import Image, pictures_of
from reelbook.models.images_to_video import Frame, ImagesToVideo
from reelbook.models.smart_resize import SmartResize
from tests.models.described_inputs import document, with_fields, wrapped

DOT = np.zeros((2, 3), np.uint8)
STRING = {"type": "string"}
MARKED = {"type": "string", "x-media": "image"}

PLACES = {
    "marked": ("look", MARKED),
    "marked, and may be null": ("look", {"anyOf": [MARKED, {"type": "null"}]}),
    "an address whose title says picture": ("start", {"type": "string", "format": "uri", "title": "Start Picture"}),
    "in another spelling": ("startImage", {"type": ["string", "null"], "format": "url"}),
    "named the address of an image": ("tail_image_url", STRING),
    "in other words": ("photo-uri", STRING),
}
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "any text": ("prompt", STRING),
    "an address of something else": ("video_url", {"type": "string", "format": "uri"}),
    "a word about pictures": ("image_style", STRING),
    "a choice": ("image_url", {"type": "string", "enum": ["a.png", "b.png"]}),
    "anything": ("image_url", {}),
    "a number": ("image_url", {"type": "integer"}),
    "marked as something else": ("image_url", {"type": "string", "x-media": "video"}),
}


@pytest.mark.parametrize("case", PLACES)
def test_a_place_for_a_picture_takes_what_any_picture_field_takes(case: str) -> None:
    """By its mark, or by what its name and format say together."""
    name, rule = PLACES[case]
    kind = describe(with_fields({name: rule}))

    for value in (DOT, Pillow.fromarray(DOT), Path("a.png"), "a.png", File(url="https://a.org")):
        request = kind(**{name: value})
        ((place, picture),) = pictures_of(request)
        assert place == (name,)
        assert (picture, type(picture)) == (Image.of(value), type(Image.of(value)))
        assert type(request.wire()[name]) is str


@pytest.mark.parametrize("case", OTHERS)
def test_any_other_place_is_left_alone_unless_an_image_is_given(case: str) -> None:
    """Text stays text there, and no picture is found; an `Image` says that it is one, whatever the rules for texts."""
    name, rule = OTHERS[case]
    value = 5 if rule.get("type") == "integer" else "a.png"
    kind = describe(with_fields({name: rule, "reference": {**STRING, "maxLength": 3}}))

    request = kind(**{name: value})
    given = kind(reference=Image.of("boat.png"))

    assert type(request[name]) is type(value)
    assert pictures_of(request) == []
    assert pictures_of(given) == [(("reference",), "boat.png")]
    with pytest.raises(InvalidInput):
        kind(reference=Pillow.fromarray(DOT))


@pytest.mark.parametrize("text", ["", "none", "gs://bucket/a.png", "https://example.org/a.png", "data:,", "file_0a"])
def test_a_text_that_may_mean_something_to_the_service_stays_as_it_is(text: str) -> None:
    """Nothing at all, the default, a scheme that it may know, and every address."""
    request = describe(with_fields({"image_url": {**MARKED, "default": "none"}}))(image_url=text)

    assert (request.image_url, type(request.image_url)) == (text, str)


NESTED = document(
    {"type": "object", "properties": {"shots": {"type": "array", "items": {"$ref": "#/components/schemas/Shot"}}, "image_urls": {"type": "array", "items": STRING}}},
    Shot={"type": "object", "properties": {"image_url": STRING, "length": {"type": "integer", "default": 3}, "after": {"$ref": "#/components/schemas/Ending"}}},
    Ending={"type": "object", "properties": {"image_url": STRING}},
)  # fmt: skip


def test_pictures_are_found_at_any_depth() -> None:
    """In objects of objects in lists; a stack of arrays is a list, one is not."""
    kind = describe(NESTED)
    request = kind(
        shots=[{"image_url": DOT, "after": {"image_url": "b.png"}}, {"length": 2}], image_urls=["https://a.org", DOT]
    )

    assert pictures_of(request) == [
        (("shots", 0, "image_url"), Image.of(DOT)),
        (("shots", 0, "after", "image_url"), "b.png"),
        (("image_urls", 0), "https://a.org"),
        (("image_urls", 1), Image.of(DOT)),
    ]
    assert request.shots[0].image_url.content == Image.of(DOT).content  # type: ignore[attr-defined]
    assert request.shots[0].length == 3
    assert len(kind(image_urls=np.zeros((5, 4, 6, 3))).image_urls) == 5
    for alone in (np.zeros((4, 6, 3)), Pillow.fromarray(DOT), b"...", Path("a.png")):
        with pytest.raises(InvalidInput, match="`image_urls` needs a list and has one picture: put it in brackets"):
            kind(image_urls=alone)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (ImageToVideo, {"prompt": "a", "image_url": DOT}),
        (SmartResize, {"image_url": Path("a.png"), "target_sizes": ["16x16"]}),
        (ImagesToVideo, {"images": [Frame(url=DOT, frames=2), {"url": "b.png", "frames": 3}]}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_our_own_models_take_the_same_pictures_once_described(kind: Any, values: dict[str, Any]) -> None:
    """A picture that stands in a value of ours keeps its content, too."""
    ours, theirs = kind(**values), describe(wrapped(kind))(**values)

    assert pictures_of(theirs) == pictures_of(ours)
    assert theirs.wire() == ours.wire()
    assert theirs == theirs.revised()
    contents = [[getattr(picture, "content", None) for _, picture in pictures_of(one)] for one in (ours, theirs)]
    assert contents[0] == contents[1]
