"""The `parameters` text that picture tools write: the prompt, what to avoid, then the settings on one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

LONGEST = 100_000
"""Letters of such a text that are looked at."""
_LONGEST_LINE = 10_000
_AVOID = "Negative prompt:"
_SETTING = re.compile(r'([A-Za-z][\w /-]{0,60}): ?("(?:\\.|[^"\\]){0,2000}"|[^,]{0,2000})(?:, ?|$)')
_TYPICAL_SETTINGS = {"seed", "steps", "model", "model_hash", "sampler"}
"""Settings of which at least one stands in every such text."""


def parse_settings(text: str) -> dict[str, Any] | None:
    """The text as values: `prompt`, `negative_prompt`, `seed`, `model` and whatever else; None where it is no such text.

    >>> parse_settings("a boat\\nNegative prompt: rain\\nSteps: 20, Seed: 7, Model: tiny")
    {'prompt': 'a boat', 'negative_prompt': 'rain', 'steps': '20', 'seed': 7, 'model': 'tiny'}
    """
    lines = text[:LONGEST].strip().splitlines()
    facts = dict(_settings_in(lines[-1])) if lines else {}
    if not _TYPICAL_SETTINGS & facts.keys():
        return None
    prompt, _, avoided = "\n".join(lines[:-1]).partition(_AVOID)
    values: dict[str, Any] = {"prompt": _plain(prompt), **({"negative_prompt": _plain(avoided)} if avoided else {})}
    for name, setting in facts.items():
        values.setdefault(name, setting)
    if "seed" in facts:
        seed = facts["seed"]
        values["seed"] = int(seed) if re.fullmatch(r"-?\d+", seed, re.ASCII) else None
    return values


def _settings_in(line: str) -> Iterator[tuple[str, str]]:
    for found in _SETTING.finditer(line[:_LONGEST_LINE]):
        name = re.sub(r"\W+", "_", found[1].strip().lower())
        yield name, _plain(found[2].strip('"'))


def _plain(text: str) -> str:
    """Without what moves a cursor or hides letters; ends of lines stay."""
    return "".join(letter for letter in text if letter.isprintable() or letter == "\n").strip()
