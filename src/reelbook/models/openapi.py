"""A model's input in an OpenAPI 3 description, as one self-contained JSON schema. Nothing outside it is fetched."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from ..errors import BadDescription
from ..util.printable import map_texts, replace_surrogates
from .json_schema import get_types, is_annotation, merge_rules
from .problems import format_literal

MAX_LEVELS = 100
"""Maximum nesting of a description; those of services have fewer than thirty levels."""
MAX_RULES = 10_000
"""Maximum number of rules in a schema; those of services have fewer than a hundred."""
ENVELOPES = ({"endpointId", "input"}, {"endpoint_id", "input"})
"""The fields of a run call, whose schema describes no particular model's input."""
HINT = "x-endpoint-id"
"""The extension in which a service writes a model's id."""

_LISTS_OF_RULES = {"allOf", "anyOf", "oneOf"}
_LISTS = {*_LISTS_OF_RULES, "prefixItems", "required", "enum"}
_CONDITIONS = {"then", "else", "dependentSchemas", "patternProperties"}
"""Keywords whose fields are not known beforehand."""
_DROPPED = {
    *_CONDITIONS, "if", "not", "contains", "minContains", "maxContains", "propertyNames", "dependentRequired", "discriminator",
    "unevaluatedItems", "unevaluatedProperties", "uniqueItems", "$defs", "definitions", "$id", "$schema", "$anchor",
    "$dynamicAnchor", "$comment", "$vocabulary",
}  # fmt: skip
"""Keywords that are resolved here, have a meaning only in the original document, or are left to the service."""

_PICTURE_NAME = re.compile(r"(.*[_-])?(image|picture|photo)[_-]?(url|uri)s?", re.IGNORECASE)
_PICTURE_WORDS = {"image", "images", "picture", "pictures", "photo", "photos"}
_ADDRESSES = {"uri", "url", "uri-reference", "iri"}


def read_input_schema(description: Any, endpoint_id: str | None = None) -> tuple[str, dict[str, Any]]:
    """The id of a model and the JSON schema of its input, whose references are all of the form `#/$defs/<name>`.

    >>> schema = {"type": "object", "properties": {"prompt": {"type": "string"}}}
    >>> post = {"requestBody": {"content": {"application/json": {"schema": schema}}}}
    >>> read_input_schema({"openapi": "3.1.0", "paths": {"/svc/echo": {"post": post}}})[0]
    'svc/echo'
    """
    document = _Document(_object(_copy_json(description)))
    version = document.root.get("openapi")
    if not isinstance(version, str) or not version.startswith("3."):
        word = next((word for word in ("openapi", "swagger") if word in document.root), None)
        reason = f"its `{word}` is {format_literal(document.root[word])}" if word else "it has no field `openapi`"
        raise BadDescription(f"This is not an OpenAPI 3 description: {reason}.")
    path, schema, hint = document.choose_call(endpoint_id)
    name = (endpoint_id or "").strip("/") or hint or unquote(path).strip("/")
    if not name or (name == unquote(path).strip("/") and "{" in name):
        words = f"The address {format_literal(path)} does not say which model this is: pass its endpoint_id."
        raise BadDescription(words)
    return name, _SchemaReader(document, schema, is_3_0=version.startswith("3.0")).read()


def _copy_json(description: Any) -> Any:
    """A copy of a description; raises where it is not JSON. Lone surrogates in it cannot be displayed."""
    try:
        value = map_texts(json.loads(json.dumps(description, allow_nan=False)), replace_surrogates)
    except (TypeError, ValueError) as error:
        raise BadDescription(f"The description is not JSON: {str(error)[:200]}.") from None
    except RecursionError:
        raise BadDescription(f"The description nests more than {MAX_LEVELS} levels deep.") from None
    nodes, levels = [value], 0
    while nodes:
        levels += 1
        parts = [node.values() if isinstance(node, dict) else node for node in nodes if isinstance(node, (dict, list))]
        nodes = [item for part in parts for item in part]
    if levels > MAX_LEVELS:
        raise BadDescription(f"The description nests more than {MAX_LEVELS} levels deep.")
    return value


