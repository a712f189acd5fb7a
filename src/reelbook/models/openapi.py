"""A model's input in an OpenAPI 3 description, and its schemas with all their parts merged. Nothing is fetched."""

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
_PICTURE_NAME = re.compile(r"(.*[_-])?(image|picture|photo)[_-]?(url|uri)s?", re.IGNORECASE)
_PICTURE_WORDS = {"image", "images", "picture", "pictures", "photo", "photos"}
_ADDRESSES = {"uri", "url", "uri-reference", "iri"}


ANNOTATIONS = frozenset(
    ("title", "description", "default", "deprecated", "example", "examples", "readOnly", "writeOnly")
)
"""Keywords that do not affect validation, besides extensions."""


def read_input(description: Any, endpoint_id: str | None = None) -> tuple[str, Schemas]:
    """The id of a model, and the schemas of its description, whose root is that of its input.

    >>> schema = {"type": "object", "properties": {"prompt": {"type": "string"}}}
    >>> post = {"requestBody": {"content": {"application/json": {"schema": schema}}}}
    >>> name, schemas = read_input({"openapi": "3.1.0", "paths": {"/svc/echo": {"post": post}}})
    >>> name, schemas.flat(schemas.root)["type"]
    ('svc/echo', 'object')
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
    return name, Schemas(document, schema, is_3_0=version.startswith("3.0"))


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
        return _object(self.target(node["$ref"], home)) if "$ref" in node else node

    def target(self, ref: Any, home: Any) -> Any:
        """The target of a chain of references; `home` is the schema that they may stay within."""
        for _ in range(MAX_LEVELS):
            tokens = _pointer_tokens(ref)
            # The document itself is not a schema, so `#` alone refers to the schema.
            target = (_find_at(self.root, tokens) if tokens else None) or _find_at(home, tokens)
            if target is None:
                raise BadDescription(f"The reference {format_literal(ref)} leads to nothing.")
            if not (isinstance(target, dict) and set(target) == {"$ref"}):
                return target
            ref = target["$ref"]
        raise BadDescription(f"The reference {format_literal(ref)} goes round in a circle.")


@dataclass
class Fields:
    """The fields of an object and of its alternatives, as the description has them."""

    rules: dict[str, Any]
    required: list[str]
    others: Any
    """The rule for fields that are not listed."""
    selecting: set[str] = field(default_factory=set)
    """Fields of some alternatives only: giving one, even with its default, selects an alternative."""


class Schemas:
    """The schemas of a description. What they say by rare keywords, such as `not`, is left to the service."""

    def __init__(self, document: _Document, root: Any, *, is_3_0: bool) -> None:
        self.document, self.root, self.is_3_0 = document, root, is_3_0
        self.merged: dict[int, Mapping[str, Any]] = {}
        self.merging: set[int] = set()
        self.sources: list[Any] = []
        """All that was merged, so that no other object gets its `id`."""

    def flat(self, source: Any) -> Mapping[str, Any]:
        """A rule with its references and `allOf` merged into it; its parts are as the description has them."""
        if isinstance(source, bool):
            return {} if source else {"enum": []}
        if id(source) in self.merged:
            return self.merged[id(source)]
        if id(source) in self.merging:
            raise BadDescription("A schema refers to itself in a circle and never says what it takes.")
        self.merging.add(id(source))
        self.sources.append(source)
        if len(self.sources) > MAX_RULES:
            raise BadDescription(f"The schema has more than {MAX_RULES:,} rules.")
        own = _modernise(_object(source), self.is_3_0)
        _check_words(own)
        parts = own.pop("allOf", [])
        if "$ref" in own:
            parts = [self.document.target(own.pop("$ref"), self.root), *parts]
        for part in parts:
            own = merge_rules(own, self.flat(part))
        self.merging.discard(id(source))
        self.merged[id(source)] = own
        return own

    def origin(self, source: Any) -> Any:
        """What a rule refers to, if it is a reference with annotations; else the rule itself."""
        checks = {word: value for word, value in source.items() if not is_annotation(word)}
        if checks.keys() == {"allOf"} and len(checks["allOf"]) == 1:
            checks = checks["allOf"][0]
        is_reference = isinstance(checks, dict) and checks.keys() == {"$ref"}
        return self.document.target(checks["$ref"], self.root) if is_reference else source

    def fields(self, rule: Mapping[str, Any]) -> Fields:
        """The fields of an object, in the wished order and without those that only the service writes."""
        fields = self.gather(rule)
        if fields.rules:
            for name in fields.required:
                fields.rules.setdefault(name, True if isinstance(fields.others, bool) else fields.others)
        lists = (value for word, value in rule.items() if word.startswith("x-") and "order" in word.split("-"))
        order = next((value for value in lists if isinstance(value, list)), [])
        wholes = {name: self.flat(source) for name, source in fields.rules.items()}

        def get_place(name: str) -> tuple[float, float]:
            own = wholes[name].get("x-order")
            return order.index(name) if name in order else math.inf, own if isinstance(own, (int, float)) else math.inf

        names = [name for name in sorted(wholes, key=get_place) if wholes[name].get("readOnly") is not True]
        fields.rules = {name: fields.rules[name] for name in names}
        fields.required = [name for name in fields.required if name in fields.rules]
        return fields

    def gather(self, rule: Mapping[str, Any]) -> Fields:
        """The fields of an object and of its alternatives."""
        others = rule.get("additionalProperties", rule.get("unevaluatedProperties", False))
        # Fields that are listed under a condition only are taken as they are.
        others = others or not rule.keys().isdisjoint(_CONDITIONS)
        fields = Fields(dict(rule.get("properties", {})), list(rule.get("required", ())), others)
        for word in ("anyOf", "oneOf"):
            forms = [self.flat(form) for form in rule.get(word, ())]
            parts = [self.gather(form) for form in forms if "object" in (get_types(form) or ["object"])]
            for name in dict.fromkeys(name for part in parts for name in part.rules):
                listed = [part.rules[name] for part in parts if name in part.rules]
                if len(listed) < len(parts):
                    fields.selecting.add(name)
                rules = [source for place, source in enumerate(listed) if source not in listed[:place]]
                joined = rules[0] if len(rules) == 1 else {"anyOf": rules}
                fields.rules[name] = {"allOf": [fields.rules[name], joined]} if name in fields.rules else joined
            if parts:
                fields.required += [name for name in parts[0].required if all(name in part.required for part in parts)]
            fields.others = fields.others or any(part.others and part.rules for part in parts)
        return fields


def _check_words(rule: Mapping[str, Any]) -> None:
    for word, value in rule.items():
        if (word in _LISTS and not isinstance(value, list)) or (word in _LISTS_OF_RULES and not value):
            raise BadDescription(f"`{word}` should be a list and is {format_literal(value)}.")
        if word in ("properties", "items", "additionalProperties") and not isinstance(value, bool):
            _object(value)


def names_picture(name: str, rule: Mapping[str, Any]) -> bool:
    """Whether a text is a picture: by its mark, or by what its field's name and its format say together."""
    if rule.get("x-media") == "image":
        return True
    types = rule.get("type")
    if not rule.keys().isdisjoint(("x-media", "enum", "const")) or not (
        types == "string" or (isinstance(types, list) and "string" in types)
    ):
        return False
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", f"{name} {rule.get('title')}"[:200])}
    is_address = str(rule.get("format")) in _ADDRESSES
    return _PICTURE_NAME.fullmatch(name) is not None or (is_address and not words.isdisjoint(_PICTURE_WORDS))


