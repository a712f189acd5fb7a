"""Accounts: keys that are never kept, and credits that a second start leaves alone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from reelbook_service.accounts import Accounts, BadAccounts, NewAccount
from reelbook_service.refusals import Refusal
from reelbook_service.store import Store


def opened(folder: Path, *accounts: NewAccount) -> tuple[Store, Accounts]:
    store = Store(folder / "db")
    found = Accounts(store, time.time)
    found.open(accounts)
    return store, found


def test_two_accounts_with_one_key_are_refused(tmp_path: Path) -> None:
    """A key must tell who calls."""
    store, accounts = opened(tmp_path, NewAccount("a", "same"))

    with pytest.raises(BadAccounts, match="same key"):
        accounts.open([NewAccount("b", "same")])
    store.close()


def test_keys_are_kept_as_hashes_only(tmp_path: Path) -> None:
    """The key itself stands nowhere in the folder."""
    store, accounts = opened(tmp_path, NewAccount("a", "very-secret-key"))
    store.close()

    assert accounts.identify("very-secret-key").name == "a"
    assert all(b"very-secret-key" not in path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize("key", [None, "", "wrong", "\udcff"])
def test_an_unknown_key_is_refused(tmp_path: Path, key: str | None) -> None:
    """Missing or unknown: unauthorized."""
    store, accounts = opened(tmp_path, NewAccount("a", "key"))

    with pytest.raises(Refusal) as refusal:
        accounts.identify(key)
    store.close()

    assert refusal.value.status == 401


def test_opening_again_keeps_budget_and_spending(tmp_path: Path) -> None:
    """A start with another budget changes the key alone."""
    store, accounts = opened(tmp_path, NewAccount("a", "key", budget=100))
    store.submit(lambda db: accounts.reserve(db, "a", "r", 40)).result()
    store.submit(lambda db: accounts.settle(db, "a", "r", 40)).result()

    accounts.open([NewAccount("a", "new-key", budget=200)])
    statement = store.submit(lambda db: accounts.statement(db, accounts.identify("new-key"))).result()
    store.close()

    assert (statement["credits_available"], statement["credits_spent"]) == (60, 40)
