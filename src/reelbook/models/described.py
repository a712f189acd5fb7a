"""Input classes of any model, built from its OpenAPI description: ordinary pydantic inputs, like those of the catalog.

The types of a class check each field. What they cannot express, such as which fields belong together, is checked last, by
`jsonschema`, on what would be sent.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache
from types import NoneType
from typing import Annotated, Any, ClassVar, Self, Union, get_args, get_origin
from urllib.parse import unquote

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    Strict,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    create_model,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, SchemaError

from ..errors import BadDescription, Problem
from ..util.printable import map_texts, replace_surrogates
from .base import Input, Part
from .images import Image, is_picture, pictures_of, read_picture, require_list
from .problems import WANTED, compact_value, format_literal, format_subject
from .signatures import present
from .value_types import (
    Flag,
    Json,
    MultipleOf,
    Ordered,
    coerce_float,
    coerce_int,
    require_utf8,
)

_LIMITS = {
    "minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt",
    "minLength": "min_length", "maxLength": "max_length", "minItems": "min_length", "maxItems": "max_length",
}  # fmt: skip
_ENVELOPE = {"endpointId", "input"}
_RULES_BY_NAME = {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions", "schemas"}
"""Keywords with an object of rules, whose names are those of fields or of the rules."""
_VALUES = {"default", "const", "enum", "example", "examples"}
"""Keywords with values, which are no rules."""
# Of any type, because mypy knows types that are made while it runs from none that are written.
_field: Any = Field
_tuple: Any = tuple
_dict: Any = dict


def describe(document: Mapping[str, Any], endpoint_id: str | None = None) -> type[Any]:
    """The input class for a model in an OpenAPI 3.0 or 3.1 description; the same class for the same description.

    >>> schema = {"properties": {"prompt": {"type": "string"}}}
    >>> post = {"requestBody": {"content": {"application/json": {"schema": schema}}}}
    >>> describe({"openapi": "3.1.0", "paths": {"/svc/echo": {"post": post}}})(prompt="a paper boat")
    model('svc/echo')(prompt='a paper boat')
    """
    try:
        return _build(json.dumps(document, allow_nan=False), (endpoint_id or "").strip("/"))
    except BadDescription:
        raise
    except Exception as error:
        # It is not JSON, too deep, or a keyword has a value that it cannot have: then pydantic may raise anything.
        reason = str(error).partition("\n")[0][:300]
        raise BadDescription(f"The description cannot be read: {reason}.") from error


@cache
def _build(source: str, endpoint_id: str) -> type[Described]:
    from jsonschema import Draft202012Validator
    from jsonschema import ValidationError as Mismatch
    from jsonschema.validators import extend
    from referencing import Registry

    builder = _Builder(map_texts(json.loads(source), replace_surrogates), endpoint_id)
    cls = builder.input_class()

    def check_multiple(validator: Any, step: Any, value: Any, _: Any) -> Iterator[Mismatch]:
        # By the digits as written, because `jsonschema` takes 0.15 for no multiple of 0.05.
        if validator.is_type(value, "number") and Fraction(str(value)) % Fraction(str(step)):
            yield Mismatch(f"{value} is no multiple of {step}")

    # With a registry of its own it fetches nothing.
    cls._rules = extend(Draft202012Validator, {"multipleOf": check_multiple})(builder.root, registry=Registry())
    return cls


class Record(Part):
    """An object inside a described input. A field named as a method is read as `record["copy"]`, or as `record.copy_`."""

    model_config = ConfigDict(protected_namespaces=(), use_attribute_docstrings=False, populate_by_name=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """Do nothing: only an input has a signature, once its class is complete."""

    @model_validator(mode="before")
    @classmethod
    def _from_part(cls, values: Any) -> Any:
        """The fields of a part of another class, such as a `LoRA`."""
        return {name: item for name, item in values if item is not None} if isinstance(values, BaseModel) else values

    @model_serializer(mode="wrap")
    def _as_sent(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The values by their names in JSON; a null that means the same as leaving the field out is left out."""
        sent: dict[str, Any] = {}
        for key, value in serialize(self).items():
            field = type(self).model_fields.get(key)
            if value is not None or field is None or field.is_required() or field.default is not None:
                sent[key if field is None or field.alias is None else field.alias] = value
        return sent

    def __hash__(self) -> int:
        # Free objects are plain dicts, which have no hash of their own.
        return hash(json.dumps(self.model_dump(mode="json"), sort_keys=True))

    def __repr__(self) -> str:
        # A dict literal, so that an input's `repr` is code.
        return repr(self.changed())


