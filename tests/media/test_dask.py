"""A cluster of Dask measures what this machine measures, and loses nothing when its workers die."""

from __future__ import annotations

import copyreg
import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from reelbook.media.measuring.measures import measure_files
from reelbook.media.measuring.metrics import METRICS, measure_file
from tests.clips import film
from tests.media.moving import noise, picture

pytestmark = pytest.mark.deep
"""In `make test`, executors that send everything as bytes and processes of the standard library say the same."""

FILMS, PICTURES = 4, 6


@pytest.fixture(scope="module", params=[20, 200])
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Many files of ten contents: films of a few frames with grain, and pictures."""
    folder = tmp_path_factory.mktemp("many")
    first = [
        film(folder / f"{number}.mp4", frames=2 + number % 2, size=(48, 32), rate=Fraction(8), noise=4 + number).path
        for number in range(FILMS)
    ]
    first += [picture(folder / f"{number}.png", noise(number, (48, 32))) for number in range(FILMS, FILMS + PICTURES)]
    copies = [
        Path(shutil.copy(path, folder / f"{path.stem}-{number}{path.suffix}"))
        for number in range(1, request.param // len(first))
        for path in first
    ]
    return [*first, *copies]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two workers, each a process of its own with one thread; one that dies is not tried with its file again."""
    folder = tmp_path_factory.mktemp("dask")
    # Importing it changes for the whole process how errors are pickled, which is no concern of other tests.
    before = dict(copyreg.dispatch_table)
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", local_directory=str(folder)
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
    copyreg.dispatch_table.clear()
    copyreg.dispatch_table.update(before)


def test_many_files_have_the_same_figures_on_a_cluster(client: Any, files: list[Path]) -> None:
    """Every figure of every file to the last digit, in order, also those that compare with another file."""
    told: list[tuple[int, int]] = []

    with client.get_executor() as executor:
        there = measure_files(
            files, reference=files[0], executor=executor, progress=lambda done, of: told.append((done, of))
        )

    here = {path.name: measure_file(path, reference=files[0]) for path in files[: FILMS + PICTURES]}
    expected = [here[f"{path.stem.partition('-')[0]}{path.suffix}"] for path in files]
    assert there == expected
    assert {figures["error"] for figures in there} == {None}
    # Figures that are all alike would prove nothing.
    assert len({figures["sharpness"] for figures in there}) == FILMS + PICTURES
    assert set(there[0]) == {*METRICS, "error"}
    assert told == [(number, len(files)) for number in range(len(files) + 1)]
