"""The sketch engine: text-to-video painted from words on this machine."""

from .engine import Sketch, sketch

__all__ = ["Sketch", "sketch"]