def _object(value: Any) -> Mapping[str, Any]:
    """The value; raises unless it is an object."""
    if not isinstance(value, dict):
        raise BadDescription(f"A description has {format_literal(value)} where an object with fields should be.")
    return value


class _Document:
    """An OpenAPI document whose references can be resolved."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root

    def calls(self) -> Iterator[tuple[str, Any, str]]:
        """Path, schema and model id, as far as it says one, of each POST operation with a JSON body."""
        for path, value in _object(self.root.get("paths", {})).items():
            entry = self.resolved(value)
            post = _object(entry.get("post", {}))
            content = _object(self.resolved(post.get("requestBody", {})).get("content", {}))
            wanted = ("application/json", "json", "*/*", "application/*")
            media: Any = next((content[name] for kind in wanted for name in content if kind in name.lower()), {})
            if isinstance(media, dict) and "schema" in media:
                parts = (post, entry, self.root.get("info"), self.root)
                hints = [part[HINT] for part in parts if isinstance(part, dict) and isinstance(part.get(HINT), str)]
                yield path, media["schema"], next(iter(hints), "")

    def choose_call(self, endpoint_id: str | None) -> tuple[str, Any, str]:
        """The call of this model: by path, by id, or else the first that belongs to a single model."""
        calls = list(self.calls())
        wanted = f"/{endpoint_id.strip('/')}" if endpoint_id else ""

        def rank(call: tuple[str, Any, str]) -> int:
            path = unquote(call[0]).rstrip("/")
            fits = (path == wanted, path.endswith(wanted), call[2] == endpoint_id) if wanted else ()
            return next((place for place, is_fit in enumerate(fits) if is_fit), 3)

        for call in sorted(calls, key=rank):
            if rank(call) < 3 or not self.is_run_call(call[1]):
                return call
        offered = "only run calls, which take any model's input" if calls else "no POST that takes JSON"
        raise BadDescription(f"The description has {offered}, so it does not say what the model takes.")

    def is_run_call(self, schema: Any) -> bool:
        """Whether a schema takes any model's input."""
        fields = self.resolved(schema, schema).get("properties") if isinstance(schema, dict) else None
        return isinstance(fields, dict) and any(envelope <= set(fields) for envelope in ENVELOPES)

    def resolved(self, node: Any, home: Any = None) -> Mapping[str, Any]:
        """The object itself, or the object that its `$ref` points to."""
        node = _object(node)
        return _object(self.target(node["$ref"], home)[0]) if "$ref" in node else node

    def target(self, ref: Any, home: Any) -> tuple[Any, str]:
        """The target of a chain of references, and its name there; `home` is the schema that they may stay within."""
        for _ in range(MAX_LEVELS):
            tokens = _pointer_tokens(ref)
            # The document itself is not a schema, so `#` alone refers to the schema.
            target = (_find_at(self.root, tokens) if tokens else None) or _find_at(home, tokens)
            if target is None:
                raise BadDescription(f"The reference {format_literal(ref)} leads to nothing.")
            if not (isinstance(target, dict) and set(target) == {"$ref"}):
                return target, tokens[-1] if tokens else "Input"
            ref = target["$ref"]
        raise BadDescription(f"The reference {format_literal(ref)} goes round in a circle.")


