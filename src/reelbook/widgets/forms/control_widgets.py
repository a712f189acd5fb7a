"""Plain ipywidgets for fields: creates them, and converts between their values and the draft's."""

from __future__ import annotations

import json
import math
from enum import Enum
from typing import Any

import ipywidgets as widgets

from .fields.control_tree import Node
from .json_values import JSON_TEXT, is_json_text, is_same_json

MAX_TOGGLES, MAX_LETTERS = 4, 40
MAX_LINE = 60
CHOSEN_BY_SERVICE = "chosen by the service"


class Unset(Enum):
    """Entries of a list of choices besides its values."""

    CHOSEN_BY_SERVICE = CHOSEN_BY_SERVICE
    """The field is not sent at all."""
    NONE = "none"
    """The field is sent, and is null."""


def make_widget(node: Node) -> Any:
    """A plain widget for a field, with its default value."""
    common = {"description": node["label"], "tooltip": node.get("help", ""), "style": {"description_width": "initial"}}
    initial, kind = widget_value(node), node["kind"]
    if is_checkbox(node):
        return widgets.Checkbox(value=initial, **common)
    if has_choices(node):
        options = _options(node)
        few = len(options) <= MAX_TOGGLES and sum(len(label) for label, _ in options) <= MAX_LETTERS
        return (widgets.ToggleButtons if few else widgets.Dropdown)(
            options=options, index=initial, equals=_is_same, **common
        )
    if _is_number(node):
        step = node.get("step") if isinstance(node.get("step"), (int, float)) else None
        if kind == "whole":
            return widgets.IntText(value=initial, step=step or 1, **common)
        # Without a step, a page takes any number.
        return widgets.FloatText(value=initial, step=step, **common)
    hint = CHOSEN_BY_SERVICE if not node.get("required") and node.get("default") is None else ""
    short = kind in ("whole", "real") or (kind in ("text", "image") and not node.get("long"))
    return (widgets.Text if short else widgets.Textarea)(value=initial, placeholder=hint, **common)


def is_checkbox(node: Node) -> bool:
    """Whether a field is displayed as a checkbox: always true or false."""
    return node["kind"] == "check" and isinstance(node.get("default"), bool) and not node.get("nullable")


def has_choices(node: Node) -> bool:
    """Whether a field is chosen from a list."""
    return node["kind"] in ("choice", "constant", "check") and not is_checkbox(node)


def _is_number(node: Node) -> bool:
    """Whether a field always has a number."""
    default = node.get("default")
    is_one = isinstance(default, (int, float)) and not isinstance(default, bool)
    return node["kind"] in ("whole", "real") and is_one and not node.get("nullable")


def _options(node: Node) -> list[tuple[str, Any]]:
    """The choices of a field, as displayed and as values."""
    match node["kind"]:
        case "check":
            values = [("yes", True), ("no", False)]
        case "constant":
            values = [(_format_text(node["value"]), node["value"])]
        case _:
            values = [(choice["label"], choice["value"]) for choice in node["choices"]]
    labels = [label for label, _ in values]
    options: list[tuple[str, Any]] = [
        (label if labels.count(label) == 1 else json.dumps(value), value) for label, value in values
    ]
    if node.get("nullable"):
        options.insert(0, (Unset.NONE.value, Unset.NONE))
    if not any(_is_same(value, _default(node)) for _, value in options):
        options.insert(0, ("choose …" if node.get("required") else CHOSEN_BY_SERVICE, Unset.CHOSEN_BY_SERVICE))
    return options


def _default(node: Node) -> Any:
    """The value of a field that was not edited."""
    return node["default"] if node.get("default") is not None else Unset.CHOSEN_BY_SERVICE


