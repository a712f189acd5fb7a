"""The pictures of a form: uploads, pictures from Python, previews, and earlier outputs."""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from PIL import Image as Pillow

from ...display.embedding import data_uri
from ...display.formatting import format_size, join_with_dots, shorten
from ...errors import ReelbookError
from ...media import stills
from ...media.bounded_open import PICTURES, is_video
from ...models.file_kinds import read_size, sniff_kind
from ...models.images import (
    MAX_BYTES,
    Image,
    NotAPicture,
    check_pixels,
    parse_picture_address,
    require_picture,
)
from ...sweeps.table_files import IMAGES, VIDEO, find_column, find_paths
from ...transport.picture_sources import read_picture_file
from ...util.data_address import is_data_address
from ..link import Handler, Link

if TYPE_CHECKING:
    import pandas as pd

    from ...current import Session

MAX_TEXTS = 50
"""Texts offered; `rb.library()` has all."""
MAX_TEXT_LENGTH = 20_000
MAX_EARLIER = 60
"""Earlier outputs offered; the gallery of a studio has all."""
MAX_CAPTION = 120

SHA256 = re.compile(r"[0-9a-f]{64}")
IN_LIBRARY, OF_CLIP = "sha256:", "film:"
"""Prefixes of the texts for a picture on the shelf, and for the last frame of a clip there."""

BOX = (320, 320)
"""The maximum size of a thumbnail in pixels."""
MAX_NAME_LENGTH, MAX_ADDRESS_LENGTH = 60, 120

Content = dict[str, Any]
Buffers = Sequence[Any]


