"""Plots and comparisons in a report: what is in the page once, whose rows they show, and what they do not give away."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PIL import Image

import reelbook as rb
from reelbook.api import table_accessor  # noqa: F401  # Gives tables their `.reel`.
from reelbook.display.compare.comparison import Comparison
from reelbook.display.report.make_report import write_report
from reelbook.errors import ReelbookError
from tests.clips import film
from tests.display.stand_in import Read

MAX_VIEW_BYTES = 130_000
"""Of a plot and a comparison together with their scripts and styles."""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Four runs with clips of their own, and one that has failed."""
    folder = tmp_path_factory.mktemp("clips")
    clips = [str(film(folder / f"clip-{number}.mp4", frames=20 + number).path) for number in range(4)]
    return pd.DataFrame(
        {
            "prompt": "a paper boat", "seed": range(5), "output_video": [*clips, None], "sharpness": [0.4, 0.1, 0.3, 0.2, 0.5],
            "status": [*["completed"] * 4, "failed"], "credits": [53] * 4 + [0], "request_id": [f"request-{row}" for row in range(5)],
            "output_video_url": [f"https://host.example/{row}?token=1" for row in range(5)], "model": "svc/text-to-video",
        },
        index=pd.RangeIndex(5, name="run"),
    )  # fmt: skip


def page_of(table: Any, place: Path, *views: Any, **options: Any) -> str:
    path = write_report(table, place / ("x" if options else "x.html"), views=list(views), **options)
    return (path / "index.html" if path.is_dir() else path).read_text(encoding="utf-8")


def payload_of(page: str) -> dict[str, Any]:
    """The data of the plot in a page."""
    return dict(
        json.loads(
            page.partition("data-rb-plot")[2].partition('<script type="application/json">')[2].partition("</script>")[0]
        )
    )


def test_all_views_use_the_files_that_the_page_has(table: Any, tmp_path: Path) -> None:
    """Each clip and poster is in it once, so that a plot and a comparison add little."""
    plain = page_of(table, tmp_path)

    page = page_of(table, tmp_path, table.reel.plot("seed", "sharpness"), table.reel.compare(0, 1))

    assert page.count("data:video/mp4;base64,") == plain.count("data:video/mp4;base64,") == 4
    assert len(page) - len(plain) < MAX_VIEW_BYTES
    assert "data:" not in str(payload_of(page)["posters"])
    read = Read(page)
    assert [one["data-rb-key"] for one in read.all("figure") if "data-rb-key" in one] == ["report 0 0", "report 1 0"]
    assert [words for words in ("Plot", "Comparison", "previews of the clips") if words not in read.text] == []
    assert 'class="rb-plot-still"' not in page


def test_the_points_are_those_of_the_rows_of_the_report(table: Any, tmp_path: Path) -> None:
    """Also of a table that was sorted, filtered and got another column after the plot was made of it."""
    other = table[table.sharpness < 0.45].sort_values("sharpness").assign(half=lambda rows: rows.sharpness / 2)

    page = page_of(table, tmp_path, other.reel.plot("half", "sharpness"))

    assert payload_of(page)["rows"] == [1, 3, 2, 0]
    assert re.findall(r'data-row="(\d)"[^>]*/>', page.partition("rb-drawing")[2])[:4] == ["1", "3", "2", "0"]


def test_a_plot_of_other_runs_is_refused(table: Any, tmp_path: Path) -> None:
    """Before anything is written; the message says what to do."""
    stranger = table.assign(request_id=[f"other-{row}" for row in range(5)])

    with pytest.raises(
        ReelbookError, match=r"5 of the 5 rows of this plot are not among them\. Plot the table that is reported"
    ):
        page_of(table, tmp_path, stranger.reel.plot("seed", "sharpness"))

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", ["plot", 7, [("seed", "sharpness")], {"a": 1}])
def test_what_is_no_view_is_refused(table: Any, tmp_path: Path, wrong: Any) -> None:
    """With an example of what is meant."""
    with pytest.raises(ReelbookError, match=r"views=\[table\.reel\.plot"):
        write_report(table, tmp_path / "x.html", views=wrong)


