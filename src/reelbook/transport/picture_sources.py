"""The pictures of an input: read, validated and hashed first, then uploaded or embedded in the request."""

from __future__ import annotations

import asyncio
import base64
import difflib
import hashlib
import json
import re
import stat
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ..errors import InvalidInput, Problem, ServiceError
from ..models.base import Input
from ..models.file_kinds import sniff_kind
from ..models.images import (
    MAX_BYTES,
    Image,
    NotAPicture,
    parse_picture_address,
    pictures_of,
    replace_pictures,
    require_picture,
)
from ..models.problems import compact_value, format_literal, format_subject
from ..util.data_address import is_data_address
from .service_calls import ServiceCalls

Loc = tuple[str | int, ...]

MAX_REQUEST_BYTES = 32_000_000
"""The largest input that is sent with its pictures inside."""
MAX_CACHED_BYTES = 1_000_000
"""The largest file whose content stays in memory after hashing; a sweep may have thousands of larger ones."""
MAX_UPLOADS = 4
"""Concurrent uploads."""
REUSE_SECONDS = 24 * 3600
"""How long an upload is relied on; a service stores it for some days, how many is unknown."""
NO_UPLOADS_STATUSES = (404, 405, 501)
"""The statuses of a service that advertises uploads and accepts none."""

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """A picture that was read, with its metadata; its content is read again on demand."""

    loc: Loc
    """Its field path in the input."""
    sha256: str
    content_type: str
    suffix: str
    size: int
    """In bytes."""
    label: str
    """A short label for messages."""
    path: Path | None = field(default=None, repr=False)
    """Its path, if it is a local file."""
    cached: bytes | None = field(default=None, repr=False, compare=False)

    @property
    def content(self) -> bytes:
        """The bytes; a large file is read again, and must be unchanged."""
        if self.cached is not None:
            return self.cached
        assert self.path is not None, "a source without a file has its content"
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise self._changed(f"could no longer be read ({error.strerror})") from None
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise self._changed("has changed since the run was prepared")
        return content

    def _changed(self, what: str) -> InvalidInput:
        words = f"{format_subject(self.loc)}: the file {self.path} {what}. Nothing was sent; run it again."
        return InvalidInput("Picture", [Problem(self.loc, words, "picture", str(self.path))])


async def read_sources(request: Input, *, library: Callable[[str], Path | None]) -> dict[Loc, Source]:
    """All local pictures of an input, by field path; those that the service fetches itself are left out.

    Raises `InvalidInput` with a problem for each bad picture, before anything is sent.
    """
    return await asyncio.to_thread(_read, request, library) if pictures_of(request) else {}


def _read(request: Input, library: Callable[[str], Path | None]) -> dict[Loc, Source]:
    sources: dict[Loc, Source] = {}
    problems: list[Problem] = []

    @cache  # A picture that is used in many fields is read once.
    def read(picture: str) -> Source | NotAPicture:
        try:
            return _read_picture(picture, library)
        except NotAPicture as error:
            return error

    for loc, picture in pictures_of(request):
        if isinstance(picture, Image) or is_data_address(picture):
            source = read(picture)
            if isinstance(source, Source):
                sources[loc] = replace(source, loc=loc)
            else:
                words = f"{format_subject(loc)} {source}"
                problems.append(Problem(loc, words, "picture", compact_value(str(picture))))
    if problems:
        raise InvalidInput(type(request).__name__, problems)
    return sources


def _read_picture(picture: str, library: Callable[[str], Path | None]) -> Source:
    if not isinstance(picture, Image):
        return _make_source(require_picture(parse_picture_address(picture)), "data: address")
    if picture.content is not None:
        return _make_source(picture.content, picture.label)
    path = _path_of(picture) if picture.sha256 is None else library(picture.sha256)
    if path is None:
        raise NotAPicture(f"is the {picture.label}…, which this library does not have. Give the picture itself.")
    content, is_frame = _content(path, picture)
    if is_frame:
        # The path is that of the video, so the content of the frame is cached.
        return _make_source(content, f"last frame of {path.name}")
    source = _make_source(content, picture.label, path)
    if picture.sha256 not in (None, source.sha256):
        raise NotAPicture("is a picture whose copy in the library is damaged. Give the picture itself.")
    return source


def _make_source(content: bytes, label: str, path: Path | None = None) -> Source:
    kind = sniff_kind(content)
    cached = content if path is None or len(content) <= MAX_CACHED_BYTES else None
    sha256 = hashlib.sha256(content).hexdigest()
    return Source((), sha256, kind.content_type, kind.suffix, len(content), label, path, cached)


def _path_of(picture: Image) -> Path:
    text = str(picture)
    if text[:7].lower() == "file://":
        text = url2pathname(urlsplit(text).path)
    elif _SCHEME.match(text):
        raise NotAPicture(
            f"is {format_literal(text, 100)}; only http and https addresses are fetched. Download it, and give its path."
        )
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise NotAPicture(f"is {format_literal(text, 100)}, and nobody of that name has a home folder here.") from None