class _SchemaReader:
    """Brings a schema into a plain form: no `allOf`, alternatives as `anyOf`, and all fields of an object in one place.

    Conditions and rare keywords, such as `not`, are left out: the service checks those.
    """

    def __init__(self, document: _Document, source: Any, *, is_3_0: bool) -> None:
        self.document, self.source, self.is_3_0 = document, source, is_3_0
        self.count = 0
        self.defs: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.pending: list[tuple[str, Any]] = []
        self.merged: dict[int, Mapping[str, Any]] = {}
        self.merging: set[int] = set()
        self.sources: list[Any] = []
        """All that was merged, so that no other object gets its `id`."""

    def read(self) -> dict[str, Any]:
        """The whole schema; it has all fields at the top, and what it refers to under `$defs`."""
        whole = self.flat(self.source)
        if "object" not in (get_types(whole) or ["object"]):
            raise BadDescription(f"The input is of the type {whole['type']}; it should be an object with fields.")
        if not isinstance(self.source, dict):
            raise BadDescription("The input is anything or nothing at all; it should be an object with fields.")
        root = self.object(whole)
        # A loop rather than recursion: references may form long chains.
        while self.pending:
            name, target = self.pending.pop()
            self.defs[name] = self.rule(target)
        return {**root, "$defs": self.defs} if self.defs else root

    def flat(self, source: Any) -> Mapping[str, Any]:
        """A rule with its references and `allOf` merged into it; its parts are as the description has them."""
        if isinstance(source, bool):
            return {} if source else {"enum": []}
        if id(source) in self.merged:
            return self.merged[id(source)]
        if id(source) in self.merging:
            raise BadDescription("A schema refers to itself in a circle and never says what it takes.")
        self.add_to_count()
        self.merging.add(id(source))
        self.sources.append(source)
        own = dict(_modernise(_object(source), self.is_3_0))
        _check_words(own)
        parts = own.pop("allOf", [])
        if "$ref" in own:
            parts = [self.document.target(own.pop("$ref"), self.source)[0], *parts]
        for part in parts:
            own = merge_rules(own, self.flat(part))
        self.merging.discard(id(source))
        self.merged[id(source)] = own
        return own

    def rule(self, source: Any, name: str = "") -> Any:
        """A rule in plain form, for the field of this name."""
        self.add_to_count()
        if isinstance(source, bool):
            return source
        whole = dict(self.flat(source))
        if not _is_scalar(whole) and (reference := self.find_reference(source)):
            return {"$ref": reference, **{word: value for word, value in source.items() if is_annotation(word)}}
        if not whole.keys().isdisjoint(("anyOf", "oneOf")) and get_types(whole) != ["object"]:
            return self.alternatives(whole, name)
        if "object" in get_types(whole):
            return self.object(whole)
        if _names_picture(name, whole):
            whole["x-media"] = "image"
        for word in ("items", "prefixItems"):
            if word in whole:
                parts = whole[word]
                whole[word] = (
                    [self.rule(part, name) for part in parts] if word == "prefixItems" else self.rule(parts, name)
                )
        return {word: value for word, value in whole.items() if word not in _DROPPED}

    def find_reference(self, source: Mapping[str, Any]) -> str | None:
        """The reference that a rule consists of, besides annotations; None for any other rule."""
        own = _modernise(source, self.is_3_0)
        checks = {word: value for word, value in own.items() if not is_annotation(word)}
        if checks.keys() == {"allOf"} and len(checks["allOf"]) == 1:
            checks = checks["allOf"][0]
        if not isinstance(checks, dict) or checks.keys() != {"$ref"}:
            return None
        target, name = self.document.target(checks["$ref"], self.source)
        if id(target) not in self.names:
            plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:100] or "Part"
            while plain in self.names.values():
                plain += "_"
            self.names[id(target)] = plain
            self.pending.append((plain, target))
        return f"#/$defs/{self.names[id(target)]}"

    def alternatives(self, whole: Mapping[str, Any], name: str) -> dict[str, Any]:
        """A rule with alternatives; what it demands besides belongs to each of them."""
        notes = {word: value for word, value in whole.items() if is_annotation(word)}
        besides = {word: value for word, value in whole.items() if word not in (*notes, "anyOf", "oneOf")}
        forms = whole.get("anyOf") or whole["oneOf"]
        rules = [self.rule({"allOf": [form, besides]} if besides else form, name) for form in forms]
        return {**_unite(rules), **notes}

    def object(self, whole: Mapping[str, Any]) -> dict[str, Any]:
        """The rule of an object, in the wished order and without the fields that only the service writes."""
        fields = self.gather(whole)
        is_open = fields.others is not False
        others = fields.others if isinstance(fields.others, bool) else self.rule(fields.others)
        rest = {word: value for word, value in whole.items() if word not in (*_DROPPED, "anyOf", "oneOf", "properties")}
        rest = {"type": "object", **rest}
        if not fields.rules:
            return {**rest, "additionalProperties": others} if is_open else rest
        for name in fields.required:
            fields.rules.setdefault(name, True if isinstance(others, bool) else fields.others)
        shown = {name: rule for name, rule in fields.rules.items() if self.flat(rule).get("readOnly") is not True}
        rules = {name: self.rule(rule, name) for name, rule in _sort_fields(shown, whole).items()}
        for name in fields.selecting & rules.keys():
            rules[name] = {word: value for word, value in rules[name].items() if word != "default"}
        required = [name for name in dict.fromkeys(fields.required) if name in rules]
        rest |= {"properties": rules, "required": required, "additionalProperties": others}
        return {word: value for word, value in rest.items() if word != "required" or value}

    def gather(self, whole: Mapping[str, Any]) -> _Fields:
        """The fields of an object and of its alternatives, as the description has them."""
        others = whole.get("additionalProperties", whole.get("unevaluatedProperties", False))
        # Fields that are listed under a condition only are taken as they are.
        others = others or not whole.keys().isdisjoint(_CONDITIONS)
        fields = _Fields(dict(whole.get("properties", {})), list(whole.get("required", ())), others)
        for word in ("anyOf", "oneOf"):
            forms = [self.flat(form) for form in whole.get(word, ())]
            parts = [self.gather(form) for form in forms if "object" in (get_types(form) or ["object"])]
            for name in dict.fromkeys(name for part in parts for name in part.rules):
                listed = [part.rules[name] for part in parts if name in part.rules]
                if len(listed) < len(parts):
                    fields.selecting.add(name)
                rules = [rule for place, rule in enumerate(listed) if rule not in listed[:place]]
                joined = rules[0] if len(rules) == 1 else {"anyOf": rules, **self.common_notes(rules)}
                fields.rules[name] = {"allOf": [fields.rules[name], joined]} if name in fields.rules else joined
            if parts:
                fields.required += [name for name in parts[0].required if all(name in part.required for part in parts)]
            fields.others = fields.others or any(part.others and part.rules for part in parts)
        return fields

    def common_notes(self, rules: Sequence[Any]) -> dict[str, Any]:
        """The annotations that all of these rules share."""
        notes = [{word: value for word, value in self.flat(rule).items() if is_annotation(word)} for rule in rules]
        return {word: value for word, value in notes[0].items() if all(other.get(word) == value for other in notes)}

    def add_to_count(self) -> None:
        """Count a rule; raises where there are too many."""
        self.count += 1
        if self.count > MAX_RULES:
            raise BadDescription(f"The schema has more than {MAX_RULES:,} rules.")


