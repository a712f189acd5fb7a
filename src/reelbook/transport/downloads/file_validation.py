"""Whether a downloaded file is complete, and of the kind that the service declared.

What decides, in this order:

1. the file's own structure, where it has one: a PNG without its end is never stored, whatever length was declared;
2. the length that HTTP declared for exactly these bytes (`Content-Length`, or the total of a `Content-Range`);
3. `file_size` of the File object, a hint by another program at another time. It counts where the other two are missing,
   and against a file whose structure says nothing. A complete file is not rejected because of it.

Names and content types never decide what a file is; they only lead to rejection, as of a text page instead of a video.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO
from urllib.parse import urlsplit

from ...models.base import File
from ...util.data_address import is_data_address
from .container_format import BINARY, PAGE, PROVABLE, Damaged, FileFormat, check_container

MEDIA_NAMES = {
    ".mp4": "video/mp4",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".heic": "image/heic",
}
TEXT_NAMES = (".txt", ".json", ".csv", ".srt", ".vtt", ".md", ".xml", ".svg", ".html", ".htm", ".yaml", ".toml", ".log")
TEXT_TYPES = ("text/", "application/json", "application/xml", "application/yaml", "application/x-ndjson")


@dataclass(frozen=True, slots=True)
class Declared:
    """What HTTP, or a `data:` address, declares about a file."""

    length: int | None
    content_type: str


def validate(content: BinaryIO, file: File, declared: Declared) -> FileFormat:
    """The kind of a complete file; raises `Damaged` for one that is incomplete or not what was declared."""
    result = check_container(content)
    size = content.seek(0, 2)
    if declared.length is not None and declared.length != size:
        raise Damaged(f"{size:,} of {declared.length:,} bytes arrived")
    expected = _declared_type(file)
    if result.kind.content_type.startswith("text/"):
        _check_text(result.kind, expected)
    elif result.kind == BINARY:
        _check_binary({expected, _plain(declared.content_type)}, _is_text(expected))
    if not result.proven:
        _check_size(size, declared.length, file.file_size)
        if {expected, result.kind.content_type} <= PROVABLE and expected != result.kind.content_type:
            raise Damaged(f"its bytes are those of {result.kind.content_type} with something behind, not {expected}")
    return result.kind


def _check_text(kind: FileFormat, expected: str) -> None:
    """Raise `Damaged` for text where no text was declared: hosts that fail may answer 200 with a page or JSON."""
    if not _is_text(expected):
        what = "a web page" if kind == PAGE else "a text"
        raise Damaged(f"{what} came instead of {expected or 'a file'}")


def _check_binary(types: set[str], is_text: bool) -> None:
    media = sorted(types & PROVABLE)
    if media:
        raise Damaged(f"its bytes are not those of {media[0]}")
    if "text/html" in types and not is_text:
        raise Damaged("a web page came instead of the file")


def _check_size(size: int, length: int | None, hint: int | None) -> None:
    """Check the length of a file that does not show its own end: it must be declared, without contradiction."""
    hint = hint if hint and hint > 0 else None
    if length is None and hint is None:
        raise Damaged("nobody told how long it is, and such a file does not show whether it is whole")
    if hint is not None and hint != size:
        raise Damaged(
            f"{size:,} bytes arrived where {hint:,} were promised, and such a file does not show who is right"
        )


def _declared_type(file: File) -> str:
    """The content type that the service declares, or that a file name implies; empty for neither."""
    declared = _plain(file.content_type or "")
    if declared and declared != BINARY.content_type:
        return declared
    for name in (file.file_name or "", _path(file.url)):
        suffix = f".{name.rpartition('.')[2].lower()}"
        if suffix in MEDIA_NAMES or suffix in TEXT_NAMES:
            return MEDIA_NAMES.get(suffix, "text/plain")
    return ""


def _path(url: str) -> str:
    if is_data_address(url):
        return ""
    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def _plain(content_type: str) -> str:
    kind = content_type.partition(";")[0].strip().lower()
    return {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg"}.get(kind, kind)


def _is_text(content_type: str) -> bool:
    return content_type.startswith(TEXT_TYPES) or content_type.endswith(("+xml", "+json"))
