"""The nouns that can be shown: each is drawn from simple layered shapes that move."""

from __future__ import annotations

from .figure_table import FIGURES, Figure

__all__ = ["FIGURES", "Figure"]
