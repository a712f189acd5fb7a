"""A place in an input: a field, or a spot inside one, such as `images[0].frames`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ...errors import InvalidInput
from ...models.base import Input
from ...models.problems import unknown_field

Schema = Mapping[str, Any]
Step = str | int


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value goes."""

    name: str
    """The place as it was typed."""
    field: str
    """The field it lies in."""
    steps: tuple[Step, ...] = ()
    """The way inside the field; empty for the field itself."""


class NotThere(LookupError):
    """An input that has no such spot; the sentence says up to where the way goes."""


def place_of(model: type[Input], name: str) -> Place:
    """The place that a name means in a model's input.

    >>> from reelbook.models.images_to_video import ImagesToVideo
    >>> place_of(ImagesToVideo, "images[0].frames")
    Place(name='images[0].frames', field='images', steps=(0, 'frames'))
    """
    known = fields_of(model)
    if name in known:
        return Place(name, name)
    alias = model.model_fields[name].alias if name in model.model_fields else None
    if alias is not None and alias in known:
        # A described field whose own name is taken by a method, by that of its attribute.
        return Place(alias, alias)
    root, steps = _way(name)
    if steps and root in known:
        _check_way(model, root, steps)
        return Place(name, root, steps)
    if model.model_config.get("extra") == "allow":
        return Place(name, name)
    raise InvalidInput(model.__name__, [unknown_field((root if steps else name,), None, known)])


def fields_of(model: type[Input]) -> Mapping[str, Schema]:
    """Every field by its name on the wire, with what its JSON schema says."""
    fields: Mapping[str, Schema] = _schema(model).get("properties", {})
    return fields


def rule_at(model: type[Input], place: Place) -> Schema:
    """What the JSON schema says about the values of a place, null aside; empty where it is silent.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> rule_at(TextToVideo, place_of(TextToVideo, "loras[0].scale"))["maximum"]
    4
    """
    return _form(_schema(model), _unchosen(model, place))


def value_at(value: Any, steps: Sequence[Step]) -> Any:
    """What lies in a plain value at the end of a way; None where the way ends early."""
    for step in steps:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return None
    return value


def put(held: dict[str, Any], place: Place, value: Any) -> None:
    """Lay a value into plain data, which has to reach up to its last step.

    >>> request = {"images": [{"url": "a.png", "frames": 24}]}
    >>> put(request, Place("images[0].frames", "images", (0, "frames")), 12)
    >>> request
    {'images': [{'url': 'a.png', 'frames': 12}]}
    """
    way: tuple[Step, ...] = (place.field, *place.steps)
    spot: Any = held
    for depth, step in enumerate(way[:-1]):
        spot = _inside(spot, step, way[:depth], place)
    last = way[-1]
    if isinstance(last, int):
        _inside(spot, last, way[:-1], place)
    elif not isinstance(spot, dict):
        raise NotThere(f"`{place.name}`: `{_typed(way[:-1])}` has no fields here.")
    spot[last] = value


def _inside(spot: Any, step: Step, way: Sequence[Step], place: Place) -> Any:
    try:
        return spot[step]
    except (LookupError, TypeError):
        has = f"has {len(spot)} {'entry' if len(spot) == 1 else 'entries'}" if isinstance(spot, list) else "is not set"
        where = _typed(way) if isinstance(spot, list) else _typed([*way, step])
        raise NotThere(f"`{place.name}` is not there: `{where}` {has}.") from None


def _typed(way: Sequence[Step]) -> str:
    text = ""
    for step in way:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _way(name: str) -> tuple[str, tuple[Step, ...]]:
    """The field of a place as typed, and the steps inside it; no steps where it is no such place."""
    if not re.fullmatch(r"[^.\[\]]+(\.[^.\[\]]+|\[[0-9]{1,6}\])+", name):
        return name, ()
    root, *steps = re.findall(r"[^.\[\]]+|\[[0-9]+\]", name)
    return root, tuple(int(step[1:-1]) if step.startswith("[") else step for step in steps)


@lru_cache(maxsize=256)
def _schema(model: type[Input]) -> Schema:
    return model.model_json_schema()


def _check_way(model: type[Input], field: str, steps: Sequence[Step]) -> None:
    """Refuse a spot that no input can have: a name that the rules inside a field do not list."""
    schema = _schema(model)
    for depth, step in enumerate(steps):
        if isinstance(step, str):
            inside = Place(field, field, tuple(steps[:depth]))
            rule = _form(schema, _unchosen(model, inside), "properties")
            known = rule.get("properties", {})
            if known and step not in known and rule.get("additionalProperties") is False:
                raise InvalidInput(model.__name__, [unknown_field((field, *steps[: depth + 1]), None, known)])


def _unchosen(model: type[Input], place: Place) -> Any:
    """The rule of a place, before one of its forms is chosen."""
    rule: Any = fields_of(model).get(place.field, {})
    for step in place.steps:
        inner = _form(_schema(model), rule, "items" if isinstance(step, int) else "properties")
        rule = inner.get("items", {}) if isinstance(step, int) else inner.get("properties", {}).get(step, {})
    return rule


def _form(schema: Schema, rule: Any, word: str = "") -> Schema:
    """A rule behind its references: of several forms the first that has this word, and is not null."""
    for _ in range(20):  # References can go in circles.
        if not isinstance(rule, Mapping):
            return {}
        if "$ref" in rule:
            rule = value_at(schema, rule["$ref"].removeprefix("#/").split("/"))
            continue
        forms = [form for form in rule.get("anyOf", ()) if isinstance(form, Mapping) and form.get("type") != "null"]
        if not forms:
            return rule
        rule = next((form for form in forms if word and word in _form(schema, form, word)), forms[0])
    return {}
