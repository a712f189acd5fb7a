"""OpenAPI 3.1 documents of one model or of the complete service."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from reelbook._version import __version__
from reelbook.models.catalog import CATALOG, Endpoint
from reelbook.models.service_file import File

from . import spec_decisions
from .refusals import CODES

Document = dict[str, Any]

MODEL_VERSION = "1.0.0"
"""The version that the specification gives for the description of a model."""

STATUS_MEANINGS = {
    400: "The body is not a JSON object, or the result is not there yet.",
    401: "The key is missing or not known.",
    402: "The account cannot pay for it.",
    403: "The account may not do that, or not now, or the call comes from a foreign page.",
    404: "There is no such model, request or file.",
    405: "This address does not take that method.",
    413: "The body is too large.",
    422: "The input is outside the tables, or its content or pictures were refused.",
    429: "Too many requests of this account wait or run already.",
    499: "The request was cancelled.",
    500: "The engine broke off, or the answer of a service elsewhere was lost.",
    503: "The service has trouble of its own; nothing was charged.",
    504: "The engine ran out of time.",
}

ERROR: Document = {
    "type": "object",
    "required": ["detail", "error_type"],
    "properties": {
        "detail": {
            "anyOf": [
                {"type": "string"},
                {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["loc", "msg", "type"],
                        "properties": {
                            "loc": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
                            "msg": {"type": "string"},
                            "type": {"type": "string"},
                            "ctx": {"type": "object"},
                        },
                    },
                },
            ]
        },
        "error_type": {"type": "string", "enum": sorted(CODES)},
    },
}

STATUS: Document = {
    "type": "object",
    "required": ["status", "request_id"],
    "properties": {
        "status": {"type": "string", "enum": ["IN_QUEUE", "IN_PROGRESS", "COMPLETED"]},
        "request_id": {"type": "string"},
        "queue_position": {"type": "integer", "description": "How many requests are ahead, from 0."},
        "logs": {"type": "object", "additionalProperties": True},
        "metrics": {"type": "object", "additionalProperties": True},
        "status_url": {"type": "string"},
        "response_url": {"type": "string"},
        "cancel_url": {"type": "string"},
        "error": {
            "description": "Why the request failed.",
            "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}],
        },
        "error_type": {"type": "string"},
    },
}


REQUEST_ID: Document = {
    "description": "The id of the run, or one for this call alone where it is about no run.",
    "required": True,
    "schema": {"type": "string"},
}


def describe_model(row: Endpoint, base_url: str) -> Document:
    """The document of one model with its queue, as in the specification."""
    document = _document(f"{row.id}", row.purpose, MODEL_VERSION, base_url)
    document["info"]["x-endpoint-id"] = row.id
    schemas = document["components"]["schemas"]
    document["paths"] = _queue_paths(row, row.id, schemas, extras=False)
    return document


def describe_service(base_url: str, *, spec_only: bool = False) -> Document:
    """The document of all routes of the service."""
    document = _document("Reelbook service", "Makes videos and pictures on this machine.", __version__, base_url)
    schemas = document["components"]["schemas"]
    for row in CATALOG:
        # Each model under its id and, except for submission, under the first two segments of it.
        for prefix in dict.fromkeys((row.id, "/".join(row.id.split("/")[:2]))):
            document["paths"] |= _queue_paths(row, prefix, schemas, extras=not spec_only, submit=prefix == row.id)
    document["paths"] |= _shared_paths(schemas, extras=not spec_only)
    if not spec_only:
        document["paths"] |= _extra_paths()
    return document


def _document(title: str, description: str, version: str, base_url: str) -> Document:
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "description": description, "version": version},
        "servers": [{"url": base_url}],
        "security": [{"key": []}],
        "paths": {},
        "components": {
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-api-key"}},
            "headers": {"RequestId": copy.deepcopy(REQUEST_ID)},
            "schemas": {"Error": copy.deepcopy(ERROR), "QueueStatus": copy.deepcopy(STATUS)},
        },
    }


def _queue_paths(row: Endpoint, prefix: str, schemas: Document, *, extras: bool, submit: bool = True) -> Document:
    """The queue paths of one model under one prefix."""
    name = row.input.__name__
    tag = {"tags": [row.category]}
    request_id = [_parameter("path", "request_id", {"type": "string"})]
    logs = _parameter(
        "query",
        "logs",
        {"type": "string", "description": "1 for the log as well; 0, false or nothing for the status alone."},
        required=False,
    )
    key = prefix.replace("/", "_").replace(".", "_").replace("-", "_")
    output = _component(row.output, schemas)
    one = f"/{prefix}/requests/{{request_id}}"
    paths: Document = {
        one: {
            "parameters": request_id,
            "get": tag
            | _operation(
                f"result_{key}", f"The output of a {name} request", output, (400, 401, 403, 404, 422, 499, 500, 504)
            ),
        },
        f"{one}/status": {
            "parameters": request_id,
            "get": tag
            | _operation(
                f"status_{key}", "Where a request stands", _ref("QueueStatus"), (401, 403, 404), parameters=[logs]
            ),
        },
        f"{one}/cancel": {
            "parameters": request_id,
            "put": tag | _operation(f"cancel_{key}", "Cancel a request", _CANCELLED, (401, 403, 404)),
        },
    }
    if submit:
        body = _component(row.input, schemas)
        refusals = (400, 401, 402, 403, 404, 413, 422, 429)
        operation = _operation(
            f"submit_{key}",
            row.purpose,
            _ref("QueueStatus"),
            refusals,
            body=body,
            parameters=[_IDEMPOTENCY] if extras else None,
        )
        paths[f"/{prefix}"] = {"post": tag | operation}
    if extras:
        operation = _operation(f"stream_{key}", "Every change of a request as it happens", None, (401, 403, 404))
        operation["responses"]["200"] = {
            "description": "One status object for each event.",
            "headers": dict(_HEADERS),
            "content": {"text/event-stream": {"schema": _EVENT}},
        }
        paths[f"{one}/status/stream"] = {"parameters": request_id, "get": tag | operation}
    return paths


def _shared_paths(schemas: Document, *, extras: bool) -> Document:
    ids = [row.id for row in CATALOG]
    envelope: Document = {
        "type": "object",
        "required": ["endpointId", "input"],
        "additionalProperties": False,
        "properties": {"endpointId": {"type": "string", "enum": ids}, "input": {"type": "object"}},
        # The input must match the model named beside it.
        "oneOf": [
            {"properties": {"endpointId": {"const": row.id}, "input": _component(row.input, schemas)}}
            for row in CATALOG
        ],
    }
    which = _parameter("query", "endpoint_id", {"type": "string", "enum": ids})
    run_answer: Document = {
        "type": "object",
        "required": ["requestId"],
        "properties": {"requestId": {"type": "string"}, "credits": {"type": "integer"}},
    }
    return {
        "/models/run": {
            "post": _operation(
                "run_model",
                "Run a model",
                run_answer,
                (400, 401, 402, 403, 404, 413, 422, 429),
                body=envelope,
                parameters=[_IDEMPOTENCY] if extras else None,
            )
        },
        "/models/pricing/estimate": {
            "post": _operation("estimate", "What a run costs", _ESTIMATE, (400, 401, 403, 404, 413, 422), body=envelope)
        },
        "/models/openapi.json": {
            "get": _operation(
                "describe_model",
                "One model described for machines",
                {"type": "object"},
                (403, 404, 422),
                parameters=[which],
                open_to_all=True,
            )
        },
        "/openapi.json": {
            "get": _operation("describe_service", "This description", {"type": "object"}, (403,), open_to_all=True)
        },
        "/docs": {"get": _page("read_docs", "The service described for people")},
        "/files/{token}/{name}": {
            "parameters": [_parameter("path", name, {"type": "string"}) for name in ("token", "name")],
            "get": _download(),
        },
    }


def _extra_paths() -> Document:
    uploaded = File.model_json_schema()
    ids = {"type": "array", "items": {"type": "string"}, "maxItems": spec_decisions.MAX_BATCH}
    return {
        "/": {
            "get": _operation(
                "who", "Who answers here, and what it can do beyond the specification",
                {"type": "object", "required": ["service", "id", "version", "features"]}, (403,), open_to_all=True,
            )
        },
        "/models": {
            "get": _operation("models", "All models", {"type": "array", "items": {"type": "object"}}, (403,), open_to_all=True)
        },
        "/account": {"get": _operation("account", "Credits and permissions of the caller", _ACCOUNT, (401, 403))},
        "/requests/status": {
            "post": _operation(
                "batch_status", "The status of many requests",
                {"type": "object", "additionalProperties": _ref("QueueStatus")}, (400, 401, 403, 413, 422),
                body={"type": "object", "required": ["ids"], "properties": {"ids": ids}},
            )
        },
        "/files": {
            "post": _operation(
                "upload", "Upload a picture to use as a source", uploaded, (400, 401, 403, 413),
                body={"type": "object", "required": ["file"], "properties": {"file": {"type": "string", "contentMediaType": "application/octet-stream"}}},
                media_type="multipart/form-data",
            )
        },
    }  # fmt: skip


_CANCELLED: Document = {
    "type": "object",
    "required": ["success"],
    "properties": {
        "success": {"type": "boolean"},
        "status": {"type": "string", "enum": ["CANCELLED", "CANCELLATION_REQUESTED", "ALREADY_COMPLETED"]},
    },
}
_ESTIMATE: Document = {
    "type": "object",
    "required": ["credits", "breakdown", "rateCard", "source"],
    "properties": {
        "credits": {"type": "integer"},
        "breakdown": {"type": "array", "items": {"type": "object", "required": ["label"]}},
        "rateCard": {"type": "string"},
        "source": {"type": "string", "enum": ["exact"]},
    },
}
_ACCOUNT: Document = {
    "type": "object",
    "required": ["name", "credits_available", "credits_reserved", "credits_spent", "permissions"],
    "properties": {
        "name": {"type": "string"},
        "credits_available": {"type": "integer"},
        "credits_reserved": {"type": "integer"},
        "credits_spent": {"type": "integer"},
        "permissions": {"type": "array", "items": {"type": "string"}},
        "limits": {"type": "object"},
    },
}


def _operation(
    operation_id: str,
    summary: str,
    answer: Document | None,
    refusals: Iterable[int],
    *,
    body: Document | None = None,
    media_type: str = "application/json",
    parameters: list[Document] | None = None,
    open_to_all: bool = False,
) -> Document:
    responses: Document = {"200": {"description": "It worked.", "headers": dict(_HEADERS)}}
    if answer is not None:
        responses["200"]["content"] = {"application/json": {"schema": answer}}
    for code in (*refusals, 503):
        responses[str(code)] = _refusal(code)
    operation: Document = {"operationId": operation_id, "summary": summary, "responses": responses}
    if parameters:
        operation["parameters"] = parameters
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {media_type: {"schema": body}}}
    if open_to_all:
        operation["security"] = []
    return operation


def _refusal(code: int) -> Document:
    waiting = {"Retry-After": {"description": "Seconds to wait.", "required": True, "schema": {"type": "integer"}}}
    return {
        "description": STATUS_MEANINGS[code],
        "headers": {**_HEADERS, **(waiting if code == 429 else {})},
        "content": {"application/json": {"schema": _ref("Error")}},
    }


def _page(operation_id: str, summary: str) -> Document:
    operation = _operation(operation_id, summary, None, (403,), open_to_all=True)
    operation["responses"]["200"]["content"] = {"text/html": {"schema": {"type": "string"}}}
    return operation


def _download() -> Document:
    operation = _operation("download", "A file that was made or uploaded", None, (403, 404), open_to_all=True)
    whole: Mapping[str, Any] = {"content": {"*/*": {}}}
    operation["responses"]["200"] |= whole
    others = {
        "206": {"description": "The part of the file that Range asked for.", **whole},
        "304": {"description": "The caller has it already."},
        "416": {"description": "The file has no such part."},
    }
    operation["responses"] |= {code: {**answer, "headers": dict(_HEADERS)} for code, answer in others.items()}
    return operation


def _parameter(place: str, name: str, schema: Document, *, required: bool = True) -> Document:
    return {"in": place, "name": name, "required": required, "schema": schema}


def _ref(name: str) -> Document:
    return {"$ref": f"#/components/schemas/{name}"}


_EVENT: Document = {
    "type": "object",
    "required": ["data"],
    "properties": {
        "data": {"type": "string", "contentMediaType": "application/json", "contentSchema": _ref("QueueStatus")}
    },
}
_HEADERS: Document = {"x-request-id": {"$ref": "#/components/headers/RequestId"}}
_IDEMPOTENCY = _parameter(
    "header",
    "Idempotency-Key",
    {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": "^[!-~]+$",
        "description": "The same key and body within 24 hours give the first answer again, and cost nothing more.",
    },
    required=False,
)


def _component(model: type[BaseModel], schemas: Document) -> Document:
    """A reference to a model's schema, which is added to the components with all schemas that it refers to."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    for name, definition in schema.pop("$defs", {}).items():
        schemas[name] = definition
    if "properties" in schema:
        schema["x-order"] = list(schema["properties"])
    schemas[model.__name__] = schema
    return _ref(model.__name__)
