"""The types of the spec's tables: strict about JSON types, kind to numpy's scalars."""

from __future__ import annotations

import math
import numbers
import operator
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler, Strict, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


def _whole(value: Any) -> int:
    """A whole number: JSON's `49.0` and numpy's integers too, but neither text nor booleans."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, bool):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise PydanticCustomError("int_type", "a whole number is needed")


def _real(value: Any) -> float:
    """A finite number; integers of any size count as numbers, text and booleans do not."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
        raise PydanticCustomError("finite_number", "a finite number is needed")
    raise PydanticCustomError("float_type", "a number is needed")


def _flag(value: Any) -> bool:
    """True or false, numpy's included, and nothing that merely looks like it."""
    if isinstance(value, bool):
        return value
    if type(value).__name__ in ("bool", "bool_") and type(value).__module__ == "numpy":
        return bool(value)
    raise PydanticCustomError("bool_type", "True or False is needed")


def _ordered(value: Any) -> Any:
    """Order matters in these lists, so a set is not welcome although pydantic would take one."""
    if isinstance(value, (set, frozenset, dict)):
        raise PydanticCustomError("tuple_type", "a list in order is needed")
    return value


def _utf8(value: str) -> str:
    """Text that can travel: half of a surrogate pair cannot be written as UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("string_unicode", "text that can be written as UTF-8 is needed") from None
    return value


def on_the_wire(info: ValidationInfo) -> bool:
    """Whether a service is reading JSON, which counts exactly as it is written."""
    return bool(info.context and info.context.get("wire"))


Whole = Annotated[int, BeforeValidator(_whole)]
Real = Annotated[float, BeforeValidator(_real)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Text = Annotated[str, Strict(), AfterValidator(_utf8)]
Ordered = BeforeValidator(_ordered)


def nearest_multiple(value: float, step: str) -> float:
    """The multiple of `step` closest to `value`, as the float that prints shortest.

    >>> nearest_multiple(0.15000000000000002, "0.05"), nearest_multiple(0.33, "0.05")
    (0.15, 0.35)
    """
    size = Decimal(step)
    return float((Decimal(repr(float(value))) / size).to_integral_value() * size)


def is_multiple(value: float, step: str) -> bool:
    """Whether the number as written is a multiple, judged in decimal because 0.15 % 0.05 is not 0.

    >>> is_multiple(0.15, "0.05"), is_multiple(0.35, "0.05"), is_multiple(0.07, "0.05")
    (True, True, False)
    """
    # Not `%`: the quotient of a very large and a very small number has more digits than a context holds.
    top, bottom = Decimal(repr(float(value))).as_integer_ratio(), Decimal(step).as_integer_ratio()
    return top[0] * bottom[1] % (top[1] * bottom[0]) == 0


@dataclass(frozen=True)
class MultipleOf:
    """A decimal `multipleOf` that accepts 0.15 and 0.35.

    In Python, noise in the last digits is rounded away, so that `numpy.linspace(0, 1, 21)` works;
    on the wire the number counts as it is written.
    """

    step: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "multipleOf": float(self.step)}

    def _check(self, value: float, info: ValidationInfo) -> float:
        if is_multiple(value, self.step):
            return value
        nearest = nearest_multiple(value, self.step)
        if not on_the_wire(info) and abs(value - nearest) <= 4 * math.ulp(value):
            return nearest
        raise PydanticCustomError("multiple_of", "not a multiple of {multiple_of}", {"multiple_of": float(self.step)})
