"""Field types of inputs: strict about JSON types, and accepting numpy's scalars."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Strict,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

MAX_ENTRIES = 100_000
"""How many entries are read from an iterator, which may never end."""
MAX_DEPTH = 40
"""Maximum nesting of a JSON value without rules of its own, which may hold itself."""


def coerce_int(value: Any) -> int:
    """An integer, also from `49.0` and from numpy's integers, but not from text or booleans."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, bool):
        # Any object may raise anything here.
        with suppress(Exception):
            return operator.index(value)
    raise PydanticCustomError("int_type", "a whole number is needed")


def coerce_float(value: Any) -> float:
    """A finite float from any real number, but not from text or booleans."""
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal)):
        raise PydanticCustomError("float_type", "a number is needed")
    try:
        number = float(value)
    except (OverflowError, ValueError):
        number = math.inf
    if not math.isfinite(number):
        raise PydanticCustomError("finite_number", "a finite number is needed")
    # Not -0.0, which is equal to 0 but is written, and so hashed for the library, differently.
    return number + 0.0


def coerce_bool(value: Any) -> bool:
    """A boolean of Python or numpy, and nothing else."""
    if isinstance(value, bool):
        return value
    if type(value).__name__ in ("bool", "bool_") and type(value).__module__ == "numpy":
        return bool(value)
    raise PydanticCustomError("bool_type", "True or False is needed")


def coerce_tuple(value: Any) -> tuple[Any, ...]:
    """The entries of any ordered iterable, such as a list, an array or `zip`; a set or a mapping has no order."""
    if isinstance(value, (list, tuple)):
        return tuple(value)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, bytearray, Set, Mapping)):
        # Iterating any object may raise anything.
        with suppress(Exception):
            return tuple(islice(value, MAX_ENTRIES + 1))
    raise PydanticCustomError("tuple_type", "a list in order is needed")


def coerce_json(value: Any, depth: int = 0) -> Any:
    """A value without rules of its own as plain JSON, also from numpy's types and any sequence; pictures stay pictures."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if value is None or isinstance(value, bool) or getattr(value, "is_picture", False):
        return value
    if isinstance(value, str):
        return require_utf8(str.__str__(value))
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, (numbers.Real, Decimal)):
        return coerce_float(value)
    if depth >= MAX_DEPTH:
        raise PydanticCustomError("json_depth", "too many levels")
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {require_utf8(name): coerce_json(item, depth + 1) for name, item in value.items()}
    if not isinstance(value, (Sequence, Iterator)) or isinstance(value, (bytes, bytearray)):
        raise PydanticCustomError("json_type", "a JSON value is needed")
    return [coerce_json(item, depth + 1) for item in coerce_tuple(value)]


def require_utf8(value: str) -> str:
    """The text; raises where UTF-8 cannot encode it, as for half of a surrogate pair."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("string_unicode", "text that can be written as UTF-8 is needed") from None
    return value


def _reject_picture(value: Any) -> Any:
    """The value; raises for a picture, which is also a `str` (see `images.py`)."""
    if getattr(value, "is_picture", False):
        raise PydanticCustomError("string_type", "text is needed")
    return value


def is_wire_json(info: ValidationInfo) -> bool:
    """Whether a service is validating JSON, which is taken exactly as written."""
    return bool(info.context and info.context.get("wire"))


Integer = Annotated[int, BeforeValidator(coerce_int)]
Real = Annotated[float, BeforeValidator(coerce_float)]
Flag = Annotated[bool, BeforeValidator(coerce_bool)]
Text = Annotated[str, BeforeValidator(_reject_picture), Strict(), AfterValidator(require_utf8)]
Json = Annotated[Any, BeforeValidator(coerce_json)]
Ordered = BeforeValidator(coerce_tuple)


@dataclass(frozen=True)
class MultipleOf:
    """A decimal `multipleOf` that accepts 0.15 and 0.35.

    In Python, noise in the last digits is rounded away, so that `numpy.linspace(0, 1, 21)` works, and so that
    numpy's single precision does; in a service the number is taken as written.
    """

    step: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        # Wraps the bounds check: a noisy 1.0000000000000002 is 1, and so within 0 to 1.
        return core_schema.with_info_wrap_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "multipleOf": float(self.step)}

    def _check(self, value: Any, within_bounds: ValidatorFunctionWrapHandler, info: ValidationInfo) -> float:
        if not is_wire_json(info):
            with suppress(PydanticCustomError):
                number, step = coerce_float(value), Decimal(self.step)
                nearest = float((Decimal(repr(number)) / step).to_integral_value() * step) + 0.0
                value = nearest if abs(number - nearest) <= float(step) / 1_000_000 else value
        checked: float = within_bounds(value)
        # In whole numbers, because 0.15 % 0.05 is not 0, and a very small step has too many digits for Decimal's `%`.
        top, bottom = Decimal(repr(checked)).as_integer_ratio(), Decimal(self.step).as_integer_ratio()
        if top[0] * bottom[1] % (top[1] * bottom[0]):
            raise PydanticCustomError(
                "multiple_of", "not a multiple of {multiple_of}", {"multiple_of": float(self.step)}
            )
        return checked
