"""The picture fields of inputs, and the values that they hold."""

from __future__ import annotations

import copy
import hashlib
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from reelbook.errors import InvalidInput, ReelbookError
from reelbook.models.base import WIRE, File, Input
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images import Image, pictures_of
from reelbook.models.images_to_video import Frame, ImagesToVideo
from reelbook.models.smart_resize import ResizedImage, SmartResize
from reelbook.models.text_to_video import LoRA, TextToVideo

DOT = np.zeros((2, 3), np.uint8)
ADDRESSES = [
    "https://example.org/a.png",
    "http://127.0.0.1:8600/files/a/b.png",
    "HTTPS://EXAMPLE.ORG/A",
    "data:image/png;base64,AAAA",
    "DATA:,",
    "file_0a1b2c",
]
PATHS = [
    "boat.png",
    "~/boat.png",
    "../a b/c",
    "file_of_mine.png",
    "file_",
    "https",
    "datafile",
    "ftp://example.org/a",
    " ",
]


def png(array: Any = DOT) -> bytes:
    out = io.BytesIO()
    Pillow.fromarray(array).save(out, "PNG")
    return out.getvalue()


def closer(picture: Any) -> ImageToVideo:
    return ImageToVideo(prompt="closer", image_url=picture)


@pytest.mark.parametrize("address", ADDRESSES)
def test_what_a_service_reads_by_itself_stays_plain_text(address: str) -> None:
    """An address, the content as an address, and the name of an upload."""
    held = closer(address).image_url

    assert (held, type(held)) == (address, str)
    assert type(Image.of(address)) is str


@pytest.mark.parametrize("path", PATHS)
def test_any_other_text_is_a_path(path: str) -> None:
    """It is kept as it was typed, and not looked at before the run is sent."""
    held = closer(path).image_url

    assert isinstance(held, Image)
    assert (held, held.kind, held.sha256, held.content) == (path, "path", None, None)
    assert closer(Path("boats") / "a.png").image_url == "boats/a.png"


@pytest.mark.parametrize("text", [*ADDRESSES, *PATHS, "", f"sha256:{'0' * 64}"])
def test_on_the_wire_every_text_stays_as_it_is(text: str) -> None:
    """The service judges what it can fetch; a path of its own machine is none of a caller's business."""
    for values in ({"prompt": "a", "image_url": text}, {"target_sizes": ["16x16"], "image_url": text}):
        kind: type[Input] = ImageToVideo if "prompt" in values else SmartResize
        held = kind.model_validate(values, context=WIRE)["image_url"]
        assert (held, type(held)) == (text, str)
    shown = ImagesToVideo.model_validate({"images": [text, {"url": text, "frames": 2}]}, context=WIRE)
    assert [type(frame.url) for frame in shown.images] == [str, str]


class Result:
    """A finished run, as far as pictures go."""

    def __reel_picture__(self) -> tuple[bytes, str]:
        return png(), "last picture of run 1"


KINDS = {
    "bytes": png(),
    "a bytearray": bytearray(png()),
    "an open file": io.BytesIO(png()),
    "an image": Pillow.fromarray(DOT),
    "an array": DOT,
    "floats": DOT / 255,
    "an earlier result": Result(),
    "a value that was made before": Image.of(DOT),
}


@pytest.mark.parametrize("name", KINDS)
def test_the_same_picture_of_any_kind_is_the_same_value(name: str) -> None:
    """Compared and hashed by content, in every field that takes a picture."""
    value = KINDS[name]
    requests = [
        closer(value),
        SmartResize(image_url=value, target_sizes=["16x16"]),
        ImagesToVideo(images=[value, Frame(url=value, frames=2), {"url": value, "frames": 2}]),
    ]

    found = [picture for request in requests for _, picture in pictures_of(request)]

    assert len(found) == 5
    assert all(isinstance(picture, Image) and picture.kind == "memory" for picture in found)
    decoded = {Pillow.open(io.BytesIO(picture.content)).tobytes() for picture in found if isinstance(picture, Image) and picture.content}  # fmt: skip
    assert decoded == {DOT.tobytes()}
    assert len({(picture, hash(picture)) for picture in found}) == 1


