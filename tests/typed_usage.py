"""A program that uses the package, read by mypy and pyright only: what an editor knows of its types."""

from __future__ import annotations

from typing import assert_type

import pandas as pd

import reelbook as rb


def use_the_package() -> None:
    """One line for each thing that a script holds."""
    boat = rb.TextToVideo(prompt="a paper boat", num_frames=49, seed=7)
    assert_type(boat.num_frames, int)
    assert_type(boat.seed, int | None)
    assert_type(boat.revised(seed=8), rb.TextToVideo)
    assert_type(rb.estimate(boat), rb.Estimate)

    client = rb.connect("https://host/api", api_key="a-key")
    assert_type(client, rb.Client)

    run = rb.run(boat)
    assert_type(run, rb.Run)
    assert_type(run.credits, int | None)

    plan = rb.sweep(boat, seed=range(4))
    assert_type(plan, rb.Plan)
    assert_type(plan.run(budget=212), pd.DataFrame)

    assert_type(rb.library(), rb.Library)
    try:
        rb.attach("request-id", model="svc/text-to-video-13b-distilled")
    except rb.UncertainRun as error:
        assert_type(error.repeatable, bool)
