"""The JSON schema of an input class as a tree of nodes that a form draws, one for each value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ...display.formatting import shorten
from ...models.base import Input, Part
from ...models.catalog import CATALOG, find_endpoint
from ...models.images import Image
from ...models.smart_resize import FORMATS, Size
from ...models.text_to_video import FRAME_SIZES, TextToVideo
from ...models.value_types import coerce_json
from ..json_values import to_page_json

Node = dict[str, Any]
Schema = Mapping[str, Any]

LONG_WORDS = ("prompt", "text", "description", "lyrics", "caption", "script", "instruction")
"""Parts of the names of fields with more than one line."""
MAX_LABEL, MAX_HELP, MAX_CHOICE = 80, 600, 200
MAX_DEPTH = 3
"""A list of objects is drawn; what nests deeper is typed as JSON."""
JSON: Node = {"kind": "json"}
"""A value of any kind, typed as JSON."""
BOUNDS = {
    "minimum": "min",
    "maximum": "max",
    "exclusiveMinimum": "above",
    "exclusiveMaximum": "below",
    "multipleOf": "step",
}
ACRONYMS = {
    "url": "address",
    "urls": "addresses",
    "id": "ID",
    "fps": "Frames per second",
    "cfg": "CFG",
    "loras": "LoRAs",
}

FRAME_RATES = {"frames": "frame_rate", "timeline": "fps"}
"""The field with the frame rate, by the control that says seconds with it."""


# It is the slowest part of a form. A sheet is never changed.
@lru_cache(maxsize=64)
def get_sheet(kind: type[Input]) -> dict[str, Any]:
    """The description of a form for this class that the page draws, as plain JSON.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> sheet = get_sheet(TextToVideo)
    >>> [node["name"] for node in sheet["fields"]][:3], sheet["fields"][0]["kind"]
    (['prompt', 'aspect_ratio', 'num_frames'], 'text')
    """
    schema = kind.model_json_schema()
    reader = _TreeBuilder(schema.get("$defs", {}))
    nodes = reader.fields(schema)
    arranged = find_arrangement(kind.endpoint_id, nodes)
    for node in nodes:
        if node["name"] not in arranged.first:
            node["folded"] = True
        special = find_special(arranged, node)
        if special is not None:
            node["special"] = special
            if facts := get_control_data(kind, special):
                node["beside"] = facts
        if special == "duration":
            node["choices"] = [{**choice, "label": f"{choice['label']} s"} for choice in node["choices"]]
    rank = {name: place for place, name in enumerate(arranged.first)}
    nodes.sort(key=lambda node: rank.get(node["name"], len(rank)))
    row = find_endpoint(kind.endpoint_id)
    return {
        "model": kind.endpoint_id,
        "title": get_title(kind),
        "purpose": row.purpose if row else shorten(str(schema.get("description") or ""), MAX_HELP),
        "fields": nodes,
    }


def get_title(kind: type[Input]) -> str:
    """The title of a model: in words if it is in the catalog, else its class name.

    >>> from reelbook.models.images_to_video import ImagesToVideo
    >>> get_title(ImagesToVideo)
    'Images to video'
    """
    name = kind.__name__
    if any(row.input is kind for row in CATALOG):
        name = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip().capitalize()
    return shorten(name, MAX_LABEL)


class _TreeBuilder:
    """Converts one schema, which has references, alternatives as `anyOf`, and types; whatever else it says is typed as JSON."""

    def __init__(self, defs: Mapping[str, Any]) -> None:
        self._defs = defs
        self._level = 0

    def node(self, name: str, rule: Any) -> Node:
        """The node of one value."""
        rule = self._resolve(rule if isinstance(rule, Mapping) else {})
        self._level += 1
        kind = self._read_kind(name, rule)
        self._level -= 1
        node: Node = {"name": name, "label": _label(name, rule, kind["kind"]), **kind}
        if help_ := rule.get("description"):
            # Backticks are markup in documentation only.
            node["help"] = shorten(str(help_).replace("`", ""), MAX_HELP)
        if "default" in rule:
            node["default"] = to_page(node, rule["default"])
        return node

    def fields(self, rule: Schema) -> list[Node]:
        """The nodes of an object's fields."""
        needed, nodes = set(rule.get("required", ())), []
        for name, inner in rule.get("properties", {}).items():
            node = self.node(name, inner)
            if name in needed:
                node["required"] = True
                node.pop("default", None)
            nodes.append(node)
        return nodes

    def _resolve(self, rule: Schema) -> Schema:
        """The rule with its reference resolved, and without null among its forms."""
        while True:
            if "$ref" in rule:
                rule = {**self._defs.get(rule["$ref"].removeprefix("#/$defs/"), {}), **_without(rule, "$ref")}
            elif any(map(_is_null, rule.get("anyOf", ()))):
                forms, notes = [form for form in rule["anyOf"] if not _is_null(form)], _without(rule, "anyOf")
                rule = {**forms[0], **notes} if len(forms) == 1 else {**notes, "anyOf": forms}
            else:
                return rule

    def _read_kind(self, name: str, rule: Schema) -> Node:
        """The node of a rule, without name and label."""
        if "const" in rule:
            return _choices([rule["const"]])
        if "enum" in rule:
            return _choices([value for value in rule["enum"] if value is not None])
        if "anyOf" in rule:
            return self._either(name, rule["anyOf"])
        match rule.get("type"):
            case "string":
                return _text(name, rule)
            case "integer":
                return {"kind": "whole", **_bounds(rule)}
            case "number":
                return {"kind": "real", **_bounds(rule)}
            case "boolean":
                return {"kind": "check"}
            case "array" if self._level <= MAX_DEPTH and isinstance(rule.get("items"), Mapping):
                least, most = rule.get("minItems"), rule.get("maxItems")
                found = {"kind": "list", "item": self.node(name, rule["items"]), "least": least, "most": most}
                return {word: value for word, value in found.items() if value is not None}
            case "object" if (
                self._level <= MAX_DEPTH and rule.get("properties") and not rule.get("additionalProperties")
            ):
                return {"kind": "object", "fields": self.fields(rule)}
        # Values under names of one's own, among others.
        return JSON

    def _either(self, name: str, forms: list[Any]) -> Node:
        read = [self.node(name, form) for form in forms]
        kinds = {node["kind"] for node in read}
        if kinds == {"choice"}:
            return {"kind": "choice", "choices": [choice for node in read for choice in node["choices"]]}
        if "image" in kinds:
            # A picture, alone or with what goes along with it.
            beside: list[Node] = next((node["fields"] for node in read if node["kind"] == "object"), [])
            return {"kind": "image", "special": "image", "fields": beside}
        return {**JSON, "plain": True} if kinds & {"text", "choice"} else JSON


