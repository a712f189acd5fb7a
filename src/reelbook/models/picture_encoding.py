"""Encoding of pictures in memory as files: picture files stay unchanged, anything else becomes a PNG."""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Mapping
from inspect import getattr_static
from pathlib import PurePath
from typing import Any

from ..util.data_address import DataAddressError, parse_data_address
from .file_kinds import EMPTY, parse_header, sniff_kind

MAX_BYTES = 50_000_000
"""The largest picture that is accepted; services of this family refuse larger ones."""
MAX_PIXELS = 40_000_000
STILL_OF = "reelbook"
"""The key in the `info` of a PIL image that names what it is a still of."""

_ACCEPTED_ARRAYS = (
    "An array is taken with the shape (height, width), (height, width, 3) or (height, width, 4), "
    "as uint8, as bool, or as floats from 0 to 1"
)
_ACCEPTED_KINDS = (
    "Give a path, an http(s) address, the bytes of a PNG, JPEG, WebP or GIF, a PIL image, an array, "
    "a matplotlib figure, or an earlier result."
)
_ONE_TO_ONE = {"L", "LA", "RGB", "RGBA", "I;16"}
"""Modes of Pillow that every reader of PNG supports."""
_COMPRESSION = 4
"""zlib's default level of 6 makes pictures no smaller, and level 1 an eighth larger."""


class NotAPicture(ValueError):
    """A value that cannot be converted to a picture; its text continues after the name of a field."""


def is_encodable(value: Any) -> bool:
    """Whether a value is meant as one picture, though it may turn out to be a bad one.

    >>> is_encodable(b"..."), is_encodable({"url": "a.png"}), is_encodable(3)
    (True, False, False)
    """
    return (
        isinstance(value, (bytes, bytearray, memoryview))
        or has_picture_method(value)
        or _is_pil(value)
        or _is_figure(value)
        or _is_file(value)
        or (_is_array(value) and len(_shape(value)) >= 1)
    )


def is_one_array(value: Any) -> bool:
    """Whether an array is a single picture, and not a stack of them.

    A stack of grey pictures, three or four pixels wide, is mistaken for one colour picture, but is not expected.
    """
    return _is_array(value) and _has_picture_shape(_shape(value))


def encode_picture(value: Any) -> tuple[bytes, str]:
    """The content of a picture file, and a short label of its origin."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return require_picture(bytes(value)), "bytes"
    if has_picture_method(value):
        content, label = value.__reel_picture__()
        return require_picture(bytes(content)), str(label)
    if _is_pil(value):
        # The name of the file that it was opened from, or what it is a still of; else its size.
        name = PurePath(str(getattr(value, "filename", "") or "")).name or value.info.get(STILL_OF)
        return _encode_pil(value), str(name or f"picture {value.width} × {value.height}")
    if _is_figure(value):
        return _encode_figure(value), "figure"
    if _is_file(value):
        name = getattr(value, "name", None)
        return _read_file(value), PurePath(name).name if isinstance(name, str) and name else "file"
    if _is_array(value):
        return _encode_array(value), f"array {' × '.join(map(str, _shape(value)))}"
    raise NotAPicture(f"needs a picture and has {_named(value)}. {_ACCEPTED_KINDS}")


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
    header = parse_header(content)
    if header is None:
        kind = sniff_kind(content)
        advice = " A picture of another kind can be opened with PIL.Image.open and given as that."
        raise NotAPicture(f"is {kind.name}; PNG, JPEG, WebP and GIF can be sent.{'' if kind == EMPTY else advice}")
    if header.pixels == 0:
        raise NotAPicture(f"is {header.kind.name} that is damaged or cut short: it does not say how large it is.")
    check_pixels(header.width, header.height)
    return content


def check_pixels(width: int, height: int) -> None:
    """Raise `NotAPicture` for a picture of too many pixels, before it is decoded or drawn."""
    if width * height > MAX_PIXELS:
        raise NotAPicture(
            f"has {width:,} × {height:,} pixels; the limit is {MAX_PIXELS / 1e6:g} megapixels. Make it smaller."
        )


# What a value is, without importing any library to find out.


def has_picture_method(value: Any) -> bool:
    """Whether a value's class has `__reel_picture__()`, which returns bytes and a label."""
    # Looked up on the type: a mock, or a client with dynamic methods, has any attribute.
    return hasattr(type(value), "__reel_picture__")


def _is_pil(value: Any) -> bool:
    # While another thread is importing Pillow, `Image` may be missing.
    image = getattr(sys.modules.get("PIL.Image"), "Image", None)
    return image is not None and isinstance(value, image)


def _is_figure(value: Any) -> bool:
    return callable(getattr(type(value), "savefig", None))


def _is_file(value: Any) -> bool:
    # Not a class method `read`, which parses a value such as a size.
    reads = getattr_static(type(value), "read", None)
    return (callable(reads) and not isinstance(reads, (classmethod, staticmethod))) or (
        # The files of `tempfile` delegate to another object.
        hasattr(value, "file") and callable(getattr(value, "read", None))
    )


def _is_array(value: Any) -> bool:
    return hasattr(type(value), "__array__") and not isinstance(value, (str, bytes))


