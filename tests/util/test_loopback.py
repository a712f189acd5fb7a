"""Addresses that only this machine can reach."""

from __future__ import annotations

import pytest

from reelbook.util.loopback import is_loopback


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://127.0.0.1:8600", True), ("http://127.8.8.8", True), ("http://localhost:8600", True), ("http://a.localhost.", True),
        ("http://[::1]:8600", True), ("http://192.168.1.20:8600", False), ("https://localhost.example.org", False), ("x", False),
        ("http://[", False),
    ],
)  # fmt: skip
def test_loopback_addresses_are_recognised(address: str, expected: bool) -> None:
    """By name and by number, in both families; what is no address is none of them."""
    assert is_loopback(address) == expected
