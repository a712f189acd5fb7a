"""TOML files of plans, to review, commit and run again: a model of what they hold, written and read."""

from __future__ import annotations

import json
import numbers
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..models.problems import format_literal, unknown_field
from .parts import KINDS, AnyPart
from .values import coerce_value, usage_error

FORMAT = "reelbook sweep 1"
TITLE = '# A sweep of Reelbook. Read it with reelbook.sweep.read("…"), or run it with: reelbook sweep …'
ONE_BY_ONE = "# Below are its runs one by one: functions, sums or methods made it, which a file cannot hold."
NOTHING = {"nothing": True}
"""The table that represents None, which TOML lacks."""
MAX_LINE_LENGTH = 100
"""Longer lists are wrapped."""


class RowEntry(BaseModel):
    """One run of a plan that only its rows describe."""

    model_config = ConfigDict(extra="forbid")

    input: dict[str, Any] = Field(default_factory=dict)
    """The values that differ from the base."""
    labels: dict[str, Any] = Field(default_factory=dict)
    take: int = 0


class PlanFile(BaseModel):
    """What the file of a plan holds: its base and parts, or its rows if nothing shorter describes it."""

    model_config = ConfigDict(extra="forbid")

    format: str
    model: str
    columns: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    base: dict[str, Any] = Field(default_factory=dict)
    parts: tuple[AnyPart, ...] = ()
    rows: tuple[RowEntry, ...] | None = None


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
    data = file.model_dump(by_alias=True, exclude_unset=True)
    lines = [TITLE] if file.rows is None else [TITLE, ONE_BY_ONE]
    sections: list[str] = []
    for name, value in data.items():
        tables = value if isinstance(value, tuple) else []
        if isinstance(value, dict):
            sections += _format_table(f"[{name}]", value)
        elif tables and all(isinstance(table, dict) for table in tables):
            for table in tables:
                sections += _format_table(f"[[{name}]]", table)
        else:
            lines.append(f"{name} = {format_toml(value, name)}")
    return "\n".join([*lines, "", *sections])


def read_plan_file(path: str | Path) -> PlanFile:
    """Read the file of a plan."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, TypeError, ValueError) as error:
        raise usage_error(f"{path} could not be read: {error}.", "unreadable") from error
    return parse_plan_file(text, name=str(path))


def parse_plan_file(text: str, *, name: str = "The file") -> PlanFile:
    """Parse what the file of a plan holds."""
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise usage_error(f"{name} is not valid TOML: {error}.", "unreadable") from error
    if data.get("format") != FORMAT:
        raise usage_error(f"{name} is not a sweep: it should begin with format = {FORMAT!r}.", "unreadable")
    try:
        return PlanFile.model_validate(parse_value(data))
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        reason = f"`{place}` cannot be read: {first['msg']}."
        if first["type"] == "extra_forbidden":
            kinds: list[type[BaseModel]] = [PlanFile, RowEntry, *KINDS.values()]
            known = dict.fromkeys(field.alias or key for kind in kinds for key, field in kind.model_fields.items())
            reason = unknown_field(first["loc"][-1:], None, known).message
        raise usage_error(f"{name} of the sweep: {reason}", "unreadable", place) from invalid


def _format_table(header: str, values: Mapping[str, Any]) -> Iterator[str]:
    yield header
    for name, value in values.items():
        yield f"{_format_key(name)} = {format_toml(value, name)}"
    yield ""


def format_toml(value: Any, place: str) -> str:
    """Format a value as TOML. None, which TOML lacks, is written as `{ nothing = true }`.

    >>> format_toml([1, 0.5, True, "a \\"boat\\"", None], "seed")
    '[1, 0.5, true, "a \\\\"boat\\\\"", { nothing = true }]'
    """
    value = coerce_value(value)
    if value is None:
        return "{ nothing = true }"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _format_text(value, place)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (numbers.Real, Decimal)):
        return repr(float(value))
    if isinstance(value, Mapping):
        inner = [f"{_format_key(name)} = {format_toml(item, place)}" for name, item in value.items()]
        return f"{{ {', '.join(inner)} }}" if inner else "{}"
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return _format_list([format_toml(item, place) for item in value])
    raise usage_error(
        f"`{place}` holds {format_literal(value)}, which cannot be written to a file; save it and give its URL or path instead.",
        "not_writable",
        place,
    )


def _format_key(name: Any) -> str:
    """Format a name as a TOML key, quoted if necessary.

    >>> _format_key("seed"), _format_key("images[0].frames")
    ('seed', '"images[0].frames"')
    """
    return str(name) if re.fullmatch(r"[A-Za-z0-9_-]+", str(name)) else _format_text(str(name), "a name")


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


def _format_list(items: Sequence[str]) -> str:
    """Format a list on one line, or wrapped if that is too long."""
    line = f"[{', '.join(items)}]"
    if len(line) <= MAX_LINE_LENGTH or "\n" in line:
        return line
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + len(item) + 2 <= MAX_LINE_LENGTH:
            lines[-1] += f" {item},"
        else:
            lines.append(f"  {item},")
    return "\n".join(["[", *lines, "]"])


def _format_text(value: str, place: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise usage_error(
            f"`{place}` holds {format_literal(value)}, which cannot be written as UTF-8.", "not_writable", place
        ) from None
    # JSON's escapes are valid TOML, except for this character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
