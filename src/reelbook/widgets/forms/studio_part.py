"""One part of a studio: a widget that is drawn by the studio's script, and that speaks with its page by messages."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ...errors import ReelbookError
from .comms import close_layout, forget_thread
from .scripts import studio_script

HERE = Path(__file__).parent

Handle = Callable[[dict[str, Any], list[memoryview]], None]

log = logging.getLogger("reelbook")


class Part(anywidget.AnyWidget):
    """The head or the gallery. `handles` says what is done with each message of the page."""

    # Its text and not its path: anywidget follows a file, and would keep every part alive for it.
    _esm = (HERE / "loader.js").read_text(encoding="utf-8")
    script_key = traitlets.Unicode().tag(sync=True)
    """The name of the script that draws it; a page asks for it once."""
    part = traitlets.Unicode().tag(sync=True)
    """Which part it is."""

    def __init__(self, part: str, **traits: Any) -> None:
        self.is_closed = False
        self.lock = threading.RLock()
        self.handles: Mapping[str, Handle] = {}
        key, self._script = studio_script()
        super().__init__(part=part, script_key=key, **traits)
        # Weakly, so that a studio which nobody holds any more can go.
        me = weakref.ref(self)
        self.on_msg(lambda _, content, buffers: _told(me, content, buffers))

    def in_background(self, name: str, function: Callable[[], None]) -> None:
        """Do something in a thread of its own; what goes wrong there is told on the page."""

        def work() -> None:
            try:
                function()
            except Exception as error:
                if not isinstance(error, ReelbookError):
                    log.debug("%s of a studio failed", name, exc_info=True)
                self.send({"trouble": str(error) or type(error).__name__})

        threading.Thread(target=work, name=f"reelbook-studio-{name}", daemon=True).start()

    def send(self, content: Any, buffers: Any = None) -> None:
        """Tell the page something; nothing where this is closed."""
        if not self.is_closed and self.comm is not None:
            super().send(content, buffers)

    def close(self) -> None:
        """Nothing of it stays on the page."""
        self.is_closed, self.handles = True, {}
        close_layout(self)
        super().close()

    def _send(self, msg: Any, buffers: Any = None) -> None:
        super()._send(msg, buffers)
        forget_thread(self)


def _told(me: weakref.ref[Part], content: Any, buffers: Any) -> None:
    part = me()
    if part is None or not isinstance(content, dict):
        return
    if content.get("do") == "script":
        part.send({"script": part.script_key}, [part._script])
        return
    handle = part.handles.get(str(content.get("do")))
    if handle is not None:
        try:
            handle(content, list(buffers or ()))
        except ReelbookError as error:
            part.send({"trouble": str(error)})
