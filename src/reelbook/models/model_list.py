"""The models that a service lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Models(list[Mapping[str, Any]]):
    """A list of models as a service tells them: their id, and whatever it says of each. A notebook shows it as a table."""
