"""Read and write metadata of an MP4: the tags of its index, and our own record in a box at the end."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

from ...util.containers import FilePart, MalformedFile, get_length, parse_boxes, read_content, read_exactly
from . import xmp
from .file_pieces import MAX_BYTES, FilePiece, Stretch

XMP_BOX = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")
"""UUID of an XMP packet's box, by the XMP standard."""

_NAMES = {b"\xa9cmt": "comment", b"\xa9nam": "title", b"desc": "description"}
_HEAD = 8
_LARGEST = 2**32 - 1
_MAX_TAGS = 1000


def read_texts(file: BinaryIO) -> Iterator[tuple[str, str]]:
    """Yield comment, title and description, the tags with custom names, and our record."""
    for box in parse_boxes(file, 0, get_length(file)):
        if box.kind == b"moov":
            yield from _texts_of_index(file, box)
        elif (record := _record(file, box)) is not None:
            yield "reelbook", record


def build_pieces(file: BinaryIO, record: str, source_type: str = "") -> list[FilePiece]:
    """The film with our record and its source type in a box after all others, merged with a foreign XMP packet.

    There it moves no other box: the offsets in the index stay valid, and playback starts as early.
    """
    end = get_length(file)
    boxes = list(parse_boxes(file, 0, end))
    if not boxes or boxes[-1].stop != end or not any(box.kind in (b"moov", b"moof") for box in boxes):
        raise MalformedFile("it has no index, or something stands after its last box")
    packets = {box: packet for box in boxes if (packet := _packet(file, box)) is not None}
    merged = {
        box: found for box, packet in packets.items() if (found := xmp.merge_into_packet(packet, record, source_type))
    }
    # Merge into a foreign packet; if there is none, into an earlier one of ours.
    chosen = next((box for box in merged if not xmp.is_ours(packets[box])), next(iter(merged), None))
    removed = {chosen, *(box for box, packet in packets.items() if xmp.is_ours(packet))}
    # A fragmented film ends with a table that is found by its offset from the end.
    table = [boxes.pop()] if boxes[-1].kind == b"mfra" else []
    while boxes[-1] in removed:
        boxes.pop()
    pieces = [piece for box in boxes for piece in _remaining_pieces(box, is_removed=box in removed)]
    content = XMP_BOX + (merged[chosen] if chosen else xmp.make_packet(record, source_type))
    ours = struct.pack(">I4s", len(content) + _HEAD, b"uuid") + content
    return [*pieces, ours, *(Stretch(box.start, box.stop) for box in table)]


def _packet(file: BinaryIO, box: FilePart) -> bytes | None:
    """The XMP packet of a box, if it contains one."""
    if box.kind != b"uuid" or not len(XMP_BOX) <= box.size <= 2 * MAX_BYTES:
        return None
    content = read_content(file, box)
    return content[len(XMP_BOX) :] if content.startswith(XMP_BOX) else None


def _record(file: BinaryIO, box: FilePart) -> str | None:
    """Our record, if this box contains it."""
    packet = _packet(file, box)
    return None if packet is None else xmp.find_record(packet)


def _remaining_pieces(box: FilePart, *, is_removed: bool) -> list[FilePiece]:
    """A box with a stated size; if removed, as free space, so that the boxes after it do not move."""
    after_kind = Stretch(box.start + _HEAD, box.stop)
    if box.is_open:
        if box.stop - box.start > _LARGEST:
            raise MalformedFile("its last box is too large to be closed")
        return [struct.pack(">I4s", box.stop - box.start, box.kind), after_kind]
    if is_removed:
        return [Stretch(box.start, box.start + 4), b"free", after_kind]
    return [Stretch(box.start, box.stop)]


def _first_of_each(file: BinaryIO, start: int, stop: int) -> dict[bytes, FilePart]:
    """The first box of each type; others are not parsed, because a file of tiny boxes would take minutes."""
    found: dict[bytes, FilePart] = {}
    for box in parse_boxes(file, start, stop):
        found.setdefault(box.kind, box)
    return found


def _texts_of_index(file: BinaryIO, index: FilePart) -> Iterator[tuple[str, str]]:
    boxes = _first_of_each(file, index.inside, index.stop)
    if b"meta" in boxes:
        yield from _texts_of_tags(file, boxes[b"meta"])
    if b"udta" not in boxes:
        return
    inner = _first_of_each(file, boxes[b"udta"].inside, boxes[b"udta"].stop)
    if b"meta" in inner:
        yield from _texts_of_tags(file, inner[b"meta"])
    for kind in _NAMES.keys() & inner.keys():
        if 4 < inner[kind].size <= MAX_BYTES:
            # QuickTime's older format: two bytes of length, two of language, then the text.
            yield _NAMES[kind], _text(read_exactly(file, inner[kind].inside + 4, inner[kind].size - 4))


def _texts_of_tags(file: BinaryIO, tags: FilePart) -> Iterator[tuple[str, str]]:
    # QuickTime lacks the four bytes of version and flags that MP4 has here.
    is_quicktime = tags.size >= _HEAD and read_exactly(file, tags.inside + 4, 4) == b"hdlr"
    boxes = _first_of_each(file, tags.inside + (0 if is_quicktime else 4), tags.stop)
    if b"ilst" not in boxes:
        return
    names = {**_NAMES, **(_keys(file, boxes[b"keys"]) if b"keys" in boxes else {})}
    for kind, tag in _first_of_each(file, boxes[b"ilst"].inside, boxes[b"ilst"].stop).items():
        value = _first_of_each(file, tag.inside, tag.stop).get(b"data") if kind in names else None
        if value is not None and 8 <= value.size <= MAX_BYTES:
            # Type and language, then the text.
            yield names[kind], _text(read_exactly(file, value.inside + 8, value.size - 8))


def _keys(file: BinaryIO, box: FilePart) -> dict[bytes, str]:
    """Names of the tags that have numbers as types."""
    if not 8 <= box.size <= MAX_BYTES:
        return {}
    # Version and number of names; then each name in the form of a box.
    keys = islice(parse_boxes(file, box.inside + 8, box.stop), _MAX_TAGS)
    return {
        struct.pack(">I", number): _text(read_exactly(file, key.inside, min(key.size, 200))).rpartition(".")[2]
        for number, key in enumerate(keys, 1)
    }


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
