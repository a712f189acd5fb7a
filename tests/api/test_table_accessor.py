"""table.reel: files and money of a table, whatever became of it since."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import polars
import pytest

import reelbook as rb
from reelbook.api import table_accessor
from reelbook.sweeps import table_files
from tests.support import KEY, Served, png

SHOW = rb.ImagesToVideo(images=[rb.Frame(url=png(32, 16), frames=6)])


@pytest.fixture(scope="module")
def connected(shared: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[rb.Client]:
    """One library for all tests: what was made is only looked at."""
    with rb.connect(shared.base_url, api_key=KEY, library=tmp_path_factory.mktemp("reel") / "library") as client:
        yield client


@pytest.fixture(scope="module")
def made(connected: rb.Client) -> pd.DataFrame:
    """Six runs of two rates and three lengths, one of which cannot be."""
    plan = rb.sweep(SHOW, {"images[0].frames": [6, 12, -1]}, fps=[6.0, 12.0])
    return plan.run(budget=plan.credits, progress=False)


@pytest.fixture
def table(made: pd.DataFrame) -> pd.DataFrame:
    """A copy of the table for each test."""
    return made.copy()


def test_each_file_has_a_row(table: pd.DataFrame) -> None:
    """Run and place are the index; what has no file has no row."""
    outputs = table.reel.outputs()

    assert len(outputs) == 4
    assert set(outputs["kind"]) == {"video"}
    assert all(Path(path).stat().st_size == size for path, size in zip(outputs["path"], outputs["bytes"], strict=True))
    assert list(outputs.index.names) == ["run", "file"]
    assert table.iloc[:0].reel.outputs().empty


def test_a_report_in_a_folder_has_the_files_themselves(table: pd.DataFrame, tmp_path: Path) -> None:
    """Under names to read, each telling how it was made, and no address of a result; a run that is left out later goes."""
    folder = tmp_path / "show"
    page = table.reel.report(folder, folder=True)
    clips = sorted(path.name for path in folder.glob("*.mp4"))
    words = page.read_text() + (folder / "runs.csv").read_text()
    table.iloc[:2].reel.report(folder, folder=True)

    assert page == folder / "index.html"
    assert len(clips) == 4
    assert all(f'src="{name}"' in words for name in clips)
    assert not any(url in words for url in table["output_video_url"].dropna())
    assert rb.provenance(folder / clips[0]).request_id == table["request_id"].iloc[0]
    assert sorted(path.name for path in folder.glob("*.mp4")) == clips[:2]


def test_a_report_in_a_folder_takes_nobody_s_page(table: pd.DataFrame, tmp_path: Path) -> None:
    """An index.html that is of no report stays, and nothing is written beside it."""
    (tmp_path / "index.html").write_text("mine")

    with pytest.raises(rb.ReelbookError, match="would be lost"):
        table.reel.report(tmp_path, folder=True)

    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_a_saved_file_of_a_row_tells_the_input_that_made_it(table: pd.DataFrame, tmp_path: Path) -> None:
    """Its pictures are those of the library."""
    copy = table.reel.file(0).save(tmp_path / "clip.mp4")

    assert rb.provenance(copy).input == table.reel.run(0).input


def test_polars_reads_it_through_arrow(table: pd.DataFrame) -> None:
    """Without a copy through text: numbers are numbers and paths are paths."""
    frame = polars.from_pandas(table.drop(columns="images"))

    assert frame["credits"].sum() == table["credits"].sum()
    assert frame["output_video"].to_list() == [None if pd.isna(path) else path for path in table["output_video"]]


def test_costs_add_up_by_any_column(table: pd.DataFrame) -> None:
    """Runs, successes, credits, seconds, and what one of them costs."""
    by = table.reel.cost("fps")
    whole = table.reel.cost()

    assert list(by["runs"]) == [3, 3]
    assert list(by["completed"]) == [2, 2]
    assert list(by["credits"]) == [106, 106]
    assert list(by["estimated"]) == [106, 106]
    assert list(by["charged"]) == [106, 106]
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

    assert filtered.reel.measure("width", progress=False)["width"].count() == 2
    assert merged.reel.measure("width", progress=False)["width"].count() == 2
    assert int(doubled.reel.cost()["credits"].item()) == 424
    with pytest.raises(rb.ReelbookError, match="neither output_video"):
        table[["fps"]].reel.measure("width")


def test_figures_become_columns_and_are_measured_once(table: pd.DataFrame) -> None:
    """A still film has no motion; a run without a file has gaps; the second time the figures are the same."""
    first = table.reel.measure(["motion", "frame_count", "ssim"], reference=0)
    again = table.reel.measure(["motion", "frame_count", "ssim"], reference=0, progress=False)

    done = first[first["status"] == "completed"]
    assert set(done["frame_count"]) == {6, 12}
    assert (done["motion"].astype(float) == 0).all()
    assert done["ssim"].astype(float).min() > 0.99
    assert first[first["status"] == "impossible"]["frame_count"].isna().all()
    pd.testing.assert_frame_equal(first, again)
    assert list(table.columns) == [name for name in first.columns if name in table.columns]
    with pytest.raises(rb.ReelbookError, match=r"Row 4 has 0 files.*impossible"):
        table.reel.measure(["ssim"], reference=4)


def test_measuring_twice_gives_each_figure_once(table: pd.DataFrame, tmp_path: Path) -> None:
    """What was measured before is replaced: also with another reference, after a filter, and out of files."""
    names = ["motion", "frame_count", "ssim"]
    first = table.reel.measure(names, reference=0)
    first.to_parquet(tmp_path / "t.parquet")
    joined = first.merge(pd.DataFrame({"fps": [6.0, 12.0], "pace": ["slow", "quick"]}), on="fps")
    copies = [first, first[first["fps"] == 6.0], rb.read(tmp_path / "t.parquet"), joined]
    again = [copy.reel.measure(names, reference=0) for copy in copies]
    other = first.reel.measure("ssim", reference=1)

    assert [list(one.columns) for one in again] == [list(copy.columns) for copy in copies]
    assert list(other.columns) == list(first.columns)


def test_an_input_is_never_lost_to_a_figure(table: pd.DataFrame) -> None:
    """It keeps its name; the figure is `measured_…`, however often it is measured."""
    once = table.assign(input_json='{"height": 16}', height=16).reel.measure(["height"])
    twice = once.reel.measure(["height"])

    for measured in (once, twice):
        assert [name for name in measured.columns if "height" in name] == ["height", "measured_height"]
        assert set(measured["height"]) == {16}


def test_whoever_draws_is_told_how_far_measuring_is(table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without being asked to; not with `progress=False`."""
    told: list[tuple[int, ...]] = []

    @contextmanager
    def watch_measuring(files: int) -> Iterator[Callable[[int, int], object]]:
        told.append((files,))
        yield lambda done, of: told.append((done, of))

    monkeypatch.setattr(table_accessor, "watch_measuring", watch_measuring)
    table.reel.measure("colourfulness")
    table.reel.measure("sharpness", progress=False)

    assert told == [(4,), (0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_what_is_ticked_is_of_this_table_alone() -> None:
    """An empty table before, the rows in their order after; a table made of it has nothing ticked."""
    table = pd.DataFrame({"seed": [5, 6, 7]}, index=[3, 4, 5])
    before = table.reel.selected

    table_files.tick(table, [2, 0])

    assert (len(before), list(before.columns)) == (0, ["seed"])
    assert list(table.reel.selected.index) == [3, 5]
    assert len(table.copy().reel.selected) == len(table[table.seed > 5].reel.selected) == 0
    assert table_files.get_group(table) == table_files.get_group(table) != table_files.get_group(table.copy())
