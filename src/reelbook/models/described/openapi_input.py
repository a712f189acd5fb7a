"""Find a model's input in an OpenAPI 3.0 or 3.1 description, as one self-contained schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from ...errors import BadDescription
from ..problems import format_literal
from .normalised_schema import normalise
from .references import Document, child_pointer, require_mapping

ENVELOPES = ({"endpointId", "input"}, {"endpoint_id", "input"})
"""The fields of a run call, whose schema describes no particular model's input."""
HINTS = ("x-endpoint-id", "x-endpointid", "x-model-id")
HINTS_INSIDE = ("endpointId", "endpoint_id", "modelId", "model_id")
"""Extensions in which services write a model's id: as text, or as a field of an object."""


@dataclass(frozen=True, slots=True)
class InputSchema:
    """The input schema of one model."""

    endpoint_id: str
    schema: dict[str, Any]
    """A JSON Schema (2020-12) whose references are all of the form `#/$defs/<name>`."""


@dataclass(frozen=True, slots=True)
class _Call:
    """One POST operation with a JSON body."""

    path: str
    schema: Any
    place: str
    parents: tuple[Mapping[str, Any], ...]
    """The objects that may name its model, innermost first."""

    @property
    def hint(self) -> str:
        """The model id in the description; empty where there is none."""
        return next((hint for part in self.parents for hint in _hints(part)), "")


def source_of(description: Mapping[str, Any], endpoint_id: str | None = None) -> InputSchema:
    """The input schema of a model in a description.

    >>> schema = {"type": "object", "properties": {"prompt": {"type": "string"}}}
    >>> post = {"requestBody": {"content": {"application/json": {"schema": schema}}}}
    >>> source_of({"openapi": "3.1.0", "paths": {"/svc/echo": {"post": post}}}).endpoint_id
    'svc/echo'
    """
    document = Document(description)
    version = document.root.get("openapi")
    if not isinstance(version, str) or not version.startswith("3."):
        named = [
            f"its `{word}` is {format_literal(document.root[word])}"
            for word in ("openapi", "swagger")
            if word in document.root
        ]
        found = named[0] if named else "it has no field `openapi`"
        raise BadDescription(f"This is not an OpenAPI 3 description: {found}.")
    call = _chosen(list(_calls(document)), endpoint_id, document)
    schema = normalise(call.schema, document, call.place, is_3_0=version.startswith("3.0"))
    given = endpoint_id.strip("/") if endpoint_id else ""
    return InputSchema(given or call.hint or _id_in(call.path), schema)


def _calls(document: Document) -> Iterator[_Call]:
    paths = require_mapping(document.root.get("paths", {}), "#/paths")
    for path in paths:
        place = child_pointer("#/paths", path)
        entry = document.resolved(paths[path], place)
        if "post" not in entry:
            continue
        post = require_mapping(entry["post"], child_pointer(place, "post"))
        at = child_pointer(child_pointer(place, "post"), "requestBody")
        body = document.resolved(post.get("requestBody", {}), at)
        media = _json_of(
            require_mapping(body.get("content", {}), child_pointer(at, "content")), child_pointer(at, "content")
        )
        if "schema" in media:
            schema = media["schema"]
            info = document.root.get("info")
            parents = [part for part in (post, entry, schema, info, document.root) if isinstance(part, Mapping)]
            yield _Call(path, schema, child_pointer(at, "schema"), tuple(parents))


def _json_of(content: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    """The JSON media type of a body; empty where there is none."""
    for kinds in (("application/json",), ("json",), ("*/*", "application/*")):
        for name in content:
            if any(kind in name.lower() for kind in kinds):
                return require_mapping(content[name], child_pointer(place, name))
    return {}


def _chosen(calls: list[_Call], endpoint_id: str | None, document: Document) -> _Call:
    """The call of this model: by path, by id, or else the first that belongs to a single model."""
    wanted = f"/{endpoint_id.strip('/')}" if endpoint_id else ""
    paths = [unquote(call.path).rstrip("/") for call in calls]
    by_path = [call for call, path in zip(calls, paths, strict=True) if wanted and path == wanted]
    by_end = [call for call, path in zip(calls, paths, strict=True) if wanted and path.endswith(wanted)]
    by_hint = [call for call in calls if endpoint_id and call.hint == endpoint_id]
    own = [call for call in calls if not _is_envelope(call, document)]
    for call in (*by_path, *by_end, *by_hint, *own):
        return call
    offered = "only run calls, which take any model's input" if calls else "no POST that takes JSON"
    raise BadDescription(f"The description has {offered}, so it does not say what the model takes.")


def _is_envelope(call: _Call, document: Document) -> bool:
    if not isinstance(call.schema, Mapping):
        return False
    fields = document.resolved(call.schema, call.place, (call.schema,)).get("properties")
    return isinstance(fields, Mapping) and any(envelope <= set(fields) for envelope in ENVELOPES)


def _hints(part: Mapping[str, Any]) -> Iterator[str]:
    for name, value in part.items():
        if str(name).lower() in HINTS and isinstance(value, str) and value:
            yield value
        elif str(name).startswith("x-") and isinstance(value, Mapping):
            yield from (value[key] for key in HINTS_INSIDE if isinstance(value.get(key), str) and value[key])


def _id_in(path: str) -> str:
    endpoint_id = unquote(path).strip("/")
    if not endpoint_id or "{" in endpoint_id:
        raise BadDescription(
            f"The address {format_literal(path)} does not say which model this is: pass its endpoint_id."
        )
    return endpoint_id
