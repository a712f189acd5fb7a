"""The connection of an explorer, spoken to without a page: it follows, saves and sends, and takes no path from it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reelbook.media.local_file import Explorer
from reelbook.widgets import link as link_module
from reelbook.widgets.explorer_link import ExplorerLink, view_explorer
from reelbook.widgets.link import show_view
from tests.clips import at, film, number_of


class Linked:
    """An explorer with a connection whose messages are collected."""

    def __init__(self, explorer: Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.explorer, self.link = explorer, ExplorerLink("a key", explorer)
        self.sent: list[tuple[dict[str, Any], list[bytes]]] = []
        monkeypatch.setattr(self.link, "_send", self._collect)

    def _collect(self, message: dict[str, Any], buffers: Any = None) -> None:
        if message["method"] == "custom":
            self.sent.append((message["content"], buffers or []))

    def ask(self, **message: Any) -> tuple[dict[str, Any], list[bytes]]:
        """The answer to a message of the page."""
        self.link._handle_custom_msg({"id": "7", **message}, [])
        for thread in threading.enumerate():
            if thread.name == f"reelbook-explorer-{message['do']}":
                thread.join()
        return self.sent[-1]


@pytest.fixture
def linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Linked]:
    """One of a clip of 25 frames, in the folder of its notebook."""
    monkeypatch.chdir(tmp_path)
    made = Linked(film(tmp_path / "boat.mp4").explore(), monkeypatch)
    yield made
    made.link.close()


def test_files_are_of_the_frames_that_the_page_names(linked: Linked) -> None:
    """Each message has frame and range, so that none is saved of a moment before; the answer says where it is."""
    still, _ = linked.ask(do="still", frame=9, range=None)
    clip, _ = linked.ask(do="clip", frame=9, range=[4, 6])
    gif, _ = linked.ask(do="gif", frame=9, range=[4, 6])

    assert [told["path"] for told in (still, clip, gif)] == [
        str(Path("saved", f"boat_{part}"))
        for part in ("frame-10-of-25.png", "frames-5-7-of-25.mp4", "frames-5-7-of-25.gif")
    ]
    assert still["did"] == "7"
    assert [number_of(frame) for frame in at(Path(clip["path"])).frames()] == [4, 5, 6]


def test_code_names_the_variable(linked: Linked, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the notebook has it; else the code says a name to be given."""
    names: dict[str, Any] = {}
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(user_ns=names))
    nameless, _ = linked.ask(do="use", frame=3, range=None)
    names["boat"] = linked.explorer

    named, _ = linked.ask(do="use", frame=3, range=None)

    assert (nameless["name"], nameless["frame"]) == ("", 3)
    assert named["code"] == 'rb.ImageToVideo(image_url=boat.image, prompt="…")'


def test_what_no_page_of_ours_sends_does_nothing(linked: Linked) -> None:
    """Numbers and actions that there are not; no path is read from a message."""
    for message in (
        {"do": "still", "frame": 99, "range": None}, {"do": "still", "frame": "1", "range": None},
        {"do": "clip", "frame": 1, "range": "ab"}, {"do": "clip", "frame": 1, "range": [1]},
        {"do": "clip", "frame": 1, "range": {}}, {"do": "delete", "frame": 1, "range": None}, {"do": ["still"]},
    ):  # fmt: skip
        linked.link._handle_custom_msg(message, [])

    assert linked.explorer.saved == []
    assert not Path("saved").exists()


def test_errors_are_sentences_for_the_page(linked: Linked) -> None:
    """A file that is gone, a range of one frame, a folder that is a file."""
    Path("saved").write_text("mine")
    in_the_way, _ = linked.ask(do="still", frame=1, range=None)
    alone, _ = linked.ask(do="clip", frame=1, range=[4, 4])
    linked.explorer.file.path.unlink()
    gone, _ = linked.ask(do="clip", frame=1, range=[4, 6])

    assert "could not be saved to saved" in in_the_way["error"]
    assert "frame 4 alone" in alone["error"]
    assert "boat.mp4" in gone["error"]
    assert Path("saved").read_text() == "mine"


def test_python_moves_the_page(linked: Linked) -> None:
    """Also after the connection of an earlier display has gone."""
    linked.explorer.frame = 5
    linked.explorer.range = (2, 8)

    assert linked.sent[-1][0] == {"told": {"frame": 5, "range": (2, 8)}}
    linked.link.close()
    linked.explorer.frame = 6
    assert len(linked.sent) == 2


def test_where_nobody_looks_there_is_no_connection(
    linked: Linked, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A notebook that is only executed has the stills alone; a page has both."""
    displayed: list[dict[str, Any]] = []
    monkeypatch.setattr(link_module, "new_output", displayed.append)
    monkeypatch.setattr(link_module, "is_jupyter_server", lambda: True)
    link_module.open_links.clear()

    show_view(view_explorer, linked.explorer)
    assert len(link_module.open_links) == 0
    monkeypatch.setattr(link_module, "is_page_attached", lambda: True)
    show_view(view_explorer, linked.explorer)

    assert 'data-key=""' in displayed[0]["text/html"]
    (link,) = link_module.open_links
    assert f'data-key="{link.key}"' in displayed[1]["text/html"]
    assert displayed[0]["text/plain"] == "<explorer of boat.mp4: frame 0 of 0 to 24>"
    link.close()
