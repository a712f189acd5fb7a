"""Source pictures on their way to a service: read, checked and hashed first, then uploaded or put into the request."""

from __future__ import annotations

import asyncio
import base64
import binascii
import difflib
import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit
from urllib.request import url2pathname

from ..errors import InvalidInput, Problem
from ..models.base import Input
from ..models.images import Image, pictures_of, with_replaced
from ..models.picture_encoding import MAX_BYTES, NotAPicture, checked
from ..models.picture_headers import header_of
from ..models.problems import kept, shown, subject
from .uploads import Calls, Uploads

__all__ = ["Source", "Uploads", "read_sources", "sendable"]

Place = tuple[str | int, ...]

MAX_IN_REQUEST = 24_000_000
"""The largest picture that goes into a request itself, in bytes before they are written as text."""
MAX_BODY = 32 * 1024 * 1024
"""The longest request."""
ENVELOPE = 1_000
"""More than what is around the input in a request."""
HELD = 1_000_000
"""Up to which size a file's content is kept after hashing it; a sweep may have thousands of larger ones."""
MAX_NAMES = 5_000
"""Among how many names of a folder the one that was probably meant is looked for."""

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """One picture that was read: what it is, and its content when it is needed."""

    loc: Place
    """Where the input names it."""
    sha256: str
    content_type: str
    suffix: str
    size: int
    """In bytes."""
    label: str
    """A few words for a person."""
    path: Path | None = field(default=None, repr=False)
    """Where it lies, if it is a file."""
    held: bytes | None = field(default=None, repr=False, compare=False)

    @property
    def content(self) -> bytes:
        """The bytes; a large file is read again for them, and has to be what it was."""
        if self.held is not None:
            return self.held
        assert self.path is not None, "a source without a file holds its content"
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise self._changed(f"could no longer be read ({error.strerror})") from None
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise self._changed("has changed since the run was prepared")
        return content

    def _changed(self, what: str) -> InvalidInput:
        words = f"{subject(self.loc)}: the file {self.path} {what}. Nothing was sent; run it again."
        return InvalidInput("Picture", [Problem(self.loc, words, "picture", str(self.path))])


async def read_sources(request: Input, *, library: Callable[[str], Path | None]) -> dict[Place, Source]:
    """Every picture of an input that lies here, by its place; those that the service fetches itself are not in it.

    Says about each bad one what is wrong with it, before anything is sent.
    """
    return await asyncio.to_thread(_read, request, library)


def _read(request: Input, library: Callable[[str], Path | None]) -> dict[Place, Source]:
    found: dict[Place, Source] = {}
    problems: list[Problem] = []
    # A picture that stands at a hundred places is read once.
    known: dict[str, Source | NotAPicture] = {}
    for loc, picture in pictures_of(request):
        if not isinstance(picture, Image) and not _is_data(picture):
            continue
        if picture not in known:
            known[picture] = _source(picture, loc, library)
        source = known[picture]
        if isinstance(source, NotAPicture):
            problems.append(Problem(loc, f"{subject(loc)} {source}", "picture", kept(str(picture))))
        else:
            found[loc] = replace(source, loc=loc)
    if problems:
        raise InvalidInput(type(request).__name__, problems)
    return found


def _source(picture: str, loc: Place, library: Callable[[str], Path | None]) -> Source | NotAPicture:
    try:
        if not isinstance(picture, Image):
            return _made(loc, checked(_decoded(picture)), "data: address")
        if picture.content is not None:
            return _made(loc, picture.content, picture.label)
        path = _path_of(picture) if picture.sha256 is None else _kept_in(library, picture.sha256)
        content, is_frame = _content(path, picture)
        if is_frame:
            # The path is that of the video, so the picture itself is held.
            return _made(loc, content, f"last frame of {path.name}")
        source = _made(loc, content, picture.label, path)
        if picture.sha256 not in (None, source.sha256):
            raise NotAPicture("is a picture whose copy in the library is damaged. Give the picture itself.")
        return source
    except NotAPicture as error:
        return error


def _made(loc: Place, content: bytes, label: str, path: Path | None = None) -> Source:
    header = header_of(content)
    assert header is not None, "only pictures come here"
    held = content if path is None or len(content) <= HELD else None
    sha256 = hashlib.sha256(content).hexdigest()
    return Source(loc, sha256, header.content_type, header.suffix, len(content), label, path, held)


def _is_data(address: str) -> bool:
    return address[:5].lower() == "data:"


def _decoded(address: str) -> bytes:
    """The bytes inside a `data:` address."""
    head, comma, body = address.partition(",")
    if not comma:
        raise NotAPicture("is a data: address without the comma that goes before its data.")
    if not head.lower().endswith(";base64"):
        return unquote_to_bytes(body)
    # Both alphabets, with or without the padding at the end, as services take them.
    body = body.strip().rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return binascii.a2b_base64(body + "=" * (-len(body) % 4), strict_mode=True)
    except ValueError:
        raise NotAPicture("is a data: address whose base64 is damaged or cut short.") from None


def _kept_in(library: Callable[[str], Path | None], sha256: str) -> Path:
    path = library(sha256)
    if path is None:
        raise NotAPicture(f"is the picture {sha256[:12]}…, which this library does not have. Give the picture itself.")
    return path


def _path_of(picture: Image) -> Path:
    text = str(picture)
    if text[:7].lower() == "file://":
        text = url2pathname(urlsplit(text).path)
    elif _SCHEME.match(text):
        raise NotAPicture(
            f"is {shown(text, 100)}; only http and https addresses are fetched. Download it, and give its path."
        )
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise NotAPicture(f"is {shown(text, 100)}, and nobody of that name has a home folder here.") from None


