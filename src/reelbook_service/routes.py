"""The HTTP routes and their handlers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel
from starlette.requests import Request as HTTPRequest
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response

from reelbook.models.catalog import CATALOG

from . import docs
from .accounts import Account
from .core import Service, request_url, require_endpoint, service_info
from .queue import Request
from .refusals import Refusal, invalid, invalid_at
from .request_bodies import read_json_object, save_upload
from .service_files import HEADERS

STATUS_FIELDS = (
    "status", "request_id", "queue_position", "logs", "metrics", "status_url", "response_url", "cancel_url",
)  # fmt: skip

Handler = Callable[[Service, HTTPRequest], Awaitable[Response]]


async def root(service: Service, http: HTTPRequest) -> Response:
    """Answer with the version and features of the service, or to a browser with the page that says how to begin."""
    if "text/html" in http.headers.get("accept", ""):
        return await read_docs(service, http)
    return JSONResponse(service_info(service))


async def run_model(service: Service, http: HTTPRequest) -> Response:
    """Start a run through the shared run call."""
    account = await caller(service, http)
    endpoint_id, value = _envelope(await read_json_object(http))
    request = await _submit_run(service, http, account, endpoint_id, value, ("body", "input"))
    url = request_url(request, base_url(http))
    urls = {"statusUrl": f"{url}/status", "responseUrl": url, "cancelUrl": f"{url}/cancel"}
    answer = {"requestId": request.id, "status": request.status, **urls, "credits": request.credits}
    return _answer(request, answer)


async def submit(service: Service, http: HTTPRequest) -> Response:
    """Start a run at the address of its model."""
    account = await caller(service, http)
    endpoint_id = http.url.path.strip("/")
    body = await read_json_object(http)
    request = await _submit_run(service, http, account, endpoint_id, body, ("body",))
    return _answer(request, service.status(request, base_url(http)))


async def status(service: Service, http: HTTPRequest) -> Response:
    """Answer with the status of a request."""
    request = await _find_request(service, http)
    logs = http.query_params.get("logs", "0").lower() not in ("", "0", "false")
    return _answer(request, service.status(request, base_url(http), logs=logs))


async def result(service: Service, http: HTTPRequest) -> Response:
    """Answer with the output of a completed request."""
    request = await _find_request(service, http)
    # In a thread: an inlined picture is read from disk and can be large.
    return _answer(request, await asyncio.to_thread(service.result, request, base_url(http)))


async def cancel(service: Service, http: HTTPRequest) -> Response:
    """Cancel a request."""
    request = await _find_request(service, http)
    answer = await service.cancel(request)
    return _answer(request, {"success": answer != "ALREADY_COMPLETED", "status": answer})


def _answer(request: Request, body: Mapping[str, Any]) -> JSONResponse:
    """An answer about a request, which its headers name."""
    return JSONResponse(body, headers={"x-request-id": request.id})


async def estimate(service: Service, http: HTTPRequest) -> Response:
    """Answer with the price of an input."""
    account = await caller(service, http)
    endpoint_id, value = _envelope(await read_json_object(http))
    request = await asyncio.to_thread(service.read_input, require_endpoint(endpoint_id), value, ("body", "input"))
    price = await service.estimate(request, account)
    # A line has credits or a factor.
    lines = [
        {"label": line.label, "factor": float(line.factor or 1)}
        if line.credits is None
        else {"label": line.label, "credits": float(line.credits)}
        for line in price.breakdown
    ]
    answer = {"credits": price.credits, "breakdown": lines, "rateCard": price.rate_card, "source": price.source}
    return JSONResponse(answer)


async def account_statement(service: Service, http: HTTPRequest) -> Response:
    """Answer with the credits and permissions of the account."""
    account = await caller(service, http)
    return JSONResponse(await service.store.run(lambda db: service.accounts.statement(db, account)))


async def models(service: Service, http: HTTPRequest) -> Response:
    """List the models."""
    names = ("id", "category", "purpose", "rate_card", "base_credits", "minimum_credits")
    rows = [{to_camel(name): getattr(row, name) for name in names} for row in CATALOG]
    description = f"{base_url(http)}/models/openapi.json?endpoint_id="
    return JSONResponse([{**row, "openapi": description + row["id"]} for row in rows])


async def model_description(service: Service, http: HTTPRequest) -> Response:
    """Answer with the OpenAPI description of a model."""
    endpoint_id = http.query_params.get("endpoint_id")
    if not endpoint_id:
        raise invalid_at(
            ("query", "endpoint_id"), "Say which model: add ?endpoint_id=<model id> to the address.", "missing"
        )
    return JSONResponse(docs.describe_model(require_endpoint(endpoint_id), base_url(http)))


async def service_description(service: Service, http: HTTPRequest) -> Response:
    """Answer with the OpenAPI description of the service."""
    return JSONResponse(docs.describe_service(base_url(http), spec_only=service.settings.spec_only))


async def read_docs(service: Service, http: HTTPRequest) -> Response:
    """Answer with the documentation page."""
    return HTMLResponse(docs.page(base_url(http), service.settings), headers=docs.HEADERS)


async def upload(service: Service, http: HTTPRequest) -> Response:
    """Store an uploaded file."""
    account = await caller(service, http)
    account.require_permission("upload")
    # Not in the folder of files: an incomplete file must never be served.
    path = service.settings.data / f"upload-{uuid4().hex}.part"
    try:
        content_type = await save_upload(http, path)
        stored = await service.files.add_upload(path, account, content_type)
    finally:
        path.unlink(missing_ok=True)
    return JSONResponse(stored.to_file_object(base_url(http)))


async def file(service: Service, http: HTTPRequest) -> Response:
    """Serve a stored file, or a range of it."""
    stored = service.files.get(http.path_params["token"])
    etag = f'"{stored.sha256}"'
    headers = {**HEADERS, "etag": etag}
    if etag in http.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    path = service.files.path(stored)
    try:
        facts = path.stat()
    except FileNotFoundError:
        raise Refusal("not_found", "This file is gone: somebody removed it from the service's folder.") from None
    return FileResponse(
        path,
        stat_result=facts,
        media_type=stored.content_type,
        filename=stored.name,
        content_disposition_type="inline",
        headers=headers,
    )


async def caller(service: Service, http: HTTPRequest) -> Account:
    """The account of the request's key; raises a refusal where the key is missing or unknown."""
    return await service.accounts.find(http.headers.get("x-api-key"))


