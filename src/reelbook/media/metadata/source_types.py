"""Which kind of source a file has, in the words of IPTC's list of digital source types, and why.

What is marked must be true: a file that is no work of a generative model is not called one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...models.images_to_video import ImagesToVideo

PREFIX = "http://cv.iptc.org/newscodes/digitalsourcetype/"

TRAINED = PREFIX + "trainedAlgorithmicMedia"
"""All of it comes out of a model that was trained on media. Also of hosted models that begin with a picture of the user, to
move or recompose it: every pixel of what they make is theirs."""
ALGORITHMIC = PREFIX + "algorithmicMedia"
"""It was drawn by a program without any trained weights: what the embedded engines paint, move and recompose."""
COMPOSITE = PREFIX + "composite"
"""Pictures joined to a film. Joining generates nothing, and nobody says what the pictures are."""
SYNTHETIC = PREFIX + "compositeSynthetic"
"""The same, and at least one of the pictures says that a generative model has made it: the film must not lose that."""

BY_GENERATIVE_MODELS = frozenset(
    {"trainedAlgorithmicMedia", "compositeWithTrainedAlgorithmicMedia", "compositeSynthetic"}
)
"""The last words of those types that say: made or changed by a generative model, in whole or in part."""


def is_generative(source_type: str) -> bool:
    """Whether a source type says that a generative model took part.

    >>> is_generative(TRAINED), is_generative(ALGORITHMIC), is_generative("")
    (True, False, False)
    """
    return source_type.rstrip("/").rpartition("/")[2] in BY_GENERATIVE_MODELS


def get_source_type(model: object, engine: Mapping[str, Any], sources: Iterable[str]) -> str:
    """The source type of what a model has made; empty where nobody says which model that was.

    `engine` is the record of an embedded engine in the file, if it has one; `sources` are the types of the pictures that
    it was made from, as far as they say so.
    """
    if not model:
        return ""
    if model == ImagesToVideo.endpoint_id:
        return SYNTHETIC if any(map(is_generative, sources)) else COMPOSITE
    return ALGORITHMIC if engine else TRAINED