def _modernise(source: Mapping[str, Any], is_3_0: bool) -> dict[str, Any]:
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


def is_annotation(keyword: str) -> bool:
    """Whether a keyword does not affect validation: a title, a description, a default, or an extension."""
    return keyword in ANNOTATIONS or keyword.startswith("x-")


def get_types(rule: Mapping[str, Any]) -> list[str]:
    """The types that a rule names.

    >>> get_types({"type": ["string", "null"]}), get_types({"properties": {}}), get_types({})
    (['string', 'null'], ['object'], [])
    """
    types = rule.get("type", "object" if "properties" in rule else [])
    return [types] if isinstance(types, str) else list(types)


def merge_rules(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """One rule for two that both apply. Of what no single rule can say, and of annotations, the first's stays.

    >>> merge_rules({"minimum": 0, "title": "Size"}, {"minimum": 1, "maximum": 9, "title": "Area"})
    {'minimum': 1, 'title': 'Size', 'maximum': 9}
    """
    merged = dict(one)
    for keyword, value in other.items():
        own = merged.setdefault(keyword, value)
        if own != value and not is_annotation(keyword):
            merged[keyword] = _merge_keyword(keyword, own, value)
    return merged


def _merge_keyword(keyword: str, own: Any, other: Any) -> Any:
    match keyword:
        case "minimum" | "exclusiveMinimum" | "minLength" | "minItems":
            return max(own, other)
        case "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems":
            return min(own, other)
        case "enum":
            return [value for value in own if value in other]
        case "required":
            return list(dict.fromkeys([*own, *other]))
        case "type":
            types = [get_types({"type": own}), get_types({"type": other})]
            both = [kind for kind in types[0] if kind in types[1]]
            if not both and "integer" in (*types[0], *types[1]) and "number" in (*types[0], *types[1]):
                both = ["integer"]
            return (both[0] if len(both) == 1 else both) or own
        case "properties":
            shared = {name: {"allOf": [own[name], other[name]]} for name in own if name in other}
            return {**own, **other, **shared}
        case "items":
            return {"allOf": [own, other]}
    return own
