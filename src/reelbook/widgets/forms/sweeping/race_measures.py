"""What a form's race can judge runs by: the metrics that the model's outputs can have, or a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ....media.measuring.metrics import METRICS
from ....models.base import Input
from ....models.catalog import find_endpoint
from ...page_kind import is_jupyter_server

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


class DirectedMetric(NamedTuple):
    """A metric and a direction."""

    value: str
    """How the page names it: the metric, after a minus where less is better."""
    label: str
    meaning: str
    is_fact: bool
    """Whether it is a fact of the file, and no quality of its pictures."""

    @property
    def as_json(self) -> dict[str, Any]:
        """The measure for the page."""
        return {"value": self.value, "label": self.label, "meaning": self.meaning, "fact": self.is_fact}


def list_measures(base: Input) -> list[DirectedMetric]:
    """The measures of what a model returns; a metric whose direction is a matter of taste is listed twice.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> [one.value for one in list_measures(TextToVideo(prompt="a boat"))[:3]]
    ['sharpness', 'brightness', '-brightness']
    """
    names = [name for name, metric in METRICS.items() if not metric.compares and metric.minimum is not None]
    endpoint = find_endpoint(base.endpoint_id)
    if endpoint is not None and "video" not in endpoint.output.model_fields:
        names = [name for name in names if name in OF_STILLS]
    found: list[DirectedMetric] = []
    for name in names:
        metric, words, is_fact = METRICS[name], WORDS.get(name, name.replace("_", " ")), name in FACTS
        meaning = f"{metric.meaning[0].upper()}{metric.meaning[1:]}."
        if metric.better != "lower":
            found.append(DirectedMetric(name, f"highest {words}", meaning, is_fact))
        if metric.better != "higher":
            found.append(DirectedMetric(f"{LEAST}{name}", f"lowest {words}", meaning, is_fact))
    # A page of another kind finds no widget that is not in a cell, as the judge's.
    if is_jupyter_server():
        found.append(
            DirectedMetric(
                EYE, "your eye, in blind pairs", "After each round you say which of two clips is better.", False
            )
        )
    return found


def parse_measure(value: Any, base: Input) -> str | Mapping[str, float] | None:
    """What `plan.race(by=…)` takes for a measure chosen on the page; None if the model has no such measure.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> boat = TextToVideo(prompt="a boat")
    >>> parse_measure("sharpness", boat), parse_measure("-brightness", boat), parse_measure("beauty", boat)
    ('sharpness', {'brightness': -1}, None)
    """
    if not isinstance(value, str) or all(one.value != value for one in list_measures(base)):
        return None
    return {value.removeprefix(LEAST): -1} if value.startswith(LEAST) else value
