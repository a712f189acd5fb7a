"""The state of a viewer for one file: the frame on the screen, a range, and what is saved from it."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

from ..errors import ReelbookError
from ..models.images import Image
from . import frame_files, frame_range
from .local_file import LocalFile

FOLDER = "saved"
HASH_LETTERS = 64


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
        self.update(number, self._range)
        self._notify()

    @property
    def range(self) -> tuple[int, int] | None:
        """The first and the last frame of the chosen range; None while it is the entire clip."""
        return self._range

    @range.setter  # noqa: A003  # The word for it everywhere, and no range is made here.
    def range(self, chosen: tuple[int, int] | None) -> None:
        self.update(self._frame, chosen)
        self._notify()

    @property
    def image(self) -> str:
        """The frame on the screen as an `rb.Image`, for an input or a form."""
        return Image.of(self)

    def update(self, frame: int, chosen: tuple[int, int] | None) -> None:
        """Take over frame and range as the page has them, without notifying it; `ReelbookError` if there are none."""
        if type(frame) is not int or not 0 <= frame < self._count:
            raise ReelbookError(f"The clip has the frames 0 to {self._count - 1}, and no frame {frame!r}.")
        if chosen is not None:
            first, last = chosen
            if not 0 <= first <= last < self._count:
                raise ReelbookError(
                    f"The clip has the frames 0 to {self._count - 1}, so there is no range from {first} to {last}."
                )
        self._frame = frame
        self._range = None if chosen in (None, (0, self._count - 1)) else chosen

    def on_change(self, listener: Callable[[], object]) -> None:
        """Call a function when Python changes the frame or the range."""
        self._listeners.append(listener)

    def save_still(self) -> Path:
        """Save the frame on the screen in its full size as a PNG, or a picture as it is; returns the path of the new file."""
        if not self.file.is_video:
            return self._note(self.file.save(self._target))
        return self._note(frame_files.save_still(self.file, self._target, self._frame))

    def save_clip(self) -> Path:
        """Save the range as an MP4 of exactly these frames; returns the path of the new file."""
        return self._note(frame_files.save_clip(self.file, self._target, *(self._range or (0, None))))

    def save_gif(self, *, width: int = frame_range.GIF_SIDE) -> Path:
        """Save the range as an endless GIF of exactly these frames; returns the path of the new file."""
        return self._note(frame_files.save_gif(self.file, self._target, *(self._range or (0, None)), width=width))

    def __reel_picture__(self) -> tuple[bytes, str]:
        """The frame on the screen as a source picture, and a short description."""
        if not self.file.is_video:
            return self.file.__reel_picture__()
        out = io.BytesIO()
        self.file.still(frame=self._frame).save(out, "PNG")
        return out.getvalue(), f"frame {self._frame + 1} of {self.file_name}"

    @property
    def file_name(self) -> str:
        """The name of the file; of one on the shelf, the first letters of its hash."""
        path = self.file.path
        return f"{path.stem[:8]}…{path.suffix}" if len(path.stem) == HASH_LETTERS else path.name

    @property
    def _target(self) -> str:
        return f"{self.folder}/"

    def _note(self, path: Path) -> Path:
        self.saved.append(path)
        return path

    def _notify(self) -> None:
        for listener in self._listeners:
            listener()
