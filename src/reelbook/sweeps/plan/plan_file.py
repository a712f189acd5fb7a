"""A plan as a file in TOML, which one can review, commit, and run again."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import InvalidInput
from ...models.base import Input
from ...models.catalog import endpoint
from ...models.problems import shown, unknown_field
from ..sweep_errors import usage_error
from .axes import Axis, Rows, SweepPart, Zipped, together
from .axis_values import values_of
from .make_plan import from_parts
from .plan import Plan, Recipe
from .plan_rows import Row, maker
from .prompt_templates import Template, template
from .sampling import Choices, Range, Sampled, sampled
from .toml_text import key, literal, value_of

FORMAT = "reelbook sweep 1"
STEPS: Mapping[str, Callable[[Plan, Mapping[str, Any]], Plan]] = {
    "repeated": lambda plan, said: plan.repeated(said["takes"]),
    "shuffled": lambda plan, said: plan.shuffled(said["seed"]),
    "sliced": lambda plan, said: plan[said.get("start") : said.get("stop") : said.get("step")],
    "sorted_by": lambda plan, said: plan.sorted_by(*said["names"], descending=said.get("descending", False)),
}
"""What may follow on the parts, and how it is done."""
Models = Callable[[str], type[Input]]
"""From the name of a model to its input."""


def text_of(plan: Plan) -> str:
    """The file of a plan: its base and its parts, or its rows where only they can tell what it is.

    >>> from reelbook.models.images_to_video import ImagesToVideo
    >>> from reelbook.sweeps.plan.sweep_call import sweep
    >>> print(text_of(sweep(ImagesToVideo(images=["a.png"]), fps=[12, 24])))
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
        f"model = {literal(plan.base.endpoint_id, 'model')}",
    ]
    if plan.recipe is None:
        lines += [
            "# Below are its runs one by one: functions or sums made it, which a file cannot hold.",
            f"columns = {literal(plan.columns, 'columns')}",
            f"labels = {literal(sorted(plan.labels), 'labels')}",
        ]
    body = _rows_said(plan) if plan.recipe is None else _recipe_said(plan, plan.recipe)
    return "\n".join([*lines, "", *_table("[base]", plan.base.changed()), *body])


