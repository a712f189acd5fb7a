"""Texts in an MP4: the tags of its index, and our own record in a box at its end."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

from . import xmp
from .file_pieces import MAX_BYTES, MAX_PARTS, MalformedFile, Piece, Stretch, get_length, read_exactly

XMP_BOX = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")
"""What the XMP standard says that the box of a packet is called."""

C2PA_BOX = bytes.fromhex("d8fec3d61b0e483c92975828877ec481")
"""What C2PA says that the box of a manifest is called."""

_PURPOSES = (b"manifest", b"original", b"update")
_NAMES = {b"\xa9cmt": "comment", b"\xa9nam": "title", b"desc": "description"}
_HEAD, _LONG_HEAD = 8, 16
_LARGEST = 2**32 - 1
_MAX_TAGS = 1000


@dataclass(frozen=True, slots=True)
class _Box:
    """Where a box is, and what its four letters are."""

    kind: bytes
    start: int
    inside: int
    """Where its content begins."""
    stop: int
    is_open: bool
    """It goes on to the end of the file, and so does not say how large it is."""

    @property
    def size(self) -> int:
        """Bytes of its content."""
        return self.stop - self.inside


def read_texts(file: BinaryIO) -> Iterator[tuple[str, str]]:
    """Comment, title and description, the tags that have names of their own, and our record."""
    for box in _boxes(file, 0, get_length(file)):
        if box.kind == b"moov":
            yield from _texts_of_index(file, box)
        elif (record := _record(file, box)) is not None:
            yield "reelbook", record


def find_manifest_parts(file: BinaryIO) -> Iterator[Stretch]:
    """The manifest of its maker, as C2PA places it in an MP4 and in what is built alike."""
    for box in _boxes(file, 0, get_length(file)):
        if (
            box.kind == b"uuid"
            and box.size >= len(C2PA_BOX)
            and read_exactly(file, box.inside, len(C2PA_BOX)) == C2PA_BOX
        ):
            # A version, what it is for, and a place in the file that only one of the purposes needs.
            purpose = file.read(min(box.size - len(C2PA_BOX), 16))[4:].partition(b"\0")[0]
            start = box.inside + len(C2PA_BOX) + 4 + len(purpose) + 1 + 8
            yield Stretch(min(start, box.stop) if purpose in _PURPOSES else box.stop, box.stop)
        elif box.kind == b"jumb":
            yield Stretch(box.start, box.stop)


def read_packets(file: BinaryIO) -> Iterator[bytes]:
    """Its XMP packets."""
    for box in _boxes(file, 0, get_length(file)):
        if (packet := _packet(file, box)) is not None:
            yield packet


def build_pieces(file: BinaryIO, record: str, source_type: str = "") -> list[Piece]:
    """The same film with our record and its kind of source in a box after all others, and with them the XMP of others.

    There it moves nothing: the index, wherever it is, still points at the same bytes, and the film starts as early.
    """
    end = get_length(file)
    boxes = list(_boxes(file, 0, end))
    if not boxes or boxes[-1].stop != end or not any(box.kind in (b"moov", b"moof") for box in boxes):
        raise MalformedFile("it has no index, or something stands after its last box")
    packets = {box: packet for box in boxes if (packet := _packet(file, box)) is not None}
    whole = {
        box: found for box, theirs in packets.items() if (found := xmp.merge_into_packet(theirs, record, source_type))
    }
    # The packet of others takes ours in; where there is none, an earlier one of ours.
    chosen = next((box for box in whole if not xmp.is_ours(packets[box])), next(iter(whole), None))
    gone = {chosen, *(box for box, theirs in packets.items() if xmp.is_ours(theirs))}
    # A film in fragments ends with a table that is found by its distance from the end.
    table = [boxes.pop()] if boxes[-1].kind == b"mfra" else []
    while boxes[-1] in gone:
        boxes.pop()
    pieces = [piece for box in boxes for piece in _remaining_pieces(box, is_gone=box in gone)]
    content = XMP_BOX + (whole[chosen] if chosen else xmp.make_packet(record, source_type))
    ours = struct.pack(">I4s", len(content) + _HEAD, b"uuid") + content
    return [*pieces, ours, *(Stretch(box.start, box.stop) for box in table)]


def _boxes(file: BinaryIO, start: int, stop: int) -> Iterator[_Box]:
    """The boxes that stand there one after the other; odd where one claims more than there is."""
    for _ in range(MAX_PARTS):
        if start + _HEAD > stop:
            return
        size, kind = struct.unpack(">I4s", read_exactly(file, start, _HEAD))
        inside, is_open = start + _HEAD, size == 0
        if size == 1:
            size = struct.unpack(">Q", read_exactly(file, inside, 8))[0]
            inside = start + _LONG_HEAD
        end = stop if is_open else start + size
        if not inside <= end <= stop:
            raise MalformedFile("a box claims more than the file has")
        yield _Box(kind, start, inside, end, is_open)
        start = end
    raise MalformedFile("it has too many boxes")


def _packet(file: BinaryIO, box: _Box) -> bytes | None:
    """The XMP packet of a box, if it holds one."""
    if box.kind != b"uuid" or not len(XMP_BOX) <= box.size <= 2 * MAX_BYTES:
        return None
    content = read_exactly(file, box.inside, box.size)
    return content[len(XMP_BOX) :] if content.startswith(XMP_BOX) else None


def _record(file: BinaryIO, box: _Box) -> str | None:
    """Our record, if this is the box that holds it."""
    packet = _packet(file, box)
    return None if packet is None else xmp.find_record(packet)


def _remaining_pieces(box: _Box, *, is_gone: bool) -> list[Piece]:
    """A box as it is, but closed, and empty where its packet stands elsewhere now: what comes after it must not move."""
    after_kind = Stretch(box.start + _HEAD, box.stop)
    if box.is_open:
        if box.stop - box.start > _LARGEST:
            raise MalformedFile("its last box is too large to be closed")
        return [struct.pack(">I4s", box.stop - box.start, box.kind), after_kind]
    if is_gone:
        return [Stretch(box.start, box.start + 4), b"free", after_kind]
    return [Stretch(box.start, box.stop)]


def _first_of_each(file: BinaryIO, start: int, stop: int) -> dict[bytes, _Box]:
    """The first box of each kind that stands there; no more are looked into, or a file of tiny boxes takes minutes."""
    found: dict[bytes, _Box] = {}
    for box in _boxes(file, start, stop):
        found.setdefault(box.kind, box)
    return found


def _texts_of_index(file: BinaryIO, index: _Box) -> Iterator[tuple[str, str]]:
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
            # QuickTime's older way: two bytes of length, two of language, then the text.
            yield _NAMES[kind], _text(read_exactly(file, inner[kind].inside + 4, inner[kind].size - 4))


def _texts_of_tags(file: BinaryIO, tags: _Box) -> Iterator[tuple[str, str]]:
    # QuickTime leaves out the four bytes of a version that MP4 has here.
    is_quicktime = tags.size >= _HEAD and read_exactly(file, tags.inside + 4, 4) == b"hdlr"
    boxes = _first_of_each(file, tags.inside + (0 if is_quicktime else 4), tags.stop)
    if b"ilst" not in boxes:
        return
    names = {**_NAMES, **(_keys(file, boxes[b"keys"]) if b"keys" in boxes else {})}
    for kind, tag in _first_of_each(file, boxes[b"ilst"].inside, boxes[b"ilst"].stop).items():
        value = _first_of_each(file, tag.inside, tag.stop).get(b"data") if kind in names else None
        if value is not None and 8 <= value.size <= MAX_BYTES:
            # Its type and its language, then the text.
            yield names[kind], _text(read_exactly(file, value.inside + 8, value.size - 8))


def _keys(file: BinaryIO, box: _Box) -> dict[bytes, str]:
    """Names of tags that have numbers in place of four letters."""
    if not 8 <= box.size <= MAX_BYTES:
        return {}
    # A version and the number of names; then each name as if it were a box.
    keys = islice(_boxes(file, box.inside + 8, box.stop), _MAX_TAGS)
    return {
        struct.pack(">I", number): _text(read_exactly(file, key.inside, min(key.size, 200))).rpartition(".")[2]
        for number, key in enumerate(keys, 1)
    }


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