class Described(Record, Input):
    """An input whose fields come from a description."""

    _rules: ClassVar[Any]
    """The validator of the description."""

    __repr__ = Input.__repr__
    __str__ = Input.__repr__

    def wire(self) -> dict[str, Any]:
        """The JSON object that the service receives: defaults included, redundant nulls omitted."""
        return self.model_dump(mode="json")

    @classmethod
    def _spelling(cls) -> str:
        return f"model({cls.endpoint_id!r})"

    @model_validator(mode="after")
    def _fits_description(self) -> Self:
        from jsonschema.exceptions import best_match, relevance

        # What is sent in the place of a picture is not known yet, and a default is the service's own.
        pictures = {place for place, text in pictures_of(self) if isinstance(text, Image)}
        changed = self.changed()
        try:
            errors = [(tuple(error.absolute_path), error) for error in self._rules.iter_errors(self.wire())]
            error = best_match(
                (error for place, error in errors if place not in pictures and (not place or place[0] in changed)),
                # A constant tells alternatives apart: where it is another one, that alternative is not meant.
                key=lambda error: (error.validator == "const", relevance(error)),
            )
        except Exception:
            # Rules that Python cannot read, such as patterns of JavaScript, are left to the service.
            return self
        if error is not None:
            loc, value = tuple(error.absolute_path), format_literal(error.instance)
            rule = f"`{error.validator}` is {format_literal(error.validator_value)}"
            words = f"{format_subject(loc)} = {value} does not fit its description: {rule}."
            problem = Problem(loc, words, "description", compact_value(error.instance))
            raise PydanticCustomError("description", "does not fit the description", {"problem": problem})
        return self


# The description.


