"""Field paths: a field of an input, or a path inside one, such as `images[0].frames`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..errors import InvalidInput
from ..models.base import Input
from ..models.json_schema import rule_at, rules_at
from ..models.problems import unknown_field

Schema = Mapping[str, Any]
Step = str | int


@dataclass(frozen=True, slots=True)
class FieldPath:
    """The parsed path of a value in an input."""

    name: str
    """The path as text."""
    field: str
    """The field that contains the value."""
    steps: tuple[Step, ...] = ()
    """Keys and indexes inside the field; empty for the field itself."""


class MissingPath(LookupError):
    """An input without a value to set at this path; the message names the part that is missing."""


def parse_field_path(model: type[Input], name: str) -> FieldPath:
    """Parse the path of a value in a model's input.

    >>> from reelbook.models.images_to_video import ImagesToVideo
    >>> parse_field_path(ImagesToVideo, "images[0].frames")
    FieldPath(name='images[0].frames', field='images', steps=(0, 'frames'))
    """
    known = get_fields(model)
    if name in known:
        return FieldPath(name, name)
    alias = model.model_fields[name].alias if name in model.model_fields else None
    if alias is not None and alias in known:
        # A described field whose name is taken by a method, given by the name of its attribute.
        return FieldPath(alias, alias)
    root, steps = _split_path(name)
    if steps and root in known:
        _check_path(model, root, steps)
        return FieldPath(name, root, steps)
    if model.model_config.get("extra") == "allow":
        return FieldPath(name, name)
    raise InvalidInput(model.__name__, [unknown_field((root if steps else name,), None, known)])


def get_fields(model: type[Input]) -> Mapping[str, Schema]:
    """The JSON schema of every field, by its name in the request."""
    fields: Mapping[str, Schema] = _schema(model).get("properties", {})
    return fields


def get_schema(model: type[Input], place: FieldPath) -> Schema:
    """The JSON schema of the values at a path, ignoring null; empty if there is none.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> get_schema(TextToVideo, parse_field_path(TextToVideo, "loras[0].scale"))["maximum"]
    4
    """
    return rule_at(_schema(model), (place.field, *place.steps))


def get_value(value: Any, steps: Sequence[Step]) -> Any:
    """The item of a plain value at the end of a path; None if the path does not exist."""
    for step in steps:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value


def set_value(data: dict[str, Any], place: FieldPath, value: Any) -> None:
    """Set a value in plain data, in which all but the last step of the path must exist.

    >>> request = {"images": [{"url": "a.png", "frames": 24}]}
    >>> set_value(request, FieldPath("images[0].frames", "images", (0, "frames")), 12)
    >>> request
    {'images': [{'url': 'a.png', 'frames': 12}]}
    """
    path: tuple[Step, ...] = (place.field, *place.steps)
    container: Any = data
    for depth, step in enumerate(path[:-1]):
        container = _step_into(container, step, path[:depth], place)
    last = path[-1]
    if isinstance(last, int):
        _step_into(container, last, path[:-1], place)
    elif not isinstance(container, dict):
        raise MissingPath(f"`{place.name}`: `{_format_path(path[:-1])}` has no fields here.")
    container[last] = value


def _step_into(container: Any, step: Step, path: Sequence[Step], place: FieldPath) -> Any:
    try:
        return container[step]
    except (LookupError, TypeError):
        has = (
            f"has {len(container)} {'entry' if len(container) == 1 else 'entries'}"
            if isinstance(container, list)
            else "is not set"
        )
        where = _format_path(path) if isinstance(container, list) else _format_path([*path, step])
        raise MissingPath(f"`{place.name}` is not there: `{where}` {has}.") from None


def _format_path(path: Sequence[Step]) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _split_path(name: str) -> tuple[str, tuple[Step, ...]]:
    """Split a path into its field and steps; no steps if the text is not a path."""
    if not re.fullmatch(r"[^.\[\]]+(\.[^.\[\]]+|\[[0-9]{1,6}\])+", name):
        return name, ()
    root, *steps = re.findall(r"[^.\[\]]+|\[[0-9]+\]", name)
    return root, tuple(int(step[1:-1]) if step.startswith("[") else step for step in steps)


@lru_cache(maxsize=256)
def _schema(model: type[Input]) -> Schema:
    return model.model_json_schema()


def _check_path(model: type[Input], field: str, steps: Sequence[Step]) -> None:
    """Raise for a path that no input can have: a name that the field's schema excludes."""
    for depth, step in enumerate(steps):
        if isinstance(step, str):
            rules = [rule for rule in rules_at(_schema(model), (field, *steps[:depth])) if rule.get("properties")]
            known = {name for rule in rules for name in rule["properties"]}
            closed = bool(rules) and all(rule.get("additionalProperties") is False for rule in rules)
            if closed and step not in known:
                raise InvalidInput(model.__name__, [unknown_field((field, *steps[: depth + 1]), None, known)])
