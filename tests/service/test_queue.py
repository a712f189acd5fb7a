"""The order in which a queue serves its accounts."""

from __future__ import annotations

from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from reelbook_service.queue import Request, WaitingList
from tests.support import examples

NUMBERS = count(1)
ACCOUNTS = ("ana", "ben", "una")
EVENTS = st.lists(
    st.one_of(
        st.sampled_from([*ACCOUNTS, "take"]),
        st.tuples(st.sampled_from(["cancel", "crash"]), st.integers(0, 20)),
    ),
    max_size=60,
)


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
