"""Smart resize: one picture, recomposed for any number of sizes by geometry alone."""

from .engine import Recompose, recompose

__all__ = ["Recompose", "recompose"]
