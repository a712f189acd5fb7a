"""Parse the texts of three tags in an EXIF block."""

from __future__ import annotations

import struct

from .file_pieces import MAX_BYTES

NAMES = {0x010E: "ImageDescription", 0x0131: "Software", 0x9286: "UserComment"}
"""Tags with texts about how a picture was made."""

_EXIF_BLOCK = 0x8769
_BYTE, _ASCII, _LONG, _UNDEFINED = 1, 2, 4, 7
_MAX_ENTRIES = 1000


def parse_texts(block: bytes) -> dict[str, str]:
    """The texts by tag name; none from a malformed block.

    Pillow is not used: it copies the value of every tag, and a small block can refer to the same bytes 1,000 times.
    """
    block = block.removeprefix(b"Exif\0\0")
    order = {b"II": "<", b"MM": ">"}.get(block[:2])
    if order is None or len(block) < 8 or len(block) > MAX_BYTES:
        return {}
    found, below = _directory(block, order, struct.unpack_from(order + "I", block, 4)[0])
    deeper = _directory(block, order, below)[0] if below is not None else {}
    return {**found, **deeper}


def _directory(block: bytes, order: str, start: int) -> tuple[dict[str, str], int | None]:
    """The texts of one directory, and the offset of its Exif subdirectory."""
    found: dict[str, str] = {}
    below = None
    if start + 2 > len(block):
        return found, below
    count = min(struct.unpack_from(order + "H", block, start)[0], _MAX_ENTRIES, (len(block) - start - 2) // 12)
    for place in range(count):
        at = start + 2 + 12 * place
        tag, kind, size, value = struct.unpack_from(order + "HHII", block, at)
        if tag == _EXIF_BLOCK and kind == _LONG:
            below = value
        elif tag in NAMES and kind in (_BYTE, _ASCII, _UNDEFINED):
            where = at + 8 if size <= 4 else value
            found[NAMES[tag]] = _text(block[where : where + size])
    return found, below


def _text(content: bytes) -> str:
    """Decode a text in any of the common encodings."""
    if content.startswith(b"UNICODE\0"):
        letters = content[8:]
        # The byte order is not declared, not even by the block's own. ASCII letters have a zero in the high byte.
        is_big = letters[0::2].count(0) >= letters[1::2].count(0)
        return letters.decode("utf-16-be" if is_big else "utf-16-le", "replace").rstrip("\0")
    content = content.removeprefix(b"ASCII\0\0\0").removeprefix(b"\0\0\0\0\0\0\0\0")
    return content.decode("utf-8", "replace").rstrip("\0")
