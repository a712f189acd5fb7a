"""A finished sheet: a picture like any other of Pillow, which a notebook keeps in a fifth of the bytes."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image

MOST_BYTES = 300_000
"""Of the copy that a notebook keeps: a few sheets of noisy clips, and still it can be sent by mail."""
WHOLE, THINNED = 0, 2
"""Colours as fine as the light and dark of a picture, and half as fine each way, which letters hardly show."""
COPIES = (
    (88, WHOLE, None), (76, WHOLE, None), (76, THINNED, None), (60, THINNED, None),
    (60, THINNED, 1280), (50, THINNED, 1280), (50, THINNED, 1000), (35, THINNED, 1000), (20, THINNED, 1000),
)  # fmt: skip
"""Quality, colours and width of the copies that are tried, the best first; None is the width that the sheet has."""


class Sheet(Image.Image):
    """A picture to be saved, pasted and printed.

    Pillow shows its pictures as PNG and as JPEG at once, and the PNG of a sheet of 24 runs alone takes 5 MB in the
    notebook. This shows one JPEG of at most 300 kB, coarser or smaller as need be; `save("sheet.png")` writes every
    pixel as it is.
    """

    @classmethod
    def of(cls, picture: Image.Image) -> Sheet:
        """The picture as a sheet."""
        found = cls()
        vars(found).update(vars(picture))
        return found

    def _repr_png_(self) -> None:
        return None

    def _repr_jpeg_(self) -> bytes:
        return display_copy(self.convert("RGB"))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def __repr__(self) -> str:
        return f"<a picture of {self.width}×{self.height}: .save('sheet.png') keeps it>"


def display_copy(picture: Image.Image, most_bytes: int = MOST_BYTES) -> bytes:
    """The best JPEG of a picture that is no larger than this; of one that is very long, the smallest that can be read."""
    content, shown = b"", picture
    for quality, colours, width in COPIES:
        if width is not None and width < shown.width:
            high = max(1, round(picture.height * width / picture.width))
            shown = picture.resize((width, high), Image.Resampling.LANCZOS)
        out = io.BytesIO()
        # Not with `optimize`: Pillow then gives it room for one byte a pixel, and fails where grain takes more.
        shown.save(out, "JPEG", quality=quality, subsampling=colours)
        content = out.getvalue()
        if len(content) <= most_bytes:
            break
    return content
