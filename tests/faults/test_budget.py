"""Figure 4: a budget is a ceiling, with two notebooks at once, lost answers, failures, and an account that runs dry.

The oracle is the service's own charge log, or what arrives at a service that loses answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.runs.submit import Submission
from reelbook.storage.ledger.schema import Budget
from reelbook.util.background_loop import background
from tests.faults.audit import paid
from tests.faults.nursery import Nursery, Order, Outcome, clip
from tests.faults.standin import RUN, Fault, StandIn
from tests.support import Served

PRICE = 53
MANY = pytest.param(400, 100, id="deep", marks=[pytest.mark.deep, pytest.mark.timeout(600)])
SIZES = [pytest.param(12, 5, id="ci"), MANY]
SPARE = PRICE - 1
"""Left over in each budget: not enough for one more."""


@pytest.fixture
def served(shared: Served) -> Served:
    return shared.with_own_account()


def spent_by_two(address: str, key: str, library: Path, runs: int, **more: Any) -> list[list[Outcome]]:
    """What became of so many runs, half of them in each of two notebooks that share a library; `more` is for their `Order`."""
    halves = [range(runs)[half::2] for half in range(2)]
    with Nursery() as nursery:
        both = [nursery.open_notebook(Order(address, key, library, half, **more)) for half in halves]
        nursery.begin()
        return [notebook.outcomes() for notebook in both]


def kinds(outcomes: Sequence[Sequence[Outcome]]) -> Counter[str]:
    """How often each error came; the empty one stands for a result."""
    return Counter(outcome.kind for half in outcomes for outcome in half)


def good(outcomes: Sequence[Sequence[Outcome]]) -> set[int]:
    return {outcome.number for half in outcomes for outcome in half if not outcome.error}


@pytest.mark.parametrize(("runs", "money"), SIZES)
def test_two_notebooks_together_never_spend_more_than_their_budget(
    served: Served, tmp_path: Path, runs: int, money: int
) -> None:
    """Exactly as many are paid for as there is money; of the others nothing reaches the service."""
    outcomes = spent_by_two(served.base_url, served.key, tmp_path / "library", runs, limit=money * PRICE + SPARE)

    charged = paid(served)
    assert kinds(outcomes) == {"": money, "OverBudget": runs - money}
    assert charged == Counter(good(outcomes))
    assert len(charged) == money
    assert credits_held(served) == money * PRICE
    assert all(good([half]) for half in outcomes), "both notebooks took part"


def credits_held(served: Served) -> int:
    """What the service has taken in all, and not given back."""
    signs = {"reserve": 1, "refund": -1, "settle": 0}
    return sum(signs[line["kind"]] * line["credits"] for line in served.charges())


@pytest.mark.deep
def test_a_check_outside_the_transaction_spends_too_much(served: Served, tmp_path: Path) -> None:
    """The control: first looking and then acting, as one writes it without a ledger, overshoots the same budget."""
    spent_by_two(served.base_url, served.key, tmp_path / "library", 32, limit=8 * PRICE, way="naive")

    assert sum(paid(served).values()) > 8


# tests/sweeps/test_spend.py has limits of what is spent now, in one notebook.
@pytest.mark.parametrize(("runs", "money"), [pytest.param(24, 10, id="small", marks=pytest.mark.deep), MANY])
def test_each_of_two_notebooks_keeps_to_what_it_may_spend_now(
    served: Served, tmp_path: Path, runs: int, money: int
) -> None:
    """Both want the same runs, 32 at once, and each has its own limit: together exactly both, and no run is paid twice.

    What was paid before they began counts for neither.
    """
    library = tmp_path / "library"
    with rb.connect(served.base_url, api_key=served.key, library=library) as client:
        tried(client, clips(*range(5)), 5 * PRICE)

    with Nursery() as nursery:
        limits = [(money // 2 + 3) * PRICE + SPARE, (money // 2 - 3) * PRICE]
        both = [
            nursery.open_notebook(Order(served.base_url, served.key, library, range(runs)[::step], spend=limit))
            for step, limit in zip((1, -1), limits, strict=True)
        ]
        nursery.begin()
        outcomes = [notebook.outcomes() for notebook in both]

    charged = paid(served)
    assert len(charged) == money + 5
    assert set(charged.values()) == {1}
    assert set(kinds(outcomes)) == {"", "OverBudget"}
    assert good(outcomes) <= set(charged)


@pytest.mark.parametrize(("runs", "money"), SIZES)
def test_a_run_whose_answer_is_lost_counts_against_the_budget(tmp_path: Path, runs: int, money: int) -> None:
    """It may have been paid for: with every third answer lost, no more are sent than there is money for."""
    asked = [{"prompt": "a boat", "num_frames": 9, "seed": number} for number in range(runs)]
    with StandIn([Fault(RUN, "closed", seed=number) for number in range(0, runs, 3)]) as hosted:
        limit = money * PRICE + SPARE
        outcomes = spent_by_two(hosted.base_url, "a-key", tmp_path / "library", runs, limit=limit, asked=asked)

        sent = [line["input"]["seed"] for line in hosted.charges]
    lost = [number for number in sent if number % 3 == 0]
    assert len(sent) == len(set(sent)) == money
    assert lost
    assert kinds(outcomes) == {"": money - len(lost), "UncertainRun": len(lost), "OverBudget": runs - money}


def test_an_account_that_runs_dry_refuses_the_rest(shared: Served, tmp_path: Path) -> None:
    """The service's own ceiling: as many as it can pay for are made, the rest gets a 402, and its balance stays above 0."""
    money, runs = 3, 8
    served = shared.with_own_account(money * PRICE + SPARE)

    outcomes = spent_by_two(served.base_url, served.key, tmp_path / "library", runs)

    signs = {"reserve": -1, "refund": 1, "settle": 0}
    moves = [signs[line["kind"]] * line["credits"] for line in served.charges()]
    assert kinds(outcomes) == {"": money, "InsufficientCredits": runs - money}
    assert paid(served) == Counter(good(outcomes))
    assert min(accumulate(moves, initial=money * PRICE + SPARE)) == SPARE
    assert served.get("/account").json()["credits_available"] == SPARE