@pytest.mark.parametrize("kind", [File, ResizedImage])
def test_a_file_of_the_service_is_its_address(kind: type[File]) -> None:
    """The service knows its own files; a relative address is none of a path here."""
    assert (
        closer(kind(url="https://example.org/files/a", content_type="image/png")).image_url
        == "https://example.org/files/a"
    )
    assert type(closer(kind(url="files/a")).image_url) is str


def test_a_pickle_brings_the_content_along() -> None:
    """A worker in another process has no other way to it."""
    made = closer(png())
    kept = [pickle.loads(pickle.dumps(made)), made.revised(cfg_scale=0.7), copy.deepcopy(made)]

    held = [request.image_url for request in kept]

    assert [picture.content for picture in held if isinstance(picture, Image)] == [png()] * 3
    assert {(picture.kind, picture.sha256, picture.label) for picture in held if isinstance(picture, Image)} == {
        ("memory", hashlib.sha256(png()).hexdigest(), "bytes")
    }


def test_a_picture_is_no_text_for_a_prompt() -> None:
    """Its text is a path or a hash, and nobody means to say that."""
    for picture in (Image.of("boat.png"), Image.of(DOT)):
        for kind, field in ((TextToVideo, "prompt"), (LoRA, "path"), (ImageToVideo, "prompt")):
            with pytest.raises(InvalidInput, match=f"`{field}` needs text"):
                kind(**{"image_url": "a", field: picture} if kind is ImageToVideo else {field: picture})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (5, "`image_url` needs a picture and has 5. Give a path,"),
        (None, "`image_url` needs a picture and has None."),
        ("", "`image_url` is empty. Give a path, an address, or a picture."),
        (b"hello", "`image_url` is no picture;"),
        (np.zeros((3, 4, 5)), "`image_url` is an array of shape (3, 4, 5)."),
        ("half of a pair: \ud800", "`image_url` needs text that can be written as UTF-8"),
        (Path("\udcff.png"), "`image_url` needs text that can be written as UTF-8"),
    ],
)
def test_a_wrong_value_is_told_by_its_field(value: Any, words: str) -> None:
    """And the problem is light enough to be kept and pickled."""
    with pytest.raises(InvalidInput) as caught:
        closer(value)

    assert words in str(caught.value)
    assert [problem.field for problem in caught.value.problems] == ["image_url"]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def broken(error: Exception) -> Any:
    class Broken:
        def __reel_picture__(self) -> tuple[bytes, str]:
            raise error

    return Broken()


def test_a_value_that_cannot_be_read_is_told_with_its_reason() -> None:
    """Whatever a stranger's object raises."""
    for error in (
        ReelbookError("The video is damaged."),
        OSError("The video is damaged."),
        ZeroDivisionError("The video is damaged."),
    ):
        with pytest.raises(InvalidInput, match=r"`image_url` could not be read[.:] The video is damaged\."):
            closer(broken(error))
    with pytest.raises(KeyboardInterrupt):
        closer(broken(KeyboardInterrupt()))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "picture", ["a.png", Path("a.png"), DOT, np.zeros((20, 30, 3)), Pillow.fromarray(DOT), png(), io.BytesIO(png()), Frame(url="a", frames=2), File(url="https://a.org")], ids=lambda value: type(value).__name__
)  # fmt: skip
def test_one_picture_is_no_list_of_pictures(picture: Any) -> None:
    """An array would fall apart into its rows, a file into its lines, and nobody would notice before the video."""
    with pytest.raises(
        InvalidInput, match=r"^ImagesToVideo: `images` needs a list and has one picture: put it in brackets\.$"
    ):
        ImagesToVideo(images=picture)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (TextToVideo(prompt="a", loras=[LoRA(path="b")]), []),
        (ImageToVideo(prompt="a", image_url="b.png"), [(("image_url",), "b.png")]),
        (SmartResize(image_url="b.png", target_sizes=["300x600"]), [(("image_url",), "b.png")]),
        (
            ImagesToVideo(images=["a.png", Frame(url="https://b.org", frames=2)]),
            [(("images", 0, "url"), "a.png"), (("images", 1, "url"), "https://b.org")],
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_pictures_of_an_input_are_found_with_their_places(request_: Input, expected: list[Any]) -> None:
    """The path of a LoRA is no picture: nobody opens or fetches it."""
    assert pictures_of(request_) == expected
