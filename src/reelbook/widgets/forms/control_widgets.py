"""Which plain widget a field has, what stands in it, and what that means for the draft."""

from __future__ import annotations

import json
import math
from enum import Enum
from typing import Any

import ipywidgets as widgets

from .fields.field_tree import Node
from .json_values import TYPED, is_same, is_typed

FEW_CHOICES, MAX_LETTERS = 4, 40
LONG_JSON = 60
LEFT = "chosen by the service"


class Unset(Enum):
    """What a list of choices holds beside its values."""

    LEFT = LEFT
    """The field is not sent at all."""
    NONE = "none"
    """The field is sent, and is null."""


def widget_of(node: Node) -> Any:
    """The plain widget of a field, at its default."""
    told = {"description": node["label"], "tooltip": node.get("help", ""), "style": {"description_width": "initial"}}
    shown, kind = shown_in(node), node["kind"]
    if _is_box(node):
        return widgets.Checkbox(value=shown, **told)
    if is_listed(node):
        options = _options(node)
        few = len(options) <= FEW_CHOICES and sum(len(label) for label, _ in options) <= MAX_LETTERS
        return (widgets.ToggleButtons if few else widgets.Dropdown)(
            options=options, index=shown, equals=_is_same, **told
        )
    if _is_number(node):
        step = node.get("step") if isinstance(node.get("step"), (int, float)) else None
        if kind == "whole":
            return widgets.IntText(value=shown, step=step or 1, **told)
        # Without a step, a page takes any number.
        return widgets.FloatText(value=shown, step=step, **told)
    hint = LEFT if not node.get("required") and node.get("default") is None else ""
    short = kind in ("whole", "real") or (kind in ("text", "image") and not node.get("long"))
    return (widgets.Text if short else widgets.Textarea)(value=shown, placeholder=hint, **told)


def _is_box(node: Node) -> bool:
    """Whether a field is yes or no, and always one of them."""
    return node["kind"] == "check" and isinstance(node.get("default"), bool) and not node.get("nullable")


def is_listed(node: Node) -> bool:
    """Whether a field is one of a list."""
    return node["kind"] in ("choice", "constant", "check") and not _is_box(node)


def _is_number(node: Node) -> bool:
    """Whether a field is a number, and always one."""
    default = node.get("default")
    is_one = isinstance(default, (int, float)) and not isinstance(default, bool)
    return node["kind"] in ("whole", "real") and is_one and not node.get("nullable")


def _options(node: Node) -> list[tuple[str, Any]]:
    """What a field is one of, as a page shows it and as it is here."""
    match node["kind"]:
        case "check":
            values = [("yes", True), ("no", False)]
        case "constant":
            values = [(_text(node["value"]), node["value"])]
        case _:
            values = [(choice["label"], choice["value"]) for choice in node["choices"]]
    labels = [label for label, _ in values]
    options: list[tuple[str, Any]] = [
        (label if labels.count(label) == 1 else json.dumps(value), value) for label, value in values
    ]
    if node.get("nullable"):
        options.insert(0, (Unset.NONE.value, Unset.NONE))
    if not any(_is_same(value, _default(node)) for _, value in options):
        options.insert(0, ("choose …" if node.get("required") else LEFT, Unset.LEFT))
    return options


def _default(node: Node) -> Any:
    """What a field has that is left alone."""
    return node["default"] if node.get("default") is not None else Unset.LEFT


def shown_in(node: Node, *value: Any) -> Any:
    """What the widget of a field shows for a value of the draft, or for none; of a list, the place in it."""
    default, kind = node.get("default"), node["kind"]
    if is_listed(node):
        wanted = _default(node) if not value else Unset.NONE if value[0] is None else value[0]
        places = (place for place, (_, one) in enumerate(_options(node)) if _is_same(one, wanted))
        return next(places, None)
    now = value[0] if value else default
    if now is None:
        return "null" if value and kind not in ("text", "image") else ""
    if _is_box(node):
        return bool(now)
    if _is_number(node):
        # What is too long for a page is a text in the draft.
        return int(now) if kind == "whole" else float(now)
    if kind in ("text", "image"):
        return str(now)
    if kind in ("whole", "real") and isinstance(now, str):
        return now
    return _text(now) if kind == "either" else _written(now)


def chosen_in(node: Node, place: int | None) -> tuple[Any, ...]:
    """A choice as an edit of the draft: nothing where the field is left alone."""
    if place is None:
        return ()
    value = _options(node)[place][1]
    if value is Unset.LEFT or (_is_same(value, _default(node)) and not node.get("required")):
        return ()
    return (None,) if value is Unset.NONE else (value,)


def typed_in(node: Node, value: Any) -> tuple[Any, ...]:
    """What stands in a widget as an edit of the draft: nothing where the field is left alone. `NoJSON` says why it is none."""
    default, kind = node.get("default"), node["kind"]
    if _is_box(node) or _is_number(node):
        # What is no number is a text, of which the class says that it is none.
        is_finite = not isinstance(value, float) or math.isfinite(value)
        return () if value == default else (value if is_finite else str(value),)
    if kind in ("text", "image"):
        is_left = value == default or (value == "" and default is None)
        return () if is_left or (value == "" and node.get("required")) else (value,)
    if not value.strip():
        return ()
    if kind == "json":
        # As text, which the draft reads with all its digits.
        is_default = default is not None and value == _written(default)
        return () if is_default else ({TYPED: value},)
    try:
        found = _of_json(value)
    except NoJSON:
        if kind in ("list", "object"):
            raise
        # The class says what is wrong with the text, if anything is.
        found = value
    return () if default is not None and _is_same(found, default) else (found,)


class NoJSON(ValueError):
    """Why a text is not JSON."""


def _of_json(text: str) -> Any:
    def refused(word: str) -> Any:
        raise NoJSON(f"{word} is no number there")

    def number(word: str) -> float:
        return float(word) if math.isfinite(float(word)) else refused(word)

    try:
        return json.loads(text, parse_constant=refused, parse_float=number)
    except (ValueError, RecursionError) as error:
        raise NoJSON(str(error) if isinstance(error, (json.JSONDecodeError, NoJSON)) else "it is too long or too deep") from None  # fmt: skip


def _text(value: Any) -> str:
    """A value where JSON and plain text may both stand: a text that would be read as JSON stands in quotes."""
    if not isinstance(value, str):
        return _written(value)
    try:
        _of_json(value)
    except NoJSON:
        return value if value.strip() else json.dumps(value)
    return json.dumps(value, ensure_ascii=False)


def _written(value: Any) -> str:
    """A value as JSON for a person."""
    plain = _unpacked(value)
    if is_typed(value) and isinstance(plain, str):
        return str(value[TYPED])
    short = json.dumps(plain, ensure_ascii=False)
    return short if len(short) <= LONG_JSON else json.dumps(plain, ensure_ascii=False, indent=2)


def _unpacked(value: Any) -> Any:
    """A value of the draft without the wrapping of what was typed as JSON."""
    if is_typed(value):
        try:
            return _of_json(value[TYPED])
        except NoJSON:
            return value[TYPED]
    if isinstance(value, dict):
        return {name: _unpacked(item) for name, item in value.items()}
    return [_unpacked(item) for item in value] if isinstance(value, list) else value


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: 1 is not true."""
    if isinstance(one, Unset) or isinstance(other, Unset):
        return one is other
    return is_same(one, other)
