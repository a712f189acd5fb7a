"""The pictures of an input: read, validated and hashed first, then uploaded or embedded in the request."""

from __future__ import annotations

import asyncio
import base64
import difflib
import errno
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ..errors import InvalidInput, Problem, ServiceError
from ..models.base import Input
from ..models.file_kinds import sniff_kind
from ..models.images import Image, pictures_of, replace_pictures
from ..models.picture_encoding import MAX_BYTES, NotAPicture, parse_picture_address, require_picture
from ..models.problems import compact_value, format_literal, format_subject
from ..util.data_address import is_data_address
from .response_parsing import ServiceInfo

Loc = tuple[str | int, ...]

MAX_EMBEDDED_BYTES = 24_000_000
"""The largest picture that is embedded in a request, in bytes before base64."""
MAX_REQUEST_BYTES = 32 * 1024 * 1024
"""The largest request."""
ENVELOPE_BYTES = 1_000
"""An upper bound of the size of a request without the input."""
MAX_CACHED_BYTES = 1_000_000
"""The largest file whose content stays in memory after hashing; a sweep may have thousands of larger ones."""
MAX_NAMES = 5_000
"""How many names of a folder are searched for a similar one."""
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
    found: dict[Loc, Source] = {}
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
                found[loc] = replace(source, loc=loc)
            else:
                words = f"{format_subject(loc)} {source}"
                problems.append(Problem(loc, words, "picture", compact_value(str(picture))))
    if problems:
        raise InvalidInput(type(request).__name__, problems)
    return found


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
    except NotAPicture:
        raise
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
            raise NotAPicture(
                f"is a text of {len(picture):,} characters, too long for a path. "
                "An address begins with https://, and a picture as base64 with data:image/png;base64,"
            ) from None
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise NotAPicture(f"is {name}, which cannot be read ({reason}).") from None
    try:
        return (read_last_frame(path), True) if of_video else (require_picture(content), False)
    except NotAPicture as error:
        raise NotAPicture(f"is {name}, which {error}") from None


def _format_missing(path: Path, picture: Image) -> str:
    name, folder = format_literal(str(picture), 200), path.parent.absolute()
    try:
        with os.scandir(folder) as entries:
            names = {entry.name.lower(): entry.name for entry in islice(entries, MAX_NAMES)}
    except OSError:
        return f"is {name}, and there is no folder {folder}. Check the path."
    close = difflib.get_close_matches(path.name.lower()[:200], list(names), n=1)
    hint = f"Did you mean {str(path.parent / names[close[0]])!r}?" if close else "Check the path."
    return f"is {name}, and there is no such file in {folder}. {hint}"


class UploadCalls(Protocol):
    """The calls that uploads need."""

    @property
    def base_url(self) -> str: ...
    async def service_info(self) -> ServiceInfo: ...
    async def upload(self, content: bytes, name: str, content_type: str) -> str: ...


