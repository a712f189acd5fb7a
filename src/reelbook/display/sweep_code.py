"""The Python code that repeats a form's sweep or race."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from keyword import iskeyword
from typing import Any

from ..models.base import Input
from ..models.images import Image
from ..models.smart_resize import Size
from .input_code import format_input_code

MAX_CODE_LENGTH = 200_000
TOO_LONG = (
    "# Too long to be shown. The plan itself is `jobs[-1].plan` of this form, and can be run again with its run()."
)


def format_sweep_code(base: Input, axes: Mapping[str, Sequence[Any]], budget: int, price: int | None = None) -> str:
    """Python code for the same plan, run with a budget, so that a cell that is run twice pays once.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> print(format_sweep_code(TextToVideo(prompt="a boat"), {"seed": [0, 1, 2, 3]}, 212))
    table = rb.sweep(
        rb.TextToVideo(prompt='a boat'),
        seed=range(0, 4),
    ).run(budget=212)
    """
    per_run = "" if price is None else f", price={price}"
    return _limit(f"table = {_format_sweep(base, axes)}.run(budget={budget}{per_run})")


def format_race_code(
    base: Input, axes: Mapping[str, Sequence[Any]], by: str, budget: int, price: int | None = None
) -> str:
    """Python code for a race of the same plan, whose last line displays it; `by` is code, too.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> print(format_race_code(TextToVideo(prompt="a boat"), {"num_frames": [49, 97]}, "'sharpness'", 53))
    race = rb.sweep(
        rb.TextToVideo(prompt='a boat'),
        num_frames=[49, 97],
    ).race(by='sharpness', budget=53)
    race
    """
    per_run = "" if price is None else f", price={price}"
    return _limit(f"race = {_format_sweep(base, axes)}.race(by={by}, budget={budget}{per_run})\nrace")


def _format_sweep(base: Input, axes: Mapping[str, Sequence[Any]]) -> str:
    values = {name: _format_values(one) for name, one in axes.items()}
    if all(name.isascii() and name.isidentifier() and not iskeyword(name) for name in values):
        lines = [f"{name}={text}" for name, text in values.items()]
    else:
        lines = [f"{{{', '.join(f'{name!r}: {text}' for name, text in values.items())}}}"]
    first = format_input_code(base).replace("\n", "\n    ")
    body = "".join(f"    {line},\n" for line in (first, *lines))
    return f"rb.sweep(\n{body})"


def _limit(text: str) -> str:
    return text if len(text) <= MAX_CODE_LENGTH else TOO_LONG


def _format_values(values: Sequence[Any]) -> str:
    ints = [value for value in values if type(value) is int]
    if len(ints) == len(values) > 3 and ints == list(range(ints[0], ints[0] + len(ints))):
        return f"range({ints[0]}, {ints[-1] + 1})"
    return f"[{', '.join(map(_format_value, values))}]"


def _format_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name!r}: {_format_value(item)}' for name, item in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_format_value, value))}]"
    is_held = isinstance(value, Size) or (isinstance(value, Image) and value.sha256 is not None)
    return f"rb.{value!r}" if is_held else repr(value)
