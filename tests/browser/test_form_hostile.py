"""Forms for descriptions in which every word is a stranger's: nothing of them runs, nothing is loaded, and the words are there."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import Any, cast

import pytest
from playwright.sync_api import Browser

from reelbook.display.forms import form_bundle
from reelbook.models.base import Input
from reelbook.models.described import describe
from reelbook.widgets.forms.form import Form
from tests.browser.test_hostile import FOREIGN, HOME, USE, Watched, found_again, page_of
from tests.hostile import TEXTS
from tests.models.described_inputs import with_fields
from tests.widgets.forms.page import Alone

pytestmark = pytest.mark.browser

WHOLE = [text.encode("utf-8", "replace").decode() for text in TEXTS]
"""A description is JSON in UTF-8, which has no halves of signs."""
AT_ONCE = 90
OWN = {"<textarea>", "<optgroup>"}
"""What forms have and displays do not."""

BRIDGE = """
const told = JSON.parse(document.getElementById("told").textContent);
const listeners = new Map();
const model = {
  get: (name) => told[name],
  set: () => {}, save_changes: () => {},
  on: (name, listener) => listeners.set(name, [...(listeners.get(name) ?? []), listener]),
  off: () => {},
  send: (content) => { (window.sent ??= []).push(content); return Promise.resolve(); },
};
window.say = (content) => (listeners.get("msg:custom") ?? []).forEach((listener) => listener(content, []));
window.put = (name, value) => { told[name] = value; (listeners.get(`change:${name}`) ?? []).forEach((listener) => listener()); };
renderForm({ model, el: document.querySelector("main") });
"""
TYPE = """() => {
  for (const field of document.querySelectorAll('main input:not([type=checkbox]):not([type=radio]):not([type=file]), main textarea')) {
    if (field.readOnly) continue;
    field.value = '</textarea><script>top.__pwned=1</script>';
    for (const name of ['input', 'change', 'blur']) field.dispatchEvent(new Event(name, {bubbles: true}));
  }
}"""


def field(number: int, text: str) -> dict[str, Any]:
    """Fields of all kinds in turn, with the same text wherever a description can say something."""
    about = {"title": text, "description": text, "examples": [text]}
    inner = {"title": text, "description": text, "properties": {text or "x": {"type": "string", **about}}}
    kinds: list[dict[str, Any]] = [
        {"type": "string", "default": text},
        {"type": "string", "enum": sorted({text, "other"}), "default": text},
        {"type": "string", "enum": sorted({text, *(f"{text}{one}" for one in range(12))})},
        {"type": "array", "items": {"type": "string", **about}, "default": [text]},
        {"type": "array", "items": {"type": "object", **inner}},
        {"type": "object", **inner},
        {"type": "object", "additionalProperties": {"type": "string"}, "default": {text: text}},
        {"oneOf": [{"type": "string", **about}, {"type": "object", **inner}]},
        {"const": text},
        {"type": "integer", "minimum": 0, "maximum": 9},
        {"type": "boolean"},
        {"type": "string", "format": "uri", "x-fal-kind": text},
    ]
    return {**kinds[number % len(kinds)], **about}


def kind_of(texts: Sequence[str]) -> type[Input]:
    """A model whose fields, words, choices and defaults are these texts."""
    named = {text or "empty": field(number, text) for number, text in enumerate(texts)}
    # The name of a model becomes an address, of which a service knows only plain ones.
    return describe(with_fields({**named, "image_url": {"type": "string", "title": texts[0]}}, title=texts[0], description=texts[1]))  # fmt: skip


def told_by(form: Form, texts: Sequence[str]) -> dict[str, Any]:
    """What a page gets of the form, where whoever tells of it is a stranger as well."""
    names = list(form.sheet["fields"])
    words = [{"at": [node["name"]], "words": text, "kind": text, "nearest": text} for node, text in zip(names, texts, strict=False)]  # fmt: skip
    homeless = [{"at": [text, 3, text], "words": text, "kind": text} for text in texts]
    price = {"credits": 53, "told": texts[0], "source": texts[1], "lines": [[text, text] for text in texts]}
    state = {
        **form.state,
        "draft": {node["name"]: text for node, text in zip(names, reversed(texts), strict=False)} | {"unknown": texts[2]},
        "problems": [*words, *homeless],
        "price": price,
        "why": texts[3],
        "client": texts[4],
    }  # fmt: skip
    runs = [
        {"key": str(number), "status": "failed", "mark": "✕", "lead": text, "line": text, "error": text, "facts": [text], "advice": text,
         "blamed": [[text, text]], "said": text, "whole": text, "expanded": text, "lines": 1, "can": ["log", "use", "code", "facts"]}
        for number, text in enumerate(texts[:20])
    ]  # fmt: skip
    return {"sheet": form.sheet, "state": state, "runs": runs, "twin": texts[5], "script_key": form.script_key}


def page_with(form: Form, told: dict[str, Any]) -> str:
    """A page with the form alone, drawn by the script that travels with it."""
    script = gzip.decompress(form._script).decode().replace("export default { render: renderForm };", BRIDGE)
    data = json.dumps(told).replace("<", "\\u003c")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>.</title><main></main>'
        f'<script type="application/json" id="told">{data}</script><script type="module">{script}</script></html>'
    )


PARTS = [WHOLE[start : start + AT_ONCE] for start in range(0, len(WHOLE), AT_ONCE)]
"""The texts, as many at a time as a model has fields."""


@pytest.mark.parametrize("texts", PARTS, ids=range(len(PARTS)))
def test_nothing_in_a_description_runs_in_its_form(chromium: Browser, texts: list[str]) -> None:
    """As its title, names, help, choices, defaults, problems, prices and runs; pressed, unfolded and typed into everywhere."""
    form = Form(kind_of(texts), shop=cast(Any, Alone()))
    content = page_with(form, told_by(form, texts))

    with page_of(chromium, content) as watched:
        page = watched.page
        page.wait_for_selector(".rbf")
        found = found_again(watched, texts)
        for text in texts[:12]:
            page.evaluate("content => say(content)", messages(text))
        page.evaluate(USE)
        page.evaluate(TYPE)
        page.evaluate(USE)
        foreign = page.evaluate(FOREIGN)
        fired = watched.fired
        sent = page.evaluate("window.sent.length")
    form.close()

    assert fired == []
    assert set(foreign) <= OWN
    assert outside(watched) == []
    assert watched.dialogs == []
    assert found >= 0.97
    assert sent > len(texts)


@pytest.mark.parametrize("texts", PARTS, ids=range(len(PARTS)))
def test_nothing_runs_in_the_picture_that_stays(chromium: Browser, texts: list[str]) -> None:
    """A saved notebook shows what was typed, and what was wrong with it, without running any of it."""
    form = Form(kind_of(texts), shop=cast(Any, Alone()))
    told = told_by(form, texts)
    pictures = []
    for number, text in enumerate(texts):
        state = {
            **told["state"],
            "draft": {text: {text: [text]}},
            "problems": told["state"]["problems"][number : number + 3],
        }
        pictures.append(
            form_bundle({**told["sheet"], "title": text, "model": text}, {**state, "why": text}, None, mark=text)
        )
    form.close()

    with page_of(chromium, "<!doctype html><meta charset=utf-8>" + "".join(one["text/html"] for one in pictures)) as watched:  # fmt: skip
        watched.page.evaluate(USE)
        foreign = watched.page.evaluate(FOREIGN)
        fired = watched.fired

    assert fired == []
    assert foreign == []
    assert watched.asked == []


def messages(text: str) -> dict[str, Any]:
    """All that a kernel says besides, in one."""
    return {
        "said": text,
        "trouble": text,
        "code": text,
        "why": text,
        "facts": "0",
        "asked": [[text, text]],
        "answered": [[text, text]],
        "log": "0",
        "from": 0,
        "of": 1,
        "lines": [text],
        "clock": 0,
    }


def outside(watched: Watched) -> list[str]:
    """What was asked of anybody but the page itself."""
    return [url for url in watched.asked if not url.startswith((HOME, "blob:", "data:"))]
