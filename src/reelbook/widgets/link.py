"""The link between a page and the kernel: files sent on request, ticked rows, and connections that stay open."""

from __future__ import annotations

import io
import logging
import os
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import anywidget
import traitlets
from IPython.display import display

from ..display.embedding import MIME_TYPES
from ..display.formatting import format_size
from ..display.theme import read_static
from ..errors import ReelbookError
from ..media.bounded_open import is_video
from ..media.frame_index import read_frame_index, read_uneven_times
from ..media.posters import get_poster, make_thumbnail
from ..media.previews import get_preview, make_preview
from ..util.notebook import get_kernel_shell
from .notebook import is_jupyter_server, is_page_attached

log = logging.getLogger("reelbook")

Send = Callable[[dict[str, Any], "list[bytes] | None"], object]
Link = TypeVar("Link", bound="TableFileSender")

CHUNK_BYTES = 4_000_000
"""Bytes of one message."""
MAX_BYTES = 100_000_000
LONGEST, MAX_PREVIEW_BYTES = 320, 400_000
"""Pixels and bytes of a preview, which is never saved: more bytes than one in a notebook, for a long clip's sake."""
PREVIEW = "preview"
"""Requested with a key and a place: a small copy of the clip instead of the file."""
SMALL, POSTERS = (192, 108), (0, 320, 640)
"""The box of a small poster; the longest sides of posters that can be requested, where 0 is a small one."""
MAX_OPEN = 100
"""Connections of a session; the oldest is closed for a new one."""
TEXT = "Brings the clips of the table above; it works while the notebook's kernel runs."

file_senders = ThreadPoolExecutor(min(4, os.cpu_count() or 1), thread_name_prefix="reelbook-files")
open_links: deque[TableFileSender] = deque()


def parse_want(content: Any, kind: type) -> list[Any] | None:
    """The file that a page asks for: a key of this kind, a place, and which copy of it; None if that makes no sense.

    >>> parse_want({"want": [3, 0, "preview"]}, int), parse_want({"want": ["3", 0]}, int), parse_want({"want": ["r1", 0, 640]}, str)
    ([3, 0, 'preview'], None, ['r1', 0, 640])
    """
    want = content.get("want") if isinstance(content, dict) else None
    if not isinstance(want, list) or [type(part) for part in want[:2]] != [kind, int]:
        return None
    copies = (PREVIEW, *POSTERS)
    return want if len(want) == 2 or (len(want) == 3 and type(want[2]) in (int, str) and want[2] in copies) else None


def send_file(send: Send, want: list[Any], path: str | Path | None, *, name: str, unknown: str) -> None:
    """Send what a page has asked for, or the reason why it is not sent, in which the file is called `name`.

    The page identifies a file by a key and a place; its paths are never read.
    """
    from ..display.tables.table_media import is_media  # Here, because it brings pandas along.

    copy = want[2] if len(want) > 2 else None
    reason = unknown if path is None else find_refusal(Path(path), name, as_preview=copy == PREVIEW)
    try:
        # A table may be untrusted, and name any file.
        if path is not None and not reason and is_media(str(path)):
            for message, part in make_messages(Path(path), want):
                send(message, [part])
            return
    except (OSError, ReelbookError) as error:
        reason = f"{name} is not there any more." if isinstance(error, OSError) else str(error).replace(str(path), name)
    # Any other decoder error is a fault of this file.
    except Exception:
        reason = ""
    send({"clip": want, "words": reason or f"{name} cannot be read as a clip or a picture."}, None)


