"""Image to video: a camera move over the picture, as the prompt describes."""

from __future__ import annotations

from .engine import Move, move

__all__ = ["Move", "move"]
