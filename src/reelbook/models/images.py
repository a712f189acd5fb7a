"""Source pictures as values of an input: any picture that a user hands over, and what is sent of it.

Picture files stay as they are; anything else in memory becomes a PNG.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import PurePath
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, PlainSerializer, ValidationInfo, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticCustomError

from ..errors import InvalidInput, Problem
from ..util.data_address import DataAddressError, parse_data_address
from .file_kinds import EMPTY, SENDABLE, read_size, sniff_kind
from .problems import format_literal, rules_at, schema_of
from .value_types import Text, is_wire_json

Place = tuple[str | int, ...]

MAX_BYTES = 50_000_000
"""The largest picture that is accepted; services of this family refuse larger ones."""
MAX_PIXELS = 40_000_000
STILL_OF = "reelbook"
"""The key in the `info` of a PIL image that names what it is a still of."""

_ADDRESS = re.compile(r"https?://|data:|file_[0-9a-f]+\Z", re.IGNORECASE)
"""Addresses that a service reads itself: http(s), `data:`, or the `file_id` of an upload."""
_IN_LIBRARY = re.compile(r"sha256:([0-9a-f]{64})\Z")
_ACCEPTED_KINDS = "Give a path, an http(s) address, the bytes of a PNG, JPEG, WebP or GIF, a PIL image, an array, or an earlier result."
_ACCEPTED_ARRAYS = (
    "An array is taken with the shape (height, width), (height, width, 3) or (height, width, 4), "
    "as uint8, as bool, or as floats from 0 to 1."
)
_ONE_TO_ONE = {"L", "LA", "RGB", "RGBA", "I;16"}
"""Modes of Pillow that every reader of PNG supports."""


class NotAPicture(ValueError):
    """A value that cannot be converted to a picture; its text continues after the name of a field."""


class Image(str):
    """A source picture that a service cannot fetch itself: a local file, or a picture in memory.

    It is a `str` of its JSON representation: the path, or `sha256:…` for content that was in memory. Two pictures with
    the same text are equal, so those in memory are compared by content. A path is read when the run is sent, not
    before.

    >>> Image.of("boat.png")
    'boat.png'
    >>> Image.of("https://example.org/boat.png") == "https://example.org/boat.png"
    True
    """

    __slots__ = ("content", "label", "sha256")

    sha256: str | None
    """The hash of its content, in memory or in the library; None for a path, whose content is not known yet."""
    label: str
    """A short label for display."""
    content: bytes | None
    """The bytes of the file, for a picture in memory."""

    is_picture = True
    """Marks it, so that fields for plain text reject it."""

    def __new__(cls, path: Any, /, *, sha256: str | None = None, label: str = "", content: bytes | None = None) -> Self:
        image = super().__new__(cls, path)
        image.sha256, image.label, image.content = sha256, label or path, content
        return image

    @classmethod
    def of(cls, value: Any) -> str:
        """An `Image` from a value; an address that a service reads itself stays plain text.

        Takes a path, an address, bytes, a PIL image, an array (height × width, with 1, 3 or 4 channels;
        uint8, bool, or floats from 0 to 1), a matplotlib figure, a file of the service, or an earlier result.
        """
        try:
            return parse_picture(value)
        except NotAPicture as error:
            raise InvalidInput("Image", [Problem((), f"The picture {error}", "picture")]) from None

    @classmethod
    def from_library(cls, sha256: str) -> Self:
        """A picture that was sent before, by the hash of its content."""
        return cls(f"sha256:{sha256}", sha256=sha256, label=f"picture {sha256[:12]}")

    def __repr__(self) -> str:
        # Source code, so that evaluating an input's `repr` gives an equal input.
        return str.__repr__(self) if self.sha256 is None else f"Image.from_library({self.sha256!r})"


def is_picture(value: Any) -> bool:
    """Whether a value is meant as one picture, though it may turn out to be a bad one."""
    return isinstance(value, (str, os.PathLike)) or _is_service_file(value) or _reader_of(value) is not None


def is_one_picture(value: Any) -> bool:
    """Whether a value is a single picture, and not a stack of arrays.

    A stack of grey pictures, three or four pixels wide, is mistaken for one colour picture, but is not expected.
    """
    return is_picture(value) and (not hasattr(value, "__array__") or _has_picture_shape(value.shape))


def parse_picture(value: Any) -> str:
    """What `Image.of` returns; raises `NotAPicture`, whose text continues after the name of a field."""
    if isinstance(value, Image):
        return value
    if isinstance(value, str):
        text = str.__str__(value)
        if not text:
            raise NotAPicture("is empty. Give a path, an address, or a picture.")
        if _ADDRESS.match(text):
            return text
        sent_before = _IN_LIBRARY.match(text)
        return Image.from_library(sent_before[1]) if sent_before else Image(text, label=PurePath(text).name)
    if _is_service_file(value):
        if str(value.content_type or "").lower().startswith("video/"):
            raise NotAPicture(
                "is a video. Give one of its pictures: run.video for its last one, or run.video.still(0.5)."
            )
        return str(value.url)
    if isinstance(value, os.PathLike) and _reader_of(value) is None:
        path_text = os.fsdecode(value)
        return Image(path_text, label=PurePath(path_text).name)
    content, label = encode_picture(value)
    sha256 = hashlib.sha256(content).hexdigest()
    return Image(f"sha256:{sha256}", sha256=sha256, label=label, content=content)


def _is_service_file(value: Any) -> bool:
    """Whether a value is a file of a response. Not tested by its class, which would be a circular import."""
    return isinstance(value, BaseModel) and isinstance(getattr(value, "url", None), str) and hasattr(value, "file_name")


def encode_picture(value: Any) -> tuple[bytes, str]:
    """The content of a picture file, from a value in memory, and a short label of its origin."""
    read = _reader_of(value)
    if read is None:
        raise NotAPicture(f"needs a picture and has {format_literal(value)}. {_ACCEPTED_KINDS}")
    try:
        content, label = read(value)
        return require_picture(content), label
    except NotAPicture:
        raise
    except Exception as error:
        # An object of any library may raise anything while it is converted.
        raise NotAPicture(f"could not be read: {str(error)[:300] or type(error).__name__}") from error


def parse_picture_address(address: str) -> bytes:
    """The content of a `data:` address; raises `NotAPicture` if it is malformed."""
    try:
        return parse_data_address(address)
    except DataAddressError as error:
        raise NotAPicture(f"is a data: address {error}.") from None


def require_picture(content: bytes) -> bytes:
    """The same bytes; raises `NotAPicture` where they cannot be sent."""
    if len(content) > MAX_BYTES:
        raise NotAPicture(f"has {len(content) / 1e6:,.1f} MB; the limit is {MAX_BYTES / 1e6:g} MB. Make it smaller.")
    kind, size = sniff_kind(content), read_size(content)
    if kind not in SENDABLE:
        advice = " A picture of another kind can be opened with PIL.Image.open and given as that."
        raise NotAPicture(f"is {kind.name}; PNG, JPEG, WebP and GIF can be sent.{'' if kind == EMPTY else advice}")
    if size is None:
        raise NotAPicture(f"is {kind.name} that is damaged or cut short: it does not say how large it is.")
    check_pixels(*size)
    return content


def check_pixels(width: int, height: int) -> None:
    """Raise `NotAPicture` for a picture of too many pixels, before it is decoded or drawn."""
    if width * height > MAX_PIXELS:
        raise NotAPicture(
            f"has {width:,} × {height:,} pixels; the limit is {MAX_PIXELS / 1e6:g} megapixels. Make it smaller."
        )


def _reader_of(value: Any) -> Callable[[Any], tuple[bytes, str]] | None:
    """What makes a picture file of a value in memory; None where it is not meant as a picture."""
    # Without importing any library, and by the type: a mock, or a client with dynamic methods, has any attribute.
    kind, pillow = type(value), getattr(sys.modules.get("PIL.Image"), "Image", None)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return lambda content: (bytes(content), "bytes")
    if hasattr(kind, "__reel_picture__"):
        return lambda result: result.__reel_picture__()
    if pillow is not None and isinstance(value, pillow):
        return _read_pil
    if hasattr(kind, "savefig"):
        return _read_figure
    return _read_array if hasattr(kind, "__array__") and getattr(value, "shape", None) else None


def _read_figure(figure: Any) -> tuple[bytes, str]:
    out = io.BytesIO()
    # Without the version of matplotlib, so that the same picture has the same bytes.
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue(), "figure"


def _read_pil(image: Any) -> tuple[bytes, str]:
    from PIL import ImageOps

    check_pixels(image.width, image.height)
    upright = ImageOps.exif_transpose(image)
    if upright.mode in ("I", "F", "I;16B"):
        raise NotAPicture(
            f"is a grey image of mode {upright.mode}, which no PNG can hold as it is. Give it as an array of uint8."
        )
    if upright.mode not in _ONE_TO_ONE:
        upright = upright.convert("RGBA" if upright.has_transparency_data else "L" if upright.mode == "1" else "RGB")
    # The name of the file that it was opened from, or what it is a still of; else its size.
    name = PurePath(str(getattr(image, "filename", "") or "")).name or image.info.get(STILL_OF)
    return _encode_png(upright), str(name or f"picture {image.width} × {image.height}")


def _read_array(value: Any) -> tuple[bytes, str]:
    import numpy
    from PIL import Image as Pillow

    array, shape = value, tuple(value.shape)
    if _has_picture_shape(shape):
        check_pixels(shape[1], shape[0])
        array = numpy.asarray(value)
        values = f" with values from {array.min()} to {array.max()}" if array.dtype.kind in "iuf" else ""
        if array.dtype == numpy.bool_:
            array = array.astype(numpy.uint8) * 255
        # Beyond 0 to 1 by rounding noise only.
        elif array.dtype.kind == "f" and -1e-6 <= array.min() <= array.max() <= 1 + 1e-6:
            array = numpy.rint(array.clip(0, 1).astype(numpy.float32) * 255).astype(numpy.uint8)
    if not _has_picture_shape(shape) or array.dtype != numpy.uint8:
        what = f"{array.dtype}{values}" if _has_picture_shape(shape) else f"shape {shape}"
        raise NotAPicture(f"is an array of {what}. {_ACCEPTED_ARRAYS}")
    picture = Pillow.fromarray(numpy.ascontiguousarray(array[:, :, 0] if shape[2:] == (1,) else array))
    return _encode_png(picture), f"array {' × '.join(map(str, shape))}"


def _has_picture_shape(shape: tuple[int, ...]) -> bool:
    return (len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3, 4))) and 0 not in shape


def _encode_png(image: Any) -> bytes:
    """The image as a PNG without metadata: no location, no date, no camera."""
    image.info = {}
    out = io.BytesIO()
    # zlib's default level of 6 makes pictures no smaller, and level 1 an eighth larger.
    image.save(out, "PNG", compress_level=4)
    return out.getvalue()


def read_picture(value: Any, as_text: ValidatorFunctionWrapHandler, info: ValidationInfo) -> str:
    """A source picture: in Python from any supported value, in a service from text, which stays unchanged."""
    if is_wire_json(info):
        return str(as_text(value))
    try:
        picture = parse_picture(value)
    except NotAPicture as error:
        raise PydanticCustomError("picture", "{reason}", {"reason": str(error)}) from None
    # Validation as text finds unpaired surrogates, which can neither be sent nor written.
    plain = str(as_text(str(picture)))
    return picture if isinstance(picture, Image) else plain


def require_list(value: Any) -> Any:
    """The value; raises for one picture where several are wanted, because an array would fall apart into its rows."""
    if isinstance(value, BaseModel) or is_one_picture(value):
        reason = "needs a list and has one picture: put it in brackets."
        raise PydanticCustomError("picture", "{reason}", {"reason": reason})
    return value


Picture = Annotated[
    Text,
    WrapValidator(read_picture),
    PlainSerializer(str, when_used="json"),
    Field(json_schema_extra={"x-media": "image"}),
]
"""A source picture: an `Image`, or as plain text an http(s) or `data:` address or the `file_id` of an upload.