def _without(rule: Schema, word: str) -> dict[str, Any]:
    return {other: value for other, value in rule.items() if other != word}


def _choices(values: list[Any]) -> Node:
    return {
        "kind": "choice",
        "choices": [{"value": to_page_json(value), "label": _format_choice(value)} for value in values],
    }


def to_page(node: Node, value: Any, remember: Callable[[Any], str] = str) -> Any:
    """A Python value as the page keeps it: what is typed as JSON is a text, and so is a picture, which `remember` gives.

    >>> to_page({"kind": "list", "item": {"kind": "json"}}, [{"a": 1}])
    ['{"a": 1}']
    """
    kind = node["kind"]
    if value is None:
        return None
    if kind == "json":
        return json.dumps(_to_plain(value, remember), ensure_ascii=False)
    if isinstance(value, Part):
        value = value.changed()
    if kind == "image" and not isinstance(value, (bool, int, float, list, tuple, Mapping)):
        return remember(value)
    if kind == "object" and isinstance(value, Mapping):
        fields = {field["name"]: field for field in node["fields"]}
        return {name: to_page(fields.get(name, JSON), item, remember) for name, item in value.items()}
    if kind == "list" and not isinstance(value, (list, tuple)):
        value = _to_plain(value, remember)  # An array, for instance.
    if kind == "list" and isinstance(value, (list, tuple)):
        return [to_page(node["item"], item, remember) for item in value]
    return to_page_json(_to_plain(value, remember))


def _to_plain(value: Any, remember: Callable[[Any], str]) -> Any:
    """A Python value as plain JSON."""
    if isinstance(value, Image):
        return remember(value)
    if isinstance(value, Size):
        return str(value)
    if isinstance(value, Part):
        value = value.changed()
    if isinstance(value, Mapping):
        return {str(name): _to_plain(item, remember) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_plain(item, remember) for item in value]
    return coerce_json(value)


