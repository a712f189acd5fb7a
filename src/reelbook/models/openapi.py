"""A model's input in an OpenAPI 3 description, as one self-contained JSON schema. Nothing outside it is fetched."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from ..errors import BadDescription
from ..util.printable import map_texts, replace_surrogates
from .json_schema import is_annotation
from .problems import format_literal

MAX_LEVELS = 100
"""Maximum nesting of a description; those of services have fewer than thirty levels."""
MAX_RULES = 10_000
"""Maximum number of rules in a schema; those of services have fewer than a hundred."""
ENVELOPES = ({"endpointId", "input"}, {"endpoint_id", "input"})
"""The fields of a run call, whose schema describes no particular model's input."""
HINT = "x-endpoint-id"
"""The extension in which a service writes a model's id."""

_ONE_RULE = {
    "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
    "unevaluatedItems", "unevaluatedProperties",
}  # fmt: skip
_LIST_OF_RULES = {"allOf", "anyOf", "oneOf", "prefixItems"}
_RULES_BY_NAME = {"properties", "patternProperties", "dependentSchemas"}
_DROPPED = {"$defs", "definitions", "$id", "$schema", "$anchor", "$dynamicAnchor", "$comment", "$vocabulary"}
"""Keywords that are resolved here, or have a meaning only in the original document."""

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
    """Converts one schema to JSON Schema 2020-12, and collects what it refers to."""

    def __init__(self, document: _Document, source: Any, *, is_3_0: bool) -> None:
        self.document, self.source, self.is_3_0 = document, source, is_3_0
        self.count = 0
        self.defs: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.pending: list[tuple[str, Any]] = []

    def read(self) -> dict[str, Any]:
        root = self.rule(self.source)
        # A loop rather than recursion: references may form long chains.
        while self.pending:
            name, target = self.pending.pop()
            self.defs[name] = self.rule(target)
        if isinstance(root, dict) and set(root) == {"$ref"}:
            name = root["$ref"].removeprefix("#/$defs/")
            root = self.defs[name]
            if f"'#/$defs/{name}'" not in str([root, self.defs]):
                del self.defs[name]
        if not isinstance(root, dict):
            raise BadDescription("The input is anything or nothing at all; it should be an object with fields.")
        for rule in (root, *self.defs.values()):
            self.mark_pictures(rule)
        return {**root, "$defs": self.defs} if self.defs else root

    def rule(self, source: Any) -> Any:
        self.count += 1
        if self.count > MAX_RULES:
            raise BadDescription(f"The schema has more than {MAX_RULES:,} rules.")
        if isinstance(source, bool):
            return source
        modern = _modernise(_object(source), self.is_3_0)
        rule = {word: self.keyword(word, value) for word, value in modern.items() if word not in _DROPPED}
        if "properties" in rule:
            rule["properties"] = sort_fields(rule["properties"], find_field_order(rule))
        return rule

    def keyword(self, word: str, value: Any) -> Any:
        if word == "$ref":
            return self.reference(value)
        if word in ("$dynamicRef", "$recursiveRef"):
            raise BadDescription(f"`{word}` cannot be followed; only `$ref` is.")
        if word in _ONE_RULE:
            return self.rule(value)
        if word in _RULES_BY_NAME:
            return {name: self.rule(part) for name, part in _object(value).items()}
        is_list = isinstance(value, list)
        if (word in ("required", "enum") and not is_list) or (word in _LIST_OF_RULES and not (is_list and value)):
            raise BadDescription(f"`{word}` should be a list and is {format_literal(value)}.")
        return [self.rule(part) for part in value] if word in _LIST_OF_RULES else value

    def reference(self, ref: Any) -> str:
        target, name = self.document.target(ref, self.source)
        if id(target) not in self.names:
            plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:100] or "Part"
            while plain in self.names.values():
                plain += "_"
            self.names[id(target)] = plain
            self.pending.append((plain, target))
        return f"#/$defs/{self.names[id(target)]}"

    def mark_pictures(self, rule: Any) -> None:
        """Mark, as in our own schemas, each text that names a picture by its field's name or format."""
        if isinstance(rule, list):
            for part in rule:
                self.mark_pictures(part)
        elif isinstance(rule, dict):
            for name, part in rule.get("properties", {}).items():
                self.mark_picture(name, part)
            for word in rule.keys() & (_ONE_RULE | _LIST_OF_RULES):
                self.mark_pictures(rule[word])
            for word in rule.keys() & _RULES_BY_NAME:
                self.mark_pictures(list(rule[word].values()))

    def mark_picture(self, name: str, rule: Any) -> None:
        if isinstance(rule, dict):
            whole = rule
            if "$ref" in rule and isinstance(target := self.defs[rule["$ref"].removeprefix("#/$defs/")], dict):
                whole = {**target, **rule}
            if _names_picture(name, whole):
                rule["x-media"] = "image"
            for part in (
                *(part for word in ("anyOf", "oneOf", "allOf") for part in rule.get(word, ())),
                rule.get("items"),
            ):
                self.mark_picture(name, part)


def _names_picture(name: str, rule: Mapping[str, Any]) -> bool:
    types = rule.get("type")
    if not rule.keys().isdisjoint(("x-media", "enum", "const")) or not (
        types == "string" or (isinstance(types, list) and "string" in types)
    ):
        return False
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", f"{name} {rule.get('title')}"[:200])}
    is_address = str(rule.get("format")) in _ADDRESSES
    return _PICTURE_NAME.fullmatch(name) is not None or (is_address and not words.isdisjoint(_PICTURE_WORDS))


def find_field_order(rule: Mapping[str, Any]) -> Sequence[str]:
    """The field names in an extension such as `x-order`; empty where there is none."""
    lists = (value for word, value in rule.items() if word.startswith("x-") and "order" in word.split("-"))
    return next((value for value in lists if isinstance(value, list)), ())


def sort_fields(fields: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The fields in the given order, then by their own `x-order` number, then in their original order.

    >>> list(sort_fields({"a": {}, "b": {"x-order": 1}, "c": {"x-order": 0}, "d": {}}, ["d"]))
    ['d', 'c', 'b', 'a']
    """
    places = {str(name): place for place, name in enumerate(names)}

    def get_place(name: str) -> tuple[float, float]:
        own = fields[name].get("x-order") if isinstance(fields[name], Mapping) else None
        return places.get(name, math.inf), own if isinstance(own, (int, float)) else math.inf

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
