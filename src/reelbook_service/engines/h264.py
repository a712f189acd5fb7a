"""The H.264 syntax that repeats a picture: slices whose macroblocks are all skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator

SLICE, IDR_SLICE, SPS, PPS = 1, 5, 7, 8
"""The types of NAL units that are parsed."""

START_CODE = b"\0\0\0\1"

_BASELINE, _MAIN = 66, 77
_HEAD = 64
"""Upper bound of a slice header in bytes; those of this encoder need about six."""


class UnknownStream(Exception):
    """The encoder's headers announce a feature that skipped slices do not support."""


class BitReader:
    """Reads numbers from the payload of a NAL unit.

    >>> bits = BitReader(bytes([0b10100110, 0b01000000]))
    >>> bits.number(3), bits.golomb(), bits.golomb()
    (5, 5, 1)
    """

    def __init__(self, data: bytes) -> None:
        self._value = int.from_bytes(data)
        self._left = 8 * len(data)
        self.position = 0

    def number(self, width: int) -> int:
        """An unsigned number of the given width in bits."""
        if width > self._left:
            raise UnknownStream("a header ends in the middle of a number")
        self._left -= width
        self.position += width
        return (self._value >> self._left) & ((1 << width) - 1)

    def flag(self) -> bool:
        return self.number(1) == 1

    def golomb(self) -> int:
        """An Exp-Golomb number: as many zeros as the number has bits after its first, then the number plus one."""
        zeros = 0
        while not self.flag():
            zeros += 1
        return (1 << zeros) - 1 + self.number(zeros)