class Uploads:
    """The pictures that one client has uploaded, and their addresses at the services; each picture is uploaded once.

    Not shared between clients, because another account of the same service cannot use the addresses.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[str, float]] = {}
        """The address of each picture, by service and hash, and when it was uploaded."""
        self._in_progress: dict[tuple[str, str], asyncio.Task[str | None]] = {}
        self._without_uploads: set[str] = set()
        self._slots = asyncio.Semaphore(MAX_UPLOADS)

    async def get_or_upload(self, calls: UploadCalls, picture: Source) -> str | None:
        """The picture's address at the service, after uploading it if necessary; None for a service without uploads."""
        info = await calls.service_info()
        service = info.id or calls.base_url
        if "uploads" not in info.features or service in self._without_uploads:
            return None
        key = (service, picture.sha256)
        address, since = self._known.get(key, ("", 0.0))
        if address and time.monotonic() - since < REUSE_SECONDS:
            return address
        if key not in self._in_progress:
            self._in_progress[key] = task = asyncio.create_task(self._upload(calls, picture, key))
            # Retrieved, in case all callers were cancelled.
            task.add_done_callback(lambda task: task.cancelled() or task.exception())
        # Shielded, because cancelling one caller must not cancel the others that wait for the same picture.
        return await asyncio.shield(self._in_progress[key])

    def forget_mentioned(self, message: str) -> bool:
        """Forget the uploads that an error message of a service mentions, because it no longer has them.

        Returns whether there were any; the same run, sent again, then uploads its pictures again.
        """
        mentioned = [key for key, (address, _) in self._known.items() if address in message]
        for key in mentioned:
            del self._known[key]
        return bool(mentioned)

    async def _upload(self, calls: UploadCalls, picture: Source, key: tuple[str, str]) -> str | None:
        try:
            async with self._slots:
                content = await asyncio.to_thread(lambda: picture.content)
                address = await calls.upload(content, f"{picture.sha256[:16]}{picture.suffix}", picture.content_type)
        except ServiceError as error:
            if error.status not in NO_UPLOADS_STATUSES:
                raise
            self._without_uploads.add(key[0])
            return None
        finally:
            del self._in_progress[key]
        self._known[key] = (address, time.monotonic())
        return address


async def build_request_input(
    calls: UploadCalls, request: Input, sources: Mapping[Loc, Source], uploads: Uploads | None = None
) -> dict[str, Any]:
    """The JSON of an input as the service can read it: its pictures uploaded, or embedded as `data:` addresses.

    `uploads` caches earlier uploads; a client has one for all its runs.
    """
    uploads = uploads or Uploads()
    pictures = pictures_of(request)
    replaced = {
        loc: sources[loc]
        for loc, picture in pictures
        if isinstance(picture, Image) or (loc in sources and sources[loc].size > MAX_EMBEDDED_BYTES)
    }
    distinct = {source.sha256: source for source in replaced.values()}
    names = await asyncio.gather(*(uploads.get_or_upload(calls, source) for source in distinct.values()))
    addresses = dict(zip(distinct, names, strict=True))
    embedded = {loc: source for loc, source in replaced.items() if addresses[source.sha256] is None}
    if embedded:
        # In a thread, because encoding megabytes would block the event loop.
        addresses |= await asyncio.to_thread(_encode_embedded, type(request).__name__, embedded)
    wire = replace_pictures(request.wire(), {loc: addresses[source.sha256] for loc, source in replaced.items()})
    if embedded or any(is_data_address(picture) for _, picture in pictures):
        await asyncio.to_thread(_check_length, type(request).__name__, wire)
    return wire


def _encode_embedded(kind: str, embedded: Mapping[Loc, Source]) -> dict[str, str]:
    """Pictures as `data:` addresses, by their hashes."""
    problems = [
        Problem(
            loc,
            f"{format_subject(loc)} has {source.size / 1e6:,.1f} MB. This service takes no uploads, and inside a request "
            f"the limit is {MAX_EMBEDDED_BYTES / 1e6:g} MB: give a smaller picture, or an http(s) address.",
            "picture",
        )
        for loc, source in embedded.items()
        if source.size > MAX_EMBEDDED_BYTES
    ]
    if problems:
        raise InvalidInput(kind, problems)
    return {
        sha256: f"data:{source.content_type};base64,{base64.b64encode(source.content).decode()}"
        for sha256, source in {source.sha256: source for source in embedded.values()}.items()
    }


def _check_length(kind: str, wire: Mapping[str, Any]) -> None:
    length = len(json.dumps(wire, ensure_ascii=False, separators=(",", ":")).encode()) + ENVELOPE_BYTES
    if length > MAX_REQUEST_BYTES:
        words = (
            f"With its pictures inside, the request has {length / 1e6:,.1f} MB; the limit is {MAX_REQUEST_BYTES / 1e6:.1f} MB. "
            "Give fewer or smaller pictures, or http(s) addresses."
        )
        raise InvalidInput(kind, [Problem((), words, "picture")])
