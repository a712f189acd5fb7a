"""`data:` addresses in the spellings that occur, and those that are damaged."""

from __future__ import annotations

import pytest

from reelbook.util.data_address import DataAddressError, parse_data_address


@pytest.mark.parametrize(
    ("address", "content"),
    [
        ("DATA:image/png;BASE64,aGk=", b"hi"),
        ("data:;base64 ,aGk", b"hi"),
        ("data:;base64,_-8=", b"\xff\xef"),
        ("data:image/png;base64,a G\nk%3D", b"hi"),
        ("data:text/plain,a%20b", b"a b"),
        ("data:,", b""),
    ],
)
def test_each_spelling_has_the_same_content(address: str, content: bytes) -> None:
    """Services accept them all."""
    assert parse_data_address(address) == content


@pytest.mark.parametrize(
    "address", ["data:", "data:;base64,a", "data:;base64,aGk=aGk=", "data:;base64,aG!k", "data:,\ud800"]
)
def test_a_damaged_address_is_refused(address: str) -> None:
    """Also one that cannot be encoded."""
    with pytest.raises(DataAddressError):
        parse_data_address(address)


def test_missing_padding_can_be_refused() -> None:
    """A result that a service cut off must not pass as whole."""
    assert parse_data_address("data:;base64,aGk=", padded=True) == b"hi"
    with pytest.raises(DataAddressError, match="cut short"):
        parse_data_address("data:;base64,aGk", padded=True)
