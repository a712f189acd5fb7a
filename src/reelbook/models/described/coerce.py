"""Coercion of JSON values to their rules: integers, rounded steps, default values; unknown fields are reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ...errors import Problem
from ..problems import MAX_PROBLEMS, Loc, unknown_field
from .frozen_json import Record, freeze, thaw
from .scalar_rules import is_multiple, nearest_number
from .schema_fields import find_field_names, is_closed
from .schema_judge import accepts
from .schema_view import Defs, Rule, find_applicable_rules, find_keyword, referenced_rules, rules_for_step, types_of

NOISE_RATIO = Fraction(1, 1_000_000)
"""Deviation from a multiple that counts as rounding noise, as a share of the step (at most of 1), as in
`numpy.linspace(0, 1, 21)`."""

MAX_ADDED, MAX_LEVELS = 1000, 16
"""How many defaults are added to a value, and how deeply they may nest; a value that needs more is left unchanged."""


def coerce(value: Any, rule: Rule, defs: Defs, *, exact: bool) -> tuple[Any, list[Problem]]:
    """The value coerced to its rules, and a problem for each field that no rule lists.

    With `exact`, numbers are taken as written; else noise in their last digits is rounded away.

    >>> coerce(Record({"seed": 49.0}), {"properties": {"seed": {"type": "integer"}}}, {}, exact=True)
    ({'seed': 49}, [])
    """
    walk = _Coercion(defs, exact)
    return walk.coerce(value, [rule], ()), walk.unknown


def fill_defaults(value: Any, rule: Rule, defs: Defs) -> Any:
    """The value with the defaults of nested objects added, unless its rules refuse the result.

    >>> fill_defaults((Record({"path": "a"}),), {"items": {"properties": {"path": {}, "scale": {"default": 1.0}}}}, {})
    ({'path': 'a', 'scale': 1.0},)
    """
    try:
        full = _Filler(defs).fill(value, [rule], 0)
    except _EndlessDefaults:
        return value
    return full if full != value and accepts(full, rule, defs) else value


class _EndlessDefaults(Exception):
    """Defaults nest too deeply, or without end."""


class _Filler:
    """Adds defaults to one value, and counts them."""

    def __init__(self, defs: Defs) -> None:
        self.defs = defs
        self.added = 0

    def fill(self, value: Any, rules: Iterable[Rule], level: int) -> Any:
        if not isinstance(value, (Record, tuple)):
            return value
        sure = _matching_rules(value, rules, self.defs)
        if isinstance(value, tuple):
            return tuple([self.fill(item, rules_for_step(sure, place), level) for place, item in enumerate(value)])
        fields = {name: self.fill(item, rules_for_step(sure, name), level) for name, item in value.items()}
        for rule in sure:
            for name, part in rule.get("properties", {}).items():
                if name not in fields and find_keyword(part, "readOnly", self.defs) is not True:
                    fields.update(self.default(name, part, level))
        return Record(fields)

    def default(self, name: str, rule: Rule, level: int) -> dict[str, Any]:
        value = find_keyword(rule, "default", self.defs)
        if value is None:
            # Null is equivalent to leaving the field out.
            return {}
        self.added += 1
        if self.added > MAX_ADDED or level > MAX_LEVELS:
            raise _EndlessDefaults
        value, _ = coerce(freeze(value)[0], rule, self.defs, exact=True)
        return {name: self.fill(value, [rule], level + 1)}


def _matching_rules(value: Any, rules: Iterable[Rule], defs: Defs) -> list[Mapping[str, Any]]:
    """The rules that apply to the value; of alternatives, the only one that accepts it."""
    found: dict[int, Mapping[str, Any]] = {}
    pending = list(rules)
    for rule in pending:
        if not isinstance(rule, bool) and id(rule) not in found:
            found[id(rule)] = rule
            pending += [*referenced_rules(rule, defs), *rule.get("allOf", ())]
            for word in ("anyOf", "oneOf"):
                fitting = [part for part in rule.get(word, ()) if accepts(value, part, defs)]
                pending += fitting if len(fitting) == 1 else []
    return list(found.values())


class _Coercion:
    """Coerces one value, tracking the rules that apply at each path."""

    def __init__(self, defs: Defs, exact: bool) -> None:
        self.defs, self.exact = defs, exact
        self.unknown: list[Problem] = []

    def coerce(self, value: Any, rules: Iterable[Rule], loc: Loc) -> Any:
        if value is None or isinstance(value, (bool, str)):
            return value
        rules_here = find_applicable_rules(rules, self.defs)
        if isinstance(value, Record):
            self.find_unknown_fields(value, rules_here, loc)
            return Record({
                name: self.coerce(item, rules_for_step(rules_here, name), (*loc, name)) for name, item in value.items()
            })  # fmt: skip
        if isinstance(value, tuple):
            return tuple([
                self.coerce(item, rules_for_step(rules_here, place), (*loc, place)) for place, item in enumerate(value)
            ])  # fmt: skip
        return _coerce_number(value, rules_here, self.exact) if isinstance(value, (int, float)) else value

    def find_unknown_fields(self, value: Record, rules_here: Sequence[Mapping[str, Any]], loc: Loc) -> None:
        names = dict.fromkeys(find_field_names(rules_here))
        if is_closed(rules_here, self.defs):
            unknown = [name for name in value if name not in names]
            # Each message takes time to format, and more are not reported.
            room = max(MAX_PROBLEMS - len(self.unknown), 0)
            self.unknown += [unknown_field((*loc, name), thaw(value[name]), names) for name in unknown[:room]]


def _coerce_number(value: float, rules_here: Sequence[Mapping[str, Any]], exact: bool) -> float:
    if not exact:
        value = _without_noise(value, rules_here)
    for rule in rules_here:
        for choice in (*rule.get("enum", ()), *([rule["const"]] if "const" in rule else [])):
            # Spelled as in the description, 1 or 1.0.
            if isinstance(choice, (int, float)) and not isinstance(choice, bool) and choice == value:
                return choice
    types = {name for rule in rules_here if "type" in rule for name in types_of(rule, {})}
    if "integer" in types and isinstance(value, float) and value.is_integer():
        return int(value)
    if "number" in types and "integer" not in types and _is_exact_as_float(value):
        return float(value)
    return value


def _without_noise(value: float, rules_here: Sequence[Mapping[str, Any]]) -> float:
    for rule in rules_here:
        if "multipleOf" in rule and not is_multiple(value, rule["multipleOf"]):
            nearest = nearest_number(value, rule)
            # Fractions, because a description may have numbers that are too large for other arithmetic.
            noise = min(Fraction(rule["multipleOf"]), Fraction(1)) * NOISE_RATIO
            if nearest is not None and abs(Fraction(nearest) - Fraction(value)) <= noise:
                return nearest
    return value


def _is_exact_as_float(value: float) -> bool:
    try:
        return float(value) == value
    except OverflowError:
        return False
