"""The kernel's side of a panel for judging, on a bare page: the panel's own connection, with real ratings behind it.

As a program it is a kernel that can be killed: `python -m tests.browser.judge_kernel FOLDER RATER KEY` answers one message
a line, and dies of a message with `die` in it, before or after it has done what the message says.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

import pandas as pd
from playwright.sync_api import Page

from reelbook.decide.ranking import find_clips
from reelbook.decide.ratings import Ratings
from reelbook.display.theme import read_static
from reelbook.storage.judgements import Judgements
from reelbook.storage.ledger.writer import Ledger
from reelbook.widgets import link
from reelbook.widgets.judge import JudgeLink, make_bundle
from tests.widgets.at_once import AtOnce

ROOT = Path(__file__).parents[2]
QUESTION = "Which moves more naturally?"
PLACE = "<style>h1{font-size:0;margin:0}</style><div id=out></div>"
"""Where outputs are shown."""
SHOW = "html => document.querySelector('#out').replaceChildren(document.createRange().createContextualFragment(html))"

# The script of the connection itself, with a model in the page that passes its messages to `toKernel`. A connection that is
# gone rejects what is sent, and one that is busy is held by the promise `busy`.
CONNECT = """async ([script, key]) => {
  const {default: {initialize}} = await import("data:text/javascript;base64," + script);
  const listeners = {};
  const bytesOf = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  window.fromKernel ??= [];
  const model = {
    get: name => ({key, selected: []})[name],
    on: (name, action) => (listeners[name] ??= []).push(action), off: () => {},
    send: async message => {
      if (window.kernel !== model) throw new Error("The connection is gone.");
      await window.busy;
      for (const [answer, parts] of (await toKernel(key, message)) ?? []) {
        fromKernel.push(answer);
        for (const action of listeners["msg:custom"] ?? []) action(answer, parts.map(part => new DataView(bytesOf(part).buffer)));
      }
    },
  };
  window.kernel = model;
  window.disconnect = () => { window.kernel = null; for (const action of listeners["comm_live_update"] ?? []) action(); };
  initialize({model});
}"""

Answers = list[Any] | None


def make_ratings(folder: Path, rows: Sequence[dict[str, Any]], *, rater: str = "ana", kind: str = "pairs") -> Ratings:
    """The ratings of a table with these rows, in a library in this folder."""
    table = pd.DataFrame(rows, index=pd.RangeIndex(len(rows), name="run"))
    names = [name for name in table.columns if not name.startswith("output_") and name != "request_id"]
    table.attrs["reelbook"] = {"axes": names}
    clips = find_clips(table, list(table["request_id"]))
    ledger = Ledger(folder)
    return Ratings(table, clips, Judgements(lambda: ledger), question=QUESTION, rater=rater, kind=kind)


class LinkInTest:
    """Calls a `JudgeLink` as a kernel would; its outputs are in `updates`."""

    def __init__(self, ratings: Ratings, key: str) -> None:
        self.link = JudgeLink(key, ratings)
        self.updates: list[str] = []
        self.link.update = lambda bundle: self.updates.append(bundle["text/html"])
        self._sent: list[Any] = []
        setattr(self.link, "send", self._collect)  # noqa: B010  # mypy lets no method be replaced.
        self.html = make_bundle(ratings, key=key, group=self.link.group)["text/html"]

    def handle(self, message: dict[str, Any]) -> Answers:
        """Handle a message of the page, and return what the kernel sends."""
        self._sent = []
        with patch.object(link, "file_senders", AtOnce()):
            self.link._on_message(self.link, message, [])
        return self._sent

    def _collect(self, content: Any, buffers: Any = None) -> None:
        self._sent.append([content, [base64.b64encode(part).decode() for part in buffers or ()]])


class KernelProcess:
    """A kernel in a process of its own, for the rows in `FOLDER/rows.json`."""

    def __init__(self, folder: Path, rater: str, key: str) -> None:
        command = [sys.executable, "-m", __name__, str(folder), rater, key]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        self.html: str = self._read()
        self.die = ""
        """Where the next answer kills it: `before` or `after` it is saved."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def handle(self, message: dict[str, Any]) -> Answers:
        """The same as a `LinkInTest`; None if it died."""
        assert self._process.stdin
        die = self.die if message.get("do") == "answer" else ""
        try:
            print(json.dumps({**message, "die": die}), file=self._process.stdin, flush=True)
            found: Answers = self._read()
        except (json.JSONDecodeError, BrokenPipeError):
            assert self._process.wait(10) == -signal.SIGKILL
            return None
        return found

    def _read(self) -> Any:
        assert self._process.stdout
        return json.loads(self._process.stdout.readline())


def show(page: Page, html: str) -> None:
    """Put an output in the place of the one before."""
    page.evaluate(SHOW, html)


def connect(page: Page, key: str) -> None:
    """Open the connection of this key; what the page sends goes to its function `toKernel`."""
    script = read_static("kernel_link.js").encode()
    page.evaluate(CONNECT, [base64.b64encode(script).decode(), key])


def _main(folder: Path, rater: str, key: str) -> None:
    rows = json.loads((folder / "rows.json").read_text(encoding="utf-8"))
    kernel = LinkInTest(make_ratings(folder, rows, rater=rater), key)
    print(json.dumps(kernel.html), flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        die = message.pop("die")
        if die == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answers = kernel.handle(message)
        if die == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        print(json.dumps(answers), flush=True)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
