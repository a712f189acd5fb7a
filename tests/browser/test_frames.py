"""Frames of clips of every kind in a bare page: the number of each is read from the pixels."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from markupsafe import Markup
from playwright.sync_api import Browser, Page

from reelbook.display.embedding import MIME_TYPES, data_uri
from reelbook.display.report.media import PlayedClip
from reelbook.display.theme import render_style
from reelbook.media.frame_index import read_frame_index, read_uneven_times
from reelbook.media.local_file import LocalFile
from reelbook.media.previews import make_preview
from reelbook.models.base import File
from tests.browser.bare_page import new_page
from tests.browser.bundle import bundle
from tests.browser.test_colours import LOW_AND_HIGH, NEAR, ODD
from tests.media.bars import COLOURS, SAYS, Says, bar_clip
from tests.numbered import KINDS, READ_NUMBER, Kind, kind_of, numbered_clip
from tests.support import examples

pytestmark = pytest.mark.browser

BARS = """async (count) => {
  const [clip] = clips;
  const {video} = clip;
  await clip.show(1.5 / 24);
  const read = (media, width, height) => {
    const pen = new OffscreenCanvas(width, height).getContext("2d");
    pen.drawImage(media, 0, 0);
    return Array.from({length: count}, (_, bar) =>
      [...pen.getImageData(Math.floor((2 * bar + 1) * width / (2 * count)), height >> 1, 1, 1).data].slice(0, 3));
  };
  const {canvas} = clip.picture;
  const decoded = read(canvas, canvas.width, canvas.height);
  const presented = new Promise((done) => video.requestVideoFrameCallback(done));
  Object.assign(video, {muted: true, preload: "auto", onloadeddata: () => { video.currentTime = 0.06; }});
  video.load();
  await presented;
  return [decoded, read(video, video.videoWidth, video.videoHeight)];
}"""
"""The colours of the bars on the canvas, and in the player."""

SCRIPT = """
import { Clip, pageFrames } from "./media/clip.ts";
import { Clock } from "./media/clock.ts";
import { middleOf } from "./media/clock_time.ts";
import { watchSight } from "./page/element.ts";
READ_NUMBER
window.clips = [...document.querySelectorAll("[data-rb-clip]")].map((box) => new Clip(box));
window.readNumber = readNumber;
Object.assign(window, {store: pageFrames(), Clock, watchSight});
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


QUICK = (SAYS[0], SAYS[2], SAYS[5], SAYS[6])


def markup(path: Path, *, as_preview: bool, is_decoded: bool = True) -> Markup:
    """The box of a clip, as a report has it."""
    source = make_preview(path, longest=120, max_bytes=150_000) if as_preview else path.read_bytes()
    assert source is not None
    probe = LocalFile(path, File(url="")).probe
    kind = "video/mp4" if as_preview else MIME_TYPES[path.suffix]
    return PlayedClip(
        data_uri(kind, source), "", probe.width, probe.height, probe.frames, probe.rate or Fraction(24), path.stem,
        read_frame_index(source if as_preview else path) if is_decoded else None,
        read_uneven_times(path),
    ).markup  # fmt: skip


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """A page in which no script fails."""
    with new_page(chromium) as page:
        yield page


def open_page(page: Page, folder: Path, boxes: Sequence[Markup]) -> None:
    """A page with these clips."""
    script = Markup(bundle(SCRIPT.replace("READ_NUMBER", READ_NUMBER)))
    (folder / "page.html").write_text(PAGE.format(render_style("clock.css"), Markup("").join(boxes), script))
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
        numbers.append(
            chance.randrange(1000) if chance.random() < 0.5 else max(0, numbers[-1] + chance.choice((-1, 1)))
        )
    return numbers


@pytest.mark.parametrize("as_preview", [False, True], ids=["originals", "previews"])
def test_each_frame_is_the_wanted_one(page: Page, tmp_path: Path, as_preview: bool) -> None:
    """Scrubs and steps over clips of every kind together."""
    kinds = [kind for kind in KINDS if as_preview or kind.is_decoded]
    open_page(page, tmp_path, [markup(numbered_clip(tmp_path, kind), as_preview=as_preview) for kind in kinds])

    wrong = page.evaluate("scrub", random_numbers(examples(60, 200)))

    assert [(str(kinds[place]), *facts) for place, *facts in wrong] == []
    assert loaded(page) == ["decoded"] * len(kinds)


@pytest.mark.parametrize("as_preview", [False, True], ids=["originals", "previews"])
def test_the_player_shows_the_wanted_frame_too(page: Page, tmp_path: Path, as_preview: bool) -> None:
    """Where the page may not decode, the browser's player seeks."""
    kinds = [kind for kind in KINDS if kind.is_decoded and (as_preview or kind.is_played)]
    page.add_init_script("delete globalThis.VideoDecoder")
    open_page(page, tmp_path, [markup(numbered_clip(tmp_path, kind), as_preview=as_preview) for kind in kinds])

    wrong = page.evaluate("scrub", random_numbers(examples(15, 40)))

    assert [(str(kinds[place]), *facts) for place, *facts in wrong] == []
    assert loaded(page) == ["played"] * len(kinds)


