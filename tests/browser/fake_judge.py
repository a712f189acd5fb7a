"""The kernel's side of a panel for judging: on a bare page the panel's own connection, with ratings behind it that may be killed."""

from __future__ import annotations

import base64
from typing import Any

from playwright.sync_api import Page

from reelbook.widgets.judge import JudgeLink

# The script of the connection itself, with a model in the page that passes its messages to `toLink`. A connection that is
# gone rejects what is sent, and one that is busy is held by the promise `busy`.
CONNECT = """async ([script, key]) => {
  const {default: {initialize}} = await import("data:text/javascript;base64," + script);
  const heard = {};
  const bytesOf = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  window.fromPage ??= [];
  const model = {
    get: name => ({key, selected: []})[name],
    on: (name, action) => (heard[name] ??= []).push(action), off: () => {},
    send: async message => {
      if (window.kernel !== model) throw new Error("The connection is gone.");
      fromPage.push(message);
      await window.busy;
      const answers = await toLink(key, message);
      if (answers === null) return; // Killed before it answered.
      for (const [answer, parts] of answers)
        for (const action of heard["msg:custom"] ?? []) action(answer, parts.map(part => new DataView(bytesOf(part).buffer)));
    },
  };
  window.kernel = model;
  window.disconnect = () => { window.kernel = null; for (const action of heard["comm_live_update"] ?? []) action(); };
  initialize({model});
}"""


class FakeLink:
    """Calls a `JudgeLink` as a kernel would, and returns what it sent."""

    def __init__(self, link: JudgeLink) -> None:
        self.link = link
        self._sent: list[Any] = []
        link.send = lambda content, buffers=None: self._sent.append(  # type: ignore[method-assign]
            [content, [base64.b64encode(part).decode() for part in buffers or ()]]
        )

    def handle(self, message: dict[str, Any]) -> list[Any]:
        self._sent.clear()
        self.link._on_message(self.link, message, [])
        return list(self._sent)


def connect(page: Page, key: str) -> None:
    """Open the connection of this key; what it sends goes to the page's function `toLink`."""
    from reelbook.widgets import table_clips

    script = (table_clips.HERE / "table_clips.js").read_bytes()
    page.evaluate(CONNECT, [base64.b64encode(script).decode(), key])
