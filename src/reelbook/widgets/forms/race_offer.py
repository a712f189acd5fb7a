"""What a form offers for a race of its plan: the measures that the model's outputs can have, or a person, and the prices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...media.measuring.metrics import METRICS
from ...models.base import Input
from ...models.catalog import find_endpoint
from ..notebook import is_jupyter_server

if TYPE_CHECKING:
    from ...sweeps.plan import Plan
    from ...sweeps.plan_rows import Known, Row

MAX_SETTINGS = 500
"""The most settings of a race, as `plan.race` has it."""
FACTS = ("frame_count", "duration", "width", "height", "bytes")
OF_STILLS = frozenset({"sharpness", "brightness", "contrast", "colourfulness", "width", "height", "bytes"})
"""Metrics of pictures; the others need several frames."""
LEAST = "-"
"""The first character of the value of a measure of which less is better."""
EYE = "eye"
"""The value of the measure by which a person judges."""
WORDS = {
    "motion_smoothness_linear": "motion smoothness",
    "temporal_flickering": "steadiness",
    "loop_closure": "closed loop",
    "bytes": "file size",
    "frame_count": "number of frames",
}
"""The displayed names of metrics, where they differ."""


def describe_race(plan: Plan, known: Known | None) -> dict[str, Any]:
    """What the page needs to offer a race of this plan; empty if there are too few settings, or too many."""
    from ...decide.race.settings import group_settings

    settings = group_settings(plan, ("seed", "prompt"), 0).settings
    if not 2 <= len(settings) <= MAX_SETTINGS:
        return {}

    def due(row: Row) -> int:
        return 0 if known is not None and known(row) else row.credits or 0

    firsts = sorted(due(setting.rows[0]) for setting in settings)
    return {
        "settings": len(settings),
        "repeats": max(len(setting.rows) for setting in settings),
        "least": sum(firsts[:2]),
        "fair": sum(due(row) for setting in settings for row in setting.rows[:2]),
        "measures": list_measures(plan.base),
    }


def list_measures(base: Input) -> list[dict[str, Any]]:
    """The measures of what a model returns; a metric whose direction is a matter of taste is listed twice.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> [measure["value"] for measure in list_measures(TextToVideo(prompt="a boat"))[:3]]
    ['sharpness', 'brightness', '-brightness']
    """
    endpoint = find_endpoint(base.endpoint_id)
    is_still = endpoint is not None and "video" not in endpoint.output.model_fields
    measures = []
    for name, metric in METRICS.items():
        if metric.compares or metric.minimum is None or (is_still and name not in OF_STILLS):
            continue
        words = WORDS.get(name, name.replace("_", " "))
        common = {"meaning": f"{metric.meaning[0].upper()}{metric.meaning[1:]}.", "fact": name in FACTS}
        if metric.better != "lower":
            measures.append({"value": name, "label": f"highest {words}", **common})
        if metric.better != "higher":
            measures.append({"value": f"{LEAST}{name}", "label": f"lowest {words}", **common})
    # A page of another kind finds no widget that is not in a cell, as the judge's.
    if is_jupyter_server():
        meaning = "After each round you say which of two clips is better."
        measures.append({"value": EYE, "label": "your eye, in blind pairs", "meaning": meaning, "fact": False})
    return measures


def parse_measure(value: Any, base: Input) -> str | Mapping[str, float] | None:
    """What `plan.race(by=…)` takes for a measure chosen on the page; None if the model has no such measure.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> boat = TextToVideo(prompt="a paper boat")
    >>> parse_measure("sharpness", boat), parse_measure("-brightness", boat), parse_measure("beauty", boat)
    ('sharpness', {'brightness': -1}, None)
    """
    if not isinstance(value, str) or all(measure["value"] != value for measure in list_measures(base)):
        return None
    return {value.removeprefix(LEAST): -1} if value.startswith(LEAST) else value
