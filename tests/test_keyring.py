"""What clients share."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringError

from reelbook.current import find_keyring_key


class Remembering(KeyringBackend):
    """A keyring in memory: a fake, because a test must not read the one of whoever runs it."""

    priority = 1

    def __init__(self, kept: dict[tuple[str, str], str] | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # It has no types there.
        self._kept = kept

    def get_password(self, service: str, username: str) -> str | None:
        if self._kept is None:
            raise KeyringError("locked")
        return self._kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringError("nothing is kept in a test")

    def delete_password(self, service: str, username: str) -> None:
        raise KeyringError("nothing is kept in a test")


@pytest.fixture(autouse=True)
def _the_keyring_of_before() -> Iterator[None]:
    before = keyring.get_keyring()
    yield
    keyring.set_keyring(before)


def test_a_key_is_found_in_the_system_s_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the address of the service, with or without a slash at its end; one that is locked or not installed has none."""
    keyring.set_keyring(Remembering({("reelbook", "https://host/api"): "a-kept-key"}))
    assert find_keyring_key("https://host/api/") == "a-kept-key"
    assert find_keyring_key("https://other/api") is None

    keyring.set_keyring(Remembering(None))
    assert find_keyring_key("https://host/api") is None
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert find_keyring_key("https://host/api") is None
