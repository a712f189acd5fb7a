"""Pictures of tables and clips, to be saved, pasted and printed."""

from .contact import sheet
from .moving import gif
from .single import strip

__all__ = ["gif", "sheet", "strip"]
