"""Frames of clips of every kind in a bare page: the number of each is read from the pixels."""

from __future__ import annotations

import base64
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup
from playwright.sync_api import Browser, Page

from reelbook.display.embedding import MIME_TYPES, data_uri
from reelbook.display.synced_clips import STYLE, Clip
from reelbook.display.theme import bundle_scripts, render_style
from reelbook.media.frame_index import read_frame_index, read_uneven_times
from reelbook.media.local_file import LocalFile
from reelbook.media.previews import make_preview
from reelbook.models.service_file import File
from tests.numbered import KINDS, READ_NUMBER, Kind, kind_of, numbered_clip

pytestmark = pytest.mark.browser

SCRIPT = """
window.clips = [...document.querySelectorAll("[data-rb-clip]")].map((box) => new Clip(box));
window.readNumber = readNumber;
window.store = pageFrames();
window.numberIn = ({picture, video}) => picture?.canvas
  ? readNumber(picture.canvas, picture.canvas.width, picture.canvas.height)
  : readNumber(video, video.videoWidth, video.videoHeight);
/** Show frames in all clips, and return what is wrong. */
window.scrub = async (numbers) => {
  const wrong = [];
  for (const wanted of numbers) {
    await Promise.all(clips.map((clip) => clip.show(middleOf(clip, wanted % clip.frames))));
    clips.forEach((clip, place) => {
      const [goal, found] = [wanted % clip.frames, numberIn(clip)];
      if (found !== goal || (clip.picture?.isDecoded && clip.shown !== goal)) wrong.push([place, goal, found, clip.shown]);
    });
  }
  return wrong;
};
"""
PAGE = Markup(
    "<!doctype html><meta charset=utf-8>{}<style>.rb-clip {{ width: 100px; display: inline-block }}</style>{}"
    '<script type="module">{}</script>'
)


def markup(path: Path, *, as_preview: bool, is_decoded: bool = True) -> Markup:
    """The box of a clip, as a report has it."""
    source = make_preview(path, longest=120, max_bytes=150_000) if as_preview else path.read_bytes()
    assert source is not None
    probe = LocalFile(path, File(url="")).probe
    kind = "video/mp4" if as_preview else MIME_TYPES[path.suffix]
    return Clip(
        data_uri(kind, source), "", probe.width, probe.height, probe.frames, probe.rate or Fraction(24), path.stem,
        read_frame_index(source if as_preview else path) if is_decoded else None,
        read_uneven_times(path),
    ).markup  # fmt: skip


@pytest.fixture
def page(chromium: Browser) -> Page:
    """A page in which all scripts run."""
    page = chromium.new_context().new_page()
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    return page


def open_page(page: Page, folder: Path, boxes: Sequence[Markup]) -> None:
    """A page with these clips."""
    script = Markup(bundle_scripts("clock.js") + READ_NUMBER + SCRIPT)
    (folder / "page.html").write_text(PAGE.format(render_style(STYLE), Markup("").join(boxes), script))
    page.goto((folder / "page.html").as_uri())
    page.wait_for_function("window.clips?.length >= 0")


def loaded(page: Page) -> list[str]:
    """How each clip is shown."""
    found: list[str] = page.evaluate("clips.map(({box}) => box.dataset.loaded ?? box.dataset.broken)")
    return found


def random_numbers(count: int) -> list[int]:
    """Scrubs, and steps to and fro."""
    chance = random.Random(7)
    numbers = [0]
    while len(numbers) < count:
        numbers.append(chance.randrange(1000) if chance.random() < 0.5 else max(0, numbers[-1] + chance.choice((-1, 1))))
    return numbers


@pytest.mark.parametrize("as_preview", [False, True], ids=["originals", "previews"])
def test_each_frame_is_the_wanted_one(page: Page, tmp_path: Path, as_preview: bool) -> None:
    """200 scrubs and steps over clips of every kind together."""
    kinds = [kind for kind in KINDS if as_preview or kind.is_decoded]
    open_page(page, tmp_path, [markup(numbered_clip(tmp_path, kind), as_preview=as_preview) for kind in kinds])

    wrong = page.evaluate("scrub", random_numbers(200))

    assert [(str(kinds[place]), *facts) for place, *facts in wrong] == []
    assert loaded(page) == ["decoded"] * len(kinds)


@pytest.mark.parametrize("as_preview", [False, True], ids=["originals", "previews"])
def test_the_player_shows_the_wanted_frame_too(page: Page, tmp_path: Path, as_preview: bool) -> None:
    """Where the page may not decode, the browser's player seeks."""
    kinds = [kind for kind in KINDS if kind.is_decoded]
    page.add_init_script("delete globalThis.VideoDecoder")
    open_page(page, tmp_path, [markup(numbered_clip(tmp_path, kind), as_preview=as_preview) for kind in kinds])

    wrong = page.evaluate("scrub", random_numbers(40))

    assert [(str(kinds[place]), *facts) for place, *facts in wrong] == []
    assert loaded(page) == ["played"] * len(kinds)
