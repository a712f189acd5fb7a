"""A finished sheet: a picture like any other of Pillow, which a notebook keeps in a fifth of the bytes."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image

QUALITY = 88


class Sheet(Image.Image):
    """A picture to be saved, pasted and printed.

    Pillow shows its pictures as PNG and as JPEG at once, and the PNG of a sheet of 24 runs alone takes 5 MB in the
    notebook. `save("sheet.png")` writes every pixel as it is.
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
        out = io.BytesIO()
        # Without thinning the colours out, so that letters stay sharp.
        self.convert("RGB").save(out, "JPEG", quality=QUALITY, subsampling=0, optimize=True)
        return out.getvalue()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def __repr__(self) -> str:
        return f"<a picture of {self.width}×{self.height}: .save('sheet.png') keeps it>"
