"""Small fonts for tests: every character is the same block, and which characters there are is chosen."""

from __future__ import annotations

from pathlib import Path

from fontTools.fontBuilder import FontBuilder  # type: ignore[import-untyped]  # It comes with matplotlib, without types.
from fontTools.pens.ttGlyphPen import TTGlyphPen  # type: ignore[import-untyped]  # As above.


def font(path: Path, characters: str) -> Path:
    """A font with these characters, a space, and a thin box for all others, each as wide as it is high."""
    pen = TTGlyphPen(None)
    for corners in ((0, 0), (0, 800), (900, 800), (900, 0)):
        (pen.moveTo if corners == (0, 0) else pen.lineTo)(corners)
    pen.closePath()
    block, empty = pen.glyph(), TTGlyphPen(None).glyph()
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "space", "block"])
    builder.setupCharacterMap({0x20: "space", **dict.fromkeys(map(ord, characters), "block")})
    builder.setupGlyf({".notdef": empty, "space": empty, "block": block})
    builder.setupHorizontalMetrics(dict.fromkeys((".notdef", "space", "block"), (1000, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": path.stem, "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(str(path))
    return path