def test_a_view_alone_needs_no_list(table: Any, tmp_path: Path) -> None:
    """As it is displayed."""
    page = write_report(table, tmp_path / "x.html", views=table.reel.plot("seed", "sharpness")).read_text()

    assert payload_of(page)["rows"] == [0, 1, 2, 3, 4]


def test_no_folder_and_no_address_of_the_sender_is_in_it(table: Any, tmp_path: Path) -> None:
    """Neither of files, nor of pictures that inputs name, nor of files that are gone."""
    private = table.assign(
        image_url=["/home/ana/secret/a.png", "/home/ana/secret/b.png", *["/home/ana/secret/c.png"] * 3]
    )
    private["output_video"] = [*private.output_video[:3], "/home/ana/secret/gone.mp4", None]

    page = page_of(private, tmp_path, private.reel.plot("image_url", "seed", "output_video"), private.reel.compare())

    assert "/home/ana" not in page
    assert str(Path(table.output_video[0]).parent) not in page
    assert "host.example" not in page
    assert [word for word in ("a.png", "b.png", "gone.mp4") if word not in page] == []
    with pytest.raises(ReelbookError, match="has no column 'output_video_url'"):
        table.reel.plot("output_video_url", "seed")


def test_a_file_that_is_not_in_the_table_comes_along(table: Any, tmp_path: Path) -> None:
    """Once, however often it is compared; beside the page its whole file."""
    other = film(tmp_path / "other.mp4", frames=12, rate=Fraction(12)).path
    views = [rb.compare(table.loc[[0]], other), rb.compare(other, table.loc[[1]])]

    page, beside = page_of(table, tmp_path, *views), page_of(table, tmp_path, *views, folder=True)

    assert page.count("data:video/mp4;base64,") == 5
    (files,) = re.findall(r"data-rb-files>(.*?)</script>", page)
    assert list(json.loads(files)) == ["5/0"]
    assert page.count('data-rb-key="report 5 0"') == 2
    assert Read(page).text.count("Comparisons") == 1
    (files,) = re.findall(r"data-rb-files>(.*?)</script>", beside)
    assert (tmp_path / "x" / json.loads(files)["5/0"]["url"]).is_file()
    assert "previews of the clips" not in beside


def test_pictures_beside_the_page_are_compared_in_full(tmp_path: Path) -> None:
    """Inside it, at the size that it says."""
    paths = [tmp_path / f"{name}.png" for name in "ab"]
    for path in paths:
        Image.new("RGB", (900, 600), "teal").save(path)
    table: Any = pd.DataFrame({"seed": [1], "output_images": [list(map(str, paths))], "status": "completed"})

    page, beside = (page_of(table, tmp_path, table.reel.compare(), **options) for options in ({}, {"folder": True}))

    sizes = [
        [(one["data-rb-key"], one["data-width"]) for one in Read(html).all("figure") if "data-rb-key" in one]
        for html in (page, beside)
    ]
    assert sizes == [[("report 0 0", "640"), ("report 0 1", "640")], [("report 0 0", "900"), ("report 0 1", "900")]]
    assert "previews of the clips, at most 320 pixels wide and high, and of pictures, at most 640" in page
    assert "data-rb-files>" not in page
    (files,) = re.findall(r"data-rb-files>(.*?)</script>", beside)
    assert [one["url"].rpartition(".")[2] for one in json.loads(files).values()] == ["png", "png"]


def test_long_clips_have_no_chart_and_say_why(table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody who reads a report can compute it."""
    monkeypatch.setattr("reelbook.display.compare.comparison.MAX_PIXELS", 1000)

    told = Read(page_of(table, tmp_path, Comparison(table.reel.compare(0, 1).items))).text

    assert "No chart of the differences: these files are long" in told
    assert "comparison.differences" not in told
