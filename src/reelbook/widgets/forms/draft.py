"""A draft: the values of a form as typed, validated by the input's class."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import traitlets

from ...errors import InvalidInput, Problem, ReelbookError
from ...models.base import Input, Part
from ...models.frozen_json import NotJson, freeze, thaw
from ...models.images import Image
from ...models.problems import wrong_type
from ...models.smart_resize import Size
from ...storage.run_identity import INPUT_JSON
from ...util.data_address import is_data_address
from .json_values import (
    JSON_TEXT,
    MAX_SAFE,
    distinct_json,
    is_json_text,
    to_page_json,
)
from .pictures import Pictures
from .schema import Node

_WHOLE = re.compile(r"-?\d{1,4300}\Z")
_STORED_PICTURE = re.compile(r"sha256:[0-9a-f]{64}\Z")
_TAKES_TEXT = {"text", "image", "json"}
JSON_TYPES = "a text, a number, True or False, a list or an object"
ANY_JSON: Node = {"kind": "json"}
"""The node of a value without a known type."""


class InputTrait(traitlets.TraitType[Any, Any]):
    """The inputs as a trait, so that `observe` and `interactive_output` work."""

    info_text = "the inputs of a model"

    def get(self, obj: Any, cls: Any = None) -> Any:
        return obj.checked()

    def set(self, obj: Any, value: Any) -> None:
        obj.fill(value)


class Draft:
    """The values of one form by field name; absent fields have their defaults."""

    def __init__(self, kind: type[Input], sheet: Mapping[str, Any], pictures: Pictures) -> None:
        self._kind, self._pictures = kind, pictures
        self._nodes: dict[str, Node] = {node["name"]: node for node in sheet["fields"]}
        self._data_addresses: dict[str, str] = {}
        """Data URLs by the short text that represents them on the page."""
        self.values: dict[str, Any] = {}

    def edit(self, name: str, *value: Any) -> None:
        """Set a field to a value as typed; without one, reset it to its default."""
        if name not in self._nodes and self._kind.model_config.get("extra") != "allow":
            return
        if value:
            self.values[name] = self._normalise(self._node(name), value[0])
        else:
            self.values.pop(name, None)

    def fill(self, request: Input) -> None:
        """Replace all values with those of an input."""
        self.values = {name: self.to_page(name, value) for name, value in request.changed().items()}

    def to_page(self, name: str, value: Any) -> Any:
        """A Python value as the page represents it; `InvalidInput` if JSON cannot represent it."""
        try:
            return self._to_page(self._node(name), value)
        except NotJson as stray:
            wanted = stray.wanted or ("a finite number" if isinstance(stray.value, float) else JSON_TYPES)
            problem = wrong_type((name, *stray.loc), "json_type", stray.value, wanted, None)
            raise InvalidInput(self._kind.__name__, [problem]) from None

    def read(self, without: frozenset[str] = frozenset()) -> Input:
        """The inputs; `InvalidInput` names every invalid field."""
        values, unread = self._read_values(without)
        if not unread:
            return self._kind(**values)
        failed = {problem.loc[0] for problem in unread}
        try:
            self._kind(**values)
        except InvalidInput as error:
            unread += [problem for problem in error.problems if not problem.loc or problem.loc[0] not in failed]
        raise InvalidInput(self._kind.__name__, unread)

    def plain(self) -> dict[str, Any]:
        """The values as passed to the class, before validation."""
        return self._read_values(frozenset())[0]

    def _read_values(self, without: frozenset[str]) -> tuple[dict[str, Any], list[Problem]]:
        unread: list[Problem] = []
        values: dict[str, Any] = {}
        for name, value in self.values.items():
            if name not in without:
                try:
                    values[name] = self._read(self._node(name), value, (name,), unread)
                except RecursionError:
                    unread.append(Problem((name,), f"`{name}` nests too deeply to be read.", "too_deep"))
        return values, unread

    def _node(self, name: str) -> Node:
        return self._nodes.get(name, ANY_JSON)

    def _read(self, node: Node, value: Any, loc: tuple[str | int, ...], unread: list[Problem]) -> Any:
        """A value as passed to the class."""
        kind = node["kind"]
        if kind == "json" or (kind in ("whole", "real") and is_json_text(value)):
            return self._parse_json_text(value, loc, unread)
        if kind in ("whole", "real") and isinstance(value, str):
            return _parse_number(value)
        if isinstance(value, str) and kind in ("image", "either"):
            return self._picture_or_text(node, value)
        if kind == "either":
            return self._read_mixed(value, loc, unread)
        if kind == "list" and isinstance(value, list):
            return [self._read(node["item"], item, (*loc, place), unread) for place, item in enumerate(value)]
        if kind == "object" and isinstance(value, dict):
            known = {field["name"]: field for field in node["fields"]}
            return {
                name: self._read(known.get(name, ANY_JSON), item, (*loc, name), unread) for name, item in value.items()
            }
        return value

    def _read_mixed(self, value: Any, loc: tuple[str | int, ...], unread: list[Problem]) -> Any:
        """A value of a field of several kinds, whichever it was typed in: a text is a text, and a long number is marked."""
        if is_json_text(value):
            return self._parse_json_text(value, loc, unread)
        if isinstance(value, list):
            return [self._read_mixed(item, (*loc, place), unread) for place, item in enumerate(value)]
        if isinstance(value, dict):
            return {name: self._read_mixed(item, (*loc, name), unread) for name, item in value.items()}
        return self._with_pictures(value)

    def _picture_or_text(self, node: Node, value: str) -> Any:
        forms = [node] if node["kind"] == "image" else node["forms"]
        kinds = {form["kind"] for form in forms}
        if "image" in kinds:
            found = self._data_addresses.get(value) or self._pictures.find(value)
            return value if found is None else found
        if self._takes_text(node) or not kinds & {"whole", "real"}:
            return value
        return value if any(_is_choice(form, value) for form in forms) else _parse_number(value)

    def _takes_text(self, node: Node) -> bool:
        return any(form["kind"] in _TAKES_TEXT for form in node["forms"])

    def _parse_json_text(self, value: Any, loc: tuple[str | int, ...], unread: list[Problem]) -> Any:
        if not is_json_text(value):
            return value
        try:
            found = json.loads(value[JSON_TEXT])
        except (ValueError, RecursionError) as error:
            why = str(error) if isinstance(error, json.JSONDecodeError) else "it is too long or too deep"
            field = Problem(loc, "", "").field
            unread.append(Problem(loc, f"`{field}` is not JSON: {why}. Text stands in double quotes.", "json"))
            return value
        return self._with_pictures(found)

    def _with_pictures(self, value: Any) -> Any:
        if isinstance(value, str) and _STORED_PICTURE.match(value):
            return self._data_addresses.get(value) or self._pictures.find(value) or value
        if isinstance(value, list):
            return [self._with_pictures(item) for item in value]
        return {name: self._with_pictures(item) for name, item in value.items()} if isinstance(value, dict) else value

    def _to_page(self, node: Node, value: Any) -> Any:
        """A value as the page represents it."""
        kind = node["kind"]
        if value is None:
            return None
        if kind == "image" or isinstance(value, Image):
            return self._store_picture(value)
        if kind in ("choice", "constant"):
            return to_page_json(self._plain(value))
        if kind == "json":
            # As text, which preserves long numbers and values that look like wrapped JSON.
            return {JSON_TEXT: json.dumps(self._plain(value), ensure_ascii=False)}
        if kind == "either":
            takes_picture = any(form["kind"] == "image" for form in node["forms"])
            is_picture = takes_picture and not isinstance(value, (bool, int, float, list, tuple, Mapping, Part))
            return self._store_picture(value) if is_picture else self._to_page_mixed(value)
        if isinstance(value, Part):
            value = value.changed()
        elif not isinstance(value, (str, Mapping, list, tuple)):
            # An array or the like, as its content.
            value = self._plain(value)
        if kind == "object" and isinstance(value, Mapping):
            known = {field["name"]: field for field in node["fields"]}
            return {name: self._to_page(known.get(name, ANY_JSON), item) for name, item in value.items()}
        if kind == "list" and isinstance(value, (list, tuple)):
            return [self._to_page(node["item"], item) for item in value]
        # Only in number fields is a text of digits a number.
        return to_page_json(self._plain(value)) if kind in ("whole", "real") else self._plain(value)

    def _to_page_mixed(self, value: Any) -> Any:
        """A value of a field of several kinds, with its long numbers marked."""
        if isinstance(value, Image):
            return self._store_picture(value)
        if isinstance(value, Part):
            value = value.changed()
        if isinstance(value, Mapping):
            return {str(name): self._to_page_mixed(item) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._to_page_mixed(item) for item in value]
        return distinct_json(self._plain(value))

    def _store_picture(self, value: Any) -> str:
        """The short text that represents a picture; a data URL is stored here."""
        text = self._pictures.remember(value)
        if isinstance(value, Image):
            self._data_addresses.pop(text, None)
        elif isinstance(value, str) and value != text:
            self._data_addresses[text] = value
        else:
            self._data_addresses.pop(text, None)
        return text

    def _normalise(self, node: Node, value: Any) -> Any:
        """A typed value as the page retains it: a data URL as its short text, a size in the service's notation."""
        if node["kind"] == "image" and isinstance(value, str) and is_data_address(value):
            return self._pictures.remember(value)
        if node.get("special") == "sizes" and isinstance(value, list):
            return [_normalise_size(one) if isinstance(one, str) else one for one in value]
        return value

    def _plain(self, value: Any) -> Any:
        if isinstance(value, Image):
            return self._pictures.remember(value)
        if isinstance(value, Size):
            return str(value)
        if isinstance(value, Part):
            value = value.changed()
        if isinstance(value, Mapping):
            return {str(name): self._plain(item) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._plain(item) for item in value]
        if type(value) is float or not isinstance(value, (bool, int, float, type(None))):
            return thaw(freeze(value))
        return value