@pytest.fixture
def client(served: Served, tmp_path: Path) -> Iterator[Client]:
    with rb.connect(served.base_url, api_key=served.key, library=tmp_path / "library") as client:
        yield client


def tried(client: Client, requests: Sequence[rb.ImagesToVideo], limit: int) -> list[str]:
    """The name of the error of each of these runs, made all at once under a budget; empty for a result."""

    async def one(request: rb.ImagesToVideo) -> str:
        try:
            run = await client.submit_run(Submission(client.context, request, budget=Budget("all", limit)))
        except rb.OverBudget:
            return "OverBudget"
        await run.wait_finished()
        return "" if run.failure is None else type(run.failure).__name__

    return [future.result(60) for future in [background.submit(one(request)) for request in requests]]


def broken(number: int) -> rb.ImagesToVideo:
    """A clip that the service accepts, fails to make, and gives the money back for."""
    return rb.ImagesToVideo(images=[rb.Frame(url=f"http://10.0.0.1/{number}.png", frames=1)])


def clips(*numbers: int) -> list[rb.ImagesToVideo]:
    return [rb.ImagesToVideo(**clip(number)) for number in numbers]


def test_what_failed_and_was_given_back_is_free_for_others(served: Served, client: Client) -> None:
    """Money for five: five that fail use it up while they run, and leave it all to the five after them."""
    limit = 5 * PRICE + SPARE

    at_first = tried(client, [broken(number) for number in range(10)], limit)
    then = tried(client, clips(*range(10)), limit)

    assert Counter(at_first) == {"RunFailed": 5, "OverBudget": 5}
    assert Counter(then) == {"": 5, "OverBudget": 5}
    assert credits_held(served) == 5 * PRICE