def _text(name: str, rule: Schema) -> Node:
    if rule.get("x-media") == "image":
        return {"kind": "image", "special": "image"}
    found: Node = {"kind": "text"}
    if rule.get("x-media") == "size":
        formats = [[name, size] for sizes in FORMATS.values() for name, size in sizes.items()]
        found |= {"special": "size", "beside": formats}
    if "maxLength" in rule:
        found["most"] = rule["maxLength"]
    if any(word in name.lower() for word in LONG_WORDS) and rule.get("maxLength", 1000) > 80:
        found["long"] = True
    return found


def _bounds(rule: Schema) -> Node:
    return {own: to_page_json(rule[word]) for word, own in BOUNDS.items() if word in rule}


def _is_null(form: Any) -> bool:
    return isinstance(form, Mapping) and form.get("type") == "null"


def _label(name: str, rule: Schema, kind: str = "") -> str:
    """The label of a field, from its name.

    >>> _label("num_frames", {}), _label("callback_url", {}), _label("image_url", {}, "image")
    ('Number of frames', 'Callback address', 'Image')
    """
    parts = name.replace("_", " ").replace("-", " ").split()
    # A picture need not come from an address.
    if kind == "image" and len(parts) > 1 and parts[-1].lower() in ("url", "urls"):
        parts.pop()
    if len(parts) > 1 and "num" in parts:
        parts = ["number", "of", *parts[1:]] if parts[0] == "num" else [word for word in parts if word != "num"]
    words = [ACRONYMS.get(word.lower(), word) for word in parts]
    text = " ".join(words) or str(rule.get("title") or "(no name)")
    return shorten(text[:1].upper() + text[1:], MAX_LABEL)


def _format_choice(value: Any) -> str:
    return shorten(value if isinstance(value, str) else json.dumps(value), MAX_CHOICE) or "(empty)"


# What special controls know beyond their node.


def get_control_data(kind: type[Input], special: str) -> dict[str, Any]:
    """The data that the control of a field needs beyond its node, as plain JSON; empty if there is none.

    >>> get_control_data(TextToVideo, "frames")
    {'rate': 'frame_rate'}
    """
    if special == "aspect" and issubclass(kind, TextToVideo):
        sizes: dict[str, dict[str, list[int]]] = {}
        for (resolution, aspect), size in FRAME_SIZES.items():
            sizes.setdefault(resolution, {})[aspect] = list(size)
        return {"by": "resolution", "sizes": sizes}
    return {"rate": FRAME_RATES[special]} if special in FRAME_RATES else {}


# The order of the fields, which are folded, and which have special controls: one small table per model.


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The layout of the fields of one model."""

    first: tuple[str, ...] = ()
    """Fields in the order of filling them in; the rest follow as the model lists them, folded away."""
    special: Mapping[str, str] = field(default_factory=dict)
    """Special controls by field."""


ARRANGEMENTS: Mapping[str, Arrangement] = {
    "svc/text-to-video-13b-distilled": Arrangement(
        first=("prompt", "aspect_ratio", "num_frames", "resolution", "seed"),
        special={"aspect_ratio": "aspect", "num_frames": "frames"},
    ),
    "svc/video-gen/v2.1/master/image-to-video": Arrangement(
        first=("image_url", "prompt", "duration"),
        special={"duration": "duration"},
    ),
    "svc/smart-resize": Arrangement(
        first=("image_url", "target_sizes", "prompt", "resolution"),
    ),
    "svc/frames-api/images-to-video": Arrangement(
        first=("images", "fps"),
        special={"images": "timeline"},
    ),
}

MAX_OPEN = 8
"""Fields not folded of a model without an arrangement, required ones included."""


def find_arrangement(endpoint_id: str, nodes: Iterable[Mapping[str, Any]]) -> Arrangement:
    """The layout of a model: from the table, else its required fields first, and most others folded."""
    known = ARRANGEMENTS.get(endpoint_id)
    if known is not None:
        return known
    listed = sorted(nodes, key=lambda node: not node.get("required"))
    needed = sum(bool(node.get("required")) for node in listed)
    most = max(MAX_OPEN, needed + 3)
    # One alone is not worth folding away.
    first = listed if len(listed) <= most + 1 else listed[:most]
    return Arrangement(first=tuple(node["name"] for node in first))


def find_special(arranged: Arrangement, node: Mapping[str, Any]) -> str | None:
    """The special control of a field, from the table or from its name and kind; None if it has none."""
    name, kind = str(node["name"]), node["kind"]
    if name in arranged.special:
        return arranged.special[name]
    if kind == "whole" and name == "seed":
        return "seed"
    if kind == "text" and re.fullmatch(r"prompt|text_prompt", name):
        return "prompt"
    return None
