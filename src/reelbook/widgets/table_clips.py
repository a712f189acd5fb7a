"""Clips of a displayed table: sent from the kernel one at a time on request, and never saved."""

from __future__ import annotations

import os
import secrets
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets
from IPython.display import display

from ..display.tables.table_html import MAX_ROWS, table_bundle
from ..display.tables.table_media import find_files, is_media
from ..display.theme import read_static
from ..errors import ReelbookError
from ..sweeps.table_files import get_group, get_ticked, tick
from ..util.notebook import get_kernel_shell
from .notebook import is_jupyter_server, is_page_attached
from .send_file import find_refusal, make_messages

if TYPE_CHECKING:
    import pandas as pd

    from ..api.table_accessor import Reel
    from ..display.plots.plot_html import Plot

TEXT = "Brings the clips of the table above; it works while the notebook's kernel runs."
PREVIEW = "preview"
"""Requested with a row and a place: a small copy of the clip instead of the file."""
FOLDER = "picked"
"""The folder of exported files."""
MAX_SENDERS = 32
"""Tables of a session whose clips can be fetched, and cells whose figures can; each has its own connection."""


class TableFileSender(anywidget.AnyWidget):
    """Sends the files of one table. The page identifies them by row and position; its paths are never read."""

    # The text and not a path: anywidget watches a file, and would keep every sender alive for that.
    _esm = read_static("kernel_link.js")
    key = traitlets.Unicode().tag(sync=True)
    """The random key that the table's requests carry."""
    selected: Any = traitlets.List().tag(sync=True)
    """The numbers of the ticked rows."""

    def __init__(
        self,
        key: str,
        files: Sequence[Sequence[str]],
        *,
        selected: Sequence[int] = (),
        select: Callable[[Sequence[int]], None] = lambda _: None,
    ) -> None:
        """`select` is called with the numbers of the ticked rows."""
        super().__init__(key=key, selected=list(selected))
        self._select = select
        self.selected_rows: tuple[int, ...] = tuple(selected)
        self.table_ref: weakref.ref[pd.DataFrame] | None = None
        """The table whose rows these are."""
        self.set_files(files)
        self._view: Any = None
        self.on_msg(self._on_message)

    def set_files(self, files: Sequence[Sequence[str]]) -> None:
        """Replace the files of all rows, for a table that grows."""
        self._files = tuple(map(tuple, files))

    def _on_message(self, _: Any, content: Any, __: Any) -> None:
        # Possibly on another thread: this reads only what does not change, and sends.
        want = content.get("want") if isinstance(content, dict) else None
        if isinstance(want, list) and [type(part) for part in want[:2]] == [int, int] and want[2:] in ([], [PREVIEW]):
            # Not in the kernel's thread: a preview takes its time, and several are made at once.
            _previews.submit(self._send_file, want) if want[2:] else self._send_file(want)
        elif isinstance(content, dict) and isinstance(content.get("selected"), list):
            self._select_rows(content["selected"])
        elif isinstance(content, dict) and isinstance(content.get("export"), list):
            self._export(self._keep_valid(content["export"]))
        elif self._view is not None and content == {"here": True}:
            # The page has it now; without a kernel it is useless, so the saved notebook does not contain it.
            self._view.update({"text/plain": "", "text/html": ""}, raw=True)
            self._view = None

    def _select_rows(self, rows: list[Any]) -> None:
        self.selected_rows = tuple(self._keep_valid(rows))
        self._select(self.selected_rows)

    def _keep_valid(self, rows: list[Any]) -> list[int]:
        """The rows that the table has, because a page may send anything."""
        return sorted({row for row in rows if type(row) is int and 0 <= row < len(self._files)})

    def _export(self, rows: Sequence[int]) -> None:
        """Copy the files of some rows into a new folder next to the notebook, and say where they are."""
        table = self.table_ref() if self.table_ref is not None else None
        if table is None or not rows:
            return
        try:
            words = f"Copied to {export_rows(table, rows)}"
        except (OSError, ReelbookError) as error:
            words = str(error)
        self.send({"said": words})

    def _send_file(self, want: list[Any]) -> None:
        path = self._find_path(want[0], want[1])
        as_preview = PREVIEW in want
        reason = "There is no such file in this table."
        if path is not None:
            reason = find_refusal(Path(path), self._get_name(path), as_preview=as_preview)
        try:
            # A table may be untrusted, and name any file.
            if path is not None and not reason and is_media(path):
                for message, part in make_messages(Path(path), want, as_preview=as_preview):
                    self.send(message, buffers=[part])
                return
        except (OSError, ReelbookError) as error:
            name = self._get_name(str(path))
            reason = (
                f"{name} is not there any more." if isinstance(error, OSError) else str(error).replace(str(path), name)
            )
        self.send(
            {"clip": want, "words": reason or f"{self._get_name(str(path))} cannot be read as a clip or a picture."}
        )

    def _get_name(self, path: str) -> str:
        """What a file is called in messages to the page."""
        return path

    def _find_path(self, row: int, place: int) -> str | None:
        if 0 <= row < len(self._files) and 0 <= place < len(self._files[row]):
            return self._files[row][place]
        return None

    def show(self) -> None:
        """Display it in the cell until the page has loaded it; for front ends that find widgets nowhere else."""
        self._view = display(self._make_bundle(), raw=True, display_id=True)  # type: ignore[no-untyped-call]  # IPython is untyped here

    def show_in(self, output: Any) -> None:
        """The same in an output that the cell has already, so that it may happen after the cell has ended."""
        self._view = output
        output.update(self._make_bundle(), raw=True)

    def _make_bundle(self) -> dict[str, Any]:
        mimebundle = self._repr_mimebundle_()
        return {**(mimebundle[0] if mimebundle else {}), "text/plain": TEXT}


