"""The JSON schema of an input class as a tree of nodes that a form draws, one for each value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from ...models.base import Input
from ...models.catalog import CATALOG, find_endpoint
from ...models.json_schema import ANNOTATIONS, merge_rules
from ...models.smart_resize import FORMATS
from ...models.text_to_video import FRAME_SIZES, TextToVideo
from .json_values import distinct_json, to_page_json

Node = dict[str, Any]
Schema = Mapping[str, Any]

LONG_WORDS = ("prompt", "text", "description", "lyrics", "caption", "script", "instruction")
"""Parts of the names of fields with more than one line."""
MAX_LABEL, MAX_HELP, MAX_CHOICE = 80, 600, 200
MAX_NODES = 3000
"""Further values are drawn as JSON: a description may have any number."""
MAX_DEPTH = 3
"""A list of objects is drawn; what nests deeper, and one of several kinds in such an object, is typed as JSON."""
ACRONYMS = {
    "url": "address",
    "urls": "addresses",
    "id": "ID",
    "fps": "Frames per second",
    "cfg": "CFG",
    "loras": "LoRAs",
}

FRAME_RATES = ("frame_rate", "fps", "frames_per_second")
"""Names of the field with the frame rate, that of the specification first."""

_SHEETS: WeakKeyDictionary[type[Input], dict[str, Any]] = WeakKeyDictionary()


def get_sheet(kind: type[Input]) -> dict[str, Any]:
    """The description of a form for this class that the page draws, as plain JSON.

    >>> from reelbook.models.text_to_video import TextToVideo
    >>> sheet = get_sheet(TextToVideo)
    >>> [node["name"] for node in sheet["fields"]][:3], sheet["fields"][0]["kind"]
    (['prompt', 'aspect_ratio', 'resolution'], 'text')
    """
    # Cached by class: it is the slowest part of a form. A sheet is never changed.
    known = _SHEETS.get(kind)
    if known is None:
        known = _SHEETS[kind] = _make_sheet(kind)
    return known


def _make_sheet(kind: type[Input]) -> dict[str, Any]:
    schema = kind.model_json_schema()
    reader = _TreeBuilder(schema.get("$defs", {}))
    nodes = reader.fields(schema)
    arranged = find_arrangement(kind.endpoint_id, nodes)
    for node in nodes:
        if node["name"] in arranged.folded:
            node["folded"] = True
        special = find_special(arranged, node)
        if special is not None:
            node["special"] = special
            if facts := get_control_data(kind, node["name"], special):
                node["beside"] = facts
    rank = {name: place for place, name in enumerate((*arranged.first, *arranged.folded))}
    last = len(arranged.first)
    nodes.sort(key=lambda node: rank.get(node["name"], last - 0.5))
    row = find_endpoint(kind.endpoint_id)
    return {
        "model": kind.endpoint_id,
        "title": get_title(kind),
        "purpose": row.purpose if row else _shorten(str(schema.get("description") or ""), MAX_HELP),
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
    return _shorten(name, MAX_LABEL)


class _TreeBuilder:
    """Converts one schema."""

    def __init__(self, defs: Mapping[str, Any]) -> None:
        self._defs = defs
        self._drawn = self._level = 0

    def node(self, name: str, rule: Any) -> Node:
        """The node of one value."""
        rule = rule if isinstance(rule, Mapping) else {}
        rule, nullable = self._resolve(rule)
        drawn = self._read_once(name, rule)
        node: Node = {"name": name, "label": _label(name, rule, drawn["kind"]), **drawn}
        if help_ := rule.get("description"):
            # Backticks are markup in documentation only.
            node["help"] = _shorten(str(help_).replace("`", ""), MAX_HELP)
        if nullable:
            node["nullable"] = True
        if "default" in rule:
            node["default"] = _default(node, rule["default"])
        return node

    def _read_once(self, name: str, rule: Schema) -> Node:
        """The node of a rule, without name and label."""
        self._drawn += 1
        self._level += 1
        try:
            return self._read_kind(name, rule) if self._drawn <= MAX_NODES else {"kind": "json"}
        finally:
            self._level -= 1

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

    def _resolve(self, rule: Schema) -> tuple[Schema, bool]:
        """The rule with references resolved and null removed, and whether it allowed null."""
        nullable = rule.get("nullable") is True and _allows_null(rule)
        for _ in range(64):
            if "$ref" in rule and isinstance(rule["$ref"], str):
                target = self._defs.get(rule["$ref"].removeprefix("#/$defs/"))
                rest = {word: value for word, value in rule.items() if word != "$ref"}
                rule = {**(target if isinstance(target, Mapping) else {}), **rest}
                continue
            forms = next((rule[word] for word in ("anyOf", "oneOf") if isinstance(rule.get(word), list)), None)
            if forms is not None:
                left = [form for form in forms if not _is_null(form)]
                nullable = nullable or len(left) < len(forms)
                others = {word: value for word, value in rule.items() if word not in ("anyOf", "oneOf")}
                if len(left) == 1 and isinstance(left[0], Mapping) and set(others) <= ANNOTATIONS | {"nullable"}:
                    rule = {**left[0], **others}
                    continue
                if len(left) == 1:
                    rule = {**others, "allOf": [*others.get("allOf", ()), left[0]]}
                    continue
            if isinstance(rule.get("allOf"), list):
                merged = self._merge_all_of(rule)
                if merged is not None:
                    rule = merged
                    continue
            types = rule.get("type")
            if isinstance(types, list) and "null" in types:
                nullable = nullable or _allows_null(rule)
                left_types = [one for one in types if one != "null"]
                rule = {**rule, "type": left_types[0] if len(left_types) == 1 else left_types}
            break
        return rule, nullable

    def _merge_all_of(self, rule: Schema) -> Schema | None:
        """The merged parts of a rule; None if they cannot be drawn as one."""
        merged: Schema | None = {word: value for word, value in rule.items() if word != "allOf"}
        for part in rule["allOf"]:
            for _ in range(64):
                if not (isinstance(part, Mapping) and isinstance(part.get("$ref"), str)):
                    break
                target = self._defs.get(part["$ref"].removeprefix("#/$defs/"), {})
                rest = {word: value for word, value in part.items() if word != "$ref"}
                part = merge_rules(rest, target) if isinstance(target, Mapping) else None
            merged = merge_rules(merged, part) if merged is not None and isinstance(part, Mapping) else None
        return merged

    def _read_kind(self, name: str, rule: Schema) -> Node:
        if "const" in rule:
            return {"kind": "constant", "value": to_page_json(rule["const"])}
        if isinstance(rule.get("enum"), list):
            node = _choices([value for value in rule["enum"] if value is not None])
            return {**node, "nullable": True} if None in rule["enum"] else node
        forms = next((rule[word] for word in ("anyOf", "oneOf") if isinstance(rule.get(word), list)), None)
        if forms is not None:
            beside_them = {word: value for word, value in rule.items() if word not in {"anyOf", "oneOf", *ANNOTATIONS}}
            left = [form for form in forms if not _is_null(form)]
            return self._either(name, [{"allOf": [form, beside_them]} for form in left] if beside_them else left)
        if {"allOf", "not", "if", "patternProperties"} & set(rule):
            return {"kind": "json"}
        match rule.get("type"):
            case "string":
                return _text(name, rule)
            case "integer":
                return {"kind": "whole", **_bounds(rule)}
            case "number":
                return {"kind": "real", **_bounds(rule)}
            case "boolean":
                return {"kind": "check"}
            case "array" if self._level <= MAX_DEPTH:
                return self._list(name, rule)
            case "object" if self._level <= MAX_DEPTH:
                return self._object(rule)
        return {"kind": "json"}

    def _either(self, name: str, forms: list[Any]) -> Node:
        read = [self.node(name, form) for form in forms]
        constants = [node for node in read if node["kind"] in ("constant", "choice")]
        if len(constants) == len(read):
            return _choices([value for node in constants for value in get_fixed_values(node)])
        return {"kind": "either", "forms": read} if self._level < MAX_DEPTH and 1 < len(read) <= 8 else {"kind": "json"}

    def _list(self, name: str, rule: Schema) -> Node:
        if "prefixItems" in rule or not isinstance(rule.get("items"), Mapping):
            return {"kind": "json"}
        item = self.node(name, rule["items"])
        found: Node = {"kind": "list", "item": item}
        for word, own in (("minItems", "least"), ("maxItems", "most")):
            if isinstance(rule.get(word), int):
                found[own] = rule[word]
        return found

    def _object(self, rule: Schema) -> Node:
        listed, more = rule.get("properties"), rule.get("additionalProperties", False)
        # Values under names of one's own are typed as JSON.
        if not isinstance(listed, Mapping) or not listed or more is not False:
            return {"kind": "json"}
        return {"kind": "object", "fields": self.fields(rule)}


def get_fixed_values(node: Node) -> list[Any]:
    """The allowed values of a constant or a choice."""
    return [node["value"]] if node["kind"] == "constant" else [one["value"] for one in node["choices"]]


def _choices(values: list[Any]) -> Node:
    return {
        "kind": "choice",
        "choices": [{"value": to_page_json(value), "label": _format_choice(value)} for value in values],
    }


def _default(node: Node, value: Any) -> Any:
    """A default value as the page would send it."""
    kind = node["kind"]
    if kind == "list" and isinstance(value, list):
        return [_default(node["item"], item) for item in value]
    if kind == "object" and isinstance(value, dict):
        fields = {field["name"]: field for field in node["fields"]}
        return {
            name: _default(fields[name], item) if name in fields else to_page_json(item) for name, item in value.items()
        }
    return distinct_json(value) if kind == "either" else to_page_json(value)


def _text(name: str, rule: Schema) -> Node:
    if rule.get("x-media") == "image":
        return _image()
    found: Node = {"kind": "text"}
    if rule.get("x-media") == "size":
        found["special"] = "size"
    for word, own in (("maxLength", "most"), ("minLength", "least"), ("pattern", "pattern")):
        if word in rule:
            found[own] = rule[word]
    if any(word in name.lower() for word in LONG_WORDS) and rule.get("maxLength", 1000) > 80:
        found["long"] = True
    return found


def _image() -> Node:
    return {"kind": "image", "special": "image"}


def _bounds(rule: Schema) -> Node:
    words = {
        "minimum": "min",
        "maximum": "max",
        "exclusiveMinimum": "above",
        "exclusiveMaximum": "below",
        "multipleOf": "step",
    }
    return {
        own: to_page_json(rule[word])
        for word, own in words.items()
        if isinstance(rule.get(word), (int, float)) and not isinstance(rule[word], bool)
    }


def _is_null(form: Any) -> bool:
    return isinstance(form, Mapping) and (
        form.get("type") == "null" or form.get("enum") == [None] or ("const" in form and form["const"] is None)
    )


def _allows_null(rule: Schema) -> bool:
    """Whether a rule allows null by its enum or constant."""
    return None in rule["enum"] if isinstance(rule.get("enum"), list) else "const" not in rule


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
    return _shorten(text[:1].upper() + text[1:], MAX_LABEL)


def _format_choice(value: Any) -> str:
    return _shorten(value if isinstance(value, str) else json.dumps(value), MAX_CHOICE) or "(empty)"


def _shorten(text: str, max_length: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= max_length else f"{flat[: max_length - 1]}…"


# What special controls know beyond their node.


def get_control_data(kind: type[Input], name: str, special: str) -> dict[str, Any]:
    """The data that the control of a field needs beyond its node, as plain JSON; empty if there is none.

    >>> get_control_data(TextToVideo, "num_frames", "frames")
    {'rate': 'frame_rate'}
    """
    match special:
        case "sizes":
            return {"formats": [[group, [list(named) for named in sizes.items()]] for group, sizes in FORMATS.items()]}
        case "aspect":
            return _aspect_data(kind)
        case "frames":
            return _frames_data(kind, name)
        case _:
            return {}


def _aspect_data(kind: type[Input]) -> dict[str, Any]:
    if not issubclass(kind, TextToVideo):
        return {}
    sizes: dict[str, dict[str, list[int]]] = {}
    for (resolution, aspect), size in FRAME_SIZES.items():
        sizes.setdefault(resolution, {})[aspect] = list(size)
    return {"by": "resolution", "sizes": sizes}


def _frames_data(kind: type[Input], name: str) -> dict[str, Any]:
    rate = next((rate for rate in FRAME_RATES if rate in kind.model_fields and rate != name), None)
    return {"rate": rate} if rate else {}


# The order of the fields, which are folded, and which have special controls: one small table per model.


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The layout of the fields of one model."""

    first: tuple[str, ...] = ()
    """Fields in the order of filling them in; the rest follow as the model lists them."""
    folded: tuple[str, ...] = ()
    """Fields that are rarely changed."""
    special: Mapping[str, str] = field(default_factory=dict)
    """Special controls by field."""


