"""Whether a downloaded file is complete, and of the kind that the service declared.

What decides, in this order:

1. whether it opens: a picture is decoded, and of a video all packets that its index lists must be there;
2. the length that HTTP declared for exactly these bytes (`Content-Length`, or the total of a `Content-Range`);
3. `file_size` of the File object, a hint by another program at another time. It counts where the other two say nothing,
   and against a file that no decoder here can open. A complete file is not rejected because of it.

Names and content types never decide what a file is; they only lead to rejection, as of a web page instead of a video.
"""

from __future__ import annotations

import mimetypes
from typing import BinaryIO
from urllib.parse import urlsplit

from ..media.bounded_open import MAX_PIXELS, PICTURES
from ..models.base import File
from ..models.file_kinds import BINARY, EMPTY, HEAD_BYTES, MP4, PAGE, FileKind, parse_header, sniff_kind
from ..util.data_address import is_data_address

MAX_FRAMES = 500
"""How many frames of a moving picture are decoded."""
TO_DECODE = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/tiff"})
ENDS = {".png": b"IEND\xaeB`\x82", ".jpg": b"\xff\xd9", ".gif": b";"}
TAIL_BYTES = 1 << 20
"""Where the end of a picture is searched; some programs write further things behind it."""
TEXT_TYPES = ("text/", "application/json", "application/xml", "application/yaml", "application/x-ndjson")


class Damaged(Exception):
    """The file is incomplete, damaged, or not what was declared."""


def validate(content: BinaryIO, file: File, length: int | None) -> FileKind:
    """The kind of a complete file; raises `Damaged` for one that is incomplete or a text in place of a file.

    `length` is what HTTP, or a `data:` address, declares for these bytes.
    """
    size = content.seek(0, 2)
    content.seek(0)
    kind = sniff_kind(content.read(HEAD_BYTES))
    if kind == EMPTY:
        raise Damaged("it is empty")
    if length is not None and length != size:
        raise Damaged(f"{size:,} of {length:,} bytes arrived")
    expected = _declared_type(file)
    is_text = expected.startswith(TEXT_TYPES) or expected.endswith(("+xml", "+json"))
    if kind.content_type.startswith("text/") and not is_text:
        # Failing hosts may answer 200 with a page.
        raise Damaged(f"{'a web page' if kind == PAGE else 'a text'} came instead of {expected or 'a file'}")
    if not _opens(content, kind):
        _check_size(size, length, file.file_size)
    return kind


def _opens(content: BinaryIO, kind: FileKind) -> bool:
    """Whether a file opens as a whole; raises `Damaged` for one that does not, false where nothing here can tell."""
    content.seek(0)
    try:
        if kind.content_type in TO_DECODE:
            return _decodes(content, kind)
        return _has_all_packets(content) if kind == MP4 else False
    except Damaged:
        raise
    except Exception:
        # Decoders raise anything for a damaged file.
        raise Damaged(f"it breaks off, or is damaged: it does not open as {kind.content_type}") from None


def _decodes(content: BinaryIO, kind: FileKind) -> bool:
    from PIL import Image

    header = parse_header(content)
    if header is not None and header.pixels > MAX_PIXELS:
        return False
    content.seek(0)
    with Image.open(content, formats=PICTURES) as picture:
        for number in range(min(getattr(picture, "n_frames", 1), MAX_FRAMES)):
            picture.seek(number)
            picture.load()
    # Pillow takes the pixels that are there for all, and needs no end.
    content.seek(max(content.seek(0, 2) - TAIL_BYTES, 0))
    if ENDS.get(kind.suffix, b"") not in content.read():
        raise Damaged(f"it breaks off: it has no end of {kind.content_type}")
    return True


def _has_all_packets(content: BinaryIO) -> bool:
    """Whether a video has all packets that its index lists; false for one in fragments, which has no such index."""
    import av

    with av.open(content, "r", format="mp4") as container:
        stream = container.streams.video[0]
        listed, count = stream.frames, 0
        for packet in container.demux(stream):
            if packet.is_corrupt:
                raise Damaged("it breaks off within a frame")
            count += bool(packet.size)
    if count < listed:
        raise Damaged(f"it breaks off: {count:,} of {listed:,} frames arrived")
    content.seek(-16, 2)
    # One in fragments may have an index behind them.
    return listed > 0 or content.read()[4:8] == b"mfro"


def _check_size(size: int, length: int | None, hint: int | None) -> None:
    """Check the length of a file that does not show its own end: it must be declared, without contradiction."""
    hint = hint if hint and hint > 0 else None
    if length is None and hint is None:
        raise Damaged("nobody says how long it is, and such a file does not show whether it is whole")
    if hint is not None and hint != size:
        raise Damaged(
            f"{size:,} bytes arrived where {hint:,} were promised, and such a file does not show who is right"
        )


def _declared_type(file: File) -> str:
    """The content type that the service declares, or that a file name implies; empty for neither."""
    declared = (file.content_type or "").partition(";")[0].strip().lower()
    if declared and declared != BINARY.content_type:
        return declared
    names = (file.file_name or "", "" if is_data_address(file.url) else urlsplit(file.url).path)
    return next(filter(None, (mimetypes.guess_type(name.lower())[0] for name in names)), "")
