"""The options of `plan.run` and `plan.start`, and their validation, which a race shares."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ..errors import InvalidInput
from ..models.problems import format_literal
from ..models.value_types import Integer
from .values import usage_error

MAX_AT_ONCE = 256
MAX_STORED = 10**15
"""Bound for amounts, because the library stores 64-bit integers and sums of them."""
HOSTED_AT_ONCE, EMBEDDED_AT_ONCE = 8, 64
_RATE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*/\s*(s|m|h)(ec|econd|in|inute|our)?\s*\Z")


def parse_rate(rate: Any) -> Any:
    """A rate such as `"10/s"` or `"100/min"` in runs per second; a number is one."""
    match = _RATE.match(rate) if isinstance(rate, str) else None
    return float(match[1]) / {"s": 1, "m": 60, "h": 3600}[match[2]] if match else rate


_Amount = Annotated[
    Annotated[Integer, Field(ge=0, le=MAX_STORED)] | None,
    Field(description=f"give a whole number from 0 to {MAX_STORED:,}"),
]


class RunOptions(BaseModel):
    """Options for the execution of a plan, as `plan.run` describes them. The description of each says in errors what it may be."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    budget: _Amount = None
    spend: _Amount = None
    concurrency: Annotated[Integer, Field(ge=1, le=MAX_AT_ONCE)] | None = Field(
        None, description=f"give a whole number from 1 to {MAX_AT_ONCE}"
    )
    rate: Annotated[float, BeforeValidator(parse_rate), Field(gt=0, le=MAX_STORED)] | None = Field(
        None, description='write it as "10/s", "100/min" or "30/h"'
    )
    take: Integer = Field(0, ge=0, le=MAX_STORED, description=f"give a whole number from 0 to {MAX_STORED:,}")
    on_error: Literal["continue", "stop"] = Field("continue", description="it can be 'continue' or 'stop'")
    price: _Amount = None
    scope: str | None = None
    """The budget's name in the ledger, of which these runs are a part; None for one of this plan's runs alone."""
    notify: Callable[[Any], Any] | None = Field(
        None, description="it is called with the job at the end, so it has to be a function"
    )


Checked = TypeVar("Checked", bound=BaseModel)


def check_options(
    model: type[Checked], values: dict[str, Any], error: Callable[[str], InvalidInput] = usage_error
) -> Checked:
    """Validate options; raises an error that says what the first wrong one may be."""
    try:
        return model(**values)
    except ValidationError as invalid:
        name = str(invalid.errors()[0]["loc"][0])
        field = model.model_fields.get(name)
        wanted = "there is no such option" if field is None else field.description
        raise error(f"`{name}` is {format_literal(values.get(name))}; {wanted}.") from None