class _Builder:
    """Reads a document and builds the classes of one model from it."""

    def __init__(self, document: Any, endpoint_id: str) -> None:
        version = _object(document).get("openapi")
        if not str(version).startswith("3."):
            raise BadDescription(f"This is not an OpenAPI 3 description: its `openapi` is {format_literal(version)}.")
        self.root = _modernise(document, is_3_0=str(version).startswith("3.0"))
        path, schema = self.choose_call(endpoint_id)
        self.endpoint_id = endpoint_id or unquote(path).strip("/")
        if "{" in self.endpoint_id or not self.endpoint_id:
            words = f"The address {format_literal(path)} does not say which model this is: pass its endpoint_id."
            raise BadDescription(words)
        # `#` and `#/$defs/…` refer to the schema, all other references to the document.
        self.root = {**self.root, **_object(schema)}
        self.rule = self.flat(schema)
        self.records: dict[str, Any] = {}
        """The classes of objects by their rules as text."""

    def choose_call(self, endpoint_id: str) -> tuple[str, Any]:
        """Path and schema of this model's POST; by default of the first that is for one model."""
        calls: dict[str, Any] = {}
        for path, entry in _object(self.root.get("paths", {})).items():
            post = self.flat(self.flat(entry).get("post", {}))
            content = _object(self.flat(post.get("requestBody", {})).get("content", {}))
            schemas = [content[name].get("schema") for name in content if "json" in name.lower() or "*" in name]
            if schemas and schemas[0] is not None:
                calls[path] = schemas[0]
        named = [path for path in calls if endpoint_id and unquote(path).rstrip("/").endswith(f"/{endpoint_id}")]
        for path, schema in calls.items():
            # A run call takes the input of any model, and its id.
            if path in named or (not named and not self.flat(schema).get("properties", {}).keys() >= _ENVELOPE):
                return path, schema
        raise BadDescription("The description has no POST that takes one model's input as JSON.")

    def flat(self, rule: Any, seen: tuple[str, ...] = ()) -> dict[str, Any]:
        """A rule with its references and `allOf` merged into it; its parts are as the description has them."""
        if isinstance(rule, bool):
            return {}
        own = dict(_object(rule))
        parts = own.pop("allOf", [])
        if "$ref" in own:
            ref = str(own.pop("$ref"))
            if ref in seen:
                raise BadDescription(f"The reference {format_literal(ref)} goes round in a circle.")
            parts, seen = [self.target(ref), *parts], (*seen, ref)
        for part in parts:
            other = self.flat(part, seen)
            fields, others = own.get("properties", {}), other.get("properties", {})
            shared = {name: {"allOf": [fields[name], others[name]]} for name in fields if name in others}
            required = dict.fromkeys([*own.get("required", ()), *other.get("required", ())])
            merged = {"properties": {**fields, **others, **shared}, "required": list(required)}
            own = {**other, **own, **{word: value for word, value in merged.items() if value}}
        return own

    def target(self, ref: str) -> Any:
        """What a reference leads to. Nothing is fetched."""
        node: Any = self.root if ref == "#" or ref.startswith("#/") else None
        for token in unquote(ref).split("/")[1:]:
            name = token.replace("~1", "/").replace("~0", "~")
            items = {str(place): item for place, item in enumerate(node)} if isinstance(node, list) else node
            node = items.get(name) if items else None
        if node is None:
            raise BadDescription(f"The reference {format_literal(ref)} leads to nothing in the description.")
        return node

    def fields(self, rule: Mapping[str, Any]) -> tuple[dict[str, Any], list[str], Any]:
        """The rules of an object's fields, those of its alternatives included; the required ones; the rule of any others."""
        rules, required = dict(rule.get("properties", {})), list(rule.get("required", ()))
        others = rule.get("additionalProperties", False)
        forms = [self.flat(form) for form in (*rule.get("anyOf", ()), *rule.get("oneOf", ()))]
        parts = [self.fields(form) for form in forms if _type(form) in ("object", "")]
        for name in dict.fromkeys(name for fields, *_ in parts for name in fields):
            listed = [fields[name] for fields, *_ in parts if name in fields]
            joined = {"anyOf": listed} if any(source != listed[0] for source in listed) else listed[0]
            # Giving a field of some alternatives only, even with its default, would select one of them.
            joined = joined if len(listed) == len(parts) else {"allOf": [joined], "default": None}
            rules[name] = {"allOf": [rules[name], joined]} if name in rules else joined
            required += [name] if all(name in needed for _, needed, _ in parts) else []
        others = others or any(more and fields for fields, _, more in parts)
        rules |= {name: others or True for name in required if rules and name not in rules}
        lists = [value for word, value in rule.items() if "order" in word and isinstance(value, list)]
        order = {name: place for place, name in enumerate(lists[0] if lists else [])}
        places = {name: order.get(name, self.flat(rules[name]).get("x-order", math.inf)) for name in rules}
        return {name: rules[name] for name in sorted(rules, key=places.__getitem__)}, required, others or not rules

    def input_class(self) -> type[Described]:
        rule, endpoint_id = self.rule, self.endpoint_id
        if _type(rule) not in ("object", ""):
            raise BadDescription(f"The input is of the type {rule['type']}; it should be an object with fields.")
        cls: type[Described] = self.record(rule, endpoint_id.rpartition("/")[2].title(), Described)
        cls.endpoint_id = endpoint_id
        about = str(rule.get("description") or f"What to ask of {endpoint_id}.")
        present(cls, cls.model_json_schema(), about, f"rb.{cls._spelling()}")
        return cls

    def record(self, rule: Mapping[str, Any], name: str, base: type[Any], inside: tuple[str, ...] = ()) -> Any:
        """The class of an object."""
        rules, required, others = self.fields(rule)
        made: dict[str, Any] = {}
        for field_name, source in rules.items():
            notes = self.flat(source)
            annotation = self.type_of(source, field_name, inside)
            default: Any = ... if field_name in required else None
            if default is None and notes.get("default") is not None:
                # The service fills in a default that does not fit.
                with suppress(ValidationError):
                    default = TypeAdapter(annotation).validate_python(notes["default"])
            texts: dict[str, Any] = {word: notes.get(word) for word in ("title", "description")}
            if default is None and annotation is not None and NoneType not in get_args(annotation):
                annotation = annotation | None
                texts["json_schema_extra"] = _show_as_left_out
            # A name may be empty, or taken by a method.
            names = (name for name in (field_name, f"{field_name}_", f"field_{len(made)}") if name and name[0] != "_")
            free = (name for name in names if name == field_name or name not in rules)
            attribute = next(name for name in free if not hasattr(Described, name))
            alias = None if attribute == field_name else field_name
            made[attribute] = (annotation, _field(default, alias=alias, validate_default=False, **texts))
        if others is not False:
            extra = {"__annotations__": {"__pydantic_extra__": _dict[str, self.type_of(others, "", inside)]}}
            base = type(base.__name__, (base,), {**extra, "model_config": {"extra": "allow"}, "__module__": __name__})
        # Any, because mypy would treat the name below as that of a declared class.
        make: Any = create_model
        plain_name = re.sub(r"\W", "", str(rule.get("title") or name))[:60] or "Part"
        return make(plain_name, __base__=base, __doc__=rule.get("description"), **made)

    def type_of(self, source: Any, name: str = "", inside: tuple[str, ...] = ()) -> Any:
        """The Python type of what a rule accepts; `name` is that of its field, `inside` are the rules around it."""
        if isinstance(source, bool):
            return Json
        rule = self.flat(source)
        kind = _type(rule)
        key = json.dumps({word: rule[word] for word in rule if not _is_annotation(word)}, sort_keys=True)
        if key in inside:
            return Json  # A rule within itself is left to the last check.
        inside = (*inside, key)
        fields, _, others = self.fields(rule) if kind == "object" else ({}, [], True)
        if fields and "enum" not in rule:
            if key not in self.records:
                self.records[key] = self.record(rule, name, Record, inside)
            return self.records[key]
        if "enum" in rule or "const" in rule:
            return _one_of(rule)
        limits = {own: rule[word] for word, own in _LIMITS.items() if word in rule}
        match kind:
            case "":
                forms = rule.get("anyOf") or rule.get("oneOf") or [True]
                wholes = list(map(self.flat, forms))
                if all("enum" in whole or "const" in whole for whole in wholes):
                    choices = [choice for whole in wholes for choice in whole.get("enum", [whole.get("const")])]
                    return _one_of({"enum": list({json.dumps(choice): choice for choice in choices}.values())})
                return _union([self.type_of(form, name, inside) for form in forms])
            case "null":
                return None
            case "boolean":
                return Flag
            case "integer":
                if "multipleOf" in rule:
                    # The whole numbers among the multiples of 5/2 are those of 5.
                    limits["multiple_of"] = Fraction(str(rule["multipleOf"])).numerator
                return Annotated[(int, _field(**limits), BeforeValidator(coerce_int))]
            case "number":
                steps = [MultipleOf(str(rule["multipleOf"]))] if "multipleOf" in rule else []
                return Annotated[(float, _field(**limits), BeforeValidator(coerce_float), *steps)]
            case "string":
                return _text(name, rule, limits)
            case "array":
                # The entries of a list with a rule for each place are left to the last check.
                entry = True if "prefixItems" in rule else rule.get("items", True)
                alone = [BeforeValidator(require_list)] if _names_picture(name, self.flat(entry)) else []
                return Annotated[(_tuple[self.type_of(entry, name, inside), ...], _field(**limits), Ordered, *alone)]
            case "object":
                return _dict[str, self.type_of(others, "", inside)]
        raise BadDescription(f"A schema is of the type {kind!r}, which JSON does not have.")


