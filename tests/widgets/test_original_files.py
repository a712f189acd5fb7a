"""Who brings the originals of figures: one connection for all, and nothing where nobody looks."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from reelbook.display import embedding
from reelbook.display import original_links as asked
from reelbook.display.figure import file_figure
from reelbook.widgets import link
from reelbook.widgets.link import Link, register_file
from tests.clips import film
from tests.display.stand_in import bare


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page on which somebody looks at the cell."""
    monkeypatch.setattr(link, "get_kernel_shell", lambda: SimpleNamespace(execution_count=3))
    monkeypatch.setattr(link, "is_page_attached", lambda: True)
    monkeypatch.setattr(link, "is_jupyter_server", lambda: True)
    monkeypatch.setattr(link, "_figure_links", {})
    monkeypatch.setattr(asked, "_shared", [register_file])


@pytest.mark.usefixtures("looked_at")
def test_each_file_has_its_row_and_all_one_key(tmp_path: Path) -> None:
    """The same file keeps its word, also from another thread."""
    found: list[str] = []
    words = [register_file(tmp_path / name) for name in ("a.mp4", "b.mp4", "a.mp4")]
    asker = threading.Thread(target=lambda: found.append(register_file(tmp_path / "c.mp4")))
    asker.start()
    asker.join()

    assert len({word.split()[0] for word in [*words, *found]}) == 1
    assert [word.split()[1] for word in [*words, *found]] == ["0", "1", "0", "2"]


@pytest.mark.usefixtures("looked_at")
def test_nothing_but_these_files_is_brought(tmp_path: Path) -> None:
    """A row that was never given out is no file."""
    made = Link()
    made.link_file(tmp_path / "a.mp4")

    assert [made._find_path(row, place) for row, place in ((0, 0), (0, 1), (1, 0), (-1, 0))] == [
        str(tmp_path / "a.mp4"), None, None, None,
    ]  # fmt: skip


def test_without_a_page_there_is_no_word(tmp_path: Path) -> None:
    """In a script, and in a notebook that is only executed."""
    assert register_file(tmp_path / "a.mp4") == ""


@pytest.mark.usefixtures("looked_at")
def test_a_figure_asks_for_what_it_shows_a_copy_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for a file that it holds whole; of one that is too large it says where that is."""
    light, heavy = film(tmp_path / "light.mp4"), film(tmp_path / "heavy.mp4", size=(640, 360), noise=12)

    whole, copy = bare(file_figure(light)).one("figure"), bare(file_figure(heavy)).one("figure")
    monkeypatch.setattr(asked, "MAX_ORIGINAL_BYTES", 100_000)
    monkeypatch.setattr(embedding, "MAX_ORIGINAL_BYTES", 100_000)
    page = bare(file_figure(heavy))

    assert "data-rb-original" not in whole
    assert copy["data-rb-original"].endswith(" 0")
    assert copy["data-rb-name"] == "heavy.mp4"
    assert copy["data-rb-preview"] == "480×270"
    assert "data-rb-original" not in page.one("figure")
    assert f"the original of 1.5 MB is {heavy.path.parent.name}/heavy.mp4" in page.text
