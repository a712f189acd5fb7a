"""Files that models make, and pictures that they are given."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from reelbook.models.base import Input
from reelbook.models.files import File, pictures_of
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images_to_video import Frame, ImagesToVideo
from reelbook.models.smart_resize import SmartResize
from reelbook.models.text_to_video import LoRA, TextToVideo


def test_only_the_address_of_a_file_is_certain() -> None:
    """Type, name and size may be null or left out, and are then unknown."""
    nothing = {"content_type": None, "file_name": None, "file_size": None}

    assert File.model_validate({"url": "a"}) == File.model_validate({"url": "a", **nothing}) == File(url="a", **nothing)
    with pytest.raises(ValidationError):
        File.model_validate({"file_name": "a.mp4"})


def test_a_file_keeps_what_the_service_adds() -> None:
    """Width, duration or whatever else comes with it."""
    file = File.model_validate({"url": "a", "file_size": 10, "duration": 2.5})

    assert file.model_dump() == {
        "url": "a",
        "content_type": None,
        "file_name": None,
        "file_size": 10,
        "duration": 2.5,
    }


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (TextToVideo(prompt="a", loras=[LoRA(path="b")]), []),
        (ImageToVideo(prompt="a", image_url="b.png"), [(("image_url",), "b.png")]),
        (SmartResize(image_url="b.png", target_sizes=["300x600"]), [(("image_url",), "b.png")]),
        (
            ImagesToVideo(images=["a.png", Frame(url="b.png", frames=2)]),
            [(("images", 0, "url"), "a.png"), (("images", 1, "url"), "b.png")],
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_pictures_of_an_input_are_found_with_their_places(request_: Input, expected: list[Any]) -> None:
    """The path of a LoRA is no picture: nobody opens or fetches it."""
    assert pictures_of(request_) == expected


def test_fields_for_pictures_are_marked_in_the_schema() -> None:
    """A form shows a place to drop a picture there."""
    schema = ImagesToVideo.model_json_schema()

    assert schema["$defs"]["Frame"]["properties"]["url"]["x-media"] == "image"
    assert schema["properties"]["images"]["items"]["anyOf"][1] == {"type": "string", "x-media": "image"}
    assert SmartResize.model_json_schema()["properties"]["image_url"]["x-media"] == "image"
    assert "x-media" not in TextToVideo.model_json_schema()["$defs"]["LoRA"]["properties"]["path"]
