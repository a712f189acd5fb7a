"""Input classes built from a service's OpenAPI description."""

from __future__ import annotations

import difflib
import json
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import lru_cache
from itertools import accumulate, repeat
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import (
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    create_model,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from ...errors import Problem
from ..base import WIRE, Input
from ..signatures import present
from ..value_types import is_wire_json
from .frozen_json import Record, equality_key, is_equal_json, thaw
from .input_rules import InputRules, parse_input_rules
from .openapi_input import source_of
from .schema_view import find_keyword


def describe(document: Mapping[str, Any], endpoint_id: str | None = None) -> type[Described]:
    """The input class for a model in an OpenAPI 3.0 or 3.1 description; the same class for the same description.

    >>> seed = {"type": "integer", "minimum": 0, "default": 7}
    >>> schema = {"properties": {"prompt": {"type": "string"}, "seed": seed}, "required": ["prompt"]}
    >>> post = {"requestBody": {"content": {"application/json": {"schema": schema}}}}
    >>> Echo = describe({"openapi": "3.1.0", "paths": {"/svc/echo": {"post": post}}})
    >>> Echo(prompt="a paper boat", seed=8)
    model('svc/echo')(prompt='a paper boat', seed=8)
    """
    source = source_of(document, endpoint_id)
    return _input_class(source.endpoint_id, json.dumps(source.schema))


class Described(Input):
    """An input whose fields come from a description.

    A field whose name is taken by a method, such as `copy`, is accessed as `request["copy"]`, or as an attribute with a
    trailing underscore.
    """

    model_config = ConfigDict(protected_namespaces=(), use_attribute_docstrings=False)

    _rules: ClassVar[InputRules]
    """The description's fields, defaults and checks."""
    _attributes: ClassVar[Mapping[str, str]] = {}
    """The attribute name of each field."""

    if TYPE_CHECKING:
        # The fields are known only once a description is parsed.
        def __init__(self, /, *by_position: Any, **values: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """Do nothing: `_make_input_class` sets the signature once the class has its description."""

    @model_validator(mode="wrap")
    @classmethod
    def _validate(cls, values: Any, validate: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        if not isinstance(values, Mapping):
            return validate(values)
        exact = is_wire_json(info)
        read, problems = cls._rules.read(values if exact else cls._named(values), exact=exact)
        if problems:
            raise ValidationError.from_exception_data(
                cls.__name__, [_to_error_details(problem) for problem in problems]
            )
        instance = validate(dict(read))
        if instance.model_extra:
            # Pydantic counts extra fields as set, too, and one may have the name of another field's attribute.
            instance.model_fields_set.intersection_update(
                cls._attributes[name] for name in read if name in cls._attributes
            )
        return instance

    @model_serializer(mode="plain")
    def _as_sent(self) -> dict[str, Any]:
        return self.wire()

    def __getitem__(self, name: str) -> Any:
        extra = self.model_extra or {}
        if name in self._attributes:
            return self.__dict__[self._attributes[name]]
        if name in extra:
            return extra[name]
        close = difflib.get_close_matches(str(name), self._attributes, n=1)
        raise KeyError(f"There is no field {name!r}.{f' Did you mean {close[0]!r}?' if close else ''}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Described) or type(self) is not type(other):
            return NotImplemented
        # Pydantic compares Python values, where 1 equals True; to a service they differ.
        return is_equal_json(self._sent(), other._sent())

    def __hash__(self) -> int:
        return hash((type(self), equality_key(self._sent())))

    def __reduce__(self) -> tuple[Any, ...]:
        # The class is built at run time, so the pickle contains its schema.
        schema = {**self._rules.rule, **({"$defs": self._rules.defs} if self._rules.defs else {})}
        return _unpickle, (self.endpoint_id, json.dumps(schema), self._sent())

    def __reel_pictures__(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        return self._rules.pictures(Record(self._sent()))

    def changed(self) -> dict[str, Any]:
        """The fields that differ from their defaults."""
        sent = self._sent()
        changed = {
            name: value
            for name, value in sent.items()
            if name in self._rules.required
            or name not in self._rules.defaults
            or not is_equal_json(value, self._rules.default(name))
        }
        # Where alternatives exclude each other, a field may select one even with its default value.
        return changed if self._rules.with_defaults(Record(changed)) == Record(sent) else sent

    def revised(self, /, **changes: Any) -> Self:
        """The same input with some fields changed, validated again."""
        return type(self)(**{**self.changed(), **self._named(changes)})

    def wire(self) -> dict[str, Any]:
        """The JSON object that the service receives: defaults included, redundant nulls omitted."""
        return {name: thaw(value) for name, value in self._sent().items()}

    @classmethod
    def model_json_schema(cls, *args: Any, **options: Any) -> dict[str, Any]:
        """The description as JSON Schema, with all fields at the top level and all referenced schemas under `$defs`."""
        return deepcopy(dict(cls._rules.json_schema))

    @classmethod
    def _spelling(cls) -> str:
        return f"model({cls.endpoint_id!r})"

    @classmethod
    def _named(cls, values: Mapping[Any, Any]) -> dict[Any, Any]:
        """The values by field name; attribute names are translated."""
        names = {attribute: name for name, attribute in cls._attributes.items() if attribute not in cls._attributes}
        return {names.get(name, name): value for name, value in values.items()}

    def _sent(self) -> dict[str, Any]:
        own = {name: self[name] for name, place in self._attributes.items() if place in self.model_fields_set}
        return {**own, **(self.model_extra or {})}


class _Open(Described):
    """A described input that also accepts fields which its description does not list."""

    model_config = ConfigDict(extra="allow")

    @classmethod
    def _named(cls, values: Mapping[Any, Any]) -> dict[Any, Any]:
        # Any name may be a field's, even one that is also an attribute.
        return dict(values)


def _to_error_details(problem: Problem) -> InitErrorDetails:
    # Sentence last: pydantic substitutes one placeholder after another, and the sentence may contain any text.
    kind = PydanticCustomError(problem.kind, "{sentence}", {"problem": problem, "sentence": problem.message})
    return InitErrorDetails(type=kind, loc=problem.loc, input=problem.value)


def _unpickle(endpoint_id: str, schema: str, values: dict[str, Any]) -> Described:
    return _input_class(endpoint_id, schema).model_validate(values, context=dict(WIRE))


def _input_class(endpoint_id: str, schema: str) -> type[Described]:
    # Two threads at once would build two classes, whose inputs are never equal.
    with _MAKING:
        return _make_input_class(endpoint_id, schema)


_MAKING = Lock()


@lru_cache(maxsize=256)
def _make_input_class(endpoint_id: str, schema: str) -> type[Described]:
    rules = parse_input_rules(json.loads(schema))
    base = Described if rules.json_schema.get("additionalProperties") is False else _Open
    attributes = _attributes_for(rules.fields, is_open=base is _Open)
    fields = {attributes[name]: (Any, _field(name, attributes[name], rules)) for name in rules.fields}
    about = find_keyword(rules.rule, "description", rules.defs) or f"Input of the model {endpoint_id}."
    # Any, because mypy would treat the name below as that of a declared class.
    make: Any = create_model
    cls: type[Described] = make(_name_for(endpoint_id, rules), __base__=base, __doc__=about, **fields)
    cls.endpoint_id, cls._rules, cls._attributes = endpoint_id, rules, attributes
    present(cls, rules.json_schema, about, f"rb.{cls._spelling()}")
    return cls


def _field(name: str, attribute: str, rules: InputRules) -> Any:
    texts = {word: find_keyword(rules.fields[name], word, rules.defs) for word in ("title", "description")}
    rule = rules.fields[name]
    extensions = (
        {word: value for word, value in rule.items() if word.startswith("x-")} if isinstance(rule, Mapping) else {}
    )
    default = ... if name in rules.required else rules.default(name)
    return Field(default, alias=None if attribute == name else name, json_schema_extra=extensions or None, **texts)


def _attributes_for(names: Iterable[str], *, is_open: bool = False) -> dict[str, str]:
    """An attribute name for every field: its own name, or where that is taken, a free one.

    With `is_open`, it is one that undescribed fields are unlikely to have.

    >>> _attributes_for(["prompt", "copy", "_seed", "my-field"])
    {'prompt': 'prompt', 'copy': 'copy_', '_seed': 'seed', 'my-field': 'my-field'}
    >>> _attributes_for(["_seed"], is_open=True)
    {'_seed': 'seed_'}
    """
    attributes = {name: name for name in names if _may_be_attribute(name)}
    taken = set(attributes)
    for name in names:
        if name not in attributes:
            plain = (re.sub(r"\W", "_", name).strip("_") or "field") + "_" * is_open
            free = next(
                item for item in accumulate(repeat("_"), initial=plain) if _may_be_attribute(item) and item not in taken
            )
            attributes[name] = free
            taken.add(free)
    return {name: attributes[name] for name in names}


def _may_be_attribute(name: str) -> bool:
    return bool(name) and not name.startswith("_") and not hasattr(Described, name)


def _name_for(endpoint_id: str, rules: InputRules) -> str:
    """The name of the class: its title, if that is an identifier, else derived from the model's id."""
    title = find_keyword(rules.rule, "title", rules.defs) or ""
    if title.isidentifier() and not keyword.iskeyword(title) and len(title) <= 60:
        return str(title)
    words = re.findall(r"[A-Za-z0-9]+", endpoint_id.rpartition("/")[2])
    name = "".join(word[:1].upper() + word[1:] for word in words)[:60]
    return name if name.isidentifier() else f"Model{name}"
