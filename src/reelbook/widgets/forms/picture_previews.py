"""Previews of pictures in a form: a thumbnail, a short text, what the service will receive, or the problem."""

from __future__ import annotations

import io
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from PIL import Image as Pillow

from ...display.formatting import format_size, join_with_dots, shorten
from ...media import stills
from ...media.bounded_open import PICTURES
from ...models.file_kinds import AVIF, BMP, MP4, TIFF, WEBM, parse_header, sniff_kind
from ...models.images import MAX_BYTES, MAX_PIXELS, NotAPicture, check_pixels, encode_picture, require_picture

BOX = (320, 320)
"""The maximum size of a thumbnail in pixels."""
MAX_NAME_LENGTH, MAX_ADDRESS_LENGTH = 60, 120
HEAD_BYTES = 4096
"""Bytes of a file that identify its type."""
CONVERTED = {BMP: "BMP", TIFF: "TIFF", AVIF: "AVIF"}
"""Kinds that no service takes, converted to PNG without loss, with Pillow's names for them."""

Preview = dict[str, Any]
"""What the page is sent of a picture: its `name`, `words` about it, what the service `receives`, its `size` in pixels, and
the thumbnail in `buffers`; or what is wrong with it, as `error`."""


class VideoGiven(NotAPicture):
    """A video was given for a picture; its last frame could be used."""


def preview_content(content: bytes, name: str) -> Preview:
    """The preview of a picture's content; `NotAPicture` if it cannot be decoded."""
    header = parse_header(require_picture(content))
    assert header is not None, "what was checked has a header"
    with _decoder_errors():
        with Pillow.open(io.BytesIO(content), formats=PICTURES) as opened:
            # The first picture of a GIF may be larger than its header says.
            check_pixels(*opened.size)
            on_its_side = opened.getexif().get(0x0112) in (5, 6, 7, 8)
        small = stills.read_picture(io.BytesIO(content), BOX)
    thumb = io.BytesIO()
    small.save(thumb, "JPEG", quality=80)
    width, height = (header.height, header.width) if on_its_side else (header.width, header.height)
    name, size = shorten(name, MAX_NAME_LENGTH), format_size(len(content))
    # Pictures without a file are named by their size.
    pixels = "" if name.endswith(f" {width} × {height}") else f"{width:,} × {height:,}"
    return {
        "name": name,
        "words": join_with_dots(name, pixels, size),
        "receives": f"Sent as {header.kind.name} of {size}, uploaded once.",
        "size": (width, height),
        "buffers": [thumb.getvalue()],
    }


def preview_path(text: str) -> Preview:
    """The preview of a file of this machine, read now; of a video, of its last frame."""
    name = shorten(text, MAX_NAME_LENGTH)
    try:
        path = parse_path(text)
        name = shorten(path.name or text, MAX_NAME_LENGTH)
        try:
            preview, receives = preview_content(_read_file(path), path.name), "Read when it is run."
        except VideoGiven:
            preview = preview_content(stills.read_last_frame(path), f"last frame of {path.name}")
            receives = "The last frame is read when it is run."
    except NotAPicture as error:
        return {"name": name, "error": f"{name} {error}"}
    return {**preview, "receives": f"{receives} {preview['receives']}"}


def preview_address(text: str) -> Preview:
    """The preview of an address, without fetching it."""
    address = shorten(text, MAX_ADDRESS_LENGTH)
    if text[:5].lower() == "file_":
        return {"name": address, "words": address, "receives": "An upload that the service has already."}
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:
        host = None
    if not host:
        return {"name": address, "error": f"{address} is no whole address: https://, then a server and a path."}
    name = shorten(unquote(PurePosixPath(parts.path).name) or host, MAX_NAME_LENGTH)
    return {"name": name, "words": address, "receives": "The service fetches it itself; nothing is loaded here."}


def parse_path(text: str) -> Path:
    """The path of a file, from a path or a `file:` address."""
    if text[:7].lower() == "file://":
        text = url2pathname(urlsplit(text).path)
    elif "://" in text[:30]:
        raise NotAPicture("is no address that a service fetches; these begin with https:// or http://.")
    return Path(text).expanduser()


def _read_file(path: Path) -> bytes:
    """The content of a picture's file; `NotAPicture` for other or too large files, without reading them."""
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            # A pipe could block forever.
            raise NotAPicture(f"is {'a folder' if path.is_dir() else 'no ordinary file'}. Name one picture in it.")
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            _check_kind(head)
            if facts.st_size > MAX_BYTES:
                raise NotAPicture(format_too_large(facts.st_size))
            return head + file.read(MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise NotAPicture(
            f"is not there: {shorten(path.parent.absolute(), 200)} has no such file. A path is one of the machine where "
            "the kernel runs; drop or choose a file that is on yours."
        ) from None
    except OSError as error:
        raise NotAPicture(f"cannot be read ({error.strerror}).") from None


def convert_picture(content: bytes) -> bytes:
    """The content of a picture as it can be sent: BMP, TIFF and AVIF become PNG."""
    if len(content) > MAX_BYTES:
        raise NotAPicture(format_too_large(len(content)))
    _check_kind(content[:HEAD_BYTES])
    if parse_header(content) is not None:
        return require_picture(content)
    with _decoder_errors(), Pillow.open(io.BytesIO(content), formats=[*CONVERTED.values()]) as picture:
        check_pixels(*picture.size)
        return encode_picture(picture)[0]


def last_frame_of_content(content: bytes) -> bytes:
    """The last frame of a clip in memory."""
    suffix = ".mp4" if content[4:8] == b"ftyp" else ".webm"
    # In a temporary file, because decoders seek.
    with TemporaryDirectory(prefix="reelbook-") as folder:
        path = Path(folder) / f"clip{suffix}"
        path.write_bytes(content)
        return stills.read_last_frame(path)


def format_too_large(count: int) -> str:
    """The message that a file is too large, to follow its name."""
    return f"has {format_size(count)}; the limit is {MAX_BYTES / 1e6:g} MB. Make it smaller."


def _check_kind(head: bytes) -> None:
    """Refuse content whose first bytes are not those of a picture."""
    if parse_header(head) is not None:
        return
    kind = sniff_kind(head)
    if kind.name == MP4.name:
        raise (VideoGiven if kind in (MP4, WEBM) else NotAPicture)("is a video, and a picture is needed here.")
    if kind not in CONVERTED:
        raise NotAPicture(f"is {kind.name}. PNG, JPEG, WebP and GIF can be sent.")


@contextmanager
def _decoder_errors() -> Iterator[None]:
    """Convert the errors of decoders to `NotAPicture`."""
    try:
        yield
    except NotAPicture:
        raise
    except (Pillow.DecompressionBombError, Pillow.DecompressionBombWarning):
        words = f"has too many pixels; the limit is {MAX_PIXELS / 1e6:g} megapixels. Make it smaller."
        raise NotAPicture(words) from None
    # Any other decoder error is a fault of the file.
    except Exception:
        raise NotAPicture("is damaged or cut short: its pixels cannot be read.") from None
