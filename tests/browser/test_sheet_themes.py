"""Contact sheets on a light and on a dark page, read from the screen's own pixels."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Browser, Page

from reelbook.display.sheets import draw_sheet
from tests.browser.looks import shot
from tests.clips import film
from tests.display.test_sheets import table_of

pytestmark = pytest.mark.browser

GROUND = {True: (255, 255, 255), False: (17, 17, 17)}
BY_HOST = {
    "lab": ('<body data-jp-theme-light="{}"', ("true", "false")),
    "vscode": ('<body class="{}"', ("vscode-light", "vscode-dark")),
    "page": ("<body", ("", "")),
}
"""How each host says whether it is light, in the tag of the body."""


def seen(page: Page, html: str, host: str, *, is_light: bool) -> NDArray[np.uint8]:
    """The pixels of a page of this host with the sheet on it."""
    start, (light, dark) = BY_HOST[host]
    # A host's own word wins over that of the system.
    page.emulate_media(color_scheme="light" if is_light is (host == "page") else "dark")
    colour = "rgb({},{},{})".format(*GROUND[is_light])
    page.set_content(f'{start.format(light if is_light else dark)} style="margin:0;background:{colour}">{html}')
    page.locator(".rb-sheet-light").evaluate("one => one.decode()")
    shot(page, f"sheet-{host}-{'light' if is_light else 'dark'}")
    return np.asarray(Image.open(io.BytesIO(page.locator(".rb-sheet").screenshot())).convert("RGB"))


@pytest.mark.parametrize("host", BY_HOST)
def test_a_sheet_has_the_ground_of_its_page(host: str, chromium: Browser, tmp_path: Path) -> None:
    """No white slab on a dark page: ground, letters and lines are those of the theme, the pictures are the same."""
    clip = film(tmp_path / "clip.mp4", frames=25, size=(160, 90)).path
    html = draw_sheet(table_of(clip, None, clip, prompt=["a boat at dawn", "a boat", "a boat at dusk"]))._repr_html_()
    page = chromium.new_page(viewport={"width": 800, "height": 500})

    light, dark = (seen(page, html, host, is_light=is_light) for is_light in (True, False))

    page.close()
    assert light.shape == dark.shape
    assert (light == GROUND[True]).all(axis=-1).mean() > 0.3
    # Where the light page is white, the dark one is its own ground, and never white.
    assert (dark == GROUND[False]).all(axis=-1).mean() > 0.3
    is_white = (light == GROUND[True]).all(axis=-1)
    assert not (dark[is_white] > 240).all(axis=-1).any()
    assert dark[: dark.shape[0] // 8].max() > 200  # The words above all rows.
    is_grey = (np.ptp(light, axis=-1) < 3) & (light[..., 0] > 30) & (light[..., 0] < 230)
    assert is_grey.mean() > 0.05
    near = np.abs(light[is_grey].astype(int) - dark[is_grey]).max(axis=-1) < 12
    assert near.mean() > 0.8
    # The first frame is as dark as the dark page; no white of the light one is left around it.
    is_first = (light[:, : light.shape[1] // 4] < 30).all(axis=-1)
    rows, columns = (np.flatnonzero(is_first.sum(axis=axis) > 20) for axis in (1, 0))
    around = dark[rows[0] - 1 : rows[0] + 40, columns[0] - 1 : columns[-1] + 2]
    assert around[3:].max() < 48
