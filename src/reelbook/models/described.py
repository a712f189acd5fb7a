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
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, ForwardRef, Self, Union, get_args

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
from .json_schema import Defs, Rule, find_applicable_rules, is_annotation, merge_rules
from .openapi import MAX_RULES, find_field_order, read_input_schema, sort_fields
from .picture_encoding import is_one_array
from .problems import WANTED
from .signatures import present
from .value_types import Flag, MultipleOf, Ordered, coerce_float, coerce_int, require_utf8, require_writable

CONDITIONS = frozenset(("then", "else", "dependentSchemas", "patternProperties"))
"""Keywords whose fields are not known beforehand."""
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

    model_config = ConfigDict(protected_namespaces=(), use_attribute_docstrings=False)

    _names: ClassVar[Mapping[str, str]] = {}
    """The field's name for each attribute."""
    _defaults: ClassVar[Mapping[str, Any]] = {}
    """The default of each field that has one, by name."""

    if TYPE_CHECKING:
        # The fields are known only once a description is read.
        def __init__(self, /, *by_position: Any, **values: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """Do nothing: only an input has a signature, once its class is complete."""

    @model_validator(mode="before")
    @classmethod
    def _name_values(cls, values: Any) -> Any:
        """The values by field name; a null that means "left out" is left out."""
        if isinstance(values, BaseModel):
            dumped = values._fields() if isinstance(values, Record) else dict(values)
            values = {name: value for name, value in dumped.items() if value is not None}
        if not isinstance(values, Mapping):
            return values
        named = {cls._names.get(name, name): value for name, value in values.items()}
        absent = {cls._names[attribute] for attribute in cls.model_fields if cls._is_left_out(attribute)}
        return {name: value for name, value in named.items() if value is not None or name not in absent}

    @model_serializer(mode="wrap")
    def _as_sent(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {
            self._names.get(name, name): value
            for name, value in serialize(self).items()
            if value is not None or not self._is_left_out(name)
        }

    @classmethod
    def _is_left_out(cls, attribute: str) -> bool:
        """Whether a null in this field means the same as leaving it out."""
        info = cls.model_fields.get(attribute)
        return info is not None and not info.is_required() and info.default is None

    def _fields(self) -> dict[str, Any]:
        own = {name: getattr(self, attribute) for attribute, name in self._names.items()}
        return {**own, **(self.model_extra or {})}

    def __getitem__(self, name: str) -> Any:
        return self._fields()[name]

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

    def changed(self) -> dict[str, Any]:
        """The fields that differ from their defaults."""
        return {
            name: value
            for name, value in self._fields().items()
            if name not in self._defaults or equality_key(value) != equality_key(self._defaults[name])
        }


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

    def revised(self, /, **changes: Any) -> Self:
        """The same input with some fields changed, validated again."""
        named = {self._names.get(name, name): value for name, value in changes.items()}
        return type(self)(**{**self._fields(), **named})

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


def _input_class(endpoint_id: str, source: str) -> type[Described]:
    # Two threads at once would build two classes, whose inputs are never equal.
    with _BUILDING:
        return _build_input_class(endpoint_id, source)


_BUILDING = Lock()


@lru_cache(maxsize=256)
def _build_input_class(endpoint_id: str, source: str) -> type[Described]:
    schema = json.loads(source)
    defs = schema.pop("$defs", {})
    try:
        cls: type[Described] = _Builder(defs).input_class(schema, endpoint_id, source)
        return cls
    except BadDescription:
        raise
    except Exception as error:
        # A keyword with a value that it cannot have; pydantic may raise anything then.
        reason = str(error).partition("\n")[0][:300]
        raise BadDescription(f"The schema of {endpoint_id} cannot be read: {reason}.") from error


@dataclass
class _Fields:
    """The fields of an object, gathered from all parts and alternatives of its rule."""

    rules: dict[str, Rule] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    selecting: set[str] = field(default_factory=set)
    """Fields of some alternatives only: giving one, even with its default, selects an alternative."""
    order: Sequence[str] = ()
    others: Rule = False
    """The rule for fields that are not listed."""

    def add(self, part: _Fields) -> None:
        for name, rule in part.rules.items():
            self.rules[name] = _both(self.rules[name], rule) if name in self.rules else rule
        self.required += part.required
        self.selecting |= part.selecting
        self.order = self.order or part.order
        self.others = self.others or part.others


class _Builder:
    """Builds the classes of one description."""

    def __init__(self, defs: Defs) -> None:
        self.defs = defs
        self.count = 0
        self.types: dict[str, Any] = {}
        self.open: dict[str, str] = {}
        """The references that are being followed, with the name that an object there will have."""
        self.classes: dict[str, type[Record]] = {}
        self.gathering: set[int] = set()
        self.flattened = 0

    def input_class(self, schema: Mapping[str, Any], endpoint_id: str, source: str) -> Any:
        types = self.flat(schema).get("type", "object")
        if "object" not in ([types] if isinstance(types, str) else types):
            raise BadDescription(f"The input is of the type {types}; it should be an object with fields.")
        fields = self.fields(schema)
        shown = self.make_flat_schema(schema, fields)
        title = str(shown.get("title") or "")
        is_name = title.isidentifier() and not keyword.iskeyword(title) and len(title) <= 60
        about = str(shown.get("description") or f"What to ask of {endpoint_id}.")
        base = type("Described", (Described,), {"endpoint_id": endpoint_id, "__module__": __name__})
        cls = self.record(fields, title if is_name else _class_name(endpoint_id), base, about)
        for record in self.classes.values():
            record.model_rebuild(_types_namespace=dict(self.classes))
        cls._schema, cls._source = shown, source
        present(cls, shown, about, f"rb.{cls._spelling()}")
        return cls

    def make_flat_schema(self, schema: Mapping[str, Any], fields: _Fields) -> dict[str, Any]:
        """The schema with all fields at its top level; one of several parts keeps them, too, under `allOf`."""
        whole = self.flat(schema)
        notes = {word: value for word, value in {**whole, **schema}.items() if is_annotation(word)}
        checks = {word: value for word, value in schema.items() if not is_annotation(word)}
        words = ("$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas")
        shown = {**schema} if checks.keys().isdisjoint(words) else {**notes, "allOf": [checks]}
        shown |= {"type": "object", "properties": fields.rules, "required": fields.required, "$defs": self.defs}
        shown |= {"additionalProperties": False} if fields.others is False else {}
        return {word: value for word, value in shown.items() if value or word not in ("required", "$defs")}

    def record(self, fields: _Fields, name: str, base: type[Any], about: str = "") -> Any:
        """A class with these fields; a rule loses a default that it does not allow itself."""
        attributes = _attributes_for(fields.rules)
        made: dict[str, Any] = {}
        for field_name, rule in list(fields.rules.items()):
            annotation, whole = self.type_of(rule), self.flat(rule)
            texts = {word: whole.get(word) for word in ("title", "description")}
            alias = None if attributes[field_name] == field_name else field_name
            fits, default = self.read_default(annotation, whole.get("default"))
            if not fits and isinstance(rule, dict):
                rule.pop("default", None)
            if field_name in fields.required:
                default = ...
            elif field_name in fields.selecting:
                default = None
                fields.rules[field_name] = {word: value for word, value in whole.items() if word != "default"}
            if default is None:
                annotation = Union[annotation, None]  # noqa: UP007  # A forward reference has no `|`.
            made[attributes[field_name]] = (annotation, _field(default, alias=alias, validate_default=False, **texts))
        if fields.others is not False:
            extra = {"__annotations__": {"__pydantic_extra__": _dict[str, self.type_of(fields.others)]}}
            base = type(
                base.__name__, (base,), {**extra, "model_config": ConfigDict(extra="allow"), "__module__": __name__}
            )
        # Any, because mypy would treat the name below as that of a declared class.
        make: Any = create_model
        cls = make(name, __base__=base, __doc__=about or None, **made)
        cls._names = {attribute: field_name for field_name, attribute in attributes.items()}
        cls._defaults = {
            field_name: made[attribute][1].default
            for attribute, field_name in cls._names.items()
            if not made[attribute][1].is_required()
        }
        self.classes[name] = cls
        return cls

    def read_default(self, annotation: Any, value: Any) -> tuple[bool, Any]:
        """Whether a default fits its own type, and the default as such a value; null counts as none."""
        try:
            default = TypeAdapter(annotation).validate_python(value)
        except ValidationError:
            return False, None
        except PydanticUserError:
            # Of the type that is being built; the service fills it in.
            return True, None
        return True, default

    # Rules.

    def target(self, rule: Mapping[str, Any]) -> Rule:
        return self.defs[str(rule["$ref"]).removeprefix("#/$defs/")]

    def flat(self, rule: Rule) -> Mapping[str, Any]:
        """The rule with its references and `allOf` merged into it; what no single rule can say stays under `allOf`."""
        if not isinstance(rule, Mapping):
            return {}
        if id(rule) in self.gathering:
            raise BadDescription("A schema refers to itself in a circle and never says what it takes.")
        self.flattened += 1
        if self.flattened > 10 * MAX_RULES:
            raise BadDescription(f"The schema has more than {MAX_RULES:,} rules once its parts are put together.")
        self.gathering.add(id(rule))
        own = {word: value for word, value in rule.items() if word not in ("$ref", "allOf")}
        left = []
        for part in (*([self.target(rule)] if "$ref" in rule else ()), *rule.get("allOf", ())):
            merged = merge_rules(own, self.flat(part)) if isinstance(part, Mapping) else None
            if merged is None:
                left.append(part)
            own = own if merged is None else merged
        self.gathering.discard(id(rule))
        return {**own, "allOf": left} if left else own

    def fields(self, rule: Rule) -> _Fields:
        """The fields of an object, in the wished order and without those that only the service writes."""
        fields = _Fields()
        fields.add(self.gather(rule))
        for name in fields.required:
            fields.rules.setdefault(name, {} if isinstance(fields.others, bool) else fields.others)
        written = {name for name, part in fields.rules.items() if self.flat(part).get("readOnly") is True}
        rules = {name: part for name, part in fields.rules.items() if name not in written}
        fields.rules = sort_fields(rules, fields.order)
        fields.required = [name for name in dict.fromkeys(fields.required) if name not in written]
        if not rules:
            fields.others = fields.others or True
        return fields

    def gather(self, rule: Rule) -> _Fields:
        whole = self.flat(rule)
        fields = _Fields(
            {
                name: self.flat(part) if isinstance(part, Mapping) and "allOf" in part else part
                for name, part in whole.get("properties", {}).items()
            },
            list(whole.get("required", ())),
            order=find_field_order(whole),
            others=whole.get("additionalProperties", whole.get("unevaluatedProperties", False)),
        )
        alternatives = [self.gather_alternatives(whole[word]) for word in ("anyOf", "oneOf") if word in whole]
        for part in (*map(self.gather, whole.get("allOf", ())), *alternatives):
            fields.add(part)
        # Fields that are listed under a condition only are taken as they are.
        fields.others = fields.others or not whole.keys().isdisjoint(CONDITIONS)
        return fields

    def gather_alternatives(self, forms: Sequence[Rule]) -> _Fields:
        """The fields of an object that matches one of several alternatives."""
        forms = [form for form in forms if "object" in self.flat(form).get("type", "object")]
        parts = [self.gather(form) for form in forms]
        names = dict.fromkeys(name for part in parts for name in (*part.rules, *part.required))
        rules: dict[str, Rule] = {}
        for name in dict.fromkeys(name for part in parts for name in part.rules):
            listed = [part.rules[name] for part in parts if name in part.rules]
            # An alternative that does not list the field accepts anything there, or refuses it.
            is_free = any(
                name not in part.rules and self.flat(form).get("additionalProperties") is not False
                for part, form in zip(parts, forms, strict=True)
            )
            rules[name] = _either([*listed, *([{}] if is_free else [])])
        required = [name for name in names if parts and all(name in part.required for part in parts)]
        others = next((part.others for part in parts if part.others is not False and part.rules), False)
        selecting = {name for name in names if not all(name in part.rules for part in parts)}
        return _Fields(rules, required, selecting, others=others)

    # Types.

    def type_of(self, rule: Rule) -> Any:
        """The Python type of the values that a rule accepts."""
        self.count += 1
        if self.count > MAX_RULES:
            raise BadDescription(f"The schema has more than {MAX_RULES:,} rules once its parts are put together.")
        if not isinstance(rule, Mapping):
            return Json if rule else Annotated[Any, BeforeValidator(_refuse)]
        if "x-media" in rule or {word for word in rule if not is_annotation(word)} != {"$ref"}:
            return self.type_of_flat(self.flat(rule), "Record")
        name = rule["$ref"].removeprefix("#/$defs/")
        if name in self.open:
            # A rule within itself: an object is its own class, and anything else is left to the service.
            whole = self.flat(self.defs[name])
            is_record = _types_in(whole) == ["object"] and "enum" not in whole and self.fields(whole).rules
            return ForwardRef(self.open[name]) if is_record else Json
        if name not in self.types:
            self.open[name] = f"{re.sub(r'[^A-Za-z0-9]', '', name) or 'Record'}_{len(self.types) + len(self.open)}"
            self.types[name] = self.type_of_flat(self.flat(self.defs[name]), self.open[name])
            del self.open[name]
        return self.types[name]

    def type_of_flat(self, rule: Mapping[str, Any], name: str) -> Any:
        if "enum" in rule or "const" in rule:
            return Annotated[(Json, AfterValidator(_OneOf(rule["enum"] if "enum" in rule else [rule["const"]])))]
        types = _types_in(rule)
        forms = next((rule[word] for word in ("anyOf", "oneOf") if word in rule), None)
        if forms is not None and types != ["object"]:
            beside = {
                word: value
                for word, value in rule.items()
                if word not in ("anyOf", "oneOf") and not is_annotation(word)
            }
            return _union([self.type_of({"allOf": [form, beside]} if beside else form) for form in forms])
        if not types or "allOf" in rule:
            return Json
        return _union([self.type_of_kind(kind, rule, name) for kind in types])

    def type_of_kind(self, kind: str, rule: Mapping[str, Any], name: str) -> Any:
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
                is_of_pictures = any(map(is_picture_rule, find_applicable_rules([others], self.defs)))
                checks = [BeforeValidator(_not_alone)] if is_of_pictures else []
                return Annotated[(_tuple[inner, ...], _field(**_sizes(rule, "Items")), Ordered, *checks)]
            case "object":
                fields = self.fields(rule)
                if fields.rules:
                    return self.record(fields, self.free_name(name), Record)
                inner = self.type_of(fields.others)
                sizes = _field(**_sizes(rule, "Properties"))
                return Annotated[(_dict[str, inner], sizes, AfterValidator(FrozenDict))]
        raise BadDescription(f"A schema is of the type {kind!r}, which JSON does not have.")

    def free_name(self, name: str) -> str:
        return name if name not in self.classes else f"{name}_{len(self.classes)}"


def _types_in(rule: Mapping[str, Any]) -> list[str]:
    """The types that a rule names."""
    types = rule.get("type", "object" if "properties" in rule else [])
    return [types] if isinstance(types, str) else list(types)


def _both(one: Rule, other: Rule) -> Rule:
    """One rule for two that both apply."""
    if one == other or other is True or one is False:
        return one
    if isinstance(one, bool) or isinstance(other, bool):
        return other
    merged = merge_rules(other, one)
    notes = {word: value for word, value in {**one, **other}.items() if is_annotation(word)}
    return {"allOf": [one, other], **notes} if merged is None else merged


def _either(rules: Sequence[Rule]) -> Rule:
    """One rule that accepts what any of several accepts."""
    unique: list[Mapping[str, Any]] = []
    for rule in rules:
        plain = rule if isinstance(rule, Mapping) else {} if rule else {"not": {}}
        if plain not in unique:
            unique.append(plain)
    if len(unique) == 1:
        return unique[0]
    noted = [{word: value for word, value in rule.items() if is_annotation(word)} for rule in unique if rule]
    common = {word: value for word, value in noted[0].items() if all(notes.get(word) == value for notes in noted)}
    checks = [{word: value for word, value in rule.items() if not is_annotation(word)} for rule in unique]
    if all(set(check) - {"type"} in ({"enum"}, {"const"}) for check in checks):
        choices = [choice for check in checks for choice in check.get("enum", [check.get("const")])]
        return {"enum": list({equality_key(choice): choice for choice in choices}.values()), **common}
    return {"anyOf": unique, **common}


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
