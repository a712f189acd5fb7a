"""TOML files of plans, to review, commit and run again: a model of what they hold, written and read."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .parts import AnyPart
from .values import usage_error

TITLE = '# A sweep of Reelbook. Read it with reelbook.sweep.read("…"), or run it with: reelbook sweep …\n'
ONE_BY_ONE = "# Below are its runs one by one: functions, sums or methods made it, which a file cannot hold.\n"
NOTHING = {"nothing": True}
"""The table that represents None, which TOML lacks."""


class PlanFile(BaseModel):
    """What the file of a plan holds: its base and parts; if nothing shorter describes it, the only part has its rows."""

    model_config = ConfigDict(extra="forbid")

    format: Literal["reelbook sweep 1"]
    model: str
    columns: tuple[str, ...] | None = None
    """What varies, if the only part has rows: these may also change other fields."""
    takes: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """The takes of these rows, if they are not all the first."""
    base: dict[str, Any] = Field(default_factory=dict)
    parts: tuple[AnyPart, ...] = ()


def format_plan_file(file: PlanFile) -> str:
    """Format a plan as TOML."""
    import tomlkit  # Here, because few need it.

    try:
        text = tomlkit.dumps(_replace(file.model_dump(exclude_defaults=True), None, NOTHING))
        text.encode()
    except (TypeError, ValueError) as error:
        raise usage_error(
            f"This plan holds a value that cannot be written to a file: {error}. Save a picture, and give its path or URL instead."
        ) from None
    return TITLE + (ONE_BY_ONE if file.columns is not None else "") + text


def write_plan_file(path: str | Path, text: str) -> None:
    """Write the file of a plan."""
    try:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise usage_error(f"{path} could not be written: {error.strerror}.") from error


def read_plan_file(path: str | Path) -> PlanFile:
    """Read the file of a plan."""
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise usage_error(f"{path} could not be read: {error.strerror}.") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise usage_error(f"{path} could not be read as TOML: {error}.") from error
    try:
        return PlanFile.model_validate(_replace(data, NOTHING, None))
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise usage_error(f"{path} is no sweep that can be read: `{where}`: {first['msg']}.") from invalid


def _replace(value: Any, old: Any, new: Any) -> Any:
    """Replace one value by another, also inside of lists and tables."""
    if value == old:
        return new
    if isinstance(value, Mapping):
        return {str(name): _replace(item, old, new) for name, item in value.items()}
    return [_replace(item, old, new) for item in value] if isinstance(value, (list, tuple)) else value