@pytest.mark.parametrize("name", ["turned by 90", "turned, odd", "wide pixels"])
def test_the_picture_has_the_size_of_the_player(page: Page, tmp_path: Path, name: str) -> None:
    """After the rotation, and with square pixels."""
    open_page(page, tmp_path, [markup(numbered_clip(tmp_path, kind_of(name)), as_preview=False)])
    page.evaluate("clips[0].show(0)")

    sizes = page.evaluate(
        """async () => {
          const [{video, picture: {canvas}}] = clips;
          await new Promise((done) => { video.onloadeddata = done; video.preload = "auto"; video.load(); });
          return [[canvas.width, canvas.height], [video.videoWidth, video.videoHeight]];
        }"""
    )

    assert sizes[0] == sizes[1]


def test_damaged_bytes_leave_it_to_the_player_and_the_others_go_on(page: Page, tmp_path: Path) -> None:
    """The frames of the others are exact."""
    whole = numbered_clip(tmp_path, kind_of("plain"))
    content = bytearray(whole.read_bytes())
    index = read_frame_index(whole)
    assert index is not None
    place = index.keys[2]
    content[index.offsets[place] : index.offsets[place] + 200] = bytes(200)
    (tmp_path / "damaged.mp4").write_bytes(content)
    damaged = markup(whole, as_preview=False).replace(
        data_uri("video/mp4", whole.read_bytes()), data_uri("video/mp4", bytes(content))
    )
    open_page(page, tmp_path, [damaged, *[markup(whole, as_preview=False)] * 3])

    wrong = page.evaluate("scrub", [0, 5, index.numbers[place] + 1, 3, 39, 20])

    assert [facts for facts in wrong if facts[0] > 0] == []
    assert loaded(page) == ["played", "decoded", "decoded", "decoded"]
    assert page.evaluate("store.clips.size") == 3


def test_what_cannot_be_played_says_so(page: Page, tmp_path: Path) -> None:
    """If the original is given all the same; the others go on."""
    paths = [numbered_clip(tmp_path, kind_of(one)) for one in ("HEVC", "plain")]
    open_page(page, tmp_path, [markup(path, as_preview=False) for path in paths])

    wrong = page.evaluate("scrub", [0, 7])

    assert [facts for facts in wrong if facts[0] > 0] == []
    assert page.evaluate("clips.map(({box}) => box.dataset.broken)") == ["cannot be played here", None]


def test_memory_is_within_the_budget_and_given_back(page: Page, tmp_path: Path) -> None:
    """24 clips of 480p: while they are scrubbed, after they are closed, and after they are removed from the page."""
    kind = Kind("480p", frames=49, size=(854, 480), options={"g": "250", "bf": "2"})
    box = markup(numbered_clip(tmp_path, kind), as_preview=False)
    open_page(page, tmp_path, [box] * 24)

    wrong = page.evaluate("scrub", random_numbers(4))

    assert wrong == []
    assert 0 < page.evaluate("store.used") <= page.evaluate("store.budget") <= 256e6
    page.evaluate("clips.slice(0, 12).forEach((clip) => clip.unload())")
    assert page.evaluate("[store.clips.size, document.querySelectorAll('canvas').length]") == [12, 12]
    page.evaluate("clips.forEach((clip) => clip.unload())")
    assert page.evaluate("[store.used, store.clips.size, document.querySelectorAll('canvas').length]") == [0, 0, 0]


def test_a_removed_output_gives_its_memory_back(page: Page, tmp_path: Path) -> None:
    """As a notebook does when a cell is run again."""
    path = numbered_clip(tmp_path, KINDS[0])
    page.set_viewport_size({"width": 800, "height": 600})
    open_page(
        page,
        tmp_path,
        [Markup('<div id="root">{}</div>').format(Markup("").join([markup(path, as_preview=False)] * 4))],
    )
    page.evaluate(
        "window.clock = new Clock(clips); clips.forEach(clip => watchSight(clip.box, isSeen => clock.see(clip, isSeen))); clock.seek(3)"
    )
    page.wait_for_function("store.used > 0 && clips.every(({shown}) => shown === 3)")

    page.evaluate("document.querySelector('#root').remove()")

    page.wait_for_function("store.used === 0 && store.clips.size === 0")


COLOUR_CASES = [
    pytest.param(codec, suffix, says, size, marks=() if says in QUICK and size[1] == 240 else pytest.mark.deep)
    for codec, suffix in (("libx264", ".mp4"), ("libvpx-vp9", ".webm"), ("libvpx-vp9", ".mp4"))
    for says in (*SAYS, *ODD)
    for size in LOW_AND_HIGH
    if codec == "libx264" or says.is_tagged
]


@pytest.mark.parametrize(("codec", "suffix", "says", "size"), COLOUR_CASES, ids=str)
def test_colours_are_those_of_the_player(
    page: Page, tmp_path: Path, codec: str, suffix: str, says: Says, size: tuple[int, int]
) -> None:
    """WebCodecs by themselves take for BT.709 what is not stated, and overlook all that a VP9 file states; one without tags may differ."""
    clip = bar_clip(tmp_path / f"clip{suffix}", size, says, codec=codec)
    open_page(page, tmp_path, [markup(clip, as_preview=False)])

    decoded, played = np.array(page.evaluate(BARS, len(COLOURS)))

    assert loaded(page) == ["decoded"]
    assert np.abs(decoded - played).max() <= NEAR
