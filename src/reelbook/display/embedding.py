"""How much of a file goes into the notebook: the file, a small copy, or a picture of it, as `rb.options.embed` says."""

from __future__ import annotations

import base64
import io
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ReelbookError
from ..media.bounded_open import MAX_PIXELS
from ..models.picture_headers import header_of
from ..settings import options
from .formatting import size
from .original_links import MAX_BYTES

if TYPE_CHECKING:
    from ..media.local_file import LocalFile

SMALL = 150_000
"""Bytes of a clip that shows well enough what is in it."""
LARGEST = 20_000_000
"""Bytes of a file that `full` still takes; GitHub and nbviewer stop near 25 MB for a whole notebook."""
PREVIEW_LONGEST = 480

KINDS = {
    ".mp4": "video/mp4", ".m4v": "video/mp4", ".mov": "video/quicktime", ".webm": "video/webm", ".mkv": "video/x-matroska",
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif",
}  # fmt: skip
"""What browsers call the files that they show."""
PLAYED = ("video/mp4", "video/webm")
"""Of the others they play at best a copy, whatever is inside."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """What the page holds of a file."""

    kind: str = ""
    content: bytes = b""
    """Empty where the page holds no more than a picture of it."""
    is_whole: bool = False
    """Whether that is the file itself, and not a copy of it."""
    note: str = ""
    """What to say about that."""
    size: tuple[int, int] | None = None
    """Width and height of a copy."""


def clip(file: LocalFile, *, many: bool = False) -> Embedded:
    """What the page holds of a clip; of one among many it is a picture only, unless more is asked for."""
    whole = file.path.stat().st_size
    kind = KINDS.get(file.path.suffix.lower(), "video/mp4")
    if many and options.embed == "poster":
        return Embedded()
    if kind in PLAYED and whole <= (LARGEST if options.embed == "full" else SMALL):
        return _counted(Embedded(kind, file.path.read_bytes(), is_whole=True))
    small = _preview(file.path)
    if small is None:
        return Embedded(note=f"{size(whole)}, too large to play here")
    pixels = _size_of(small)
    note = f"preview {words_of(pixels)}, {size(len(small))}"
    if kind not in PLAYED:
        note += f", because browsers do not play {file.path.suffix} files"
    elif options.embed == "full":
        note += f", because a file of {size(whole)} is too large for a notebook"
    return _counted(Embedded("video/mp4", small, note=note + _where(file), size=pixels))


def picture(file: LocalFile, width: int, *, many: bool = False) -> Embedded:
    """What the page holds of a picture: the file where it is small, else a JPEG for this width on the page."""
    from ..media.posters import poster

    whole = file.path.stat().st_size
    kind = KINDS.get(file.path.suffix.lower())
    fits = whole <= (LARGEST if options.embed == "full" else SMALL // 4 if many else SMALL)
    # A browser decodes the whole of it, too.
    if kind and fits and file.probe.width * file.probe.height <= MAX_PIXELS:
        return _counted(Embedded(kind, file.path.read_bytes(), is_whole=True))
    # Twice as wide as it is shown, for screens that are fine enough; one among many is not looked at so closely.
    small = file.poster(longest=width if many else 2 * width)
    if len(small) > SMALL:
        small = poster(file.path, longest=width) or small
    pixels = _size_of(small)
    note = f"preview {words_of(pixels)}, {size(len(small))}{_where(file)}"
    return _counted(Embedded("image/jpeg", small, note=note, size=pixels))


def uri(kind: str, content: bytes) -> str:
    """The content as an address of its own."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def words_of(pixels: tuple[int, int]) -> str:
    """Width and height in words.

    >>> words_of((480, 270))
    '480×270'
    """
    return "×".join(map(str, pixels))


def _where(file: LocalFile) -> str:
    """Where a file is that is too large to be brought to the page."""
    whole = file.path.stat().st_size
    return f"; the original of {size(whole)} is {file.path}" if whole > MAX_BYTES else ""


def _size_of(copy: bytes) -> tuple[int, int]:
    """Width and height of a copy that was made here."""
    header = header_of(copy)
    if header is not None:
        return header.width, header.height
    import av

    with av.open(io.BytesIO(copy), "r", format="mp4") as container:
        stream = container.streams.video[0]
        return stream.width, stream.height


def _preview(path: Path) -> bytes | None:
    from ..media.previews import preview

    try:
        return preview(path, longest=PREVIEW_LONGEST, most_bytes=SMALL)
    except ReelbookError:
        return None


class _Count:
    """The bytes that this session has put into its notebook."""

    def __init__(self) -> None:
        self.total, self._told, self._guard = 0, 0, threading.Lock()

    def add(self, count: int) -> None:
        """Warns each time when another 20 MB are full."""
        with self._guard:
            self.total += count
            steps = self.total // LARGEST
            told, self._told = self._told, max(self._told, steps)
        if steps > told:
            warnings.warn(
                f"About {size(self.total)} of media have been put into this notebook since it started; GitHub and nbviewer "
                'stop near 25 MB. rb.options.embed = "poster" puts in less; cleared outputs take their bytes along.',
                stacklevel=2,
            )


_count = _Count()


def _counted(embedded: Embedded) -> Embedded:
    _count.add(len(embedded.content))
    return embedded
