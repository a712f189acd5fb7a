"""A local media file: its path, size, frames and provenance."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ReelbookError
from ..models.picture_encoding import STILL_OF
from .file_names import make_file_name, name_words, slug

if TYPE_CHECKING:
    from av import VideoFrame, VideoStream
    from av.container import InputContainer
    from PIL.Image import Image

    from ..models.base import File
    from .explorer import Explorer
    from .metadata.file_marks import Marks
    from .metadata.provenance import Provenance

CONTAINERS = {".mp4": "mp4", ".m4v": "mp4", ".mov": "mp4", ".webm": "matroska", ".mkv": "matroska"}
"""FFmpeg's format name by the suffix of a video.

It is passed explicitly, because FFmpeg's probing may take a text for a playlist that refers to other local files.
"""
_KINDS = [
    {".mp4", ".m4v", ".mov"}, {".webm", ".mkv"}, {".png"}, {".jpg", ".jpeg"}, {".webp"}, {".gif"}, {".bmp"}, {".tif", ".tiff"},
]  # fmt: skip
"""Suffixes of the same format."""


def is_video(path: str | Path) -> bool:
    """Whether a file is a video by its suffix; a GIF counts as a picture."""
    return Path(path).suffix.lower() in CONTAINERS


@dataclass(frozen=True, slots=True)
class Probe:
    """Size, number of frames and frame rate of a file."""

    width: int
    height: int
    frames: int
    rate: Fraction | None
    """Frames per second; None for a picture."""

    @property
    def seconds(self) -> float:
        """Duration; 0 for a picture."""
        return float(self.frames / self.rate) if self.rate else 0.0

    def __str__(self) -> str:
        size = f"{self.width}×{self.height}"
        return f"{size} · {self.frames} frames at {float(self.rate):g}/s · {self.seconds:.1f} s" if self.rate else size


@dataclass(frozen=True)
class LocalFile:
    """A video or a picture on this machine.

    Example::

        clip = rb.run(boat).video
        clip.still(frame=4).save("fourth.png")
    """

    path: Path
    source: File = field(compare=False)
    """The `File` of the response it was downloaded from."""
    facts: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    """Facts about the run that made it, written into the copies that `save` makes; see `provenance.write`."""

    @cached_property
    def probe(self) -> Probe:
        """Size, number of frames and frame rate."""
        with self.reading():
            return self._probed()

    @property
    def is_video(self) -> bool:
        """Whether this is a video; a GIF counts as a picture."""
        return is_video(self.path)

    @cached_property
    def marks(self) -> Marks:
        """The signer as stated, and whether the file declares a generative model as its source."""
        from .metadata.file_marks import read_marks

        return read_marks(self.path)

    @property
    def provenance(self) -> Provenance:
        """How the file was made, from its metadata and its run."""
        from .metadata.provenance import read

        return read(self.path, self.facts)

    def frames(self) -> Iterator[Image]:
        """Iterate over all frames in order."""
        if not self.is_video:
            yield self.still()
            return
        with self.reading(), self._opened() as (container, stream):
            for frame in container.decode(stream):
                yield _picture(frame, stream)

    def spread(self, count: int) -> list[Image]:
        """`count` frames, evenly spaced from the first to the last, decoded in one pass."""
        if not self.is_video:
            return [self.still()] * count
        last = self.probe.frames - 1
        wanted = [round(place * last / max(count - 1, 1)) for place in range(count)]
        found: list[Image] = []
        with self.reading(), self._opened() as (container, stream):
            for number, frame in enumerate(container.decode(stream)):
                # Only wanted frames are converted to pictures, which costs more than decoding.
                times = wanted.count(number)
                found += [_picture(frame, stream)] * times if times else []
        if len(found) < count:
            raise ReelbookError(f"{self.path} names {last + 1} frames and holds fewer. rb.attach downloads it again.")
        return found

    def still(self, at: float = 0.0, *, frame: int | None = None, seconds: float | None = None) -> Image:
        """The frame nearest to a fraction of the clip, a number, or a time."""
        if not self.is_video:
            from PIL import Image

            with self.reading(), Image.open(self.path) as picture:
                return picture.copy()
        last = self.probe.frames - 1
        if seconds is not None and self.probe.rate:
            # The frame displayed at that time; a float such as 7/24 is slightly less than its value.
            frame = math.floor(seconds * self.probe.rate + 1e-6)
        number = round(at * last) if frame is None else frame
        with self.reading():
            frame_picture = self._decoded(min(max(number, 0), last))
        if self.facts:
            frame_picture.info[STILL_OF] = f"still of {name_words(self.facts)}"
        return frame_picture

    def poster(self, *, longest: int) -> bytes:
        """The middle frame of a clip, or the picture itself, as a small JPEG."""
        from .posters import make_poster

        with self.reading():
            return make_poster(self.path, longest=longest)

    def preview(self, *, longest: int, max_bytes: int) -> bytes | None:
        """A small copy of the clip, for use where the file is too large; None if none can be made."""
        from .previews import make_preview

        with self.reading():
            return make_preview(self.path, longest=longest, max_bytes=max_bytes)

    def save(self, path: str | Path) -> Path:
        """Save a copy under the given name, or in the given folder under a generated name; returns its path.

        In a folder nothing is overwritten: a copy that is already there stays, and if another file has the name, a
        number is added. The copy's metadata contain model, input, seed, request and credits for `rb.provenance`; its
        pixels are unchanged.
        """
        from .frame_files import is_folder, save_in_folder
        from .metadata.provenance import write

        if is_folder(path):
            return save_in_folder(self, path)
        target = self._with_suffix(Path(path).expanduser())
        write(self.path, target, self.facts or {})
        return target

    def clip(self, path: str | Path, first: int = 0, last: int | None = None) -> Path:
        """Save the frames from `first` to `last`, both included, as an MP4 of exactly these frames; returns its path.

        In a folder it gets a readable name that no file has yet. The frames are encoded again, with no visible loss.
        """
        from .frame_files import save_clip

        return save_clip(self, path, first, last)

    def gif(self, path: str | Path, first: int = 0, last: int | None = None, *, width: int = 480) -> Path:
        """Save the frames from `first` to `last`, both included, as an endless GIF; returns its path."""
        from .frame_files import save_gif

        return save_gif(self, path, first, last, width=width)

    def explore(self, folder: str | Path = "saved") -> Explorer:
        """A viewer with a filmstrip, for single frames and ranges; what you save there goes into the folder.

        In a notebook it is on the page at the end of a cell; `explorer.frame` and `explorer.image` follow it.
        """
        from .explorer import Explorer

        return Explorer(self, folder)

    def __reel_picture__(self) -> tuple[bytes, str]:
        """The file as a source picture: its own bytes, or the last frame of a video; and a short description."""
        if not self.is_video:
            try:
                return self.path.read_bytes(), self.path.name
            except OSError as error:
                raise ReelbookError(
                    f"{self.path} cannot be read ({error.strerror}). rb.attach downloads it again."
                ) from error
        out = io.BytesIO()
        self.still(1.0).save(out, "PNG")
        return out.getvalue(), f"last frame of {name_words(self.facts) if self.facts else self.path.name}"

    def make_name(self, part: str = "", suffix: str | None = None) -> str:
        """A readable name of prompt or source picture, seed and size, or the file's own; with the part that is saved."""
        if not self.facts and not part:
            return self.path.name
        short = self.path.stem[:16] if len(self.path.stem) == 64 else self.path.stem
        stem = (make_file_name(self.facts, self._known_size) if self.facts else "") or short
        kept = re.sub(r"[^A-Za-z0-9.]", "", self.path.suffix) if suffix is None else suffix
        return "_".join(filter(None, (stem, slug(part)))) + kept

    @property
    def _known_size(self) -> tuple[int, int] | None:
        """Width and height; None for a file that cannot be read."""
        try:
            return self.probe.width, self.probe.height
        except (ReelbookError, OSError):
            return None

    def _with_suffix(self, target: Path) -> Path:
        """The target with the file's suffix; `ReelbookError` if its own suffix is of another format."""
        ours, wanted = (
            next((kind for kind in _KINDS if path.suffix.lower() in kind), None) for path in (self.path, target)
        )
        if ours is None or wanted == ours:
            return target
        if wanted is not None:
            raise ReelbookError(
                f"{self.path.name} is no {target.suffix} file, and saving does not convert it. "
                f"Give a name that ends in {self.path.suffix}."
            )
        return target.with_name(target.name + self.path.suffix)

    def _opened(self) -> AbstractContextManager[tuple[InputContainer, VideoStream]]:
        from .bounded_open import open_video

        return open_video(self.path, to_decode=False)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Convert errors of the decoders to `ReelbookError`."""
        try:
            yield
        except ReelbookError:
            raise
        # Decoders raise errors of many types for a broken file.
        except Exception as error:
            kind = "video" if self.is_video else "picture"
            raise ReelbookError(
                f"{self.path} cannot be read as a {kind} ({type(error).__name__}). rb.attach downloads it again."
            ) from error

    def _probed(self) -> Probe:
        if self.is_video:
            from .stream_facts import read_display_size, read_timing

            with self._opened() as (container, stream):
                frames, rate = read_timing(container, stream)
                return Probe(*read_display_size(container, stream), frames, rate)
        from .bounded_open import read_picture_size

        return Probe(*read_picture_size(self.path), 1, None)

    def _decoded(self, number: int) -> Image:
        from .stills import read_frames

        return read_frames(self.path, lambda count, _: [number], None).frames[0]


def _picture(frame: VideoFrame, stream: VideoStream) -> Image:
    from .stills import shrink_frame

    return shrink_frame(frame, stream.codec_context, None)
