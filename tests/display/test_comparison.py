"""Comparisons: labels, sentences, differences against numpy, and what stays in a saved notebook."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import reelbook as rb
from reelbook.api.table_accessor import Reel
from reelbook.display.compare.comparison import Comparison
from reelbook.display.compare.comparison_html import (
    format_comparison,
    list_notes,
    render_comparison,
    render_comparison_jpeg,
)
from tests.clips import STEP, film
from tests.display.stand_in import bare, table_of

MAX_SAVED_BYTES = 250_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compared")


@pytest.fixture(scope="module")
def pair(folder: Path) -> list[Path]:
    """Two clips of which the second is one step darker: it lags by a frame."""
    one = film(folder / "one.mp4", frames=12).path
    other = film(folder / "other.mp4", frames=10).path
    return [one, other]


def test_the_mean_absolute_difference_is_that_of_numpy(folder: Path) -> None:
    """Of two pictures whose every pixel is known."""
    values = np.random.default_rng(3).integers(0, 256, (2, 64, 96, 3), np.uint8)
    paths = [folder / f"{name}.png" for name in "ab"]
    for path, pixels in zip(paths, values, strict=True):
        Image.fromarray(pixels).save(path)

    found = rb.compare(*paths).differences

    assert found.mean_absolute[0] == pytest.approx(np.abs(values[0].astype(int) - values[1]).mean())
    assert list(found.frame) == [0]


def test_rates_are_compared_by_time_or_by_frame(folder: Path) -> None:
    """A clip of half the rate: its frames lie half a step away by time, and by number it drifts."""
    paths = [
        film(folder / "fast.mp4", frames=24, rate=Fraction(24)).path,
        film(folder / "slow.mp4", frames=12, rate=Fraction(12)).path,
    ]

    by_time, by_frame = (rb.compare(*paths, by=by) for by in ("time", "frame"))

    assert list(by_time.differences.frame) == list(range(24))
    # Frame n of the one beside frame n // 2 of the other.
    assert by_time.differences.mean_absolute[20] == pytest.approx(10 * STEP, abs=2)
    assert list(by_frame.differences.frame) == list(range(12))
    assert by_frame.differences.mean_absolute.max() < 1
    (note,) = [note for note in list_notes(by_time) if "per second" in note]
    assert note.startswith("The clips have 24 and 12 frames per second: frames of the same time are compared")


def test_more_than_two_are_compared_with_the_first(pair: list[Path], folder: Path) -> None:
    """A column says which; and the page has the figures of every pair."""
    comparison = rb.compare(*pair, film(folder / "third.mp4", frames=5).path)

    found = comparison.differences

    assert list(found.columns) == ["item", "frame", "ssim", "mean_absolute"]
    assert list(found.item.unique()) == ["other.mp4", "third.mp4"]
    assert list(comparison.compute("time")) == [(0, 1), (0, 2), (1, 2)]


def test_rows_are_labelled_by_what_differs(pair: list[Path]) -> None:
    """What is equal is folded, and a row that failed is a sentence."""
    table = table_of(*pair, None, num_frames=25)

    html = bare(render_comparison(Reel(table).compare(0, 1, 2)))

    assert [one["data-rb-label"] for one in html.all("figure")] == ["seed 0", "seed 1"]
    assert "run 2 is failed (out of memory), so there is nothing to compare." in html.text
    assert "The same in all: num_frames" in html.text
    assert len(html.all("details")) == 1


def test_a_file_without_inputs_is_compared_by_its_name(pair: list[Path]) -> None:
    """The run beside it, too, and not by inputs of which the other says nothing."""
    comparison = rb.compare(table_of(pair[0], num_frames=25), pair[1])

    html = bare(render_comparison(comparison))

    assert [item.label for item in comparison.items] == ["run 0", "other.mp4"]
    assert [one.get("aria-label") for one in html.all("div") if "inputs" in one.get("class", "")] == [
        "what differs",
        "what is equal",
    ]


def test_what_cannot_be_compared_is_said(pair: list[Path], folder: Path) -> None:
    """In a sentence, on the page, in a terminal, and by `differences`."""
    broken = folder / "broken.mp4"
    broken.write_bytes(b"no film")
    comparison = rb.compare(pair[0], folder / "gone.mp4", broken)

    notes = list_notes(comparison)

    assert notes[1] == "gone.mp4 is not there any more."
    assert notes[2] == "broken.mp4 cannot be read as a clip or a picture."
    assert "fewer than two can be compared" in format_comparison(comparison)
    assert all(note in bare(render_comparison(comparison)).text for note in notes)
    with pytest.raises(rb.errors.ReelbookError, match="Fewer than two files"):
        comparison.differences  # noqa: B018  # Computed when it is read.


@pytest.mark.parametrize(("arguments", "words"), [([], "here are none"), (["a.png"], "here is one"), ([3.5], "float")])
def test_too_few_and_strange_arguments_are_refused(arguments: list[Any], words: str) -> None:
    """With what to do instead."""
    with pytest.raises(rb.errors.ReelbookError, match=words):
        rb.compare(*arguments)


def test_a_saved_comparison_is_small_and_reads_without_scripts(folder: Path) -> None:
    """Stills side by side with labels, a chart, the table of inputs; and a JPEG; below 250 kB with all of it."""
    paths = [film(folder / f"grain{n}.mp4", size=(1280, 720), frames=8, noise=40 + n).path for n in range(2)]
    comparison = Reel(table_of(*paths)).compare()

    html, jpeg = render_comparison(comparison), render_comparison_jpeg(comparison)

    assert jpeg is not None
    assert len(html) + len(jpeg) * 4 / 3 < MAX_SAVED_BYTES
    plain = bare(html)
    assert len([one for one in plain.all("img") if one["src"].startswith("data:image/jpeg")]) == 2
    assert "A · seed 0" in plain.text
    assert len(plain.all("polyline")) == 2
    assert all(len(one["points"].split()) == 8 for one in plain.all("polyline"))
    assert "mean absolute difference" in plain.text
    assert not any("blob:" in value for _, attributes in plain.elements for value in attributes.values())


def test_long_clips_are_left_for_later(pair: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The cell does not wait minutes for a chart."""
    monkeypatch.setattr("reelbook.display.compare.comparison.MAX_PIXELS", 1000)
    comparison = Comparison(rb.compare(*pair).items)

    before = bare(render_comparison(comparison)).text
    assert len(comparison.differences) == 10

    assert "No chart of the differences: these files are long" in before
    assert "`comparison.differences`" in before
    assert "mean absolute difference" in bare(render_comparison(comparison)).text
