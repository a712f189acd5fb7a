"""Descriptions for the tests of described inputs: the twelve files beside this one, our own four, and small ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jsonschema_rs

from reelbook.models.base import Input

FOLDER = Path(__file__).parent / "descriptions"
DESCRIPTIONS: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))
}

INPUT_AT = {
    "additional_properties": "#/paths/~1svc~1style-blend/post/requestBody/content/application~1json/schema",
    "all_of": "#/components/schemas/Input",
    "arrays_of_objects": "#/components/schemas/Storyboard",
    "deep_references": "#/components/schemas/Songs/properties/request~1version 3",
    "enums_of_numbers": "#/paths/~1svc~1upscale/post/requestBody/content/application~1json/schema",
    "hostile_names": "#/paths/~1svc~1hostile~1'\"); import os/post/requestBody/content/application~1json/schema",
    "no_defaults": "#/paths/~1svc~1free/post/requestBody/content/application~1json/schema",
    "optional_by_null": "#/components/schemas/SpeechInput",
    "recursive": "#/components/schemas/Node",
    "ordered_fields": "#/paths/~1svc~1ordered/post/requestBody/content/application~1json/schema",
    "two_kinds": "#/components/schemas/Shape",
    "version_3_0": "#/components/schemas/LipSyncInput",
}
"""Where each description has its input, found by reading it."""

NARROWED: dict[str, dict[str, Any]] = {
    # It lists fields and says nothing about others, so these are all there are.
    "all_of": {
        "propertyNames": {"enum": ["image_url", "faces", "seed", "watermark", "texture"]},
        "properties": {"texture": {"propertyNames": {"enum": ["size", "bake"]}}},
    },
}
"""What an input refuses besides what its description says."""


def reference(name: str) -> jsonschema_rs.Draft202012Validator:
    """The reference validator for the input of a description, made from the file as it is."""
    document = DESCRIPTIONS[name]
    if document["openapi"].startswith("3.0"):
        document = _as_2020(document)
    parts = [{"$ref": quote(INPUT_AT[name], safe="#/~")}, NARROWED.get(name, {}), {"type": "object"}]
    return jsonschema_rs.Draft202012Validator({**document, "allOf": parts})


def _as_2020(node: Any) -> Any:
    """Schemas of OpenAPI 3.0 in today's words."""
    if isinstance(node, list):
        return [_as_2020(item) for item in node]
    if not isinstance(node, dict):
        return node
    if isinstance(node.get("$ref"), str):
        return {"$ref": node["$ref"]}
    made = {word: _as_2020(value) for word, value in node.items()}
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if made.get(exclusive) is True:
            made[exclusive] = made.pop(bound)
        elif made.get(exclusive) is False:
            del made[exclusive]
    return {"anyOf": [made, {"type": "null"}]} if made.get("nullable") else made


def wrapped(kind: type[Input]) -> dict[str, Any]:
    """A description of an input that is written by hand, as another service would write it."""
    text = json.dumps(kind.model_json_schema()).replace("#/$defs/", "#/components/schemas/")
    schema = json.loads(text)
    parts = schema.pop("$defs", {})
    return document({"$ref": "#/components/schemas/Asked"}, path=f"/{kind.endpoint_id}", Asked=schema, **parts)


def document(schema: Any, *, path: str = "/svc/test", version: str = "3.1.0", **schemas: Any) -> dict[str, Any]:
    """The smallest description of one input."""
    post = {"requestBody": {"content": {"application/json": {"schema": schema}}}, "responses": {}}
    info = {"title": "A test", "version": "1.0.0"}
    return {"openapi": version, "info": info, "paths": {path: {"post": post}}, "components": {"schemas": schemas}}


def with_fields(fields: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The smallest description of an input with these fields."""
    return document({"type": "object", "properties": fields, **more})
