"""The pictures of an input: read, validated and hashed first, then uploaded or embedded in the request."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
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
from .service_calls import ServiceCalls

Loc = tuple[str | int, ...]

MAX_REQUEST_BYTES = 32_000_000
"""The largest input that is sent with its pictures inside."""
MAX_CACHED_BYTES = 1_000_000
"""The largest file whose content stays in memory after hashing; a sweep may have thousands of larger ones."""


@dataclass(frozen=True, slots=True)
class Source:
    """A picture that was read, with its metadata; its content is read again on demand."""

    sha256: str
    content_type: str
    suffix: str
    label: str
    """A short label for messages."""
    path: Path | None = field(default=None, repr=False)
    """Its path, if it is a local file."""
    cached: bytes | None = field(default=None, repr=False, compare=False)

    @property
    def content(self) -> bytes:
        """The bytes; a large file is read again, and must be unchanged."""
        if self.cached is not None or self.path is None:
            return self.cached or b""
        try:
            content = self.path.read_bytes()
        except OSError:
            content = b""
        if hashlib.sha256(content).hexdigest() != self.sha256:
            words = f"The file {self.path} has changed since the run was prepared. Nothing was sent; run it again."
            raise InvalidInput("Picture", [Problem((), words, "picture", str(self.path))])
        return content


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
        return _make_source(images.require_picture(images.parse_picture_address(picture)), "data: address")
    if picture.content is not None:
        return _make_source(picture.content, picture.label)
    if picture.sha256 is None:
        return _read_file(str(picture), picture.label)
    path = library(picture.sha256)
    if path is None:
        raise NotAPicture(f"is the {picture.label}…, which this library does not have. Give the picture itself.")
    source = _read_file(str(path), picture.label)
    if source.sha256 != picture.sha256:
        raise NotAPicture("is a picture whose copy in the library is damaged. Give the picture itself.")
    return source


def _make_source(content: bytes, label: str, path: Path | None = None) -> Source:
    kind = sniff_kind(content)
    cached = content if path is None or len(content) <= MAX_CACHED_BYTES else None
    sha256 = hashlib.sha256(content).hexdigest()
    return Source(sha256, kind.content_type, kind.suffix, label, path, cached)


def _read_file(text: str, label: str) -> Source:
    """The picture in a file; of a video its last frame."""
    from ..media.stills import has_video_content, read_last_frame  # Not at the top: it imports the decoders.

    name = format_literal(text, 200)
    if text[:7].lower() == "file://":
        text = url2pathname(urlsplit(text).path)
    elif re.match(r"[a-z][a-z0-9+.-]+://", text, re.IGNORECASE):
        raise NotAPicture(f"is {name}; only http and https addresses are fetched. Download it, and give its path.")
    try:
        path = Path(text).expanduser()
        if not path.exists():
            folder = path.parent.absolute()
            names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
            raise NotAPicture(
                f"is {name}, and there is no such file in {folder}.{suggest(path.name, names)} Check the path."
            )
        if has_video_content(path):
            # The path is that of the video, so the content of the frame is cached.
            return _make_source(read_last_frame(path), f"last frame of {path.name}")
        if path.stat().st_size > images.MAX_BYTES:
            raise NotAPicture(
                f"has {path.stat().st_size / 1e6:,.1f} MB; the limit is {images.MAX_BYTES / 1e6:g} MB. Make it smaller."
            )
        return _make_source(images.require_picture(path.read_bytes()), label, path)
    except NotAPicture as error:
        raise NotAPicture(str(error) if name in str(error) else f"is {name}, which {error}") from None
    except (OSError, ValueError, RuntimeError) as error:
        hint = " A picture as base64 begins with data:image/png;base64," if len(text) > 200 else ""
        raise NotAPicture(
            f"is {name}, which cannot be read ({getattr(error, 'strerror', None) or error}).{hint}"
        ) from None


class Uploads:
    """The pictures that one client has uploaded, and their addresses at its service; each picture is uploaded once."""

    def __init__(self) -> None:
        self._addresses: dict[tuple[str, str], str] = {}
        """The address of each picture, by service and hash."""
        self._locks: dict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)

    async def get_or_upload(self, calls: ServiceCalls, picture: Source) -> str | None:
        """The picture's address at the service, after uploading it if necessary; None for a service without uploads."""
        info = await calls.service_info()
        key = (info.id or calls.base_url, picture.sha256)
        async with self._locks[key]:
            if key not in self._addresses and "uploads" in info.features:
                content = await asyncio.to_thread(lambda: picture.content)
                name = f"{picture.sha256[:16]}{picture.suffix}"
                self._addresses[key] = await calls.upload(content, name, picture.content_type)
            return self._addresses.get(key)

    def forget_mentioned(self, message: str) -> None:
        """Forget the uploads that an error message of a service mentions, because it no longer has them.

        The same run, sent again, then uploads its pictures again.
        """
        self._addresses = {key: address for key, address in self._addresses.items() if address not in message}


async def build_request_input(
    calls: ServiceCalls, request: Input, sources: Mapping[Loc, Source], uploads: Uploads
) -> dict[str, Any]:
    """The JSON of an input as the service can read it: its pictures uploaded, or embedded as `data:` addresses."""
    distinct = {source.sha256: source for source in sources.values()}
    names = await asyncio.gather(*(uploads.get_or_upload(calls, source) for source in distinct.values()))
    addresses = dict(zip(distinct, names, strict=True))

    def embed() -> dict[str, Any]:
        for source in distinct.values():
            if addresses[source.sha256] is None:
                encoded = base64.b64encode(source.content).decode()
                addresses[source.sha256] = f"data:{source.content_type};base64,{encoded}"
        return images.replace_pictures(
            request.wire(), {loc: addresses[source.sha256] for loc, source in sources.items()}
        )

    wire = await asyncio.to_thread(embed)  # Encoding megabytes would block the event loop.
    length = len(json.dumps(wire, ensure_ascii=False)) if None in names else 0
    if length > MAX_REQUEST_BYTES:
        words = (
            f"With its pictures inside, the request has {length / 1e6:,.1f} MB; the limit is {MAX_REQUEST_BYTES / 1e6:g} MB, and "
            "this service takes no uploads. Give fewer or smaller pictures, or http(s) addresses."
        )
        raise InvalidInput(type(request).__name__, [Problem((), words, "picture")])
    return wire
