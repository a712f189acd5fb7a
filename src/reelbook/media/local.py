"""A file that was brought home: where it is, what it holds, and stills from it."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ReelbookError

if TYPE_CHECKING:
    from av import VideoFrame
    from PIL.Image import Image

    from ..models.files import File


@dataclass(frozen=True, slots=True)
class Probe:
    """What a file holds."""

    width: int
    height: int
    frames: int
    rate: Fraction | None
    """Frames per second; None for a picture."""

    @property
    def seconds(self) -> float:
        """How long it plays; 0 for a picture."""
        return float(self.frames / self.rate) if self.rate else 0.0

    def __str__(self) -> str:
        size = f"{self.width}×{self.height}"
        return f"{size} · {self.frames} frames at {float(self.rate):g}/s · {self.seconds:.1f} s" if self.rate else size


@dataclass(frozen=True)
class LocalFile:
    """A video or a picture on this machine."""

    path: Path
    source: File = field(compare=False)
    """The File object it came from."""

    @cached_property
    def probe(self) -> Probe:
        """Size, number of frames, and rate."""
        with self._readable():
            return self._probed()

    @property
    def is_video(self) -> bool:
        return self.path.suffix == ".mp4"

    def frames(self) -> Iterator[Image]:
        """Every frame in order, as pictures."""
        if not self.is_video:
            yield self.still()
            return
        import av

        with self._readable(), av.open(str(self.path)) as container:
            for frame in container.decode(video=0):
                yield _picture(frame)

    def spread(self, count: int) -> list[Image]:
        """So many frames, evenly from the first to the last, in one pass through the file."""
        if not self.is_video:
            return [self.still()] * count
        import av

        last = self.probe.frames - 1
        wanted = [round(place * last / max(count - 1, 1)) for place in range(count)]
        found: list[Image] = []
        with self._readable(), av.open(str(self.path)) as container:
            for number, frame in enumerate(container.decode(video=0)):
                # Only what is kept is turned into a picture, which costs more than decoding it.
                times = wanted.count(number)
                found += [_picture(frame)] * times if times else []
        if len(found) < count:
            raise ReelbookError(
                f"{self.path} names {last + 1} frames and holds fewer. Pick the run up with rb.attach, which fetches it anew."
            )
        return found

    def still(self, at: float = 0.0, *, frame: int | None = None, seconds: float | None = None) -> Image:
        """One frame: by fraction of the whole, by number, or by time; the nearest there is."""
        if not self.is_video:
            from PIL import Image

            with self._readable(), Image.open(self.path) as picture:
                return picture.copy()
        last = self.probe.frames - 1
        if seconds is not None and self.probe.rate:
            # The frame that is on the screen then; a time such as 7/24 is a hair less than it says.
            frame = math.floor(seconds * self.probe.rate + 1e-6)
        number = round(at * last) if frame is None else frame
        with self._readable():
            return self._decoded(min(max(number, 0), last))

    def preview(self, *, longest: int, most_bytes: int) -> bytes | None:
        """The clip as a small copy, for places where the file is too large; None where that cannot be."""
        from .preview import preview

        with self._readable():
            return preview(self.path, longest=longest, most_bytes=most_bytes)

    def save(self, path: str | Path) -> Path:
        """A copy of the file under a name of yours."""
        target = Path(path).expanduser()
        if target.is_dir():
            target /= self.path.name
        shutil.copyfile(self.path, target)
        return target

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """The errors of those who read the file, as ours."""
        try:
            yield
        except ReelbookError:
            raise
        # Whatever a decoder stumbles over, it is the file.
        except Exception as error:
            kind = "video" if self.is_video else "picture"
            raise ReelbookError(
                f"{self.path} cannot be read as a {kind} ({type(error).__name__}). Pick the run up with rb.attach, which fetches it anew."
            ) from error

    def _probed(self) -> Probe:
        if self.is_video:
            import av

            with av.open(str(self.path)) as container:
                stream = container.streams.video[0]
                codec = stream.codec_context
                return Probe(codec.width, codec.height, stream.frames, stream.average_rate)
        from PIL import Image

        with Image.open(self.path) as picture:
            return Probe(*picture.size, 1, None)

    def _decoded(self, number: int) -> Image:
        import av

        with av.open(str(self.path)) as container:
            stream = container.streams.video[0]
            rate = stream.average_rate or Fraction(24)
            # To the keyframe before it, then on to the frame itself.
            container.seek(int(number / rate / (stream.time_base or Fraction(1))), stream=stream)
            for frame in container.decode(stream):
                if frame.time is not None and round(frame.time * rate) >= number:
                    return _picture(frame)
        raise ReelbookError(f"{self.path} has no frame {number}.")


def _picture(frame: VideoFrame) -> Image:
    # PyAV's types leave this method out, because Pillow is optional there.
    picture: Image = frame.to_image()  # type: ignore[no-untyped-call]
    return picture