def _normalise_size(text: str) -> str:
    """A size in the service's notation; any other text unchanged."""
    try:
        return str(Size.parse(text))
    except ValueError:
        return text


def _parse_number(text: str) -> Any:
    """A whole number too long for a page, which sends it as text; any other text unchanged.

    >>> _parse_number("9007199254740993"), _parse_number("12"), _parse_number("1,5")
    (9007199254740993, '12', '1,5')
    """
    if _WHOLE.match(text):
        number = int(text)
        return number if abs(number) > MAX_SAFE else text
    return text


def _is_choice(form: Node, value: Any) -> bool:
    return form["kind"] == "choice" and any(one["value"] == value for one in form["choices"])


# A draft from a row of a table or from a run.


def get_row_values(row: Any, kind: type[Input]) -> Input | dict[str, Any]:
    """The inputs or field values of this model from inputs, a run, or a row of a table."""
    if isinstance(row, kind):
        return row
    own_input = getattr(row, "input", None)
    if isinstance(own_input, kind):
        return own_input
    cells = _cells(row)
    names = kind.model_json_schema().get("properties", {})
    # If the model has a field of that name, only a table, which prefixes the field, names the model.
    names_model = "model" not in names or "input_model" in cells
    model = cells.get("model")
    if names_model and isinstance(model, str) and model and model != kind.endpoint_id:
        raise ReelbookError(
            f"This row is a run of {model}, and the form is for {kind.endpoint_id}. Make one with rb.form({model!r})."
        )
    if isinstance(cells.get(INPUT_JSON), str):
        # The table of a sweep has the complete input as one text, with pictures by their hashes.
        from ...storage.table import parse_texts

        (found,) = parse_texts([cells[INPUT_JSON]])
        if isinstance(found, dict):
            return {name: value for name, value in found.items() if name in names}
    # A column with the prefix takes precedence over one with the plain name of the field.
    values = {name: _plain_value(cells.get(f"input_{name}", cells.get(name))) for name in names}
    if values.get("model") == kind.endpoint_id and "input_model" not in cells:
        del values["model"]
    if all(value is None for value in values.values()):
        raise ReelbookError(
            f"Nothing of this row is a field of {kind.endpoint_id}. Give a row of a table of its runs: form.link(table.iloc[0])."
        )
    return {name: value for name, value in values.items() if value is not None}


def _cells(row: Any) -> dict[str, Any]:
    if isinstance(row, Mapping):
        return dict(row)
    for method in ("to_dict", "_asdict"):
        if hasattr(row, method):
            found = getattr(row, method)()
            if isinstance(found, dict):
                return found
    if isinstance(row, Input):
        return {"model": row.endpoint_id}
    raise ReelbookError(f"A form is filled from a row of a table, a run or inputs, not from a {type(row).__name__}.")


def _plain_value(value: Any) -> Any:
    """A cell as a Python value; None if it is empty."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple, dict, str)):
        return value
    # NaN and NaT are the only values that differ from themselves; NA cannot be compared at all.
    try:
        return value if value == value else None
    except TypeError:
        return None
