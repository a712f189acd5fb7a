"""JSON values that never change: tuples for arrays, records for objects."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticCustomError

from ...errors import InvalidInput, Problem
from ..images import Image
from ..problems import WANTED, Loc, shown
from ..value_types import MAX_DIGITS, MAX_ENTRIES, ordered, real, whole

DEEPEST = 40
"""How many levels a value may have: each takes a few calls, and Python's stack ends after a thousand."""


class Record(Mapping[str, Any]):
    """An object inside an input: immutable and hashable, read by item or by attribute.

    >>> lora = Record({"path": "watercolour", "scale": 0.5})
    >>> lora.scale, lora["path"], lora == {"path": "watercolour", "scale": 0.5}
    (0.5, 'watercolour', True)
    """

    __slots__ = ("_held",)

    _held: dict[str, Any]

    def __init__(self, values: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_held", dict(values))

    def __getitem__(self, name: str) -> Any:
        return self._held[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __getattr__(self, name: str) -> Any:
        # Python only asks here after `keys`, `items` and the like, which therefore always keep working.
        if name.startswith("__") or name not in self._held:
            close = difflib.get_close_matches(name, list(self._held)[:1000], n=1)
            hint = f" Did you mean `{close[0]}`?" if close else ""
            raise AttributeError(f"There is no field `{name}` here.{hint}", name=name, obj=self)
        return self._held[name]

    def __setattr__(self, name: str, value: Any) -> None:
        words = (
            f"`{name}` cannot be set: an object inside an input never changes; give the input a new one with .revised."
        )
        raise InvalidInput(type(self).__name__, [Problem((name,), words, "frozen", value)])

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in self._held if name.isidentifier())]

    def __eq__(self, other: object) -> bool:
        return same(self, other) if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        return hash(sameness(self))

    def __repr__(self) -> str:
        # As one types it, so that an input's `repr` is code.
        return repr(self._held)

    def __reduce__(self) -> tuple[Any, ...]:
        return Record, (self._held,)


@dataclass(frozen=True, slots=True)
class Stray:
    """A part of a value that JSON has no word for."""

    loc: Loc
    value: Any
    wanted: str
    """What JSON would have; empty where only a rule can tell."""


def frozen(value: Any) -> tuple[Any, list[Stray]]:
    """The value as immutable JSON, numpy's scalars and plain sequences included, and what could not be made so.

    >>> frozen({"sizes": [1, 2]})
    ({'sizes': (1, 2)}, [])
    >>> [(stray.loc, stray.wanted) for stray in frozen({"name": "half of a pair: \\ud800"})[1]]
    [(('name',), 'text that can be written as UTF-8')]
    """
    freezer = _Freezer()
    return freezer.frozen(value, ()), freezer.strays


def thawed(value: Any) -> Any:
    """The value as plain lists and dicts, ready for `json`.

    >>> thawed(Record({"sizes": (1, 2)}))
    {'sizes': [1, 2]}
    """
    if isinstance(value, tuple):
        return [thawed(item) for item in value]
    if isinstance(value, Record):
        return {name: thawed(item) for name, item in value.items()}
    return str(value) if isinstance(value, Image) else value


def kind_of(value: Any) -> str | None:
    """The JSON type of a frozen value, where 49.0 is an integer; None for what is no JSON value.

    >>> kind_of(49.0), kind_of(0.5), kind_of(True), kind_of(()), kind_of(float("nan"))
    ('integer', 'number', 'boolean', 'array', None)
    """
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return None if not math.isfinite(value) else "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case tuple():
            return "array"
        case Record():
            return "object"
        case _:
            return None


def sameness(value: Any) -> Any:
    """A key that is equal for equal JSON values: 1 and 1.0 are, 1 and true are not.

    >>> sameness((1, True)) == sameness((1.0, True)), sameness(1) == sameness(True)
    (True, False)
    """
    match value:
        case tuple() | list():
            return ("array", tuple(sameness(item) for item in value))
        case Mapping():
            return ("object", frozenset((name, sameness(item)) for name, item in value.items()))
        case bool():
            return ("boolean", value)
        case None | int() | float() | str():
            return value
        case _:
            # What is no JSON value is only the same as itself.
            return ("other", id(value))


def same(value: Any, other: Any) -> bool:
    """Whether two JSON values are equal: 1 and 1.0 are, 1 and true are not.

    >>> same((1,), [1.0]), same(1, True)
    (True, False)
    """
    return bool(sameness(value) == sameness(other))


class _Freezer:
    """One value on its way to be frozen."""

    def __init__(self) -> None:
        self.strays: list[Stray] = []
        self.around: set[int] = set()

    def frozen(self, value: Any, loc: Loc) -> Any:
        inside = _inside(value)
        if inside is None:
            return self.scalar(value, loc)
        if id(value) in self.around:
            return self.stray(loc, "a value that does not hold itself", value)
        if len(loc) >= DEEPEST:
            return self.stray(loc[:1], f"at most {DEEPEST} levels of lists and objects", value)
        self.around.add(id(value))
        held = self.record(inside, loc) if isinstance(inside, Mapping) else self.sequence(inside, loc)
        self.around.discard(id(value))
        return held

    def scalar(self, value: Any, loc: Loc) -> Any:
        try:
            plain = _plain(value)
        except PydanticCustomError as error:
            # What a rule wants instead of infinity, it says best itself.
            return self.stray(loc, "" if error.type == "finite_number" else WANTED[error.type], value)
        return plain if kind_of(plain) is not None else self.stray(loc, "", value)

    def sequence(self, value: tuple[Any, ...], loc: Loc) -> tuple[Any, ...]:
        if len(value) > MAX_ENTRIES:
            self.stray(loc, f"at most {MAX_ENTRIES:,} entries")
            return ()
        return tuple([self.frozen(item, (*loc, place)) for place, item in enumerate(value)])

    def record(self, value: Mapping[Any, Any], loc: Loc) -> Record:
        held: dict[str, Any] = {}
        for name, item in value.items():
            try:
                plain = _plain(name) if isinstance(name, str) else ""
            except PydanticCustomError:
                plain = ""
            if plain == name:
                held[plain] = self.frozen(item, (*loc, plain))
            else:
                self.stray((*loc, shown(name)), "a name that is text", name)
        return Record(held)

    def stray(self, loc: Loc, wanted: str, value: Any = None) -> Any:
        self.strays.append(Stray(loc, value, wanted))
        return value


def _inside(value: Any) -> Mapping[Any, Any] | tuple[Any, ...] | None:
    """What a value holds; None for a scalar."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, Mapping):
        return value
    try:
        return ordered(value)
    except PydanticCustomError:
        return None


def _plain(value: Any) -> Any:
    """A scalar as Python's own type: numpy's, text that is an enum's member, any whole or real number."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        plain = _writable(str.__str__(value))
        return value if isinstance(value, Image) else plain
    if isinstance(value, numbers.Integral):
        return _writable(whole(value))
    if isinstance(value, (numbers.Real, Decimal)):
        return real(value)
    is_numpys = type(value).__name__ in ("bool", "bool_") and type(value).__module__ == "numpy"
    return bool(value) if is_numpys else value


def _writable(value: str | int) -> str | int:
    """A text or whole number, if it can be written as JSON at all."""
    if isinstance(value, int):
        if abs(value) >= _TOO_LONG:
            raise PydanticCustomError("int_size", "a whole number of fewer digits is needed")
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("string_unicode", "text that can be written as UTF-8 is needed") from None
    return value


_TOO_LONG = 10**MAX_DIGITS
