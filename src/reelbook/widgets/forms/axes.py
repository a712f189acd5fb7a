"""The axes of a form's sweep: the values typed for each field, parsed and validated.

They are typed as numbers and ranges, chosen from chips, or one text per line; lists and objects vary in code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from ...display.formatting import shorten
from ...errors import InvalidInput, ReelbookError
from ...models.base import Input
from ...sweeps.plan_summary import format_values
from ...util.printable import format_count
from ..json_values import to_page_json
from .schema import Node
from .words import format_problem

if TYPE_CHECKING:
    from .form import Form

MAX_AXES, MAX_TYPED = 20, 1_000_000
MAX_JUDGED = 500
"""Values of one axis that are judged while they are typed; the plan counts what is impossible among the others."""
NO_VALUES = "Give it at least one value."
MAX_VALUES = 10_000
"""Values of one field, and runs of one plan; for more, code is needed."""
VARIED = ("whole", "real", "text", "image", "choice", "check")
"""The kinds of fields that can vary."""
DECIMALS = 10
"""Decimal places to which the numbers of a range are rounded, so that 0.1 to 0.3 has 0.3."""

# No whole number begins with a zero: "1,000" is not 1 and 0.
_NUMBER = r"[+-]?(?:(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?"
_ONE = re.compile(rf"{_NUMBER}\Z")
_RANGE = re.compile(rf"({_NUMBER})\s*(?:-|–|to)\s*({_NUMBER})(?:\s*step\s*({_NUMBER}))?\Z", re.IGNORECASE)
_HINT = "Write numbers and ranges, such as 9, 49, 97 or 0-7 or 9 to 97 step 8, and 1000 for a thousand."


@dataclass(slots=True)
class VariedField:
    """One field that varies."""

    name: str
    typed: Any
    """The text as typed, or the list of the chosen chips."""
    values: list[Any] = field(default_factory=list)
    words: str = ""
    """The problems of its values, as text."""
    is_empty: bool = False

    @property
    def as_json(self) -> dict[str, Any]:
        """The axis for the page."""
        message = ""
        if self.values and not self.words:
            message = f"{format_count(len(self.values), 'value')}: {format_values(self.values)}"
        return {
            "name": self.name,
            "typed": self.typed,
            "told": message,
            "words": NO_VALUES if self.is_empty else self.words,
            "empty": self.is_empty,
        }


def parse_axes(form: Form, message: Any) -> list[VariedField] | None:
    """The axes in a message from the page; None if the message is malformed."""
    if not isinstance(message, list) or len(message) > MAX_AXES:
        return None
    axes: dict[str, VariedField] = {}
    for axis in message:
        name = axis.get("name") if isinstance(axis, dict) else None
        if not isinstance(name, str) or not form.has(name) or not can_vary(form.node(name)) or name in axes:
            return None
        typed = axis.get("typed")
        if typed is None:
            typed = to_page_json(suggest_values(form.node(name), form.draft.get(name)))
        if not isinstance(typed, (str, list)) or len(typed) > MAX_TYPED:
            return None
        axes[name] = VariedField(name, typed)
    return list(axes.values())


def validate_axes(form: Form, axes: Sequence[VariedField]) -> None:
    """Parse the values of each axis, and judge them one by one."""
    for axis in axes:
        axis.values, axis.words, axis.is_empty = [], "", False
        try:
            typed = parse_values(form.node(axis.name), axis.typed)
        except UnreadableValues as error:
            axis.words = str(error)
            continue
        axis.is_empty = not typed
        axis.values = [form.convert(axis.name, value) for value in typed]
        messages = dict.fromkeys(_find_problem(form, axis.name, value) for value in axis.values[:MAX_JUDGED])
        axis.words = next(filter(None, messages), "")


def find_base(form: Form, axes: Sequence[VariedField]) -> Input:
    """The input that is varied: the value of the form, with the first value of each axis where it is not valid without."""
    with form.lock:
        try:
            return form.checked()
        except InvalidInput:
            return form.read(**{axis.name: axis.values[0] for axis in axes})


def format_too_many_runs(axes: Sequence[VariedField]) -> str:
    """The message that these are too many runs; empty if they are not."""
    runs = prod(len(axis.values) for axis in axes)
    if runs <= MAX_VALUES:
        return ""
    return f"That makes {_format_amount(runs)} runs; a form plans {MAX_VALUES:,} at most. Take fewer values, or write it in code with rb.sweep."


def _format_amount(count: int) -> str:
    return f"{count:,}" if count < 10**15 else "far too many"


def _find_problem(form: Form, name: str, value: Any) -> str:
    """What is wrong with a value on its own; the plan reports conflicts with other fields, which may vary, too."""
    try:
        form.kind(**{name: value})
    except InvalidInput as error:
        problems = (problem for problem in error.problems if problem.loc and problem.loc[0] == name)
        return next((format_problem(problem, form.labels) for problem in problems), "")
    return ""


class UnreadableValues(ReelbookError):
    """Typed values that cannot be parsed; the message names them and how to write them."""


def can_vary(node: Node) -> bool:
    """Whether a field has more than one possible value, and is no list or object."""
    return node["kind"] in VARIED and not (node["kind"] == "choice" and len(node["choices"]) < 2)


def parse_values(node: Node, typed: Any) -> list[Any]:
    """The values as the controls of a form would send them; raises `UnreadableValues`.

    >>> parse_values({"kind": "whole"}, "0-3, 9 to 33 step 8")
    [0, 1, 2, 3, 9, 17, 25, 33]
    """
    if isinstance(typed, list):
        # Chips: the values themselves.
        return typed[:MAX_VALUES]
    if node["kind"] in ("whole", "real"):
        return _parse_numbers(node, typed)
    lines = [line for raw in typed.splitlines() if (line := raw.strip())]
    if len(lines) > MAX_VALUES:
        raise UnreadableValues(f"These are {len(lines):,} lines; one field takes {MAX_VALUES:,} values at most.")
    return lines


def suggest_values(node: Node, value: Any) -> Any:
    """Initial values of an axis, as they would be typed; `value` is that of the form.

    >>> suggest_values({"kind": "whole", "special": "seed"}, 7), suggest_values({"kind": "whole", "default": 121}, None)
    ('7-10', '121')
    """
    value = node.get("default") if value is None else value
    if node["kind"] == "choice":
        return [choice["value"] for choice in node["choices"]]
    if node["kind"] == "check":
        return [False, True]
    if node.get("special") == "seed":
        # A number that is too long for a page is a text.
        seed = int(value) if str(value).isdecimal() else 0
        return f"{seed}-{seed + 3}"
    return "" if value is None or "\n" in str(value) else str(value)


# Numbers.


def _parse_numbers(node: Node, text: str) -> list[Any]:
    values: list[Any] = []
    for piece in filter(None, (part.strip() for part in re.split(r"[,;\n]", text.replace("−", "-")))):
        words = piece.split()
        if match := _RANGE.match(piece):
            values += _parse_range(node, piece, *(None if number is None else _to_number(number) for number in match.groups()))  # fmt: skip
        elif all(map(_ONE.match, words)):
            values += map(_to_number, words)
        else:
            raise UnreadableValues(f"“{shorten(piece, 30)}” is not a number. {_HINT}")
        if len(values) > MAX_VALUES:
            _refuse_too_many(text, len(values))
    return values


def _parse_range(node: Node, piece: str, first: Any, last: Any, step: Any) -> list[Any]:
    step = node.get("step") if step is None else step
    if step is None and not (isinstance(first, int) and isinstance(last, int)):
        raise UnreadableValues(f"“{piece}” needs a step: {first} to {last} step {abs(last - first) / 4:g}.")
    step = abs(1 if step is None else step)
    if step == 0:
        raise UnreadableValues(f"“{piece}” has a step of 0, so it would never end. Write a larger one.")
    width = abs(last - first)
    count = (width // step if isinstance(width, int) and isinstance(step, int) else int(width / step + 1e-9)) + 1
    if count > MAX_VALUES:
        _refuse_too_many(piece, count)
    numbers = (first + (step if last >= first else -step) * place for place in range(count))
    return [number if isinstance(number, int) else _to_whole(round(number, DECIMALS)) for number in numbers]


def _to_number(text: str) -> int | float:
    """As a page sends it: 24.0 is 24."""
    return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else _to_whole(float(text))


def _to_whole(number: float) -> int | float:
    return int(number) if number == int(number) else number


def _refuse_too_many(piece: str, count: int) -> None:
    words = f"“{shorten(piece, 30)}” makes {_format_amount(count)} values"
    raise UnreadableValues(f"{words}; one field takes {MAX_VALUES:,} at most. Take larger steps.")
