"""The last frame of a video file, used where a video is given as a source picture."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from ..errors import ReelbookError
from ..models.base import File
from ..models.picture_encoding import MAX_PIXELS, NotAPicture, require_picture
from ..models.picture_headers import OtherKind, guess_kind, parse_header
from .local_file import CONTAINERS, LocalFile

HEAD_BYTES = 1024


def has_video_content(path: Path) -> bool:
    """Whether a file has a video's suffix and its content is no picture; `OSError` if it cannot be read."""
    if path.suffix.lower() not in CONTAINERS:
        return False
    with path.open("rb") as file:
        return parse_header(file.read(HEAD_BYTES)) is None


def read_last_frame(path: Path) -> bytes:
    """The last frame as a PNG, the same bytes that `run.video` gives as a picture; `NotAPicture` if there is none."""
    if path.suffix.lower() not in CONTAINERS:
        kinds = ", ".join(CONTAINERS)
        raise NotAPicture(
            f"is a video of a kind that cannot be read here ({kinds} can). Save one of its frames as a picture."
        )
    try:
        with path.open("rb") as file:
            kind = guess_kind(file.read(HEAD_BYTES))
        facts = path.stat()
    except OSError:
        raise NotAPicture("is a video that cannot be read: it is damaged, or not there any more.") from None
    if kind is not OtherKind.VIDEO:
        found = "no video" if kind is OtherKind.UNKNOWN else kind
        raise NotAPicture(f"has the name of a video and is {found}. Give a video, or a picture.")
    return _decoded(str(path), facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=4)  # The runs of a sweep often start from the same clip.
def _decoded(path: str, size: int, changed: int) -> bytes:
    film = LocalFile(Path(path), File(url=""))
    try:
        if film.probe.width * film.probe.height > MAX_PIXELS:
            raise NotAPicture(
                f"has {film.probe.width:,} × {film.probe.height:,} pixels; {MAX_PIXELS / 1e6:g} megapixels are the most. "
                "Make it smaller."
            )
        return require_picture(film.__reel_picture__()[0])
    except ReelbookError:
        raise NotAPicture(
            "is a video that cannot be read: it is damaged or cut short. Give another one, or a picture."
        ) from None
