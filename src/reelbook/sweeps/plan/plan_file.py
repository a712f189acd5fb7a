"""TOML files of plans, to review, commit and run again."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import InvalidInput
from ...models.base import Input
from ...models.catalog import get_endpoint
from ...models.problems import format_literal, unknown_field
from ..sweep_errors import usage_error
from .axes import Axis, Rows, SweepPart, Zipped, zip_parts
from .axis_values import coerce_axis_values
from .make_plan import make_plan_from_parts
from .plan import Plan
from .plan_rows import Row, make_row_maker
from .prompt_templates import Template, template
from .recipe import Recipe
from .sampling import Choices, Range, Sampled, sampled
from .toml_text import format_key, format_toml, parse_value

FORMAT = "reelbook sweep 1"
STEPS: Mapping[str, Callable[[Plan, Mapping[str, Any]], Plan]] = {
    "repeated": lambda plan, data: plan.repeated(data["takes"]),
    "shuffled": lambda plan, data: plan.shuffled(data["seed"]),
    "sliced": lambda plan, data: plan[data.get("start") : data.get("stop") : data.get("step")],
    "sorted_by": lambda plan, data: plan.sorted_by(*data["names"], descending=data.get("descending", False)),
}
"""The steps that may follow the parts, and how to apply them."""
FindModel = Callable[[str], type[Input]]
"""Maps a model id to its input class."""


def format_plan(plan: Plan) -> str:
    """Format a plan as TOML: its base and parts, or its rows if it has no recipe.

    >>> from reelbook.models.images_to_video import ImagesToVideo
    >>> from reelbook.sweeps.plan.sweep_call import sweep
    >>> print(format_plan(sweep(ImagesToVideo(images=["a.png"]), fps=[12, 24])))
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
    lines = [
        '# A sweep of Reelbook. Read it with reelbook.sweep.read("…"), or run it with: reelbook sweep …',
        f'format = "{FORMAT}"',
        f"model = {format_toml(plan.base.endpoint_id, 'model')}",
    ]
    if plan.recipe is None:
        lines += [
            "# Below are its runs one by one: functions or sums made it, which a file cannot hold.",
            f"columns = {format_toml(plan.columns, 'columns')}",
            f"labels = {format_toml(sorted(plan.labels), 'labels')}",
        ]
    body = _format_rows(plan) if plan.recipe is None else _format_recipe(plan, plan.recipe)
    return "\n".join([*lines, "", *_table("[base]", plan.base.changed()), *body])


