"""Forms for descriptions in which every word is a stranger's: nothing of them runs, nothing is loaded, and the words are there."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import Any

import pytest
from playwright.sync_api import Browser

from reelbook.current import Session
from reelbook.display.form_snapshot import form_bundle
from reelbook.models.base import Input
from reelbook.models.described import describe
from reelbook.widgets.forms.form import Form
from reelbook.widgets.link import pack_script
from tests.browser.bundle import split_module
from tests.browser.test_hostile import FOREIGN, HOME, USE, Watched, found_again, page_of
from tests.hostile import TEXTS
from tests.models.described_inputs import with_fields

pytestmark = pytest.mark.browser

WHOLE = [text.encode("utf-8", "replace").decode() for text in TEXTS]
"""A description is JSON in UTF-8, which has no halves of signs."""
MAX_LETTERS = 2000
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
  send: (content) => { (window.sent ??= []).push(content); return window.hasEnded ? Promise.reject(new Error("Cannot send")) : Promise.resolve(); },
};
window.say = (content, buffers = []) => (listeners.get("msg:custom") ?? []).forEach((listener) => listener(content, buffers));
window.happen = (name) => (listeners.get(name) ?? []).forEach((listener) => listener());
window.put = (name, value) => { told[name] = value; happen(`change:${name}`); };
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
    words = [{"at": [node["name"]], "words": text, "kind": text} for node, text in zip(names, texts, strict=False)]  # fmt: skip
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
        {"key": str(number), "kind": "run", "status": text, "mark": text, "line": text, "title": text, "said": text, "isOver": True,
         "actions": [["use", text, text]], "uses": [[text, text]]}
        for number, text in enumerate(texts[:20])
    ]  # fmt: skip
    return {
        "sheet": form.sheet,
        "state": state,
        "records": runs,
        "sweeps": sweeps_of(names[0]["name"], texts),
        "twin": texts[5],
        "key": "k",
        "script_key": form.script_key,
    }


def sweeps_of(name: str, texts: Sequence[str]) -> dict[str, Any]:
    """What a form tells of its sweeps, in the same words."""
    axis = {"name": name, "typed": texts[0], "told": texts[1], "words": texts[2], "empty": False}
    measures = [{"value": text, "label": text, "meaning": text} for text in texts[:8]]
    best = {
        "about": texts[3],
        "measures": measures,
        "by": texts[0],
        "meaning": texts[4],
        "spend": 1,
        "label": texts[5],
        "why": texts[6],
    }
    offer = {
        "number": 1,
        "html": "",
        "label": texts[7],
        "why": texts[20],
        "spend": 1,
        "cost": 1,
        "ready": True,
        "isUnpriced": True,
    }
    return {"view": "", "n": 0, "axes": [axis], **offer, "best": best, "typed": None}


def page_with(packed: bytes, told: dict[str, Any]) -> str:
    """A page with one widget alone, drawn by the script that travels with it."""
    script, drawing = split_module(gzip.decompress(packed).decode())
    data = json.dumps(told).replace("<", "\\u003c")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>.</title><main></main>'
        f'<script type="application/json" id="told">{data}</script>'
        f'<script type="module">{script}{BRIDGE}{drawing}.render({{ model, el: document.querySelector("main") }});</script></html>'
    )


PARTS = [WHOLE[::8], WHOLE[4::8], WHOLE[2::4]]
"""Every second of the texts, as many at a time as a model has fields: all ways into a page are those of other displays."""
SOME = [
    pytest.param(part, id=str(number), marks=[pytest.mark.deep] * bool(number)) for number, part in enumerate(PARTS)
]
"""All but the first for `make deep`."""


@pytest.mark.parametrize("texts", SOME)
def test_nothing_in_a_description_runs_in_its_form(chromium: Browser, texts: list[str]) -> None:
    """As its title, names, help, choices, defaults, problems, prices and runs; pressed, unfolded and typed into everywhere."""
    form = Form(kind_of(texts), session=Session())
    content = page_with(form._script, told_by(form, texts))

    with page_of(chromium, content) as watched:
        page = watched.page
        page.wait_for_selector(".rbf")
        found = found_again(watched, texts)
        for text in texts[::6]:
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


@pytest.mark.parametrize("texts", SOME)
def test_nothing_runs_in_the_picture_that_stays(chromium: Browser, texts: list[str]) -> None:
    """A saved notebook shows what was typed, and what was wrong with it, without running any of it."""
    form = Form(kind_of(texts), session=Session())
    told = told_by(form, texts)
    pictures = []
    for number, text in enumerate(texts):
        state = {
            **told["state"],
            "draft": {text: {text: [text]}},
            "problems": told["state"]["problems"][number : number + 3],
        }
        pictures.append(
            form_bundle(
                {**told["sheet"], "title": text, "model": text},
                {**state, "why": text},
                None,
                labels={text: text},
                mark=text,
            )
        )
    form.close()

    with page_of(chromium, "<!doctype html><meta charset=utf-8>" + "".join(one["text/html"] for one in pictures)) as watched:  # fmt: skip
        watched.page.evaluate(USE)
        foreign = watched.page.evaluate(FOREIGN)
        fired = watched.fired

    assert fired == []
    assert foreign == []
    assert watched.asked == []


@pytest.mark.parametrize("part", ["head", "gallery"])
@pytest.mark.parametrize("texts", SOME)
def test_nothing_runs_in_a_studio(chromium: Browser, texts: list[str], part: str) -> None:
    """Names of models, accounts, costs, cards, what is shown large, and what is wrong: all of it a stranger's."""
    texts = [text[:MAX_LETTERS] for text in texts]
    told = {
        "part": part, "chosen": texts[0], "carried": texts[1], "cost": texts[2], "twin": texts[3], "script_key": "",
        "account": {"service": texts[4], "credits": texts[5], "offers": texts[6], "trouble": texts[7]},
        "models": [{"id": text, "title": text, "purpose": text, "price": text} for text in texts],
        "key": "k", "shelf": shelf_of(texts),
    }  # fmt: skip

    with page_of(chromium, page_with(pack_script("studio")[1], told)) as watched:
        page = watched.page
        page.wait_for_selector(".rbs")
        found = found_again(watched, texts)
        page.evaluate(USE)
        for number, text in list(enumerate(texts))[::6]:
            page.evaluate("key => document.querySelector(`[data-run='${key}']`)?.click()", str(number))
            page.evaluate("content => say(content)", {**messages(text), "acted": [text], "ask": text})
            page.evaluate("content => say(content)", {"refused": text})
            page.evaluate("shelf => put('shelf', shelf)", {**shelf_of(texts), "words": text})
        page.evaluate(USE)
        page.evaluate(TYPE)
        foreign = page.evaluate(FOREIGN)
        fired = watched.fired

    assert fired == []
    assert set(foreign) <= OWN
    assert outside(watched) == []
    assert watched.dialogs == []
    assert found >= 0.97


def shelf_of(texts: Sequence[str]) -> dict[str, Any]:
    """The runs in a gallery."""
    cards = [
        {"key": str(number), "status": text, "mark": text, "title": text, "name": text, "facts": [text], "error": text, "star": True, "hidden": False}
        for number, text in enumerate(texts)
    ]  # fmt: skip
    return {
        "cards": cards,
        "total": 99,
        "of": 99,
        "models": list(texts),
        "uses": [[text, text] for text in texts],
        "turn": 1,
    }


def messages(text: str) -> dict[str, Any]:
    """All that a kernel says besides, in one."""
    return {
        "said": text,
        "trouble": text,
        "code": text,
        "why": text,
        "acted": "0",
        "prompts": "prompt",
        "texts": [text],
        "sweep_said": text,
        "sweep_code": text,
        "words": text,
    }


def outside(watched: Watched) -> list[str]:
    """What was asked of anybody but the page itself."""
    return [url for url in watched.asked if not url.startswith((HOME, "blob:", "data:"))]
