"""TOML files of plans, to review, commit and run again: a model of what they hold, written and read."""

from __future__ import annotations

import json
import numbers
import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..models.problems import format_literal, unknown_field
from .parts import AnyPart
from .values import coerce_value, usage_error

FORMAT = "reelbook sweep 1"
TITLE = '# A sweep of Reelbook. Read it with reelbook.sweep.read("…"), or run it with: reelbook sweep …'
ONE_BY_ONE = "# Below are its runs one by one: functions, sums or methods made it, which a file cannot hold."
NOTHING = {"nothing": True}
"""The table that represents None, which TOML lacks."""
MAX_LINE_LENGTH = 100
"""Longer lists are wrapped."""


class PlanFile(BaseModel):
    """What the file of a plan holds: its base and parts; if nothing shorter describes it, the only part has its rows."""

    model_config = ConfigDict(extra="forbid")

    format: str
    model: str
    columns: tuple[str, ...] | None = None
    """What varies, if the only part has rows: these may also change other fields."""
    takes: tuple[int, ...] = ()
    """The takes of these rows, if they are not all the first."""
    base: dict[str, Any] = Field(default_factory=dict)
    parts: tuple[AnyPart, ...] = ()


def format_plan_file(file: PlanFile) -> str:
    """Format a plan as TOML.

    >>> from reelbook.models.images_to_video import ImagesToVideo
    >>> from reelbook.sweeps.sweep_call import sweep
    >>> print(sweep(ImagesToVideo(images=["a.png"]), fps=[12, 24]).to_toml())
    # A sweep of Reelbook. Read it with reelbook.sweep.read("…"), or run it with: reelbook sweep …
    format = "reelbook sweep 1"
    model = "svc/frames-api/images-to-video"
    <BLANKLINE>
    [base]
    images = [{ url = "a.png", frames = 24 }]
    <BLANKLINE>
    [[parts]]
    axis = "fps"
    values = [12, 24]
    <BLANKLINE>
    """
    values = file.model_dump(exclude_defaults=True)
    base, parts = values.pop("base", {}), values.pop("parts", ())
    lines = [TITLE] if file.columns is None else [TITLE, ONE_BY_ONE]
    lines += [*_format_entries(values), "", "[base]", *_format_entries(base), ""]
    for part in parts:
        lines += ["[[parts]]", *_format_entries(part), ""]
    return "\n".join(lines)


def read_plan_file(path: str | Path) -> PlanFile:
    """Read the file of a plan."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, TypeError, ValueError) as error:
        raise usage_error(f"{path} could not be read: {error}.") from error
    return parse_plan_file(text, name=str(path))


def parse_plan_file(text: str, *, name: str = "The file") -> PlanFile:
    """Parse what the file of a plan holds."""
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise usage_error(f"{name} is not valid TOML: {error}.") from error
    if data.get("format") != FORMAT:
        raise usage_error(f"{name} is not a sweep: it should begin with format = {FORMAT!r}.")
    try:
        return PlanFile.model_validate(parse_value(data))
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        top, *inner = map(str, first["loc"])
        reason = f"`{'.'.join([top, *inner])}` cannot be read: {first['msg']}."
        if top == "parts":
            reason = (
                f"Part {inner[0]} cannot be read: it has one of the keys axis, zipped, template or columns, and theirs."
            )
        elif first["type"] == "extra_forbidden":
            reason = unknown_field((top,), None, PlanFile.model_fields).message
        raise usage_error(f"{name} of the sweep: {reason}") from invalid


def _format_entries(values: Mapping[str, Any]) -> list[str]:
    return [f"{_format_key(name)} = {format_toml(value, name)}" for name, value in values.items()]


def format_toml(value: Any, name: str) -> str:
    """Format a value as TOML. None, which TOML lacks, is written as `{ nothing = true }`.

    >>> format_toml([1, 0.5, True, "a \\"boat\\"", None], "seed")
    '[1, 0.5, true, "a \\\\"boat\\\\"", { nothing = true }]'
    """
    value = NOTHING if value is None else coerce_value(value)
    if isinstance(value, Mapping):
        entries = [f"{_format_key(key)} = {format_toml(item, name)}" for key, item in value.items()]
        return f"{{ {', '.join(entries)} }}" if entries else "{}"
    if isinstance(value, (list, tuple)):
        items = [format_toml(item, name) for item in value]
        line, lines = f"[{', '.join(items)}]", [""]
        for item in items if len(line) > MAX_LINE_LENGTH else ():
            if len(lines[-1]) + len(item) + 2 > MAX_LINE_LENGTH or lines == [""]:
                lines.append(" ")
            lines[-1] += f" {item},"
        return line if lines == [""] else "\n".join(["[", *lines[1:], "]"])
    if isinstance(value, (numbers.Real, Decimal)) and not isinstance(value, int):
        return repr(float(value))
    try:
        # JSON's texts, whole numbers and booleans are TOML's, except for one character.
        text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        text.encode()
    except (TypeError, UnicodeEncodeError):
        raise usage_error(
            f"`{name}` holds {format_literal(value)}, which cannot be written to a file. Save a picture, and give its path or URL instead."
        ) from None
    return text


def _format_key(name: Any) -> str:
    """Format a name as a TOML key, quoted if necessary.

    >>> _format_key("seed"), _format_key("images[0].frames")
    ('seed', '"images[0].frames"')
    """
    return str(name) if re.fullmatch(r"[A-Za-z0-9_-]+", str(name)) else format_toml(str(name), "a name")


def parse_value(data: Any) -> Any:
    """Convert a value read from TOML back to the original, with `{ nothing = true }` as None.

    >>> parse_value([{"nothing": True}, {"path": "watercolour"}])
    [None, {'path': 'watercolour'}]
    """
    if isinstance(data, list):
        return [parse_value(item) for item in data]
    if not isinstance(data, dict):
        return data
    return None if data == NOTHING else {name: parse_value(item) for name, item in data.items()}