class Pictures:
    """Maps the texts of picture fields to pictures, and answers the page about them and about what earlier runs offer."""

    def __init__(self, form: Link, session: Session) -> None:
        self._form, self._session, self._lock = form, session, form.lock
        self._in_memory: dict[str, Image] = {}
        """Pictures that the library does not have."""
        self._names: dict[str, str] = {}
        """What pictures are called, by their texts, here and in the form of another model to which they go along."""
        self._uploads: dict[str, bytearray] = {}
        self.handlers: Mapping[str, Handler] = {
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
        picture = Image(text, sha256=sha256, label=self._names.get(text, f"picture {sha256[:8]}"))
        return picture if self._find_on_shelf(sha256) is not None else None

    def remember(self, value: Any) -> str:
        """The text that represents a picture from Python; a picture in memory is stored under it."""
        if isinstance(value, str) and not isinstance(value, Image):
            if not is_data_address(value):
                return value
            try:
                return self._store(require_picture(parse_picture_address(value)), "data address")
            except NotAPicture:
                return value
        picture = Image.of(value)
        if isinstance(picture, Image) and picture.content is not None:
            return self._store(picture.content, picture.label)
        self._names.setdefault(str(picture), getattr(picture, "label", ""))
        return str(picture)

    def preview(self, text: str) -> Content:
        """What the page is sent of a picture: its `name`, `words` about it, what the service `receives`, and
        the `url` of a thumbnail; or what is wrong with it, as `error`."""
        name = shorten(text if "://" in text else PurePosixPath(text).name or text, MAX_NAME_LENGTH)
        try:
            if text[:7].lower() in ("http://", "https:/") or text[:5].lower() == "file_":
                return preview_address(text)
            if text.startswith(OF_CLIP):
                name = "last frame of a clip"
            elif text.startswith(IN_LIBRARY):
                name = self._names.get(text) or f"picture {text.removeprefix(IN_LIBRARY)[:8]}"
            elif is_data_address(text):
                name = "data address"
            else:
                return preview_path(text, name)
            return preview_content(self._read(text), name)
        except NotAPicture as error:
            return {"name": name, "error": f"{name} {error}"}

    def store_all(self) -> None:
        """Store every picture in the library, so that code that refers to it runs in another notebook."""
        with self._lock:
            missing = list(self._in_memory.values())
        for picture in missing:
            self._put_on_shelf(picture)

    # Requests of the page. It may send anything: each value is checked before use.

    def _on_upload(self, content: Content, buffers: Buffers) -> None:
        """Take one part of a picture; the page sends the next one once it has the answer."""
        key, part, of = content.get("upload"), content.get("part"), content.get("of")
        if not (isinstance(key, str) and type(part) is int and type(of) is int and buffers):
            return
        name = shorten(str(content.get("name") or "The picture"), MAX_NAME_LENGTH)
        with self._lock:
            if part == 0:
                self._uploads[key] = bytearray()
            taken = self._uploads.get(key)
            if taken is None:
                self._form.answer(content, lambda: {"error": f"{name} did not arrive whole. Choose it again."})
                return
            taken += buffers[0]
            if part < of - 1 and len(taken) <= MAX_BYTES:
                self._form.send({"did": content.get("id")})
                return
            del self._uploads[key]

        self._answer_with_picture(content, name, lambda: self._store(require_picture(bytes(taken)), name))

    def _on_still(self, content: Content, _: Buffers) -> None:
        """Store the last frame of a clip of an earlier run."""
        text = content.get("picture")
        if isinstance(text, str) and text.startswith(OF_CLIP):
            label = self._names.get(text, "last frame of a clip")
            self._answer_with_picture(content, label, lambda: self._store(self._read(text), label))

    def _answer_with_picture(self, content: Content, name: str, store: Callable[[], str]) -> None:
        """Answer with the text that represents a picture, or with what is wrong with it."""

        def answer() -> Content:
            try:
                return {"picture": store()}
            except NotAPicture as error:
                return {"error": f"{name} {error}"}

        self._form.answer(content, answer)

    def _on_preview(self, content: Content, _: Buffers) -> None:
        text = content.get("picture")
        if isinstance(text, str):
            self._form.answer(content, lambda: self.preview(text))

    def _on_earlier(self, content: Content, _: Buffers) -> None:
        def find() -> Content:
            found = find_earlier_pictures(self._session.library().frame)
            # By their prompts; a caption of one part has none.
            parts = {entry["picture"]: entry["words"].partition(" · ") for entry in found}
            self._names.update({picture: words for picture, (words, _, more) in parts.items() if more})
            return {"earlier": found}

        self._form.answer(content, find)

    def _on_prompts(self, content: Content, _: Buffers) -> None:
        name = content.get("name")
        if isinstance(name, str):
            self._form.answer(content, lambda: {"texts": find_earlier_texts(self._session.library().frame, name)})

    # Contents.

    def _read(self, text: str) -> bytes:
        """The content of a picture that is here or in the library, or of the last frame of a clip there."""
        if is_data_address(text):
            return require_picture(parse_picture_address(text))
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
        return stills.read_last_frame(found) if is_clip else found.read_bytes()

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
        # A full disk loses nothing: the picture is in memory, and the run stores its sources itself.
        with contextlib.suppress(ReelbookError, OSError):
            if (client := self._session.current) is not None:
                client.shelf.keep(picture.content, sniff_kind(picture.content).suffix)
                with self._lock:
                    self._in_memory.pop(str(picture), None)

    def _find_on_shelf(self, sha256: str) -> Path | None:
        client = self._session.current
        if client is None or not SHA256.fullmatch(sha256):
            return None
        try:
            return client.shelf.find(sha256)
        except ReelbookError:
            return None


def preview_content(content: bytes, name: str) -> Content:
    """The preview of a picture's content; `NotAPicture` if it cannot be decoded."""
    size = read_size(require_picture(content))
    assert size is not None, "what was checked has a size"
    try:
        with Pillow.open(io.BytesIO(content), formats=PICTURES) as opened:
            # The first picture of a GIF may be larger than its header says.
            check_pixels(*opened.size)
            on_its_side = opened.getexif().get(0x0112) in (5, 6, 7, 8)
        small = stills.read_picture(io.BytesIO(content), BOX)
    except NotAPicture:
        raise
    # Any other decoder error is a fault of the file.
    except Exception:
        raise NotAPicture("is damaged or cut short: its pixels cannot be read.") from None
    thumb = io.BytesIO()
    small.save(thumb, "JPEG", quality=80)
    width, height = size[::-1] if on_its_side else size
    name, weight = shorten(name, MAX_NAME_LENGTH), format_size(len(content))
    # Pictures without a file are named by their size.
    pixels = "" if name.endswith(f" {width} × {height}") else f"{width:,} × {height:,}"
    return {
        "name": name,
        "words": join_with_dots(name, pixels, weight),
        "receives": f"Sent as {sniff_kind(content).name} of {weight}, uploaded once.",
        "url": data_uri("image/jpeg", thumb.getvalue()),
    }


def preview_path(text: str, name: str) -> Content:
    """The preview of a file of this machine as a run would send it now; of a video, of its last frame."""
    try:
        content = read_picture_file(text)
    except NotAPicture as error:
        return {"name": name, "error": f"The picture {error}"}
    preview = preview_content(content, f"last frame of {name}" if is_video(name) else name)
    return {**preview, "receives": f"Read when it is run. {preview['receives']}"}


def preview_address(text: str) -> Content:
    """The preview of an address, without fetching it."""
    address = shorten(text, MAX_ADDRESS_LENGTH)
    if text[:5].lower() == "file_":
        return {"name": address, "words": address, "receives": "An upload that the service has already."}
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    if not parts.hostname:
        raise NotAPicture("is no whole address: https://, then a server and a path.")
    name = shorten(unquote(PurePosixPath(parts.path).name) or parts.hostname, MAX_NAME_LENGTH)
    return {"name": name, "words": address, "receives": "The service fetches it itself; nothing is loaded here."}


# What earlier runs offer: the texts of a field, their pictures, and the last frames of their clips.


def find_earlier_pictures(runs: pd.DataFrame) -> list[dict[str, str]]:
    """The newest pictures of a library, each once: as a draft has it, and its caption; of a clip, its last frame.

    `runs` has one row for each run, the newest last.
    """
    if find_column(runs, VIDEO) is None and find_column(runs, IMAGES) is None:
        return []
    rows: dict[str, int] = {}
    newest = runs.iloc[::-1]
    for row, paths in enumerate(find_paths(newest)):
        for name in filter(None, map(_find_name, paths)):
            rows.setdefault(name, row)
        if len(rows) >= MAX_EARLIER:
            break
    captions = _captions(newest.head(max(rows.values(), default=-1) + 1))
    return [
        {"picture": name, "words": f"last frame of {captions[row]}" if name.startswith(OF_CLIP) else captions[row]}
        for name, row in list(rows.items())[:MAX_EARLIER]
    ]


def _find_name(path: str) -> str:
    """A file of the shelf as a draft has it; empty for any other file."""
    sha256 = Path(path).stem
    return (OF_CLIP if is_video(path) else IN_LIBRARY) + sha256 if SHA256.fullmatch(sha256) else ""


def _captions(runs: pd.DataFrame) -> list[str]:
    from ...display.tables.table_html import format_captions

    return [shorten(words, MAX_CAPTION) or "an earlier run" for words in format_captions(runs)]


def find_earlier_texts(runs: pd.DataFrame, name: str) -> list[str]:
    """The texts in a column, the newest first and each only once; `runs` has the newest last.

    >>> import pandas as pd
    >>> find_earlier_texts(pd.DataFrame({"prompt": ["a kite", "a boat", None, "a kite"]}), "prompt")
    ['a kite', 'a boat']
    """
    column = find_column(runs, name)
    texts = [] if column is None else [text for text in column if isinstance(text, str) and text.strip()]
    return [text[:MAX_TEXT_LENGTH] for text in dict.fromkeys(reversed(texts))][:MAX_TEXTS]
