"""Pictures as values of an input: what is accepted, what is sent of it, and what is refused with which words."""

from __future__ import annotations

import copy
import hashlib
import io
import pickle
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import matplotlib.figure
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image as Pillow

from reelbook.errors import InvalidInput, ReelbookError
from reelbook.models.base import WIRE, File, Input
from reelbook.models.file_kinds import HEAD_BYTES, read_size, sniff_kind
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images import MAX_BYTES, MAX_PIXELS, Image, encode_picture, pictures_of
from reelbook.models.images_to_video import Frame, ImagesToVideo
from reelbook.models.smart_resize import ResizedImage, SmartResize
from reelbook.models.text_to_video import LoRA, TextToVideo

RAMP = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20
ADDRESSES = [
    "https://example.org/a.png", "http://127.0.0.1:8600/files/a/b.png", "HTTPS://EXAMPLE.ORG/A",
    "data:image/png;base64,AAAA", "DATA:,", "file_0a1b2c",
]  # fmt: skip
PATHS = ["boat.png", "~/boat.png", "../a b/c", "file_of_mine.png", "file_", "https", "datafile", "ftp://example.org/a", " "]  # fmt: skip


def saved(image: Any, kind: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    (image if isinstance(image, Pillow.Image) else Pillow.fromarray(image)).save(out, kind, **options)
    return out.getvalue()


def closer(picture: Any) -> ImageToVideo:
    return ImageToVideo(prompt="closer", image_url=picture)


def seen(value: Any, mode: str = "RGB") -> NDArray[np.uint8]:
    """The pixels that a value is sent as."""
    return np.asarray(Pillow.open(io.BytesIO(encode_picture(value)[0])).convert(mode))


def test_an_address_stays_plain_text_and_any_other_text_is_a_path() -> None:
    """A path is kept as it was typed, and not looked at before the run is sent."""
    for address in ADDRESSES:
        assert (closer(address).image_url, type(closer(address).image_url)) == (address, str)
        assert type(Image.of(address)) is str
    for path in PATHS:
        picture = closer(path).image_url
        assert isinstance(picture, Image)
        assert (picture, picture.sha256, picture.content) == (path, None, None)
    assert closer(Path("boats") / "a.png").image_url == "boats/a.png"


@pytest.mark.parametrize("text", [*ADDRESSES, *PATHS, "", f"sha256:{'0' * 64}"])
def test_on_the_wire_every_text_stays_as_it_is(text: str) -> None:
    """The service judges what it can fetch; a path of its own machine is none of a caller's business."""
    for values in ({"prompt": "a", "image_url": text}, {"target_sizes": ["16x16"], "image_url": text}):
        kind: type[Input] = ImageToVideo if "prompt" in values else SmartResize
        picture = kind.model_validate(values, context=WIRE)["image_url"]
        assert (picture, type(picture)) == (text, str)
    shown = ImagesToVideo.model_validate({"images": [text, {"url": text, "frames": 2}]}, context=WIRE)
    assert [type(frame.url) for frame in shown.images] == [str, str]


class Result:
    """A finished run, as far as pictures go."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error

    def __reel_picture__(self) -> tuple[bytes, str]:
        if self.error:
            raise self.error
        return saved(RAMP), "last picture of run 1"


@pytest.mark.parametrize(
    "value",
    [saved(RAMP), bytearray(saved(RAMP)), Pillow.fromarray(RAMP), RAMP, RAMP / 255, Result(), Image.of(RAMP)],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_the_same_picture_of_any_kind_is_the_same_value(value: Any) -> None:
    """Compared and hashed by content, in every field that takes a picture."""
    requests = [
        closer(value),
        SmartResize(image_url=value, target_sizes=["16x16"]),
        ImagesToVideo(images=[value, Frame(url=value, frames=2), {"url": value, "frames": 2}]),
    ]

    pictures = [picture for request in requests for _, picture in pictures_of(request)]

    assert len(pictures) == 5
    assert {type(picture) for picture in pictures} == {Image}
    assert len({(picture, hash(picture)) for picture in pictures}) == 1
    assert (seen(pictures[0].content, "L") == RAMP).all()  # type: ignore[attr-defined]


def test_a_file_of_the_service_is_its_address() -> None:
    """The service knows its own files; a relative address is none of a path here."""
    for kind in (File, ResizedImage):
        file = kind(url="https://example.org/files/a", content_type="image/png")
        assert closer(file).image_url == "https://example.org/files/a"
        assert type(closer(kind(url="files/a")).image_url) is str


def test_a_pickle_brings_the_content_along() -> None:
    """A worker in another process has no other way to it."""
    made, content = closer(saved(RAMP)), saved(RAMP)

    for request in (pickle.loads(pickle.dumps(made)), made.revised(cfg_scale=0.7), copy.deepcopy(made)):
        picture: Any = request.image_url
        assert (picture.content, picture.sha256, picture.label) == (
            content, hashlib.sha256(content).hexdigest(), "bytes",
        )  # fmt: skip


def test_a_picture_is_no_text_for_a_prompt() -> None:
    """Its text is a path or a hash, and nobody means to say that."""
    for picture in (Image.of("boat.png"), Image.of(RAMP)):
        for kind, field in ((TextToVideo, "prompt"), (LoRA, "path"), (ImageToVideo, "prompt")):
            with pytest.raises(InvalidInput, match=f"`{field}` needs text"):
                kind(**{"image_url": "a", field: picture} if kind is ImageToVideo else {field: picture})


class OnACard:
    """A tensor that has to be fetched first."""

    shape = (3, 4)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first")


def bomb(width: int, height: int) -> bytes:
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = (header, b"IDAT")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks
    )


REFUSED: list[tuple[Any, str]] = [
    (5, "needs a picture and has 5. Give a path,"),
    (None, "needs a picture and has None."),
    ({"url": "a"}, "needs a picture and has {'url': 'a'}."),
    ([RAMP], "needs a picture and has [array"),
    ("", "is empty. Give a path, an address, or a picture."),
    (b"", "is empty; PNG, JPEG, WebP and GIF can be sent."),
    (b"hello", "is no picture; PNG, JPEG, WebP and GIF can be sent."),
    (saved(RAMP, "TIFF"), "is a TIFF; PNG, JPEG, WebP and GIF can be sent. A picture of another kind can be opened with PIL.Image.open"),
    (b"\x89PNG\r\n\x1a\n", "is a PNG that is damaged or cut short"),
    ("half of a pair: \ud800", "needs text that can be written as UTF-8"),
    (Path("\udcff.png"), "needs text that can be written as UTF-8"),
    (io.BytesIO(saved(RAMP)), "needs a picture and has <_io.BytesIO"),
    (np.zeros((3, 4, 5), np.uint8), "is an array of shape (3, 4, 5). An array is taken with the shape (height, width)"),
    (np.zeros(7), "shape (7,)"),
    (np.zeros((0, 4)), "shape (0, 4)"),
    (np.array([[0.0, 255.0]]), "is an array of float64 with values from 0.0 to 255.0. An array is taken"),
    (np.array([[-0.02, 1.03]]), "values from -0.02 to 1.03"),
    (np.array([[0.5, np.nan]]), "values from nan to nan"),
    (np.array([[-5, 1000]]), "int64 with values from -5 to 1000."),
    (np.array([["a", "b"]]), "<U1"),
    (OnACard(), "could not be read: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()"),
    (Pillow.fromarray(np.array([[-4, 3000]], np.float32)), "a grey image of mode F"),
    (Pillow.fromarray(np.array([[0, 70000]], np.int32)), "a grey image of mode I"),
    (bomb(10_000, 4_001), "has 10,000 × 4,001 pixels; the limit is 40 megapixels"),
    (bomb(50_000, 50_000), "has 50,000 × 50,000 pixels; the limit is 40 megapixels"),
    (np.broadcast_to(np.uint8(0), (8_000, 6_000)), "the limit is 40 megapixels"),
    (Pillow.open(io.BytesIO(bomb(9_000, 5_000))), "the limit is 40 megapixels"),
    *((Result(kind("The video is damaged.")), "could not be read: The video is damaged.") for kind in (ReelbookError, OSError, ZeroDivisionError)),
]  # fmt: skip


@pytest.mark.parametrize(("value", "words"), REFUSED, ids=lambda value: value if isinstance(value, str) else "")
def test_what_is_no_picture_is_told_why(value: Any, words: str) -> None:
    """By its field: what it is instead, and what would be taken; light enough to be kept and pickled."""
    with pytest.raises(InvalidInput) as caught:
        closer(value)

    assert f"`image_url` {words}" in str(caught.value) or words in str(caught.value)
    assert [problem.field for problem in caught.value.problems] == ["image_url"]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(KeyboardInterrupt):
        closer(Result(KeyboardInterrupt()))


@pytest.mark.parametrize(
    "picture", ["a.png", Path("a.png"), RAMP, np.zeros((20, 30, 3)), Pillow.fromarray(RAMP), saved(RAMP), Frame(url="a", frames=2), File(url="https://a.org")], ids=lambda value: type(value).__name__
)  # fmt: skip
def test_one_picture_is_no_list_of_pictures(picture: Any) -> None:
    """An array would fall apart into its rows, a file into its lines, and nobody would notice before the video."""
    with pytest.raises(
        InvalidInput, match=r"^ImagesToVideo: `images` needs a list and has one picture: put it in brackets\.$"
    ):
        ImagesToVideo(images=picture)


def test_the_pictures_of_an_input_are_found_with_their_places() -> None:
    """The path of a LoRA is no picture: nobody opens or fetches it."""
    frames = ImagesToVideo(images=["a.png", Frame(url="https://b.org", frames=2)])

    assert pictures_of(TextToVideo(prompt="a", loras=[LoRA(path="b")])) == []
    assert pictures_of(closer("b.png")) == [(("image_url",), "b.png")]
    assert pictures_of(frames) == [(("images", 0, "url"), "a.png"), (("images", 1, "url"), "https://b.org")]


# --- What is sent ---


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_the_bytes_of_a_picture_stay_as_they_are(kind: str, wrap: Any) -> None:
    """Nobody decodes and encodes them again, which would cost quality and another hash."""
    content = saved(RAMP, kind)

    assert encode_picture(wrap(content))[0] == content


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (RAMP[:, :, None], RAMP),
        ((RAMP / 255).astype(np.float32), RAMP),
        (np.array([[0, 0.5, 1]], np.float16), [[0, 128, 255]]),
        (np.array([[-1e-9, 1 + 1e-9]]), [[0, 255]]),
        (RAMP > 100, (RAMP > 100) * 255),
        (np.asfortranarray(RAMP), RAMP),
        (np.repeat(RAMP, 2, axis=1)[:, ::2], RAMP),
        (RAMP[::-1, ::-1], RAMP[::-1, ::-1]),
    ],
    ids=["one channel", "single", "half", "noise at the ends", "booleans", "by columns", "every other", "backwards"],
)
def test_an_array_is_sent_as_it_looks(array: Any, expected: Any) -> None:
    """Pixel for pixel, whatever its type and however it lies in memory."""
    colours = np.arange(48, dtype=np.uint8).reshape(3, 4, 4)

    assert (seen(array, "L") == np.asarray(expected)).all()
    assert (seen(colours[:, :, :3]) == colours[:, :, :3]).all()
    assert (seen(colours, "RGBA") == colours).all()


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBa", "CMYK", "YCbCr", "HSV", "I;16"])
def test_an_image_of_any_mode_is_sent_as_it_looks(mode: str) -> None:
    """A grey ramp is still that ramp, give or take what the mode itself rounds away."""
    ramp = np.repeat(np.linspace(0, 255, 16).astype(np.uint8)[None], 4, axis=0)
    if mode == "1":
        ramp = np.where(ramp > 127, 255, 0).astype(np.uint8)
    between, deep = {"PA": "P", "RGBa": "RGBA"}, Pillow.fromarray(ramp.astype(np.uint16) * 257)
    image = deep if mode == "I;16" else Pillow.fromarray(ramp).convert(between.get(mode, mode)).convert(mode)

    sent = Pillow.open(io.BytesIO(encode_picture(image)[0]))

    grey = np.asarray(sent) / 257 if sent.mode.startswith("I") else np.asarray(sent.convert("L"), dtype=float)
    assert image.mode == mode
    assert np.abs(grey - ramp).max() <= 2


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photo_is_turned_as_the_camera_says_and_sent_without_its_metadata(orientation: int) -> None:
    """What is seen is what is sent, without place, date and camera; the picture itself stays as it was."""
    exif = Pillow.Exif()
    exif[0x0112], exif[0x010F] = orientation, "A camera of mine"
    photo = Pillow.open(io.BytesIO(saved(RAMP, exif=exif, dpi=(72, 72), icc_profile=b"p" * 200)))
    turns: list[Any] = [
        lambda a: a, lambda a: a[:, ::-1], lambda a: a[::-1, ::-1], lambda a: a[::-1],
        lambda a: a.T, lambda a: np.rot90(a, -1), lambda a: np.rot90(a, 2).T, np.rot90,
    ]  # fmt: skip

    assert encode_picture(photo)[0] == encode_picture(turns[orientation - 1](RAMP))[0]
    assert photo.size == (4, 3)
    assert photo.getexif()[0x0112] == orientation
    assert photo.info["icc_profile"]


def test_a_figure_is_sent_as_it_is_drawn() -> None:
    """With its own size, and the same bytes for the same drawing: no version, no date."""

    def drawing() -> Any:
        figure = matplotlib.figure.Figure(figsize=(1, 1), dpi=64)
        figure.subplots().plot([1, 3, 2])
        return figure

    content, label = encode_picture(drawing())

    assert Pillow.open(io.BytesIO(content)).size == (64, 64)
    assert label == "figure"
    assert encode_picture(drawing())[0] == content
    assert b"atplotlib" not in content


def test_the_bounds_of_a_picture_are_those_of_the_service() -> None:
    """50 MB and 40 megapixels; the latter by its header, before anything is decoded."""
    assert (MAX_BYTES, MAX_PIXELS) == (50_000_000, 40_000_000)
    assert encode_picture(bomb(10_000, 4_000))[0]
    with pytest.raises(InvalidInput, match="the limit is 50 MB"):
        closer(bytes(MAX_BYTES + 1))


def test_no_library_is_imported_for_a_path() -> None:
    """Neither by the inputs themselves nor by what looks at a value."""
    script = (
        "import sys; from reelbook.models.image_to_video import ImageToVideo\n"
        "ImageToVideo(prompt='a', image_url='boat.png')\n"
        "print(sorted({'numpy', 'PIL', 'matplotlib'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)

    assert done.stdout.strip() == "[]"


# --- What a file is by its first bytes ---


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("PNG", {}), ("JPEG", {}), ("JPEG", {"progressive": True, "exif": Pillow.Exif().tobytes() + b"\xff\xc0" * 50}),
        ("WEBP", {"lossless": True}), ("WEBP", {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0"}), ("GIF", {}),
    ],
    ids=str,
)  # fmt: skip
def test_the_size_of_a_picture_is_read_without_decoding(kind: str, options: dict[str, Any]) -> None:
    """Of a file cut short before it there is none, and nothing else goes wrong."""
    for size in ((1, 1), (64, 48), (1, 1000)):
        whole = saved(Pillow.new("RGB", size, "teal"), kind, **options)

        assert (read_size(whole), sniff_kind(whole).content_type) == (size, Pillow.MIME[kind])
        cut = [read_size(whole[:length]) for length in range(min(len(whole), 600))]
        assert set(cut) <= {None, size}
        assert cut[20] is None


@pytest.mark.parametrize(
    ("content", "name", "content_type"),
    [
        (saved(RAMP, "TIFF"), "a TIFF", "image/tiff"),
        (b"\0\0\0\x18ftypheic\0\0", "a HEIC picture", "image/heic"),
        (b"\0\0\0\x18ftypavif\0\0", "an AVIF picture", "image/avif"),
        (b"\0\0\0\x18ftypisom\0\0", "a video", "video/mp4"),
        (b"\x1a\x45\xdf\xa3\x01", "a video", "video/webm"),
        (b"%PDF-1.7", "a PDF", "application/octet-stream"),
        (b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg">', "an SVG", "text/plain"),
        (b"<!DOCTYPE html><title>404</title>", "a web page", "text/html"),
        # Pages in old alphabets are pages, and a letter cut at the end of what is looked at does no harm.
        (b"\xef\xbb\xbf \n<HTML lang=de>Gel\xf6scht", "a web page", "text/html"),
        (b"a" + ("ä" * HEAD_BYTES).encode(), "no picture", "text/plain"),
        (b"plain\0not", "no picture", "application/octet-stream"),
        (b"", "empty", "application/octet-stream"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_first_bytes_tell_the_kind_and_what_to_call_it(content: bytes, name: str, content_type: str) -> None:
    """A person learns what they gave instead of a picture."""
    kind = sniff_kind(content)

    assert (kind.name, kind.content_type, read_size(content)) == (name, content_type, None)
