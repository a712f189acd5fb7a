"""Recipe: how a plan was constructed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .axes import SweepPart

Step = tuple[str, Mapping[str, Any]]
"""The name of a method that was called on a plan, and its arguments."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a plan was constructed, as a plan file can store it."""

    parts: tuple[SweepPart, ...]
    steps: tuple[Step, ...] = ()
