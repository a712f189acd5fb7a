"""What is wrong with a value, in words: pydantic's findings as sentences that name field, value, bounds and a way out."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..errors import Problem
from .values import nearest_multiple

Schema = Mapping[str, Any]

WANTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "string_sub_type": "text",
    "string_unicode": "text that can be written as UTF-8",
    "bool_type": "True or False",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "none_required": "nothing (null)",
}


def problems_of(model: type[BaseModel], error: ValidationError) -> list[Problem]:
    """Every finding as a problem, in the order of the fields.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> try:
    ...     TextToVideo.model_validate({"prompt": "a boat", "num_frames": 5})
    ... except ValidationError as error:
    ...     problems_of(TextToVideo, error)[0].message
    '`num_frames` = 5 is outside 9 to 1441. The nearest allowed value is 9.'
    """
    schema = _schema(model)
    findings = error.errors(include_url=False)
    places = {found["loc"] for found in findings}
    return [_problem(schema, found) for found in findings if not _follows_from_another(found, places)]


def field_of(loc: Sequence[str | int]) -> str:
    """A place as one would type it.

    >>> field_of(("loras", 0, "scale"))
    'loras[0].scale'
    """
    return Problem(tuple(loc), "", "").field


def shown(value: Any, most: int = 60) -> str:
    """A value as code, shortened, because a prompt or a data URI can be megabytes long."""
    if isinstance(value, str) and len(value) > most:
        # Cut before repr, so that a long text costs nothing.
        return repr(value[: most - 1] + "…")
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 200:
        return f"a number of about {int(value.bit_length() * math.log10(2))} digits"
    if isinstance(value, (list, tuple, dict, set)) and len(value) > 5:
        return f"a {type(value).__name__} of {len(value)}"
    text = repr(value)
    return text if len(text) <= most else text[: most - 1] + "…"


@cache
def _schema(model: type[BaseModel]) -> Schema:
    return model.model_json_schema()


def _problem(schema: Schema, found: ErrorDetails) -> Problem:
    facts: Mapping[str, Any] = found.get("ctx", {})
    loc = (*found["loc"], facts["field"]) if not found["loc"] and "field" in facts else found["loc"]
    kind, value, field = found["type"], found["input"], field_of(loc)
    rule = _rule(schema, loc)
    match kind:
        case "missing":
            return Problem(loc, f"`{field}` is required.", kind)
        case "extra_forbidden":
            name, names = str(loc[-1]), sorted(_rule(schema, loc[:-1]).get("properties", ()))
            close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            hint = f" Did you mean `{close[0]}`?" if close else f" There are: {', '.join(names)}."
            where = f" of `{field_of(loc[:-1])}`" if len(loc) > 1 else ""
            return Problem(loc, f"There is no field `{shown(name)[1:-1]}`{where}.{hint}", kind, value, *close)
        case "greater_than_equal" | "less_than_equal":
            nearest = facts["ge"] if kind == "greater_than_equal" else facts["le"]
            return _outside(loc, kind, value, f"is outside {_bounds(rule)}", nearest)
        case "multiple_of":
            step = facts["multiple_of"]
            nearest = nearest_multiple(value, repr(step))
            return _outside(loc, kind, value, f"is not a multiple of {step}", nearest)
        case "literal_error" | "enum":
            choices = rule.get("enum", [rule["const"]] if "const" in rule else [])
            nearest = _nearest_choice(value, choices)
            listed = ", ".join(repr(choice) for choice in choices)
            hint = f" Did you mean {nearest!r}?" if nearest is not None else ""
            return Problem(loc, f"`{field}` = {shown(value)} is not one of {listed}.{hint}", kind, value, nearest)
        case "string_too_long":
            most = facts["max_length"]
            message = f"`{field}` has {len(value):,} characters; {most:,} at most are allowed. Shorten it."
            return Problem(loc, message, kind, shown(value), value[:most])
        case "too_short" | "too_long":
            bound = f"at least {facts['min_length']}" if kind == "too_short" else f"at most {facts['max_length']}"
            return Problem(loc, f"`{field}` needs {bound} entries and has {len(value)}.", kind, shown(value))
        case "size_form" | "size_range" | "no_preset":
            nearest = facts.get("nearest")
            hint = f" The nearest allowed value is {nearest}." if nearest else ""
            return Problem(loc, f"`{field}` = {shown(value)}: {found['msg']}.{hint}", kind, value, nearest)
        case _ if kind in WANTED:
            return _wrong_type(loc, kind, value, WANTED[kind], rule)
        case _ if not found["loc"]:
            return Problem(loc, f"{found['msg']}", kind, None, facts.get("nearest"))
        case _:
            return Problem(loc, f"`{field}` = {shown(value)}: {found['msg']}.", kind, shown(value))


def _follows_from_another(found: ErrorDetails, places: set[tuple[str | int, ...]]) -> bool:
    """Whether a list only counts as too short because its entries are wrong, which has its own sentence."""
    loc = found["loc"]
    return found["type"] == "too_short" and any(place[: len(loc)] == loc != place for place in places)


def _nearest_choice(value: Any, choices: Sequence[Any]) -> Any:
    """The choice that was probably meant: by number where all are numbers ("1080p" → "720p"), else by spelling."""
    numbers = [_leading_number(item) for item in (value, *choices)]
    if choices and None not in numbers:
        return min(zip(numbers[1:], choices, strict=True), key=lambda pair: abs(pair[0] - numbers[0]))[1]  # type: ignore[operator]
    close = difflib.get_close_matches(str(value)[:100], [str(choice) for choice in choices], n=1, cutoff=0.0)
    return next((choice for choice in choices if close and str(choice) == close[0]), None)


def _leading_number(value: Any) -> float | None:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)[a-zA-Z]{0,2}", str(value)[:100])
    return float(found[1]) if found else None


def _outside(loc: tuple[str | int, ...], kind: str, value: Any, what: str, nearest: Any) -> Problem:
    message = f"`{field_of(loc)}` = {shown(value)} {what}. The nearest allowed value is {nearest:g}."
    return Problem(loc, message, kind, value, nearest)


def _wrong_type(loc: tuple[str | int, ...], kind: str, value: Any, wanted: str, rule: Schema) -> Problem:
    nearest = _converted(value, kind)
    hint = f" Did you mean {nearest!r}?" if nearest is not None else ""
    given = "nothing (null)" if value is None else f"{shown(value)} ({type(value).__name__})"
    where = f"`{field_of(loc)}`" if loc else "The input"
    return Problem(loc, f"{where} needs {wanted}, not {given}.{hint}", kind, shown(value), nearest)


def _converted(value: Any, kind: str) -> Any:
    """What a value of the wrong type was probably meant to be."""
    try:
        if kind == "string_type" and isinstance(value, (int, float)) and not isinstance(value, bool):
            return str(value)
        if kind == "int_type" and isinstance(value, str) and len(value) < 20:
            return int(value)
        if kind == "int_type" and isinstance(value, float) and abs(value) < 1e15:
            return round(value)
        if kind == "float_type" and isinstance(value, str) and len(value) < 20 and math.isfinite(float(value)):
            return float(value)
        if kind == "bool_type" and value in (0, 1, "true", "false", "True", "False"):
            return value in (1, "true", "True")
    except (ValueError, OverflowError, TypeError):
        pass
    return None


def _bounds(rule: Schema) -> str:
    low, high = rule.get("minimum"), rule.get("maximum")
    if low is None or high is None:
        return (
            f"the bounds (at most {high:g})" if low is None and high is not None else f"the bounds (at least {low:g})"
        )
    return f"{low:g} to {high:g}"


def _rule(schema: Schema, loc: Sequence[str | int]) -> Schema:
    """The part of a JSON schema that speaks of one place; empty where it is silent."""
    rule: Any = _followed(schema, schema)
    for step in loc:
        options = [_followed(schema, option) for option in rule.get("anyOf", ())] or [rule]
        key = "items" if isinstance(step, int) else "properties"
        inner: Any = next((option[key] for option in options if key in option), {})
        rule = _followed(schema, inner if isinstance(step, int) else inner.get(step, {}))
    concrete: list[Any] = [option for option in rule.get("anyOf", ()) if option.get("type") != "null"]
    found: Schema = _followed(schema, concrete[0]) if concrete else rule
    return found


def _followed(schema: Schema, rule: Any) -> Any:
    while isinstance(rule, Mapping) and "$ref" in rule:
        rule = schema["$defs"][rule["$ref"].rpartition("/")[2]]
    return rule
