"""The queue without HTTP: who is served when, also after a restart, and what a failed cancellation leaves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reelbook_service.accounts import Account, Accounts, NewAccount, hash_key
from reelbook_service.queue import Queue, Request, WaitingList
from reelbook_service.store import Store
from tests.support import examples

MODEL = "svc/text-to-video-13b-distilled"
NUMBERS = count(1)
ACCOUNTS = ("ana", "ben", "una")
EVENTS = st.lists(
    st.one_of(
        st.sampled_from([*ACCOUNTS, "take"]),
        st.tuples(st.sampled_from(["cancel", "crash"]), st.integers(0, 20)),
    ),
    max_size=60,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "service.sqlite3")
    yield store
    store.close()


@pytest.fixture
def accounts(store: Store, tmp_path: Path) -> Accounts:
    accounts = Accounts(store, time.time)
    accounts.open([NewAccount(name, f"key-of-{name}") for name in ("ana", "ben", "una")])
    return accounts


def opened(store: Store, accounts: Accounts) -> Queue:
    return Queue(store, accounts, time.time, 10_000)


async def submit(queue: Queue, name: str, count: int = 1) -> list[str]:
    """The ids of so many new requests of an account."""
    account = Account(name, frozenset({"run"}), hash_key(f"key-of-{name}"))
    return [(await queue.submit(account, MODEL, {}, 1)).id for _ in range(count)]


async def taken(queue: Queue, count: int) -> list[str]:
    """The accounts of the next requests, each of which ends well."""
    names = []
    for _ in range(count):
        request = await queue.pop_next()
        names.append(request.account)
        await queue.finish(request, output={})
    return names


def make_request(account: str) -> Request:
    seq = next(NUMBERS)
    return Request(seq, str(seq), account, "svc/model", 1, 0.0)


@settings(max_examples=examples(100, 1000))
@given(EVENTS)
def test_accounts_take_turns_whatever_happens(events: list[str | tuple[str, int]]) -> None:
    """Requests come, are taken, are cancelled, or come back after a crash; the order and every place are exact.

    No account is served a second time while another waits that waited before the first time.
    """
    waiting, taken = WaitingList(), list[Request]()
    passed: dict[str, set[str]] = {}
    """By waiting account: which others were served since it began to wait, or was served last."""

    for event in events:
        before = list(waiting)
        if event == "take":
            if before:
                request = waiting.pop()
                taken.append(request)

                assert request is before[0]
                assert request.seq == min(one.seq for one in before if one.account == request.account)
                assert not any(request.account in served for served in passed.values())
                passed[request.account] = set()
                for account in passed:
                    passed[account] |= {request.account} - {account}
        elif isinstance(event, str):
            waiting.add(make_request(event))
        elif event[0] == "cancel" and before:
            waiting.remove(before[event[1] % len(before)])
        elif event[0] == "crash" and taken:
            waiting.add(taken.pop(event[1] % len(taken)))
        now = list(waiting)
        passed = {request.account: passed.get(request.account, set()) for request in now}
        assert [waiting.position(request) for request in now] == list(range(len(now)))
        assert len(waiting) == len(now)


def test_who_needs_what_is_loaded_goes_first_four_times_in_succession() -> None:
    """Of the first requests of the accounts one may be preferred; whoever is passed over has its turn after that."""
    waiting = WaitingList()
    for account in ("ana", "ben", "una") * 5:
        waiting.add(make_request(account))

    taken = [waiting.pop(lambda request: request.account != "ana").account for _ in range(6)]

    assert taken == ["ben", "una", "ben", "una", "ana", "ben"]