def _content(path: Path, picture: Image) -> tuple[bytes, bool]:
    """The picture in a file, and whether it is the last frame of a video."""
    from ..media.stills import has_video_content, read_last_frame  # Not at the top: it imports the decoders.

    name = format_literal(str(path), 200)
    try:
        facts = path.stat()
        if stat.S_ISDIR(facts.st_mode):
            raise NotAPicture(f"is {name}, a folder. Give one picture in it.")
        if not stat.S_ISREG(facts.st_mode):
            # Reading a pipe could block for ever.
            raise NotAPicture(f"is {name}, which is not an ordinary file.")
        of_video = has_video_content(path)
        if facts.st_size > MAX_BYTES and not of_video:
            size = f"{facts.st_size / 1e6:,.1f} MB; the limit is {MAX_BYTES / 1e6:g} MB"
            raise NotAPicture(f"is {name}, which has {size}. Make it smaller.")
        content = b"" if of_video else path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise NotAPicture(_format_missing(path, picture)) from None
    except (OSError, ValueError) as error:
        if isinstance(error, NotAPicture):
            raise
        reason = error.strerror if isinstance(error, OSError) else str(error)
        hint = " A picture as base64 begins with data:image/png;base64," if len(picture) > 200 else ""
        raise NotAPicture(f"is {name}, which cannot be read ({reason}).{hint}") from None
    try:
        return (read_last_frame(path), True) if of_video else (require_picture(content), False)
    except NotAPicture as error:
        raise NotAPicture(f"is {name}, which {error}") from None


def _format_missing(path: Path, picture: Image) -> str:
    name, folder = format_literal(str(picture), 200), path.parent.absolute()
    try:
        names = {entry.name.lower(): entry.name for entry in folder.iterdir()}
    except OSError:
        return f"is {name}, and there is no folder {folder}. Check the path."
    close = difflib.get_close_matches(path.name.lower()[:200], list(names), n=1)
    hint = f"Did you mean {str(path.parent / names[close[0]])!r}?" if close else "Check the path."
    return f"is {name}, and there is no such file in {folder}. {hint}"


class Uploads:
    """The pictures that one client has uploaded, and their addresses at the services; each picture is uploaded once.

    Not shared between clients, because another account of the same service cannot use the addresses.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[str, float]] = {}
        """The address of each picture, by service and hash, and when it was uploaded."""
        self._locks: dict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._without_uploads: set[str] = set()
        self._slots = asyncio.Semaphore(MAX_UPLOADS)

    async def get_or_upload(self, calls: ServiceCalls, picture: Source) -> str | None:
        """The picture's address at the service, after uploading it if necessary; None for a service without uploads."""
        info = await calls.service_info()
        service = info.id or calls.base_url
        key = (service, picture.sha256)
        async with self._locks[key]:
            address, since = self._known.get(key, ("", 0.0))
            if address and time.monotonic() - since < REUSE_SECONDS:
                return address
            if "uploads" not in info.features or service in self._without_uploads:
                return None
            try:
                async with self._slots:
                    content = await asyncio.to_thread(lambda: picture.content)
                    name = f"{picture.sha256[:16]}{picture.suffix}"
                    address = await calls.upload(content, name, picture.content_type)
            except ServiceError as error:
                if error.status not in NO_UPLOADS_STATUSES:
                    raise
                self._without_uploads.add(service)
                return None
            self._known[key] = (address, time.monotonic())
            return address

    def forget_mentioned(self, message: str) -> None:
        """Forget the uploads that an error message of a service mentions, because it no longer has them.

        The same run, sent again, then uploads its pictures again.
        """
        for key in [key for key, (address, _) in self._known.items() if address in message]:
            del self._known[key]


async def build_request_input(
    calls: ServiceCalls, request: Input, sources: Mapping[Loc, Source], uploads: Uploads
) -> dict[str, Any]:
    """The JSON of an input as the service can read it: its pictures uploaded, or embedded as `data:` addresses."""
    distinct = {source.sha256: source for source in sources.values()}
    names = await asyncio.gather(*(uploads.get_or_upload(calls, source) for source in distinct.values()))
    addresses = dict(zip(distinct, names, strict=True))
    embedded = [source for source in distinct.values() if addresses[source.sha256] is None]
    # In a thread, because encoding megabytes would block the event loop.
    return await asyncio.to_thread(_replace_pictures, request, sources, addresses, embedded)


def _replace_pictures(
    request: Input, sources: Mapping[Loc, Source], addresses: dict[str, str | None], embedded: list[Source]
) -> dict[str, Any]:
    """The JSON of an input with the addresses of its pictures, some of which contain the picture."""
    for source in embedded:
        encoded = base64.b64encode(source.content).decode()
        addresses[source.sha256] = f"data:{source.content_type};base64,{encoded}"
    wire = replace_pictures(request.wire(), {loc: addresses[source.sha256] for loc, source in sources.items()})
    length = len(json.dumps(wire, ensure_ascii=False).encode()) if embedded else 0
    if length > MAX_REQUEST_BYTES:
        words = (
            f"With its pictures inside, the request has {length / 1e6:,.1f} MB; the limit is {MAX_REQUEST_BYTES / 1e6:g} MB, and "
            "this service takes no uploads. Give fewer or smaller pictures, or http(s) addresses."
        )
        raise InvalidInput(type(request).__name__, [Problem((), words, "picture")])
    return wire
