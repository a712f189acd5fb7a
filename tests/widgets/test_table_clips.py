"""The courier of a table's clips, spoken to without a page: it brings the files of its table, whole, and nothing else."""

from __future__ import annotations

import gc
import queue
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell

import reelbook as rb
from reelbook.api.table_accessor import Reel
from reelbook.media.frame_index import read_frame_index
from reelbook.util import notebook
from reelbook.widgets import link, register
from reelbook.widgets.link import MAX_OPEN, Link, show_view, view_table
from reelbook.widgets.notebook import is_page_attached
from tests.clips import film
from tests.faults.standin import StandIn
from tests.numbered import kind_of, numbered_clip
from tests.widgets.at_once import AtOnce

Sent = list[tuple[dict[str, Any], bytes]]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clip of a few thousand bytes."""
    return film(tmp_path_factory.mktemp("films") / "clip.mp4", frames=6, size=(320, 180), noise=30).path


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Sent]:
    """Asks a courier of these files for something, and tells what it sent."""

    def ask(files: list[list[str]], message: Any) -> Sent:
        sent: Sent = []
        made = Link("a word", files)
        monkeypatch.setattr(link, "file_senders", AtOnce())
        monkeypatch.setattr(
            made, "send", lambda said, buffers=None: sent.append((said, bytes(buffers[0]) if buffers else b""))
        )
        made._handle_custom_msg(message, [])
        made.close()
        return sent

    return ask


def test_a_clip_that_browsers_do_not_decode_comes_as_a_preview(brought: Callable[..., Sent], tmp_path: Path) -> None:
    """With all its frames, and an index."""
    kind = kind_of("HEVC")

    sent = brought([[str(numbered_clip(tmp_path, kind))]], {"want": [0, 0]})

    index = read_frame_index(b"".join(part for _, part in sent))
    assert index is not None
    assert index.frames == kind.frames
    assert sent[0][0]["index"] == index.to_json()
    assert sent[0][0]["copy"]


def test_a_file_comes_in_parts(brought: Callable[..., Sent], clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, each small enough for a message, with the kind of the file; together they are the file."""
    monkeypatch.setattr(link, "CHUNK_BYTES", 1_000)

    sent = brought([[], ["nothing.mp4", str(clip)]], {"want": [1, 1]})

    assert len(sent) > 2
    assert b"".join(part for _, part in sent) == clip.read_bytes()
    assert max(len(part) for _, part in sent) <= 1_000
    first = {name: sent[0][0].pop(name) for name in ("kind", "index", "times")}
    assert [said for said, _ in sent] == [
        {"clip": [1, 1], "part": number, "of": len(sent)} for number in range(len(sent))
    ]
    assert first["kind"] == "video/mp4"
    assert first["index"]["codec"].startswith("avc1.")
    assert sum(first["index"]["lengths"]) < clip.stat().st_size


@pytest.mark.parametrize("want", [[0, 1], [2, 0], [-1, 0], [0, -1], [10**30, 0]])
def test_what_the_table_does_not_have_is_not_brought(brought: Callable[..., Sent], clip: Path, want: list[int]) -> None:
    """A place beyond the table is answered with words."""
    assert brought([[str(clip)]], {"want": want}) == [({"clip": want, "words": "There is no such file here."}, b"")]


@pytest.mark.parametrize(
    "message",
    [None, 1, "x", [], {}, {"want": None}, {"want": ["0", "0"]}, {"want": [0]}, {"want": [True, 0]}, {"want": [0.0, 0]}, {"want": ["/etc/passwd", 0]}, {"path": "x"}],
)  # fmt: skip
def test_a_message_that_makes_no_sense_is_not_answered(brought: Callable[..., Sent], clip: Path, message: Any) -> None:
    """Nothing is sent, and nothing breaks."""
    assert brought([[str(clip)]], message) == []


