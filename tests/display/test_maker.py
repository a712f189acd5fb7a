"""Who made a clip stands wherever the clip does: in its caption, its details, tables and reports."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import reelbook as rb
from reelbook.display.explorer_card import render_explorer
from reelbook.display.figure import file_figure
from reelbook.display.report.make_report import write_report
from reelbook.display.run_card import run_figure
from reelbook.display.run_text import format_run
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
