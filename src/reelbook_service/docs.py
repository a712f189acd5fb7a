"""The descriptions of the service: OpenAPI 3.1 of one model or of everything, and the page at /docs."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment
from pydantic import BaseModel

from reelbook._version import __version__
from reelbook.models.base import File
from reelbook.models.catalog import CATALOG, Endpoint

from .lanes import LaneTable
from .refusals import CODES

OpenApiDocument = dict[str, Any]

FOLDER = Path(__file__).parent
TEMPLATE: OpenApiDocument = json.loads((FOLDER / "openapi.json").read_text(encoding="utf-8"))
"""The operations in short, with names in capitals for what the models fill in."""
MODEL_VERSION = "1.0.0"
"""The version that the specification gives for the description of a model."""
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-content-type-options": "nosniff",
}
"""The headers of the page."""


def describe_model(row: Endpoint, base_url: str) -> OpenApiDocument:
    """The document of one model with its queue, as in the specification."""
    document = _document(row.id, row.purpose, MODEL_VERSION, base_url)
    document["info"]["x-endpoint-id"] = row.id
    _add_queue(document, row, row.id, spec_only=True)
    return document


def describe_service(base_url: str, *, spec_only: bool = False) -> OpenApiDocument:
    """The document of all routes of the service."""
    document = _document("Reelbook service", "Makes videos and pictures on this machine.", __version__, base_url)
    for row in CATALOG:
        # Each model under its id and, except for submission, under the first two segments of it.
        for prefix in dict.fromkeys((row.id, "/".join(row.id.split("/")[:2]))):
            _add_queue(document, row, prefix, spec_only=spec_only)
    run = {
        "type": "object",
        "required": ["endpointId", "input"],
        "additionalProperties": False,
        "properties": {"endpointId": {"type": "string", "enum": _model_ids()}, "input": {"type": "object"}},
        # The input must match the model named beside it.
        "oneOf": [
            {"properties": {"endpointId": {"const": row.id}, "input": _add_schema(document, row.input)}}
            for row in CATALOG
        ],
    }
    for name, operation in _select_operations(TEMPLATE["service"], spec_only).items():
        _add(document, name, operation, {"RUN": run, "FILE": File.model_json_schema()}, spec_only)
    return document


def _document(title: str, description: str, version: str, base_url: str) -> OpenApiDocument:
    info = {"title": title, "description": description, "version": version}
    document = copy.deepcopy(TEMPLATE["document"]) | {"info": info, "servers": [{"url": base_url}], "paths": {}}
    document["components"]["schemas"]["Error"]["properties"]["error_type"]["enum"] = sorted(CODES)
    return dict(document)


def _add_queue(document: OpenApiDocument, row: Endpoint, prefix: str, *, spec_only: bool) -> None:
    """Add the queue paths of one model under one prefix."""
    models = {"INPUT": _add_schema(document, row.input), "OUTPUT": _add_schema(document, row.output)}
    for name, operation in TEMPLATE["queue"].items():
        if name.startswith("POST"):
            if prefix != row.id:
                continue
            operation = {**operation, "summary": row.purpose}
        unique = f"{operation['operationId']}_{re.sub('[/.-]', '_', prefix)}"
        operation = {**operation, "operationId": unique, "tags": [row.category]}
        _add(document, name.replace("{model id}", prefix), operation, models, spec_only)


def _add(
    document: OpenApiDocument, name: str, short: Mapping[str, Any], models: OpenApiDocument, spec_only: bool
) -> None:
    """Add an operation that the template describes in short; `models` are the schemas for its names in capitals."""

    def schema(part: Any) -> Any:
        return copy.deepcopy(models[part]) if isinstance(part, str) else copy.deepcopy(part)

    responses: OpenApiDocument = copy.deepcopy(short.get("responses", {"200": {"description": "It worked."}}))
    if "answer" in short:
        content = {short.get("media_type", "application/json"): {"schema": schema(short["answer"])}}
        responses["200"]["content"] = responses["200"].get("content", {}) | content
    for code in (*short["refusals"], 503):
        refusal = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
        responses[str(code)] = {"description": TEMPLATE["refusals"][str(code)], "content": refusal}
    for answer in responses.values():
        answer["headers"] = {"x-request-id": {"$ref": "#/components/headers/RequestId"}}
    if "429" in responses:
        waiting = {"description": "Seconds to wait.", "required": True, "schema": {"type": "integer"}}
        responses["429"]["headers"]["Retry-After"] = waiting
    operation: OpenApiDocument = {key: short[key] for key in ("operationId", "summary", "tags") if key in short}
    operation["responses"] = responses
    if parameters := [
        _parameter(key) for key in short.get("parameters", ()) if not (spec_only and key == "Idempotency-Key")
    ]:
        operation["parameters"] = parameters
    if "body" in short:
        media_type = short.get("body_type", "application/json")
        operation["requestBody"] = {"required": True, "content": {media_type: {"schema": schema(short["body"])}}}
    if short.get("open"):
        operation["security"] = []
    method, _, path = name.partition(" ")
    entry = document["paths"].setdefault(path, {})
    if names := re.findall(r"{(\w+)}", path):
        text = {"type": "string"}
        entry["parameters"] = [{"in": "path", "name": key, "required": True, "schema": text} for key in names]
    entry[method.lower()] = operation


def _parameter(name: str) -> OpenApiDocument:
    parameter: OpenApiDocument = copy.deepcopy(TEMPLATE["parameters"][name])
    if parameter["schema"].get("enum") == "MODELS":
        parameter["schema"]["enum"] = _model_ids()
    return parameter


def _model_ids() -> list[str]:
    return [row.id for row in CATALOG]


def _add_schema(document: OpenApiDocument, model: type[BaseModel]) -> OpenApiDocument:
    """A reference to a model's schema, which is added to the components with all schemas that it refers to."""
    schemas = document["components"]["schemas"]
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= schema.pop("$defs", {})
    if "properties" in schema:
        schema["x-order"] = list(schema["properties"])
    schemas[model.__name__] = schema
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _select_operations(operations: Mapping[str, Any], spec_only: bool) -> Mapping[str, Any]:
    return {name: operation for name, operation in operations.items() if not (spec_only and operation.get("extra"))}