def show_table(reel: Reel) -> None:
    """Display a table with its pictures as the value of a cell; its clips are sent by the kernel."""
    table = reel.table
    show_with_files(table, lambda key: table_bundle(table, key=key, group=get_group(table)))


def show_plot(plot: Plot) -> None:
    """Display a plot as the value of a cell; its clips are sent by the kernel, and its selection ticks rows of the table."""
    from ..display.plots.plot_html import plot_bundle

    table = plot.table
    show_with_files(table, lambda key: plot_bundle(plot, key=key, group=get_group(table)))


def show_with_files(table: pd.DataFrame, make_bundle: Callable[[str], dict[str, Any]]) -> None:
    """Display what shows the rows of a table, and connect it with the table's files and ticks by a random key."""
    key = secrets.token_urlsafe(16)
    display(make_bundle(key), raw=True)  # type: ignore[no-untyped-call]  # IPython is untyped here
    open_sender(key, find_files(table.head(MAX_ROWS)), table)


def open_sender(key: str, files: Sequence[Sequence[str]], table: pd.DataFrame) -> TableFileSender | None:
    """Connect a display of a table with the kernel, if the cell runs on a page; its ticks are those of the table."""
    if not len(table) or not is_page_attached():
        return None
    sender = make_sender(key, files, table)
    _open_senders.append(sender)
    if len(_open_senders) > MAX_SENDERS:
        _open_senders.popleft().close()
    if not is_jupyter_server():
        sender.show()
    return sender


def make_sender(key: str, files: Sequence[Sequence[str]], table: pd.DataFrame) -> TableFileSender:
    """A sender of a table's files, which ticks its rows. The table is held weakly, because it may be large."""
    table_ref = weakref.ref(table)

    def select(rows: Sequence[int]) -> None:
        if (table := table_ref()) is not None:
            tick(table, rows)

    sender = TableFileSender(key, files, selected=get_ticked(table), select=select)
    sender.table_ref = table_ref
    return sender


# The rows that were chosen on a page, in a folder that is not there yet.


def export_rows(table: pd.DataFrame, rows: pd.DataFrame | Iterable[int], folder: str | Path = FOLDER) -> Path:
    """Write the files of these rows, with their tables, into a new folder; returns its path.

    `rows` are rows of the table, or their positions in it. If the folder is there and holds anything, a number is added
    to its name, so that nothing is written over or mixed.
    """
    import pandas as pd

    chosen: Any = rows if isinstance(rows, pd.DataFrame) else table.iloc[sorted(set(rows))]
    if not len(chosen):
        raise ReelbookError("No row is chosen, so there is nothing to export. Choose some, and export again.")
    return Path(table.reel.export(_find_free_folder(Path(folder).expanduser()), chosen))


def _find_free_folder(folder: Path) -> Path:
    """The folder, or the first with a number after its name that is not there or empty."""
    number, found = 1, folder
    while _is_taken(found):
        number += 1
        found = folder.with_name(f"{folder.name}-{number}")
    return found


def _is_taken(folder: Path) -> bool:
    try:
        return folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    except OSError:
        return True


# The original files of figures, over one connection for the session.


class FigureFileSender(TableFileSender):
    """Sends the files of figures, one row for each. A path from the page is never read."""

    def __init__(self) -> None:
        super().__init__(secrets.token_urlsafe(16), ())
        self._paths: list[str] = []
        self._guard = threading.Lock()

    def register_path(self, path: Path) -> str:
        """Add a file, and return the key with which its figure requests it."""
        with self._guard:
            if str(path) not in self._paths:
                self._paths.append(str(path))
            return f"{self.key} {self._paths.index(str(path))}"

    def _find_path(self, row: int, place: int) -> str | None:
        return self._paths[row] if 0 <= row < len(self._paths) and place == 0 else None


def register_file(path: Path | None) -> str:
    """Register a file, and return the key by which a figure requests it, or "" without a page; None only connects."""
    shell = get_kernel_shell()
    if shell is None:
        return ""
    cell = 0 if is_jupyter_server() else shell.execution_count
    if not (_figure_senders and _figure_senders[-1][0] == cell):
        # Only the main thread knows the page of its cell.
        if threading.current_thread() is not threading.main_thread() or not is_page_attached():
            return ""
        sender = FigureFileSender()
        _figure_senders.append((cell, sender))
        if len(_figure_senders) > MAX_SENDERS:
            _figure_senders.popleft()[1].close()
        if not is_jupyter_server():
            sender.show()
    return "" if path is None else _figure_senders[-1][1].register_path(path.absolute())


_open_senders: deque[TableFileSender] = deque()
_previews = ThreadPoolExecutor(min(4, os.cpu_count() or 1), thread_name_prefix="reelbook-previews")
_figure_senders: deque[tuple[int, Any]] = deque()
