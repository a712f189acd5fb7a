"""The pictures of an input: read, validated and hashed first, then uploaded or embedded in the request."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ..errors import InvalidInput, Problem
from ..models import images
from ..models.base import Input
from ..models.file_kinds import sniff_kind
from ..models.images import Image, NotAPicture
from ..models.problems import compact_value, format_literal, format_subject
from ..util.data_address import is_data_address
from ..util.printable import suggest

if TYPE_CHECKING:
    from .service_calls import ServiceCalls

Loc = tuple[str | int, ...]

MAX_REQUEST_BYTES = 32_000_000
"""The largest input that is sent with its pictures inside."""


@dataclass(frozen=True, slots=True)
class Source:
    """A picture that was read, with its metadata."""

    sha256: str
    content_type: str
    suffix: str
    content: bytes = field(repr=False, compare=False)


async def read_sources(request: Input, *, library: Callable[[str], Path | None]) -> dict[Loc, Source]:
    """All local pictures of an input, by field path; those that the service fetches itself are left out.

    Raises `InvalidInput` with a problem for each bad picture, before anything is sent.
    """
    return await asyncio.to_thread(_read, request, library) if images.pictures_of(request) else {}


def _read(request: Input, library: Callable[[str], Path | None]) -> dict[Loc, Source]:
    sources: dict[Loc, Source] = {}
    problems: list[Problem] = []
    read = cache(lambda picture: _read_picture(picture, library))  # A picture that is used in many fields is read once.
    for loc, picture in images.pictures_of(request):
        if isinstance(picture, Image) or is_data_address(picture):
            try:
                sources[loc] = read(picture)
            except NotAPicture as error:
                words = f"{format_subject(loc)} {error}"
                problems.append(Problem(loc, words, "picture", compact_value(str(picture))))
    if problems:
        raise InvalidInput(type(request).__name__, problems)
    return sources


def _read_picture(picture: str, library: Callable[[str], Path | None]) -> Source:
    if not isinstance(picture, Image):
        content = images.require_picture(images.parse_picture_address(picture))
    elif picture.content is not None:
        content = picture.content
    elif picture.sha256 is None:
        content = read_picture_file(str(picture))
    elif (path := library(picture.sha256)) is not None:
        content = read_picture_file(str(path))
    else:
        raise NotAPicture(f"is the {picture.label}…, which this library does not have. Give the picture itself.")
    kind, sha256 = sniff_kind(content), hashlib.sha256(content).hexdigest()
    if isinstance(picture, Image) and picture.sha256 not in (None, sha256):
        raise NotAPicture("is a picture whose copy in the library is damaged. Give the picture itself.")
    return Source(sha256, kind.content_type, kind.suffix, content)


def read_picture_file(text: str) -> bytes:
    """The picture in a file; of a video its last frame."""
    from ..media.stills import has_video_content, read_last_frame  # Not at the top: it imports the decoders.

    name = format_literal(text, 200)
    if text[:7].lower() == "file://":
        text = url2pathname(urlsplit(text).path)
    elif re.match(r"[a-z][a-z0-9+.-]+://", text, re.IGNORECASE):
        raise NotAPicture(f"is {name}; only http and https addresses are fetched. Download it, and give its path.")
    try:
        path = Path(text).expanduser()
        if path.exists() and not (path.is_file() or path.is_dir()):  # Reading a pipe or a device might never end.
            raise NotAPicture(f"is {name}, which is no ordinary file. Save the picture in one, and give its path.")
        if not path.exists():
            folder = path.parent.absolute()
            names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
            raise NotAPicture(
                f"is {name}, and there is no such file in {folder}.{suggest(path.name, names)} Check the path."
            )
        if has_video_content(path):
            return read_last_frame(path)
        if path.stat().st_size > images.MAX_BYTES:
            raise NotAPicture(
                f"has {path.stat().st_size / 1e6:,.1f} MB; the limit is {images.MAX_BYTES / 1e6:g} MB. Make it smaller."
            )
        return images.require_picture(path.read_bytes())
    except NotAPicture as error:
        raise NotAPicture(str(error) if name in str(error) else f"is {name}, which {error}") from None
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise NotAPicture(f"is {name}, which cannot be read ({reason}).") from None


async def build_request_input(calls: ServiceCalls, request: Input, sources: Mapping[Loc, Source]) -> dict[str, Any]:
    """The JSON of an input as the service can read it: its pictures uploaded, or embedded as `data:` addresses."""
    if not sources:
        return request.wire()
    distinct = {source.sha256: source for source in sources.values()}
    names = await asyncio.gather(*(
        calls.upload(source.content, f"{source.sha256}{source.suffix}", source.content_type)
        for source in distinct.values()
    ))  # fmt: skip
    addresses = dict(zip(distinct, names, strict=True))

    def embed() -> dict[str, Any]:
        for source in distinct.values():
            encoded = base64.b64encode(source.content).decode() if addresses[source.sha256] is None else ""
            addresses[source.sha256] = addresses[source.sha256] or f"data:{source.content_type};base64,{encoded}"
        urls = {loc: addresses[source.sha256] for loc, source in sources.items()}
        return images.replace_pictures(request.wire(), urls)

    wire = await asyncio.to_thread(embed)  # Encoding megabytes would block the event loop.
    length = len(json.dumps(wire, ensure_ascii=False)) if None in names else 0
    if length > MAX_REQUEST_BYTES:
        words = (
            f"With its pictures inside, the request has {length / 1e6:,.1f} MB; the limit is {MAX_REQUEST_BYTES / 1e6:g} MB, and "
            "this service takes no uploads. Give fewer or smaller pictures, or http(s) addresses."
        )
        raise InvalidInput(type(request).__name__, [Problem((), words, "picture")])
    return wire