class BitWriter:
    """Writes the format that `BitReader` reads.

    >>> bits = BitWriter()
    >>> bits.number(5, 3).golomb(5).golomb(1).ended().hex()
    'a650'
    """

    def __init__(self) -> None:
        self._value = 0
        self._width = 0

    def number(self, value: int, width: int) -> BitWriter:
        self._value = (self._value << width) | value
        self._width += width
        return self

    def flag(self, value: bool) -> BitWriter:
        return self.number(int(value), 1)

    def golomb(self, value: int) -> BitWriter:
        return self.number(value + 1, 2 * (value + 1).bit_length() - 1)

    def ended(self) -> bytes:
        """The bytes, closed by the one bit and the zeros that end every payload."""
        self.flag(True).number(0, -self._width % 8)
        return self._value.to_bytes(self._width // 8)


def nal_units(stream: bytes) -> Iterator[bytes]:
    """The NAL units between the start codes of a stream.

    >>> [unit.hex() for unit in nal_units(bytes.fromhex("00000001 6742 000001 68ce"))]
    ['6742', '68ce']
    """
    start = stream.find(b"\0\0\1")
    while start >= 0:
        following = stream.find(b"\0\0\1", start + 3)
        unit = stream[start + 3 :] if following < 0 else stream[start + 3 : following]
        # A payload ends with a one bit, so zeros at the end belong to the next start code.
        if unit := unit.rstrip(b"\0"):
            yield unit
        start = following


def kind(unit: bytes) -> int:
    """The type of a NAL unit: `SLICE`, `IDR_SLICE`, `SPS`, `PPS` or another."""
    return unit[0] & 31


class Holder:
    """Writes the slices that repeat a picture, for a stream with these headers."""

    def __init__(self, headers: bytes) -> None:
        units = {kind(unit): unit for unit in nal_units(headers)}
        if SPS not in units or PPS not in units:
            raise UnknownStream("the encoder gave no headers")
        self._read_sequence(BitReader(unescaped(units[SPS][1:])))
        self._read_picture(BitReader(unescaped(units[PPS][1:])))

    def held(self, since: int) -> bytes:
        """The NAL unit of a frame that repeats the previous one, the `since`-th after its key frame."""
        bits = BitWriter().golomb(0).golomb(5)  # First macroblock; a slice of a picture with P slices only.
        bits.golomb(self._picture_id).number(since % (1 << self._number_bits), self._number_bits)
        if self._references == 1:
            bits.flag(False)  # One reference is the default number of this stream.
        else:
            bits.flag(True).golomb(0)  # It is not: this slice has one.
        bits.flag(False)  # References in default order.
        bits.flag(False)  # Default removal of old references.
        bits.golomb(0)  # No change of the quantiser; nothing here is quantised.
        if self._has_deblocking_control:
            bits.golomb(1)  # No deblocking: the picture stays unchanged.
        bits.golomb(self._macroblocks)  # All of them are skipped: nothing follows.
        return bytes([2 << 5 | SLICE]) + escaped(bits.ended())

    def number(self, unit: bytes) -> int:
        """The number of an IDR picture."""
        return self._number(unit)[0]

    def renumbered(self, unit: bytes, number: int) -> bytes:
        """The same IDR picture with another number, in which consecutive ones must differ."""
        _, start, end = self._number(unit)
        payload = unescaped(unit[1:])
        value, width = int.from_bytes(payload), 8 * len(payload)
        closing = (value & -value).bit_length()  # The one bit and the zeros at the end.
        rest = width - end
        bits = BitWriter().number(value >> (width - start), start).golomb(number)
        bits.number((value & ((1 << rest) - 1)) >> closing, rest - closing)
        return unit[:1] + escaped(bits.ended())

    def _number(self, unit: bytes) -> tuple[int, int, int]:
        """The number of an IDR picture, and the start and end of its bits."""
        bits = BitReader(unescaped(unit[1:_HEAD]))
        for _ in range(3):  # First macroblock, type, picture parameters.
            bits.golomb()
        bits.number(self._number_bits)
        start = bits.position
        return bits.golomb(), start, bits.position

    def _read_sequence(self, bits: BitReader) -> None:
        profile = bits.number(8)
        _expect(profile in (_BASELINE, _MAIN), f"profile {profile}")
        bits.number(16)  # Constraints and level.
        bits.golomb()  # Its id.
        self._number_bits = bits.golomb() + 4
        _expect(bits.golomb() == 2, "frames that are shown in another order than they are sent")
        _expect(bits.golomb() >= 1, "no references")
        bits.flag()  # Whether frame numbers may have gaps; those of this stream have none.
        self._macroblocks = (bits.golomb() + 1) * (bits.golomb() + 1)
        _expect(bits.flag(), "interlaced pictures")

    def _read_picture(self, bits: BitReader) -> None:
        self._picture_id = bits.golomb()
        bits.golomb()  # The sequence it belongs to; there is only one.
        _expect(not bits.flag(), "arithmetic coding")
        _expect(not bits.flag(), "two fields to a picture")
        _expect(bits.golomb() == 0, "groups of slices")
        self._references = bits.golomb() + 1
        bits.golomb()  # References of B slices; there are none.
        _expect(not bits.flag(), "weighted prediction")
        bits.number(2)
        for _ in range(3):  # Quantisers at the start, and the offset for colour.
            bits.golomb()
        self._has_deblocking_control = bits.flag()
        bits.flag()  # Constrained intra prediction.
        _expect(not bits.flag(), "redundant pictures")


def unescaped(payload: bytes) -> bytes:
    """The payload without the bytes that prevent start codes inside it."""
    return payload.replace(b"\0\0\3", b"\0\0")


def escaped(payload: bytes) -> bytes:
    """The payload with a 3 inserted after two zeros wherever a decoder would otherwise find a start code.

    >>> escaped(bytes([0, 0, 0, 0, 1])).hex(" ")
    '00 00 03 00 00 03 01'
    """
    return re.sub(rb"\0\0(?=[\0-\3])", b"\0\0\3", payload)


def _expect(is_supported: bool, otherwise: str) -> None:
    if not is_supported:
        raise UnknownStream(f"the encoder chose {otherwise}")
