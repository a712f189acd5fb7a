"""The axes of a form's sweep: the values typed for each field, parsed and validated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Any

from ....errors import InvalidInput, Problem
from ....models.base import Input
from ....sweeps.plan.plan_summary import format_values
from ..fields.draft import Draft
from ..json_values import sendable, to_page_json
from ..page_messages import format_problem
from .typed_values import MAX_VALUES, UnreadableValues, can_vary, parse_values, suggest_values

if TYPE_CHECKING:
    from ..form import Form

MAX_AXES, MAX_TYPED = 20, 1_000_000
MAX_PROBLEMS = 3
"""Problems reported of one axis; the rest is likely to be of the same kind."""
MAX_ALONE = 200
"""Values validated while the form itself is invalid: no plan can be made yet in any case."""
MAX_TRIED = 50
NO_VALUES = "Give it at least one value."


@dataclass(slots=True)
class Axis:
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
        message = format_values(self.values) if self.values and not self.words else ""
        return {
            "name": self.name,
            "typed": sendable(self.typed),
            "count": len(self.values),
            "told": sendable(message),
            "words": NO_VALUES if self.is_empty else sendable(self.words),
            "empty": self.is_empty,
        }


def parse_axes(form: Form, message: Any) -> list[Axis] | None:
    """The axes in a message from the page; None if the message is malformed."""
    if not isinstance(message, list) or len(message) > MAX_AXES:
        return None
    axes: dict[str, Axis] = {}
    for one in message:
        name = one.get("name") if isinstance(one, dict) else None
        if not isinstance(name, str) or not form.has(name) or not can_vary(form.node(name)) or name in axes:
            return None
        typed = one.get("typed")
        if typed is None:
            typed = to_page_json(suggest_values(form.node(name), form.draft.get(name)))
        if not isinstance(typed, (str, list)) or len(typed) > MAX_TYPED:
            return None
        axes[name] = Axis(name, typed)
    return list(axes.values())


def validate_axes(form: Form, axes: Sequence[Axis], scratch: Draft, base: Input | None) -> None:
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


def fill_base(form: Form, draft: Draft, axes: Sequence[Axis], error: InvalidInput) -> Input | InvalidInput:
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


def format_too_many_runs(axes: Sequence[Axis]) -> str:
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
