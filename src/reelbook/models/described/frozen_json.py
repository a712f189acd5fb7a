"""Immutable JSON values: tuples for arrays, records for objects."""

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
from ..problems import WANTED, Loc, format_literal
from ..value_types import MAX_DIGITS, MAX_ENTRIES, coerce_float, coerce_int, coerce_tuple, require_utf8

MAX_DEPTH = 40
"""Maximum nesting of a value: each level takes a few calls, and Python's recursion limit is a thousand."""


class Record(Mapping[str, Any]):
    """An object inside an input: immutable and hashable, accessed by item or by attribute.

    >>> lora = Record({"path": "watercolour", "scale": 0.5})
    >>> lora.scale, lora["path"], lora == {"path": "watercolour", "scale": 0.5}
    (0.5, 'watercolour', True)
    """

    __slots__ = ("_values",)

    _values: dict[str, Any]

    def __init__(self, values: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_values", dict(values))

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        # Called only where normal lookup fails, so `keys`, `items` and the like always keep working.
        if name.startswith("__") or name not in self._values:
            close = difflib.get_close_matches(name, list(self._values)[:1000], n=1)
            hint = f" Did you mean `{close[0]}`?" if close else ""
            raise AttributeError(f"There is no field `{name}` here.{hint}", name=name, obj=self)
        return self._values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        words = (
            f"`{name}` cannot be set: an object inside an input never changes; give the input a new one with .revised."
        )
        raise InvalidInput(type(self).__name__, [Problem((name,), words, "frozen", value)])

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name in self._values if name.isidentifier())]

    def __eq__(self, other: object) -> bool:
        return is_equal_json(self, other) if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        return hash(equality_key(self))

    def __repr__(self) -> str:
        # A dict literal, so that an input's `repr` is code.
        return repr(self._values)

    def __reduce__(self) -> tuple[Any, ...]:
        return Record, (self._values,)


@dataclass(frozen=True, slots=True)
class NotJson:
    """A part of a value that JSON cannot represent."""

    loc: Loc
    value: Any
    wanted: str
    """What JSON allows there; empty where that depends on the rule."""


def freeze(value: Any) -> tuple[Any, list[NotJson]]:
    """The value as immutable JSON, also from numpy scalars and any sequence, and the parts that JSON cannot represent.

    >>> freeze({"sizes": [1, 2]})
    ({'sizes': (1, 2)}, [])
    >>> [(stray.loc, stray.wanted) for stray in freeze({"name": "half of a pair: \\ud800"})[1]]
    [(('name',), 'text that can be written as UTF-8')]
    """
    freezer = _Freezer()
    return freezer.frozen(value, ()), freezer.not_json


def thaw(value: Any) -> Any:
    """The value as plain lists and dicts, ready for `json`.

    >>> thaw(Record({"sizes": (1, 2)}))
    {'sizes': [1, 2]}
    """
    if isinstance(value, tuple):
        return [thaw(item) for item in value]
    if isinstance(value, Record):
        return {name: thaw(item) for name, item in value.items()}
    return str(value) if isinstance(value, Image) else value


def json_type(value: Any) -> str | None:
    """The JSON type of a frozen value, where 49.0 is an integer; None for anything else.

    >>> json_type(49.0), json_type(0.5), json_type(True), json_type(()), json_type(float("nan"))
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


def equality_key(value: Any) -> Any:
    """A key that is equal for equal JSON values: 1 and 1.0 are, 1 and true are not.

    >>> equality_key((1, True)) == equality_key((1.0, True)), equality_key(1) == equality_key(True)
    (True, False)
    """
    match value:
        case tuple() | list():
            return ("array", tuple(equality_key(item) for item in value))
        case Mapping():
            return ("object", frozenset((name, equality_key(item)) for name, item in value.items()))
        case bool():
            return ("boolean", value)
        case None | int() | float() | str():
            return value
        case _:
            # A value that is not JSON is equal only to itself.
            return ("other", id(value))


def is_equal_json(value: Any, other: Any) -> bool:
    """Whether two JSON values are equal: 1 and 1.0 are, 1 and true are not.

    >>> is_equal_json((1,), [1.0]), is_equal_json(1, True)
    (True, False)
    """
    return bool(equality_key(value) == equality_key(other))


class _Freezer:
    """Converts one value, and collects what JSON cannot represent."""

    def __init__(self) -> None:
        self.not_json: list[NotJson] = []
        self.open_ids: set[int] = set()

    def frozen(self, value: Any, loc: Loc) -> Any:
        inside = _to_container(value)
        if inside is None:
            return self.scalar(value, loc)
        if id(value) in self.open_ids:
            return self.add_not_json(loc, "a value that does not hold itself", value)
        if len(loc) >= MAX_DEPTH:
            return self.add_not_json(loc[:1], f"at most {MAX_DEPTH} levels of lists and objects", value)
        self.open_ids.add(id(value))
        result = self.record(inside, loc) if isinstance(inside, Mapping) else self.sequence(inside, loc)
        self.open_ids.discard(id(value))
        return result

    def scalar(self, value: Any, loc: Loc) -> Any:
        try:
            plain = _to_python(value)
        except PydanticCustomError as error:
            # The field's own rule has the better message about infinity.
            return self.add_not_json(loc, "" if error.type == "finite_number" else WANTED[error.type], value)
        return plain if json_type(plain) is not None else self.add_not_json(loc, "", value)

    def sequence(self, value: tuple[Any, ...], loc: Loc) -> tuple[Any, ...]:
        if len(value) > MAX_ENTRIES:
            self.add_not_json(loc, f"at most {MAX_ENTRIES:,} entries")
            return ()
        return tuple([self.frozen(item, (*loc, place)) for place, item in enumerate(value)])

    def record(self, value: Mapping[Any, Any], loc: Loc) -> Record:
        result: dict[str, Any] = {}
        for name, item in value.items():
            try:
                plain = _to_python(name) if isinstance(name, str) else ""
            except PydanticCustomError:
                plain = ""
            if plain == name:
                result[plain] = self.frozen(item, (*loc, plain))
            else:
                self.add_not_json((*loc, format_literal(name)), "a name that is text", name)
        return Record(result)

    def add_not_json(self, loc: Loc, wanted: str, value: Any = None) -> Any:
        self.not_json.append(NotJson(loc, value, wanted))
        return value


def _to_container(value: Any) -> Mapping[Any, Any] | tuple[Any, ...] | None:
    """A mapping or a tuple for a value with contents; None for a scalar."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, Mapping):
        return value
    try:
        return coerce_tuple(value)
    except PydanticCustomError:
        return None


def _to_python(value: Any) -> Any:
    """A scalar as a built-in type, from numpy's types, enum members and any integer or real number."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        plain = _writable(str.__str__(value))
        return value if isinstance(value, Image) else plain
    if isinstance(value, numbers.Integral):
        return _writable(coerce_int(value))
    if isinstance(value, (numbers.Real, Decimal)):
        return coerce_float(value)
    is_numpys = type(value).__name__ in ("bool", "bool_") and type(value).__module__ == "numpy"
    return bool(value) if is_numpys else value


def _writable(value: str | int) -> str | int:
    """The text or integer; raises where JSON cannot represent it."""
    if isinstance(value, int):
        if abs(value) >= _TOO_LONG:
            raise PydanticCustomError("int_size", "a whole number of fewer digits is needed")
        return value
    return require_utf8(value)


_TOO_LONG = 10**MAX_DIGITS
