"""Bits of H.264, read and written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reelbook_service.engines.h264 import (
    START_CODE,
    BitReader,
    BitWriter,
    Holder,
    UnknownStream,
    escaped,
    nal_units,
    unescaped,
)


@given(st.lists(st.integers(0, 100_000)))
def test_numbers_survive_being_written(numbers: list[int]) -> None:
    """What was written as Exp-Golomb numbers is read back the same."""
    bits = BitWriter()
    for number in numbers:
        bits.golomb(number)

    reader = BitReader(bits.ended())

    assert [reader.golomb() for _ in numbers] == numbers


@given(st.binary())
def test_no_start_code_is_left_in_an_escaped_payload(payload: bytes) -> None:
    """A decoder can never mistake content for the beginning of a unit, and gets the content back."""
    safe = escaped(payload)

    assert all(code not in safe for code in (b"\0\0\0", b"\0\0\1", b"\0\0\2"))
    assert unescaped(safe) == payload


@given(st.lists(st.binary(min_size=1, max_size=30), max_size=5))
def test_units_are_found_between_start_codes(payloads: list[bytes]) -> None:
    """Each unit comes back whole, whatever it contains."""
    units = [b"\x67" + escaped(payload) + b"\x80" for payload in payloads]

    found = list(nal_units(b"".join(START_CODE + unit for unit in units)))

    assert found == units


def sequence(profile: int = 66, order: int = 2, references: int = 1, frames_only: bool = True) -> bytes:
    """The parameters of a sequence of 80 × 45 macroblocks, as far as they are read."""
    bits = BitWriter().number(profile, 8).number(0, 16).golomb(0).golomb(4).golomb(order).golomb(references)
    return b"\x67" + escaped(bits.flag(False).golomb(79).golomb(44).flag(frames_only).ended())


def picture(
    arithmetic: bool = False, groups: int = 0, references: int = 1, weighted: bool = False, deblocking: bool = True
) -> bytes:
    """The parameters of a picture."""
    bits = BitWriter().golomb(0).golomb(0).flag(arithmetic).flag(False).golomb(groups).golomb(references - 1).golomb(0)
    bits.flag(weighted).number(0, 2).golomb(0).golomb(0).golomb(0)
    return b"\x68" + escaped(bits.flag(deblocking).flag(False).flag(False).ended())


def holder(sps: bytes, pps: bytes) -> Holder:
    return Holder(START_CODE + sps + START_CODE + pps)


@pytest.mark.parametrize("references", [1, 3])
@pytest.mark.parametrize("deblocking", [True, False])
@pytest.mark.parametrize("since", [1, 2, 249, 255, 256, 300])
def test_a_held_frame_skips_every_macroblock(since: int, references: int, deblocking: bool) -> None:
    """The slice has the fields that the headers ask for, then all 3,600 macroblocks skipped, and nothing else."""
    unit = holder(sequence(references=references), picture(references=references, deblocking=deblocking)).held(since)

    bits = BitReader(unescaped(unit[1:]))
    assert unit[0] == 0x41  # A slice that later ones refer to.
    assert [bits.golomb() for _ in range(3)] == [0, 5, 0]  # First macroblock, P slices only, picture parameters.
    assert bits.number(8) == since % 256
    if references > 1:
        assert bits.flag()  # The number of references is told: one.
        assert bits.golomb() == 0
    else:
        assert not bits.flag()
    assert (bits.flag(), bits.flag(), bits.golomb()) == (False, False, 0)
    assert not deblocking or bits.golomb() == 1
    assert bits.golomb() == 3600
    assert bits.flag()  # The end.
    assert len(unit) == 1 + -(-bits.position // 8)


@pytest.mark.parametrize(
    ("sps", "pps", "what"),
    [
        (sequence(profile=100), picture(), "profile 100"),
        (sequence(order=0), picture(), "another order"),
        (sequence(references=0), picture(), "no references"),
        (sequence(frames_only=False), picture(), "interlaced"),
        (sequence(), picture(arithmetic=True), "arithmetic"),
        (sequence(), picture(groups=1), "groups"),
        (sequence(), picture(weighted=True), "weighted"),
        (sequence(), b"", "no headers"),
        (sequence()[:4], picture(), "in the middle"),
    ],
)
def test_other_streams_are_refused(sps: bytes, pps: bytes, what: str) -> None:
    """Headers that skipped slices do not fit are named, so that the caller can encode every frame instead."""
    with pytest.raises(UnknownStream, match=what):
        holder(sps, pps)


@given(number=st.integers(0, 5), another=st.integers(0, 5), content=st.integers(0, 1 << 200))
def test_a_key_frame_can_get_another_number(number: int, another: int, content: int) -> None:
    """Only the number changes; what follows it is moved, bit by bit, and comes back when the number does."""
    bits = BitWriter().golomb(0).golomb(7).golomb(0).number(0, 8).golomb(number).number(content, 201)
    unit = b"\x65" + escaped(bits.ended())
    holds = holder(sequence(), picture())

    changed = holds.renumbered(unit, another)

    assert holds.number(unit) == number
    assert holds.number(changed) == another
    assert holds.renumbered(changed, number) == unit
    reader = BitReader(unescaped(changed[1:]))
    assert [reader.golomb(), reader.golomb(), reader.golomb(), reader.number(8), reader.golomb()] == [
        0,
        7,
        0,
        0,
        another,
    ]
    assert reader.number(201) == content
