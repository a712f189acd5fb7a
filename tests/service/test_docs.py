"""The descriptions for machines: valid, complete, and of one mind with the specification's tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from openapi_spec_validator import validate

from reelbook.models.catalog import CATALOG, Endpoint
from reelbook_service.docs import MODEL_VERSION, describe_model, describe_service
from reelbook_service.routes import all_routes
from tests.spec import tables
from tests.support import Served

ROWS = [pytest.param(row, id=row.id) for row in CATALOG]
BASE = "http://127.0.0.1:8600"


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every operation with its method and path."""
    for path, entry in document["paths"].items():
        yield from ((method.upper(), path, entry[method]) for method in ("get", "put", "post") if method in entry)


# --- One model ---


@pytest.mark.parametrize("row", ROWS)
def test_the_description_of_a_model_is_the_one_the_spec_tells_about(shared: Served, row: Endpoint) -> None:
    """Valid OpenAPI 3.1.0, version 1.0.0, the model's id, and the spec's queue paths, no more and no fewer."""
    document = shared.http.get("/models/openapi.json", params={"endpoint_id": row.id}).json()

    validate(document)
    assert document["openapi"] == tables.SERVICE["openapi"]
    assert document["info"]["version"] == tables.SERVICE["description_version"] == MODEL_VERSION
    assert document["info"]["x-endpoint-id"] == row.id
    assert document["servers"] == [{"url": shared.base_url}]
    assert {(method, path) for method, path, _ in operations(document)} == {
        ("POST", f"/{row.id}"),
        ("GET", f"/{row.id}/requests/{{request_id}}"),
        ("GET", f"/{row.id}/requests/{{request_id}}/status"),
        ("PUT", f"/{row.id}/requests/{{request_id}}/cancel"),
    }


@pytest.mark.parametrize("row", ROWS)
def test_the_schemas_of_a_model_agree_with_the_spec_row_by_row(row: Endpoint) -> None:
    """Input, output, status and cancel answer say what the tables say: types, bounds, choices, defaults."""
    document = describe_model(row, BASE)
    told = tables.model(row.id)
    paths = document["paths"]
    one = f"/{row.id}/requests/{{request_id}}"

    def answer(path: str, method: str) -> Any:
        return paths[path][method]["responses"]["200"]["content"]["application/json"]["schema"]

    body = paths[f"/{row.id}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    status = tables.OBJECTS["QueueStatus"]
    more = ["`error` is not in the table", "`error_type` is not in the table"]

    assert tables.differences(told.input, body, document) == []
    assert tables.undescribed(body, document) == []
    assert document["components"]["schemas"][row.input.__name__]["x-order"] == list(row.input.model_fields)
    assert tables.differences(told.output, answer(one, "get"), document, liberal=True) == []
    for path, method in ((f"/{row.id}", "post"), (f"{one}/status", "get")):
        assert tables.differences(status, answer(path, method), document, closed=False) == more
    assert tables.differences(
        tables.OBJECTS["CancelResponse"], answer(f"{one}/cancel", "put"), document, closed=False
    ) == ["`status` is not in the table"]


# --- The whole service ---


def addresses(document: dict[str, Any]) -> set[tuple[str, str]]:
    return {(method, path) for method, path, _ in operations(document)}


@pytest.mark.parametrize("service", ["shared", "shared_spec_only"])
def test_the_whole_description_is_valid_and_lists_exactly_the_addresses_that_there_are(
    request: pytest.FixtureRequest, service: str
) -> None:
    """Every row of the table of routes is described, and nothing else; with `--spec-only` those that the spec shows."""
    document = request.getfixturevalue(service).http.get("/openapi.json").json()
    is_whole = service == "shared"

    validate(document)
    assert addresses(document) == {(row.method, row.path) for row in all_routes() if is_whole or row.in_spec}
    assert ("Idempotency-Key" in str(document)) == is_whole


def test_every_operation_says_who_may_call_it_and_what_it_answers() -> None:
    """A key or none, documented refusals with their body, content types, the request id, and an id of its own."""
    document = describe_service(BASE)
    open_to_all = {"/", "/models", "/models/openapi.json", "/openapi.json", "/docs", "/files/{token}/{name}"}
    assert document["security"] == [{"key": []}]
    assert document["components"]["securitySchemes"]["key"] == {"type": "apiKey", "in": "header", "name": "x-api-key"}

    for method, path, operation in operations(document):
        answers = operation["responses"]
        assert operation.get("security", "inherited") == ([] if path in open_to_all else "inherited"), path
        assert {"200", "403", "503"} <= set(answers), path
        assert ("401" in answers) == (path not in open_to_all), path
        assert ("413" in answers) == (method == "POST"), path
        assert operation["summary"]
        for code, answer in answers.items():
            assert answer["description"]
            assert "x-request-id" in answer["headers"], (path, code)
            assert ("content" in answer) == (code not in ("304", "416")), (path, code)
            if int(code) >= 400 and code != "416":
                assert answer["content"] == {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
        if method == "POST":
            assert operation["requestBody"]["required"] is True
    ids = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(ids)) == len(ids)