ARRANGEMENTS: Mapping[str, Arrangement] = {
    "svc/text-to-video-13b-distilled": Arrangement(
        first=("prompt", "aspect_ratio", "resolution", "num_frames", "frame_rate", "seed", "enable_detail_pass"),
        folded=(
            "negative_prompt", "loras", "first_pass_num_inference_steps", "second_pass_num_inference_steps",
            "second_pass_skip_initial_steps", "expand_prompt", "reverse_video", "enable_safety_checker",
            "temporal_adain_factor", "tone_map_compression_ratio",
        ),
        special={"aspect_ratio": "aspect", "num_frames": "frames"},
    ),
    "svc/video-gen/v2.1/master/image-to-video": Arrangement(
        first=("image_url", "prompt", "duration"),
        folded=("cfg_scale", "negative_prompt"),
        special={"duration": "duration"},
    ),
    "svc/smart-resize": Arrangement(
        first=("image_url", "target_sizes", "prompt"),
        folded=("output_format", "safety_tolerance", "seed", "sync_mode", "num_images_per_size"),
        special={"target_sizes": "sizes"},
    ),
    "svc/frames-api/images-to-video": Arrangement(first=("images", "fps"), special={"images": "timeline"}),
}  # fmt: skip

MAX_OPEN = 8
"""Fields not folded of a model without an arrangement, required ones included."""


