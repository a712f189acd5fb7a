"""Readable signatures and docstrings of input classes, from their JSON schemas."""

from __future__ import annotations

import inspect
import keyword
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from ..util.printable import printable
from .problems import format_number

MAX_CHOICES = 8
"""How many choices a type lists; a description can have thousands."""
MAX_TYPE_LETTERS = 120
MAX_HELP_LINES = 400
EXAMPLES = {"string": "a text", "image": "picture.png", "integer": 1, "number": 1.0, "boolean": True}
PLAIN_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "object": "dict",
    "null": "None",
}


class TypeName(str):
    """The name of a type, without the quotes that a signature puts around a plain string."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def present(cls: type[BaseModel], schema: Mapping[str, Any], about: str, call: str) -> None:
    """Set a class's signature and docstring; `call` is the expression for the class in code."""
    signature = signature_of(cls, schema)
    cls.__signature__ = signature
    cls.__doc__ = "\n".join(_paragraphs(cls, schema, about, call, signature))


def signature_of(cls: type[BaseModel], schema: Mapping[str, Any]) -> inspect.Signature:
    """The parameters of an input: the first required field also by position, all others by name, required ones first.

    >>> from reelbook.models.text_to_video import LoRA
    >>> str(inspect.signature(LoRA))
    '(path: str, *, scale: float = 1.0, weight_name: str | None = None)'
    """
    required: list[inspect.Parameter] = []
    optional: list[inspect.Parameter] = []
    for name, rule, field in _fields(cls, schema):
        if not name.isidentifier() or keyword.iskeyword(name):
            continue
        annotation = TypeName(_cut(type_name(rule, schema.get("$defs", {})), MAX_TYPE_LETTERS))
        if field.is_required():
            kind = inspect.Parameter.KEYWORD_ONLY if required else inspect.Parameter.POSITIONAL_OR_KEYWORD
            required.append(inspect.Parameter(name, kind, annotation=annotation))
        else:
            default = field.get_default(call_default_factory=True)
            optional.append(
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            )
    others = [inspect.Parameter("others", inspect.Parameter.VAR_KEYWORD)]
    is_complete = len(required) + len(optional) == len(cls.model_fields) and cls.model_config.get("extra") != "allow"
    return inspect.Signature([*required, *optional, *([] if is_complete else others)])


def positional_field(cls: type[BaseModel]) -> str | None:
    """The field whose value may be given without its name: the first required one."""
    return next((field.alias or name for name, field in cls.model_fields.items() if field.is_required()), None)


def type_name(rule: Any, definitions: Mapping[str, Any] | None = None) -> str:
    """A JSON schema's type as a Python annotation.

    >>> type_name({"enum": ["480p", "720p"]}), type_name({"type": "array", "items": {"type": "number"}})
    ("'480p' | '720p'", 'list[float]')
    >>> type_name({"anyOf": [{"type": "integer"}, {"type": "null"}]}), type_name({"$ref": "#/$defs/LoRA"})
    ('int | None', 'LoRA')
    """
    if not isinstance(rule, Mapping):
        return "Any"
    if rule.get("x-media") == "image":
        return "Image"
    if isinstance(rule.get("enum"), list):
        choices = [repr(choice) for choice in rule["enum"][:MAX_CHOICES]]
        return " | ".join([*choices, *(["…"] if len(rule["enum"]) > MAX_CHOICES else [])])
    if "const" in rule:
        return repr(rule["const"])
    for word in ("anyOf", "oneOf"):
        if isinstance(rule.get(word), list):
            return " | ".join(dict.fromkeys(type_name(one, definitions) for one in rule[word][:MAX_CHOICES])) or "Any"
    if isinstance(rule.get("$ref"), str):
        return _reference(rule["$ref"].rpartition("/")[2], definitions or {})
    kind = rule.get("type")
    if isinstance(kind, list):
        return " | ".join(type_name({**rule, "type": one}, definitions) for one in kind)
    if kind == "array":
        return f"list[{type_name(rule.get('items'), definitions)}]"
    return PLAIN_TYPES.get(str(kind), "Any")


def _reference(name: str, definitions: Mapping[str, Any]) -> str:
    """The name of an object's definition; the type of any other definition."""
    rule = definitions.get(name)
    is_object = not isinstance(rule, Mapping) or "properties" in rule or "type" not in rule
    return (name if name.isidentifier() else "dict") if is_object else type_name(rule)


def _fields(cls: type[BaseModel], schema: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    rules = schema.get("properties", {})
    for name, field in cls.model_fields.items():
        spelling = field.alias or name
        yield spelling, rules.get(spelling, {}), field


def _paragraphs(
    cls: type[BaseModel], schema: Mapping[str, Any], about: str, call: str, signature: inspect.Signature
) -> Iterator[str]:
    yield printable(inspect.cleandoc(about))
    yield from ("", "Parameters", "----------")
    lines = 0
    for name, rule, field in _fields(cls, schema):
        words = [_cut(type_name(rule, schema.get("$defs", {})), MAX_TYPE_LETTERS), *_bounds(rule)]
        words.append(
            "required"
            if field.is_required()
            else f"default {_cut(repr(field.get_default(call_default_factory=True)), 60)}"
        )
        about_field = textwrap.wrap(" ".join(printable(field.description or "").split()), 96)
        yield f"{name} : {', '.join(words)}"
        yield from (f"    {line}" for line in about_field)
        lines += 1 + len(about_field)
        if lines > MAX_HELP_LINES:
            yield "… and more: see model_json_schema()."
            break
    if ">>>" not in about:
        yield from ("", "Example", "-------", f"{call}({_example(cls, schema, signature)})")


def _bounds(rule: Any) -> Iterator[str]:
    """The bounds of a number, as text."""
    for part in filter(
        lambda part: isinstance(part, Mapping), rule.get("anyOf", [rule]) if isinstance(rule, Mapping) else []
    ):
        low, high, step = (part.get(word) for word in ("minimum", "maximum", "multipleOf"))
        if low is not None:
            yield f"at least {format_number(low)}" if high is None else f"{format_number(low)} to {format_number(high)}"
        elif high is not None:
            yield f"at most {format_number(high)}"
        if step:
            yield f"in steps of {format_number(step)}"


def _example(cls: type[BaseModel], schema: Mapping[str, Any], signature: inspect.Signature) -> str:
    """Arguments of an example call: the required fields."""
    rules = schema.get("properties", {})
    parts = []
    for name, parameter in signature.parameters.items():
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            rule = rules[name] if isinstance(rules.get(name), Mapping) else {}
            choices = rule.get("enum") or [rule.get("minimum")]
            kind = "image" if rule.get("x-media") == "image" else str(rule.get("type"))
            value = repr(EXAMPLES.get(kind, TypeName("…")) if choices[0] is None else choices[0])
            parts.append(value if parameter.kind is parameter.POSITIONAL_OR_KEYWORD else f"{name}={value}")
    return ", ".join(parts)


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"
