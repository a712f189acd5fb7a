"""The rows of a plan are grouped into settings by what is decided, in an order that the seed alone determines."""

from __future__ import annotations

import reelbook as rb
from reelbook.decide.race.settings import group_settings
from reelbook.sweeps.parts import sampled, template
from reelbook.sweeps.plan import sweep

BOAT = rb.TextToVideo(prompt="a paper boat")
OVER = ("seed", "prompt")


def test_seeds_and_prompts_repeat_a_setting_and_every_setting_begins_with_another_prompt() -> None:
    """Three prompts and two seeds: six runs for each setting, of all prompts before any comes twice."""
    plan = sweep(BOAT, prompt=["a", "b", "c"], seed=[1, 2], num_frames=[49, 97, 121])

    found = group_settings(plan, OVER, 0)
    together = group_settings(plan, OVER, 0, is_paired=True)

    assert found.axes == ("num_frames",)
    assert [len(one.rows) for one in found.settings] == [6, 6, 6]
    assert all(len({row["prompt"] for row in one.rows[:3]}) == 3 for one in found.settings)
    assert len({one.rows[0]["prompt"] for one in found.settings}) == 3
    assert len({one.rows[0]["prompt"] for one in together.settings}) == 1
    assert found.block == "prompt"
    assert len(set(found.blocks.values())) == 3


def test_with_one_prompt_all_settings_are_compared_on_the_same_seeds() -> None:
    """What a seed does to all of them then tells nothing."""
    found = group_settings(sweep(BOAT, seed=range(4), num_frames=[49, 97]), OVER, 3)

    first, second = ([row["seed"] for row in one.rows] for one in found.settings)
    assert first == second
    assert found.block == "seed"
    assert [row["seed"] for row in group_settings(sweep(BOAT, seed=range(4), num_frames=[49, 97]), OVER, 4).settings[0].rows] != first  # fmt: skip


def test_the_words_of_a_template_repeat_a_setting_unless_one_of_them_does() -> None:
    """`over` names the subject: then the style is decided."""
    plan = sweep(
        BOAT, prompt=template("a {subject}, {style}", subject=["boat", "fox"], style=["ink", "oil"]), seed=[1, 2]
    )

    every = group_settings(sweep(BOAT, template("a {subject}", subject=["boat", "fox"]), num_frames=[9, 17]), OVER, 0)
    styles = group_settings(plan, (*OVER, "subject"), 0)

    assert every.axes == ("num_frames",)
    assert styles.axes == ("style",)
    assert [len(one.rows) for one in styles.settings] == [4, 4]


def test_neighbouring_values_of_a_sampled_axis_share_a_level() -> None:
    """Forty values of one axis would share nothing with one another."""
    found = group_settings(sweep(BOAT, sampled(40, num_frames=(9, 257))), OVER, 0)

    assert 35 < len(found.settings) <= 40
    assert sorted(set(found.levels[:, 0].tolist())) == list(range(6))