def find_arrangement(endpoint_id: str, nodes: Iterable[Mapping[str, Any]]) -> Arrangement:
    """The layout of a model: from the table, else its required fields first, and most others folded."""
    known = ARRANGEMENTS.get(endpoint_id)
    if known is not None:
        return known
    listed = list(nodes)
    needed = [node["name"] for node in listed if node.get("required")]
    others = [node["name"] for node in listed if not node.get("required")]
    room = max(MAX_OPEN - len(needed), 3)
    folded = others[room:] if len(others) > room + 1 else []
    return Arrangement(first=tuple(needed), folded=tuple(folded))


def find_special(arranged: Arrangement, node: Mapping[str, Any]) -> str | None:
    """The special control of a field, from the table or from its name and kind; None if it has none."""
    name, kind = str(node["name"]), node["kind"]
    if name in arranged.special:
        return arranged.special[name]
    if kind == "whole" and name == "seed":
        return "seed"
    if kind == "text" and re.fullmatch(r"prompt|text_prompt", name):
        return "prompt"
    if kind == "choice" and name == "aspect_ratio" and all(_is_shape(choice["value"]) for choice in node["choices"]):
        return "aspect"
    item = node.get("item") or {}
    return "sizes" if kind == "list" and item.get("special") == "size" else None


def _is_shape(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[1-9]\d{0,3}:[1-9]\d{0,3}", value) is not None