def page(base_url: str, lanes: LaneTable | None = None, *, spec_only: bool = False) -> str:
    """The page for people, which loads nothing else; `lanes` says which engine answers for each model."""
    lanes = lanes or LaneTable()
    template = Environment(autoescape=True).from_string((FOLDER / "docs.html").read_text(encoding="utf-8"))
    operations = {**TEMPLATE["queue"], **_select_operations(TEMPLATE["service"], spec_only)}
    return template.render(
        base_url=base_url,
        version=__version__,
        where="some runs are made by another service" if lanes.has_elsewhere else "every run is made here",
        addresses=[(*name.split(" ", 1), operation["summary"]) for name, operation in operations.items()],
        models=[{"row": row, "engine": lanes.label_of(row.id), "fields": _fields(row)} for row in CATALOG],
        errors=[(name, code, TEMPLATE["refusals"][str(code)]) for name, code in CODES.items()],
        choices=read_choices(),
    )


def home(base_url: str, *, has_board: bool) -> str:
    """The page that a browser gets at the root: how to begin."""
    template = Environment(autoescape=True).from_string((FOLDER / "home.html").read_text(encoding="utf-8"))
    return template.render(base_url=base_url, has_board=has_board)


def read_choices() -> list[Mapping[str, str]]:
    """What this service does where the specification is silent: `gap`, `choice` and `because` of each."""
    choices: list[Mapping[str, str]] = tomllib.loads((FOLDER / "choices.toml").read_text(encoding="utf-8"))["choice"]
    return choices


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
