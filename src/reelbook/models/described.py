"""Input classes of any model, built from its OpenAPI description: ordinary pydantic inputs, like those of the catalog.

A class checks what a description says of each field. What it says across fields, such as which of them belong together,
or by rarer keywords such as `not`, is left to the service, which refuses such a run before it costs anything.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import NoneType
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
    WithJsonSchema,
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
from .images import Image, PictureField, is_one_array, is_picture, parse_picture
from .openapi import Schemas, get_types, is_annotation, names_picture, read_input
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
    name, schemas = read_input(document, endpoint_id)
    try:
        built = _Builder(schemas).input_class(name)
    except BadDescription:
        raise
    except Exception as error:
        # A keyword with a value that it cannot have; pydantic may raise anything then.
        reason = str(error).partition("\n")[0][:300]
        raise BadDescription(f"The schema of {name} cannot be read: {reason}.") from error
    return _CLASSES.setdefault((name, built._source), built)


_CLASSES: dict[tuple[str, str], type[Described]] = {}
"""The classes by the model's id and their JSON schema, so that inputs of the same description are equal."""


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

    _source: ClassVar[str] = ""
    """Its JSON schema as text, from which an unpickled input has its class."""

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
    def _spelling(cls) -> str:
        return f"model({cls.endpoint_id!r})"


def _unpickle(endpoint_id: str, source: str, values: dict[str, Any]) -> Described:
    key = endpoint_id, source
    if key not in _CLASSES:
        post = {"requestBody": {"content": {"application/json": {"schema": json.loads(source)}}}}
        _CLASSES[key] = describe({"openapi": "3.1.0", "paths": {f"/{endpoint_id}": {"post": post}}}, endpoint_id)
    return _CLASSES[key].model_validate(values)


class _Builder:
    """Builds the classes of one description."""

    def __init__(self, schemas: Schemas) -> None:
        self.schemas = schemas
        self.open: dict[int, str] = {}
        """The objects that are being read, by the `id` of their rule, with the names of their classes."""
        self.inside: set[int] = set()
        """The other rules that are being read, within the innermost of these objects."""
        self.records: dict[int, Any] = {}
        self.classes: dict[str, Any] = {}

    def input_class(self, endpoint_id: str) -> type[Described]:
        rule = self.schemas.flat(self.schemas.root)
        if "object" not in (get_types(rule) or ["object"]) or isinstance(self.schemas.root, bool):
            kind = f"of the type {rule['type']}" if "type" in rule else "anything or nothing at all"
            raise BadDescription(f"The input is {kind}; it should be an object with fields.")
        about = str(rule.get("description") or f"What to ask of {endpoint_id}.")
        words = re.findall(r"[A-Za-z0-9]+", endpoint_id.rpartition("/")[2])
        name = self.free_name(str(rule.get("title") or "") or "".join(word[:1].upper() + word[1:] for word in words))
        base = type("Described", (Described,), {"endpoint_id": endpoint_id, "__module__": __name__})
        cls: type[Described] = self.record(rule, name, base)
        for record in self.classes.values():
            record.model_rebuild(_types_namespace=dict(self.classes))
        schema = cls.model_json_schema()
        cls._source = json.dumps(schema)
        present(cls, schema, about, f"rb.{cls._spelling()}")
        return cls

    def record(self, rule: Mapping[str, Any], name: str, base: type[Any]) -> Any:
        """The class of an object."""
        fields = self.schemas.fields(rule)
        attributes = _attributes_for(fields.rules)
        made: dict[str, Any] = {}
        for field_name, source in fields.rules.items():
            notes = self.schemas.flat(source)
            annotation = self.type_of(source, field_name)
            default: Any = None if field_name in fields.selecting else _read_default(annotation, notes.get("default"))
            if field_name in fields.required:
                default = ...
            texts: dict[str, Any] = {word: notes.get(word) for word in ("title", "description")}
            if default is None and annotation is not None and NoneType not in get_args(annotation):
                annotation = Union[annotation, None]  # noqa: UP007  # A forward reference has no `|`.
                texts["json_schema_extra"] = _show_as_left_out
            alias = None if attributes[field_name] == field_name else field_name
            made[attributes[field_name]] = (annotation, _field(default, alias=alias, validate_default=False, **texts))
        others = fields.others or not fields.rules
        if others is not False:
            extra = {"__annotations__": {"__pydantic_extra__": _dict[str, self.type_of(others)]}}
            base = type(
                base.__name__, (base,), {**extra, "model_config": ConfigDict(extra="allow"), "__module__": __name__}
            )
        # Any, because mypy would treat the name below as that of a declared class.
        make: Any = create_model
        self.classes[name] = make(name, __base__=base, __doc__=rule.get("description"), **made)
        return self.classes[name]

    def free_name(self, wanted: str) -> str:
        """A name for a class that no other has."""
        plain = re.sub(r"\W", "", wanted)[:60]
        name = plain if plain.isidentifier() and not keyword.iskeyword(plain) else f"Model{plain}"
        taken = {*self.classes, *self.open.values()}
        return name if name not in taken else f"{name}_{len(taken)}"

    def type_of(self, source: Any, name: str = "") -> Any:
        """The Python type of the values that a rule accepts; `name` is that of its field."""
        if isinstance(source, bool):
            return Json
        rule, place = self.schemas.flat(source), id(self.schemas.origin(source))
        types = get_types(rule)
        is_record = types == ["object"] and "enum" not in rule and bool(self.schemas.gather(rule).rules)
        if is_record and place not in self.records:
            if place in self.open:
                return ForwardRef(self.open[place])
            self.open[place] = self.free_name(str(rule.get("title") or name))
            outside, self.inside = self.inside, set()
            self.records[place] = self.record(rule, self.open[place], Record)
            self.inside = outside
            del self.open[place]
        if is_record:
            return self.records[place]
        if place in self.inside:
            return Json  # A rule within itself that is no object is left to the service.
        self.inside.add(place)
        kind = self.type_of_rule(rule, types, name)
        self.inside.discard(place)
        return kind

    def type_of_rule(self, rule: Mapping[str, Any], types: list[str], name: str) -> Any:
        if "enum" in rule or "const" in rule:
            return _one_of(rule)
        forms = rule.get("anyOf") or rule.get("oneOf")
        if forms and types != ["object"]:
            checks = ("anyOf", "oneOf")
            besides = {word: rule[word] for word in rule if word not in checks and not is_annotation(word)}
            sources = [{"allOf": [form, besides]} if besides else form for form in forms]
            wholes = [self.schemas.flat(source) for source in sources]
            if all(not whole.keys().isdisjoint(("enum", "const")) for whole in wholes):
                choices = [choice for whole in wholes for choice in whole.get("enum", [whole.get("const")])]
                return _one_of({"enum": list({json.dumps(choice): choice for choice in choices}.values())})
            return _union([self.type_of(source, name) for source in sources])
        return _union([self.type_of_kind(kind, rule, name) for kind in types]) if types else Json

    def type_of_kind(self, kind: str, rule: Mapping[str, Any], name: str) -> Any:
        match kind:
            case "null":
                return None
            case "boolean":
                return Flag
            case "integer" | "number":
                return _number(kind, rule)
            case "string":
                return _text(rule, names_picture(name, rule))
            case "array":
                sources = [
                    *rule.get("prefixItems", ()),
                    *([rule["items"]] if rule.get("items", True) is not True else []),
                ]
                inner = _union([self.type_of(source, name) for source in sources]) if sources else Json
                wholes = [self.schemas.flat(source) for source in sources]
                forms = [whole for rule in wholes for whole in (rule, *map(self.schemas.flat, rule.get("anyOf", ())))]
                checks = [BeforeValidator(_not_alone)] if any(names_picture(name, whole) for whole in forms) else []
                return Annotated[(_tuple[inner, ...], _field(**_sizes(rule, "Items")), Ordered, *checks)]
            case "object":
                fields = self.schemas.gather(rule)
                if fields.rules:
                    # Beside other types, such as null.
                    return self.record(rule, self.free_name(str(rule.get("title") or name)), Record)
                sizes = _field(**_sizes(rule, "Properties"))
                return Annotated[(_dict[str, self.type_of(fields.others or True)], sizes, AfterValidator(FrozenDict))]
        raise BadDescription(f"A schema is of the type {kind!r}, which JSON does not have.")


