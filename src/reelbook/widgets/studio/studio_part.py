"""One part of a studio, drawn by the studio's script."""

from __future__ import annotations

import threading
from typing import Any

import traitlets

from ..forms.base_widget import Speaking
from ..forms.form_scripts import studio_script


class Part(Speaking):
    """The head or the gallery."""

    part = traitlets.Unicode().tag(sync=True)
    """Which part it is."""
    called = "studio"

    def __init__(self, part: str, **traits: Any) -> None:
        self.lock = threading.RLock()
        super().__init__(studio_script(), part=part, **traits)