def _object(value: Any) -> Mapping[str, Any]:
    """The value; raises unless it is an object."""
    if not isinstance(value, dict):
        raise BadDescription(f"A description has {format_literal(value)} where an object with fields should be.")
    return value


def _modernise(node: Any, *, is_3_0: bool, is_rule: bool = True) -> Any:
    """A description in the words of OpenAPI 3.1, each rule of one type.

    Where `is_rule` is False the node is an object of rules.
    """
    if isinstance(node, list):
        return [_modernise(item, is_3_0=is_3_0) for item in node]
    if not isinstance(node, dict):
        # A length may be written as 1.0, which pydantic does not take.
        return int(node) if isinstance(node, float) and node.is_integer() else node
    if not is_rule:
        return {name: _modernise(rule, is_3_0=is_3_0) for name, rule in node.items()}
    rule = {
        word: value if word in _VALUES else _modernise(value, is_3_0=is_3_0, is_rule=word not in _RULES_BY_NAME)
        for word, value in node.items()
    }
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(rule.get(exclusive), bool) and rule.pop(exclusive) and bound in rule:
            rule[exclusive] = rule.pop(bound)
    if isinstance(rule.get("items"), list):
        # As FastAPI once wrote tuples.
        rule["prefixItems"] = rule.pop("items")
    notes = {word: value for word, value in rule.items() if _is_annotation(word)}
    if is_3_0 and isinstance(rule.get("$ref"), str):
        # There, nothing counts beside a reference but annotations.
        rule = {**notes, "$ref": rule["$ref"]}
    is_nullable = is_3_0 and rule.pop("nullable", None) is True
    types = rule["type"] if isinstance(rule.get("type"), list) else [rule.get("type")]
    if is_nullable or isinstance(rule.get("type"), list):
        rule.pop("default", None)
        takes_null = is_nullable or ("null" in types and None in rule.get("enum", [rule.get("const")]))
        if "enum" in rule:
            rule["enum"] = [choice for choice in rule["enum"] if choice is not None]
        forms = [{**rule, "type": kind} if kind else rule for kind in types if kind != "null"]
        return {**notes, "anyOf": [*forms, *([{"type": "null"}] if takes_null else [])]}
    return rule