def _content(path: Path, picture: Image) -> tuple[bytes, bool]:
    """The picture in a file, and whether it is the last frame of a video."""
    from ..media.last_frame import is_video, last_frame  # Not above: it brings the decoders along.

    name = shown(str(path), 200)
    try:
        facts = path.stat()
        if stat.S_ISDIR(facts.st_mode):
            raise NotAPicture(f"is {name}, a folder. Give one picture in it.")
        if not stat.S_ISREG(facts.st_mode):
            # A pipe would be waited for without end.
            raise NotAPicture(f"is {name}, which is no ordinary file.")
        of_video = is_video(path)
        if facts.st_size > MAX_BYTES and not of_video:
            raise NotAPicture(_too_large(name, facts.st_size))
        content = b"" if of_video else path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise NotAPicture(_missing(path, picture)) from None
    except (OSError, ValueError) as error:
        raise NotAPicture(_unreadable(name, str(picture), error)) from None
    try:
        return (last_frame(path), True) if of_video else (checked(content), False)
    except NotAPicture as error:
        raise NotAPicture(f"is {name}, which {error}") from None


def _too_large(name: str, size: int) -> str:
    return f"is {name}, which has {size / 1e6:,.1f} MB; the limit is {MAX_BYTES / 1e6:g} MB. Make it smaller."


def _unreadable(name: str, text: str, error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        way = "An address begins with https://, and a picture as base64 with data:image/png;base64,"
        return f"is a text of {len(text):,} characters, too long for a path. {way}"
    if isinstance(error, PermissionError):
        return f"is {name}, which may not be read by you. Change its permissions, or copy it."
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return f"is {name}, which cannot be read ({reason})."


def _missing(path: Path, picture: Image) -> str:
    folder = path.parent
    where = folder if folder.is_absolute() else Path.cwd() / folder
    if not where.is_dir():
        return f"is {shown(str(picture), 200)}, and there is no folder {where}. Check the path."
    close = _closest(path.name, where)
    hint = f"Did you mean {str(folder / close)!r}?" if close else "Check the path."
    return f"is {shown(str(picture), 200)}, and there is no such file in {where}. {hint}"


def _closest(name: str, folder: Path) -> str | None:
    try:
        with os.scandir(folder) as entries:
            names = {entry.name.lower(): entry.name for entry in islice(entries, MAX_NAMES)}
    except OSError:
        return None
    close = difflib.get_close_matches(name.lower()[:200], list(names), n=1)
    return names[close[0]] if close else None


async def sendable(
    calls: Calls, request: Input, sources: Mapping[Place, Source], uploads: Uploads | None = None
) -> dict[str, Any]:
    """The JSON of an input as the service can read it: its pictures uploaded, or put into the request itself.

    `uploads` remembers what was uploaded before; a client has one for all its runs.
    """
    uploads = uploads or Uploads()
    pictures = pictures_of(request)
    moving = {loc: sources[loc] for loc, picture in pictures if _must_move(picture, sources.get(loc))}
    distinct = {source.sha256: source for source in moving.values()}
    names = await asyncio.gather(*(uploads.address(calls, source) for source in distinct.values()))
    addresses = dict(zip(distinct, names, strict=True))
    inside = {loc: source for loc, source in moving.items() if addresses[source.sha256] is None}
    if inside:
        # Megabytes of text are made here, for which the loop has no time.
        addresses |= await asyncio.to_thread(_as_text, type(request).__name__, inside)
    wire = with_replaced(request.wire(), {loc: addresses[source.sha256] for loc, source in moving.items()})
    if inside or any(_is_data(picture) for _, picture in pictures):
        await asyncio.to_thread(_check_length, type(request).__name__, wire)
    return wire


def _must_move(picture: str, source: Source | None) -> bool:
    """Whether a picture cannot be sent as the input names it."""
    return isinstance(picture, Image) or (source is not None and source.size > MAX_IN_REQUEST)


def _as_text(kind: str, inside: Mapping[Place, Source]) -> dict[str, str]:
    """Pictures as `data:` addresses, by their hashes."""
    large = [(loc, source) for loc, source in inside.items() if source.size > MAX_IN_REQUEST]
    if large:
        raise InvalidInput(kind, [Problem(loc, _too_large_inside(loc, source), "picture") for loc, source in large])
    distinct = {source.sha256: source for source in inside.values()}
    return {
        sha256: f"data:{source.content_type};base64,{base64.b64encode(source.content).decode()}"
        for sha256, source in distinct.items()
    }


def _too_large_inside(loc: Place, source: Source) -> str:
    return (
        f"{subject(loc)} has {source.size / 1e6:,.1f} MB. This service takes no uploads, and inside a request "
        f"the limit is {MAX_IN_REQUEST / 1e6:g} MB: give a smaller picture, or an http(s) address."
    )


def _check_length(kind: str, wire: Mapping[str, Any]) -> None:
    length = len(json.dumps(wire, ensure_ascii=False, separators=(",", ":")).encode()) + ENVELOPE
    if length > MAX_BODY:
        words = (
            f"With its pictures inside, the request has {length / 1e6:,.1f} MB; the limit is {MAX_BODY / 1e6:.1f} MB. "
            "Give fewer or smaller pictures, or http(s) addresses."
        )
        raise InvalidInput(kind, [Problem((), words, "picture")])
