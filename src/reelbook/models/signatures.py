"""Readable signatures and docstrings of input classes, from their JSON schemas."""

from __future__ import annotations

import inspect
import keyword
import textwrap
from collections.abc import Iterator, Mapping
from inspect import Parameter
from typing import Any

from pydantic import BaseModel

from ..util.printable import printable
from .problems import format_bounds, format_number

MAX_CHOICES = 8
"""How many choices a type lists; a description can have thousands."""
PLAIN_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "object": "dict",
    "null": "None",
}


def present(cls: type[BaseModel], schema: Mapping[str, Any], about: str, call: str) -> None:
    """Set a class's signature and docstring; `call` is the expression for the class in code.

    The first required field is also taken by position, all others by name, required ones first.

    >>> from reelbook.models.text_to_video import LoRA
    >>> str(inspect.signature(LoRA))
    '(path: str, *, scale: float = 1.0, weight_name: str | None = None)'
    """
    rules = schema.get("properties", {})
    lines = [printable(inspect.cleandoc(about)), "", "Parameters", "----------"]
    parameters: list[Parameter] = []
    for attribute, field in cls.model_fields.items():
        name = field.alias or attribute
        rule = rules[name] if isinstance(rules.get(name), Mapping) else {}
        kind = textwrap.shorten(type_name(rule, schema.get("$defs", {})), 120, placeholder="…")
        default = Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
        ending = (
            "required" if field.is_required() else f"default {textwrap.shorten(repr(default), 60, placeholder='…')}"
        )
        lines.append(f"{name} : {', '.join([kind, *_list_bounds(rule), ending])}")
        about_field = " ".join(printable(field.description or "").split())
        lines += [f"    {line}" for line in textwrap.wrap(about_field, 96)]
        if name.isidentifier() and not keyword.iskeyword(name):
            # A type of that name, because a signature has quotes around a text.
            annotation = type(kind, (), {"__module__": "builtins"})
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation))
    is_complete = len(parameters) == len(cls.model_fields) and cls.model_config.get("extra") != "allow"
    parameters.sort(key=lambda parameter: parameter.default is not Parameter.empty)
    if parameters and parameters[0].default is Parameter.empty:
        parameters[0] = parameters[0].replace(kind=Parameter.POSITIONAL_OR_KEYWORD)
    others = [] if is_complete else [Parameter("others", Parameter.VAR_KEYWORD)]
    cls.__signature__ = inspect.Signature([*parameters, *others])
    if ">>>" not in about:
        required = [f"{parameter.name}=…" for parameter in parameters if parameter.default is Parameter.empty]
        lines += ["", "Example", "-------", f"{call}({', '.join(required)})"]
    cls.__doc__ = "\n".join(lines)


def type_name(rule: Any, definitions: Mapping[str, Any]) -> str:
    """A JSON schema's type as a Python annotation.

    >>> type_name({"enum": ["480p", "720p"]}, {}), type_name({"type": "array", "items": {"type": "number"}}, {})
    ("'480p' | '720p'", 'list[float]')
    >>> type_name({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {}), type_name({"$ref": "#/$defs/LoRA"}, {})
    ('int | None', 'LoRA')
    """
    if not isinstance(rule, Mapping):
        return "Any"
    if rule.get("x-media") == "image":
        return "Image"
    if "enum" in rule or "const" in rule:
        choices = rule.get("enum", [rule.get("const")])
        return " | ".join([*map(repr, choices[:MAX_CHOICES]), *(["…"] if len(choices) > MAX_CHOICES else [])])
    if "anyOf" in rule:
        return " | ".join(dict.fromkeys(type_name(form, definitions) for form in rule["anyOf"][:MAX_CHOICES]))
    if "$ref" in rule:
        name = rule["$ref"].rpartition("/")[2]
        target = definitions.get(name, {"properties": {}})
        return name if "properties" in target else type_name(target, definitions)
    if rule.get("type") == "array":
        return f"list[{type_name(rule.get('items'), definitions)}]"
    return PLAIN_TYPES.get(str(rule.get("type")), "Any")


def _list_bounds(rule: Mapping[str, Any]) -> Iterator[str]:
    """The bounds and steps of a number, as text."""
    for part in rule.get("anyOf", [rule]):
        if bounds := format_bounds(part):
            yield bounds
        if "multipleOf" in part:
            yield f"in steps of {format_number(part['multipleOf'])}"
