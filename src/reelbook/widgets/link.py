"""The link between a page and the kernel: files sent on request, messages and their answers, and all threads of widgets."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import logging
import os
import secrets
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import anywidget
import traitlets

from ..display.embedding import MIME_TYPES
from ..display.formatting import format_size
from ..display.live import Bundle, new_output
from ..display.theme import read_static
from ..errors import ReelbookError
from ..media.bounded_open import is_video
from ..media.frame_index import read_frame_index, read_uneven_times
from ..media.posters import get_poster
from ..media.previews import get_preview, make_preview
from ..sweeps.table_files import get_group, get_ticked, tick
from ..util.notebook import get_kernel_shell
from .json_values import sendable
from .notebook import is_jupyter_server, is_page_attached, keep_page_thread

if TYPE_CHECKING:
    import pandas as pd

    from ..display.plots.plot_html import Plot
    from ..storage.library import Library

log = logging.getLogger("reelbook")

Handler = Callable[[dict[str, Any], list[memoryview]], object]

CHUNK_BYTES = 4_000_000
"""Bytes of one message."""
MAX_BYTES = 100_000_000
LONGEST, MAX_PREVIEW_BYTES = 320, 400_000
"""Pixels and bytes of a preview, which is never saved: more bytes than one in a notebook, for a long clip's sake."""
PREVIEW = "preview"
"""Requested with a key and a place: a small copy of the clip instead of the file."""
POSTER = 320
"""The longest side of a poster, which is requested by it."""
MAX_OPEN = 100
"""Connections of a session; the oldest is closed for a new one."""
EMPTY = {"text/plain": "", "text/html": ""}

file_senders = ThreadPoolExecutor(min(4, os.cpu_count() or 1), thread_name_prefix="reelbook-files")
open_links: deque[Link] = deque()


def parse_want(content: Mapping[str, Any]) -> list[Any] | None:
    """The file that a page asks for: a row, a place, and which copy of it; None if that makes no sense.

    >>> parse_want({"want": [3, 0, "preview"]}), parse_want({"want": ["3", 0]}), parse_want({"want": [3, 0, 320]})
    ([3, 0, 'preview'], None, [3, 0, 320])
    """
    want = content["want"]
    if not isinstance(want, list) or not all(map(_is_number, want[:2])):
        return None
    return want if len(want) == 2 or want[2:] in ([PREVIEW], [POSTER]) else None


def _is_number(value: Any) -> bool:
    return type(value) is int


