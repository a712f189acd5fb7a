"""A finished sheet: a Pillow image that takes a fifth of the bytes in a notebook."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from ...settings import options
from ..embedding import data_uri
from ..strips import fit_jpegs
from ..theme import render_style
from .sheet_drawing import Colours, get_colours, get_theme_colours

MAX_BYTES, MAX_PLAIN = 200_000, 100_000
"""Bytes of the copy in HTML, and of the one without: a notebook with a few sheets can still be sent by mail."""
DARK_COLOURS = 64
IMAGE = Markup(
    '<img class="rb-sheet-light" width="{}" alt="{}" src="{}" style="display:block;max-width:100%;height:auto">'
)
# Without the style sheet only the light drawing is displayed.
THEMED = Markup(
    '<div class="rb-sheet" style="max-width:{}px;--rb-sheet-pictures:url({});--rb-sheet-words:url({})">{}</div>'
)


class Sheet(Image.Image):
    """A Pillow image that can be saved, pasted and printed, and is displayed as a small JPEG.

    Pillow displays its images as PNG and as JPEG at once, and the PNG of a sheet of 24 runs alone takes 5 MB in the
    notebook. This displays one JPEG of at most 200 kB, coarser or smaller as needed; `save("sheet.png")` writes all
    pixels unchanged. On a dark page it has the page's background, and its text is light.
    """

    _paint: Callable[[Colours], Image.Image] | None = None
    _alt: str = ""

    @classmethod
    def of(cls, paint: Callable[[Colours], Image.Image], alt: str) -> Sheet:
        """A sheet painted in the colours of `rb.options.theme`; `alt` describes it as text."""
        found = cls()
        vars(found).update(vars(paint(get_colours())), _paint=paint, _alt=alt)
        return found

    def __getstate__(self) -> list[Any]:
        return super().__getstate__()[:5]

    def _repr_html_(self) -> str:
        light = self.convert("RGB")
        image = IMAGE.format(
            self.width, self._alt or repr(self), data_uri("image/jpeg", fit_jpegs([light], MAX_BYTES)[0])
        )
        dark = self.draw_dark()
        if dark is None:
            return str(Markup('<div class="rb-sheet">{}</div>').format(image))
        words, pictures = (data_uri("image/png", _png(part)) for part in _split_layers(light, dark))
        return str(render_style("sheet.css") + THEMED.format(self.width, pictures, words, image))

    def draw_dark(self) -> Image.Image | None:
        """The sheet in the colours of a dark page; None if a theme was chosen, or its pixels were changed since."""
        if self._paint is None or options.theme != "auto":
            return None
        light = self.convert("RGB")
        repeated = self._paint(get_theme_colours(is_dark=False))
        if repeated.size != light.size or repeated.tobytes() != light.tobytes():
            return None
        return self._paint(get_theme_colours(is_dark=True))

    def _repr_png_(self) -> None:
        return None

    def _repr_jpeg_(self) -> bytes:
        return fit_jpegs([self.convert("RGB")], MAX_PLAIN)[0]

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def __repr__(self) -> str:
        return f"<a picture of {self.width}×{self.height}: .save('sheet.png') keeps it>"


def _split_layers(light: Image.Image, dark: Image.Image) -> tuple[Image.Image, Image.Image]:
    """The text and lines of the dark drawing on a transparent background, and a mask of the shared pictures."""
    is_same = _is_equal(np.asarray(light), np.asarray(dark))
    is_ground = _is_equal(np.asarray(dark), np.array(dark.getpixel((0, 0)), np.uint8))
    words = np.dstack([np.asarray(dark), np.where(is_same | is_ground, 0, 255).astype(np.uint8)])
    words[is_same | is_ground] = 0
    # A little smaller than the pictures: a page that shrinks the sheet blends the white around them into their edges.
    inner = Image.fromarray(is_same.astype(np.uint8) * 255).filter(ImageFilter.MinFilter(5))
    mask = Image.merge("LA", (Image.new("L", inner.size), inner))
    return Image.fromarray(words).quantize(DARK_COLOURS, method=Image.Quantize.FASTOCTREE), mask


def _is_equal(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = (one == other).all(axis=-1)
    return same


def _png(picture: Image.Image) -> bytes:
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()
