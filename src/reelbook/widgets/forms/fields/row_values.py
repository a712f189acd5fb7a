"""Field values of one model from a row of a table, a run or inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....errors import ReelbookError
from ....models.base import Input
from ....storage.table import INPUT_JSON


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
        from ....storage.table.library_table import parse_texts

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
