"""The chosen runs of a gallery as a comparison, whose files the page requests as those of the gallery."""

from __future__ import annotations

from collections.abc import Sequence

from ...display.compare.compared_items import Item, format_inputs
from ...display.compare.comparison import Comparison
from ...errors import ReelbookError
from .gallery_cards import LibraryRun, StudioRun


def compare_runs(runs: Sequence[StudioRun | LibraryRun]) -> Comparison:
    """The first file of each run, labelled by the inputs that differ."""
    return Comparison([_make_item(run) for run in runs])


def _make_item(run: StudioRun | LibraryRun) -> Item:
    try:
        inputs = format_inputs(run.value)
    except ReelbookError:
        # A model whose fields are not known here: its inputs as the library stores them.
        inputs = dict(run.details()["asked"])
    if run.seed is not None:
        inputs["seed"] = str(run.seed)
    name = f"run {run.request_id[:8]}".strip()
    trouble = "" if run.files else f"The file of {name} is not on this machine any more."
    return Item(name, next(iter(run.files), None), {**inputs, "model": run.model}, trouble, key=f"{run.key} 0")
