"""Error messages for the page: fields by their labels, without backticks and Python types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...errors import Problem

MISSING = {"prompt": "Type a prompt.", "image_url": "Choose a picture.", "images": "Add a picture."}
_TYPE = re.compile(r" \((?:str|int|float|bool|list|tuple|dict)\)(?=\.(?:\s|\Z))")
_QUOTED = re.compile(r"`([^`]*)`")
_STEPS = re.compile(r"\[(\d{1,9})\]|\.?([^.\[\]]+)")


def get_labels(sheet: Mapping[str, Any]) -> dict[str, str]:
    """The labels of a form's fields by name."""
    return {node["name"]: node["label"] for node in sheet["fields"]}


def format_sentence(words: str, labels: Mapping[str, str]) -> str:
    """A sentence as displayed on the page.

    >>> format_sentence("`fps` is too high for `images`.", {"fps": "Frames per second"})
    'Frames per second is too high for images.'
    >>> format_sentence("`loras[0].weight_name` does not have the form `[a-z]`.", {"loras": "LoRAs"})
    'LoRAs 1, weight name does not have the form [a-z].'
    >>> format_sentence("`fps` needs a number, not 'many' (str).", {})
    "fps needs a number, not 'many'."
    """

    def replace_name(match: re.Match[str]) -> str:
        # The longest match, because the name of a field may begin with another one.
        inside = (name for name in labels if name and match[1].startswith((f"{name}[", f"{name}.")))
        known = [match[1]] if match[1] in labels else inside
        name = max(known, key=len, default=None)
        return match[1] if name is None else labels[name] + _within(match[1][len(name) :])

    return _QUOTED.sub(replace_name, _TYPE.sub("", words))


def format_problem(problem: Problem, labels: Mapping[str, str]) -> str:
    """The message of a problem with a field; what is missing first says what to do.

    >>> format_problem(Problem(("prompt",), "`prompt` is required.", "missing"), {"prompt": "Prompt"})
    'Type a prompt.'

    >>> format_problem(Problem(("images",), "`images` is required.", "missing"), {"images": "Images"})
    'Add a picture.'
    """
    name = problem.loc[0] if problem.loc else None
    if problem.kind == "missing" and isinstance(name, str) and name in labels:
        if (missing := MISSING.get(problem.field)) is not None:
            return missing
        # One sentence for singular and plural labels.
        return f"{labels[name]}{_within(problem.field[len(name) :])}: this is required."
    return format_sentence(problem.message, labels)


def _within(steps: str) -> str:
    """The rest of a field's path as text: on the page, entries are counted from 1.

    >>> _within("[0].weight_name")
    ' 1, weight name'
    """
    return "".join(f" {int(at) + 1}" if at else f", {name.replace('_', ' ')}" for at, name in _STEPS.findall(steps))


def format_service_changed(name: str) -> str:
    """The message that the service has changed, so that its price was not displayed and nothing is sent."""
    return f"The form is connected to another service now: {name}. Look at what it costs there, then press Run again."
