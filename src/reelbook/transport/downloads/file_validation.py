"""Whether what arrived is the file that was promised.

What decides, in this order:

1. the file's own structure, where it has one: a PNG without its end is never kept, whatever length was told;
2. the length that HTTP told of exactly these bytes (`Content-Length`, or the total of a `Content-Range`);
3. `file_size` of the File object, a hint by another program at another time. It counts where the other two are silent,
   and against a file whose structure tells nothing. A whole file is not lost because of it.

Names and content types never decide what a file is. They only make us refuse: a page of text instead of a video.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO
from urllib.parse import urlsplit

from ...models.service_file import File
from .container_check import BINARY, PAGE, PROVABLE, Damaged, Kind, checked

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
class Told:
    """What the bearer of some bytes said about them."""

    length: int | None
    content_type: str


def judged(content: BinaryIO, file: File, told: Told) -> Kind:
    """The kind of a file that is whole and what was promised; `Damaged` says why it is not."""
    found = checked(content)
    size = content.seek(0, 2)
    if told.length is not None and told.length != size:
        raise Damaged(f"{size:,} of {told.length:,} bytes arrived")
    promised = _promised(file)
    if found.kind.content_type.startswith("text/"):
        _expect_text(found.kind, promised)
    elif found.kind == BINARY:
        _expect_anything({promised, _plain(told.content_type)}, _is_text(promised))
    if not found.proven:
        _expect_size(size, told.length, file.file_size)
        if {promised, found.kind.content_type} <= PROVABLE and promised != found.kind.content_type:
            raise Damaged(f"its bytes are those of {found.kind.content_type} with something behind, not {promised}")
    return found.kind


def _expect_text(kind: Kind, promised: str) -> None:
    """Text only where text was promised: hosts answer with a page or a line of JSON, and a good status, when they fail."""
    if not _is_text(promised):
        what = "a web page" if kind == PAGE else "a text"
        raise Damaged(f"{what} came instead of {promised or 'a file'}")


def _expect_anything(said: set[str], is_text: bool) -> None:
    media = sorted(said & PROVABLE)
    if media:
        raise Damaged(f"its bytes are not those of {media[0]}")
    if "text/html" in said and not is_text:
        raise Damaged("a web page came instead of the file")


def _expect_size(size: int, length: int | None, hint: int | None) -> None:
    """Of a file that does not show its own end, somebody must know the length, and nobody may say another."""
    hint = hint if hint and hint > 0 else None
    if length is None and hint is None:
        raise Damaged("nobody told how long it is, and such a file does not show whether it is whole")
    if hint is not None and hint != size:
        raise Damaged(
            f"{size:,} bytes arrived where {hint:,} were promised, and such a file does not show who is right"
        )


def _promised(file: File) -> str:
    """The content type that the service promises, by its word or else by a name; empty where it promises nothing."""
    said = _plain(file.content_type or "")
    if said and said != BINARY.content_type:
        return said
    for name in (file.file_name or "", _path(file.url)):
        suffix = f".{name.rpartition('.')[2].lower()}"
        if suffix in MEDIA_NAMES or suffix in TEXT_NAMES:
            return MEDIA_NAMES.get(suffix, "text/plain")
    return ""


def _path(url: str) -> str:
    if url[:5].lower() == "data:":
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
