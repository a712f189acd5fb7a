"""The pictures of a form: uploads, pictures from Python, previews, and earlier outputs."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ...display.formatting import shorten
from ...errors import ReelbookError
from ...media.stills import read_last_frame
from ...models.file_kinds import parse_header
from ...models.images import Image
from ...models.picture_encoding import MAX_BYTES, NotAPicture, parse_picture_address
from ...util.data_address import is_data_address
from ...util.printable import replace_surrogates
from .earlier import IN_LIBRARY, OF_CLIP, PAGE, SHA256, EarlierPictures
from .json_values import sendable
from .picture_previews import (
    MAX_NAME_LENGTH,
    PicturePreview,
    VideoGiven,
    convert_picture,
    format_too_large,
    last_frame_of_content,
    parse_path,
    preview_address,
    preview_content,
    preview_path,
)

if TYPE_CHECKING:
    from ...current import Session

MAX_PARTS = 1000
MAX_UPLOADS = 8
"""Incomplete uploads; the oldest, which somebody may have given up, is dropped for a new one."""
MAX_KEY_LENGTH = 100
"""The length of an upload's id."""
MAX_MEMORY_BYTES = 400_000_000
"""Memory for pictures that the library has, too."""

Content = dict[str, Any]
Buffers = Sequence[Any]


class Host(Protocol):
    """What `Pictures` needs of the form."""

    @property
    def session(self) -> Session: ...
    def send(self, content: Content, buffers: list[bytes] | None = None) -> None: ...
    def in_background(self, name: str, function: Callable[[], None]) -> None: ...


@dataclass
class _Upload:
    """An incomplete upload."""

    name: str
    part_count: int
    wants_last_frame: bool
    """Whether the last frame of an uploaded clip is requested."""
    parts: dict[int, bytes] = field(default_factory=dict)
    size: int = 0


