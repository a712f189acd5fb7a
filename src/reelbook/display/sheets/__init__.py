"""Pictures of tables and clips, to be saved, pasted and printed."""

from .animated_sheet import gif
from .clip_strip import strip
from .contact_sheet import sheet

__all__ = ["gif", "sheet", "strip"]