def test_a_file_that_is_no_clip_is_not_brought(brought: Callable[..., Sent], tmp_path: Path) -> None:
    """A table may name any file of this machine: one that is not a clip or a picture in truth stays where it is."""
    names = ["id_rsa", "id.mp4", "id.png", "id.svg"]
    for name in names:
        (tmp_path / name).write_text("secret")
    paths = [*(str(tmp_path / name) for name in names), "/dev/zero", str(tmp_path), str(tmp_path / "gone.mp4"), "\0"]

    answers = [brought([[path]], {"want": [0, 0]}) for path in paths]

    assert all(len(sent) == 1 and sent[0][1] == b"" for sent in answers)
    words = [sent[0][0]["words"] for sent in answers]
    assert words[0] == f"{paths[0]} cannot be read as a clip or a picture."
    assert "rb.attach" in words[-2]


def test_a_file_that_is_too_large_is_named(
    brought: Callable[..., Sent], clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says where the file is, and how large."""
    monkeypatch.setattr(link, "MAX_BYTES", 100)

    ((said, content),) = brought([[str(clip)]], {"want": [0, 0]})

    assert said["words"].startswith(f"{clip} has ")
    assert content == b""


def test_a_file_that_goes_while_it_is_brought_is_told(
    brought: Callable[..., Sent], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was there a moment ago: words, instead of a page that waits."""
    (gone := tmp_path / "clip.mp4").touch()

    def is_media(path: str) -> bool:
        gone.unlink()
        return True

    monkeypatch.setattr("reelbook.display.tables.table_html.is_media", is_media)

    ((said, content),) = brought([[str(gone)]], {"want": [0, 0]})

    assert said["words"] == f"{gone} is not there any more."
    assert content == b""


def test_it_holds_nothing_but_its_word(clip: Path) -> None:
    """No path and no bytes are in the state that a notebook may save; its script is small."""
    made = Link("a word", [[str(clip)]])

    state = made.get_state()
    made.close()

    assert state["key"] == "a word"
    assert str(clip) not in str(state)
    assert len(str(state)) < 7_000


class Cell:
    """A stand-in for a kernel whose cell runs, and a record of what was shown."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, metadata: dict[str, Any]) -> None:
        self.shown: list[dict[str, Any]] = []
        parent = {"header": {}, "metadata": metadata}
        shell = SimpleNamespace(kernel=SimpleNamespace(get_parent=lambda channel: parent))
        monkeypatch.setattr(notebook, "get_kernel_shell", lambda: shell)
        monkeypatch.setattr(link, "new_output", self.display)
        link.open_links.clear()

    def display(self, bundle: dict[str, Any], **_: Any) -> Any:
        self.shown.append(bundle)
        place = len(self.shown) - 1
        return SimpleNamespace(update=lambda new, **_: self.shown.__setitem__(place, new))


def reel(*paths: str) -> Reel:
    return Reel(pd.DataFrame({"output_video": list(paths), "status": "completed"}))


def test_a_table_is_one_output_on_a_jupyter_page(monkeypatch: pytest.MonkeyPatch, clip: Path) -> None:
    """Page and line, and nothing of a widget; the courier listens to the word that the table asks by."""
    monkeypatch.setenv("JPY_SESSION_NAME", "book.ipynb")
    cell = Cell(monkeypatch, {"cellId": "1"})

    show_view(view_table, reel(str(clip)))

    (made,) = link.open_links
    (shown,) = cell.shown
    assert sorted(shown) == ["text/html", "text/plain"]
    assert f'"key":"{made.key}"' in shown["text/html"]
    assert len(made.key) >= 20


def test_elsewhere_the_courier_is_shown_until_the_page_has_it(monkeypatch: pytest.MonkeyPatch, clip: Path) -> None:
    """Pages that look for widgets in outputs only get a second one; once the page has it, nothing of it is left there."""
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    cell = Cell(monkeypatch, {"cellId": "1"})

    show_view(view_table, reel(str(clip)))
    before = dict(cell.shown[1])
    link.open_links[0]._handle_custom_msg({"here": True}, [])

    assert "application/vnd.jupyter.widget-view+json" in before
    assert before["text/plain"] == Link.text
    assert cell.shown[1] == {"text/plain": "", "text/html": ""}


@pytest.mark.parametrize("paths", [["clip.mp4"], []])
def test_an_executed_notebook_gets_no_widget(monkeypatch: pytest.MonkeyPatch, paths: list[str]) -> None:
    """Where nobody looks, as in nbclient and papermill, and where there is no file, there is only the table."""
    cell = Cell(monkeypatch, {} if paths else {"cellId": "1"})

    show_view(view_table, reel(*paths))

    assert len(cell.shown) == 1
    assert not link.open_links


def test_outside_a_kernel_nobody_looks() -> None:
    """In a script or a terminal there is no page."""
    assert not is_page_attached()


def test_only_the_latest_tables_are_served(monkeypatch: pytest.MonkeyPatch, clip: Path) -> None:
    """A cell may be run a hundred times: the oldest connections are closed."""
    monkeypatch.setenv("JPY_SESSION_NAME", "book.ipynb")
    Cell(monkeypatch, {"cellId": "1"})
    show_view(view_table, reel(str(clip)))
    first = link.open_links[0]

    for _ in range(MAX_OPEN):
        show_view(view_table, reel(str(clip)))

    assert len(link.open_links) == MAX_OPEN
    assert first not in link.open_links
    assert first.comm is None


def test_a_closed_sender_can_go() -> None:
    """Nothing holds it: a notebook that shows tables all day must not keep them all."""
    sender = Link("key", [["clip.mp4"]])
    gone = weakref.ref(sender)

    sender.close()
    del sender
    gc.collect()

    assert gone() is None


RESULTS = {"status": ["completed"] * 2, "credits": [53, 53], "request_id": ["a", "b"], "input_json": ["{}", "{}"]}


@pytest.mark.parametrize("shape", ["results", "some rows", "without attributes", "some columns", "another table"])
def test_a_table_of_results_shows_itself_with_pictures(monkeypatch: pytest.MonkeyPatch, clip: Path, shape: str) -> None:
    """As `table.reel` does; what its user took apart, and any other table, looks as pandas draws it."""
    cell = Cell(monkeypatch, {})
    shell: Any = InteractiveShell()  # type: ignore[no-untyped-call]  # IPython is untyped here
    shell.kernel = object()
    register(shell)
    table = pd.DataFrame({"output_video": [str(clip)] * 2, **RESULTS})
    table.attrs["reelbook"] = {"library": str(clip.parent)}
    shown = {
        "results": table, "some rows": table[table.index > 0], "without attributes": pd.DataFrame(table.to_dict()),
        "some columns": table[["status", "credits"]], "another table": pd.DataFrame({"a": [1]}),
    }[shape]  # fmt: skip

    formats, _ = shell.display_formatter.format(shown)

    if shape in ("results", "some rows"):
        assert formats == {}
        assert "data-rb-table" in cell.shown[0]["text/html"]
        assert cell.shown[0]["text/html"].count("<img") == len(shown)
    else:
        assert cell.shown == []
        assert "dataframe" in formats["text/html"]


def test_a_grid_of_a_sweep_that_ended_before_it_was_displayed_has_all_clips(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Between its making and its display anything may happen, on a busy machine."""
    told: queue.SimpleQueue[Any] = queue.SimpleQueue()
    monkeypatch.setattr(Link, "send", lambda _, message, buffers=None: told.put(message))
    with StandIn() as hosted, rb.connect(hosted.base_url, api_key="k", library=tmp_path):
        job = rb.sweep(rb.TextToVideo(prompt="a boat"), seed=[1, 2]).start(budget=106)
        grid = job.grid()
        job.wait(60)
        sender = grid.view().connect()
        cells = told.get(timeout=60)["cells"]
        sender.close()

    assert [cell["row"] for cell in cells] == [0, 1]
    assert all("data-rb-clip" in cell["html"] for cell in cells)
