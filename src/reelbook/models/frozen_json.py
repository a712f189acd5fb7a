"""JSON values that never change: tuples for lists, `FrozenDict` for objects."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NoReturn

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from .images import Image
from .problems import WANTED, Loc
from .value_types import (
    MAX_ENTRIES,
    coerce_bool,
    coerce_float,
    coerce_int,
    coerce_tuple,
    require_utf8,
    require_writable,
)

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

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        # For one that is the default of a field.
        return core_schema.dict_schema()


class NotJson(ValueError):
    """A part of a value that JSON cannot represent."""

    def __init__(self, loc: Loc, value: Any, wanted: str = "") -> None:
        super().__init__(loc, value, wanted)
        self.loc, self.value = loc, value
        self.wanted = wanted
        """What JSON allows there; empty where that depends on the rule."""


def freeze(value: Any, loc: Loc = ()) -> Any:
    """The value as immutable JSON, also from numpy scalars and any sequence; raises `NotJson` where there is none.

    >>> freeze({"sizes": [1, 2]})
    {'sizes': (1, 2)}
    """
    inside: Any = value.model_dump(mode="json", exclude_none=True) if isinstance(value, BaseModel) else value
    if not isinstance(inside, Mapping):
        try:
            inside = coerce_tuple(inside)
        except PydanticCustomError:
            return _freeze_scalar(value, loc)
    if len(loc) >= MAX_DEPTH:
        raise NotJson((), value, f"at most {MAX_DEPTH} levels of lists and objects")
    if len(inside) > MAX_ENTRIES:
        raise NotJson(loc, None, f"at most {MAX_ENTRIES:,} entries")
    if not isinstance(inside, Mapping):
        # A list first: an error inside a generator would become another one.
        return tuple([freeze(item, (*loc, place)) for place, item in enumerate(inside)])
    stray = next((name for name in inside if not isinstance(name, str)), None)
    if stray is not None:
        raise NotJson((*loc, str(stray)[:60]), stray, "a name that is text")
    return FrozenDict({_freeze_scalar(name, loc): freeze(item, (*loc, name)) for name, item in inside.items()})


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


def _freeze_scalar(value: Any, loc: Loc) -> Any:
    """A scalar as a built-in type, from numpy's types, enum members and any integer or real number."""
    if value is None or isinstance(value, (bool, Image)):
        return value
    try:
        if isinstance(value, str):
            return require_utf8(str.__str__(value))
        if isinstance(value, numbers.Integral):
            return require_writable(coerce_int(value))
        return coerce_float(value) if isinstance(value, (numbers.Real, Decimal)) else coerce_bool(value)
    except PydanticCustomError as error:
        # The field's own rule has the better message about infinity.
        wanted = "" if error.type in ("finite_number", "bool_type") else WANTED[error.type]
        raise NotJson(loc, value, wanted) from None
