"""A place in an input: a field, or a spot inside one, such as `images[0].frames`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ...errors import InvalidInput
from ...models.base import Input
from ...models.described.schema_view import rule_at, rules_at
from ...models.problems import unknown_field

Schema = Mapping[str, Any]
Step = str | int


@dataclass(frozen=True, slots=True)
class FieldPath:
    """Where a value goes."""

    name: str
    """The place as it was typed."""
    field: str
    """The field it lies in."""
    steps: tuple[Step, ...] = ()
    """The way inside the field; empty for the field itself."""


class MissingPath(LookupError):
    """An input that has no such spot; the sentence says up to where the way goes."""


def parse_field_path(model: type[Input], name: str) -> FieldPath:
    """The place that a name means in a model's input.

    >>> from reelbook.models.images_to_video import ImagesToVideo
    >>> parse_field_path(ImagesToVideo, "images[0].frames")
    FieldPath(name='images[0].frames', field='images', steps=(0, 'frames'))
    """
    known = get_fields(model)
    if name in known:
        return FieldPath(name, name)
    alias = model.model_fields[name].alias if name in model.model_fields else None
    if alias is not None and alias in known:
        # A described field whose own name is taken by a method, by that of its attribute.
        return FieldPath(alias, alias)
    root, steps = _split_path(name)
    if steps and root in known:
        _check_path(model, root, steps)
        return FieldPath(name, root, steps)
    if model.model_config.get("extra") == "allow":
        return FieldPath(name, name)
    raise InvalidInput(model.__name__, [unknown_field((root if steps else name,), None, known)])


def get_fields(model: type[Input]) -> Mapping[str, Schema]:
    """Every field by its name on the wire, with what its JSON schema says."""
    fields: Mapping[str, Schema] = _schema(model).get("properties", {})
    return fields


def get_schema(model: type[Input], place: FieldPath) -> Schema:
    """What the JSON schema says about the values of a place, null aside; empty where it is silent.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> get_schema(TextToVideo, parse_field_path(TextToVideo, "loras[0].scale"))["maximum"]
    4
    """
    return rule_at(_schema(model), (place.field, *place.steps))


def get_value(value: Any, steps: Sequence[Step]) -> Any:
    """What lies in a plain value at the end of a way; None where the way ends early."""
    for step in steps:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value


def set_value(held: dict[str, Any], place: FieldPath, value: Any) -> None:
    """Lay a value into plain data, which has to reach up to its last step.

    >>> request = {"images": [{"url": "a.png", "frames": 24}]}
    >>> set_value(request, FieldPath("images[0].frames", "images", (0, "frames")), 12)
    >>> request
    {'images': [{'url': 'a.png', 'frames': 12}]}
    """
    path: tuple[Step, ...] = (place.field, *place.steps)
    container: Any = held
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
    """The field of a place as typed, and the steps inside it; no steps where it is no such place."""
    if not re.fullmatch(r"[^.\[\]]+(\.[^.\[\]]+|\[[0-9]{1,6}\])+", name):
        return name, ()
    root, *steps = re.findall(r"[^.\[\]]+|\[[0-9]+\]", name)
    return root, tuple(int(step[1:-1]) if step.startswith("[") else step for step in steps)


@lru_cache(maxsize=256)
def _schema(model: type[Input]) -> Schema:
    return model.model_json_schema()


def _check_path(model: type[Input], field: str, steps: Sequence[Step]) -> None:
    """Refuse a spot that no input can have: a name that the rules inside a field do not list."""
    for depth, step in enumerate(steps):
        if isinstance(step, str):
            rules = [rule for rule in rules_at(_schema(model), (field, *steps[:depth])) if rule.get("properties")]
            known = {name for rule in rules for name in rule["properties"]}
            closed = bool(rules) and all(rule.get("additionalProperties") is False for rule in rules)
            if closed and step not in known:
                raise InvalidInput(model.__name__, [unknown_field((field, *steps[: depth + 1]), None, known)])
