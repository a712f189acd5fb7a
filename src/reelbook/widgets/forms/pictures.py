"""The pictures of a form: uploads, pictures from Python, previews, and earlier outputs."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ...display.formatting import shorten
from ...errors import ReelbookError
from ...media.stills import read_last_frame
from ...models.file_kinds import parse_header
from ...models.images import MAX_BYTES, Image, NotAPicture, parse_picture_address
from ...util.data_address import is_data_address
from .base_widget import Host, answer_request
from .earlier import IN_LIBRARY, OF_CLIP, PAGE, SHA256, EarlierPictures, find_earlier_texts
from .picture_previews import (
    MAX_NAME_LENGTH,
    Preview,
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

MAX_UPLOADS = 8
"""Incomplete uploads; the oldest, which somebody may have given up, is dropped for a new one."""

Content = dict[str, Any]
Buffers = Sequence[Any]


class PictureHost(Host, Protocol):
    """What `Pictures` needs of the form."""

    @property
    def session(self) -> Session: ...


class Pictures:
    """Maps the texts of picture fields to pictures, and answers the page about them and about what earlier runs offer."""

    def __init__(self, form: PictureHost) -> None:
        self._form = form
        self._lock = threading.RLock()
        self._in_memory: dict[str, Image] = {}
        """Pictures that the library does not have."""
        self._names: dict[str, str] = {}
        self._uploads: dict[str, bytearray] = {}
        self._earlier: EarlierPictures | None = None
        self.handlers: Mapping[str, Callable[[Content, Buffers], None]] = {
            "upload": self._on_upload,
            "still": self._on_still,
            "shown": self._on_preview,
            "earlier": self._on_earlier,
            "prompts": self._on_prompts,
        }

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

    def preview(self, text: str) -> Preview:
        """The preview of a picture: thumbnail and text, or an `error`."""
        if text[:7].lower() in ("http://", "https:/") or text[:5].lower() == "file_":
            return preview_address(text)
        if not is_data_address(text) and not text.startswith((IN_LIBRARY, OF_CLIP)):
            return preview_path(text)
        name = self._names.get(text) or f"picture {text.removeprefix(IN_LIBRARY)[:8]}"
        if not text.startswith(IN_LIBRARY):
            name = "last frame of a clip" if text.startswith(OF_CLIP) else "data address"
        try:
            return preview_content(self._read(text), name)
        except NotAPicture as error:
            return {"name": name, "error": f"{name} {error}"}
        except OSError as error:
            return {"name": name, "error": f"{name} cannot be read ({error.strerror})."}

    def store_all(self) -> None:
        """Store every picture in the library, so that code that refers to it runs in another notebook."""
        with self._lock:
            missing = list(self._in_memory.values())
        for picture in missing:
            self._put_on_shelf(picture)

    def close(self) -> None:
        """Release everything."""
        with self._lock:
            for store in (self._in_memory, self._uploads, self._names):
                store.clear()
            self.handlers, self._earlier = {}, None

    # Requests of the page. It may send anything: each value is checked before use.

    def _on_upload(self, content: Content, buffers: Buffers) -> None:
        """Take one part of a picture; the page sends the next one once it has the answer."""
        key, part, of = content.get("upload"), content.get("part"), content.get("of")
        if not (isinstance(key, str) and type(part) is int and type(of) is int and buffers):
            return
        name = _format_name(content.get("name"))
        with self._lock:
            if part == 0:
                self._uploads[key] = bytearray()
                while len(self._uploads) > MAX_UPLOADS:
                    del self._uploads[next(iter(self._uploads))]
            taken = self._uploads.get(key)
            if taken is None:
                answer_request(self._form, content, lambda: {"error": f"{name} did not arrive whole. Choose it again."})
                return
            taken += buffers[0]
            if part < of - 1 and len(taken) <= MAX_BYTES:
                self._form.send({"reply": content.get("id")})
                return
            del self._uploads[key]

        def store() -> str:
            if len(taken) > MAX_BYTES:
                raise NotAPicture(format_too_large(len(taken)))
            if content.get("still") is True:
                return self._store(last_frame_of_content(bytes(taken)), f"last frame of {name}")
            return self._store(convert_picture(bytes(taken)), name)

        self._answer_with_picture(content, name, store)

    def _on_still(self, content: Content, _: Buffers) -> None:
        """Store the last frame of a clip: of an earlier run, or of a file of this machine."""
        text = content.get("picture")
        if not isinstance(text, str):
            return

        def store() -> str:
            sha256 = text.removeprefix(OF_CLIP)
            if sha256 != text:
                return self._store(self._read(text), f"last frame of clip {sha256[:8]}")
            path = parse_path(text)
            return self._store(read_last_frame(path), f"last frame of {path.name}")

        self._answer_with_picture(content, _format_name(text), store)

    def _answer_with_picture(self, content: Content, name: str, store: Callable[[], str]) -> None:
        """Answer with the text that represents a picture, or with what is wrong with it."""

        def answer() -> Content:
            try:
                return {"picture": store()}
            except NotAPicture as error:
                return {"error": f"{name} {error}", "film": isinstance(error, VideoGiven)}

        answer_request(self._form, content, answer)

    def _on_preview(self, content: Content, _: Buffers) -> None:
        text = content.get("picture")
        if isinstance(text, str):
            answer_request(self._form, content, lambda: self.preview(text))

    def _on_earlier(self, content: Content, _: Buffers) -> None:
        start = content.get("from")
        if type(start) is not int or start < 0:
            return

        def answer() -> Content:
            if start == 0 or self._earlier is None:
                self._earlier = EarlierPictures(self._form.session.library().frame)
            return {"earlier": self._earlier.page(start), "more": start + PAGE < len(self._earlier)}

        answer_request(self._form, content, answer)

    def _on_prompts(self, content: Content, _: Buffers) -> None:
        name = content.get("name")
        if isinstance(name, str):
            answer_request(
                self._form,
                content,
                lambda: {"texts": find_earlier_texts(self._form.session.library().frame, name)},
            )

    # Contents.

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

    def _store(self, content: bytes, label: str) -> str:
        """Store a picture in the library, or else here; return its text. `NotAPicture` if it cannot be decoded."""
        sha256 = hashlib.sha256(content).hexdigest()
        # Before storing: a service would refuse an unreadable picture later and less clearly.
        preview_content(content, label)
        picture = Image(f"{IN_LIBRARY}{sha256}", sha256=sha256, label=label, content=content)
        with self._lock:
            self._in_memory[str(picture)], self._names[str(picture)] = picture, label
        self._put_on_shelf(picture)
        return str(picture)

    def _put_on_shelf(self, picture: Image) -> None:
        assert picture.content is not None, "only for pictures in memory"
        header = parse_header(picture.content)
        # A full disk loses nothing: the picture is in memory, and the run stores its sources itself.
        with contextlib.suppress(ReelbookError, OSError):
            if (client := self._form.session.current) is not None:
                client.shelf.keep(picture.content, header.kind.suffix if header else ".bin")
                with self._lock:
                    self._in_memory.pop(str(picture), None)

    def _find_on_shelf(self, sha256: str) -> Path | None:
        client = self._form.session.current
        if client is None or not SHA256.fullmatch(sha256):
            return None
        try:
            return client.shelf.find(sha256)
        except ReelbookError:
            return None


def _format_name(given: Any) -> str:
    """The name of a file for a sentence; a page may send anything."""
    return shorten(given if isinstance(given, str) and given.strip() else "The picture", MAX_NAME_LENGTH)
