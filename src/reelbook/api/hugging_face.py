"""A table of runs as a dataset of Hugging Face's `datasets`, and back, with types and files as they were."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa

from ..errors import ReelbookError
from ..sweeps.table_files import IMAGES, VIDEO

if TYPE_CHECKING:
    from datasets import Dataset

DTYPES = "Columns of pandas: "
"""What precedes the column types in the dataset's description: Arrow alone does not know a category from text."""
NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype(), pa.string(): pd.StringDtype()}
"""Columns that a missing value would turn into floats and objects otherwise."""


def to_dataset(table: pd.DataFrame) -> Dataset:
    """The rows with their clips as `Video` and their pictures as `Image` features, not decoded; the files themselves go along on upload."""
    datasets = import_datasets()
    columns = table.reset_index(drop=True)
    media = [name for name in (VIDEO, IMAGES) if name in columns]
    arrow = pa.Table.from_pandas(columns.drop(columns=media), preserve_index=False)
    arrow = arrow.cast(pa.schema([(field.name, _plain_type(field.type)) for field in arrow.schema]))
    features = datasets.Features.from_arrow_schema(arrow.schema)
    kinds = {VIDEO: datasets.Video(decode=False), IMAGES: datasets.List(datasets.Image(decode=False))}
    for name in media:
        features[name] = kinds[name]
        values = pa.array([_as_files(value) for value in columns[name]], type=features.arrow_schema.field(name).type)
        arrow = arrow.append_column(name, values)
    arrow = arrow.replace_schema_metadata().cast(features.arrow_schema)
    # The values of a category, else the name of the type.
    kinds_here = {
        str(name): list(kind.categories) if isinstance(kind, pd.CategoricalDtype) else str(kind)
        for name, kind in columns.dtypes.items()
    }
    info = datasets.DatasetInfo(description=DTYPES + json.dumps(kinds_here), features=features)
    dataset: Dataset = datasets.Dataset(arrow, info=info)
    return dataset.select_columns(list(columns))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Text for categories and for long text, which `datasets` does not take."""
    is_text = pa.types.is_dictionary(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)
    return pa.string() if is_text else kind


def _as_files(value: Any) -> Any:
    """A path, or each of several, as `datasets` writes a file."""
    if isinstance(value, str):
        return {"path": value, "bytes": None}
    return None if value is None or value is pd.NA or isinstance(value, float) else [_as_files(path) for path in value]


def from_dataset(dataset: Dataset, folder: Path) -> pd.DataFrame:
    """The table of a dataset; a file that the dataset holds inside itself is written into the folder, named by its hash."""
    table: pd.DataFrame = dataset.with_format("arrow")[:].to_pandas(types_mapper=NULLABLE.get)
    for name in (VIDEO, IMAGES):
        if name in table:
            table[name] = pd.Series([_as_paths(value, folder) for value in table[name]], dtype=object)
    _, _, dtypes = (dataset.info.description or "").rpartition(DTYPES)
    kinds = json.loads(dtypes or "{}")
    return table.astype(
        {
            name: pd.CategoricalDtype(kind) if isinstance(kind, list) else kind
            for name, kind in kinds.items()
            if name in table
        }
    )


def _as_paths(value: Any, folder: Path) -> Any:
    """The path of a file, or of each of several; nothing for a row without one."""
    if value is None or value is pd.NA:
        return None
    if not isinstance(value, dict):
        return [_as_paths(part, folder) for part in value]
    path, content = value["path"], value["bytes"]
    if content is None:
        return path
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{hashlib.sha256(content).hexdigest()}{Path(path or '').suffix}"
    file.write_bytes(content)
    return str(file)


def import_datasets() -> Any:
    """The library, or a sentence that says how to get it."""
    try:
        import datasets
    except ImportError:
        raise ReelbookError("This needs the library `datasets`: pip install 'reelbook[datasets]'.") from None
    return datasets
