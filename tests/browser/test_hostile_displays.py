"""Files, runs, answers, inputs and models with hostile words in every place, in one page: nothing runs, nothing is loaded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from reelbook.display.figure import file_figure
from reelbook.display.files import file_card, output_card
from reelbook.display.inputs import input_card
from reelbook.display.live import interrupted_bundle, progress_bundle
from reelbook.display.models import models_table
from reelbook.display.runs import failed_card, run_figure
from reelbook.errors import RunFailed
from reelbook.media.local import LocalFile
from reelbook.models.base import Output
from reelbook.models.files import File
from reelbook.models.text_to_video import TextToVideo
from tests.clips import film
from tests.display.stand_in import StandIn

pytestmark = pytest.mark.browser

# Each of them says so when it runs, or asks for an address when it is loaded.
CALL, ELSEWHERE = "window.fired=1+(window.fired||0)", "http://127.0.0.1:9/x"
PAYLOADS = [
    f"<script>{CALL}</script>",
    f"</script><script>{CALL}</script>",
    f"</style><script>{CALL}</script>",
    f"<img src=x onerror={CALL}>",
    f'"><img src=x onerror={CALL}>',
    f"'><img src=x onerror={CALL}>",
    f"<svg onload={CALL}>",
    f"--><svg/onload={CALL}>",
    f"<video src=x onerror={CALL}></video>",
    f'" onmouseover="{CALL}" onfocus="{CALL}" autofocus x="',
    f"' onmouseover='{CALL}' x='",
    f"javascript:{CALL}",
    f"data:text/html,<script>{CALL}</script>",
    f"<iframe srcdoc='<script>parent.{CALL}</script>'></iframe>",
    f"<details open ontoggle={CALL}>",
    f"</pre></code></td></table><body onload={CALL}>",
    f"<math><mtext></mtext><mglyph><style><img src=x onerror={CALL}>",
    f"&lt;script&gt;{CALL}&lt;/script&gt;<img src={ELSEWHERE}>",
    f"<link rel=stylesheet href={ELSEWHERE}><style>@import '{ELSEWHERE}'</style>",
    f"<object data={ELSEWHERE}></object><embed src={ELSEWHERE}><base href={ELSEWHERE}>",
    f"x;background:url({ELSEWHERE})",
    "${" + CALL + "}{{constructor.constructor('" + CALL + "')()}}",
    f"\u2028</title><textarea><img src=x onerror={CALL}>",
    f"<form action=javascript:{CALL}><button autofocus onfocus={CALL}>",
]


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> LocalFile:
    return film(tmp_path_factory.mktemp("films") / "clip.mp4", frames=2, size=(64, 48))


def displays(clip: LocalFile) -> dict[str, Callable[[str], str]]:
    """Each display with one text in every place where a stranger's can stand."""

    def file(text: str, path: Path = clip.path) -> LocalFile:
        facts = {
            "model": text,
            "input": {"prompt": text, text: text},
            "seed": text,
            "request_id": text,
            "credits_source": text,
        }
        return LocalFile(path, File(url=text, content_type=text, file_name=text), facts)

    def run(text: str, **state: Any) -> Any:
        asked = TextToVideo.model_construct(prompt=text, negative_prompt=text, seed=None)
        told = Output.model_validate({"seed": text, "prompt": text, "note": [text, {text: text}]})
        odd = {"request_id": text, "endpoint_id": text, "credits_source": text, "logs": [text], "progress": (0.5, text)}
        return StandIn(asked, told, **{**odd, **state})

    failure = RunFailed
    return {
        "file": lambda text: file_figure(file(text)),
        "lost file": lambda text: file_figure(file(text, Path(f"/nowhere/{text.replace('/', '_')}.mp4"))),
        "run": lambda text: run_figure(run(text, media=(clip,))),
        "several": lambda text: run_figure(run(text, media=(file(text), file(text)))),
        "under way": lambda text: str(progress_bundle(run(text, status="IN_PROGRESS"))["text/html"]),
        "interrupted": lambda text: str(interrupted_bundle(run(text, status="IN_QUEUE"))["text/html"]),
        "failed": lambda text: failed_card(run(text, status="failed", failure=failure(text, text, text))),
        "answer": lambda text: output_card(Output.model_validate({"a": text, text: text, "video": {"url": text}})),
        "bare file": lambda text: file_card(File(url=text, content_type=text, file_name=text)),
        "input": lambda text: input_card(TextToVideo.model_construct(prompt=text, negative_prompt=text)),
        "models": lambda text: models_table([{"id": text, "category": text, "purpose": text, text: {"credits": 1}}]),
    }


@pytest.fixture
def page(chromium: Browser) -> Iterator[tuple[Page, list[str]]]:
    """An empty page, and every address it asks for."""
    page, asked = chromium.new_page(), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.route("http://127.0.0.1:9/**", lambda route: route.abort())
    yield page, asked
    page.close()


def fired(page: Page, body: str) -> int:
    """How often something ran, after all of the page has been touched."""
    page.set_content(f'<!doctype html><html lang="en"><title>x</title><body>{body}</body></html>', wait_until="load")
    page.evaluate(
        """() => { for (const e of document.querySelectorAll('body *')) {
          e.dispatchEvent(new Event('mouseover')); if (e.tagName === 'DETAILS') e.open = true; e.focus && e.focus(); } }"""
    )
    page.evaluate("new Promise(done => setTimeout(done, 50))")
    return int(page.evaluate("window.fired || 0"))


def outside(asked: list[str]) -> list[str]:
    return [url for url in asked if not url.startswith(("data:", "blob:", "about:"))]


def test_nothing_runs_and_nothing_is_loaded(page: tuple[Page, list[str]], clip: LocalFile) -> None:
    """All displays with all payloads: none of them becomes a part of the page."""
    sheet, asked = page

    ran = {name: fired(sheet, "".join(map(show, PAYLOADS))) for name, show in displays(clip).items()}

    assert ran == dict.fromkeys(ran, 0)
    assert outside(asked) == []


def test_the_watch_works(page: tuple[Page, list[str]]) -> None:
    """The control: the same payloads as they are run, and load."""
    sheet, asked = page

    ran = [fired(sheet, f'<p title="{payload}">{payload}</p>') for payload in PAYLOADS]

    assert sum(count > 0 for count in ran) >= 12
    assert outside(asked)


def test_the_friendly_script_runs_where_the_words_are_hostile(page: tuple[Page, list[str]], clip: LocalFile) -> None:
    """Our own script is not what was stopped: it finds its figure among them."""
    sheet, _ = page
    known = replace(clip, facts={"input": {"prompt": PAYLOADS[0]}, "model": PAYLOADS[1]})

    count = fired(sheet, file_figure(known))

    assert count == 0
    assert sheet.locator("[data-rb-ready] [role=status]").count() == 1
