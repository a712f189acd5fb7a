"""Colours in a browser: a copy plays in the colours of its original, read from the screen's own pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from reelbook.display.embedding import MIME_TYPES, data_uri
from reelbook.media.posters import get_poster
from reelbook.media.previews import get_preview
from tests.media.bars import COLOURS, SAYS, Says, bar_clip
from tests.support import once_each

NEAR = 4
SIZES = [(64, 64), (640, 360), (720, 576), (1280, 720)]
LOW_AND_HIGH: list[tuple[int, int]] = [(320, 240), (1280, 720)]
ODD = [
    Says("BT.601 of 625 lines", 5, 1, 5, 6),
    Says("BT.2020", 9, 1, 9, 14),
    Says("PQ", 9, 1, 9, 16),
    Says("a matrix alone", 1, 1, 2, 2, is_tagged=False),
    Says("primaries alone", 2, 1, 1, 2, is_tagged=False),
]
"""Other primaries, which a browser converts, and tags by halves, which it overlooks."""

EACH = [*once_each(ODD, LOW_AND_HIGH), *(
    pytest.param(says, size, marks=() if size == SIZES[number % 3] or (size[1] == 720 and not says.is_tagged) else pytest.mark.deep)
    for number, says in enumerate(SAYS)
    for size in SIZES
)]  # fmt: skip
"""Each kind of tags at one size and, where the browser goes by the height, at the height at which it changes its mind."""

READ = """async ([source, isFilm, count]) => {
  const media = document.createElement(isFilm ? "video" : "img");
  document.body.replaceChildren(media);  // Else nothing holds a video that waits for its frame, and it may be collected.
  await new Promise((done, fail) => {
    media.onerror = () => fail(media.error?.message ?? "no picture");
    if (isFilm) { media.muted = true; media.requestVideoFrameCallback(done); media.preload = "auto"; media.onloadeddata = () => { media.currentTime = 0.06; }; }
    else media.onload = done;
    media.src = source;
  });
  const canvas = document.createElement("canvas");
  canvas.width = media.videoWidth ?? media.naturalWidth; canvas.height = media.videoHeight ?? media.naturalHeight;
  const pen = canvas.getContext("2d");
  pen.drawImage(media, 0, 0);
  return Array.from({length: count}, (_, bar) =>
    [...pen.getImageData(Math.floor((2 * bar + 1) * canvas.width / (2 * count)), canvas.height >> 1, 1, 1).data].slice(0, 3));
}"""


@pytest.fixture(scope="module")
def page(chromium: Browser) -> Page:
    return chromium.new_page()


def seen(page: Page, kind: str, content: bytes | None) -> Any:
    """The bars as the page draws them."""
    assert content is not None
    return np.array(page.evaluate(READ, [data_uri(kind, content), kind.startswith("video"), len(COLOURS)]))


@pytest.mark.parametrize(("says", "size"), EACH, ids=str)
def test_a_copy_and_a_poster_look_like_the_original(
    page: Page, tmp_path: Path, says: Says, size: tuple[int, int]
) -> None:
    """In the same browser, by every tag, and without any, where it goes by the height and the copy is lower."""
    clip = bar_clip(tmp_path / "clip.mp4", size, says)
    original = seen(page, MIME_TYPES[clip.suffix], clip.read_bytes())
    small = get_preview(clip, longest=480, max_bytes=1_000_000)
    still = get_poster(clip, longest=640)

    assert np.abs(seen(page, "video/mp4", small) - original).max() <= NEAR
    # A poster of wide primaries or of HDR is near it at best.
    if says.primaries not in (5, 9):
        off = np.abs(seen(page, "image/jpeg", still) - original)
        # Without a graphics card Chromium draws the blue of BT.709 up to twelve steps too weak.
        assert off[:, :2].max() <= NEAR
        assert off[3:7].max() <= NEAR
