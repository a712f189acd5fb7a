"""A kernel's side of a display in a bare page: files come as the real messages bring them, without a kernel."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from reelbook.widgets.link import make_messages

# Answers as `kernel_link.ts` does; what the kernel would receive is in `toKernel` and `asked`, and a row waits for its promise in
# `holding`. What it is asked to do is answered with what a test has put into `replies`.
ANSWER = """files => {
  window.toKernel = [];
  Object.assign(window, { asked: [], replies: {}, holding: window.holding ?? {} });
  addEventListener("reelbook:want", (event) => {
    const { key, row, place = 0, copy = "", answer } = event.detail;
    toKernel.push(["want", row, place, copy]);
    const file = files[`${row}/${place}/${copy}`] ?? files[`${row}/${place}/`];
    if (!file) return;
    event.preventDefault();
    const blob = new Blob([Uint8Array.from(atob(file.data), (letter) => letter.charCodeAt(0))], { type: file.kind });
    Promise.resolve(holding[row]).then(() => answer(URL.createObjectURL(blob), "", { ...file, blob }));
  });
  addEventListener("reelbook:do", (event) => {
    event.preventDefault();
    const { message, answer } = event.detail;
    asked.push(message);
    if (replies[message.do]) answer(...replies[message.do]);
  });
  addEventListener("reelbook:is", (event) => event.preventDefault());
  addEventListener("reelbook:selected", ({ detail: { rows } }) => toKernel.push(["selected", ...rows]));
}"""


def answer_requests(page: Page, paths: Sequence[Sequence[str | Path]]) -> None:
    """Let the page receive these files: the rows of a display, each with its files."""
    files: dict[str, Any] = {}
    for row, found in enumerate(paths):
        for place, path in enumerate(found):
            for copy in ("preview", ""):
                try:
                    messages = list(make_messages(Path(path), [row, place, *([copy] if copy else [])]))
                except Exception:  # A broken file is not sent.
                    continue
                data = b"".join(part for _, part in messages)
                files[f"{row}/{place}/{copy}"] = {**messages[0][0], "data": base64.b64encode(data).decode()}
    page.evaluate(ANSWER, files)


def listen(page: Page, key: str) -> None:
    """Say that a kernel is there, and that no row is ticked."""
    page.evaluate(
        """key => {
          dispatchEvent(new CustomEvent("reelbook:here", { detail: { key } }));
          dispatchEvent(new CustomEvent("reelbook:listens", { detail: { key, rows: [] } }));
        }""",
        key,
    )
