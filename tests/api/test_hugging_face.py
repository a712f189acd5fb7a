"""A table as a dataset of Hugging Face's `datasets`, there and back."""

from __future__ import annotations

import hashlib
from pathlib import Path

import datasets
import pandas as pd
import polars
import pytest

import reelbook as rb
from tests.support import deep, png

datasets.disable_progress_bars()


def hashes(table: pd.DataFrame) -> list[list[str]]:
    """The hash of each file of each row."""
    return [
        [hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in row.reel.outputs()["path"]]
        for _, row in table.groupby(level=0)
    ]


@pytest.fixture(scope="module", params=[6, *deep((100,))])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Clips, one row without one, since the budget ends before it."""
    show = rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16), frames=1)])
    with rb.connect(library=tmp_path_factory.mktemp("library")):
        return rb.sweep(show, fps=range(1, request.param + 1)).run(budget=53 * (request.param - 1))


@pytest.mark.parametrize("way", ["memory", "disk", "parquet"])
def test_types_and_files_survive_the_way_there_and_back(table: pd.DataFrame, way: str, tmp_path: Path) -> None:
    """In memory, saved to a disk, and as Parquet with the files inside, read where the originals are not needed."""
    dataset = table.reel.to_dataset()
    if way == "disk":
        dataset.save_to_disk(tmp_path / "saved")
        dataset = datasets.load_from_disk(tmp_path / "saved")
    elif way == "parquet":
        dataset.to_parquet(tmp_path / "table.parquet")
        dataset = datasets.load_dataset(
            "parquet", data_files=str(tmp_path / "table.parquet"), split="train", cache_dir=str(tmp_path / "cache")
        )

    back = rb.read(dataset, folder=tmp_path / "clips")

    assert isinstance(dataset.features["output_video"], datasets.Video)
    assert hashes(back) == hashes(table.reset_index(drop=True))
    plain = [name for name in table if name != "output_video" and (way != "parquet" or table[name].dtype != "category")]
    pd.testing.assert_frame_equal(back[plain], table[plain].reset_index(drop=True))


def test_pictures_are_features_too(tmp_path: Path) -> None:
    """A resize of two sizes has two pictures in a row."""
    with rb.connect(library=tmp_path / "library"):
        resize = rb.SmartResize(image_url=png(64, 64), target_sizes=["48x48", "32x64"], seed=1)
        table = rb.sweep(resize, seed=[1, 2]).run(budget=22)

    dataset = table.reel.to_dataset()

    assert dataset.features["output_images"] == datasets.List(datasets.Image(decode=False))
    assert hashes(rb.read(dataset)) == hashes(table.reset_index(drop=True))


def test_polars_reads_it_through_arrow(table: pd.DataFrame) -> None:
    """Without a copy through text: numbers are numbers and paths are paths."""
    frame = polars.from_pandas(table.drop(columns="images"))

    assert frame["credits"].sum() == table["credits"].sum()
    assert frame["output_video"].to_list() == [None if pd.isna(path) else path for path in table["output_video"]]
