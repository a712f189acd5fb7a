"""The path of a video where a picture is asked for: it stands for its last frame, as `run.video` does."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from reelbook.errors import InvalidInput
from reelbook.models.base import Input
from reelbook.transport import picture_sources
from reelbook.transport.picture_sources import read_sources
from tests.clips import film, number_of
from tests.support import Served, png

ANYWHERE: dict[str, Any] = {
    "a picture field": lambda path: rb.ImageToVideo(prompt="closer", image_url=path),
    "a frame": lambda path: rb.ImagesToVideo(images=[rb.Frame(url=path, frames=3)]),
    "a file: address": lambda path: rb.ImagesToVideo(images=[Path(path).as_uri()]),
}  # fmt: skip


def read(request: Input) -> list[picture_sources.Source]:
    return list(asyncio.run(read_sources(request, library=lambda _: None)).values())


@pytest.mark.parametrize("asks", ANYWHERE.values(), ids=list(ANYWHERE))
def test_a_path_of_a_video_is_its_last_frame(tmp_path: Path, asks: Any) -> None:
    """The same bytes that the file itself gives, so that it is the same run."""
    clip = film(tmp_path / "clip.mp4", frames=9)

    (source,) = read(asks(clip.path))

    content, label = clip.__reel_picture__()
    assert (source.content, source.label, source.content_type) == (content, label, "image/png")
    assert source.sha256 == hashlib.sha256(content).hexdigest()
    assert number_of(clip.still(1.0)) == 8


def test_a_clip_in_a_table_and_the_run_that_made_it_are_one_source(shared: Served, tmp_path: Path) -> None:
    """Neither is paid again for the other; in sweeps, too."""
    served = shared.with_own_account()
    with rb.connect(served.base_url, api_key=served.key, library=tmp_path / "library") as client:
        table = rb.sweep(rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16), frames=3)]), fps=[5.0, 6.0]).run(
            budget=106, progress=False
        )

        def show(picture: Any) -> rb.ImagesToVideo:
            return rb.ImagesToVideo(images=[rb.Frame(url=picture, frames=2)], fps=2.0)

        first = client.run(show(table.output_video[1]))
        again = client.run(show(table.reel.run(1).video))
        both = rb.sweep(show(table.output_video[1]), fps=[2.0, 3.0])
        due = both.credits_due
        swept = both.run(budget=106, progress=False)

        assert (again.id, again.from_library) == (first.id, True)
        assert (due, list(swept["status"])) == (53, ["completed"] * 2)
        assert len([line for line in served.charges() if line["kind"] == "reserve"]) == 4


def damaged(path: Path) -> Path:
    whole = film(path.with_name("whole.mp4"), frames=25, noise=20).path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    return path


def named_so(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


WRONG: dict[str, tuple[Any, str]] = {
    "cut short": (damaged, "is a video that cannot be read: it is damaged or cut short"),
    "a text": (lambda path: named_so(path, b"ffconcat version 1.0\nfile /etc/passwd\n"), "is a video that cannot be read"),
    "empty": (lambda path: named_so(path, b""), "is a video that cannot be read"),
    "a page": (lambda path: named_so(path, b"<!doctype html><html>"), "is a video that cannot be read"),
    "missing": (lambda path: path, "there is no such file"),
    "a folder": (lambda path: path.mkdir() or path, "Is a directory"),
}  # fmt: skip


@pytest.mark.parametrize(("made", "words"), WRONG.values(), ids=list(WRONG))
def test_what_is_no_video_is_said_before_anything_is_paid(
    shared: Served, tmp_path: Path, made: Any, words: str
) -> None:
    """A sentence that names the field and the file."""
    served = shared.with_own_account()
    path = made(tmp_path / "clip.mp4")
    with (
        rb.connect(served.base_url, api_key=served.key, library=tmp_path / "library") as client,
        pytest.raises(InvalidInput, match=words) as refused,
    ):
        client.run(rb.ImagesToVideo(images=[str(path)]))

    assert "clip.mp4" in str(refused.value)
    assert served.charges() == []


def test_a_picture_with_the_name_of_a_video_is_a_picture(tmp_path: Path) -> None:
    """What is in the file counts."""
    (source,) = read(rb.ImagesToVideo(images=[str(named_so(tmp_path / "odd.mp4", png()))]))

    assert source.content == png()