def make_messages(path: Path, want: list[Any]) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The messages for the file that the page requested as `want`, each with its part of the content.

    The first has the index of a clip, by which the page decodes it. A preview has all frames of its clip, but is small;
    it is sent instead of a clip that browsers do not decode.
    """
    copy = want[2] if len(want) > 2 else None
    if copy == POSTER:
        poster = get_poster(path, longest=POSTER)
        if poster is None:
            raise ReelbookError(f"{path} cannot be read as a clip or a picture.")
        yield {"clip": want, "part": 0, "of": 1, "kind": "image/jpeg"}, poster
        return
    facts: dict[str, Any] = {"kind": MIME_TYPES[path.suffix.lower()]}
    index = read_frame_index(path) if is_video(path) and copy != PREVIEW else None
    content = None
    if is_video(path) and index is None:
        get = make_preview if copy == PREVIEW else get_preview
        content = get(path, longest=LONGEST, max_bytes=MAX_PREVIEW_BYTES)
    if content is not None:
        facts |= {"kind": "video/mp4", "copy": True}
        index = read_frame_index(content)
    if index is not None:
        facts |= {"index": index.to_json(), "times": read_uneven_times(path) if content else ()}
    with io.BytesIO(content) if content is not None else path.open("rb") as file:
        total = len(content) if content is not None else path.stat().st_size
        of = max(1, -(-total // CHUNK_BYTES))
        for number in range(of):
            message = {"clip": want, "part": number, "of": of, **(facts if number == 0 else {})}
            yield message, file.read(CHUNK_BYTES)


def check_file(path: Path, name: str, *, as_preview: bool) -> None:
    """Raise with the reason why a file is not sent, in which it is called `name`. A preview is always small."""
    from ..display.tables.table_html import is_media  # Here, because it brings pandas along.

    try:
        count = path.stat().st_size
    except (OSError, ValueError):
        raise ReelbookError(f"{name} is not there any more. rb.attach downloads it again.") from None
    # A table may be untrusted, and name any file.
    if path.suffix.lower() not in MIME_TYPES or not is_media(str(path)):
        raise ReelbookError(f"{name} cannot be read as a clip or a picture.")
    if count > MAX_BYTES and not (as_preview and is_video(path)):
        raise ReelbookError(f"{name} has {format_size(count)}, too much to play here.")


class Link(anywidget.AnyWidget):
    """A widget and its page: sends the files of its rows, has a function for each message, and threads for what takes time.

    A path from the page is never read: it names a file by its row and place here.
    """

    # The text and not a path: anywidget watches a file, and would keep every widget alive for that.
    _esm = read_static("kernel_link.js")
    key = traitlets.Unicode().tag(sync=True)
    """The random key by which what is displayed requests its files."""
    text = "Brings the clips of the display above; it works while the notebook's kernel runs."
    """What stands in its place on pages without widgets."""
    thread_label = "link"
    """Part of the names of its threads."""
    is_closed = True
    """True until the constructor is done: a widget whose construction fails is closed, too."""
    _own_layout: Any = None

    def setup_instance(self, *args: Any, **traits: Any) -> None:
        """What is there before any constructor: a form has parts that lock it before it is a widget."""
        self.lock = threading.RLock()
        self.handlers: Mapping[str, Handler] = {}
        """The function for each message `{do: name}` of the page."""
        super().setup_instance(*args, **traits)

    def __init__(self, key: str = "", files: Sequence[Sequence[str]] = (), **traits: Any) -> None:
        self.set_files(files)
        self._view: Any = None
        super().__init__(key=key or secrets.token_urlsafe(16), **traits)
        self._own_layout = self.layout
        self.is_closed = False
        self.on_msg(self._on_message)

    def open(self) -> None:
        """Connect it with its page."""
        super().open()
        keep_page_thread(self)

    def set_files(self, files: Sequence[Sequence[str]]) -> None:
        """Replace the files of all rows, for a table that grows."""
        self._files = [tuple(paths) for paths in files]

    def register(self, path: Path) -> int:
        """Add a file as a row of its own, and return its number."""
        with self.lock:
            if (str(path),) not in self._files:
                self._files.append((str(path),))
            return self._files.index((str(path),))

    def link_file(self, path: Path | None) -> str:
        """Add a file, and return the key by which a figure requests it."""
        return "" if path is None else f"{self.key} {self.register(path.absolute())}"

    def send(self, content: Any, buffers: Any = None) -> None:
        """Send a message to the page; does nothing once closed."""
        if not self.is_closed and self.comm is not None:
            super().send(content, buffers)

    def in_background(self, name: str, function: Callable[[], None]) -> None:
        """Call a function in a new thread; an error in it is displayed on the page."""

        def work() -> None:
            try:
                function()
            except Exception as error:
                if not isinstance(error, ReelbookError):
                    log.debug("%s of a %s failed", name, self.thread_label, exc_info=True)
                self.send({"trouble": str(error) or type(error).__name__})

        threading.Thread(target=work, name=f"reelbook-{self.thread_label}-{name}", daemon=True).start()

    def answer(self, content: Mapping[str, Any], make: Callable[[], dict[str, Any]]) -> None:
        """Send the page what `make` returns, its `buffers` beside it, or an `error`, as the answer to its request."""

        def work() -> None:
            try:
                answer = make()
            # Whatever fails, the page waits for an answer.
            except Exception as error:
                answer = {"error": _format_error(error)}
            self.send({"did": content.get("id"), **answer}, answer.pop("buffers", None))

        self.in_background(str(content.get("do")), work)

    def close(self) -> None:
        """Remove it from the page."""
        self.is_closed, self.handlers = True, {}
        # ipywidgets leaves the layout open.
        if self._own_layout is not None:
            self._own_layout.close()
        super().close()

    def bundle(self) -> dict[str, Any]:
        """The MIME bundle for a cell, with a text for pages without widgets."""
        mimebundle = self._repr_mimebundle_()
        return {**(mimebundle[0] if mimebundle else {}), "text/plain": self.text}

    def show_in(self, output: Any) -> None:
        """Display it in an output until the page has loaded it; for front ends that find widgets nowhere else."""
        self._view = output
        output.update(self.bundle(), raw=True)

    def _on_message(self, _: Any, content: Any, buffers: Any) -> None:
        if not isinstance(content, dict):
            return
        if "want" in content:
            if (want := parse_want(content)) is not None:
                # Not in the kernel's thread: a preview takes its time, and several are made at once.
                file_senders.submit(self._send_file, want)
        elif self._view is not None and content == {"here": True}:
            # The page has it now; without a kernel it is useless, so the saved notebook does not contain it.
            self._view.update(EMPTY, raw=True)
            self._view = None
        elif (handle := self.handlers.get(str(content.get("do")))) is not None:
            try:
                # A page can send half of a pair of surrogates, which could not be sent back.
                handle(sendable(content), list(buffers or ()))
            except ReelbookError as error:
                self.send({"trouble": str(error)})

    def _send_file(self, want: list[Any]) -> None:
        """Send what the page has asked for, or the reason why it is not sent."""
        path = self._find_path(want[0], want[1])
        if path is None:
            self.send({"clip": want, "words": "There is no such file here."})
            return
        name = self._get_name(path)
        try:
            check_file(Path(path), name, as_preview=want[2:] == [PREVIEW])
            for message, part in make_messages(Path(path), want):
                self.send(message, [part])
        except ReelbookError as error:
            self.send({"clip": want, "words": str(error).replace(path, name)})
        except OSError:
            self.send({"clip": want, "words": f"{name} is not there any more."})
        # Any other decoder error is a fault of this file.
        except Exception:
            self.send({"clip": want, "words": f"{name} cannot be read as a clip or a picture."})

    def _find_path(self, row: int, place: int) -> str | None:
        if 0 <= row < len(self._files) and 0 <= place < len(self._files[row]):
            return self._files[row][place]
        return None

    def _get_name(self, path: str) -> str:
        """What a file is called in messages to the page."""
        return path


def _format_error(error: Exception) -> str:
    if isinstance(error, ReelbookError):
        return str(error)
    return f"It could not be read ({error!r:.200})."


class TableLink(Link):
    """Sends the files of one table, and ticks its rows. The table is held weakly, because it may be large."""

    selected: Any = traitlets.List().tag(sync=True)
    """The numbers of the rows that are ticked at first."""

    def __init__(self, key: str, table: pd.DataFrame, most: int) -> None:
        """It sends the files of the first rows, `most` at the most."""
        super().__init__(key, selected=list(get_ticked(table)))
        self._most = most
        self.set_table(table)

    def set_table(self, table: pd.DataFrame) -> None:
        """Send the files of this table, and tick its rows."""
        from ..display.tables.table_html import find_files  # Here, because it brings pandas along.

        self._table = weakref.ref(table)
        self.set_files(find_files(table.head(self._most)))

    def _on_message(self, widget: Any, content: Any, buffers: Any) -> None:
        super()._on_message(widget, content, buffers)
        rows = content.get("selected") if isinstance(content, dict) else None
        if isinstance(rows, list) and (table := self._table()) is not None:
            # A page may send anything.
            tick(table, [row for row in {*filter(_is_number, rows)} if 0 <= row < len(self._files)])


class ScriptLink(Link):
    """A form, or a part of a studio, drawn by one of the package's scripts, which a page requests once for all widgets."""

    _esm = read_static("loader.js")
    script_key = traitlets.Unicode().tag(sync=True)
    """The name of the script that draws it."""

    def __init__(self, script: str, **traits: Any) -> None:
        script_key, self._script = pack_script(script)
        super().__init__(script_key=script_key, **traits)

    def _on_message(self, widget: Any, content: Any, buffers: Any) -> None:
        if isinstance(content, dict) and content.get("do") == "script":
            self.send({"script": self.script_key}, [self._script])
        else:
            super()._on_message(widget, content, buffers)


