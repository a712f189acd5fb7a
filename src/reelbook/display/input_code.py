"""The code that asks for the same again, as one would type it."""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from typing import Any

from ..models.base import Input, Part
from ..models.images import Image
from ..models.smart_resize import Size

ONE_LINE = 96
LONGEST = 20_000
"""Letters of code that are shown; an input can hold a whole picture as text."""


def code_of(request: Part, *, seed: int | None = None) -> str:
    """An input as code, with the seed that was drawn for it if it named none.

    >>> from reelbook.models.text_to_video import LoRA, TextToVideo
    >>> print(code_of(TextToVideo(prompt="a boat", loras=[LoRA(path="ink")]), seed=7))
    rb.TextToVideo(prompt='a boat', loras=[rb.LoRA(path='ink')], seed=7)
    """
    values = request.changed()
    if (seed is not None and values.get("seed", 7) is None) or (
        seed is not None and "seed" in type(request).model_fields and "seed" not in values
    ):
        values["seed"] = seed
    return _call(request, values)


def run_code(request: Input, *, seed: int | None = None) -> str:
    """The call that runs it again; a run with the same seed comes from the library, at no cost."""
    code = f"rb.run({code_of(request, seed=seed)})"
    if len(code) > LONGEST:
        return "# Too long to be shown. run.input has it, and rb.run(run.input) runs it."
    return code


def _call(request: Part, values: dict[str, Any]) -> str:
    names = {name: _value(value) for name, value in values.items()}
    plain = [f"{name}={text}" for name, text in names.items() if _is_argument(name)]
    odd = ", ".join(f"{name!r}: {text}" for name, text in names.items() if not _is_argument(name))
    arguments = [*plain, *([f"**{{{odd}}}"] if odd else [])]
    head = f"rb.{type(request)._spelling()}"
    line = f"{head}({', '.join(arguments)})"
    if len(line) <= ONE_LINE:
        return line
    inner = "".join(f"    {argument},\n".replace("\n    ", "\n        ") for argument in arguments)
    return f"{head}(\n{inner})"


def _is_argument(name: str) -> bool:
    # A described model names its fields as it likes; Python would read a ligature as the letters it stands for.
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")


def _value(value: Any) -> str:
    if isinstance(value, Part):
        return _call(value, value.changed())
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name!r}: {_value(item)}' for name, item in value.items())}}}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name!r}: {_value(item)}' for name, item in value.items())}}}"
    if isinstance(value, Size) or (isinstance(value, Image) and value.sha256 is not None):
        return f"rb.{value!r}"
    return repr(value)
