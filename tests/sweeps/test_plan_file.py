"""A plan is a file that one can review and commit: what is read is what was written."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reelbook.errors import InvalidInput
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.sweeps.parts import rows, sampled, template, zipped
from reelbook.sweeps.plan import Plan, sweep
from tests.support import examples
from tests.sweeps.axes import AXES, BOAT, parse_plan

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=3) | st.just("nothing_"), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=examples(37, 150))
@given(value=VALUES)
def test_any_value_survives_toml(value: Any) -> None:
    """None included, which TOML lacks, and tables that look like our word for it."""
    read = parse_plan(sweep(BOAT, prompt=[value]).to_toml())

    assert read[0].given == {"prompt": value}


@settings(max_examples=examples(10, 40))
@given(axes=AXES)
def test_a_grid_survives_its_file(axes: dict[str, list[Any]]) -> None:
    """As its axes, possible values and impossible ones."""
    plan = sweep(BOAT, **axes)

    assert parse_plan(plan.to_toml()) == plan


PLANS: dict[str, Callable[[], Plan]] = {
    "nothing varied": lambda: sweep(BOAT),
    "a sample": lambda: sweep(BOAT, sampled(7, {"num_frames": (9, 257), "seed": (0, 9**30)}, seed=3)),
    "zipped": lambda: sweep(BOAT, zipped(seed=[1, None], prompt=["a", "b"]), resolution=["480p", "720p"]),
    "a template": lambda: sweep(BOAT, template('a {colour} "boat" {{}}', colour=["red", "blue"]), seed=[1, 2]),
    "a zipped template": lambda: sweep(BOAT, zipped(prompt=template("{n}", n=[1, 2]), seed=[1, 2])),
    "a table": lambda: sweep(BOAT, rows(pd.DataFrame({"seed": [1, None], "note": ["x", None]}), keep=["note"])),
    "inner places": lambda: sweep(ImagesToVideo(images=["a.png"]), {"images[0].frames": [12, 24, 0]}),
    "impossible in odd ways": lambda: sweep(BOAT, num_frames=[math.inf, "many", -1, None, {"a": [1]}]),
    "long prompts": lambda: sweep(BOAT, prompt=["a" * 300 + "\n\t\x7f\\", "b" * 300]),
}


@pytest.mark.parametrize("make", PLANS.values(), ids=PLANS.keys())
def test_every_kind_of_sweep_survives_its_file(
    make: Callable[[], Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through a file on the disk, and once more through what was read."""
    plan, path = make(), tmp_path / "sweep.toml"

    plan.to_toml(path)
    # A sample is not drawn again: another version of scipy could make other runs.
    monkeypatch.setitem(sys.modules, "scipy.stats.qmc", None)
    read = sweep.read(path)

    assert read == plan
    assert parse_plan(read.to_toml()) == plan
    pd.testing.assert_frame_equal(read.frame, plan.frame)


def test_a_file_keeps_the_axes_and_not_the_rows() -> None:
    """A thousand runs are a few lines. A plan that was changed has none, and says what to write; its frame can be swept."""
    plan = sweep(BOAT, seed=range(100), num_frames=range(10, 20))

    assert len(plan.to_toml().splitlines()) < 25
    few = plan.where(lambda run: run.seed < 2)
    with pytest.raises(InvalidInput, match=r"plan\.frame\[\['seed', 'num_frames'\]\]"):
        few.to_toml()
    assert parse_plan(sweep(BOAT, few.frame[["seed", "num_frames"]]).to_toml()).frame.equals(few.frame)


HEAD = 'format = "reelbook sweep 1"\nmodel = "svc/text-to-video-13b-distilled"\n[base]\n'
MISTAKES: list[tuple[str, str]] = [
    ("= nothing", "could not be read as TOML"),
    ("x = 1", "`format`: Field required"),
    ('format = "reelbook sweep 1"', "`model`: Field required"),
    (HEAD + 'prompt = "a"\n[[part]]\naxis = "seed"', "`part`"),
    (HEAD + 'prompt = "a"\n[[parts]]\naxes = "seed"', "`parts.0"),
    (HEAD + 'prompt = "a"\n[[parts]]\naxis = "sed"\nvalues = [1]', "Did you mean `seed`"),
    (HEAD + "prompt = 1", "needs text"),
    (HEAD + 'prompt = "a"\n[[parts]]\ntemplate = "a {colour} boat"', "{colour} has no words"),
    (HEAD + 'prompt = "a"\n[[parts]]\ntemplate = "a {colour boat"', "The template 'a {colour boat' cannot be filled"),
]


@pytest.mark.parametrize(("text", "sentence"), MISTAKES, ids=[sentence for _, sentence in MISTAKES])
def test_a_file_that_is_no_sweep_says_what_is_wrong(text: str, sentence: str) -> None:
    """A slip of the pen in a file gets a sentence, as in a notebook."""
    with pytest.raises(InvalidInput) as caught:
        parse_plan(text)

    assert sentence in str(caught.value)


def test_what_no_file_can_hold_is_refused(tmp_path: Path) -> None:
    """An object in the memory, half a character; and a path that leads nowhere."""
    for value in (object(), "\ud800"):
        with pytest.raises(InvalidInput, match="cannot be written to a file"):
            sweep(BOAT, prompt=[value, "a"]).to_toml()
    with pytest.raises(InvalidInput, match="could not be read"):
        sweep.read(tmp_path / "none.toml")
