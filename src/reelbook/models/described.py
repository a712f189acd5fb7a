"""Input classes of any model, built from its OpenAPI description: ordinary pydantic inputs, like those of the catalog.

A class checks what a description says of each field. What it says across fields, such as which of them belong together,
or by rarer keywords such as `not`, is left to the service, which refuses such a run before it costs anything.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, ForwardRef, Union, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PydanticUserError,
    SerializerFunctionWrapHandler,
    Strict,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
    model_serializer,
    model_validator,
)
from pydantic_core import (
    CoreSchema,
    InitErrorDetails,
    PydanticCustomError,
    SchemaError,
    SchemaValidator,
    core_schema,
)

from ..errors import BadDescription
from .base import Input, Part
from .frozen_json import FrozenDict, NotJson, equality_key, freeze, thaw
from .images import Image, PictureField, is_picture, is_picture_rule, parse_picture
from .json_schema import get_types, rules_at
from .openapi import read_input_schema
from .picture_encoding import is_one_array
from .problems import WANTED
from .signatures import present
from .value_types import Flag, MultipleOf, Ordered, coerce_float, coerce_int, require_utf8, require_writable

_BOUNDS = {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"}
# Of any type, because mypy knows types that are made while it runs from none that are written.
_field: Any = Field
_tuple: Any = tuple
_dict: Any = dict

_SCHEME = re.compile(r"(?!file:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def describe(document: Mapping[str, Any], endpoint_id: str | None = None) -> type[Described]:
    """The input class for a model in an OpenAPI 3.0 or 3.1 description; the same class for the same description.

    >>> seed = {"type": "integer", "minimum": 0, "default": 7}
    >>> schema = {"properties": {"prompt": {"type": "string"}, "seed": seed}, "required": ["prompt"]}
    >>> post = {"requestBody": {"content": {"application/json": {"schema": schema}}}}
    >>> Echo = describe({"openapi": "3.1.0", "paths": {"/svc/echo": {"post": post}}})
    >>> Echo(prompt="a paper boat", seed=8)
    model('svc/echo')(prompt='a paper boat', seed=8)
    """
    name, schema = read_input_schema(document, endpoint_id)
    return _input_class(name, json.dumps(schema))


class Record(Part):
    """An object inside a described input.

    A field whose name is taken by a method, such as `copy`, is read as `record["copy"]`, or as an attribute with a
    trailing underscore.
    """

    model_config = ConfigDict(protected_namespaces=(), use_attribute_docstrings=False, populate_by_name=True)

    if TYPE_CHECKING:
        # The fields are known only once a description is read.
        def __init__(self, /, *by_position: Any, **values: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """Do nothing: only an input has a signature, once its class is complete."""

    @model_validator(mode="before")
    @classmethod
    def _from_part(cls, values: Any) -> Any:
        """The fields of a part of another class, such as a `LoRA`."""
        if not isinstance(values, BaseModel):
            return values
        named = values._values() if isinstance(values, Part) else dict(values)
        return {name: value for name, value in named.items() if value is not None}

    @model_serializer(mode="wrap")
    def _as_sent(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The values by their names in JSON; a null that means the same as leaving the field out is left out."""
        sent: dict[str, Any] = {}
        for key, value in serialize(self).items():
            field = type(self).model_fields.get(key)
            if value is not None or field is None or field.is_required() or field.default is not None:
                sent[key if field is None or field.alias is None else field.alias] = value
        return sent

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record) or type(self) is not type(other):
            return NotImplemented
        # Pydantic compares Python values, where 1 equals True; to a service they differ.
        return bool(equality_key(self) == equality_key(other))

    def __hash__(self) -> int:
        return hash((type(self), equality_key(self)))

    def __repr__(self) -> str:
        # A dict literal, so that an input's `repr` is code.
        return repr(self.changed())


class Described(Record, Input):
    """An input whose fields come from a description."""

    _schema: ClassVar[Mapping[str, Any]] = {}
    """The description as a self-contained JSON schema, with all fields at the top level."""
    _source: ClassVar[str] = ""
    """The schema in the description, as JSON."""

    if TYPE_CHECKING:

        def __init__(self, /, *by_position: Any, **values: Any) -> None: ...

    __repr__ = Input.__repr__
    __str__ = Input.__repr__

    def __reduce__(self) -> tuple[Any, ...]:
        # The class is built at run time, so the pickle has its schema.
        return _unpickle, (self.endpoint_id, self._source, self.model_dump())

    def wire(self) -> dict[str, Any]:
        """The JSON object that the service receives: defaults included, redundant nulls omitted."""
        sent: dict[str, Any] = thaw(self.model_dump(mode="json"))
        return sent

    @classmethod
    def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
        """The description as JSON Schema, with all fields at the top level and all referenced schemas under `$defs`."""
        return deepcopy(dict(cls._schema))

    @classmethod
    def _spelling(cls) -> str:
        return f"model({cls.endpoint_id!r})"