def _shape(value: Any) -> tuple[int, ...]:
    shape = getattr(value, "shape", ())
    return tuple(shape) if isinstance(shape, (tuple, list)) else ()


def _has_picture_shape(shape: tuple[int, ...]) -> bool:
    return len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3, 4))


def _named(value: Any) -> str:
    if isinstance(value, (Mapping, list, tuple, set)):
        return f"a {'mapping' if isinstance(value, Mapping) else type(value).__name__} of {len(value):,}"
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)[:60]
    return f"a value of the type {type(value).__name__}"


# The files of each kind of value.


def _read_file(file: Any) -> bytes:
    """The complete content of an open file, from its start if it is seekable, as most have just been written."""
    start = file.tell() if hasattr(file, "seekable") and file.seekable() else None
    if start is not None:
        file.seek(0)
    content = file.read(MAX_BYTES + 1)
    if start is not None:
        file.seek(start)
    if not isinstance(content, (bytes, bytearray)):
        raise NotAPicture('is a file opened as text. Open it with open(path, "rb").')
    return require_picture(bytes(content))


def _encode_figure(figure: Any) -> bytes:
    out = io.BytesIO()
    # Without the version of matplotlib, so that the same picture has the same bytes.
    figure.savefig(out, format="png", metadata={"Software": None})
    return require_picture(out.getvalue())


def _encode_pil(image: Any) -> bytes:
    from PIL import ImageOps

    check_pixels(image.width, image.height)
    if not image.width or not image.height:
        raise NotAPicture(f"is a picture of {image.width} × {image.height} pixels.")
    image.load()
    try:
        upright = ImageOps.exif_transpose(image)
    except Exception:
        # Damaged metadata may raise anything, and is no reason to refuse the picture.
        upright = image.copy()
    if upright.mode in ("I", "F", "I;16B"):
        raise NotAPicture(
            f"is a grey image of mode {upright.mode}, which no PNG can hold as it is. Give it as an array of uint8."
        )
    if upright.has_transparency_data and upright.mode not in _ONE_TO_ONE:
        upright = upright.convert("RGBA")
    elif upright.mode not in _ONE_TO_ONE:
        upright = upright.convert("L" if upright.mode == "1" else "RGB")
    return _encode_png(upright)


def _encode_array(value: Any) -> bytes:
    import numpy
    from PIL import Image

    if hasattr(value, "iloc") and getattr(value, "ndim", 0) == 1:
        raise NotAPicture(
            "is a row or a column of a table. Give one cell with a picture or a video, such as table.output_video[7], "
            "or a run: table.reel.run(7)."
        )
    _check_shape(_shape(value))
    try:
        array = numpy.asarray(value)
    except Exception as error:
        # A tensor on a GPU, or with gradients, raises an error with instructions.
        raise NotAPicture(f"is of the type {type(value).__name__}, which does not become an array: {error}") from None
    _check_shape(array.shape)
    if array.dtype == numpy.bool_:
        array = array.astype(numpy.uint8) * 255
    elif array.dtype.kind == "f":
        # In single precision, as double would need twice the memory.
        scaled = numpy.multiply(_within(array), 255, dtype=numpy.float32, casting="same_kind")
        array = numpy.rint(scaled).astype(numpy.uint8)
    elif array.dtype != numpy.uint8:
        values, hint = "", ""
        if array.dtype.kind in "iu":
            values = f" with values from {array.min()} to {array.max()}"
            fits = array.min() >= 0 and array.max() <= 255
            hint = ': give array.astype("uint8")' if fits else ": scale it first"
        raise NotAPicture(f"is an array of {array.dtype}{values}. {_ACCEPTED_ARRAYS}{hint}.")
    return _encode_png(Image.fromarray(numpy.ascontiguousarray(array[:, :, 0] if array.shape[2:] == (1,) else array)))


def _check_shape(shape: tuple[int, ...]) -> None:
    if not _has_picture_shape(shape) or 0 in shape:
        hint = ""
        if len(shape) == 3 and shape[0] in (1, 3, 4) and 0 not in shape:
            hint = "; this one has its channels first: give array.transpose(1, 2, 0)"
        raise NotAPicture(f"is an array of shape {shape}. {_ACCEPTED_ARRAYS}{hint}.")
    check_pixels(shape[1], shape[0])


def _within(array: Any) -> Any:
    """Floats clipped to 0 to 1, where they exceed it by rounding noise only."""
    low, high = float(array.min()), float(array.max())
    if math.isnan(low) or math.isnan(high):
        raise NotAPicture(f"is an array of {array.dtype} with values that are not numbers (nan). {_ACCEPTED_ARRAYS}.")
    if low < -1e-6 or high > 1 + 1e-6:
        what = "array / 255" if low >= 0 and 2 < high <= 255 else "array.clip(0, 1), or scale it"
        raise NotAPicture(
            f"is an array of {array.dtype} with values from {low:g} to {high:g}. {_ACCEPTED_ARRAYS}: give {what}."
        )
    return array.clip(0, 1)


def _encode_png(image: Any) -> bytes:
    """The image as a PNG without metadata: no location, no date, no camera."""
    image.info = {}
    image.encoderinfo = {}
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=_COMPRESSION)
    return out.getvalue()
