"""What a value becomes once its rules are known: whole numbers without a point, steps without noise, typos found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ...errors import Problem
from ..problems import MAX_PROBLEMS, Loc, unknown_field
from .container_rules import rules_for_entry, rules_for_field
from .frozen_json import Record, frozen, thawed
from .scalar_rules import is_multiple, nearest_number
from .schema_fields import is_closed, names_in, spoken
from .schema_judge import Defs, Rule, accepts, followed, said_by, types_of

NOISE = Fraction(1, 1_000_000)
"""Which part of a step, or of 1, a number may be off it and still be meant, as in `numpy.linspace(0, 1, 21)`."""

MAX_ADDED, MAX_LEVELS = 1000, 16
"""How many defaults a value is filled with, and how deep one may be in another; what has more is left as it is."""


def settled(value: Any, rule: Rule, defs: Defs, *, exact: bool) -> tuple[Any, list[Problem]]:
    """The value as its rules spell it, and the fields in it that no rule knows.

    With `exact`, numbers count as they are written; else noise in their last digits is rounded away.

    >>> settled(Record({"seed": 49.0}), {"properties": {"seed": {"type": "integer"}}}, {}, exact=True)
    ({'seed': 49}, [])
    """
    walk = _Walk(defs, exact)
    return walk.settled(value, [rule], ()), walk.unknown


def filled(value: Any, rule: Rule, defs: Defs) -> Any:
    """The value with the defaults of the objects inside it, as far as its rules agree to them.

    >>> filled((Record({"path": "a"}),), {"items": {"properties": {"path": {}, "scale": {"default": 1.0}}}}, {})
    ({'path': 'a', 'scale': 1.0},)
    """
    try:
        full = _Filler(defs).filled(value, [rule], 0)
    except _Endless:
        return value
    return full if full != value and accepts(full, rule, defs) else value


class _Endless(Exception):
    """Defaults whose own fields have defaults whose own fields …"""


class _Filler:
    """One value on its way to be filled."""

    def __init__(self, defs: Defs) -> None:
        self.defs = defs
        self.added = 0

    def filled(self, value: Any, rules: Iterable[Rule], level: int) -> Any:
        if not isinstance(value, (Record, tuple)):
            return value
        sure = _sure(value, rules, self.defs)
        if isinstance(value, tuple):
            return tuple([self.filled(item, _for_entry(sure, place), level) for place, item in enumerate(value)])
        held = {name: self.filled(item, _for_field(sure, name), level) for name, item in value.items()}
        for rule in sure:
            for name, part in rule.get("properties", {}).items():
                if name not in held and said_by(part, "readOnly", self.defs) is not True:
                    held.update(self.default(name, part, level))
        return Record(held)

    def default(self, name: str, rule: Rule, level: int) -> dict[str, Any]:
        said = said_by(rule, "default", self.defs)
        if said is None:
            # A null says nothing that leaving the field out does not say.
            return {}
        self.added += 1
        if self.added > MAX_ADDED or level > MAX_LEVELS:
            raise _Endless
        value, _ = settled(frozen(said)[0], rule, self.defs, exact=True)
        return {name: self.filled(value, [rule], level + 1)}


def _sure(value: Any, rules: Iterable[Rule], defs: Defs) -> list[Mapping[str, Any]]:
    """The rules that hold for the value: of alternatives, the one that accepts it."""
    found: dict[int, Mapping[str, Any]] = {}
    waiting = list(rules)
    for rule in waiting:
        if not isinstance(rule, bool) and id(rule) not in found:
            found[id(rule)] = rule
            waiting += [*followed(rule, defs), *rule.get("allOf", ())]
            for word in ("anyOf", "oneOf"):
                fitting = [part for part in rule.get(word, ()) if accepts(value, part, defs)]
                waiting += fitting if len(fitting) == 1 else []
    return list(found.values())


class _Walk:
    """One value, gone through together with the rules that speak of each of its places."""

    def __init__(self, defs: Defs, exact: bool) -> None:
        self.defs, self.exact = defs, exact
        self.unknown: list[Problem] = []

    def settled(self, value: Any, rules: Iterable[Rule], loc: Loc) -> Any:
        if value is None or isinstance(value, (bool, str)):
            return value
        speaking = spoken(rules, self.defs)
        if isinstance(value, Record):
            self.look_for_typos(value, speaking, loc)
            return Record({
                name: self.settled(item, _for_field(speaking, name), (*loc, name)) for name, item in value.items()
            })  # fmt: skip
        if isinstance(value, tuple):
            return tuple([
                self.settled(item, _for_entry(speaking, place), (*loc, place)) for place, item in enumerate(value)
            ])  # fmt: skip
        return _number(value, speaking, self.exact) if isinstance(value, (int, float)) else value

    def look_for_typos(self, value: Record, speaking: Sequence[Mapping[str, Any]], loc: Loc) -> None:
        names = dict.fromkeys(names_in(speaking))
        if is_closed(speaking, self.defs):
            unknown = [name for name in value if name not in names]
            # Each takes time to word, and nobody reads more.
            room = max(MAX_PROBLEMS - len(self.unknown), 0)
            self.unknown += [unknown_field((*loc, name), thawed(value[name]), names) for name in unknown[:room]]


def _for_field(speaking: Iterable[Mapping[str, Any]], name: str) -> list[Rule]:
    return [part for rule in speaking for part in rules_for_field(rule, name)]


def _for_entry(speaking: Iterable[Mapping[str, Any]], place: int) -> list[Rule]:
    return [rules_for_entry(rule, place) for rule in speaking]


def _number(value: float, speaking: Sequence[Mapping[str, Any]], exact: bool) -> float:
    if not exact:
        value = _without_noise(value, speaking)
    for rule in speaking:
        for choice in (*rule.get("enum", ()), *([rule["const"]] if "const" in rule else [])):
            # As the description spells it, 1 or 1.0.
            if isinstance(choice, (int, float)) and not isinstance(choice, bool) and choice == value:
                return choice
    types = {name for rule in speaking if "type" in rule for name in types_of(rule, {})}
    if "integer" in types and isinstance(value, float) and value.is_integer():
        return int(value)
    if "number" in types and "integer" not in types and _is_exact_as_float(value):
        return float(value)
    return value


def _without_noise(value: float, speaking: Sequence[Mapping[str, Any]]) -> float:
    for rule in speaking:
        if "multipleOf" in rule and not is_multiple(value, rule["multipleOf"]):
            nearest = nearest_number(value, rule)
            # As fractions, because a description may have numbers that are too large for any other arithmetic.
            noise = min(Fraction(rule["multipleOf"]), Fraction(1)) * NOISE
            if nearest is not None and abs(Fraction(nearest) - Fraction(value)) <= noise:
                return nearest
    return value


def _is_exact_as_float(value: float) -> bool:
    try:
        return float(value) == value
    except OverflowError:
        return False
