"""The order in which waiting requests are taken: accounts take turns, and nobody overtakes within an account."""

from __future__ import annotations

from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from reelbook_service.queued_request import Request
from reelbook_service.waiting_list import WaitingList
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


def test_a_request_that_comes_back_is_the_next_of_its_account() -> None:
    """Its worker died; the turns of the others stay."""
    waiting = WaitingList()
    first, second, other = make_request("ana"), make_request("ana"), make_request("ben")
    for request in (first, second, other):
        waiting.add(request)

    waiting.add(waiting.pop())

    assert list(waiting) == [other, first, second]
