"""The axes of a form's sweep: the values typed for each field, parsed and validated.

They are typed as numbers and ranges, chips, one text or one JSON value per line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

from ...display.formatting import shorten
from ...errors import InvalidInput, Problem, ReelbookError
from ...models.base import Input
from ...sweeps.plan_summary import format_values
from ...util.printable import format_count
from .draft import Draft
from .json_values import sendable, to_page_json
from .schema import Node
from .words import format_problem

if TYPE_CHECKING:
    from .form import Form

MAX_AXES, MAX_TYPED = 20, 1_000_000
MAX_PROBLEMS = 3
"""Problems reported of one axis; the rest is likely to be of the same kind."""
MAX_ALONE = 200
"""Values validated while the form itself is invalid: no plan can be made yet in any case."""
MAX_TRIED = 50
NO_VALUES = "Give it at least one value."
MAX_VALUES = 10_000
"""Values of one field, and runs of one plan; for more, code is needed."""
MAX_CHIPS = 24
"""Suggested chips of a choice."""
DECIMAL_DIGITS = 400
"""Precision of decimals, more than is ever typed."""

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?"
_STEP = r"(?:in\s+)?(?:steps?(?:\s+of)?|by|every)"
_ONE = re.compile(rf"{_NUMBER}\Z")
_RANGE = re.compile(
    rf"({_NUMBER})\s*(?:-|–|—|\.{{2,3}}|…|to|until|through)\s*({_NUMBER})(?:\s*{_STEP}\s*({_NUMBER}))?\Z", re.IGNORECASE
)
_BEFORE_STEP = re.compile(rf"[,;]\s*(?={_STEP}\b)", re.IGNORECASE)
_PADDED = re.compile(r"[+-]?0[0-9]")
_HINT = "Write numbers and ranges, such as 9, 49, 97 or 0-7 or 9 to 97 step 8."


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
            "typed": sendable(self.typed),
            "told": sendable(message),
            "words": NO_VALUES if self.is_empty else sendable(self.words),
            "empty": self.is_empty,
        }


def parse_axes(form: Form, message: Any) -> list[VariedField] | None:
    """The axes in a message from the page; None if the message is malformed."""
    if not isinstance(message, list) or len(message) > MAX_AXES:
        return None
    axes: dict[str, VariedField] = {}
    for one in message:
        name = one.get("name") if isinstance(one, dict) else None
        if not isinstance(name, str) or not form.has(name) or not can_vary(form.node(name)) or name in axes:
            return None
        typed = one.get("typed")
        if typed is None:
            typed = to_page_json(suggest_values(form.node(name), form.draft.get(name)))
        if not isinstance(typed, (str, list)) or len(typed) > MAX_TYPED:
            return None
        axes[name] = VariedField(name, typed)
    return list(axes.values())


def validate_axes(form: Form, axes: Sequence[VariedField], scratch: Draft, base: Input | None) -> None:
    """Parse the values of each axis, and validate them one by one."""
    for axis in axes:
        axis.values, axis.words, axis.is_empty = [], "", False
        try:
            typed = parse_values(form.node(axis.name), axis.typed)
        except UnreadableValues as error:
            axis.words = str(error)
            continue
        axis.is_empty = not typed
        values = [_coerce(scratch, axis.name, value) for value in typed]
        found_problems = islice(_find_problems(form.kind, axis.name, values, base), MAX_PROBLEMS)
        messages = dict.fromkeys(format_problem(problem, form.labels) for problem in found_problems)
        axis.values, axis.words = values, " ".join(messages)


def find_base(form: Form, draft: Draft, names: frozenset[str]) -> Input | InvalidInput:
    """The input that is varied: the value of the form; the varied fields need not be valid in it."""
    with form.lock:
        try:
            return form.checked()
        except InvalidInput:
            pass
        try:
            return draft.read(names)
        except InvalidInput as error:
            return error


def fill_base(form: Form, draft: Draft, axes: Sequence[VariedField], error: InvalidInput) -> Input | InvalidInput:
    """The base where a varied field is required: with the first valid combination of values."""
    names = {axis.name for axis in axes}
    others = [problem for problem in error.problems if not problem.loc or problem.loc[0] not in names]
    if others:
        return InvalidInput(error.model, others)
    with form.lock:
        fixed = {name: value for name, value in draft.plain().items() if name not in names}
    last_error: InvalidInput = error
    for combined in islice(product(*(axis.values for axis in axes)), MAX_TRIED):
        try:
            return form.kind(**fixed, **dict(zip((axis.name for axis in axes), combined, strict=True)))
        except InvalidInput as found:
            last_error = found
    return last_error


def format_too_many_runs(axes: Sequence[VariedField]) -> str:
    """The message that these are too many runs; empty if they are not."""
    runs = prod(len(axis.values) for axis in axes)
    if runs <= MAX_VALUES:
        return ""
    amount = f"{runs:,}" if runs < 10**15 else "far too many"
    return f"That makes {amount} runs; a form plans {MAX_VALUES:,} at most. Take fewer values, or write it in code with rb.sweep."


def _coerce(scratch: Draft, name: str, value: Any) -> Any:
    """A value as the class takes it, converted like one typed into the form."""
    scratch.values = {}
    scratch.edit(name, value)
    # `plain` leaves out values that are nested too deeply; the class then reports the problem of the original.
    return scratch.plain().get(name, value)


def _find_problems(kind: type[Input], name: str, values: Sequence[Any], base: Input | None) -> Iterator[Problem]:
    fixed: Mapping[str, Any] | None = None if base is None else base.changed()
    for value in values if fixed is not None else values[:MAX_ALONE]:
        if fixed is not None:
            try:
                kind(**{**fixed, name: value})
                continue
            except InvalidInput:
                pass
        # Alone, because conflicts with other fields are reported by the plan: those may vary, too.
        yield from _validate_alone(kind, name, value)


def _validate_alone(kind: type[Input], name: str, value: Any) -> list[Problem]:
    try:
        kind(**{name: value})
    except InvalidInput as error:
        return [problem for problem in error.problems if problem.loc and problem.loc[0] == name][:1]
    return []


class UnreadableValues(ReelbookError):
    """Typed values that cannot be parsed; the message names them and how to write them."""


def can_vary(node: Node) -> bool:
    """Whether a field has more than one possible value."""
    return not (node["kind"] == "constant" or (node["kind"] == "choice" and len(node["choices"]) < 2))


def parse_values(node: Node, typed: Any) -> list[Any]:
    """The values as the controls of a form would send them; raises `UnreadableValues`.

    >>> parse_values({"kind": "whole"}, "0-3, 9 to 33 step 8")
    [0, 1, 2, 3, 9, 17, 25, 33]
    """
    if isinstance(typed, list):
        # Chips: the values themselves.
        return typed[:MAX_VALUES]
    text = typed if isinstance(typed, str) else ""
    if node["kind"] in ("whole", "real"):
        return _parse_numbers(node, text)
    lines = [line for raw in text.splitlines() if (line := raw.strip())]
    if len(lines) > MAX_VALUES:
        raise UnreadableValues(f"These are {len(lines):,} lines; one field takes {MAX_VALUES:,} values at most.")
    if node["kind"] in ("text", "image"):
        return list(lines)
    parse_line: Callable[[Node, str], Any] = {"choice": _parse_choice, "check": _parse_check}.get(
        node["kind"], _parse_json
    )
    return [parse_line(node, line) for line in lines]


def suggest_values(node: Node, value: Any) -> Any:
    """Initial values of an axis, as they would be typed; `value` is that of the form.

    >>> suggest_values({"kind": "whole", "special": "seed"}, 7), suggest_values({"kind": "whole", "min": 9, "max": 1441, "default": 121}, None)
    ('7-10', '60, 121, 242')
    """
    value = node.get("default") if value is None else value
    kind = node["kind"]
    if kind == "choice":
        return [choice["value"] for choice in node["choices"][:MAX_CHIPS]]
    if kind == "check":
        return [False, True]
    if kind in ("whole", "real"):
        return _suggest_seeds(node, value) if node.get("special") == "seed" else _suggest_around(node, value)
    if value in (None, "", [], {}):
        return ""
    if isinstance(value, str):
        return "" if "\n" in value else value
    return json.dumps(value, ensure_ascii=False)


# Numbers.


def _parse_numbers(node: Node, text: str) -> list[Any]:
    flat = _BEFORE_STEP.sub(" ", text.replace("−", "-"))
    found: list[Any] = []
    for piece in filter(None, (part.strip() for part in re.split(r"[,;\n]", flat))):
        found += _parse_piece(node, piece)
        if len(found) > MAX_VALUES:
            _refuse_too_many(text, len(found))
    return found


def _parse_piece(node: Node, piece: str) -> list[Any]:
    if len(piece) > DECIMAL_DIGITS // 4:
        raise UnreadableValues(f"“{shorten(piece, 30)}” is too long to be a number. {_HINT}")
    if found := _RANGE.match(piece):
        return _parse_range(node, piece, *(None if one is None else _parse_decimal(one) for one in found.groups()))
    words = piece.split()
    if not all(_ONE.match(word) for word in words):
        raise UnreadableValues(f"“{shorten(piece, 30)}” is not a number. {_HINT}")
    return [_to_number(_parse_decimal(word)) for word in words]


def _parse_range(node: Node, piece: str, first: Any, last: Any, step: Any) -> list[Any]:
    own_step = node.get("step")
    if step is None:
        whole = first == first.to_integral_value() and last == last.to_integral_value()
        if own_step is None and not whole:
            raise UnreadableValues(
                f"“{piece}” needs a step: {first} to {last} step {(abs(last - first) / 4).normalize():f}."
            )
        step = Decimal(str(own_step)) if own_step is not None else Decimal(1)
    if step == 0:
        raise UnreadableValues(f"“{piece}” has a step of 0, so it would never end. Write a larger one.")
    with localcontext(prec=DECIMAL_DIGITS):
        step = abs(step) if last >= first else -abs(step)
        count = int((last - first) // step) + 1
        if count > MAX_VALUES:
            _refuse_too_many(piece, count)
        return [_to_number(first + place * step) for place in range(count)]


def _parse_decimal(text: str) -> Decimal:
    if _PADDED.match(text):
        raise UnreadableValues(f"“{shorten(text, 30)}” begins with a zero. Write 1000 for a thousand, and 7 for 007.")
    return Decimal(text)


def _to_number(number: Decimal) -> int | float:
    """As a page sends it: 24.0 is 24."""
    return int(number) if number == number.to_integral_value() else float(number)


def _refuse_too_many(piece: str, count: int) -> NoReturn:
    amount = f"{count:,}" if count < 10**15 else "far too many"
    raise UnreadableValues(
        f"“{shorten(piece, 30)}” makes {amount} values; one field takes {MAX_VALUES:,} at most. Take larger steps."
    )


def _suggest_seeds(node: Node, value: Any) -> str:
    """This seed and the three after it."""
    number = value if isinstance(value, int) and not isinstance(value, bool) else 0
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,40}", value):
        number = int(value)
    maximum = node.get("max")
    last = number + 3 if maximum is None else min(number + 3, int(maximum))
    return ", ".join(map(str, range(number, last + 1))) if number < 0 else f"{number}-{last}"


def _suggest_around(node: Node, value: Any) -> str:
    """The value, its half and its double, within the bounds and on the steps of the field."""
    low, high = (node.get(name) for name in ("min", "max"))
    low, high = node.get("above") if low is None else low, node.get("below") if high is None else high
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and value:
        wanted = [value / 2, value, value * 2]
    elif low is not None and high is not None:
        wanted = [float(low), (float(low) + float(high)) / 2, float(high)]
    else:
        wanted = [float(low or 0) + place for place in (1, 2, 3)]
    found = [_clamp(node, number) for number in wanted]
    return ", ".join(dict.fromkeys(f"{number.normalize():f}" for number in found if number is not None))


def _clamp(node: Node, number: float) -> Decimal | None:
    exact = Decimal(str(number))
    unit = Decimal(str(node["step"])) if node.get("step") else Decimal(1) if node["kind"] == "whole" else None
    bounds = {name: Decimal(str(node[name])) for name in ("min", "max", "above", "below") if node.get(name) is not None}
    if unit is not None:
        exact = (exact / unit).to_integral_value() * unit
    exact = min(max(exact, bounds.get("min", exact)), bounds.get("max", exact))
    is_out = exact <= bounds.get("above", exact - 1) or exact >= bounds.get("below", exact + 1)
    return None if is_out or (unit is not None and exact % unit) else exact


# Lines.


def _parse_choice(node: Node, line: str) -> Any:
    known = {name: one["value"] for one in node["choices"] for name in (one["label"], str(one["value"]))}
    # Any other text is validated with the others, and the error names the nearest choice.
    return known.get(line, line)


def _parse_check(node: Node, line: str) -> Any:
    return {"yes": True, "true": True, "no": False, "false": False}.get(line.lower(), line)


def _parse_json(node: Node, line: str) -> Any:
    """One JSON value; a line that is not JSON is a text, if the field takes texts."""
    if node["kind"] == "list" and (node["item"].get("special") == "size") and line[:1] not in '["':
        return [part.strip() for part in line.split(",") if part.strip()]
    try:
        value = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        if _takes_text(node) and line[:1] not in '[{"':
            return [line] if node["kind"] == "list" else line
        why = getattr(error, "msg", "it is too long or too deep")
        raise UnreadableValues(f"“{shorten(line, 30)}” is not JSON: {why}. Each line is one value, and text stands in double quotes.") from None  # fmt: skip
    if node["kind"] == "json":
        return line
    return [value] if node["kind"] == "list" and not isinstance(value, list) else value


def _takes_text(node: Mapping[str, Any]) -> bool:
    kind = node["kind"]
    if kind == "list":
        return _takes_text(node["item"])
    return kind in ("text", "image", "choice") or (
        kind == "either" and any(_takes_text(form) for form in node["forms"])
    )


def _refuse_constant(name: str) -> NoReturn:
    raise json.JSONDecodeError(f"{name} is not a number there", name, 0)
