"""Field types of the specification: strict about JSON types, and accepting numpy's scalars."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    Strict,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

MAX_DIGITS = 4300
"""Maximum digits of an integer: Python, and so `json`, neither parses nor formats a longer one."""
_DIGITS_BOUND = 10**MAX_DIGITS
MAX_ENTRIES = 100_000
"""How many entries are read from an iterator, which may never end."""


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
    if isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, bool):
        try:
            number = float(value)
        except (OverflowError, ValueError):
            number = math.inf
        if math.isfinite(number):
            # Not -0.0, which is equal to 0 but is written, and so hashed for the library, differently.
            return number + 0.0
        raise PydanticCustomError("finite_number", "a finite number is needed")
    raise PydanticCustomError("float_type", "a number is needed")


def require_writable(value: int) -> int:
    """The number; raises where it has more digits than Python writes."""
    if abs(value) >= _DIGITS_BOUND:
        raise PydanticCustomError("int_size", "a whole number of fewer digits is needed")
    return value


def coerce_bool(value: Any) -> bool:
    """A boolean of Python or numpy, and nothing else."""
    if isinstance(value, bool):
        return value
    if type(value).__name__ in ("bool", "bool_") and type(value).__module__ == "numpy":
        return bool(value)
    raise PydanticCustomError("bool_type", "True or False is needed")


def coerce_tuple(value: Any) -> tuple[Any, ...]:
    """The entries of any ordered iterable, such as a list, an array or `zip`; a set or a mapping has no order.

    >>> coerce_tuple(zip([300, 640], [600, 480]))
    ((300, 600), (640, 480))
    """
    if isinstance(value, (list, tuple)):
        return tuple(value)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, bytearray, Set, Mapping)):
        # Iterating any object may raise anything.
        with suppress(Exception):
            return tuple(islice(value, MAX_ENTRIES + 1))
    raise PydanticCustomError("tuple_type", "a list in order is needed")


def _reject_picture(value: Any) -> Any:
    """The value; raises for a picture, which is also a `str` (see `images.py`)."""
    if getattr(value, "is_picture", False):
        raise PydanticCustomError("string_type", "text is needed")
    return value


def require_utf8(value: str) -> str:
    """The text; raises where UTF-8 cannot encode it, as for half of a surrogate pair."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("string_unicode", "text that can be written as UTF-8 is needed") from None
    return value


def is_wire_json(info: ValidationInfo) -> bool:
    """Whether a service is validating JSON, which is taken exactly as written."""
    return bool(info.context and info.context.get("wire"))


Integer = Annotated[int, BeforeValidator(coerce_int)]
Seed = Annotated[int, BeforeValidator(coerce_int), AfterValidator(require_writable)]
"""An integer bounded only in its number of digits."""
Real = Annotated[float, BeforeValidator(coerce_float)]
Flag = Annotated[bool, BeforeValidator(coerce_bool)]
Text = Annotated[str, BeforeValidator(_reject_picture), Strict(), AfterValidator(require_utf8)]
Ordered = BeforeValidator(coerce_tuple)


def nearest_multiple(value: float, step: str) -> float:
    """The multiple of `step` closest to `value`, as the float that prints shortest.

    >>> nearest_multiple(0.15000000000000002, "0.05"), nearest_multiple(0.33, "0.05")
    (0.15, 0.35)
    """
    size = Decimal(step)
    return float((Decimal(repr(float(value))) / size).to_integral_value() * size) + 0.0


def is_multiple(value: float, step: str) -> bool:
    """Whether the number as written is a multiple, computed in decimal because 0.15 % 0.05 is not 0.

    >>> is_multiple(0.15, "0.05"), is_multiple(0.35, "0.05"), is_multiple(0.07, "0.05")
    (True, True, False)
    """
    # Not `%`: the quotient of a very large and a very small number has more digits than a decimal context holds.
    top, bottom = Decimal(repr(float(value))).as_integer_ratio(), Decimal(step).as_integer_ratio()
    return top[0] * bottom[1] % (top[1] * bottom[0]) == 0


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
        number: float = within_bounds(value if is_wire_json(info) else self._without_noise(value))
        if not is_multiple(number, self.step):
            raise PydanticCustomError(
                "multiple_of", "not a multiple of {multiple_of}", {"multiple_of": float(self.step)}
            )
        return number

    def _without_noise(self, value: Any) -> Any:
        try:
            number = coerce_float(value)
        except PydanticCustomError:
            return value
        nearest = nearest_multiple(number, self.step)
        return nearest if abs(number - nearest) <= float(self.step) / 1_000_000 else value
