"""Figures with a living kernel: the whole file plays and is saved; without one a preview does, and says so."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, Page

from tests.browser.lab import Lab, OpenNotebook
from tests.browser.looks import shot
from tests.clips import film
from tests.media.making import grain

pytestmark = pytest.mark.browser

SHOW = """
import reelbook as rb; rb.options
from IPython.display import display
from pathlib import Path
from reelbook.media.local_file import LocalFile
from reelbook.models.base import File
for name in ("clip.mp4", "picture.png"):
    display(LocalFile(Path(name), File(url=""), facts={"model": "svc/text-to-video", "seed": 7}))
"""

GONE = """() => { const figure = document.querySelector("[data-rb-original]");
  dispatchEvent(new CustomEvent("reelbook:gone", {detail: {key: figure.dataset.rbOriginal.split(" ")[0]}})); }"""
PREVIEWED = """() => [...document.querySelectorAll("[data-rb-figure] video, img[data-rb-media]")].every(media =>
  media.src.startsWith("data:") && (media.readyState > 1 || media.complete))"""

SHOWN = """async () => Promise.all([...document.querySelectorAll("[data-rb-figure]")].map(async figure => {
  const media = figure.querySelector("video, img[data-rb-media]"), link = figure.querySelector(".rb-actions a");
  const bytes = new Uint8Array(await (await fetch(link.href)).arrayBuffer());
  let text = ""; for (const one of bytes) text += String.fromCharCode(one);
  return {size: [media.videoWidth ?? media.naturalWidth, media.videoHeight ?? media.naturalHeight], save: link.textContent,
    name: link.download, bytes: btoa(text), says: figure.querySelector("figcaption").innerText};
}))"""


def shown(page: Page) -> Any:
    """What each figure shows and would save."""
    return page.evaluate(SHOWN)


def is_original(page: Page, count: int) -> None:
    """Wait until so many figures show their whole files, and have read what size they are."""
    page.wait_for_function(
        "count => { const media = [...document.querySelectorAll('[data-rb-shows=original]')].map(one => "
        "one.matches('video, img') ? one : one.querySelector('video, img[data-rb-media]'));"
        "return media.length === count && media.every(one => one.videoWidth || one.naturalWidth); }",
        arg=count,
    )


def made(lab: Lab, name: str) -> tuple[Path, Path]:
    """A notebook in a folder of its own that shows a clip and a picture; and the clip."""
    folder = lab.root / name
    folder.mkdir()
    clip = film(folder / "clip.mp4", frames=12, size=(1280, 720), noise=12).path
    grain(900, 700).save(folder / "picture.png")
    path = folder / f"{name}.ipynb"
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(SHOW)])  # type: ignore[no-untyped-call]
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, path)  # type: ignore[no-untyped-call]
    return path, clip


@pytest.mark.deep
def test_the_original_plays_and_is_saved_while_there_is_a_kernel(lab: Lab, chromium: Browser) -> None:
    """Without one the figures are previews again."""
    path, clip = made(lab, "originals")

    with OpenNotebook(lab, chromium, path, height=1800) as notebook:
        page = notebook.open().page
        notebook.run_all()
        is_original(page, 2)
        found = shown(page)
        shot(page, "originals-lab-kernel")

        assert notebook.cell_errors() == []
        assert [one["size"] for one in found] == [[1280, 720], [900, 700]]
        assert [one["save"] for one in found] == ["Save", "Save"]
        for one, file in zip(found, (clip, path.parent / "picture.png"), strict=True):
            assert base64.b64decode(one["bytes"]) == file.read_bytes()
            assert one["name"].endswith(file.suffix)
            assert "_preview" not in one["name"]
            assert "preview" not in one["says"]
            assert not one["says"].rstrip().endswith("·")

        notebook.save()
        # What is there stays, though its kernel ends. When Lab throws the connection away, it takes that along.
        page.evaluate(GONE)
        page.wait_for_function(PREVIEWED)
        check_preview(shown(page))


@pytest.mark.deep
def test_whoever_gets_the_notebook_has_previews(lab: Lab, chromium: Browser) -> None:
    """Saved with a kernel, opened elsewhere without one; every saved notebook is looked at so in `test_survival.py`."""
    path, _ = made(lab, "given")
    with OpenNotebook(lab, chromium, path, height=1800) as notebook:
        page = notebook.open().page
        notebook.run_all()
        is_original(page, 2)
        notebook.save()

    received = path.parent / "received.ipynb"
    saved = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    assert "application/vnd.jupyter.widget-view+json" not in str(saved.cells)
    saved.metadata.kernelspec = {"name": "elsewhere", "display_name": "Elsewhere", "language": "elsewhere"}
    saved.metadata.language_info = {"name": "elsewhere"}
    nbformat.write(saved, received)  # type: ignore[no-untyped-call]
    with OpenNotebook(lab, chromium, received, height=1800, sort="received") as notebook:
        page = notebook.open_without_kernel().page
        page.locator("figcaption").first.wait_for()
        shot(page, "originals-lab-received")
        assert "preview 480×270" in page.locator("figcaption").first.inner_text()


def check_preview(found: Any) -> None:
    """A preview that says how large it is, in words and on its button."""
    assert found[0]["size"] == [480, 270]
    assert found[0]["save"] == "Save preview (480×270)"
    assert found[0]["name"].endswith("_preview.mp4")
    for one in found:
        size = "×".join(map(str, one["size"]))
        assert f"preview {size}" in one["says"]
        assert one["save"] == f"Save preview ({size})"
