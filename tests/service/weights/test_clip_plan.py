"""The plan of a clip: any size, number of frames and setting gives sizes, windows and pieces that fit together."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reelbook_service.engines.protocol import Report
from reelbook_service.weights.clip_plan import OVERLAP, SEAM, SIDE, ClipPlan, stages_of
from reelbook_service.weights.config import LtxWeights

rows = st.builds(
    LtxWeights,
    endpoint_id=st.just("svc/text-to-video-13b-distilled"),
    folder=st.just(Path("weights")),
    downscale=st.floats(0.25, 1.0),
    window_frames=st.integers(33, 400),
)
sides = st.integers(8, 640).map(lambda half: 2 * half)
plans = st.builds(ClipPlan.of, st.tuples(sides, sides), st.integers(9, 1441), rows)


def test_the_sizes_of_the_usual_clip() -> None:
    """Those that the authors of the weights use for 720 lines, and half the work with a smaller first pass."""
    row = LtxWeights(endpoint_id="svc/text-to-video-13b-distilled", folder=Path("weights"))

    usual = ClipPlan.of((1280, 720), 121, row)
    half = ClipPlan.of((1280, 720), 121, LtxWeights(endpoint_id=row.endpoint_id, folder=row.folder, downscale=0.5))

    assert (usual.small, usual.large, usual.latents) == ((832, 480), (1664, 960), 16)
    assert (half.small, half.large, half.fit()[0]) == ((640, 384), (1280, 768), (1280, 768))


@given(plans)
def test_windows_cover_the_clip_and_overlap(plan: ClipPlan) -> None:
    """Each window has something new, and at least three latent frames of the one before."""
    windows = plan.windows()

    assert plan.frames <= plan.model_frames < plan.frames + 8
    assert windows[0][0] == 0
    assert windows[-1][1] == plan.latents
    assert all(before[1] - after[0] == OVERLAP >= 3 for before, after in pairwise(windows))
    assert all(before[1] < after[1] for before, after in pairwise(windows))


@given(plans)
def test_pieces_cover_the_clip_and_share_a_seam(plan: ClipPlan) -> None:
    """Each has something new, and the last ends with the clip."""
    pieces = plan.pieces()

    assert (pieces[0][0], pieces[-1][1]) == (0, plan.latents)
    assert all((before[1] - 1) * 8 + 1 - after[0] * 8 == SEAM for before, after in pairwise(pieces))
    assert all(before[1] < after[1] for before, after in pairwise(pieces))
    assert plan.frames > pieces[-1][0] * 8 + (SEAM if len(pieces) > 1 else 0)


@given(plans)
def test_sizes_are_the_models_and_the_cut_is_exact(plan: ClipPlan) -> None:
    """Sides are multiples of 32; the cut lies inside what is decoded."""
    size, left, top = plan.fit()

    assert all(side % SIDE == 0 and side > 0 for side in plan.small)
    assert left + plan.size[0] <= size[0]
    assert top + plan.size[1] <= size[1]


@given(st.lists(st.tuples(st.just("stage"), st.integers(1, 50), st.floats(0.01, 1e6)), min_size=1, max_size=5))
def test_progress_never_decreases_and_ends_below_one(stages: list[tuple[str, int, float]]) -> None:
    """Also when a stage has more steps than it announced."""
    said: list[dict[str, Any]] = []
    for stage, (_, steps, _) in zip(stages_of(Report(said.append), stages), stages, strict=True):
        for _ in range(steps + 2):
            stage()
    fractions = [message["fraction"] for message in said]

    assert all(after >= before - 1e-9 for before, after in pairwise(fractions))
    assert 0.98 < fractions[-1] <= 1
