"""Frames of a clip saved as files of their own: a still, a range, a GIF; with the provenance of the clip."""

from __future__ import annotations

import filecmp
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from ..errors import ReelbookError
from . import frame_range
from .local_file import LocalFile
from .metadata.file_marks import MANIFEST_SUFFIX

ADVICE = "Choose a place that can be written to, with room for the file, and save it again."

ENTIRE = "all frames"

Write = Callable[[Path], object]
"""Writes the content of a new file."""


def save_still(file: LocalFile, path: str | Path, number: int) -> Path:
    """Save one frame in its full size as a PNG; see `save_part` for the path."""
    part = f"frame {number + 1} of {file.probe.frames}"
    picture = file.still(frame=number)
    return save_part(file, path, part, ".png", lambda target: picture.save(target, "PNG"))


def save_clip(file: LocalFile, path: str | Path, first: int, last: int | None) -> Path:
    """Save exactly these frames as an MP4; all frames of a file are the file itself."""
    first, last, part = _check_range(file, first, last)
    if part == ENTIRE:
        return file.save(path)
    return save_part(file, path, part, ".mp4", lambda to: frame_range.encode_clip(file.path, to, first, last))


def save_gif(file: LocalFile, path: str | Path, first: int, last: int | None, *, width: int) -> Path:
    """Save exactly these frames as an endless GIF, at most so wide and high."""
    first, last, part = _check_range(file, first, last)
    return save_part(
        file, path, part, ".gif", lambda to: frame_range.encode_gif(file.path, to, first, last, longest=width)
    )


def save_in_folder(file: LocalFile, path: str | Path) -> Path:
    """Save a copy of the file in a folder, under a readable name that no other file has; returns its path."""
    folder, name = Path(path).expanduser(), file.make_name()
    with _saving(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".") as apart:
            copy = file.save(Path(apart, name))
            for target in _candidates(folder, name):
                if not target.exists():
                    break
                if target.is_file() and filecmp.cmp(copy, target, shallow=False):
                    return target
            copy.replace(target)
            if (manifest := copy.with_suffix(MANIFEST_SUFFIX)).exists():
                manifest.replace(target.with_suffix(MANIFEST_SUFFIX))
    return target


def save_part(file: LocalFile, path: str | Path, part: str, suffix: str, write: Write) -> Path:
    """Save a part of a file under the given name, or in a folder under a readable name that no file has yet.

    The part is added to the facts of the run, and with them written into the file's metadata.
    """
    from .metadata import provenance

    target = Path(path).expanduser()
    with _saving(target), tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder, f"part{suffix}")
        write(fresh)
        is_generated = is_folder(path)
        if is_generated:
            target = _reserve(target, file.make_name(part, suffix))
        elif target.suffix.lower() != suffix:
            target = target.with_name(target.name + suffix)
        try:
            provenance.write(
                fresh, target, {**(file.facts or {}), **({"part": part} if file.facts and part != ENTIRE else {})}
            )
        except BaseException:
            if is_generated:
                target.unlink(missing_ok=True)
            raise
    return target


def _check_range(file: LocalFile, first: int, last: int | None) -> tuple[int, int, str]:
    """First and last frame, and the range in words; `ReelbookError` unless these are two frames or more of a clip."""
    if not file.is_video:
        raise ReelbookError(f"{file.path} is a picture, which has no frames to choose from. file.save(…) copies it.")
    if not file.path.exists():
        raise ReelbookError(f"{file.path} is not there any more. rb.attach downloads it again.")
    count = file.probe.frames
    last = count - 1 if last is None else last
    if not 0 <= first <= last < count:
        raise ReelbookError(f"The clip has the frames 0 to {count - 1}, so there is no range from {first} to {last}.")
    if first == last and count > 1:
        raise ReelbookError(
            f"The range holds frame {first} alone, which is a still: save that, or choose a later end for the range."
        )
    if (first, last) == (0, count - 1):
        return first, last, ENTIRE
    return first, last, f"frames {first + 1}-{last + 1} of {count}"


def is_folder(path: str | Path) -> bool:
    """Whether a path names a folder, which may not exist yet."""
    return os.path.isdir(Path(path).expanduser()) or str(path).endswith(("/", os.sep))  # noqa: PTH112  # Path.is_dir may raise.


def _reserve(folder: Path, name: str) -> Path:
    """An empty file of a name that none in the folder has; a number is added where one has it."""
    folder.mkdir(parents=True, exist_ok=True)
    for target in _candidates(folder, name):
        try:
            target.open("xb").close()
        except FileExistsError:
            continue
        return target
    raise AssertionError("there is always another name")


def _candidates(folder: Path, name: str) -> Iterator[Path]:
    """The paths that a file may have in a folder: of this name, then with a number added to it."""
    stem, suffix = os.path.splitext(name)  # noqa: PTH122
    yield folder / name
    for number in count(2):
        yield folder / f"{stem}~{number}{suffix}"


@contextmanager
def _saving(target: Path) -> Iterator[None]:
    """Convert errors of the disk and of the encoders to `ReelbookError`."""
    try:
        yield
    except ReelbookError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ReelbookError(f"The frames could not be saved to {target} ({reason}). {ADVICE}") from error
