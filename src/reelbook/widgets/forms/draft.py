"""A draft: the values of a form as typed, validated by the input's class."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import traitlets
from pydantic_core import PydanticCustomError

from ...errors import InvalidInput, Problem, ReelbookError
from ...models.base import Input
from ...models.problems import WANTED, wrong_type
from ...storage.run_identity import INPUT_JSON
from ...util.missing_values import is_missing
from ..json_values import MAX_SAFE
from .pictures import Pictures
from .schema import JSON, Node, to_page

_WHOLE = re.compile(r"[+-]?\d{1,4300}\Z")


class InputTrait(traitlets.TraitType[Any, Any]):
    """The inputs as a trait, so that `observe` and `interactive_output` work."""

    info_text = "the inputs of a model"

    def get(self, obj: Any, cls: Any = None) -> Any:
        return obj.checked()

    def set(self, obj: Any, value: Any) -> None:
        obj.fill(value)


class Draft:
    """The values of one form by field name; absent fields have their defaults.

    All of it is JSON that a page keeps as it is: pictures are texts, and so are numbers that are too long for a page and
    whatever is typed as JSON.
    """

    def __init__(self, kind: type[Input], sheet: Mapping[str, Any], pictures: Pictures) -> None:
        self._kind, self._pictures = kind, pictures
        self._nodes: dict[str, Node] = {node["name"]: node for node in sheet["fields"]}
        self.values: dict[str, Any] = {}

    def edit(self, name: str, *value: Any) -> None:
        """Set a field to a value as typed; without one, reset it to its default."""
        if not value:
            self.values.pop(name, None)
        elif name in self._nodes or self._kind.model_config.get("extra") == "allow":
            self.values[name] = value[0]

    def fill(self, request: Input) -> None:
        """Replace all values with those of an input."""
        self.values = {name: self.to_page(name, value) for name, value in request.changed().items()}

    def to_page(self, name: str, value: Any) -> Any:
        """A Python value as the page represents it; `InvalidInput` if JSON cannot represent it."""
        try:
            return to_page(self._nodes.get(name, JSON), value, self._pictures.remember)
        except PydanticCustomError as error:
            problem = wrong_type((name,), error.type, value, WANTED[error.type], None)
            raise InvalidInput(self._kind.__name__, [problem]) from None

    # `self` is positional-only, because a described model may have a field of that name.
    def read(self, /, **varied: Any) -> Input:
        """The inputs, with these values in place of the typed ones; `InvalidInput` names every invalid field."""
        values, unread = self._read_values()
        values |= varied
        unread = [problem for problem in unread if problem.loc[0] not in varied]
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
        return self._read_values()[0]

    def convert(self, name: str, value: Any) -> Any:
        """A value of a field as passed to the class."""
        try:
            return self._read(self._nodes.get(name, JSON), value, (name,), [])
        # The class then says that it nests too deeply.
        except RecursionError:
            return value

    def _read_values(self) -> tuple[dict[str, Any], list[Problem]]:
        unread: list[Problem] = []
        values: dict[str, Any] = {}
        for name, value in self.values.items():
            try:
                values[name] = self._read(self._nodes.get(name, JSON), value, (name,), unread)
            except RecursionError:
                unread.append(Problem((name,), f"`{name}` nests too deeply to be read.", "too_deep"))
        return values, unread

    def _read(self, node: Node, value: Any, loc: tuple[str | int, ...], unread: list[Problem]) -> Any:
        """A value as passed to the class."""
        kind = node["kind"]
        if kind == "json" and isinstance(value, str):
            try:
                return self._with_pictures(json.loads(value))
            except (ValueError, RecursionError) as error:
                if node.get("plain") and not value.lstrip().startswith(("{", "[", '"')):
                    return self._with_pictures(value)
                why = str(error) if isinstance(error, json.JSONDecodeError) else "it is too long or too deep"
                field = Problem(loc, "", "").field
                unread.append(Problem(loc, f"`{field}` is not JSON: {why}. Text stands in double quotes.", "json"))
                return value
        if kind in ("whole", "real") and isinstance(value, str) and _WHOLE.match(value):
            # A page sends only those as text that it cannot hold.
            return int(value) if abs(int(value)) >= MAX_SAFE else value
        if kind == "list" and isinstance(value, list):
            return [self._read(node["item"], item, (*loc, place), unread) for place, item in enumerate(value)]
        if kind == "object" and isinstance(value, dict):
            fields = {field["name"]: field for field in node["fields"]}
            return {
                name: self._read(fields.get(name, JSON), item, (*loc, name), unread) for name, item in value.items()
            }
        return self._with_pictures(value) if kind == "image" else value

    def _with_pictures(self, value: Any) -> Any:
        """A value with pictures in the place of the texts that stand for them."""
        if isinstance(value, str):
            return self._pictures.find(value) or value
        if isinstance(value, list):
            return [self._with_pictures(item) for item in value]
        return {name: self._with_pictures(item) for name, item in value.items()} if isinstance(value, dict) else value


# A draft from a row of a table or from a run.


def get_row_values(row: Any, kind: type[Input]) -> Input | dict[str, Any]:
    """The inputs or field values of this model from inputs, a run, or a row of a table."""
    request = row if isinstance(row, Input) else getattr(row, "input", None)
    if isinstance(request, kind):
        return request
    cells = dict(row) if isinstance(row, Mapping) else row.to_dict() if hasattr(row, "to_dict") else {}
    names = kind.model_json_schema().get("properties", {})
    model = request.endpoint_id if isinstance(request, Input) else cells.get("model")
    if isinstance(model, str) and model != kind.endpoint_id and "model" not in names:
        raise ReelbookError(
            f"This row is a run of {model}, and the form is for {kind.endpoint_id}. Make one with rb.form({model!r})."
        )
    if isinstance(cells.get(INPUT_JSON), str):
        # The table of a sweep has the complete input as one text, with pictures by their hashes.
        from ...storage.table import parse_text

        cells = parse_text(cells[INPUT_JSON])
    # A column with the prefix takes precedence over one with the plain name of the field.
    values: dict[str, Any] = {name: cells.get(f"input_{name}", cells.get(name)) for name in names}
    values = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in values.items() if not is_missing(value)}  # fmt: skip
    if not values:
        raise ReelbookError(
            f"Nothing of this row is a field of {kind.endpoint_id}. Give a row of a table of its runs: form.link(table.iloc[0])."
        )
    return values
