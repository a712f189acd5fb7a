"""Smart resize: one picture, recomposed for any number of sizes by geometry alone."""

from __future__ import annotations

from .engine import Recompose, recompose

__all__ = ["Recompose", "recompose"]
