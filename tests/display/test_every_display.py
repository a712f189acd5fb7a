"""What holds for all displays: they say who made a clip, and name no folder of its maker."""

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
from reelbook.display.report.make_report import write_report
from reelbook.display.run_card import run_figure
from reelbook.display.run_text import format_run
from reelbook.display.sweep_panel import render_panel
from reelbook.sweeps.plan import Plan
from reelbook.sweeps.progress import Progress
from tests.display.stand_in import bare, render_table
from tests.support import Served
from tests.sweeps.dots import DOT, dots

EMBEDDED = "embedded sketch, free"


def shown(html: str) -> str:
    """The words of a page."""
    return " ".join(bare(html).text.split())


@pytest.mark.parametrize("where", ["embedded", "own service", "hosted"])
def test_every_display_says_who_made_a_clip(
    one_worker: None, shared: Served, shared_spec_only: Served, tmp_path: Path, where: str
) -> None:
    """The sketch is never taken for a hosted model, nor a hosted one for the sketch; also after a restart."""
    served = {"own service": shared, "hosted": shared_spec_only}.get(where)
    maker = served.base_url if served else EMBEDDED
    address = {"address": served.base_url, "api_key": served.key} if served else {}
    with rb.connect(**address, library=tmp_path / "library") as client:
        run = client.run(DOT)
        table = dots(2).run(budget=200, progress=False)
        figure, line, explorer = run_figure(run), format_run(run), render_explorer(run.video.explore())
    stored = rb.library(tmp_path / "library")

    captions = [figure, file_figure(run.video), explorer, file_figure(table.reel.file(1)), run_figure(stored.run(1))]
    assert [shown(html).count(maker) >= 1 for html in captions] == [True] * 5
    assert shown(figure).count(maker) == 2, "in the caption and in the details"
    assert ("charged by the service" in shown(figure)) == (where != "embedded")
    assert maker in line
    for rows in (table, stored.frame, table.loc[[1]], pd.concat([table, table])):
        assert shown(render_table(rows)).count(maker) == len(rows)
    assert shown(write_report(table, tmp_path / "report.html").read_text()).count(maker) >= 1 + 2 + 2


def test_a_table_of_two_services_tells_them_apart(one_worker: None, shared: Served, tmp_path: Path) -> None:
    """As a notebook that was hosted yesterday and is embedded today."""
    with rb.connect(shared.base_url, api_key=shared.key, library=tmp_path / "library") as client:
        client.run(DOT)
    with rb.connect(library=tmp_path / "library") as client:
        client.run(DOT)
        words = shown(render_table(rb.library().frame))

    assert (words.count(EMBEDDED), words.count(shared.base_url)) == (1, 1)


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
