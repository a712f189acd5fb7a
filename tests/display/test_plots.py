"""Plots: what a column becomes on an axis, what is left out, what is drawn, and how much a notebook holds of it."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import reelbook as rb
from reelbook.api import table_accessor  # noqa: F401  # Gives tables their `.reel`.
from reelbook.display.plots.plot_drawing import make_axis
from reelbook.display.plots.plot_html import Plot, plot_bundle, render_plot
from reelbook.display.theme import read_colours
from tests.hostile import TEXTS

SWEEP: Any = pd.DataFrame(
    {
        "prompt": "a paper boat",
        "num_frames": [49, 97, 121] * 4,
        "seed": pd.array([*range(4)] * 3, dtype="Int64"),
        "resolution": ["480p", "1080p", "auto"] * 4,
        "sharpness": [*np.linspace(0.1, 0.9, 10), None, float("nan")],
        "ended": pd.date_range("2026-11-20", periods=12, freq="6h", tz="Europe/Madrid"),
        "flag": pd.array([True, False, None] * 4, dtype="boolean"),
        "status": "completed",
        "credits": range(50, 62),
    },
    index=pd.RangeIndex(12, name="run"),
)


def column(values: Any, dtype: Any = None) -> Any:
    return make_axis("c", pd.Series(values, dtype=dtype))


@pytest.mark.parametrize(
    ("values", "dtype", "expected", "labels"),
    [
        ([1, 2, None], "Int64", [1, 2, None], ()),
        ([0.5, float("inf"), float("nan")], None, [0.5, None, None], ()),
        ([True, False, None], "boolean", [1, 0, None], ("False", "True")),
        (["1080p", "480p", "auto", None], object, [0, 1, 2, None], ("1080p", "480p", "auto")),
        (["low", "high"], pd.CategoricalDtype(["low", "high"], ordered=True), [0, 1], ("low", "high")),
        ([pd.Timestamp("2026-01-02"), None], None, [0, None], ("2026-01-02 00:00:00",)),
        ([[1], {"a": 2}, 3], object, [0, 1, 2], ("[1]", "{'a': 2}", "3")),
        ([None, None], object, [None, None], ()),
        ([], object, [], ()),
        (["a\x00b\n", "\ud800"], object, [0, 1], ("a b", "?")),
    ],
)
def test_a_column_has_an_axis(values: Any, dtype: Any, expected: list[Any], labels: tuple[str, ...]) -> None:
    """Numbers by their size, everything else as categories in the order of the table."""
    axis = column(values, dtype)

    assert [None if np.isnan(value) else value for value in axis.values] == expected
    assert axis.labels == labels


def test_an_axis_has_ticks_that_fit_its_column() -> None:
    """At the values where a sweep has few, and the names of categories: a long one is cut in its middle."""
    prompt = "a paper boat on a rainy street"
    labels = labels_of(Plot(SWEEP, "num_frames", "resolution"))
    prompts = labels_of(Plot(pd.DataFrame({"a": [f"{prompt} by day", f"{prompt} by night"], "b": [1, 2]}), "a", "b"))
    many = labels_of(Plot(pd.DataFrame({"a": [*range(40)], "b": [0.25] * 40}), "a", "b"))

    assert labels == {"49", "97", "121", "480p", "1080p", "auto", "num_frames", "resolution"}
    assert all(label.isdecimal() for label in many if re.fullmatch(r"\d[\d.]*", label) and not label.startswith("0."))
    assert len({label for label in prompts if "…" in label}) == 2


def labels_of(plot: Plot) -> set[str]:
    """The texts of a drawing."""
    return set(re.findall(r"<text[^>]*>([^<]*)</text>", render_plot(plot)))


def test_rows_without_a_value_are_left_out_and_counted() -> None:
    """In words; a row without a colour is drawn in grey."""
    plot = SWEEP.reel.plot("num_frames", "sharpness", color="flag")
    scale = SWEEP.reel.plot("num_frames", "credits", color="sharpness")

    assert repr(plot) == "sharpness by num_frames, coloured by flag · 10 runs · 2 left out without sharpness"
    assert [(series.label, len(series.points)) for series in plot.points.series] == [
        ("False", 3),
        ("True", 4),
        ("no flag", 3),
    ]
    assert repr(scale).endswith("12 runs · 2 grey without sharpness")
    assert repr(SWEEP.reel.plot("run", "credits")) == "credits by run · 12 runs"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("num_frame", "This table has no column 'num_frame'. Did you mean 'num_frames'?"),
        ("motion", r"It is a metric: table.reel.measure\(\['motion'\]\)"),
        ("zzzzzz", "no column 'zzzzzz'"),
        (7, "no column 7"),
    ],
)  # fmt: skip
def test_a_wrong_name_is_answered_with_the_nearest(name: Any, words: str) -> None:
    """For each of the three."""
    for wanted in ((name, "seed"), ("seed", name), ("seed", "seed", name)):
        with pytest.raises(rb.ReelbookError, match=words):
            SWEEP.reel.plot(*wanted)


def test_without_matplotlib_there_is_the_line_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """And it is imported only when something is drawn."""

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", missing)

    with pytest.raises(rb.ReelbookError, match=r"pip install 'reelbook\[plots\]'"):
        SWEEP.reel.plot("num_frames", "credits")


def shapes(html: str) -> list[int]:
    """The rows in the drawing of a page."""
    (body,) = re.findall(r'<svg class="rb-drawing"(.*?)</svg>', html, re.DOTALL)
    return [int(row) for row in re.findall(r'data-row="(\d+)"', body)]


def test_each_point_carries_its_row() -> None:
    """In the drawing; colours are the page's, and no name is that of another plot's."""
    table = SWEEP.iloc[::-1]
    first = plot_bundle(Plot(table, "num_frames", "sharpness", "seed"))["text/html"]
    second = plot_bundle(Plot(table, "resolution", "flag"))["text/html"]
    ids = [set(re.findall(r' id="([^"]+)"', page)) for page in (first, second)]

    assert sorted(shapes(first)) == [*range(2, 12)]
    for page in (first, second):
        drawing = page.partition('<svg class="rb-drawing"')[2].partition("</svg>")[0]
        assert "currentColor" in drawing
        assert not any(colour in drawing for colour in read_colours(is_dark=False).values())
    assert "font-family" not in "".join(re.findall(r"<text.*?>", first))
    assert not ids[0] & ids[1]
    for page in (first, second):
        used = set(re.findall(r'href="#([^"]+)"', page)) | set(re.findall(r"url\(#([^)]+)\)", page))
        assert used <= set(re.findall(r' id="([^"]+)"', page))


def test_the_script_knows_where_each_point_is() -> None:
    """In the pixels of the drawing, where its shape is; and a note says that runs cover each other."""
    html = render_plot(Plot(SWEEP, "num_frames", "credits", "seed"))
    drawn = {
        row: (float(x), float(y))
        for x, y, row in re.findall(r'<use [^>]*?x="([^"]+)" y="([^"]+)"[^>]*? data-row="(\d+)"', html)
    }
    payload = json.loads(html.partition('<script type="application/json">')[2].partition("</script>")[0])

    assert len(drawn) == 12
    for row, place in zip(payload["rows"], payload["places"], strict=True):
        assert place == pytest.approx(drawn[str(row)], abs=0.11)
    assert "cover each other" in render_plot(Plot(pd.DataFrame({"a": ["x"] * 9, "b": [1] * 9}), "a", "b"))
    assert "cover each other" not in html


def test_a_notebook_holds_little_of_a_plot() -> None:
    """200 runs are 300 kB at most, without their posters, and the same plot is the same bytes."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {"prompt": "a paper boat", "seed": range(200), "a": rng.random(200), "b": rng.random(200), "c": rng.random(200)}
    )

    first, again = (plot_bundle(Plot(table, "a", "b", "c")) for _ in range(2))

    assert len(first["text/html"]) + len(first["image/png"]) * 4 / 3 < 300_000
    assert first == again


