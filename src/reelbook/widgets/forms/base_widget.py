"""Widgets drawn by one of the package's scripts: their messages with the page, their threads, and their throttled updates."""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import threading
import weakref
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Generic, Protocol, TypeVar

import anywidget
import traitlets

from ...display.live import Bundle, LiveOutput, OutputKey, updater
from ...display.theme import read_static
from ...errors import ReelbookError
from ..link import FileRows
from ..notebook import forget_reply_thread
from .json_values import sendable

WidgetOwner = TypeVar("WidgetOwner")
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
        # Weakly, so that the widget can be collected.
        me = weakref.ref(self)
        self.on_msg(lambda _, content, buffers: _dispatch(me, content, buffers))

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


def _dispatch(me: weakref.ref[ScriptWidget], content: Any, buffers: Any) -> None:
    widget = me()
    if widget is None or not isinstance(content, dict):
        return
    if content.get("do") == "script":
        widget.send({"script": widget.script_key}, [widget._script])
        return
    if "want" in content:
        widget.files.answer(widget, content)
        return
    handle = widget.handlers.get(str(content.get("do")))
    if handle is not None:
        try:
            # A page can send half of a pair of surrogates, which could not be sent back.
            handle(sendable(content), list(buffers or ()))
        except ReelbookError as error:
            widget.send({"trouble": str(error)})


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


class LiveUpdates(Generic[WidgetOwner]):
    """Throttled widget updates; holds the owner weakly, so that the shared clock does not keep it alive."""

    def __init__(
        self,
        owner: WidgetOwner,
        publish: Callable[[WidgetOwner, Bundle], None],
        bundle: Callable[[WidgetOwner], Bundle],
        key: Callable[[WidgetOwner], OutputKey],
        is_over: Callable[[WidgetOwner], bool],
    ) -> None:
        self._owner = weakref.ref(owner)
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
                self._card = self._make_card()
                updater.add(self._card)

    def close(self) -> None:
        """Stop updates."""
        with self._guard:
            # The clock drops a card that is not current; removing it here would deadlock a close during an update.
            self._is_closed, self._card = True, None

    def _make_card(self) -> LiveOutput:
        owner_ref, updates_ref = self._owner, weakref.ref(self)
        publish_to, get_bundle, get_key = self._publish, self._bundle, self._key

        def publish(bundle: Bundle) -> None:
            try:
                if (owner := owner_ref()) is not None:
                    publish_to(owner, bundle)
            # The clock would drop a card that fails once, and the page would not be updated any more.
            except Exception:
                log.debug("a page could not be updated", exc_info=True)

        def is_over() -> bool:
            updates = updates_ref()
            return updates is None or updates._release_if_over(card)

        card = LiveOutput(
            publish,
            lambda: {} if (owner := owner_ref()) is None else get_bundle(owner),
            lambda: () if (owner := owner_ref()) is None else get_key(owner),
            is_over=is_over,
        )
        return card

    def _release_if_over(self, card: LiveOutput) -> bool:
        """Release the card if the owner is over; return whether it is released. Later updates get another card."""
        with self._guard:
            owner = self._owner()
            if self._card is card and (owner is None or self._is_over(owner)):
                self._card = None
            return self._card is not card
