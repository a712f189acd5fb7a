"""Accounts: lists of them, keys that are never kept, and a log that survives a crash."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path

import pytest

from reelbook_service.accounts import Accounts, BadAccounts, NewAccount, read_accounts
from reelbook_service.refusals import Refusal
from reelbook_service.store import Store


def opened(folder: Path, *accounts: NewAccount) -> tuple[Store, Accounts]:
    store = Store(folder / "db")
    found = Accounts(store, folder / "charges.jsonl", time.time)
    found.open(accounts)
    return store, found


def test_a_class_list_becomes_accounts_and_missing_keys_are_made_up(tmp_path: Path) -> None:
    """Name alone is enough; budget and permissions may be given."""
    table = tmp_path / "students.csv"
    table.write_text(
        "name,key,budget,permissions\nAda,secret,100,run\nBen,,,\nChen,,7,run unchecked\n", encoding="utf-8"
    )

    ada, ben, chen = read_accounts(table, budget=500)

    assert ada == NewAccount("Ada", "secret", 100, ("run",))
    assert (ben.budget, ben.permissions, len(ben.key) > 30) == (500, ("run", "upload"), True)
    assert (chen.budget, chen.permissions) == (7, ("run", "unchecked"))
    assert ben.key != chen.key


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no rows"),
        ("name\n", "no rows"),
        ("name\nAda\nAda\n", "'Ada' stands in it twice"),
        ("name,budget\nAda,many\n", "line 2: the budget 'many'"),
        ("name,permissions\nAda,fly\n", "not 'fly'"),
        ("name\n  \nAda\n", "line 2: `name` is empty"),
    ],
)
def test_a_bad_list_is_refused_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    """The sentence says which line and what is wrong with it."""
    table = tmp_path / "students.csv"
    table.write_text(text, encoding="utf-8")

    with pytest.raises(BadAccounts, match=says):
        read_accounts(table)


def test_a_missing_list_is_refused(tmp_path: Path) -> None:
    """No file, no accounts, one sentence."""
    with pytest.raises(BadAccounts, match="could not be read"):
        read_accounts(tmp_path / "nothing.csv")


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


def test_the_log_is_made_whole_after_a_crash_between_commit_and_writing(tmp_path: Path) -> None:
    """A missing line is added, a torn one written again, and none is written twice."""
    store, accounts = opened(tmp_path, NewAccount("a", "key", budget=100))
    for number in range(3):
        store.submit(partial(accounts.reserve, account="a", request_id=f"r{number}", credits=10)).result()
    store.close()
    log = tmp_path / "charges.jsonl"
    whole = log.read_text(encoding="utf-8")
    # What a crash leaves: one line complete, one torn in the middle, one not there.
    log.write_text(whole[: whole.index("\n") + 20], encoding="utf-8")

    store, accounts = opened(tmp_path)
    store.close()

    assert log.read_text(encoding="utf-8") == whole
    assert [json.loads(line)["request_id"] for line in whole.splitlines()] == ["r0", "r1", "r2"]


def test_opening_again_keeps_what_was_spent(tmp_path: Path) -> None:
    """A new budget replaces the grant, not the history."""
    store, accounts = opened(tmp_path, NewAccount("a", "key", budget=100))
    store.submit(lambda db: accounts.reserve(db, "a", "r", 40)).result()
    store.submit(lambda db: accounts.settle(db, "a", "r", 40)).result()

    accounts.open([NewAccount("a", "key", budget=200)])
    told = store.submit(lambda db: accounts.statement(db, accounts.identify("key"))).result()
    store.close()

    assert (told["credits_available"], told["credits_spent"]) == (160, 40)
