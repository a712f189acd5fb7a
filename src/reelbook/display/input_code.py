"""Inputs, calls of `rb.run`, and sweeps and races of a form as Python code."""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from typing import Any

from ..models.base import Input, Part
from ..models.described import Record
from ..models.images import Image
from ..models.smart_resize import Size

MAX_LINE_LENGTH = 96
MAX_CODE_LENGTH = 20_000
"""Characters of code that are displayed; an input may contain a picture as text."""


def format_input_code(request: Part, *, seed: int | None = None) -> str:
    """An input as code, with `seed` where the input has none.

    >>> from reelbook.models.text_to_video import LoRA, TextToVideo
    >>> print(format_input_code(TextToVideo(prompt="a boat", loras=[LoRA(path="ink")]), seed=7))
    rb.TextToVideo(prompt='a boat', loras=[rb.LoRA(path='ink')], seed=7)
    """
    values = request.changed()
    if (seed is not None and values.get("seed", 7) is None) or (
        seed is not None and "seed" in type(request).model_fields and "seed" not in values
    ):
        values["seed"] = seed
    return _format_call(request, values)


def format_run_code(request: Input, *, seed: int | None = None) -> str:
    """The call of `rb.run` for this input and seed; a run with the same seed is served from the library, at no cost."""
    code = f"rb.run({format_input_code(request, seed=seed)})"
    if len(code) > MAX_CODE_LENGTH:
        return "# Too long to be shown. run.input has it, and rb.run(run.input) runs it."
    return code


def _format_call(request: Part, values: dict[str, Any]) -> str:
    names = {name: _format_item(value) for name, value in values.items()}
    plain = [f"{name}={text}" for name, text in names.items() if _is_argument(name)]
    others = ", ".join(f"{name!r}: {text}" for name, text in names.items() if not _is_argument(name))
    arguments = [*plain, *([f"**{{{others}}}"] if others else [])]
    head = f"rb.{type(request)._spelling()}"
    line = f"{head}({', '.join(arguments)})"
    if len(line) <= MAX_LINE_LENGTH:
        return line
    inner = "".join(f"    {argument},\n".replace("\n    ", "\n        ") for argument in arguments)
    return f"{head}(\n{inner})"


def _is_argument(name: str) -> bool:
    # A described model may use any field names; Python normalises names that are not ASCII.
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")


def _format_item(value: Any) -> str:
    if isinstance(value, Record):
        value = value.changed()
    if isinstance(value, Part):
        return _format_call(value, value.changed())
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name!r}: {_format_item(item)}' for name, item in value.items())}}}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_format_item, value))}]"
    if isinstance(value, Size) or (isinstance(value, Image) and value.sha256 is not None):
        return f"rb.{value!r}"
    return repr(value)
