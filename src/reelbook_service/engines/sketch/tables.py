"""The engine's data files: `words.toml`, and the figures of `figures.txt`, where their notation is explained."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

_FOLDER = files(__package__)

TABLE: Mapping[str, Mapping[str, Any]] = tomllib.loads(_FOLDER.joinpath("words.toml").read_text("utf-8"))


@dataclass(slots=True)
class Block:
    """A part of a figure, or another figure used as one."""

    name: str
    """The letter of the part, or the name of the other figure."""
    options: Mapping[str, str]
    places: Sequence[Sequence[float]]
    """x, y and phase of each copy."""
    is_use: bool = False
    shapes: list[list[str]] = field(default_factory=list)
    """The words of each line of shapes."""


@dataclass(slots=True)
class Figure:
    """A noun that can be drawn."""

    words: str
    where: str
    """`sky`, `water`, `under` (water), `ground`, `road`, `table`; `heaven` or `backdrop`, which are behind the land."""
    gait: str
    """`stand`, `walk`, `roll`, `sail`, `fly`, `drift`, `swim` or `hover`."""
    options: Mapping[str, str]
    blocks: list[Block]

    def number(self, option: str, usual: float = 0.0) -> float:
        """An option of its heading as a number."""
        return float(self.options.get(option, usual))


def options_of(tokens: Sequence[str]) -> dict[str, str]:
    """Tokens such as `size=.4` and `gait` as a mapping."""
    return {key: value for key, _, value in (token.partition("=") for token in tokens)}


def numbers(token: str) -> list[float]:
    """Numbers that are separated by commas."""
    return [float(part) for part in token.split(",")]


def _read_figures(text: str) -> dict[str, Figure]:
    table: dict[str, Figure] = {}
    for line in text.splitlines():
        if line.startswith("["):
            heading, _, rest = line[1:].partition("] ")
            name, _, words = heading.partition(":")
            where, gait, *options = rest.split()
            own = options_of(options)
            table[name] = figure = Figure(words, where, gait, own, [Block("", own, [[0, 0]])])
        elif line.startswith(("part", "use")):
            head, _, shape = line.partition(": ")
            kind, *tokens = head.split()
            name = tokens.pop(0) if tokens and tokens[0] != "gait" and "=" not in tokens[0] else ""
            places = [numbers(token[3:]) for token in tokens if token.startswith("at=")]
            figure.blocks.append(Block(name, options_of(tokens), places or [[0, 0]], kind == "use"))
            if shape:
                figure.blocks[-1].shapes.append(shape.split())
        elif line.startswith(" "):
            figure.blocks[-1].shapes.append(line.split())
    return table


FIGURES: Mapping[str, Figure] = _read_figures(_FOLDER.joinpath("figures.txt").read_text("utf-8"))
"""All figures by name; those without words are parts of others, or of backdrops."""
