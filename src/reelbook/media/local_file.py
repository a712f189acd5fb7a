"""A local media file: its path, size, frames and provenance; and the state of a viewer for it."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ReelbookError
from ..models.images import STILL_OF
from ..models.images import Image as SourcePicture
from .bounded_open import check_range, is_video, open_video, read_picture_size
from .file_names import make_file_name, name_words, slug
from .metadata.file_marks import read_marks
from .metadata.provenance import read
from .saving import is_same_format, save_copy, save_part

if TYPE_CHECKING:
    from PIL.Image import Image

    from ..models.base import File
    from .metadata.file_marks import Marks
    from .metadata.provenance import Provenance

FOLDER = "saved"
"""Where a viewer saves files by default."""
GIF_SIDE = 480
HASH_LETTERS = 64
ENTIRE = "all frames"


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
        from .stream_facts import read_display_size, read_timing

        with self.reading():
            if not self.is_video:
                return Probe(*read_picture_size(self.path), 1, None)
            with open_video(self.path, to_decode=False) as (container, stream):
                frames, rate = read_timing(container, stream)
                return Probe(*read_display_size(container, stream), frames, rate)

    @property
    def is_video(self) -> bool:
        """Whether this is a video; a GIF counts as a picture."""
        return is_video(self.path)

    @cached_property
    def marks(self) -> Marks:
        """The signer as stated, and whether the file declares a generative model as its source."""
        return read_marks(self.path)

    @property
    def provenance(self) -> Provenance:
        """How the file was made, from its metadata and its run."""
        return read(self.path, self.facts)

    def frames(self) -> Iterator[Image]:
        """Iterate over all frames in order."""
        if not self.is_video:
            yield self.still()
            return
        from .stills import shrink_frame

        with self.reading(), open_video(self.path, to_decode=False) as (container, stream):
            for frame in container.decode(stream):
                yield shrink_frame(frame, stream.codec_context, None)

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
        number = min(max(round(at * last) if frame is None else frame, 0), last)
        from .stills import read_frames

        with self.reading():
            (still,) = read_frames(self.path, lambda count, _: [number], None).frames
        if self.facts:
            still.info[STILL_OF] = f"still of {name_words(self.facts)}"
        return still

    def poster(self, *, longest: int) -> bytes:
        """The middle frame of a clip, or the picture itself, as a small JPEG."""
        from .posters import make_poster

        with self.reading():
            return make_poster(self.path, longest=longest)

    def save(self, path: str | Path) -> Path:
        """Save a copy under the given name, or in the given folder under a generated name; returns its path.

        In a folder nothing is overwritten: a copy that is already there stays, and if another file has the name, a
        number is added. The copy's metadata contain model, input, seed, request and credits for `rb.provenance`; its
        pixels are unchanged.
        """
        return save_copy(self.path, path, self.make_name(), self.facts or {})

    def clip(self, path: str | Path, first: int = 0, last: int | None = None) -> Path:
        """Save the frames from `first` to `last`, both included, as an MP4 of exactly these frames; returns its path.

        In a folder it gets a readable name. The frames are encoded again, with no visible loss.
        """
        from . import frame_range

        first, last, part = self._check_range(first, last)
        # A whole clip of another kind is encoded only where the name asks for it.
        is_converted = Path(path).suffix.lower() == ".mp4" and not is_same_format(self.path, Path(path))
        if part == ENTIRE and not is_converted:
            return self.save(path)
        return self._save_part(path, part, ".mp4", lambda new: frame_range.encode_clip(self.path, new, first, last))

    def gif(self, path: str | Path, first: int = 0, last: int | None = None, *, width: int = GIF_SIDE) -> Path:
        """Save the frames from `first` to `last`, both included, as an endless GIF; returns its path."""
        from . import frame_range

        first, last, part = self._check_range(first, last)
        return self._save_part(
            path, part, ".gif", lambda new: frame_range.encode_gif(self.path, new, first, last, longest=width)
        )

    def _save_part(self, path: str | Path, part: str, suffix: str, make: Callable[[Path], object]) -> Path:
        """Save a part of the file; it is added to the facts of the run, and with them written into the metadata."""
        facts = {**self.facts, **({"part": part} if part != ENTIRE else {})} if self.facts else {}
        return save_part(path, self.make_name(part, suffix), facts, make)

    def _check_range(self, first: int, last: int | None) -> tuple[int, int, str]:
        """First and last frame, and the range in words; `ReelbookError` unless these are two frames or more of a clip."""
        if not self.is_video:
            raise ReelbookError(
                f"{self.path} is a picture, which has no frames to choose from. file.save(…) copies it."
            )
        if not self.path.exists():
            raise ReelbookError(f"{self.path} is not there any more. rb.attach downloads it again.")
        count = self.probe.frames
        last = count - 1 if last is None else last
        check_range(count, first, last)
        if first == last and count > 1:
            raise ReelbookError(
                f"The range holds frame {first} alone, which is a still: save that, or choose a later end for the range."
            )
        return first, last, ENTIRE if (first, last) == (0, count - 1) else f"frames {first + 1}-{last + 1} of {count}"

    def explore(self, folder: str | Path = FOLDER) -> Explorer:
        """A viewer with a filmstrip, for single frames and ranges; what you save there goes into the folder.

        In a notebook it is on the page at the end of a cell; `explorer.frame` and `explorer.image` follow it.
        """
        return Explorer(self, folder)

    def __reel_picture__(self) -> tuple[bytes, str]:
        """The file as a source picture: its own bytes, or the last frame of a video; and a short description."""
        if not self.is_video:
            with self.reading():
                return self.path.read_bytes(), self.path.name
        return _as_png(self.still(1.0)), f"last frame of {name_words(self.facts) if self.facts else self.path.name}"

    def make_name(self, part: str = "", suffix: str | None = None) -> str:
        """A readable name of prompt or source picture, seed and size, or the file's own; with the part that is saved."""
        if not self.facts and not part:
            return self.path.name
        size = None
        # A file that cannot be read has no size.
        with suppress(ReelbookError, OSError):
            size = self.probe.width, self.probe.height
        short = self.path.stem[:16] if len(self.path.stem) == HASH_LETTERS else self.path.stem
        stem = (make_file_name(self.facts, size) if self.facts else "") or short
        kept = re.sub(r"[^A-Za-z0-9.]", "", self.path.suffix) if suffix is None else suffix
        return "_".join(filter(None, (stem, slug(part)))) + kept

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