@dataclass
class _Fields:
    """The fields of an object, as the description has them."""

    rules: dict[str, Any]
    required: list[str]
    others: Any
    """The rule for fields that are not listed."""
    selecting: set[str] = field(default_factory=set)
    """Fields of some alternatives only: giving one, even with its default, selects an alternative."""


def _check_words(rule: Mapping[str, Any]) -> None:
    for word, value in rule.items():
        if (word in _LISTS and not isinstance(value, list)) or (word in _LISTS_OF_RULES and not value):
            raise BadDescription(f"`{word}` should be a list and is {format_literal(value)}.")
        if word in ("properties", "items", "additionalProperties") and not isinstance(value, bool):
            _object(value)


def _is_scalar(rule: Mapping[str, Any]) -> bool:
    return rule.keys().isdisjoint(("anyOf", "oneOf")) and not {"object", "array"} & {*get_types(rule)}


def _unite(rules: Sequence[Any]) -> dict[str, Any]:
    """One rule that accepts what any of several accepts."""
    if all(isinstance(rule, dict) and not rule.keys().isdisjoint(("enum", "const")) for rule in rules):
        choices = [choice for rule in rules for choice in rule.get("enum", [rule.get("const")])]
        return {"enum": list({json.dumps(choice): choice for choice in choices}.values())}
    return {"anyOf": list(rules)}