def read(path: str | Path, *, models: Models | None = None) -> Plan:
    """The plan in a file; `models` tells the inputs of models that the catalog does not have."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, TypeError, ValueError) as error:
        raise usage_error(f"{path} could not be read: {error}.", "unreadable") from error
    return plan_in(text, name=str(path), models=models)


def plan_in(text: str, *, name: str = "The file", models: Models | None = None) -> Plan:
    """The plan that a text in TOML tells."""
    try:
        said = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise usage_error(f"{name} is no TOML: {error}.", "unreadable") from error
    if said.get("format") != FORMAT:
        raise usage_error(f"{name} is no sweep: it should begin with format = {FORMAT!r}.", "unreadable")
    try:
        return _planned(said, models or _of_catalog)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise usage_error(
            f"{name} has a part that cannot be read: {type(error).__name__}: {error}.", "unreadable"
        ) from error


def _of_catalog(model: str) -> type[Input]:
    return endpoint(model).input


def _planned(said: Mapping[str, Any], models: Models) -> Plan:
    _only(said, "The file", "format", "model", "base", "parts", "steps", "rows", "columns", "labels")
    base = models(said["model"])(**value_of(said.get("base", {})))
    if "rows" in said or "columns" in said:
        return _from_rows(base, said)
    plan = from_parts(base, tuple(_part(part) for part in said.get("parts", ())))
    for step in said.get("steps", ()):
        plan = STEPS[_kind(step, STEPS)](plan, next(iter(step.values())))
    return plan


def _recipe_said(plan: Plan, recipe: Recipe) -> Iterator[str]:
    for part in recipe.parts:
        yield from _part_lines(_known(part, type(plan.base)))
    for name, said in recipe.steps:
        yield "[[steps]]"
        yield f"{name} = {literal({word: value for word, value in said.items() if value is not None}, name)}"
        yield ""


def _known(part: SweepPart, model: type[Input]) -> SweepPart:
    """The part with what it has drawn."""
    if isinstance(part, Sampled) and part.drawn is None:
        return replace(part, drawn=part.values(model))
    return part


def _part_lines(part: SweepPart) -> Iterator[str]:
    match part:
        case Rows():
            yield from _table("[[parts]]", {"columns": part.names, "keep": part.keep})
            for cells in part.cells:
                yield from _table("[[parts.rows]]", cells)
        case Sampled():
            said = {"sampled": part.count, "method": part.method, "seed": part.seed, "drawn_for": part.ask}
            yield from _table("[[parts]]", said)
            yield from _table("[parts.fields]", {name: _span_said(span) for name, span in part.fields.items()})
            yield "# What was drawn. Without it, or when the sample above is changed, it is drawn anew."
            yield from _table("[parts.drawn]", part.drawn or {})
        case _:
            yield from _table("[[parts]]", _part_said(part))


def _part_said(part: SweepPart) -> dict[str, Any]:
    match part:
        case Axis():
            return {"axis": part.name, "values": part.values}
        case Template():
            return {"template": part.text, "field": part.name, "words": part.words}
        case Zipped():
            return {"zipped": [_part_said(member) for member in part.members]}
    raise usage_error(f"A {type(part).__name__} cannot be written to a file.", "not_writable")


def _span_said(span: Range | Choices) -> dict[str, Any]:
    return {"low": span.low, "high": span.high} if isinstance(span, Range) else {"choices": span.values}


def _part(said: Mapping[str, Any]) -> SweepPart:
    """A part as a file tells it."""
    match _kind(said, ("axis", "zipped", "template", "sampled", "columns")):
        case "axis":
            _only(said, "An axis", "axis", "values")
            return Axis(said["axis"], values_of(said["axis"], value_of(said["values"])))
        case "zipped":
            _only(said, "A zipped part", "zipped")
            return together([_part(member) for member in said["zipped"]])
        case "template":
            _only(said, "A template", "template", "field", "words")
            return template(said["template"], **value_of(said.get("words", {}))).onto(said.get("field", "prompt"))
        case "sampled":
            return _sample(said)
    _only(said, "A table", "columns", "keep", "rows")
    return Rows(tuple(said["columns"]), tuple(map(value_of, said["rows"])), tuple(said.get("keep", ())))


def _sample(said: Mapping[str, Any]) -> Sampled:
    _only(said, "A sample", "sampled", "method", "seed", "fields", "drawn_for", "drawn")
    spans = {
        name: (span["low"], span["high"]) if "low" in span else value_of(span["choices"])
        for name, span in said["fields"].items()
    }
    part = sampled(said["sampled"], spans, seed=said.get("seed", 0), method=said.get("method", "latin"))
    if said.get("drawn_for") != part.ask:
        return part
    drawn = {name: tuple(value_of(said["drawn"][name])) for name in part.fields}
    if {len(values) for values in drawn.values()} != {part.count}:
        raise usage_error("The values drawn are not as many as the sample has; delete them to draw anew.", "unreadable")
    return replace(part, drawn=drawn)


def _rows_said(plan: Plan) -> Iterator[str]:
    wire = plan.base.wire()
    for row in plan:
        yield "[[rows]]"
        yield f"input = {literal(_asked(row, wire), 'input')}"
        if row.labels:
            yield f"labels = {literal(row.labels, 'labels')}"
        if row.take:
            yield f"take = {row.take}"
        yield ""


def _asked(row: Row, wire: Mapping[str, Any]) -> dict[str, Any]:
    """What a row asks for beyond the base of its plan, which need not be its own: the plan may be a sum."""
    own = row.input or row.base
    mine = {} if own is None else own.wire()
    changed = {name: mine.get(name) for name in {**wire, **mine} if mine.get(name) != wire.get(name)}
    return changed if row.input is not None else {**changed, **row.asked}


def _from_rows(base: Input, said: Mapping[str, Any]) -> Plan:
    columns, labels = tuple(said["columns"]), frozenset(said.get("labels", ()))
    listed = said.get("rows", ())
    for row in listed:
        _only(row, "A row", "input", "labels", "take")
    asked = [value_of(row.get("input", {})) for row in listed]
    # A row may also change what does not vary by name, where plans of different bases were put together.
    places = tuple(dict.fromkeys((*columns, *(name for values in asked for name in values))))
    make = replace(maker(base, places, labels), columns=columns)
    rows = (
        make.row(number, values, value_of(row.get("labels", {})), row.get("take", 0))
        for number, (values, row) in enumerate(zip(asked, listed, strict=True))
    )
    return Plan(base, columns, tuple(rows), labels)


def _table(header: str, values: Mapping[str, Any]) -> Iterator[str]:
    yield header
    for name, value in values.items():
        yield f"{key(name)} = {literal(value, name)}"
    yield ""


def _kind(said: Mapping[str, Any], kinds: Iterable[str]) -> str:
    found = next((kind for kind in kinds if kind in said), None)
    if found is None:
        raise usage_error(f"The file has {shown(dict(said))}, which is none of {', '.join(kinds)}.", "unreadable")
    return found


def _only(said: Mapping[str, Any], what: str, *names: str) -> None:
    for name in said:
        if name not in names:
            odd = unknown_field((name,), None, names).message
            raise usage_error(f"{what} of the sweep's file: {odd}", "unreadable", name)
