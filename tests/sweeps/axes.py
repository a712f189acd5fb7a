"""Axes of text-to-video for the tests of sweeps, drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import strategies as st

from reelbook.models.base import Input
from reelbook.models.text_to_video import TextToVideo
from reelbook.sweeps.plan import Plan, sweep

BOAT = TextToVideo(prompt="a paper boat")

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "seed": st.none() | st.integers(0, 2**63 - 1),
    "num_frames": st.integers(1, 1500),  # Some of them out of bounds.
    "resolution": st.sampled_from(["480p", "720p", "1080p"]),
    "enable_detail_pass": st.booleans(),
    "temporal_adain_factor": st.integers(0, 20).map(lambda count: count * 0.05),
    "second_pass_num_inference_steps": st.integers(2, 12),
    "second_pass_skip_initial_steps": st.integers(1, 11),
    "prompt": st.text(st.characters(codec="utf-8"), max_size=12),
    "loras": st.lists(st.fixed_dictionaries({"path": st.just("a"), "scale": st.floats(0, 5)}), max_size=2),
}


@st.composite
def _axes(draw: st.DrawFn) -> dict[str, list[Any]]:
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True, max_size=3))
    return {name: draw(st.lists(VALUES[name], min_size=1, max_size=4, unique_by=repr)) for name in names}


AXES = _axes()
"""A few axes with a few values each, possible and impossible ones."""


def parse_plan(text: str, *, models: Callable[[str], type[Input]] | None = None) -> Plan:
    """The plan in the text of a file."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "plan.toml")
        path.write_text(text, encoding="utf-8", newline="\n")
        return sweep.read(path, models=models)
