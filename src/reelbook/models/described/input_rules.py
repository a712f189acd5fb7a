"""What a description says about one input, ready to judge by: its fields, their defaults, and which values it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import BadDescription, Problem
from ..problems import wrong_type
from .coerce import filled, settled
from .frozen_json import Record, Stray, frozen
from .normalised_schema import MAX_RULES, about
from .picture_fields import has_pictures, pictures_in, taken
from .schema_fields import Fields, fields_of, is_closed, spoken
from .schema_judge import Defs, Rule, accepts, problems, said_by, types_of

_PLAIN = {"type", "properties", "required", "additionalProperties"}
"""With no other keyword, what is said about one field does not depend on another."""
_PUT_TOGETHER = {"$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"}
"""With one of these, fields are listed elsewhere, too."""


@dataclass(frozen=True, slots=True)
class Default:
    """What the service takes for a field that is left out."""

    value: Any
    fits: bool
    """Whether the description's own rules accept it; sloppy ones name defaults that they do not."""


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """The form of one input."""

    rule: Mapping[str, Any]
    """What the description says."""
    defs: Defs
    """What the rule refers to."""
    shown: Mapping[str, Any]
    """The same, with all fields at the top, as a JSON Schema that stands on its own."""
    fields: Mapping[str, Rule]
    """What is said about each field."""
    required: frozenset[str]
    defaults: Mapping[str, Default]
    written_by_service: frozenset[str]
    """Fields that the description has for answers only."""
    has_pictures: bool
    """Whether it has a place for a source picture."""

    def read(self, values: Mapping[str, Any], *, exact: bool) -> tuple[Record, list[Problem]]:
        """The values as this form has them, nulls that say nothing left out and defaults filled in; or what is wrong.

        With `exact` they count as they are written, as JSON does; else numbers lose their noise, and None stands for
        a field that is left out.
        """
        values, bad_pictures = taken(values, self.rule, self.defs) if self.has_pictures and not exact else (values, [])
        absent = set() if exact else {name for name, item in values.items() if item is None and self._is_absence(name)}
        frozen_values, strays = frozen({name: item for name, item in values.items() if name not in absent})
        value, unknown = settled(frozen_values, self.rule, self.defs, exact=exact)
        found = _with_strays([*self._problems(value), *self._not_yours(value)], strays)
        told = {problem.loc for problem in bad_pictures}
        found = bad_pictures + [problem for problem in found if problem.loc not in told]
        places = {problem.loc for problem in found}
        found += [problem for problem in unknown if problem.loc not in places]
        if found:
            return value, sorted(found, key=self._place)
        return self.completed(self._filled(self._without_nulls(value))), []

    def pictures(self, value: Record) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Every source picture in an input, with its place."""
        return pictures_in(value, self.rule, self.defs)

    def _problems(self, value: Record) -> list[Problem]:
        found = problems(value, self.rule, self.defs)
        if self._is_plain or not found:
            return found
        # What all forms of a field have in common says it better than any one of them.
        face = {word: self.shown[word] for word in ("type", "properties", "required") if word in self.shown}
        common = problems(value, face, self.defs)
        places = {problem.loc for problem in common}
        return common + [problem for problem in found if problem.loc not in places]

    def _place(self, problem: Problem) -> tuple[int, bool]:
        """Where a problem is among others: in the order of the fields, and typos last."""
        names = list(self.fields)
        known = problem.loc and problem.loc[0] in self.fields
        return names.index(str(problem.loc[0])) if known else len(names), problem.kind == "extra_forbidden"

    def _filled(self, value: Record) -> Record:
        """The values with the defaults inside of them."""
        full = Record({name: filled(item, self.fields.get(name, True), self.defs) for name, item in value.items()})
        return full if self._is_plain or full == value or accepts(full, self.rule, self.defs) else value

    def completed(self, given: Record) -> Record:
        """The values with every default that the service would take, in the order of the fields."""
        missing = [name for name in self.fields if name not in given and self._is_sent(name)]
        full = self._merged(given, missing)
        if self._is_plain or not missing or accepts(full, self.rule, self.defs):
            return full
        # Forms that exclude each other: take what goes with what was given.
        taken: list[str] = []
        for name in missing:
            if accepts(self._merged(given, [*taken, name]), self.rule, self.defs):
                taken.append(name)
        return self._merged(given, taken)

    @property
    def _is_plain(self) -> bool:
        """Whether fields are judged one by one, so that defaults which fit their fields fit the whole."""
        return set(self.rule) - set(about(self.rule)) <= _PLAIN

    def default(self, name: str) -> Any:
        """What a field has that was left out; None where nothing is said."""
        return self.defaults[name].value if name in self.defaults else None

    def _merged(self, given: Record, names: list[str]) -> Record:
        values = {**given, **{name: self.default(name) for name in names}}
        return Record({name: values[name] for name in (*self.fields, *given) if name in values})

    def _is_sent(self, name: str) -> bool:
        """Whether a default is spelled out; a null only says what leaving it out says, too."""
        return name in self.defaults and self.defaults[name].fits and self.defaults[name].value is not None

    def _is_absence(self, name: str) -> bool:
        """Whether None can only stand for a field that is left out."""
        return self._may_go(name) and not accepts(None, self.fields[name], self.defs)

    def _may_go(self, name: str) -> bool:
        """Whether leaving a field out says the same as null."""
        return name in self.fields and name not in self.required and self.default(name) is None

    def _without_nulls(self, value: Record) -> Record:
        lean = Record({name: item for name, item in value.items() if item is not None or not self._may_go(name)})
        return lean if len(lean) == len(value) or accepts(lean, self.rule, self.defs) else value

    def _not_yours(self, value: Record) -> Iterator[Problem]:
        for name in value:
            if name in self.written_by_service:
                yield Problem((name,), f"`{name}` is written by the service; leave it out.", "read_only")


def form_of(schema: Mapping[str, Any]) -> Form:
    """The form of an input that a whole schema (see `normal.py`) describes.

    >>> form = form_of({"properties": {"seed": {"type": "integer", "default": 7}}})
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
        # What is asked for nevertheless must be given.
        if said_by(part, "readOnly", defs) is True and name not in gathered.required
    )
    fields = {name: part for name, part in gathered.rules.items() if name not in service}
    shown = _shown(rule, Fields(fields, gathered.required), defs)
    return Form(
        rule,
        defs,
        shown,
        fields,
        frozenset(gathered.required),
        dict(_defaults(fields, defs)),
        service,
        has_pictures(rule, defs),
    )