def _unpickle(endpoint_id: str, source: str, values: dict[str, Any]) -> Described:
    return _input_class(endpoint_id, source).model_validate(values)


@lru_cache(maxsize=256)
def _input_class(endpoint_id: str, source: str) -> type[Described]:
    try:
        return _Builder(json.loads(source)).input_class(endpoint_id, source)
    except BadDescription:
        raise
    except Exception as error:
        # A keyword with a value that it cannot have; pydantic may raise anything then.
        reason = str(error).partition("\n")[0][:300]
        raise BadDescription(f"The schema of {endpoint_id} cannot be read: {reason}.") from error


class _Builder:
    """Builds the classes of one schema in plain form, see `openapi.py`."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self.defs: Mapping[str, Any] = schema.get("$defs", {})
        self.types: dict[str, Any] = {}
        self.open: dict[str, str] = {}
        """The references that are being followed, with the name that an object there will have."""
        self.classes: dict[str, Any] = {}

    def input_class(self, endpoint_id: str, source: str) -> type[Described]:
        title = str(self.schema.get("title") or "")
        is_name = title.isidentifier() and not keyword.iskeyword(title) and len(title) <= 60
        about = str(self.schema.get("description") or f"What to ask of {endpoint_id}.")
        base = type("Described", (Described,), {"endpoint_id": endpoint_id, "__module__": __name__})
        cls: type[Described] = self.record(self.schema, title if is_name else _class_name(endpoint_id), base, about)
        for record in self.classes.values():
            record.model_rebuild(_types_namespace=dict(self.classes))
        cls._schema, cls._source = self.schema, source
        present(cls, self.schema, about, f"rb.{cls._spelling()}")
        return cls

    def record(self, rule: dict[str, Any], name: str, base: type[Any], about: str = "") -> Any:
        """The class of an object; a field loses a default in the schema that it does not allow itself."""
        rules = rule.get("properties", {})
        attributes = _attributes_for(rules)
        made: dict[str, Any] = {}
        for field_name, inner in rules.items():
            notes = inner if isinstance(inner, dict) else {}
            annotation = self.type_of(inner)
            fits, default = self.read_default(annotation, notes.get("default"))
            if not fits:
                notes.pop("default", None)
            if field_name in rule.get("required", ()):
                default = ...
            if default is None:
                annotation = Union[annotation, None]  # noqa: UP007  # A forward reference has no `|`.
            texts = {word: notes.get(word) for word in ("title", "description")}
            alias = None if attributes[field_name] == field_name else field_name
            made[attributes[field_name]] = (annotation, _field(default, alias=alias, validate_default=False, **texts))
        others = rule.get("additionalProperties", not rules)
        if others is not False:
            extra = {"__annotations__": {"__pydantic_extra__": _dict[str, self.type_of(others)]}}
            base = type(
                base.__name__, (base,), {**extra, "model_config": ConfigDict(extra="allow"), "__module__": __name__}
            )
        # Any, because mypy would treat the name below as that of a declared class.
        make: Any = create_model
        self.classes[name] = make(name, __base__=base, __doc__=about or None, **made)
        return self.classes[name]

    def read_default(self, annotation: Any, value: Any) -> tuple[bool, Any]:
        """Whether a default fits its own type, and the default as such a value; null counts as none."""
        if value is None:
            return True, None
        try:
            default = TypeAdapter(annotation).validate_python(value)
        except ValidationError:
            return False, None
        except PydanticUserError:
            # Of the type that is being built; the service fills it in.
            return True, None
        return True, default

    def type_of(self, rule: Any, name: str = "Record") -> Any:
        """The Python type of the values that a rule accepts."""
        if not isinstance(rule, dict):
            return Json if rule else Annotated[Any, BeforeValidator(_refuse)]
        if "$ref" in rule:
            return self.referenced(rule["$ref"].removeprefix("#/$defs/"))
        if "enum" in rule or "const" in rule:
            return Annotated[(Json, AfterValidator(_OneOf(rule["enum"] if "enum" in rule else [rule["const"]])))]
        if "anyOf" in rule:
            return _union([self.type_of(form) for form in rule["anyOf"]])
        types = get_types(rule)
        return _union([self.type_of_kind(kind, rule, name) for kind in types]) if types else Json

    def referenced(self, name: str) -> Any:
        if name in self.open:
            # A rule within itself: an object is its own class, and anything else is left to the service.
            is_record = get_types(self.defs[name]) == ["object"] and self.defs[name].get("properties")
            return ForwardRef(self.open[name]) if is_record else Json
        if name not in self.types:
            self.open[name] = f"{re.sub(r'[^A-Za-z0-9]', '', name) or 'Record'}_{len(self.types) + len(self.open)}"
            self.types[name] = self.type_of(self.defs[name], self.open[name])
            del self.open[name]
        return self.types[name]

    def type_of_kind(self, kind: str, rule: dict[str, Any], name: str) -> Any:
        match kind:
            case "null":
                return None
            case "boolean":
                return Flag
            case "integer" | "number":
                return _number(kind, rule)
            case "string":
                return _text(rule)
            case "array":
                first = [self.type_of(part) for part in rule.get("prefixItems", ())]
                others = rule.get("items", True)
                inner = _union([*first, *([] if others is False else [self.type_of(others)])])
                is_of_pictures = any(map(is_picture_rule, rules_at({**self.schema, **rule}, (len(first),))))
                checks = [BeforeValidator(_not_alone)] if is_of_pictures else []
                return Annotated[(_tuple[inner, ...], _field(**_sizes(rule, "Items")), Ordered, *checks)]
            case "object":
                if rule.get("properties"):
                    return self.record(rule, self.free_name(name), Record)
                inner = self.type_of(rule.get("additionalProperties", True))
                sizes = _field(**_sizes(rule, "Properties"))
                return Annotated[(_dict[str, inner], sizes, AfterValidator(FrozenDict))]
        raise BadDescription(f"A schema is of the type {kind!r}, which JSON does not have.")

    def free_name(self, name: str) -> str:
        return name if name not in self.classes else f"{name}_{len(self.classes)}"


def _attributes_for(names: Iterable[str]) -> dict[str, str]:
    """An attribute name for every field: its own name, or where that is taken, a free one.

    >>> _attributes_for(["prompt", "copy", "_seed", "my-field"])
    {'prompt': 'prompt', 'copy': 'copy_', '_seed': 'seed', 'my-field': 'my-field'}
    """
    attributes = {name: name for name in names if _may_be_attribute(name)}
    for name in names:
        if name not in attributes:
            plain = re.sub(r"\W", "_", name).strip("_") or "field"
            while not _may_be_attribute(plain) or plain in attributes.values():
                plain += "_"
            attributes[name] = plain
    return {name: attributes[name] for name in names}


def _may_be_attribute(name: str) -> bool:
    return bool(name) and not name.startswith("_") and not hasattr(Described, name)


def _class_name(endpoint_id: str) -> str:
    words = re.findall(r"[A-Za-z0-9]+", endpoint_id.rpartition("/")[2])
    name = "".join(word[:1].upper() + word[1:] for word in words)[:60]
    return name if name.isidentifier() else f"Model{name}"


# Types of single values.


def _to_json(value: Any) -> Any:
    try:
        return freeze(value)
    except NotJson as stray:
        raise PydanticCustomError("json_type", "a JSON value is needed", {"stray": stray}) from None


Json = Annotated[Any, BeforeValidator(_to_json)]
"""Any JSON value, made immutable."""


def _refuse(value: Any) -> Any:
    raise PydanticCustomError("not_allowed", "is not allowed here")


def _sizes(rule: Mapping[str, Any], what: str) -> dict[str, int]:
    words = {f"min{what}": "min_length", f"max{what}": "max_length"}
    return {own: int(rule[word]) for word, own in words.items() if word in rule}


def _number(kind: str, rule: Mapping[str, Any]) -> Any:
    checks: dict[str, Any] = {own: rule[word] for word, own in _BOUNDS.items() if word in rule}
    step = rule.get("multipleOf")
    if kind == "number":
        real = Annotated[(float, _field(**checks), BeforeValidator(coerce_float))]
        return real if step is None else Annotated[(real, MultipleOf(str(step)))]
    if step is not None and float(step).is_integer():
        checks["multiple_of"] = int(step)
    return Annotated[(int, _field(**checks), AfterValidator(require_writable), BeforeValidator(coerce_int))]


def _text(rule: Mapping[str, Any]) -> Any:
    checks: dict[str, Any] = _sizes(rule, "Length")
    if "pattern" in rule and _is_pattern(rule["pattern"]):
        checks["pattern"] = rule["pattern"]
    text = Annotated[(str, Strict(), _field(**checks), AfterValidator(require_utf8))]
    if rule.get("x-media") == "image":
        return Annotated[(text, _DescribedPicture(rule.get("default")))]
    return Annotated[(text, WrapValidator(_or_image))]


def _is_pattern(pattern: str) -> bool:
    """Whether pydantic knows all that a regular expression uses; what it does not is left to the service."""
    try:
        SchemaValidator(core_schema.str_schema(pattern=pattern))
    except SchemaError:
        return False
    return True


def _or_image(value: Any, as_text: ValidatorFunctionWrapHandler) -> Any:
    # An `Image` says by itself that a text is a picture; what is sent in its place is not known yet.
    return value if isinstance(value, Image) else as_text(value)


class _DescribedPicture(PictureField):
    """A picture, or a text with a meaning to the service: none, its default, or an address of any scheme."""

    def __init__(self, default: Any) -> None:
        self.default = default

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        # Without a serializer, which would turn the other values of a union into text, too.
        return core_schema.with_info_wrap_validator_function(self._validated, handler(source))

    def read(self, value: Any, as_text: ValidatorFunctionWrapHandler) -> str:
        is_text = isinstance(value, str) and not isinstance(value, Image)
        if not is_picture(value) or (is_text and (not value or value == self.default or _SCHEME.match(value))):
            return str(as_text(value))
        picture = parse_picture(value)
        if not isinstance(picture, Image):
            return str(as_text(picture))
        # The rules for the text do not hold for what is sent in its place.
        require_utf8(picture)
        return picture


def _not_alone(value: Any) -> Any:
    if is_picture(value) and (not hasattr(value, "__array__") or is_one_array(value)):
        raise PydanticCustomError(
            "picture", "{reason}", {"reason": "needs a list and has one picture: put it in brackets."}
        )
    return value


class _OneOf:
    """Accepts the listed values only, and spells them as listed: 1 or 1.0."""

    def __init__(self, choices: Sequence[Any]) -> None:
        self.choices = list(choices)
        self.by_key = {equality_key(choice): freeze(choice) for choice in choices}

    def __call__(self, value: Any) -> Any:
        key = equality_key(value)
        if key not in self.by_key:
            raise PydanticCustomError("enum", "is not one of the choices", {"choices": self.choices})
        return self.by_key[key]


def _union(types: Sequence[Any]) -> Any:
    """The type of any of several values."""
    inner = [kind for kind in types if kind is not None]
    if not inner:
        return None
    kind = inner[0] if len(inner) == 1 else Annotated[Any, _Alternatives(tuple(inner))]
    return kind if len(inner) == len(types) else Union[kind, None]  # noqa: UP007  # A forward reference has no `|`.


@dataclass(frozen=True)
class _Alternatives:
    """Accepts what any of several types accepts; a refusal is that of the closest one."""

    types: tuple[Any, ...]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        choices: list[Any] = [(handler.generate_schema(kind), str(place)) for place, kind in enumerate(self.types)]
        return core_schema.no_info_wrap_validator_function(self._choose, core_schema.union_schema(choices))

    def _choose(self, value: Any, any_of_them: ValidatorFunctionWrapHandler) -> Any:
        try:
            return any_of_them(value)
        except ValidationError as error:
            refusals: dict[Any, list[Any]] = {}
            for problem in error.errors(include_url=False):
                refusals.setdefault(problem["loc"][0], []).append({**problem, "loc": problem["loc"][1:]})
        kinds = [found[0]["type"] for found in refusals.values() if found[0]["type"] in WANTED and not found[0]["loc"]]
        close = [found for found in refusals.values() if found[0]["type"] not in WANTED or found[0]["loc"]]
        if not close:
            raise PydanticCustomError("alternatives", "is of no accepted type", {"kinds": list(dict.fromkeys(kinds))})
        raise ValidationError.from_exception_data("", [_as_details(problem) for problem in min(close, key=_distance)])


def _distance(problems: list[Any]) -> tuple[int, int]:
    """How far a value is from an alternative: constants that differ count most."""
    return sum(problem["type"] == "enum" for problem in problems), len(problems)


def _as_details(problem: Any) -> InitErrorDetails:
    facts = problem.get("ctx", {})
    kind = problem["type"]
    if kind not in _PYDANTIC_KINDS or "choices" in facts:
        # Sentence last: pydantic fills in one placeholder after another, and the sentence may contain any text.
        kind = PydanticCustomError(kind, "{sentence}", {**facts, "sentence": problem["msg"]})
    return InitErrorDetails(type=kind, loc=problem["loc"], input=problem["input"], ctx=facts)


_PYDANTIC_KINDS = set(get_args(core_schema.ErrorType))
