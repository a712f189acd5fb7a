"""A finished sheet: a picture like any other of Pillow, which a notebook keeps in a fifth of the bytes."""

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
from ..theme import render_style
from .sheet_colours import Colours, get_colours, get_theme_colours

MAX_BYTES, MAX_PLAIN = 240_000, 100_000
"""Of the copy that a page shows, and of the one for places without HTML: a few sheets, and still a notebook can be sent by mail."""
DARK_COLOURS = 64
IMAGE = Markup(
    '<img class="rb-sheet-light" width="{}" alt="{}" src="{}" style="display:block;max-width:100%;height:auto">'
)
# Where the style sheet is lost, nothing is left of both but the light drawing.
THEMED = Markup(
    '<div class="rb-sheet" style="max-width:{}px;--rb-sheet-pictures:url({});--rb-sheet-words:url({})">{}</div>'
)
WHOLE, THINNED = 0, 2
"""Colours as fine as the light and dark of a picture, and half as fine each way, which letters hardly show."""
COPIES = (
    (88, WHOLE, None), (76, WHOLE, None), (76, THINNED, None), (60, THINNED, None),
    (60, THINNED, 1280), (50, THINNED, 1280), (50, THINNED, 1000), (42, THINNED, 1000), (35, THINNED, 1000),
    (28, THINNED, 1000), (20, THINNED, 1000),
)  # fmt: skip
"""Quality, colours and width of the copies that are tried, the best first; None is the width that the sheet has."""


class Sheet(Image.Image):
    """A picture to be saved, pasted and printed.

    Pillow shows its pictures as PNG and as JPEG at once, and the PNG of a sheet of 24 runs alone takes 5 MB in the
    notebook. This shows one JPEG of at most 240 kB, coarser or smaller as need be; `save("sheet.png")` writes every
    pixel as it is. On a dark page its ground is that of the page, and its words are light.
    """

    _paint: Callable[[Colours], Image.Image] | None = None
    _alt: str = ""

    @classmethod
    def of(cls, paint: Callable[[Colours], Image.Image], alt: str) -> Sheet:
        """The picture that is painted in the chosen colours, as a sheet; `alt` is what it shows, in words."""
        found = cls()
        vars(found).update(vars(paint(get_colours())), _paint=paint, _alt=alt)
        return found

    def __getstate__(self) -> list[Any]:
        return super().__getstate__()[:5]

    def _repr_html_(self) -> str:
        whole = self.convert("RGB")
        shown = IMAGE.format(self.width, self._alt or repr(self), data_uri("image/jpeg", encode_jpeg(whole)))
        dark = self.in_dark()
        if dark is None:
            return str(Markup('<div class="rb-sheet">{}</div>').format(shown))
        words, pictures = (data_uri("image/png", _png(part)) for part in _apart(whole, dark))
        return str(render_style("sheet.css") + THEMED.format(self.width, pictures, words, shown))

    def in_dark(self) -> Image.Image | None:
        """The same in the colours of a dark page; None where one theme was chosen, or somebody has drawn on it since."""
        if self._paint is None or options.theme != "auto":
            return None
        whole = self.convert("RGB")
        same = self._paint(get_theme_colours(is_dark=False))
        if same.size != whole.size or same.tobytes() != whole.tobytes():
            return None
        return self._paint(get_theme_colours(is_dark=True))

    def _repr_png_(self) -> None:
        return None

    def _repr_jpeg_(self) -> bytes:
        return encode_jpeg(self.convert("RGB"), MAX_PLAIN)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def __repr__(self) -> str:
        return f"<a picture of {self.width}×{self.height}: .save('sheet.png') keeps it>"


def encode_jpeg(picture: Image.Image, most_bytes: int = MAX_BYTES) -> bytes:
    """The best JPEG of a picture that is no larger than this; of one that is very long, the smallest that can be read."""
    content, shown = b"", picture
    for quality, subsampling, width in COPIES:
        if width is not None and width < shown.width:
            high = max(1, round(picture.height * width / picture.width))
            shown = picture.resize((width, high), Image.Resampling.LANCZOS)
        out = io.BytesIO()
        # Not with `optimize`: Pillow then gives it room for one byte a pixel, and fails where grain takes more.
        shown.save(out, "JPEG", quality=quality, subsampling=subsampling)
        content = out.getvalue()
        if len(content) <= most_bytes:
            break
    return content


def _apart(light: Image.Image, dark: Image.Image) -> tuple[Image.Image, Image.Image]:
    """The words and lines of the dark drawing on no ground, and a mask of what both drawings share: the pictures."""
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