`x-media` marks the field as a picture for forms.
"""


def pictures_of(request: BaseModel) -> list[tuple[Place, str]]:
    """Every source picture in an input with its field path: an `Image`, or an address.

    >>> from reelbook.models.images_to_video import ImagesToVideo
    >>> pictures_of(ImagesToVideo(images=["a.png"]))
    [(('images', 0, 'url'), 'a.png')]
    """
    return list(_find_pictures(type(request), request, ()))


def _find_pictures(model: type[BaseModel], value: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(value, str):
        # Only the first entries of a list can have rules of their own.
        rules_place = tuple(min(step, 9) if isinstance(step, int) else step for step in place)
        if isinstance(value, Image) or (value and _takes_picture(model, rules_place)):
            yield place, value
    elif isinstance(value, BaseModel):
        for attribute, field in type(value).model_fields.items():
            yield from _find_pictures(model, getattr(value, attribute), (*place, field.alias or attribute))
        yield from _find_pictures(model, value.model_extra, place)
    elif isinstance(value, (tuple, dict)):
        for step, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _find_pictures(model, item, (*place, step))


@lru_cache(maxsize=4096)
def _takes_picture(model: type[BaseModel], place: Place) -> bool:
    """Whether a text in this place is the address of a picture."""
    return any(rule.get("x-media") == "image" for rule in rules_at(schema_of(model), place))


def replace_pictures(wire: dict[str, Any], pictures: Mapping[Place, Any]) -> dict[str, Any]:
    """Replace the pictures in an input's JSON in place, and return it."""
    for place, value in pictures.items():
        holder: Any = wire
        for step in place[:-1]:
            holder = holder[step]
        holder[place[-1]] = value
    return wire


def unwrap_pictures(value: Any, make: Callable[[str], Any] = "sha256:{}".format) -> Any:
    """An input as the ledger stores it, with each of its pictures made from its hash; by default a text."""
    if isinstance(value, dict):
        if value.keys() == {"sha256"}:
            return make(value["sha256"])
        return {name: unwrap_pictures(item, make) for name, item in value.items()}
    return [unwrap_pictures(item, make) for item in value] if isinstance(value, list) else value