def make_messages(path: Path, want: list[Any]) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The messages for the file that the page requested as `want`, each with its part of the content.

    The first has the index of a clip, by which the page decodes it. A preview has all frames of its clip, but is small;
    it is sent instead of a clip that browsers do not decode.
    """
    copy = want[2] if len(want) > 2 else None
    if copy in POSTERS and copy is not None:
        poster = get_poster(path, longest=copy) if copy else make_thumbnail(path, *SMALL)
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
        facts["kind"], index = "video/mp4", read_frame_index(content)
    if index is not None:
        facts |= {"index": index.to_json(), "times": read_uneven_times(path) if content else ()}
    with io.BytesIO(content) if content is not None else path.open("rb") as file:
        total = len(content) if content is not None else path.stat().st_size
        of = max(1, -(-total // CHUNK_BYTES))
        for number in range(of):
            message = {"clip": want, "part": number, "of": of, **(facts if number == 0 else {})}
            yield message, file.read(CHUNK_BYTES)


def find_refusal(path: Path, name: str, *, as_preview: bool = False) -> str:
    """The reason why a file is not sent, in which it is called `name`; empty if it is sent. A preview is always small."""
    try:
        count = path.stat().st_size
    except (OSError, ValueError):
        return f"{name} is not there any more. rb.attach downloads it again."
    if path.suffix.lower() not in MIME_TYPES:
        return f"{name} cannot be read as a clip or a picture."
    return (
        f"{name} has {format_size(count)}, too much to play here."
        if count > MAX_BYTES and not (as_preview and is_video(path))
        else ""
    )


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
        self.set_files(files)
        self._view: Any = None
        self.on_msg(self._on_message)

    def set_files(self, files: Sequence[Sequence[str]]) -> None:
        """Replace the files of all rows, for a table that grows."""
        self._files = tuple(map(tuple, files))

    def _on_message(self, _: Any, content: Any, __: Any) -> None:
        # Possibly on another thread: this reads only what does not change, and sends.
        want = parse_want(content, int)
        if want is not None:
            # Not in the kernel's thread: a preview takes its time, and several are made at once.
            file_senders.submit(self._send_file, want) if want[2:] else self._send_file(want)
        elif isinstance(content, dict) and isinstance(content.get("selected"), list):
            self._select_rows(content["selected"])
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

    def _send_file(self, want: list[Any]) -> None:
        path = self._find_path(want[0], want[1])
        send_file(
            self.send, want, path, name=self._get_name(path or ""), unknown="There is no such file in this table."
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


class FileRows:
    """The files that one page may request, by a random key and the number of a row. A path from the page is never read."""

    def __init__(self, key: str = "") -> None:
        self.key = key or secrets.token_urlsafe(16)
        self._paths: list[str] = []
        self._guard = threading.Lock()

    def register(self, path: Path) -> int:
        """Add a file, and return its row."""
        with self._guard:
            if str(path) not in self._paths:
                self._paths.append(str(path))
            return self._paths.index(str(path))

    def link(self, path: Path | None) -> str:
        """Add a file, and return the key by which a figure requests it."""
        return "" if path is None else f"{self.key} {self.register(path.absolute())}"

    def find(self, row: int, place: int) -> str | None:
        """The path of a row."""
        return self._paths[row] if 0 <= row < len(self._paths) and place == 0 else None

    def answer(self, widget: Any, content: Any) -> None:
        """Send a widget's page what it wants, in the background: `{want: [row, 0, copy?]}`."""
        if (want := parse_want(content, int)) is not None:
            path, unknown = self.find(want[0], want[1]), "There is no such file here."
            file_senders.submit(send_file, widget.send, want, path, name=f"The file {path}", unknown=unknown)


class NewestOnly:
    """Works on the newest of several requests in a background thread; one that is overtaken while it waits is dropped."""

    def __init__(self, work: Callable[[Any], None], name: str, *, pause: Callable[[], float] = lambda: 0.0) -> None:
        """`pause` is how many seconds a request waits for a newer one."""
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

    def close(self) -> None:
        """Drop what waits."""
        with self._changed:
            self._request, self._work = None, lambda _: None
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._request is not None and (left := self._at + self._pause() - time.monotonic()) > 0:
                    self._changed.wait(left)
                request, self._request, work = self._request, None, self._work
                if request is None:
                    self._is_busy = False
                    return
            try:
                work(request)
            except Exception:
                log.debug("%s failed", self._name, exc_info=True)
            # Not kept while the next request is awaited.
            del work, request


def keep_open(link: Link) -> Link:
    """Keep a connection open; the oldest of many is closed."""
    open_links.append(link)
    if len(open_links) > MAX_OPEN:
        open_links.popleft().close()
    return link


class FigureFileSender(TableFileSender):
    """Sends the files of figures, one row for each. A path from the page is never read."""

    def __init__(self) -> None:
        self.rows = FileRows()
        super().__init__(self.rows.key, ())

    def _find_path(self, row: int, place: int) -> str | None:
        return self.rows.find(row, place)


def register_file(path: Path | None) -> str:
    """Register a file, and return the key by which a figure requests it, or "" without a page; None only connects."""
    shell = get_kernel_shell()
    if shell is None:
        return ""
    cell = None if is_jupyter_server() else shell.execution_count
    if cell not in _figure_senders:
        # Only the main thread knows the page of its cell.
        if threading.current_thread() is not threading.main_thread() or not is_page_attached():
            return ""
        _figure_senders.clear()
        _figure_senders[cell] = sender = FigureFileSender()
        if cell is not None:
            keep_open(sender).show()
    return "" if path is None else _figure_senders[cell].rows.link(path)


_figure_senders: dict[int | None, FigureFileSender] = {}
"""The connection for figures: of the session, by None, or of the newest cell, by its number."""
