"""Pictures of tables and clips that can be saved, pasted and printed."""

from .animated_sheet import write_animation
from .contact_sheet import draw_sheet, draw_strip

__all__ = ["draw_sheet", "draw_strip", "write_animation"]