class Pictures:
    """Maps the texts of picture fields to pictures, and handles the page's requests about them, longer ones in threads."""

    def __init__(self, form: Host) -> None:
        self._form = form
        self._lock = threading.RLock()
        self._in_memory: dict[str, Image] = {}
        self._shelved: set[str] = set()
        self._names: dict[str, str] = {}
        self._uploads: dict[str, _Upload] = {}
        self._earlier: EarlierPictures | None = None
        self._is_closed = False
        self.handlers: Mapping[str, Callable[[Content, Buffers], None]] = {
            "upload": self._on_upload, "still": self._on_still, "shown": self._on_preview,
            "earlier": self._on_earlier,
        }  # fmt: skip

    def find(self, text: str) -> Image | str | None:
        """The picture for a text of a picture field, or the text itself, if it is an address or a path.

        None for a content that is neither here nor in the library.
        """
        if not text.startswith(IN_LIBRARY):
            return text
        with self._lock:
            cached = self._in_memory.get(text)
        if cached is not None:
            return cached
        sha256 = text.removeprefix(IN_LIBRARY)
        return Image.from_library(sha256) if self._find_on_shelf(sha256) is not None else None

    def remember(self, value: Any) -> str:
        """The text that represents a picture from Python; a picture in memory is stored under it."""
        if isinstance(value, str) and not isinstance(value, Image):
            if not is_data_address(value):
                return value
            try:
                return self._store(convert_picture(parse_picture_address(value)), "data address")
            except NotAPicture:
                return value
        picture = Image.of(value)
        if isinstance(picture, Image) and picture.content is not None:
            return self._store(picture.content, picture.label)
        return str(picture)

    def preview(self, text: str) -> PicturePreview:
        """The preview of a picture: thumbnail and text, or an `error`."""
        if text[:7].lower() in ("http://", "https:/") or text[:5].lower() == "file_":
            return preview_address(text)
        if not is_data_address(text) and not text.startswith((IN_LIBRARY, OF_CLIP)):
            return preview_path(text)
        name = self._name(text)
        try:
            return preview_content(self._read(text), name)
        except NotAPicture as error:
            return PicturePreview(name, error=f"{name} {error}")
        except OSError as error:
            return PicturePreview(name, error=f"{name} cannot be read ({error.strerror}).")

    def _name(self, text: str) -> str:
        if is_data_address(text):
            return "data address"
        if text.startswith(OF_CLIP):
            return "last frame of a clip"
        return self._names.get(text) or f"picture {text.removeprefix(IN_LIBRARY)[:8]}"

    def _read(self, text: str) -> bytes:
        """The content of a picture that is here or in the library, or of the last frame of a clip there."""
        if is_data_address(text):
            return convert_picture(parse_picture_address(text))
        with self._lock:
            cached = self._in_memory.get(text)
        if cached is not None and cached.content is not None:
            return cached.content
        is_clip = text.startswith(OF_CLIP)
        found = self._find_on_shelf(text.removeprefix(OF_CLIP if is_clip else IN_LIBRARY))
        if found is None:
            raise NotAPicture(
                "is not in the library any more." if is_clip else "is not in the library. Give the picture itself."
            )
        return read_last_frame(found) if is_clip else found.read_bytes()

    def store_all(self) -> None:
        """Store every picture in the library, so that code that refers to it runs elsewhere."""
        with self._lock:
            missing = [picture for name, picture in self._in_memory.items() if name not in self._shelved]
        for picture in missing:
            self._put_on_shelf(picture)

    def close(self) -> None:
        """Release everything."""
        with self._lock:
            self._is_closed = True
            for store in (self._in_memory, self._uploads, self._names):
                store.clear()
            self._earlier = None

    # Messages from the page. It may send anything: each value is checked before use.

    def _on_upload(self, content: Content, buffers: Buffers) -> None:
        key, part, of = content.get("id"), content.get("part"), content.get("of")
        if not (isinstance(key, str) and type(part) is int and type(of) is int and buffers):
            return
        if not (0 <= part < of <= MAX_PARTS and len(key) <= MAX_KEY_LENGTH):
            return
        with self._lock:
            # Parts can arrive in any order: the kernel may handle messages in several threads.
            name = _format_name(content.get("name"))
            upload = self._uploads.get(key) or _Upload(name, of, content.get("still") is True)
            self._uploads[key] = upload
            while len(self._uploads) > MAX_UPLOADS:
                del self._uploads[next(iter(self._uploads))]
            upload.parts[part] = bytes(buffers[0])
            upload.size = sum(map(len, upload.parts.values()))
            is_complete, is_too_large = len(upload.parts) == upload.part_count, upload.size > MAX_BYTES
            if is_complete or is_too_large:
                self._uploads.pop(key, None)
        if is_too_large:
            self._send({"uploaded": key, "error": f"{upload.name} {format_too_large(upload.size)}"})
            return
        self._send({"arrived": key, "part": part})
        if is_complete:
            self._answer_upload(key, upload)

    def _answer_upload(self, key: str, upload: _Upload) -> None:
        def store() -> str:
            content = b"".join(upload.parts[part] for part in range(upload.part_count))
            if upload.wants_last_frame:
                return self._store(last_frame_of_content(content), f"last frame of {upload.name}")
            return self._store(convert_picture(content), upload.name)

        self._answer_with_picture(key, upload.name, store)

    def _on_still(self, content: Content, _: Buffers) -> None:
        """Store the last frame of a clip: of an earlier run, or of a file of this machine."""
        key, text = content.get("id"), content.get("picture")
        if isinstance(key, str) and isinstance(text, str):
            self._answer_with_picture(key, _format_name(text), lambda: self._last_frame(text))

    def _on_preview(self, content: Content, _: Buffers) -> None:
        text = content.get("picture")
        if not isinstance(text, str):
            return

        def show() -> None:
            preview = self.preview(text)
            answer: Content = {
                "picture": text,
                "thumb": preview.thumb is not None,
                "name": preview.name,
                "words": preview.words,
            }
            answer |= {"receives": preview.receives, "size": preview.size}
            if preview.error:
                answer |= {"error": preview.error, "film": preview.is_video}
            self._send(answer, [preview.thumb] if preview.thumb is not None else None)

        def failed(why: str) -> None:
            self._send(
                {"picture": text, "thumb": False, "name": _format_name(text), "words": "", "receives": "", "error": why}
            )

        self._run(show, failed)

    def _on_earlier(self, content: Content, _: Buffers) -> None:
        start = content.get("from")
        if type(start) is not int or start < 0:
            return

        def show() -> None:
            if start == 0 or self._earlier is None:
                self._earlier = EarlierPictures(self._form.session.library().frame)
            self._send({"earlier": self._earlier.page(start), "from": start, "more": start + PAGE < len(self._earlier)})

        self._run(show, lambda why: self._send({"earlier": [], "from": start, "more": False, "error": why}))

    # In the background.

    def _answer_with_picture(self, key: str, name: str, make: Callable[[], str]) -> None:
        """Make a picture, and send the page the text that represents it, or the error."""

        def answer() -> None:
            try:
                self._send({"uploaded": key, "picture": make()})
            except NotAPicture as error:
                self._send({"uploaded": key, "error": f"{name} {error}", "film": isinstance(error, VideoGiven)})

        self._run(answer, lambda why: self._send({"uploaded": key, "error": why}))

    def _last_frame(self, text: str) -> str:
        sha256 = text.removeprefix(OF_CLIP)
        if sha256 != text:
            return self._store(self._read(text), f"last frame of clip {sha256[:8]}")
        path = parse_path(text)
        return self._store(read_last_frame(path), f"last frame of {path.name}")

    def _store(self, content: bytes, label: str) -> str:
        """Store a picture, here and in the library; return its text. `NotAPicture` if it cannot be decoded."""
        name = f"{IN_LIBRARY}{hashlib.sha256(content).hexdigest()}"
        # Before storing: a service would refuse an unreadable picture later and less clearly.
        preview_content(content, label)
        sha256 = name.removeprefix(IN_LIBRARY)
        picture = Image(name, kind="memory", sha256=sha256, label=label, content=content)
        with self._lock:
            self._in_memory[name], self._names[name] = picture, label
        self._put_on_shelf(picture)
        self._limit_memory()
        return name

    def _put_on_shelf(self, picture: Image) -> None:
        assert picture.content is not None, "only for pictures in memory"
        # A full disk loses nothing: the picture is in memory, and the run stores its sources itself.
        with contextlib.suppress(ReelbookError, OSError):
            if (client := self._form.session.current) is not None:
                client.shelf.keep(picture.content, _suffix(picture.content))
                with self._lock:
                    self._shelved.add(str(picture))

    def _limit_memory(self) -> None:
        """Drop the oldest pictures that the library has, if all take too much memory. The newest is needed."""
        with self._lock:
            total = sum(len(picture.content or b"") for picture in self._in_memory.values())
            for name in list(self._in_memory)[:-1]:
                if total <= MAX_MEMORY_BYTES:
                    return
                if name in self._shelved:
                    total -= len(self._in_memory.pop(name).content or b"")

    def _find_on_shelf(self, sha256: str) -> Path | None:
        client = self._form.session.current
        if client is None or not SHA256.fullmatch(sha256):
            return None
        try:
            return client.shelf.find(sha256)
        except ReelbookError:
            return None

    def _send(self, content: Content, buffers: list[bytes] | None = None) -> None:
        if not self._is_closed:
            # A lone surrogate, which a page can send, cannot be sent back.
            self._form.send(sendable(content), buffers)

    def _run(self, job: Callable[[], None], failed: Callable[[str], None]) -> None:
        """Run a job in the background; `failed` is called with the reason if it fails."""

        def run_job() -> None:
            try:
                job()
            except Exception as error:
                why = str(error) if isinstance(error, ReelbookError) else f"It could not be read ({error!r:.200})."
                with contextlib.suppress(Exception):
                    failed(why)

        if not self._is_closed:
            self._form.in_background("pictures", run_job)


def _format_name(given: Any) -> str:
    """The name of a file for a sentence; a page may send anything."""
    text = given if isinstance(given, str) and given.strip() else "The picture"
    return shorten(replace_surrogates(text), MAX_NAME_LENGTH)


def _suffix(content: bytes) -> str:
    header = parse_header(content)
    return header.kind.suffix if header else ".bin"
