"""Earlier prompts: what a form's page is told when it asks for them."""

from __future__ import annotations

import queue
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import reelbook as rb
from reelbook.widgets.forms.earlier import MAX_TEXT_LENGTH, MAX_TEXTS, find_earlier_texts
from reelbook.widgets.forms.form import Form
from tests.storage.made import Made

WAIT = 20.0


def asked(form: Form, monkeypatch: pytest.MonkeyPatch, content: dict[str, Any]) -> Any:
    """What the page is told in answer; it comes from a thread of its own."""
    told: queue.Queue[Any] = queue.Queue()
    monkeypatch.setattr(form, "send", told.put)
    form._handle_custom_msg(content, [])
    return told.get(timeout=WAIT)


def test_the_prompts_of_the_library_are_offered_the_newest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each once, whichever model it was for; those of other fields are not among them."""
    made = Made(tmp_path / "library")
    for prompt in ("a kite", "a boat <b>", "a kite"):
        made.stored(rb.TextToVideo(prompt=prompt, negative_prompt="blur"))
    made.close()
    with rb.connect(library=tmp_path / "library"):
        form = rb.form(rb.ImageToVideo)

        told = asked(form, monkeypatch, {"do": "prompts", "name": "prompt"})
        form.close()

    assert told == {"prompts": "prompt", "texts": ["a kite", "a boat <b>"]}


def test_an_empty_library_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer comes all the same, so that the page can say so."""
    with rb.connect(library=tmp_path / "library"):
        form = rb.form(rb.TextToVideo)
        told = asked(form, monkeypatch, {"do": "prompts", "name": "prompt"})
        form.close()

    assert told == {"prompts": "prompt", "texts": []}


def test_nobody_else_s_column_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is no field of the form is not looked up: the next answer is to the next question."""
    names: list[Any] = ["unheard_of", None, 3, ["prompt"]]
    with rb.connect(library=tmp_path / "library"):
        form = rb.form(rb.TextToVideo)
        told = []
        for name in names:
            form._handle_custom_msg({"do": "prompts", "name": name}, [])
            told.append(asked(form, monkeypatch, {"do": "prompts", "name": "negative_prompt"}))
        form.close()

    assert told == [{"prompts": "negative_prompt", "texts": []}] * 4


def test_only_so_many_and_only_so_long() -> None:
    """A library of years is not sent to a page."""
    frame = pd.DataFrame({"prompt": [f"{number}{'x' * 30_000}" for number in range(200)]})

    texts = find_earlier_texts(frame, "prompt")

    assert len(texts) == MAX_TEXTS
    assert texts[0].startswith("199x")
    assert {len(text) for text in texts} == {MAX_TEXT_LENGTH}
