"""Widgets drawn by one of the package's scripts: their messages with the page, their threads, and their throttled updates."""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Protocol

import anywidget
import traitlets

from ...display.live import Bundle, LiveOutput, OutputKey, updater
from ...display.theme import read_static
from ...errors import ReelbookError
from ..link import FileRows
from ..notebook import forget_reply_thread
from .json_values import sendable

Handler = Callable[[dict[str, Any], list[memoryview]], None]

log = logging.getLogger("reelbook")


class Host(Protocol):
    """What answers to a page need of a widget."""

    def send(self, content: dict[str, Any], buffers: list[bytes] | None = None) -> None: ...
    def in_background(self, name: str, function: Callable[[], None]) -> None: ...


class ScriptWidget(anywidget.AnyWidget):
    """A form, or a part of a studio. `handlers` has the function for each message of the page."""

    # The text and not a path: anywidget watches a file, and would keep every widget alive for that.
    _esm = read_static("loader.js")
    key = traitlets.Unicode().tag(sync=True)
    """The random key by which figures on the page request their files."""
    script_key = traitlets.Unicode().tag(sync=True)
    """The name of the script that draws it; a page requests it once for all widgets."""
    is_closed = True
    """True until the constructor is done: a widget whose construction fails is closed, too."""
    thread_label = "widget"
    """Part of the names of its threads."""

    _own_layout: Any = None

    def __init__(self, script: str, **traits: Any) -> None:
        self.handlers: Mapping[str, Handler] = {}
        script_key, self._script = pack_script(script)
        self.files = FileRows()
        super().__init__(script_key=script_key, key=self.files.key, **traits)
        self._own_layout = self.layout
        self.is_closed = False
        self.on_msg(self._receive)

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

    def send(self, content: Any, buffers: Any = None) -> None:
        """Send a message to the page; does nothing once closed."""
        if not self.is_closed and self.comm is not None:
            super().send(content, buffers)

    def close(self) -> None:
        """Remove it from the page."""
        self.is_closed, self.handlers = True, {}
        # ipywidgets leaves the layout open.
        if self._own_layout is not None:
            self._own_layout.close()
        super().close()

    def _receive(self, _: Any, content: Any, buffers: Any) -> None:
        if not isinstance(content, dict):
            return
        if content.get("do") == "script":
            self.send({"script": self.script_key}, [self._script])
        elif "want" in content:
            self.files.answer(self, content)
        elif (handle := self.handlers.get(str(content.get("do")))) is not None:
            try:
                # A page can send half of a pair of surrogates, which could not be sent back.
                handle(sendable(content), list(buffers or ()))
            except ReelbookError as error:
                self.send({"trouble": str(error)})

    def _send(self, msg: Any, buffers: Any = None) -> None:
        super()._send(msg, buffers)
        forget_reply_thread(self)


@cache
def pack_script(name: str) -> tuple[str, bytes]:
    """The key and the compressed source of the module that draws a kind of widget, `form` or `studio`."""
    source = f"const STYLE = {json.dumps(read_static(f'{name}.css'))};\n{read_static(f'{name}.js')}"
    # Without a timestamp, so that the same script always has the same key.
    packed = gzip.compress(source.encode(), 9, mtime=0)
    return hashlib.sha256(packed).hexdigest()[:16], packed


def answer_request(widget: Host, content: Mapping[str, Any], make: Callable[[], dict[str, Any]]) -> None:
    """Send the page what `make` returns, its `buffers` beside it, or an `error`, as the answer to its request."""

    def work() -> None:
        try:
            answer = make()
        # Whatever fails, the page waits for an answer.
        except Exception as error:
            why = str(error) if isinstance(error, ReelbookError) else f"It could not be read ({error!r:.200})."
            answer = {"error": why}
        buffers = answer.pop("buffers", None)
        widget.send({"reply": content.get("id"), **answer}, buffers)

    widget.in_background(str(content.get("do")), work)


class LiveUpdates:
    """Throttled updates of a widget, from a start until it is over; it can be started again."""

    def __init__(
        self,
        publish: Callable[[Bundle], None],
        bundle: Callable[[], Bundle],
        key: Callable[[], OutputKey] = tuple,
        is_over: Callable[[], bool] = lambda: True,
    ) -> None:
        self._publish, self._bundle, self._key, self._is_over = publish, bundle, key, is_over
        # A separate lock: `start` is called while an owner changes, under locks of the owner.
        self._guard = threading.Lock()
        self._card: LiveOutput | None = None
        """The output registered with the clock; None while there is nothing to update."""
        self._is_closed = False

    def start(self) -> None:
        """Start updates, until the owner is over."""
        with self._guard:
            if self._card is None and not self._is_closed:
                card = LiveOutput(self._send, self._bundle, self._key, is_over=lambda: self._release_if_over(card))
                self._card = card
                updater.add(card)

    def close(self) -> None:
        """Stop updates."""
        with self._guard:
            # The clock drops a card that is not current; removing it here would deadlock a close during an update.
            self._is_closed, self._card = True, None

    def _send(self, bundle: Bundle) -> None:
        try:
            if not self._is_closed:
                self._publish(bundle)
        # The clock would drop a card that fails once, and the page would not be updated any more.
        except Exception:
            log.debug("a page could not be updated", exc_info=True)

    def _release_if_over(self, card: LiveOutput) -> bool:
        """Release the card if the owner is over; return whether it is released. Later updates get another card."""
        with self._guard:
            if self._card is card and self._is_over():
                self._card = None
            return self._card is not card
