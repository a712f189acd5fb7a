"""A part of a studio, drawn by the studio's script."""

from __future__ import annotations

import threading
from typing import Any

import traitlets

from ..forms.base_widget import ScriptWidget


class StudioPart(ScriptWidget):
    """Base class of the head and the gallery."""

    part = traitlets.Unicode().tag(sync=True)
    """`head` or `gallery`."""
    thread_label = "studio"

    def __init__(self, part: str, **traits: Any) -> None:
        self.lock = threading.RLock()
        super().__init__("studio", part=part, **traits)
