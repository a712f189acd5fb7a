"""The descriptions of the service: OpenAPI 3.1 of one model or of everything, and the page for people."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from reelbook._version import __version__
from reelbook.models.base import File
from reelbook.models.catalog import CATALOG, Endpoint

from .pages import render
from .refusals import CODES
from .service_settings import Settings

OpenApiDocument = dict[str, Any]

FOLDER = Path(__file__).parent
TEMPLATE: OpenApiDocument = json.loads((FOLDER / "openapi.json").read_text(encoding="utf-8"))
"""The operations in short, with names in capitals for what the models fill in."""
MODEL_VERSION = "1.0.0"
"""The version that the specification gives for the description of a model."""
MODELS = [row.id for row in CATALOG]
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-content-type-options": "nosniff",
}
"""The headers of the page."""


def prefixes_of(row: Endpoint) -> list[str]:
    """The path prefixes of a model's requests: its id, and the first two segments of it."""
    return list(dict.fromkeys((row.id, "/".join(row.id.split("/")[:2]))))


def describe_model(row: Endpoint, base_url: str) -> OpenApiDocument:
    """The document of one model with its queue, as in the specification."""
    info = {"title": row.id, "description": row.purpose, "version": MODEL_VERSION, "x-endpoint-id": row.id}
    document = _document(info, base_url)
    _add_queue(document, row, row.id, spec_only=True)
    return document


def describe_service(base_url: str, *, spec_only: bool = False) -> OpenApiDocument:
    """The document of all routes of the service."""
    words = "Makes videos and pictures on this machine."
    document = _document({"title": "Reelbook service", "description": words, "version": __version__}, base_url)
    inputs = [(row.id, _add_schema(document, row.input)) for row in CATALOG]
    run = {
        "type": "object",
        "required": ["endpointId", "input"],
        "additionalProperties": False,
        "properties": {"endpointId": {"type": "string", "enum": MODELS}, "input": {"type": "object"}},
        # The input must match the model named beside it.
        "oneOf": [{"properties": {"endpointId": {"const": name}, "input": schema}} for name, schema in inputs],
    }
    for row in CATALOG:
        for prefix in prefixes_of(row):
            _add_queue(document, row, prefix, spec_only=spec_only)
    for name, operation in _select_operations(spec_only).items():
        _add(document, name, operation, {"RUN": run, "FILE": File.model_json_schema()}, spec_only)
    return document


def _document(info: Mapping[str, str], base_url: str) -> OpenApiDocument:
    filled = _fill(TEMPLATE["document"], {"ERROR TYPES": sorted(CODES)})
    return {**filled, "info": info, "servers": [{"url": base_url}], "paths": {}}


def _fill(part: Any, values: Mapping[str, Any]) -> Any:
    """A copy of a part of the template, with these values for its names in capitals."""
    if isinstance(part, dict):
        return {name: _fill(inner, values) for name, inner in part.items()}
    if isinstance(part, list):
        return [_fill(inner, values) for inner in part]
    return copy.deepcopy(values[part]) if part in values else part


def _add_queue(document: OpenApiDocument, row: Endpoint, prefix: str, *, spec_only: bool) -> None:
    """Add the queue paths of one model under one prefix; runs are submitted under its whole id only."""
    models = {"INPUT": _add_schema(document, row.input), "OUTPUT": _add_schema(document, row.output)}
    for name, operation in TEMPLATE["queue"].items():
        unique = f"{operation['operationId']}_{re.sub('[/.-]', '_', prefix)}"
        more = {"operationId": unique, "tags": [row.category]}
        if name.startswith("POST"):
            more["summary"] = row.purpose
        if prefix == row.id or not name.startswith("POST"):
            _add(document, name.replace("{model id}", prefix), {**operation, **more}, models, spec_only)


