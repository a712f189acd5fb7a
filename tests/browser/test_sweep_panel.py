"""The buttons of a sweep whose rest is cancelled, and whose kernel ends: on a page of their own, and in a real JupyterLab.

That they pause, go on and cancel there is among the tests of sweeps of forms, which have a notebook.
"""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest
from playwright.sync_api import Browser, Page, expect

from reelbook.display.sweep_panel import render_panel
from reelbook.widgets.panel import Panel
from tests.browser.bundle import split_module
from tests.display.test_sweep_progress import progress

pytestmark = pytest.mark.browser

BUTTONS = "[role=group][aria-label=sweep] button"
SAID = "[role=group][aria-label=sweep] [role=status]"
SYNCED = ("html", "state")

# A host for the panel alone; what it sends goes to the widget, until there is no kernel any more.
HOST = """
const listeners = new Map();
const model = {
  get: (name) => told[name],
  on: (name, listener) => listeners.set(name, listener),
  off: (name) => listeners.delete(name),
  send: (content) => window.hasEnded ? Promise.reject(new Error("Cannot send")) : window.kernel(content),
};
window.happen = (name) => listeners.get(name)();
window.put = (next) => { Object.assign(told, next); for (const name of Object.keys(next)) listeners.get(`change:${name}`)?.(); };
"""


def test_the_buttons_are_those_of_use(offline_page: Page) -> None:
    """In each state; and, without a kernel, how to go on."""
    progress = SimpleNamespace(state="running", finished=0)
    asked = threading.Event()
    job = SimpleNamespace(progress=progress, on_change=lambda _: None, pause=asked.set)
    panel = Panel(cast(Any, job), with_html=False)
    page = offline_page
    told = {name: getattr(panel, name) for name in SYNCED}
    script, drawing = split_module(panel._esm)
    page.expose_function("kernel", lambda content: panel._handle_custom_msg(content, []))
    page.set_content(
        f"<main></main><script type=module>{script}const told = {json.dumps(told)};{HOST}"
        f"{drawing}.render({{ model, el: document.querySelector('main') }});</script>"
    )

    buttons, said = page.locator(BUTTONS), page.locator(SAID)
    expect(buttons).to_have_text(["Pause", "Cancel"])
    buttons.first.click()
    assert asked.wait(20)
    expect(buttons.first).to_be_disabled()
    page.evaluate("put({state: 'paused'})")
    expect(buttons).to_have_text(["Resume", "Cancel"])

    page.evaluate("() => { window.hasEnded = true; happen('comm_live_update'); }")
    expect(buttons).to_have_count(0)
    expect(said).to_contain_text("Run its cells again to continue")
    panel.close()


def test_a_live_panel_does_not_say_that_it_was_running(chromium: Browser) -> None:
    """What is said to readers of a saved panel comes later than the next picture of a live one."""
    page = chromium.new_page()
    page.set_content(render_panel(progress()))
    late = page.get_by_text("It was running at")

    assert late.bounding_box() is None or late.evaluate("one => one.offsetHeight") == 0
    page.evaluate("document.getAnimations().forEach((animation) => animation.finish())")
    assert late.evaluate("one => one.offsetHeight") > 0
    page.emulate_media(media="print")
    assert late.evaluate("one => one.offsetHeight") > 0
