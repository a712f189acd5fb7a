"""The fields of a form on a page of their own: the test says what is drafted and judged, and who answers as the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.browser.bare_page import fill
from tests.browser.bundle import bundle, read_styles

STYLES = ("page/tokens.css", "form/form.css", "form/fields.css", "form/pictures.css")
# What the page sends is in `sent`; `kernel` answers, if there is one.
SCRIPT = """
import { h, render } from "preact";
import { Fields } from "./form/form.tsx";
import { FormLink } from "./form/link.ts";
import "./form/main.ts";
const packed = (buffer) => new Promise((done) => { const reader = new FileReader(); reader.onload = () => done(reader.result.split(",")[1] ?? ""); reader.readAsDataURL(new Blob([buffer])); });
const unpacked = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
window.build = (fields, draft) => {
  const state = { draft, problems: [], view: "", n: 0 }, listeners = [];
  const model = {
    get: (name) => ({ state, sheet: { fields } })[name],
    on: (name, listener) => name === "msg:custom" && listeners.push(listener), off() {},
    async send(content, _, buffers = []) {
      if (content.do === "edit" || !window.kernel) return;
      window.sent.push({ ...content, bytes: buffers.map((buffer) => buffer.byteLength) });
      for (const [answer, parts] of await window.kernel(content, await Promise.all(buffers.map(packed))))
        for (const listener of listeners) listener(answer, parts.map(unpacked));
    },
  };
  window.sent = [];
  const link = window.link = new FormLink(model);
  window.judge = (problems) => { link.state = { ...state, draft: link.draft, problems }; link.fire("state"); };
  window.fill = (draft) => { link.draft = draft; judge([]); };
  render(h(Fields, { nodes: fields, link, name: "f" }), document.querySelector(".rbf"));
};
"""


def build(page: Page, folder: Path, nodes: Sequence[dict[str, Any]], draft: dict[str, Any], **options: Any) -> None:
    """Draw the fields of these nodes with this draft."""
    script = f"<script type=module>{bundle(SCRIPT)}document.body.dataset.ready = 1;</script>"
    fill(page, folder, f"<style>{read_styles(*STYLES)}</style><main class='rb rbf'></main>{script}", **options)
    page.wait_for_selector("body[data-ready]")
    page.evaluate("([nodes, draft]) => build(nodes, draft)", [[*nodes], draft])
