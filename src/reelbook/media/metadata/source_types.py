"""The IPTC digital source types of files.

Marks must be true: a file that was not made by a generative model is not marked as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...models.images_to_video import ImagesToVideo

PREFIX = "http://cv.iptc.org/newscodes/digitalsourcetype/"

TRAINED = PREFIX + "trainedAlgorithmicMedia"
"""Made entirely by a model trained on media. Also for hosted models that start from the user's picture, to move or
recompose it: they generate every pixel of their output."""
ALGORITHMIC = PREFIX + "algorithmicMedia"
"""Made by a program without trained weights: what the embedded engines paint, move and recompose."""
COMPOSITE = PREFIX + "composite"
"""Pictures joined to a film. Joining generates nothing, and the sources of the pictures are unknown."""
SYNTHETIC = PREFIX + "compositeSynthetic"
"""Pictures joined to a film, at least one of which states a generative model as its source, as the film then must."""

BY_GENERATIVE_MODELS = frozenset(
    {"trainedAlgorithmicMedia", "compositeWithTrainedAlgorithmicMedia", "compositeSynthetic"}
)
"""The last segments of the types made or changed by a generative model, in whole or in part."""


def is_generative(source_type: str) -> bool:
    """Whether a source type states that a generative model was used.

    >>> is_generative(TRAINED), is_generative(ALGORITHMIC), is_generative("")
    (True, False, False)
    """
    return source_type.rstrip("/").rpartition("/")[2] in BY_GENERATIVE_MODELS


def get_source_type(model: object, engine: Mapping[str, Any], sources: Iterable[str]) -> str:
    """The source type of a model's output; empty if the model is unknown.

    `engine` is the record of an embedded engine in the file, if there is one; `sources` are the types stated by the
    source pictures.
    """
    if not model:
        return ""
    if model == ImagesToVideo.endpoint_id:
        return SYNTHETIC if any(map(is_generative, sources)) else COMPOSITE
    return ALGORITHMIC if engine else TRAINED