def _shown(rule: Mapping[str, Any], fields: Fields, defs: Defs) -> dict[str, Any]:
    is_whole = not _PUT_TOGETHER & set(rule)
    # Put together of parts, a form keeps them as they are, beneath its fields.
    parts = {} if is_whole else {"allOf": [{word: value for word, value in rule.items() if word not in about(rule)}]}
    names = {word: said_by(rule, word, defs) for word in ("title", "description")}
    shown = {**(rule if is_whole else about(rule)), **{word: text for word, text in names.items() if text is not None}}
    shown.pop("required", None)
    shown.update({"type": "object", "properties": dict(fields.rules)}, **parts)
    shown.update({"required": list(fields.required)} if fields.required else {})
    shown.update({"additionalProperties": False} if is_closed(spoken([rule], defs), defs) else {})
    shown.update({"$defs": defs} if defs else {})
    _check_size(shown)
    return shown


def _check_size(shown: Any) -> None:
    waiting, count = [shown], 0
    while waiting:
        part = waiting.pop()
        count += 1
        if count > MAX_RULES:
            raise BadDescription(f"The schema has more than {MAX_RULES:,} rules once its parts are put together.")
        inner = part.values() if isinstance(part, Mapping) else part
        waiting += [item for item in inner if isinstance(item, (Mapping, list))]


def _defaults(fields: Mapping[str, Rule], defs: Defs) -> Iterator[tuple[str, Default]]:
    for name, rule in fields.items():
        said = said_by(rule, "default", defs, missing=...)
        if said is not ...:
            value, unknown = settled(frozen(said)[0], rule, defs, exact=True)
            fits = not unknown and accepts(value, rule, defs)
            yield name, Default(filled(value, rule, defs) if fits else value, fits)


def _with_strays(found: list[Problem], strays: list[Stray]) -> list[Problem]:
    """All problems, where one that JSON itself has with a place stands for those of its rules."""
    told = [stray.loc for stray in strays if stray.wanted]
    places = {problem.loc for problem in found}
    rest = [problem for problem in found if not any(problem.loc[: len(loc)] == loc for loc in told)]
    more = [stray for stray in strays if stray.wanted or stray.loc not in places]
    return rest + [wrong_type(item.loc, "json_type", item.value, item.wanted or "a JSON value", None) for item in more]
