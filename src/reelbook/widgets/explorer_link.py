"""The connection of an explorer's viewer: sends its file, follows its frame and range, and saves what it asks for."""

from __future__ import annotations

import os
import secrets
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from IPython.display import display

from ..display.explorer_card import explorer_bundle
from ..display.formatting import format_size
from ..errors import ReelbookError
from ..media.local_file import Explorer
from .link import TableFileSender, keep_open
from .notebook import find_variable_name, is_jupyter_server, is_page_attached

MAX_FETCHED_BYTES = 20_000_000

LinkReply = tuple[dict[str, Any], list[bytes]]


class ExplorerLink(TableFileSender):
    """Answers the viewer of one explorer. The page never names a path."""

    def __init__(self, key: str, explorer: Explorer) -> None:
        super().__init__(key, [[str(explorer.file.path.absolute())]])
        self._explorer = explorer
        self._actions: Mapping[str, Callable[[dict[str, Any]], LinkReply]] = {
            "still": lambda _: self._save(explorer.save_still),
            "clip": lambda _: self._save(explorer.save_clip),
            "gif": lambda _: self._save(explorer.save_gif),
            "use": self._format_use,
            "fetch": self._fetch,
        }
        # Weakly: an explorer may outlive its connections.
        me = weakref.ref(self)
        explorer.on_change(lambda: _send_place(me))

    def _on_message(self, widget: Any, content: Any, buffers: Any) -> None:
        action = content.get("do") if isinstance(content, dict) else None
        if not isinstance(action, str):
            super()._on_message(widget, content, buffers)
            return
        try:
            self._follow(content)
        except (ReelbookError, TypeError, ValueError):
            return  # No page of ours sends that.
        if action in self._actions:
            # Not in the kernel's thread: decoding and encoding take their time.
            threading.Thread(
                target=self._act, args=(action, content), name=f"reelbook-{action}", daemon=True
            ).start()  # fmt: skip

    def _follow(self, content: dict[str, Any]) -> None:
        """Take over the frame and the range of the page."""
        if "frame" in content:
            chosen = content.get("range")
            self._explorer.update(content["frame"], None if chosen is None else (int(chosen[0]), int(chosen[1])))

    def _act(self, action: str, content: dict[str, Any]) -> None:
        try:
            found, buffers = self._actions[action](content)
        except ReelbookError as error:
            found, buffers = {"error": str(error)}, []
        except OSError as error:
            found, buffers = {"error": f"{error.filename or 'The file'} cannot be read ({error.strerror})."}, []
        self.send({"did": str(content.get("id")), **found}, buffers=buffers)

    def _save(self, save: Callable[[], Path]) -> LinkReply:
        path = save()
        number = len(self._explorer.saved) - 1
        size = format_size(path.stat().st_size)
        return {"path": _format_path(path), "name": path.name, "number": number, "size": size}, []

    def _fetch(self, content: dict[str, Any]) -> LinkReply:
        """The bytes of a file that was saved here, by its number."""
        number = content.get("number")
        if type(number) is not int or not 0 <= number < len(self._explorer.saved):
            raise ReelbookError("There is no such file.")
        path = self._explorer.saved[number]
        if path.stat().st_size > MAX_FETCHED_BYTES:
            raise ReelbookError(f"{path} has {format_size(path.stat().st_size)}, too much for the page. It is there.")
        return {}, [path.read_bytes()]

    def _format_use(self, _: dict[str, Any]) -> LinkReply:
        """Code with the frame on the screen; `name` is empty where no variable has the explorer."""
        name = find_variable_name(self._explorer) or ""
        code = f'rb.ImageToVideo(image_url={name or "explorer"}.image, prompt="…")'
        return {"code": code, "name": name, "frame": self._explorer.frame}, []


def show_explorer(explorer: Explorer) -> None:
    """Display an explorer as the value of a cell: stills that stay, and a viewer while there is a kernel."""
    key = secrets.token_urlsafe(16) if is_page_attached() else ""
    display(explorer_bundle(explorer, key=key), raw=True)  # type: ignore[no-untyped-call]  # IPython is untyped here
    if not key:
        return
    link = ExplorerLink(key, explorer)
    keep_open(link)
    if not is_jupyter_server():
        link.show()


def _send_place(me: weakref.ref[ExplorerLink]) -> None:
    """Move the page to the explorer's frame and range."""
    link = me()
    if link is not None and link.comm is not None:
        link.send({"told": {"frame": link._explorer.frame, "range": link._explorer.range}})


def _format_path(path: Path) -> str:
    """The path from the notebook's folder, where it is inside."""
    try:
        return str(path.absolute().relative_to(os.getcwd()))  # noqa: PTH109
    except (ValueError, OSError):
        return str(path)
