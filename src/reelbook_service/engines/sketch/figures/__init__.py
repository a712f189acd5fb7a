"""Figures: the nouns that can be drawn, each made of simple layered shapes that move."""

from __future__ import annotations

from .figure_table import FIGURES, Figure

__all__ = ["FIGURES", "Figure"]
