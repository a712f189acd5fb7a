"""Previews of pictures in a form: a thumbnail, a short text, what the service will receive, or the problem."""

from __future__ import annotations

import errno
import io
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from PIL import Image as Pillow

from ...display.formatting import format_size, join_with_dots, shorten
from ...media.bounded_open import PICTURES
from ...media.stills import read_last_frame
from ...models.file_kinds import AVIF, BMP, MP4, TIFF, WEBM, PictureHeader, parse_header, sniff_kind
from ...models.picture_encoding import MAX_BYTES, MAX_PIXELS, NotAPicture, check_pixels, encode_picture, require_picture

BOX = (320, 320)
"""The maximum size of a thumbnail in pixels."""
MAX_NAME_LENGTH, MAX_ADDRESS_LENGTH = 60, 120
HEAD_BYTES = 4096
"""Bytes of a file that identify its type."""
MEGAPIXELS = f"{MAX_PIXELS / 1e6:g} megapixels"
KINDS = "PNG, JPEG, WebP and GIF can be sent"
CONVERTED = {BMP: "BMP", TIFF: "TIFF", AVIF: "AVIF"}
"""Kinds that no service takes, converted to PNG without loss, with Pillow's names for them."""


class VideoGiven(NotAPicture):
    """A video was given for a picture; its last frame could be used."""


@dataclass(frozen=True, slots=True)
class PicturePreview:
    """The preview of one picture."""

    name: str
    """The name of its file or its source."""
    words: str = ""
    """Name, pixels and bytes on one line."""
    receives: str = ""
    """What the service will receive, as a sentence."""
    thumb: bytes | None = None
    """A small JPEG; None without one, as for an address, which is not fetched."""
    size: tuple[int, int] | None = None
    """Width and height in pixels, as displayed."""
    error: str = ""
    """The problem with it, as a sentence."""

    def answer(self) -> dict[str, Any]:
        """What the page is sent."""
        facts = {"name": self.name, "words": self.words, "receives": self.receives, "size": self.size}
        return facts | ({"error": self.error} if self.error else {}) | ({"buffers": [self.thumb]} if self.thumb else {})


def preview_content(content: bytes, name: str) -> PicturePreview:
    """The preview of a picture's content; `NotAPicture` if it cannot be decoded."""
    header = parse_header(require_picture(content))
    assert header is not None, "what was checked has a header"
    thumb, seen = _make_thumb(content, header)
    short = shorten(name, MAX_NAME_LENGTH)
    pixels = f"{seen[0]:,} × {seen[1]:,}"
    # Pictures without a file are named by their size.
    words = join_with_dots(
        short, "" if short.endswith(f" {seen[0]} × {seen[1]}") else pixels, format_size(len(content))
    )
    return PicturePreview(
        short, words, f"Sent as {header.kind.name} of {format_size(len(content))}, uploaded once.", thumb, seen
    )


def preview_path(text: str) -> PicturePreview:
    """The preview of a file of this machine, read now."""
    try:
        path = parse_path(text)
        name = shorten(path.name or text, MAX_NAME_LENGTH)
    except NotAPicture as error:
        return PicturePreview(shorten(text, MAX_NAME_LENGTH), error=f"{shorten(text, MAX_NAME_LENGTH)} {error}")
    try:
        try:
            preview, receives = preview_content(read_picture(path), path.name), "Read when it is run."
        except VideoGiven:
            still = read_last_frame(path)
            preview = preview_content(still, f"last frame of {path.name}")
            receives = "The last frame is read when it is run."
    except NotAPicture as error:
        return PicturePreview(name, error=f"{name} {error}")
    return replace(preview, receives=f"{receives} {preview.receives}")


def preview_address(text: str) -> PicturePreview:
    """The preview of an address, without fetching it."""
    address = shorten(text, MAX_ADDRESS_LENGTH)
    if text[:5].lower() == "file_":
        return PicturePreview(address, address, "An upload that the service has already.")
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:
        host = None
    if not host:
        return PicturePreview(address, error=f"{address} is no whole address: https://, then a server and a path.")
    name = shorten(unquote(PurePosixPath(parts.path).name) or host, MAX_NAME_LENGTH)
    return PicturePreview(name, address, "The service fetches it itself; nothing is loaded here.")


def parse_path(text: str) -> Path:
    """The path of a file, from a path or a `file:` address."""
    if text[:7].lower() == "file://":
        text = url2pathname(urlsplit(text).path)
    elif "://" in text[:30]:
        raise NotAPicture("is no address that a service fetches; these begin with https:// or http://.")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise NotAPicture("begins with the name of somebody who has no home folder here.") from None


def read_picture(path: Path) -> bytes:
    """The content of a picture's file; `NotAPicture` for other or too large files, without reading them."""
    try:
        facts = path.stat()
        if stat.S_ISDIR(facts.st_mode):
            raise NotAPicture("is a folder. Name one picture in it.")
        if not stat.S_ISREG(facts.st_mode):
            # A pipe could block forever.
            raise NotAPicture("is not an ordinary file.")
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            _check_kind(head)
            if facts.st_size > MAX_BYTES:
                raise NotAPicture(format_too_large(facts.st_size))
            return head + file.read(MAX_BYTES)
    except NotAPicture:
        raise
    except (FileNotFoundError, NotADirectoryError):
        where = path.parent if path.parent.is_absolute() else Path.cwd() / path.parent
        raise NotAPicture(
            f"is not there: {shorten(where, 200)} has no such file. A path is one of the machine where the kernel runs; "
            "drop or choose a file that is on yours."
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            reason = "it is too long for a path; an address begins with https:// or data:image/"
        raise NotAPicture(f"cannot be read ({reason}).") from None


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
    suffix = ".mp4" if content[4:8] == b"ftyp" else ".webm" if content.startswith(b"\x1aE\xdf\xa3") else ".unknown"
    # In a temporary file, because decoders seek.
    with TemporaryDirectory(prefix="reelbook-") as folder:
        path = Path(folder) / f"clip{suffix}"
        path.write_bytes(content)
        return read_last_frame(path)


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
        raise NotAPicture(f"is {kind.name}. {KINDS}.")


def _make_thumb(content: bytes, header: PictureHeader) -> tuple[bytes, tuple[int, int]]:
    from ...media.stills import read_picture

    with _decoder_errors():
        with Pillow.open(io.BytesIO(content), formats=PICTURES) as opened:
            # The first picture of a GIF may be larger than its header says.
            check_pixels(*opened.size)
            on_its_side = opened.getexif().get(0x0112) in (5, 6, 7, 8)
        small = read_picture(io.BytesIO(content), BOX)
    out = io.BytesIO()
    small.save(out, "JPEG", quality=80)
    return out.getvalue(), (header.height, header.width) if on_its_side else (header.width, header.height)


@contextmanager
def _decoder_errors() -> Iterator[None]:
    """Convert the errors of decoders to `NotAPicture`."""
    try:
        yield
    except NotAPicture:
        raise
    except (Pillow.DecompressionBombError, Pillow.DecompressionBombWarning):
        raise NotAPicture(f"has too many pixels; the limit is {MEGAPIXELS}. Make it smaller.") from None
    # Any other decoder error is a fault of the file.
    except Exception:
        raise NotAPicture("is damaged or cut short: its pixels cannot be read.") from None
