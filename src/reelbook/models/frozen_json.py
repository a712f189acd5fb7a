"""JSON values that never change: tuples for lists, `FrozenDict` for objects."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

from pydantic import BaseModel
from pydantic_core import PydanticCustomError

from .images import Image
from .problems import WANTED, Loc, format_literal
from .value_types import MAX_DIGITS, MAX_ENTRIES, coerce_float, coerce_int, coerce_tuple, require_utf8

MAX_DEPTH = 40
"""Maximum nesting of a value: each level takes a few calls, and Python's recursion limit is a thousand."""


class FrozenDict(dict[str, Any]):
    """An object inside an input whose fields no class lists: a dict that can be hashed and never changes.

    >>> {FrozenDict(size=1): "small"}[FrozenDict(size=1.0)]
    'small'
    """

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("An object inside an input never changes; give the input a new one with .revised.")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(equality_key(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)


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

    >>> thaw(FrozenDict(sizes=(1, 2)))
    {'sizes': [1, 2]}
    """
    if isinstance(value, (tuple, list)):
        return [thaw(item) for item in value]
    if isinstance(value, Mapping):
        return {name: thaw(item) for name, item in value.items()}
    return str(value) if isinstance(value, Image) else value


def equality_key(value: Any) -> Any:
    """A key that is equal for equal JSON values: 1 and 1.0 are, 1 and true are not.

    >>> equality_key((1, True)) == equality_key([1.0, True]), equality_key(1) == equality_key(True)
    (True, False)
    """
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, (tuple, list)):
        return "array", tuple(equality_key(item) for item in value)
    if isinstance(value, Mapping):
        return "object", frozenset((name, equality_key(item)) for name, item in value.items())
    return ("boolean", value) if isinstance(value, bool) else value


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
            return self.add_not_json((), f"at most {MAX_DEPTH} levels of lists and objects", value)
        if len(inside) > MAX_ENTRIES:
            return self.add_not_json(loc, f"at most {MAX_ENTRIES:,} entries")
        self.open_ids.add(id(value))
        result: Any
        if isinstance(inside, Mapping):
            result = FrozenDict({
                name: self.frozen(item, (*loc, name)) for name, item in inside.items() if self.is_name(name, loc)
            })  # fmt: skip
        else:
            result = tuple([self.frozen(item, (*loc, place)) for place, item in enumerate(inside)])
        self.open_ids.discard(id(value))
        return result

    def scalar(self, value: Any, loc: Loc) -> Any:
        try:
            plain = _to_python(value)
        except PydanticCustomError as error:
            # The field's own rule has the better message about infinity.
            return self.add_not_json(loc, "" if error.type == "finite_number" else WANTED[error.type], value)
        is_json = plain is None or isinstance(plain, (bool, int, str)) or (
            isinstance(plain, float) and math.isfinite(plain)
        )  # fmt: skip
        return plain if is_json else self.add_not_json(loc, "", value)

    def is_name(self, name: Any, loc: Loc) -> bool:
        try:
            if isinstance(name, str) and require_utf8(str(name)) == name:
                return True
        except PydanticCustomError:
            pass
        self.add_not_json((*loc, format_literal(name)), "a name that is text", name)
        return False

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
    if value is None or isinstance(value, (bool, Image)):
        return value
    if isinstance(value, str):
        return require_utf8(str.__str__(value))
    if isinstance(value, numbers.Integral):
        whole = coerce_int(value)
        if abs(whole) >= _TOO_LONG:
            raise PydanticCustomError("int_size", "a whole number of fewer digits is needed")
        return whole
    if isinstance(value, (numbers.Real, Decimal)):
        return coerce_float(value)
    is_numpys = type(value).__name__ in ("bool", "bool_") and type(value).__module__ == "numpy"
    return bool(value) if is_numpys else value


_TOO_LONG = 10**MAX_DIGITS
