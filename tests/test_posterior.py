"""The belief about settings: what it says for values that are many, few, strange or none, and that no order matters."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from reelbook.decide.posterior import Belief, choose, learn_pairs, learn_values
from tests.decide.worlds import BUDGET, GRID, WORLDS, drawn, regret_of, spend_on_belief, spend_on_grid
from tests.support import deep

LEVELS = np.array(list(product(range(4), repeat=3)))


def additive(seed: int) -> np.ndarray:
    """True values of 64 settings as the sum of what each level adds."""
    rng = np.random.default_rng(seed)
    return np.asarray(sum(rng.normal(size=4)[LEVELS[:, axis]] for axis in range(3)))


def is_sound(belief: Belief, settings: int) -> bool:
    """Whether every figure is finite and the covariance is one."""
    sizes = np.linalg.eigvalsh(belief.covariance)
    return (
        belief.mean.shape == (settings,)
        and bool(np.isfinite(belief.mean).all() and np.isfinite(belief.covariance).all())
        and bool(sizes.min() >= -1e-8 * max(1.0, sizes.max()))
        and np.isfinite(belief.noise)
        and belief.noise >= 0
    )


def test_the_best_of_many_values_is_found() -> None:
    """Four values of each setting with little noise: the best is the best, and the noise is what it was."""
    rng, true = np.random.default_rng(1), additive(1)
    setting = np.repeat(np.arange(64), 4)

    belief = learn_values(LEVELS, setting, true[setting] + 0.1 * rng.normal(size=256))

    assert np.argmax(belief.mean) == np.argmax(true)
    assert 0.08 < belief.noise < 0.12
    assert np.abs(belief.mean - true).max() < 0.3


def test_a_setting_never_tried_is_known_by_its_levels() -> None:
    """Half of the settings say nearly all about the others where effects add up."""
    rng, true = np.random.default_rng(2), additive(2)
    setting = rng.permutation(64)[:32]

    belief = learn_values(LEVELS, setting, true[setting] + 0.1 * rng.normal(size=32))
    untried = np.setdiff1d(np.arange(64), setting)

    assert np.corrcoef(belief.mean[untried], true[untried])[0, 1] > 0.95


def test_a_prompt_that_shifts_all_values_is_no_merit() -> None:
    """A setting tried with an easy prompt only is not better for it."""
    true, rng = np.array([0.0, 1.0]), np.random.default_rng(3)
    setting, block = np.array([0, 1] * 4 + [0, 0]), np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    value = true[setting] + np.array([0.0, 1.0, -1.0, 0.5, 4.0])[block] + 0.1 * rng.normal(size=10)

    belief = learn_values([[0], [1]], setting, value, block)

    assert belief.chances(rng)[1] > 0.9


@pytest.mark.parametrize("kind", ["values", "pairs"])
def test_no_order_of_the_observations_matters(kind: str) -> None:
    """To the last bit, so that a race that goes on chooses the same."""
    rng = np.random.default_rng(4)
    one, other, block = rng.integers(0, 20, 30), rng.integers(0, 20, 30), rng.integers(0, 4, 30)
    value, order = rng.normal(size=30), rng.permutation(30)

    def learn(rows: np.ndarray) -> Belief:
        if kind == "values":
            return learn_values(LEVELS, one[rows], value[rows], block[rows])
        clips = 4 * one + block, 4 * other + block
        return learn_pairs(LEVELS, one[rows], other[rows], value[rows] > 0, clips[0][rows], clips[1][rows])

    straight, mixed = learn(np.arange(30)), learn(order)

    assert np.array_equal(straight.mean, mixed.mean)
    assert np.array_equal(straight.covariance, mixed.covariance)


STRANGE = {
    "nothing": ([], []),
    "one value": ([3], [5.0]),
    "two equal values": ([3, 4], [5.0, 5.0]),
    "all equal": (list(range(64)), [0.25] * 64),
    "all zero": (list(range(64)), [0.0] * 64),
    "none finite": ([1, 2, 3], [np.nan, np.inf, -np.inf]),
    "some failed": ([1, 1, 2, 3], [np.nan, 1.0, 2.0, np.inf]),
    "very large": ([1, 1, 2, 3], [1e12, 1.1e12, 2e12, -1e12]),
    "very small": ([1, 1, 2, 3], [1e-12, 1.1e-12, 2e-12, -1e-12]),
    "one setting only": ([7] * 20, list(np.arange(20.0))),
    "huge": ([1, 1, 2, 3], [1e308, 1.1e308, -1e308, 1e300]),
    "tiny": ([1, 1, 2, 3], [1e-308, 5e-324, -1e-310, 0.0]),
    "huge and tiny": ([1, 1, 2, 3], [1e300, 1e-300, -1.0, 0.0]),
    "one value apart by the last bit": ([1, 1, 2, 3], [1.0, 1.0, np.nextafter(1.0, 2), 1.0]),
}


@pytest.mark.parametrize("case", STRANGE)
def test_strange_values_give_a_sound_belief(case: str) -> None:
    """No values, equal ones, failures: a belief all the same, and something to try next."""
    setting, value = STRANGE[case]

    belief = learn_values(LEVELS, setting, value)

    assert is_sound(belief, 64)
    assert belief.chances(np.random.default_rng(0)).sum() == pytest.approx(1)
    assert len(choose(belief, np.random.default_rng(0), 8)) == 8


ONES = np.ones((64, 64))
COVARIANCES = {
    "nothing known": np.zeros((64, 64)),
    "all settings the same": ONES,
    "the same but for rounding": ONES + 1e-16 * np.random.default_rng(0).normal(size=(64, 64)),
    "a little below zero": ONES - 1e-9 * np.eye(64),
    "far below zero": -ONES,
}


@pytest.mark.parametrize("case", COVARIANCES)
def test_no_covariance_stops_a_race(case: str) -> None:
    """Whatever rounding has made of it: chances that add up to one, and something to try next."""
    for mean in (np.arange(64.0), np.zeros(64)):
        belief = Belief(mean, COVARIANCES[case], 0.0, np.arange(64) < 40)

        assert belief.chances(np.random.default_rng(0), draws=50).sum() == pytest.approx(1)
        chosen = choose(belief, np.random.default_rng(0), 8, spent=np.arange(64) % 2, open_=np.arange(64) % 3 > 0)
        assert len(chosen) == 8
        assert all(setting % 3 for setting in chosen)


@pytest.mark.parametrize(
    "levels",
    [[[0], [1]], [[0]], [[]], [[2], [0], [1]], [[0, -1], [1, 0], [1, 1]], [[0, 0], [0, 0], [1, 0]], [[0] * 9, [1] * 9]],
    ids=["two", "one", "no axis", "one axis", "conditional", "alike", "nine axes"],
)
def test_few_settings_give_a_sound_belief(levels: list[list[int]]) -> None:
    """Two settings, one, an axis with no levels at some settings, settings that no axis tells apart."""
    setting = np.arange(2 * len(levels)) % len(levels)
    value = setting + 0.1 * np.arange(2 * len(levels))

    belief = learn_values(levels, setting, value, setting % 2)

    assert is_sound(belief, len(levels))
    assert is_sound(learn_pairs(levels, setting, (setting + 1) % len(levels), setting > 0), len(levels))


def test_judgements_of_one_clip_are_no_repetitions() -> None:
    """A clip that wins forty times says less of its setting than forty clips that win once each."""
    left, right, share = [0] * 40, [1] * 40, [1.0] * 40
    clips = np.arange(40)

    many = learn_pairs([[0], [1]], left, right, share, clips, 100 + clips)
    one = learn_pairs([[0], [1]], left, right, share, 0 * clips, 100 + 0 * clips)

    assert many.chances(np.random.default_rng(0))[0] > one.chances(np.random.default_rng(0))[0]


def test_a_closed_setting_is_not_chosen() -> None:
    """What has no repeats left is never tried again, and with none left there is nothing to choose."""
    belief = learn_values(LEVELS, [0, 1], [1.0, 2.0])
    open_ = np.arange(64) == 9

    assert choose(belief, np.random.default_rng(0), 3, open_=open_) == [9, 9, 9]
    assert choose(belief, np.random.default_rng(0), 3, open_=np.zeros(64, bool)) == []


def test_bounds_hold_the_true_values() -> None:
    """Nine of ten of them, nearly."""
    held = []
    for seed in range(6):
        rng, true = np.random.default_rng(seed), additive(seed)
        setting = rng.integers(0, 64, 96)
        low, high = learn_values(LEVELS, setting, true[setting] + rng.normal(size=96)).bounds(0.9)
        held.append(np.mean((low <= true) & (true <= high)))

    assert np.mean(held) > 0.75


def test_a_lucky_setting_is_believed_once_its_value_repeats() -> None:
    """Levels promise it nothing, so one value says little where there is noise, and three say nearly all."""
    rng, true = np.random.default_rng(6), additive(6)
    true[9] = true.max() + 3
    setting = np.append(np.arange(64), [9, 9])

    belief = learn_values(LEVELS, setting, true[setting] + 0.7 * rng.normal(size=66))

    assert belief.mean.argmax() == 9
    assert belief.mean[9] > true[9] - 1


def test_nobody_is_sure_while_many_settings_were_never_tried() -> None:
    """One of those may be lucky, however clear the others are."""
    setting = np.repeat(np.arange(32), 3)
    value = np.where(setting == 5, 9.0, 0.0) + 0.1 * np.random.default_rng(7).normal(size=96)

    some = learn_values(LEVELS, setting, value)
    all_ = learn_values(LEVELS[:32], setting, value)

    assert some.chances(np.random.default_rng(0))[5] < 0.95
    assert all_.chances(np.random.default_rng(0))[5] > 0.95


def test_every_second_turn_goes_to_a_setting_never_tried() -> None:
    """So that a hundred turns reach fifty of them at least, however bad they seem."""
    belief, spent = learn_values(LEVELS, [0, 1], [1.0, 2.0]), np.zeros(64, int)
    spent[:2] = 1

    chosen = choose(belief, np.random.default_rng(0), 100, spent=spent)

    assert len({0, 1, *chosen}) >= 52


@pytest.mark.parametrize("draws", [12, *deep((400,))])
def test_two_fifths_of_the_credits_find_what_the_grid_finds(draws: int) -> None:
    """No more regret than the full grid's, with a margin, in four kinds of worlds."""
    ours, grid = [], []
    for seed in range(draws):
        rng = np.random.default_rng([3, seed])
        world = drawn(list(WORLDS)[seed % len(WORLDS)], rng)
        ours.append(regret_of(world.true, spend_on_belief(world, rng, BUDGET)))
        grid.append(regret_of(world.true, spend_on_grid(world, rng, GRID)))

    assert np.mean(ours) < np.mean(grid) + 0.1
