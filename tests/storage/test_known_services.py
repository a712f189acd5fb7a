"""Which service an address names: the runs that were paid for there are found, however it is written."""

from __future__ import annotations

import pytest

from reelbook.util.loopback import normalise_address

HOSTED, LOCAL = "https://host.example/api", "http://127.0.0.1:8000"


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        (HOSTED, HOSTED),
        (HOSTED + "/", HOSTED),
        (HOSTED + "//", HOSTED),
        ("https://HOST.Example/api", HOSTED),
        ("HTTPS://host.example/api", HOSTED),
        ("http://host.example/api", HOSTED),
        ("http://host.example:80/api", HOSTED),
        ("https://host.example:443/api", HOSTED),
        ("https://host.example./api", HOSTED),
        ("http://localhost:8000", LOCAL),
        ("http://[::1]:8000", LOCAL),
        ("https://other.example/api", "https://other.example/api"),
        ("https://host.example/staging", "https://host.example/staging"),
        ("http://127.0.0.1:8001", "http://127.0.0.1:8001"),
    ],
)
def test_every_spelling_of_an_address_names_one_service(spelling: str, name: str) -> None:
    """And another address names another service."""
    assert normalise_address(spelling) == name
