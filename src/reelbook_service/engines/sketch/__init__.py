"""The sketch engine: text to video without weights, painted from words with numpy, Pillow and PyAV."""

from __future__ import annotations

from .engine import Sketch, sketch

__all__ = ["Sketch", "sketch"]