def test_of_a_very_long_table_the_first_runs_are_drawn() -> None:
    """And the summary says so: a page with more points is slow."""
    table = pd.DataFrame({"a": range(10_000), "b": range(10_000)})

    plot = Plot(table, "a", "b")

    assert repr(plot).endswith("2,000 runs · only the first 2,000 of 10,000 rows")


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_a_plot_is_saved_on_white(suffix: str, tmp_path: Path) -> None:
    """As a picture or as an SVG of its own, with colours that need no page."""
    path = SWEEP.reel.plot("num_frames", "sharpness", color="seed").save(tmp_path / f"plot.{suffix}")
    content = path.read_bytes()

    if suffix == "png":
        with Image.open(io.BytesIO(content)) as picture:
            assert picture.convert("RGB").getpixel((1, 1)) == (255, 255, 255)
            assert picture.width == 1600
    elif suffix == "svg":
        text = content.decode()
        assert ElementTree.fromstring(text).tag.endswith("svg")
        assert "fill: #ffffff" in text
        assert "var(" not in text
        assert "sharpness" in text
    else:
        assert content.startswith(b"%PDF")


def test_with_nothing_to_draw_there_is_a_sentence(tmp_path: Path) -> None:
    """Of an empty table, and of columns that no run has both of."""
    apart = pd.DataFrame({"a": [1, None], "b": [None, 2]})
    for table in (apart, apart.iloc[:0]):
        bundle = plot_bundle(Plot(table, "a", "b"))
        assert "nothing to draw" in bundle["text/html"]
        assert Plot(table, "a", "b").save(tmp_path / "empty.png").stat().st_size > 0


def test_odd_tables_are_drawn() -> None:
    """Two columns of one name, names that are no texts, texts that matplotlib would read as formulas, and all hostile ones."""
    twice = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    levels = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]))
    formulas = pd.DataFrame({"$\\frac": ["$x^", "_$\\alpha$", ""], "b": [1, 2, 3]})
    hostile = pd.DataFrame({"a": list(TEXTS), "b": range(len(TEXTS))}, dtype=object)

    assert repr(Plot(twice, "a", "a")).endswith("2 runs")
    for plot in (
        Plot(twice, "a", "a"),
        Plot(levels, ("a", "b"), "a / c"),
        Plot(formulas, "$\\frac", "b", "$\\frac"),
        Plot(hostile, "a", "b", "a"),
        Plot(pd.DataFrame({"a": [-1e308, 1e299, -1e299, 5e-324], "b": [1e16, 1e16 + 2, 0, 1]}), "a", "b", "a"),
        Plot(pd.DataFrame({"a": [pd.Timestamp.min, pd.Timestamp.max], "b": [1, 2]}), "a", "b", "a"),
        Plot(pd.DataFrame({"a": ["网格" * 9, "شبكة", "🚢"], "b": [1, 2, 3]}), "a", "b", "a"),
    ):
        assert "rb-drawing" in render_plot(plot)
