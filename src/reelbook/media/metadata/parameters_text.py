"""Parse the `parameters` text that picture tools write: prompt, negative prompt, then the settings on one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

LONGEST = 100_000
"""Maximum characters of a text that are parsed."""
_LONGEST_LINE = 10_000
_AVOID = "Negative prompt:"
_SETTING = re.compile(r'([A-Za-z][\w /-]{0,60}): ?("(?:\\.|[^"\\]){0,2000}"|[^,]{0,2000})(?:, ?|$)')
_TYPICAL_SETTINGS = {"seed", "steps", "model", "model_hash", "sampler"}
"""Settings of which every such text has at least one."""


def parse_settings(text: str) -> dict[str, Any] | None:
    """Parse a text to values: `prompt`, `negative_prompt`, `seed`, `model` and all others; None if it is no such text.

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
    """The text without unprintable characters except line ends."""
    return "".join(letter for letter in text if letter.isprintable() or letter == "\n").strip()