def _add(
    document: OpenApiDocument, name: str, short: Mapping[str, Any], models: OpenApiDocument, spec_only: bool
) -> None:
    """Add an operation that the template describes in short; `models` are the schemas for its names in capitals."""
    short = _fill(short, models)
    responses = short.get("responses", {"200": {"description": "It worked."}})
    if "answer" in short:
        content = responses["200"].setdefault("content", {})
        content[short.get("media_type", "application/json")] = {"schema": short["answer"]}
    for code in (*short["refusals"], 503):
        error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
        responses[str(code)] = {"description": TEMPLATE["refusals"][str(code)], "content": error}
    for code, answer in responses.items():
        answer["headers"] = {"x-request-id": {"$ref": "#/components/headers/RequestId"}}
        if code == "429":
            answer["headers"]["Retry-After"] = {"$ref": "#/components/headers/RetryAfter"}
    operation = {key: short[key] for key in ("operationId", "summary", "tags") if key in short}
    operation["responses"] = responses
    wanted = [key for key in short.get("parameters", ()) if not (spec_only and key == "Idempotency-Key")]
    if wanted:
        operation["parameters"] = [_fill(TEMPLATE["parameters"][key], {"MODELS": MODELS}) for key in wanted]
    if "body" in short:
        content = {short.get("body_type", "application/json"): {"schema": short["body"]}}
        operation["requestBody"] = {"required": True, "content": content}
    if "open" in short:
        operation["security"] = []
    method, path = name.split(" ")
    entry = document["paths"].setdefault(path, {})
    if names := re.findall(r"{(\w+)}", path):
        text = {"type": "string"}
        entry["parameters"] = [{"in": "path", "name": key, "required": True, "schema": text} for key in names]
    entry[method.lower()] = operation


def _add_schema(document: OpenApiDocument, model: type[BaseModel]) -> OpenApiDocument:
    """A reference to a model's schema, which is added to the components with all schemas that it refers to."""
    schemas = document["components"]["schemas"]
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= schema.pop("$defs", {})
    if "properties" in schema:
        schema["x-order"] = list(schema["properties"])
    schemas[model.__name__] = schema
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _select_operations(spec_only: bool) -> Mapping[str, Any]:
    return {name: value for name, value in TEMPLATE["service"].items() if not (spec_only and "extra" in value)}


def page(base_url: str, settings: Settings) -> str:
    """The page for people, which loads nothing else: how to begin, and all that there is."""
    lanes = settings.lanes
    operations = {**TEMPLATE["queue"], **_select_operations(settings.spec_only)}
    return render(
        "docs.html",
        base_url=base_url,
        version=__version__,
        has_board=settings.has_board,
        where="some runs are made by another service" if lanes.has_elsewhere else "every run is made here",
        addresses=[(*name.split(" ", 1), operation["summary"]) for name, operation in operations.items()],
        models=[{"row": row, "engine": lanes.label_of(row.id), "fields": _fields(row)} for row in CATALOG],
        errors=[(name, code, TEMPLATE["refusals"][str(code)]) for name, code in CODES.items()],
        choices=read_choices(),
    )


def read_choices() -> Mapping[str, Mapping[str, str]]:
    """What this service does where the specification is silent: `choice` and `because` of each gap."""
    return tomllib.loads((FOLDER / "choices.toml").read_text(encoding="utf-8"))


def _fields(row: Endpoint) -> list[OpenApiDocument]:
    schema = row.input.model_json_schema()
    fields = []
    for name, rule in schema["properties"].items():
        options = [option for option in rule.get("anyOf", [rule]) if option.get("type") != "null"]
        may_be_null = len(options) < len(rule.get("anyOf", [rule]))
        fields.append(
            {
                "name": name,
                "type": options[0].get("type", "object") + (" or null" if may_be_null else ""),
                "required": name in schema.get("required", ()),
                "default": json.dumps(rule.get("default"), ensure_ascii=False),
                "allowed": _allowed(rule),
                "meaning": rule.get("description", ""),
            }
        )
    return fields


def _allowed(rule: Mapping[str, Any]) -> str:
    if "enum" in rule:
        return ", ".join(map(str, rule["enum"]))
    parts = [f"{rule['minimum']:g} to {rule['maximum']:g}"] if "minimum" in rule and "maximum" in rule else []
    parts += [f"steps of {rule['multipleOf']:g}"] if "multipleOf" in rule else []
    parts += [f"up to {rule['maxLength']:,} characters"] if "maxLength" in rule else []
    return ", ".join(parts)
