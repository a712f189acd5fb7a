"""A form and its page without a browser: it sends what a page sends, and waits for what the kernel says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import reelbook as rb
from reelbook.models.base import Input
from reelbook.widgets.forms.sweeps import MAKING
from tests.support import png, read_charges

WAIT = 30.0
BOAT = rb.TextToVideo(prompt="a paper boat", num_frames=9, resolution="480p")


def stitch(speed: float, colour: str = "brown") -> rb.ImagesToVideo:
    """Two pictures in a row: the quickest run there is, and a pure one."""
    return rb.ImagesToVideo(images=[png(16, 16), png(16, 16, colour)], fps=speed)


def resize(prompt: str) -> rb.SmartResize:
    """The quickest run that gives another result each time, for it has no seed."""
    return rb.SmartResize(image_url=png(16, 16), target_sizes=["16x16"], prompt=prompt)


def paid(folder: Path) -> int:
    """How many runs the service has charged for."""
    logs = folder.rglob("service.sqlite3")
    return sum(line["kind"] == "reserve" for log in logs for line in read_charges(log.parent))


def settle() -> None:
    """Wait for what was asked for before the end, so that no client is closed under it."""
    for thread in threading.enumerate():
        if thread.name.startswith(("reelbook-studio", "reelbook-form")):
            thread.join(WAIT)


class Bench:
    """One form, what its page was sent, and what the traits have."""

    def __init__(self, value: Input | type[Input], start: Callable[[Input], Any] | None = None) -> None:
        self.form = rb.form(value)
        if start is not None:
            self.form.start_run = start
        self.sent: list[dict[str, Any]] = []
        self._number = 0
        self._news = threading.Condition()
        self.form.observe(self._ring, ["sweeps", "records"])
        self.form.send = self._hear  # type: ignore[method-assign]

    def close(self) -> None:
        """Close the form, and wait for what it does still."""
        self.form.close()
        settle()

    def _hear(self, content: dict[str, Any], buffers: Any = None) -> None:
        json.dumps(content, allow_nan=False)  # The page understands nothing else.
        with self._news:
            self.sent.append(content)
            self._news.notify_all()

    def _ring(self, _: Any = None) -> None:
        json.dumps([self.form.sweeps, self.form.records], allow_nan=False)
        with self._news:
            self._news.notify_all()

    def tell(self, **content: Any) -> None:
        """What the page sends, as JSON and back, as it travels."""
        self.form._handle_custom_msg(json.loads(json.dumps(content)), [])

    def until(self, claim: Callable[[], Any]) -> None:
        with self._news:
            assert self._news.wait_for(lambda: bool(claim()), WAIT), (self.form.records, self.form.sweeps, self.sent)

    def answer(self, key: str) -> dict[str, Any]:
        """The first message with this key."""
        self.until(lambda: any(key in content for content in self.sent))
        return next(content for content in self.sent if key in content)

    def said(self, key: str = "said") -> list[str]:
        """The answers to presses."""
        return [content[key] for content in self.sent if key in content]

    # Runs.

    @property
    def entries(self) -> list[dict[str, Any]]:
        """What was started, as the page has it, the newest first."""
        return list(self.form.records)

    def press(self, **more: Any) -> None:
        """Press Run."""
        self.tell(do="run", **more)

    def ended(self, count: int = 1) -> dict[str, Any]:
        """Wait until so many entries have ended, and give the newest."""
        self.until(lambda: len(self.entries) >= count and all(entry["isOver"] for entry in self.entries))
        return self.entries[0]

    def run(self) -> dict[str, Any]:
        """Press Run and wait for the end of it."""
        count = len(self.form.running.entries) + 1
        self.press()
        return self.ended(count)

    def card(self, key: str | None = None) -> str:
        """The newest card that was sent of an entry."""
        key = self.entries[0]["key"] if key is None else key
        return str([content["html"] for content in self.sent if content.get("card") == key][-1])

    def actions(self) -> list[str]:
        """What can be done with the newest entry."""
        return [name for name, _, _ in self.entries[0]["actions"]] if self.entries else []

    def offers(self, *actions: str) -> None:
        """Wait until these are the actions of the newest entry."""
        self.until(lambda: self.actions() == list(actions))

    def act(self, what: str, key: str | None = None, **more: Any) -> dict[str, Any]:
        """Press a button of an entry, and give the answer."""
        self.sent = [content for content in self.sent if "acted" not in content]
        self.tell(do="act", run=self.entries[0]["key"] if key is None else key, what=what, **more)
        return self.answer("acted")

    # Sweeps.

    def vary(self, *, spend: Any = None, **axes: Any) -> dict[str, Any]:
        """Type these axes, and wait for what there is to say about them."""
        self._number += 1
        self._axes = axes
        listed = [{"name": name, **({} if typed is ... else {"typed": typed})} for name, typed in axes.items()]
        self.tell(do="sweep", view="v", n=self._number, axes=listed, spend=spend)
        self.until(lambda: self.form.sweeps["n"] == self._number and self.form.sweeps["why"] != MAKING)
        return dict(self.form.sweeps)

    def start(self, spend: Any = ..., **by: str) -> None:
        """Press the button of the plan, or of its best setting by a measure, for what it shows or for an amount that is typed first."""
        if spend is not ...:
            self.vary(**self._axes, spend=spend)
        plan = self.form.sweeps
        self.tell(do="sweep_run", plan=plan["number"], spend=plan.get("spend"), cost=plan.get("cost"), **by)