def widget_value(node: Node, *value: Any) -> Any:
    """The value of a field's widget for a value of the draft, or for none; for choices, the index."""
    default, kind = node.get("default"), node["kind"]
    if has_choices(node):
        wanted = _default(node) if not value else Unset.NONE if value[0] is None else value[0]
        places = (index for index, (_, one) in enumerate(_options(node)) if _is_same(one, wanted))
        return next(places, None)
    current = value[0] if value else default
    if current is None:
        return "null" if value and kind not in ("text", "image") else ""
    if is_checkbox(node):
        return bool(current)
    if _is_number(node):
        # A number too long for a page is a text in the draft.
        return int(current) if kind == "whole" else float(current)
    if kind in ("text", "image"):
        return str(current)
    if kind in ("whole", "real") and isinstance(current, str):
        return current
    return _format_text(current) if kind == "either" else _format_json(current)


def choice_to_edit(node: Node, index: int | None) -> tuple[Any, ...]:
    """A choice as an edit of the draft; an empty tuple if the field is not set."""
    if index is None:
        return ()
    value = _options(node)[index][1]
    if value is Unset.CHOSEN_BY_SERVICE or (_is_same(value, _default(node)) and not node.get("required")):
        return ()
    return (None,) if value is Unset.NONE else (value,)


def value_to_edit(node: Node, value: Any) -> tuple[Any, ...]:
    """A widget's value as an edit of the draft; an empty tuple if the field is not set. Raises `NotJSON`."""
    default, kind = node.get("default"), node["kind"]
    if is_checkbox(node) or _is_number(node):
        # NaN and infinity become texts, which the class refuses.
        is_finite = not isinstance(value, float) or math.isfinite(value)
        return () if value == default else (value if is_finite else str(value),)
    if kind in ("text", "image"):
        is_left = value == default or (value == "" and default is None)
        return () if is_left or (value == "" and node.get("required")) else (value,)
    if not value.strip():
        return ()
    if kind == "json":
        # As text, so that the draft parses all digits.
        is_default = default is not None and value == _format_json(default)
        return () if is_default else ({JSON_TEXT: value},)
    try:
        found = _parse_json(value)
    except NotJSON:
        if kind in ("list", "object"):
            raise
        # A text, which the class validates.
        found = value
    return () if default is not None and _is_same(found, default) else (found,)


class NotJSON(ValueError):
    """A text is not JSON; the message says why."""


def _parse_json(text: str) -> Any:
    def reject(word: str) -> Any:
        raise NotJSON(f"{word} is no number there")

    def parse_finite(word: str) -> float:
        return float(word) if math.isfinite(float(word)) else reject(word)

    try:
        return json.loads(text, parse_constant=reject, parse_float=parse_finite)
    except (ValueError, RecursionError) as error:
        raise NotJSON(str(error) if isinstance(error, (json.JSONDecodeError, NotJSON)) else "it is too long or too deep") from None  # fmt: skip


def _format_text(value: Any) -> str:
    """A value as text for a field that takes JSON or plain text: a text that would be parsed as JSON is quoted."""
    if not isinstance(value, str):
        return _format_json(value)
    try:
        _parse_json(value)
    except NotJSON:
        return value if value.strip() else json.dumps(value)
    return json.dumps(value, ensure_ascii=False)


def _format_json(value: Any) -> str:
    """A value as readable JSON."""
    plain = _decode(value)
    if is_json_text(value) and isinstance(plain, str):
        return str(value[JSON_TEXT])
    short = json.dumps(plain, ensure_ascii=False)
    return short if len(short) <= MAX_LINE else json.dumps(plain, ensure_ascii=False, indent=2)


def _decode(value: Any) -> Any:
    """A value of the draft, with values typed as JSON parsed."""
    if is_json_text(value):
        try:
            return _parse_json(value[JSON_TEXT])
        except NotJSON:
            return value[JSON_TEXT]
    if isinstance(value, dict):
        return {name: _decode(item) for name, item in value.items()}
    return [_decode(item) for item in value] if isinstance(value, list) else value


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: 1 is not true."""
    if isinstance(one, Unset) or isinstance(other, Unset):
        return one is other
    return is_same_json(one, other)
