"""The engine of each model."""

from __future__ import annotations

from reelbook.models.base import Input
from reelbook.models.image_to_video import ImageToVideo
from reelbook.models.images_to_video import ImagesToVideo
from reelbook.models.smart_resize import SmartResize
from reelbook.models.text_to_video import TextToVideo

from .protocol import Engine


def engine_for(request: Input) -> Engine:
    """The engine of a model, imported lazily: each needs other libraries."""
    match request:
        case TextToVideo():
            from .sketch.engine import sketch

            return sketch
        case ImageToVideo():
            from .move.engine import move

            return move
        case SmartResize():
            from .recompose.engine import recompose

            return recompose
        case ImagesToVideo():
            from .stitch import stitch

            return stitch
    raise LookupError(f"no engine makes {request.endpoint_id}")
