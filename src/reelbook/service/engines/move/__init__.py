"""Image to video: a camera that moves over the picture as the prompt asks."""

from __future__ import annotations

from .engine import Move, move

__all__ = ["Move", "move"]