def _is_annotation(word: str) -> bool:
    """Whether a keyword has no effect on what is accepted."""
    words = ("title", "description", "default", "deprecated", "example", "examples")
    return word in words or (word.startswith("x-") and word != "x-media")


def _type(rule: Mapping[str, Any]) -> str:
    return str(rule.get("type", "object" if "properties" in rule else ""))


def _show_as_left_out(schema: dict[str, Any]) -> None:
    """Hide from a field's JSON schema that Python may give None for leaving it out."""
    schema.pop("default", None)
    forms = [form for form in schema.pop("anyOf", ()) if form != {"type": "null"}]
    schema.update(forms[0] if len(forms) == 1 else {"anyOf": forms} if forms else {})


# Types of single values.


def _text(name: str, rule: Mapping[str, Any], limits: dict[str, Any]) -> Any:
    takes_picture = _names_picture(name, rule)
    # A pattern that pydantic does not know, such as one with lookahead, is left to the last check.
    with suppress(SchemaError):
        TypeAdapter(Annotated[(str, _field(pattern=rule.get("pattern")))])
        limits["pattern"] = rule.get("pattern")
    mark = "image" if takes_picture else rule.get("x-media")
    # Nor do rules for the text hold for what is sent in the place of a picture.
    checks = _field(**({} if takes_picture else limits), json_schema_extra={"x-media": mark} if mark else None)
    reader = _read_text(rule.get("default"), takes_picture=takes_picture)
    return Annotated[(str, Strict(), checks, AfterValidator(require_utf8), reader)]


