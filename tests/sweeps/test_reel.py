"""table.reel: files and money of a table, whatever became of it since."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

import reelbook as rb
from tests.support import KEY, Serve, png

SHOW = rb.ImagesToVideo(images=[rb.Frame(url=png(32, 16), frames=6)])


@pytest.fixture
def table(serve: Serve, tmp_path: Path) -> Iterator[pd.DataFrame]:
    """Six runs of two rates and three lengths, one of which cannot be."""
    served = serve()
    with rb.connect(served.base_url, api_key=KEY, library=tmp_path / "library"):
        plan = rb.sweep(SHOW, {"images[0].frames": [6, 12, -1]}, fps=[6.0, 12.0])
        yield plan.run(budget=plan.credits, progress=False)


def test_each_file_has_a_row(table: pd.DataFrame) -> None:
    """Run and place are the index; what has no file has no row."""
    outputs = table.reel.outputs()

    assert len(outputs) == 4
    assert set(outputs["kind"]) == {"video"}
    assert all(Path(path).stat().st_size == size for path, size in zip(outputs["path"], outputs["bytes"], strict=True))
    assert list(outputs.index.names) == ["run", "file"]


def test_several_pictures_of_one_run_have_a_row_each(serve: Serve, tmp_path: Path) -> None:
    """In the order of the sizes that were asked for."""
    served = serve()
    with rb.connect(served.base_url, api_key=KEY, library=tmp_path / "library"):
        plan = rb.sweep(rb.SmartResize(image_url=png(64, 32), target_sizes=["32x32", "48x24"]), seed=[1, 2])
        found = plan.run(budget=22, progress=False).reel.outputs()

    assert list(found.index) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert set(found["kind"]) == {"image"}


def test_costs_add_up_by_any_column(table: pd.DataFrame) -> None:
    """Runs, successes, credits, seconds, and what one of them costs."""
    by = table.reel.cost("fps")
    whole = table.reel.cost()

    assert list(by["runs"]) == [3, 3]
    assert list(by["completed"]) == [2, 2]
    assert list(by["credits"]) == [106, 106]
    assert list(by["credits_per_success"]) == [53.0, 53.0]
    assert by.loc[6.0, "seconds"] == pytest.approx(3.0)
    assert by.loc[12.0, "seconds"] == pytest.approx(1.5)
    assert int(whole["credits"].item()) == 212
    with pytest.raises(rb.ReelbookError, match="Did you mean 'fps'"):
        table.reel.cost("fbs")


def test_a_table_that_was_filtered_sorted_merged_or_concatenated_keeps_its_reel(table: pd.DataFrame) -> None:
    """Only the columns count."""
    filtered = table[table["fps"] == 6.0].sort_values("credits")
    merged = table.reset_index().merge(pd.DataFrame({"fps": [6.0], "label": ["slow"]}), on="fps")
    doubled = pd.concat([table, table])

    assert len(filtered.reel.outputs()) == 2
    assert len(merged.reel.outputs()) == 2
    assert int(doubled.reel.cost()["credits"].item()) == 424
    with pytest.raises(rb.ReelbookError, match="neither output_video"):
        table[["fps"]].reel.outputs()


def test_figures_become_columns_and_are_measured_once(table: pd.DataFrame) -> None:
    """A still film has no motion; a run without a file has gaps; the second time nothing is decoded."""
    seen: list[tuple[int, int]] = []
    with ThreadPoolExecutor(2) as threads:
        first = table.reel.measure(["motion", "frame_count", "ssim"], reference=0, executor=threads)
        again = table.reel.measure(
            ["motion", "frame_count", "ssim"], reference=0, executor=threads, progress=lambda *told: seen.append(told)
        )

    done = first[first["status"] == "completed"]
    assert set(done["frame_count"]) == {6, 12}
    assert (done["motion"].astype(float) == 0).all()
    assert done["ssim"].astype(float).min() > 0.99
    assert first[first["status"] == "impossible"]["frame_count"].isna().all()
    pd.testing.assert_frame_equal(first, again)
    assert seen == [(4, 4)]
    assert list(table.columns) == [name for name in first.columns if name in table.columns]
    with pytest.raises(rb.ReelbookError, match="no file to compare with"):
        table.reel.measure(["ssim"], reference=4)


def test_a_table_that_was_written_comes_back_with_its_reel(table: pd.DataFrame, tmp_path: Path) -> None:
    """From Parquet and from CSV; anything else is a sentence."""
    table.to_parquet(tmp_path / "t.parquet")
    table.to_csv(tmp_path / "t.csv")

    for name in ("t.parquet", "t.csv"):
        back = rb.read(tmp_path / name)
        assert len(back.reel.outputs()) == 4
        assert int(back.reel.cost()["credits"].item()) == 212
    for wrong in ("t.xlsx", "nowhere.csv"):
        with pytest.raises(rb.ReelbookError, match="read"):
            rb.read(tmp_path / wrong)