def base_url(http: HTTPRequest) -> str:
    """The base URL that this caller uses; its Host header has been checked."""
    return f"{http.url.scheme}://{http.headers.get('host', 'localhost')}"


class RunCall(BaseModel):
    """The body of a run call or an estimate."""

    model_config = ConfigDict(extra="forbid")
    endpointId: Any
    input: Any


def _envelope(body: Mapping[str, Any]) -> tuple[Any, Any]:
    """The model and the input of a run call; raises a 422 that lists each missing or unknown field."""
    try:
        call = RunCall.model_validate(body)
    except ValidationError as error:
        raise invalid(RunCall, error) from None
    return call.endpointId, call.input


async def _submit_run(
    service: Service, http: HTTPRequest, account: Account, endpoint_id: Any, value: Any, at: tuple[str, ...]
) -> Request:
    row = require_endpoint(endpoint_id)
    if "fal_webhook" in http.query_params:
        words = "This service calls no webhooks. Leave `fal_webhook` out, and ask for the status instead."
        raise invalid_at(("query", "fal_webhook"), words)
    # In a thread: a picture in it can be large, and would delay other requests.
    request = await asyncio.to_thread(service.read_input, row, value, at)
    key, idempotency = http.headers.get("idempotency-key"), None
    if key is not None:
        if not re.fullmatch("[!-~]{1,255}", key):
            words = "An Idempotency-Key has 1 to 255 plain characters without spaces; a UUID is a good one."
            raise invalid_at(("header", "Idempotency-Key"), words)
        # Of the body as it was sent, whatever the order of its fields.
        body = json.dumps([row.id, value], sort_keys=True).encode()
        idempotency = (key, hashlib.sha256(body).hexdigest())
    return await service.submit(account, request, idempotency, resubmits="x-resubmit" in http.headers)


async def _find_request(service: Service, http: HTTPRequest) -> Request:
    """The request in a URL, whose path begins with the model id or its first two segments."""
    account = await caller(service, http)
    request_id = http.path_params["request_id"]
    request = await service.queue.find(account, request_id)
    prefix = http.url.path.partition("/requests/")[0].strip("/")
    if request.endpoint_id != prefix and not request.endpoint_id.startswith(prefix + "/"):
        raise Refusal("not_found", f"There is no request {request_id[:100]!r} of the model {prefix}.")
    return request


@dataclass(frozen=True, slots=True)
class ServiceRoute:
    """One route."""

    method: str
    path: str
    handler: Handler
    in_spec: bool = True
    """Whether the specification has it; such routes exist with --spec-only too."""
    fields: tuple[str, ...] = ()
    """The fields of its answer that the specification shows, where it shows some only."""


def all_routes() -> list[ServiceRoute]:
    """All routes of the service."""
    rows = [
        ServiceRoute("GET", "/", root, in_spec=False),
        ServiceRoute("POST", "/models/run", run_model, fields=("requestId",)),
        ServiceRoute("POST", "/models/pricing/estimate", estimate),
        ServiceRoute("GET", "/models/openapi.json", model_description),
        ServiceRoute("GET", "/openapi.json", service_description),
        ServiceRoute("GET", "/docs", read_docs),
        ServiceRoute("GET", "/models", models, in_spec=False),
        ServiceRoute("GET", "/account", account_statement, in_spec=False),
        ServiceRoute("POST", "/files", upload, in_spec=False),
        # Not in the specification's table, but its File objects refer to it.
        ServiceRoute("GET", "/files/{token}/{name}", file),
    ]
    for row in CATALOG:
        rows.append(ServiceRoute("POST", f"/{row.id}", submit, fields=STATUS_FIELDS))
        for prefix in docs.prefixes_of(row):
            request = f"/{prefix}/requests/{{request_id}}"
            rows += [
                ServiceRoute("GET", request, result),
                ServiceRoute("GET", f"{request}/status", status, fields=STATUS_FIELDS),
                ServiceRoute("PUT", f"{request}/cancel", cancel, fields=("success",)),
            ]
    return rows
