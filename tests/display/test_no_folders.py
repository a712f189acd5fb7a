"""A page that is given away names no folder of its maker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import reelbook as rb
from reelbook.display.cards import library_card
from reelbook.display.compare.comparison_html import render_comparison
from reelbook.display.cost_chart import render_costs
from reelbook.display.explorer_card import render_explorer
from reelbook.display.figure import file_figure
from reelbook.display.plots.plot_html import render_plot
from reelbook.display.report.clip_grid import grid_bundle, make_clip_grid
from reelbook.display.run_card import run_figure
from reelbook.display.sweep_panel import render_panel
from reelbook.sweeps.plan import Plan
from reelbook.sweeps.progress import Progress
from tests.display.stand_in import render_table
from tests.sweeps.dots import dots

Table = Any  # Not of tables: their many overloads take the type checker seconds.
DISPLAYS: dict[str, Callable[[Table], str]] = {
    "table": render_table,
    "library's table": lambda table: render_table(rb.library().frame),
    "grid": lambda table: str(grid_bundle(make_clip_grid(table))["text/html"]),
    "plot": lambda table: render_plot(table.reel.plot("fps", "credits")),
    "comparison": lambda table: render_comparison(table.reel.compare()),
    "run": lambda table: run_figure(table.reel.run(0)),
    "file": lambda table: file_figure(table.reel.file(0)),
    "figure among many": lambda table: file_figure(table.reel.file(0), many=True),
    "explorer": lambda table: render_explorer(table.reel.file(0).explore()),
    "panel": lambda table: render_panel(finished(dots(2))),
    "library": lambda table: library_card(rb.library()),
    "costs": lambda table: render_costs(table.reel.cost()),
}  # fmt: skip


def finished(plan: Plan) -> Progress:
    """The progress of a sweep whose results are all in the library."""
    job = plan.start()
    job.wait(60)
    return job.progress


@pytest.fixture(scope="module")
def table(one_worker: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[pd.DataFrame]:
    """Two clips in a library of this notebook's folder."""
    folder = tmp_path_factory.mktemp("home-of-jane")
    with pytest.MonkeyPatch.context() as patch, rb.connect(library=folder / ".reelbook"):
        patch.chdir(folder)
        yield dots(2).run(progress=False)


@pytest.mark.parametrize("name", DISPLAYS)
def test_no_display_names_the_folder_of_the_notebook(table: pd.DataFrame, name: str) -> None:
    """Neither in its words nor in the data of its script."""
    page = DISPLAYS[name](table)

    assert "home-of-jane" not in page


def test_a_file_in_another_folder_is_named_by_its_last_one(
    table: pd.DataFrame, tmp_path: Path, monkeypatch: Any
) -> None:
    """Where a library lies in a folder for all notebooks."""
    monkeypatch.chdir(tmp_path)

    page = run_figure(table.reel.run(0))

    assert "home-of-jane" not in page
    assert f"media/{table.reel.file(0).path.name}" in page
