"""A sweep in a real kernel that is killed again and again, and in two kernels at once: each run is there, and paid for once.

The oracle is the service's own charge log, which also says when to kill: after so many runs were paid for, never after so
many seconds. All of it is for `make deep`: `tests/sweeps/test_job.py` kills a script once.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import reelbook as rb
from tests.clips import at
from tests.faults.kernels import Kernel
from tests.faults.nursery import DOT, until
from tests.support import Served
from tests.sweeps.dots import PRICE, reserved

pytestmark = pytest.mark.deep

RUNS = 60
KILLS = (3, 14, 27, 41, 53)
"""So many runs have been paid for in all when the kernel dies."""
OTHERWISE = ["service", "queued_s", "running_s", "request_id", "output_video_url", "output_video"]
"""Columns of times, of names that a service makes up, and of places; the files are compared by their content."""

NOTEBOOK = f"""
import os
import reelbook as rb
client = rb.connect(library=os.environ["FOLDER"])
base = rb.ImagesToVideo(images=[rb.Frame(url={DOT!r}, frames=1)])
"""


class Notebook:
    """One plan in one notebook on one library; it is run from the top in a fresh kernel each time."""

    def __init__(self, served: Served, folder: Path, library: Path, runs: int) -> None:
        self._environment = {
            "REELBOOK_URL": served.base_url, "REELBOOK_API_KEY": served.key, "FOLDER": str(library), "HOME": str(folder),
        }  # fmt: skip
        self._folder, self._library, self._count = folder, library, 0
        self._sweep = f"table = rb.sweep(base, fps=range(1, {runs + 1})).run(budget={runs * PRICE})"

    def open(self) -> Kernel:
        """The next kernel."""
        self._count += 1
        return Kernel(self._folder / f"kernel-{self._library.name}-{self._count}", **self._environment)

    def killed(self, when: Callable[[], bool]) -> bool:
        """Run it and kill its kernel once this is so; says whether the sweep was still under way."""
        with self.open() as kernel:
            pid = int(kernel.run("import os; print(os.getpid())").out)
            kernel.run(NOTEBOOK)
            sweep = kernel.begin(f"{self._sweep}; print('over')")
            until(when)
            os.kill(pid, signal.SIGKILL)
        return "over" not in sweep.out

    def finished(self) -> pd.DataFrame:
        """Run it to its end; the table."""
        path = self._folder / f"{self._library.name}.parquet"
        with self.open() as kernel:
            kernel.run(NOTEBOOK)
            kernel.run(self._sweep)
            kernel.run(f"table.to_parquet({str(path)!r})")
            assert kernel.said == ""
        return rb.read(path)


def undisturbed(served: Served, library: Path, runs: int) -> pd.DataFrame:
    """The table of the same plan, run in this process and left alone."""
    base = rb.ImagesToVideo(images=[rb.Frame(url=DOT, frames=1)])
    with rb.connect(served.base_url, api_key=served.key, library=library) as client:
        table = rb.sweep(base, fps=range(1, runs + 1)).run(budget=runs * PRICE, client=client)
    table.to_parquet(library / "table.parquet")
    return rb.read(library / "table.parquet")


def paid_for(served: Served, runs: int) -> Callable[[], bool]:
    return lambda: len(reserved(served)) >= runs


def contents(table: pd.DataFrame) -> list[list[bytes]]:
    """The frames of each clip; its record names the upload of the picture, of which each account has its own."""
    return [[frame.tobytes() for frame in at(Path(path)).frames()] for path in table["output_video"]]


def test_a_kernel_killed_five_times_in_a_sweep_leaves_sixty_results_for_sixty_charges(
    shared: Served, tmp_path: Path
) -> None:
    """The notebook is run from the top after each death; at the end its table is that of a sweep that nobody disturbed."""
    served, calm = shared.with_own_account(), shared.with_own_account()
    notebook = Notebook(served, tmp_path, tmp_path / "killed", RUNS)

    were_under_way = [notebook.killed(paid_for(served, runs)) for runs in KILLS]
    before_the_last = len(reserved(served))
    table = notebook.finished()

    paid = reserved(served)
    assert were_under_way == [True] * len(KILLS)
    assert KILLS[-1] <= before_the_last
    assert len(paid) == len(set(paid)) == RUNS
    assert set(table["request_id"]) == set(paid)
    assert table["status"].tolist() == ["completed"] * RUNS
    assert not [line for line in served.charges() if line["kind"] == "refund"]
    expected = undisturbed(calm, tmp_path / "calm", RUNS)
    assert len(reserved(calm)) == RUNS
    pd.testing.assert_frame_equal(table.drop(columns=OTHERWISE), expected.drop(columns=OTHERWISE))
    assert contents(table) == contents(expected)
    pd.testing.assert_series_equal(table.dtypes, expected.dtypes)


def test_without_its_library_a_killed_sweep_pays_again(shared: Served, tmp_path: Path) -> None:
    """The control: the same death, and a fresh library afterwards."""
    served, runs = shared.with_own_account(), 20

    was_under_way = Notebook(served, tmp_path, tmp_path / "first", runs).killed(paid_for(served, 5))
    table = undisturbed(served, tmp_path / "second", runs)

    assert was_under_way
    assert table["status"].tolist() == ["completed"] * runs
    assert len(reserved(served)) >= runs + 5


@pytest.mark.parametrize(
    "libraries",
    [
        pytest.param(("one", "one"), id="one library"),
        pytest.param(("one", "other"), id="control: one each"),
    ],
)
def test_two_notebooks_that_overlap_pay_for_the_overlap_once(
    shared: Served, tmp_path: Path, libraries: tuple[str, str]
) -> None:
    """Each has ten runs of its own and then the same ten. Both are under way together, as the charge log shows."""
    served, places = shared.with_own_account(), [tmp_path / name for name in ("desk", "other-desk")]
    for place in places:
        place.mkdir()
    first, second = (
        Notebook(served, place, tmp_path / name, 0).open() for place, name in zip(places, libraries, strict=True)
    )
    with first, second:
        first.run(NOTEBOOK + "speeds = [*range(1, 21)]")
        second.run(NOTEBOOK + "speeds = [*range(21, 31), *range(11, 21)]")
        cells = [
            kernel.begin("table = rb.sweep(base, fps=speeds).run(budget=20 * 53, concurrency=5)")
            for kernel in (first, second)
        ]
        ended = [cell.ended() for cell in cells]
        assert [(one.error, one.message) for one in ended] == [("", "")] * 2
        one, two = (kernel.run("print(*table[table.status == 'completed'].request_id)").out.split() for kernel in (first, second))  # fmt: skip

    paid = reserved(served)
    is_shared = libraries[0] == libraries[1]
    assert len(one) == len(two) == 20
    assert set(paid) == {*one, *two}
    assert len(paid) == (30 if is_shared else 40)
    assert (one[10:] == two[10:]) == is_shared
    # What each has for itself was paid for at the same time, so neither had ended before the other began.
    mine, other = ([paid.index(name) for name in ids[:10]] for ids in (one, two))
    assert min(mine) < max(other)
    assert min(other) < max(mine)
