"""The rules of one described input: its fields, their defaults, and validation of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import BadDescription, Problem
from ..problems import wrong_type
from .coerce import coerce, fill_defaults
from .frozen_json import NotJson, Record, freeze
from .normalised_schema import MAX_RULES
from .picture_fields import find_pictures, has_pictures, to_images
from .schema_fields import Fields, fields_of, is_closed
from .schema_judge import accepts, problems
from .schema_view import Defs, Rule, find_applicable_rules, find_keyword, get_annotations, types_of

_PLAIN_KEYWORDS = {"type", "properties", "required", "additionalProperties"}
"""With no other keyword, the rules of one field do not depend on another."""
_COMBINING = {"$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"}
"""Keywords that list further fields in other rules."""


@dataclass(frozen=True, slots=True)
class Default:
    """The value that the service uses for an omitted field."""

    value: Any
    fits: bool
    """Whether the description's own rules accept it; some descriptions have invalid defaults."""


@dataclass(frozen=True, slots=True, eq=False)
class InputRules:
    """Fields, defaults and validation of one input."""

    rule: Mapping[str, Any]
    """The rule as in the description."""
    defs: Defs
    """The definitions that the rule refers to."""
    json_schema: Mapping[str, Any]
    """The rule as a self-contained JSON Schema, with all fields at the top level."""
    fields: Mapping[str, Rule]
    """The rule of each field."""
    required: frozenset[str]
    defaults: Mapping[str, Default]
    written_by_service: frozenset[str]
    """Read-only fields, which appear in responses only."""
    has_pictures: bool
    """Whether it has a field for a source picture."""

    def read(self, values: Mapping[str, Any], *, exact: bool) -> tuple[Record, list[Problem]]:
        """The validated values, redundant nulls left out and defaults filled in; or their problems.

        With `exact` values are taken as written, like JSON; else noise in numbers is rounded away, and None means that
        the field is left out.
        """
        values, bad_pictures = (
            to_images(values, self.rule, self.defs) if self.has_pictures and not exact else (values, [])
        )
        absent = set() if exact else {name for name, item in values.items() if item is None and self._is_absence(name)}
        frozen_values, not_json = freeze({name: item for name, item in values.items() if name not in absent})
        value, unknown = coerce(frozen_values, self.rule, self.defs, exact=exact)
        found = _merge_problems([*self._find_problems(value), *self._find_read_only(value)], not_json)
        reported = {problem.loc for problem in bad_pictures}
        found = bad_pictures + [problem for problem in found if problem.loc not in reported]
        places = {problem.loc for problem in found}
        found += [problem for problem in unknown if problem.loc not in places]
        if found:
            return value, sorted(found, key=self._place)
        return self.with_defaults(self._filled(self._without_nulls(value))), []

    def pictures(self, value: Record) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Every source picture in an input, with its field path."""
        return find_pictures(value, self.rule, self.defs)

    def _find_problems(self, value: Record) -> list[Problem]:
        found = problems(value, self.rule, self.defs)
        if self._is_plain or not found:
            return found
        # The rules common to all alternatives give better messages than any single alternative.
        common_rule = {
            word: self.json_schema[word] for word in ("type", "properties", "required") if word in self.json_schema
        }
        common = problems(value, common_rule, self.defs)
        places = {problem.loc for problem in common}
        return common + [problem for problem in found if problem.loc not in places]

    def _place(self, problem: Problem) -> tuple[int, bool]:
        """Sort key of a problem: in the order of the fields, unknown ones last."""
        names = list(self.fields)
        known = problem.loc and problem.loc[0] in self.fields
        return names.index(str(problem.loc[0])) if known else len(names), problem.kind == "extra_forbidden"

    def _filled(self, value: Record) -> Record:
        """The values with the defaults of nested objects."""
        full = Record(
            {name: fill_defaults(item, self.fields.get(name, True), self.defs) for name, item in value.items()}
        )
        return full if self._is_plain or full == value or accepts(full, self.rule, self.defs) else value

    def with_defaults(self, given: Record) -> Record:
        """The values with every default that the service would use, in the order of the fields."""
        missing = [name for name in self.fields if name not in given and self._is_sent(name)]
        full = self._merged(given, missing)
        if self._is_plain or not missing or accepts(full, self.rule, self.defs):
            return full
        # Alternatives that exclude each other: add the defaults that fit the given values.
        accepted: list[str] = []
        for name in missing:
            if accepts(self._merged(given, [*accepted, name]), self.rule, self.defs):
                accepted.append(name)
        return self._merged(given, accepted)

    @property
    def _is_plain(self) -> bool:
        """Whether fields are validated independently, so that defaults valid for their fields are valid together."""
        return set(self.rule) - set(get_annotations(self.rule)) <= _PLAIN_KEYWORDS

    def default(self, name: str) -> Any:
        """The default of a field; None where there is none."""
        return self.defaults[name].value if name in self.defaults else None

    def _merged(self, given: Record, names: list[str]) -> Record:
        values = {**given, **{name: self.default(name) for name in names}}
        return Record({name: values[name] for name in (*self.fields, *given) if name in values})

    def _is_sent(self, name: str) -> bool:
        """Whether a default is sent; a null default is equivalent to leaving the field out."""
        return name in self.defaults and self.defaults[name].fits and self.defaults[name].value is not None

    def _is_absence(self, name: str) -> bool:
        """Whether None can only mean that the field is left out."""
        return self._is_optional(name) and not accepts(None, self.fields[name], self.defs)

    def _is_optional(self, name: str) -> bool:
        """Whether leaving a field out means the same as null."""
        return name in self.fields and name not in self.required and self.default(name) is None

    def _without_nulls(self, value: Record) -> Record:
        lean = Record({name: item for name, item in value.items() if item is not None or not self._is_optional(name)})
        return lean if len(lean) == len(value) or accepts(lean, self.rule, self.defs) else value

    def _find_read_only(self, value: Record) -> Iterator[Problem]:
        for name in value:
            if name in self.written_by_service:
                yield Problem((name,), f"`{name}` is written by the service; leave it out.", "read_only")


def parse_input_rules(schema: Mapping[str, Any]) -> InputRules:
    """The rules of an input from a normalised schema.

    >>> form = parse_input_rules({"properties": {"seed": {"type": "integer", "default": 7}}})
    >>> form.read({}, exact=True)
    ({'seed': 7}, [])
    """
    defs: Defs = schema.get("$defs", {})
    rule = {word: value for word, value in schema.items() if word != "$defs"}
    types = types_of(rule, defs)
    if rule == {"not": {}} or (types and "object" not in types):
        kinds = f"of the type {' or '.join(types)}" if types else "nothing at all"
        raise BadDescription(f"The input is {kinds}; it should be an object with fields.")
    gathered = fields_of(rule, defs)
    service = frozenset(
        name
        for name, part in gathered.rules.items()
        # A required field must be given nevertheless.
        if find_keyword(part, "readOnly", defs) is True and name not in gathered.required
    )
    fields = {name: part for name, part in gathered.rules.items() if name not in service}
    json_schema = _json_schema(rule, Fields(fields, gathered.required), defs)
    return InputRules(
        rule,
        defs,
        json_schema,
        fields,
        frozenset(gathered.required),
        dict(_defaults(fields, defs)),
        service,
        has_pictures(rule, defs),
    )


def _json_schema(rule: Mapping[str, Any], fields: Fields, defs: Defs) -> dict[str, Any]:
    is_simple = not _COMBINING & set(rule)
    # A combined schema keeps its parts unchanged under `allOf`, beside its fields.
    parts = (
        {}
        if is_simple
        else {"allOf": [{word: value for word, value in rule.items() if word not in get_annotations(rule)}]}
    )
    names = {word: find_keyword(rule, word, defs) for word in ("title", "description")}
    result = {
        **(rule if is_simple else get_annotations(rule)),
        **{word: text for word, text in names.items() if text is not None},
    }
    result.pop("required", None)
    result.update({"type": "object", "properties": dict(fields.rules)}, **parts)
    result.update({"required": list(fields.required)} if fields.required else {})
    result.update({"additionalProperties": False} if is_closed(find_applicable_rules([rule], defs), defs) else {})
    result.update({"$defs": defs} if defs else {})
    _check_size(result)
    return result


def _check_size(schema: Any) -> None:
    waiting, count = [schema], 0
    while waiting:
        part = waiting.pop()
        count += 1
        if count > MAX_RULES:
            raise BadDescription(f"The schema has more than {MAX_RULES:,} rules once its parts are put together.")
        inner = part.values() if isinstance(part, Mapping) else part
        waiting += [item for item in inner if isinstance(item, (Mapping, list))]


def _defaults(fields: Mapping[str, Rule], defs: Defs) -> Iterator[tuple[str, Default]]:
    for name, rule in fields.items():
        stated = find_keyword(rule, "default", defs, missing=...)
        if stated is not ...:
            value, unknown = coerce(freeze(stated)[0], rule, defs, exact=True)
            fits = not unknown and accepts(value, rule, defs)
            yield name, Default(fill_defaults(value, rule, defs) if fits else value, fits)


def _merge_problems(found: list[Problem], not_json: list[NotJson]) -> list[Problem]:
    """All problems; where a value is not JSON, that problem replaces those of its rules."""
    reported = [stray.loc for stray in not_json if stray.wanted]
    places = {problem.loc for problem in found}
    rest = [problem for problem in found if not any(problem.loc[: len(loc)] == loc for loc in reported)]
    more = [stray for stray in not_json if stray.wanted or stray.loc not in places]
    return rest + [wrong_type(item.loc, "json_type", item.value, item.wanted or "a JSON value", None) for item in more]