@cache
def pack_script(name: str) -> tuple[str, bytes]:
    """The key and the compressed source of the module that draws a kind of widget, `form` or `studio`."""
    source = f"const STYLE = {json.dumps(read_static(f'{name}.css'))};\n{read_static(f'{name}.js')}"
    # Without a timestamp, so that the same script always has the same key.
    packed = gzip.compress(source.encode(), 9, mtime=0)
    return hashlib.sha256(packed).hexdigest()[:16], packed


class NewestOnly:
    """Works on the newest of several requests in a background thread; one that is overtaken while it waits is dropped."""

    def __init__(self, work: Callable[[Any], None], name: str, *, pause: float = 0.0) -> None:
        """`pause` is how many seconds a request waits for a newer one; `work` may request what comes next."""
        self._work, self._name, self._pause = work, name, pause
        self._changed = threading.Condition()
        self._request: Any = None
        self._at = 0.0
        self._is_busy = False

    def put(self, request: Any) -> None:
        """Work on this soon, in place of what waits."""
        with self._changed:
            self._request, self._at = request, time.monotonic()
            if not self._is_busy:
                self._is_busy = True
                threading.Thread(target=self._run, name=self._name, daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._request is not None and (left := self._at + self._pause - time.monotonic()) > 0:
                    self._changed.wait(left)
                request, self._request = self._request, None
                if request is None:
                    self._is_busy = False
                    return
            try:
                self._work(request)
            except Exception:
                log.debug("%s failed", self._name, exc_info=True)
            # Not kept while the next request is awaited.
            del request


def keep_open(link: Any) -> Any:
    """Keep a connection open; the oldest of many is closed."""
    open_links.append(link)
    if len(open_links) > MAX_OPEN:
        open_links.popleft().close()
    return link


def show_link(link: Link) -> None:
    """Keep the connection of a display in this cell open, and show it to pages that find widgets nowhere else."""
    keep_open(link)
    if not is_jupyter_server():
        link.show_in(new_output(EMPTY))


class View(NamedTuple):
    """What a cell shows of a value, and the connection with which it works; None where there is nothing to send."""

    bundle: Bundle
    connect: Callable[[], Link] | None


def show_view(make: Callable[[Any, str], View], value: Any) -> None:
    """Display the view that is made of a value and a key, connected with the kernel where the cell runs on a page."""
    key = secrets.token_urlsafe(16) if is_page_attached() else ""
    view = make(value, key)
    new_output(view.bundle)
    if key and view.connect is not None:
        show_link(view.connect())


def view_table(reel: Any, key: str) -> View:
    """A table with its pictures, and the connection by which its clips come."""
    from ..display.tables.table_html import table_bundle  # Here, because it brings pandas along.

    return _view_rows(reel.table, key, table_bundle(reel.table, key=key, group=get_group(reel.table)))


def view_library(library: Library, key: str) -> View:
    """A library with the table of its last runs, and the connection by which their clips come."""
    from ..display.cards import library_card

    last = library.latest().iloc[::-1]
    bundle = {"text/plain": repr(library), "text/html": library_card(library, last, key)}
    return _view_rows(last, key, bundle)


def view_plot(plot: Plot, key: str) -> View:
    """A plot, and the connection by which what is selected in it ticks rows of its table."""
    from ..display.plots.plot_html import plot_bundle  # Here, because it brings matplotlib along.

    return _view_rows(plot.table, key, plot_bundle(plot, key=key, group=get_group(plot.table)))


def _view_rows(table: pd.DataFrame, key: str, bundle: Bundle) -> View:
    from ..display.tables.table_html import MAX_ROWS

    return View(bundle, (lambda: TableLink(key, table, MAX_ROWS)) if len(table) else None)


def register_file(path: Path | None) -> str:
    """Register a file, and return the key by which a figure requests it, or "" without a page; None only connects."""
    shell = get_kernel_shell()
    if shell is None:
        return ""
    cell = None if is_jupyter_server() else shell.execution_count
    if cell not in _figure_links:
        # Only the main thread knows the page of its cell.
        if threading.current_thread() is not threading.main_thread() or not is_page_attached():
            return ""
        _figure_links.clear()
        _figure_links[cell] = link = Link()
        if cell is not None:
            show_link(link)
    return _figure_links[cell].link_file(path)


_figure_links: dict[int | None, Link] = {}
"""The connection for figures: of the session, by None, or of the newest cell, by its number."""