def read_plan(path: str | Path, *, models: FindModel | None = None) -> Plan:
    """Read a plan from a file; `models` provides input classes of models outside the catalog."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, TypeError, ValueError) as error:
        raise usage_error(f"{path} could not be read: {error}.", "unreadable") from error
    return parse_plan(text, name=str(path), models=models)


def parse_plan(text: str, *, name: str = "The file", models: FindModel | None = None) -> Plan:
    """Parse a plan from TOML."""
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise usage_error(f"{name} is no TOML: {error}.", "unreadable") from error
    if data.get("format") != FORMAT:
        raise usage_error(f"{name} is no sweep: it should begin with format = {FORMAT!r}.", "unreadable")
    try:
        return _make_plan(data, models or (lambda model: get_endpoint(model).input))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise usage_error(
            f"{name} has a part that cannot be read: {type(error).__name__}: {error}.", "unreadable"
        ) from error


def _make_plan(data: Mapping[str, Any], models: FindModel) -> Plan:
    _check_keys(data, "The file", "format", "model", "base", "parts", "steps", "rows", "columns", "labels")
    base = models(data["model"])(**parse_value(data.get("base", {})))
    if "rows" in data or "columns" in data:
        return _plan_from_rows(base, data)
    plan = make_plan_from_parts(base, tuple(_parse_part(part) for part in data.get("parts", ())))
    for step in data.get("steps", ()):
        plan = STEPS[_find_kind(step, STEPS)](plan, next(iter(step.values())))
    return plan


def _format_recipe(plan: Plan, recipe: Recipe) -> Iterator[str]:
    for part in recipe.parts:
        yield from _format_part(_with_drawn(part, type(plan.base)))
    for name, data in recipe.steps:
        yield "[[steps]]"
        yield f"{name} = {format_toml({word: value for word, value in data.items() if value is not None}, name)}"
        yield ""


def _with_drawn(part: SweepPart, model: type[Input]) -> SweepPart:
    """The part with its drawn values, if it is a sample."""
    if isinstance(part, Sampled) and part.drawn is None:
        return replace(part, drawn=part.values(model))
    return part


def _format_part(part: SweepPart) -> Iterator[str]:
    match part:
        case Rows():
            yield from _table("[[parts]]", {"columns": part.names, "keep": part.keep})
            for cells in part.cells:
                yield from _table("[[parts.rows]]", cells)
        case Sampled():
            data = {"sampled": part.count, "method": part.method, "seed": part.seed, "drawn_for": part.fingerprint}
            yield from _table("[[parts]]", data)
            yield from _table("[parts.fields]", {name: _domain_values(domain) for name, domain in part.fields.items()})
            yield "# What was drawn. Without it, or when the sample above is changed, it is drawn anew."
            yield from _table("[parts.drawn]", part.drawn or {})
        case _:
            yield from _table("[[parts]]", _part_values(part))


def _part_values(part: SweepPart) -> dict[str, Any]:
    match part:
        case Axis():
            return {"axis": part.name, "values": part.values}
        case Template():
            return {"template": part.text, "field": part.name, "words": part.words}
        case Zipped():
            return {"zipped": [_part_values(member) for member in part.members]}
    raise usage_error(f"A {type(part).__name__} cannot be written to a file.", "not_writable")


def _domain_values(domain: Range | Choices) -> dict[str, Any]:
    return {"low": domain.low, "high": domain.high} if isinstance(domain, Range) else {"choices": domain.values}


def _parse_part(data: Mapping[str, Any]) -> SweepPart:
    """Parse a part of a plan file."""
    match _find_kind(data, ("axis", "zipped", "template", "sampled", "columns")):
        case "axis":
            _check_keys(data, "An axis", "axis", "values")
            return Axis(data["axis"], coerce_axis_values(data["axis"], parse_value(data["values"])))
        case "zipped":
            _check_keys(data, "A zipped part", "zipped")
            return zip_parts([_parse_part(member) for member in data["zipped"]])
        case "template":
            _check_keys(data, "A template", "template", "field", "words")
            return template(data["template"], **parse_value(data.get("words", {}))).for_field(
                data.get("field", "prompt")
            )
        case "sampled":
            return _parse_sample(data)
    _check_keys(data, "A table", "columns", "keep", "rows")
    return Rows(tuple(data["columns"]), tuple(map(parse_value, data["rows"])), tuple(data.get("keep", ())))


def _parse_sample(data: Mapping[str, Any]) -> Sampled:
    _check_keys(data, "A sample", "sampled", "method", "seed", "fields", "drawn_for", "drawn")
    domains = {
        name: (domain["low"], domain["high"]) if "low" in domain else parse_value(domain["choices"])
        for name, domain in data["fields"].items()
    }
    part = sampled(data["sampled"], domains, seed=data.get("seed", 0), method=data.get("method", "latin"))
    if data.get("drawn_for") != part.fingerprint:
        return part
    drawn = {name: tuple(parse_value(data["drawn"][name])) for name in part.fields}
    if {len(values) for values in drawn.values()} != {part.count}:
        raise usage_error("The values drawn are not as many as the sample has; delete them to draw anew.", "unreadable")
    return replace(part, drawn=drawn)


def _format_rows(plan: Plan) -> Iterator[str]:
    wire = plan.base.wire()
    for row in plan:
        yield "[[rows]]"
        yield f"input = {format_toml(_changed_values(row, wire), 'input')}"
        if row.labels:
            yield f"labels = {format_toml(row.labels, 'labels')}"
        if row.take:
            yield f"take = {row.take}"
        yield ""


def _changed_values(row: Row, wire: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a row that differ from the base of its plan, which, in a sum of plans, need not be the row's."""
    request = row.input or row.base
    row_wire = {} if request is None else request.wire()
    changed = {name: row_wire.get(name) for name in {**wire, **row_wire} if row_wire.get(name) != wire.get(name)}
    return changed if row.input is not None else {**changed, **row.given}


def _plan_from_rows(base: Input, data: Mapping[str, Any]) -> Plan:
    columns, labels = tuple(data["columns"]), frozenset(data.get("labels", ()))
    rows_data = data.get("rows", ())
    for row in rows_data:
        _check_keys(row, "A row", "input", "labels", "take")
    given = [parse_value(row.get("input", {})) for row in rows_data]
    # In a sum of plans with different bases, a row may also change fields that are not columns.
    names = tuple(dict.fromkeys((*columns, *(name for values in given for name in values))))
    make = replace(make_row_maker(base, names, labels), columns=columns)
    rows = (
        make.row(number, values, parse_value(row.get("labels", {})), row.get("take", 0))
        for number, (values, row) in enumerate(zip(given, rows_data, strict=True))
    )
    return Plan(base, columns, tuple(rows), labels)


def _table(header: str, values: Mapping[str, Any]) -> Iterator[str]:
    yield header
    for name, value in values.items():
        yield f"{format_key(name)} = {format_toml(value, name)}"
    yield ""


def _find_kind(data: Mapping[str, Any], kinds: Iterable[str]) -> str:
    found = next((kind for kind in kinds if kind in data), None)
    if found is None:
        raise usage_error(
            f"The file has {format_literal(dict(data))}, which is none of {', '.join(kinds)}.", "unreadable"
        )
    return found


def _check_keys(data: Mapping[str, Any], what: str, *names: str) -> None:
    for name in data:
        if name not in names:
            reason = unknown_field((name,), None, names).message
            raise usage_error(f"{what} of the sweep's file: {reason}", "unreadable", name)