def _as_png(picture: Image) -> bytes:
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


class Explorer:
    """The viewer of one clip or picture; at the end of a cell it is on the page, and follows what is done there.

    `explorer.image` is a picture for any field that takes one: `rb.ImageToVideo(image_url=explorer.image, prompt="…")`.

    Example::

        explorer = rb.run(boat).video.explore()
        explorer.frame
    """

    def __init__(self, file: LocalFile, folder: str | Path = FOLDER) -> None:
        self.file = file
        self.folder = Path(folder).expanduser()
        """Where files are saved; made when the first one is."""
        self.saved: list[Path] = []
        """The files that were saved, the newest last."""
        self._count = file.probe.frames
        self._frame = 0
        self._range: tuple[int, int] | None = None
        self._listeners: list[Callable[[], object]] = []

    def __repr__(self) -> str:
        if not self.file.is_video:
            return f"<explorer of {self.file_name}>"
        chosen = f", range {self._range[0]} to {self._range[1]}" if self._range else ""
        return f"<explorer of {self.file_name}: frame {self._frame} of 0 to {self._count - 1}{chosen}>"

    @property
    def frames(self) -> int:
        """The number of frames; 1 for a picture."""
        return self._count

    @property
    def frame(self) -> int:
        """The number of the frame on the screen, the first being 0; setting it moves the page there."""
        return self._frame

    @frame.setter
    def frame(self, number: int) -> None:
        self._show(number, self._range)

    @property
    def range(self) -> tuple[int, int] | None:
        """The first and the last frame of the chosen range; None while it is the entire clip."""
        return self._range

    @range.setter  # noqa: A003  # The word for it everywhere, and no range is made here.
    def range(self, chosen: tuple[int, int] | None) -> None:
        self._show(self._frame, chosen)

    @property
    def image(self) -> str:
        """The frame on the screen as an `rb.Image`, for an input or a form."""
        return SourcePicture.of(self)

    def update(self, frame: int, chosen: tuple[int, int] | None) -> None:
        """Take over frame and range as the page has them, without notifying it; `ReelbookError` if there are none."""
        if type(frame) is not int or not 0 <= frame < self._count:
            raise ReelbookError(f"The clip has the frames 0 to {self._count - 1}, and no frame {frame!r}.")
        if chosen is not None:
            check_range(self._count, *chosen)
        self._frame = frame
        self._range = None if chosen in (None, (0, self._count - 1)) else chosen

    def on_change(self, listener: Callable[[], object]) -> None:
        """Call a function when Python changes the frame or the range."""
        self._listeners.append(listener)

    def save_still(self) -> Path:
        """Save the frame on the screen in its full size as a PNG, or a picture as it is; returns the path of the new file."""
        if not self.file.is_video:
            return self._note(self.file.save(f"{self.folder}/"))
        picture, part = self.file.still(frame=self._frame), f"frame {self._frame + 1} of {self._count}"
        return self._note(self.file._save_part(f"{self.folder}/", part, ".png", lambda new: picture.save(new, "PNG")))

    def save_clip(self) -> Path:
        """Save the range as an MP4 of exactly these frames; returns the path of the new file."""
        return self._note(self.file.clip(f"{self.folder}/", *(self._range or (0, None))))

    def save_gif(self, *, width: int = GIF_SIDE) -> Path:
        """Save the range as an endless GIF of exactly these frames; returns the path of the new file."""
        return self._note(self.file.gif(f"{self.folder}/", *(self._range or (0, None)), width=width))

    def __reel_picture__(self) -> tuple[bytes, str]:
        """The frame on the screen as a source picture, and a short description."""
        if not self.file.is_video:
            return self.file.__reel_picture__()
        return _as_png(self.file.still(frame=self._frame)), f"frame {self._frame + 1} of {self.file_name}"

    @property
    def file_name(self) -> str:
        """The name of the file; of one on the shelf, the first letters of its hash."""
        path = self.file.path
        return f"{path.stem[:8]}…{path.suffix}" if len(path.stem) == HASH_LETTERS else path.name

    def _note(self, path: Path) -> Path:
        self.saved.append(path)
        return path

    def _show(self, frame: int, chosen: tuple[int, int] | None) -> None:
        self.update(frame, chosen)
        for listener in self._listeners:
            listener()