def _names_picture(name: str, rule: Mapping[str, Any]) -> bool:
    """Whether a text is a picture: by its mark, or by what its field's name and its format say together."""
    if "x-media" in rule or _type(rule) != "string" or "enum" in rule:
        return rule.get("x-media") == "image"
    is_address = rule.get("format") in ("uri", "url", "uri-reference", "iri") or re.search(r"(?i)ur[il]s?$", name)
    return bool(is_address and re.search(r"(?i)image|picture|photo", f"{name} {rule.get('title')}"))


def _read_text(default: Any, *, takes_picture: bool) -> WrapValidator:
    """Reads a text, or in its place a picture: in a field for pictures, or where one is given as an `Image`."""

    def read(value: Any, as_text: ValidatorFunctionWrapHandler, info: ValidationInfo) -> str:
        if isinstance(value, Image):
            return value
        # None, the default, and an address of any scheme have a meaning to the service.
        is_address = isinstance(value, str) and re.match(r"(?i)(?!file:)[a-z][a-z0-9+.-]*://", value)
        is_plain = not is_picture(value) or is_address or (isinstance(value, str) and value in ("", default))
        return read_picture(value, as_text, info) if takes_picture and not is_plain else str(as_text(value))

    return WrapValidator(read)


def _one_of(rule: Mapping[str, Any]) -> Any:
    """Only the listed values, spelled as listed: 1 or 1.0."""
    choices = rule["enum"] if "enum" in rule else [rule["const"]]

    def choose(value: Any) -> Any:
        for choice in choices:
            if choice == value and isinstance(choice, bool) == isinstance(value, bool):
                return choice
        raise PydanticCustomError("enum", "is not one of the choices", {"choices": choices})

    shown = {word: rule[word] for word in ("type", "enum", "const") if word in rule}
    return Annotated[(Json, AfterValidator(choose), WithJsonSchema(shown))]


def _union(types: Sequence[Any]) -> Any:
    """The type of any of several values."""
    inner = [kind for kind in types if kind is not None]
    kind: Any = Union[tuple(inner)] if inner else None  # noqa: UP007  # Their number is known at run time only.
    if get_origin(kind) is Union and len([form for form in get_args(kind) if form is not NoneType]) > 1:
        kind = Annotated[(kind, WrapValidator(_explain_closest))]
    return kind if len(inner) == len(types) or not inner else kind | None


def _explain_closest(value: Any, any_of_them: ValidatorFunctionWrapHandler) -> Any:
    """The value; raises what the closest of several types finds wrong with it."""
    try:
        return any_of_them(value)
    except ValidationError as error:
        by_type: dict[Any, list[Any]] = {}
        for finding in error.errors(include_url=False):
            by_type.setdefault(finding["loc"][0], []).append(finding)

    def get_distance(findings: list[Any]) -> tuple[bool, int, int]:
        kinds = [finding["type"] for finding in findings]
        # Constants that differ count most, where the type is right.
        return kinds[0] in WANTED and len(findings[0]["loc"]) == 1, kinds.count("enum"), len(kinds)

    raise ValidationError.from_exception_data(
        "closest",
        [
            InitErrorDetails(
                type=PydanticCustomError(finding["type"], finding["msg"], finding.get("ctx")),
                loc=finding["loc"][1:],
                input=finding["input"],
            )
            for finding in min(by_type.values(), key=get_distance)
        ],
    )
