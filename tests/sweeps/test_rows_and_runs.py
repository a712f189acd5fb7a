"""From the rows of a table to the runs of a library and back: always by request id and service, never by a number of another table."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.errors import InvalidInput, ReelbookError
from reelbook.storage.library import Library
from tests.support import png
from tests.sweeps.dots import dots

Which = Callable[[Any, Path], Any]  # Not of tables: in a dict, their many overloads take the type checker seconds.


@pytest.fixture(scope="module")
def client(one_worker: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A library whose numbers are not those of the table: three runs came before the sweep."""
    folder = tmp_path_factory.mktemp("runs") / ".reelbook"
    with rb.connect(library=folder) as client:
        for side in (16, 20, 24):
            client.run(rb.ImagesToVideo(images=[rb.Frame(url=png(side, side, "red"), frames=1)], fps=90.0))
        yield client


@pytest.fixture(scope="module")
def table(client: Client) -> pd.DataFrame:
    return dots(12).run(progress=False)


def clips_in(folder: Path) -> set[str]:
    """The requests whose clips are in a folder, as the copies themselves tell them."""
    return {str(rb.provenance(path).request_id) for path in folder.glob("*.mp4")}


def of(table: pd.DataFrame, rows: list[int]) -> set[str]:
    return set(table.loc[rows, "request_id"])


def by_csv(table: pd.DataFrame, folder: Path) -> pd.DataFrame:
    table.to_csv(folder / "table.csv")
    return pd.read_csv(folder / "table.csv", index_col="run")


SEVEN_AND_ELEVEN: dict[str, Which] = {
    "rows of the table": lambda table, _: table.loc[[7, 11]],
    "filtered": lambda table, _: table[table["fps"].isin([8.0, 12.0])],
    "counted anew": lambda table, _: table.loc[[7, 11]].reset_index(drop=True),
    "put together with keys": lambda table, _: pd.concat({"a": table.loc[[7]], "b": table.loc[[11]]}),
    "from a CSV": lambda table, folder: by_csv(table.loc[[7, 11]], folder),
    "rows one by one": lambda table, _: [table.loc[7], table.loc[11]],
    "a column of request ids": lambda table, _: table.loc[[7, 11], "request_id"],
    "rows of the library": lambda _, __: rb.library().find(fps=[8.0, 12.0]),
}  # fmt: skip


@pytest.mark.parametrize("which", SEVEN_AND_ELEVEN.values(), ids=list(SEVEN_AND_ELEVEN))
def test_rows_7_and_11_are_exported_whatever_names_them(table: pd.DataFrame, tmp_path: Path, which: Which) -> None:
    """Not runs 7 and 11 of the library, which are other clips."""
    target = rb.library().export(tmp_path / "best", which(table, tmp_path))

    assert clips_in(target) == of(table, [7, 11])


def test_an_export_has_the_numbers_of_the_table(table: pd.DataFrame, tmp_path: Path) -> None:
    """In names and CSV; the numbers of the library are in a column of that name."""
    mixed = table.iloc[::-1]
    exports = [
        mixed.reel.export(tmp_path / "labels", [7, 11]),
        rb.library().export(tmp_path / "it", mixed.loc[[11, 7]]),
    ]

    for target in exports:
        rows = pd.read_csv(target / "runs.csv")
        assert list(rows["run"]) == [11, 7]
        assert list(rows["library_run"]) == [table.reel.run(11).id, table.reel.run(7).id]
        assert list(rows["files"]) == [f"{row:04d}-images-to-video.mp4" for row in (11, 7)]
        assert sorted(path.name for path in target.glob("*.mp4")) == sorted(rows["files"])


FOREIGN: dict[str, Callable[[Any], Any]] = {
    "the index of a table": lambda table: table.loc[[7, 11]].index,
    "a mask": lambda table: table["fps"] > 7,
    "a table without request ids": lambda table: table.loc[[7, 11]].drop(columns="request_id"),
    "a table of nothing of ours": lambda table: pd.DataFrame({"seed": [1, 2]}, index=[7, 11]),
}  # fmt: skip


@pytest.mark.parametrize("which", FOREIGN.values(), ids=list(FOREIGN))
def test_numbers_of_another_table_are_refused_and_it_is_said_what_to_pass(
    table: pd.DataFrame, tmp_path: Path, which: Callable[[pd.DataFrame], Any]
) -> None:
    """Nothing is copied and nothing is removed by a number that may be of another table."""
    before = files_of(rb.library())
    with pytest.raises(InvalidInput, match=r"table\.loc|table\[mask\]|request_id") as refused:
        rb.library().export(tmp_path / "best", which(table))
    with pytest.raises(InvalidInput):
        rb.library().prune(0, keep=which(table), yes=True)

    assert "Nothing was copied or removed" in str(refused.value)
    assert not (tmp_path / "best").exists()
    assert files_of(rb.library()) == before


def test_what_is_to_be_kept_is_kept_and_all_else_goes(table: pd.DataFrame, client: Client, tmp_path: Path) -> None:
    """In a copy of the library, whatever their numbers are there; a filter that found nothing is no leave to delete all."""
    library = copy_of(client.library, tmp_path)
    best = table.loc[[0, 7, 11]]
    nothing: list[Any] = [[], table[table["fps"] > 1000]]
    for keep in nothing:
        with pytest.raises(InvalidInput, match="selects no runs"):
            library.prune(0, keep=keep, yes=True)

    listed = library.prune(0, keep=best)
    done = library.prune(0, keep=best, yes=True)

    left = library.frame.dropna(subset="output_video")
    assert set(left["request_id"]) == set(best["request_id"])
    assert len(listed) == len(done) == 3 + 12 - 3
    assert list(listed["credits"]) == [53] * 12
    assert all(listed["bytes"] > 0)