def _names_picture(name: str, rule: Mapping[str, Any]) -> bool:
    types = rule.get("type")
    if not rule.keys().isdisjoint(("x-media", "enum", "const")) or not (
        types == "string" or (isinstance(types, list) and "string" in types)
    ):
        return False
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", f"{name} {rule.get('title')}"[:200])}
    is_address = str(rule.get("format")) in _ADDRESSES
    return _PICTURE_NAME.fullmatch(name) is not None or (is_address and not words.isdisjoint(_PICTURE_WORDS))


def _sort_fields(fields: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    """The fields in the order of an extension such as `x-order`: a list on the object, or a number on each field."""
    lists = (value for word, value in whole.items() if word.startswith("x-") and "order" in word.split("-"))
    names = next((value for value in lists if isinstance(value, list)), [])

    def get_place(name: str) -> tuple[float, float]:
        own = fields[name].get("x-order") if isinstance(fields[name], Mapping) else None
        return names.index(name) if name in names else math.inf, own if isinstance(own, (int, float)) else math.inf

    return {name: fields[name] for name in sorted(fields, key=get_place)}


def _modernise(source: Mapping[str, Any], is_3_0: bool) -> Mapping[str, Any]:
    """A schema of OpenAPI 3.0, or of an older JSON Schema, in the words of today's."""
    rule = dict(source)
    if is_3_0:
        if "$ref" in rule:
            # There, nothing counts beside a reference but annotations.
            return {word: value for word, value in rule.items() if word == "$ref" or is_annotation(word)}
        if rule.pop("nullable", None) is True:
            if isinstance(rule.get("type"), str):
                rule["type"] = [rule["type"], "null"]
            elif not rule.keys().isdisjoint(("allOf", "anyOf", "oneOf")):
                checks = {word: rule.pop(word) for word in list(rule) if not is_annotation(word)}
                rule["anyOf"] = [checks, {"type": "null"}]
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(rule.get(exclusive), bool) and rule.pop(exclusive) and bound in rule:
            rule[exclusive] = rule.pop(bound)
    if isinstance(rule.get("items"), list):
        # As FastAPI once wrote tuples.
        entries, others = rule.pop("items"), rule.pop("additionalItems", None)
        rule.update({"prefixItems": entries} if entries else {}, **({} if others is None else {"items": others}))
    return rule


def _pointer_tokens(ref: Any) -> list[str]:
    if not isinstance(ref, str):
        raise BadDescription(f"A reference should be text and is {format_literal(ref)}.")
    if not ref.startswith("#"):
        raise BadDescription(
            f"The description refers to {format_literal(ref)}, outside of itself. Only references of the "
            "form `#/…` are followed; nothing was fetched. Ask the service for a description that is complete."
        )
    path = unquote(ref[1:])
    if path and not path.startswith("/"):
        raise BadDescription(f"The reference {format_literal(ref)} names an anchor; only `#/…` is followed.")
    return [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]]


def _find_at(root: Any, tokens: Sequence[str]) -> Any:
    """The target of a pointer; None where it does not exist."""
    for token in tokens:
        if isinstance(root, list):
            root = dict(enumerate(root)).get(int(token[:9]) if token.isdecimal() else -1)
        else:
            root = root.get(token) if isinstance(root, dict) else None
    return root