def _read_default(annotation: Any, value: Any) -> Any:
    """A default as a value of its type; None if it does not fit, or its type is being built: the service fills it in."""
    try:
        return None if value is None else TypeAdapter(annotation).validate_python(value)
    except (ValidationError, PydanticUserError):
        return None


def _show_as_left_out(schema: dict[str, Any]) -> None:
    """Hide from a field's JSON schema that Python may give None for leaving it out."""
    schema.pop("default", None)
    forms = [form for form in schema.pop("anyOf", ()) if form != {"type": "null"}]
    schema.update(forms[0] if len(forms) == 1 else {"anyOf": forms} if forms else {})


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


# Types of single values.


def _to_json(value: Any) -> Any:
    try:
        return freeze(value)
    except NotJson as stray:
        raise PydanticCustomError("json_type", "a JSON value is needed", {"stray": stray}) from None


Json = Annotated[Any, BeforeValidator(_to_json)]
"""Any JSON value, made immutable."""


def _sizes(rule: Mapping[str, Any], what: str) -> dict[str, int]:
    words = {f"min{what}": "min_length", f"max{what}": "max_length"}
    return {own: int(rule[word]) for word, own in words.items() if word in rule}


def _number(kind: str, rule: Mapping[str, Any]) -> Any:
    checks: dict[str, Any] = {own: rule[word] for word, own in _BOUNDS.items() if word in rule}
    step = rule.get("multipleOf")
    if kind == "number":
        real = Annotated[(float, _field(**checks), BeforeValidator(coerce_float))]
        return real if step is None else Annotated[(real, MultipleOf(str(step)))]
    if step is not None:
        # The whole numbers among the multiples of 5/2 are those of 5.
        checks["multiple_of"] = Fraction(str(step)).numerator
    return Annotated[(int, _field(**checks), AfterValidator(require_writable), BeforeValidator(coerce_int))]


def _text(rule: Mapping[str, Any], is_picture_field: bool) -> Any:
    checks: dict[str, Any] = _sizes(rule, "Length")
    if "pattern" in rule and _is_pattern(rule["pattern"]):
        checks["pattern"] = rule["pattern"]
    notes = {word: value for word, value in rule.items() if word.startswith("x-") and word != "x-order"}
    if is_picture_field:
        notes["x-media"] = "image"
    text = Annotated[(str, Strict(), _field(**checks, json_schema_extra=notes or None), AfterValidator(require_utf8))]
    as_picture: Any = _DescribedPicture(rule.get("default")) if is_picture_field else WrapValidator(_or_image)
    return Annotated[(text, as_picture)]


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


def _one_of(rule: Mapping[str, Any]) -> Any:
    shown = {word: rule[word] for word in ("type", "enum", "const") if word in rule}
    choices = rule["enum"] if "enum" in rule else [rule["const"]]
    return Annotated[(Json, AfterValidator(_OneOf(choices)), WithJsonSchema(shown))]


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