def test_a_row_gives_its_run_its_file_and_a_still(table: pd.DataFrame) -> None:
    """By the label of the row in this table, and by the row itself."""
    run, file, still = table.reel.run(7), table.reel.file(7), table.reel.still(7, 0.5)

    assert run.request_id == table.loc[7, "request_id"]
    assert (run.status, run.input.fps, str(run.video.path)) == ("completed", 8.0, table.loc[7, "output_video"])
    assert table.reel.run(table.loc[7]).request_id == run.request_id
    assert (file.path, still.size) == (run.video.path, (16, 16))
    assert [run.request_id for run in table.reel.runs] == list(table["request_id"])


def test_a_row_without_a_run_says_why(table: pd.DataFrame, tmp_path: Path) -> None:
    """A row of another library, a label that is not there, a row that was never sent, a label of two runs."""
    plan = dots(15)
    unsent = plan.run(budget=14 * 53, progress=False)
    label = unsent.index[unsent["status"] == "not started"][0]
    twice = table.loc[[7, 11]].set_axis([0, 0], axis=0)

    with pytest.raises(InvalidInput, match=r"no run for row 7 \(request .*, row 11"):
        rb.library(tmp_path).export(tmp_path / "best", table.loc[[7, 11]])
    with pytest.raises(ReelbookError, match=r"no row 99: its rows are 0, 1, 2 … 11"):
        table.reel.run(99)
    with pytest.raises(ReelbookError, match="not started"):
        unsent.reel.file(label)
    with pytest.raises(ReelbookError, match="No service is known to have accepted this run"):
        unsent.reel.run(label)
    with pytest.raises(ReelbookError, match="2 runs of the library"):
        twice.reel.run(0)


def copy_of(folder: Path, target: Path) -> Library:
    """A copy of a library, to be changed; nobody is connected to it."""
    place = target / "copy"
    shutil.copytree(folder, place, ignore=shutil.ignore_patterns("service", "owners"))
    return rb.library(place)


def files_of(library: Library) -> set[str]:
    """The hashes of its files."""
    return {hashlib.sha256(path.read_bytes()).hexdigest() for path in (library.folder / "media").glob("*.mp4")}


ONE: dict[str, Callable[[Any], Any]] = {
    "a table of one row": lambda table: table.loc[[7]],
    "a row": lambda table: table.loc[7],
    "the first row": lambda table: table.iloc[0].to_dict(),
    "a request id": lambda table: table.request_id[7],
    "a path": lambda table: table.output_video[7],
    "a row of the library": lambda table: rb.library().frame[rb.library().frame.request_id == table.request_id[7]],
    "a run": lambda table: table.reel.run(7),
    "a row without its request id": lambda table: table.loc[[7]].assign(request_id=None, input_json=None),
}


@pytest.mark.parametrize("name", ONE)
def test_whatever_names_a_run_has_a_strip_and_a_provenance(client: Client, table: pd.DataFrame, name: str) -> None:
    """`rb.strip` and `rb.provenance` take what `table.reel` takes."""
    given, row = ONE[name](table), 0 if name == "the first row" else 7

    assert rb.provenance(given).request_id in (table.request_id[row], None)
    assert rb.provenance(given).values["fps"] == table.fps[row]
    assert rb.strip(given, width=400).width == 400


@pytest.mark.parametrize("ask", [rb.strip, rb.provenance])
def test_what_names_none_or_several_runs_is_answered_with_what_to_type(
    client: Client, table: pd.DataFrame, ask: Callable[[Any], Any]
) -> None:
    """Also a number, which does not say of which table it is."""
    for given, words in (
        (table, "12 rows, and rb.* takes one. Choose a row, as in table.loc"),
        (table.iloc[:0], "no row"),
        ("nowhere", "neither a file nor the request id of a run"),
        (7, "a number or a mask alone"),
        (table.loc[[7]].assign(request_id="elsewhere", output_video=None), "no run for row 7"),
    ):
        with pytest.raises(ReelbookError, match=words):
            ask(given)


@pytest.mark.parametrize("name", ["a table of one row", "a row", "a row of the library", "a run"])
def test_what_was_picked_is_varied_and_opened_in_a_form(client: Client, table: pd.DataFrame, name: str) -> None:
    """From a look to the next sweep: a run or a row stands for what was asked."""
    given, asked = ONE[name](table), table.reel.run(7).input

    assert rb.form(given).value == rb.studio(given).form.value == asked
    assert rb.sweep(given, fps=[9.0, 10.0])[0].input == asked.revised(fps=9.0)


def test_files_are_named_by_what_tells_them_apart(one_worker: None, tmp_path: Path) -> None:
    """Pictures by their source, format and size, clips by prompt, seed and size; another file of the name gets a number."""
    picture, folder = tmp_path / "Lighthouse.png", f"{tmp_path}/saved/"
    picture.write_bytes(png(64, 48, "red"))
    with rb.connect(library=tmp_path / "library") as client:
        run = client.run(rb.SmartResize(image_url=picture, target_sizes=["story", "90x60"], seed=1))
        boat = client.run(rb.TextToVideo(prompt="A paper boat, at dusk", num_frames=9, seed=3))
        square = client.run(rb.SmartResize(image_url=boat.video.still(0.5), target_sizes=["32x32"]))
        saved = [run.images[0].save(folder).name, run.images[1].save(folder).name, square.images[0].make_name()]

    size = "x".join(map(str, (boat.video.probe.width, boat.video.probe.height)))
    assert saved == ["lighthouse_story_1080x1920.png", "lighthouse_90x60.png", "a-paper-boat-at-dusk_32x32.png"]
    assert boat.video.save(f"{tmp_path}/").name == f"a-paper-boat-at-dusk_seed-3_{size}.mp4"
