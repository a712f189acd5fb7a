"""The table of what can be measured, as a notebook shows it."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pandas as pd
from IPython.core.interactiveshell import InteractiveShell

from reelbook.api.table_accessor import Reel
from reelbook.display import register
from reelbook.display.theme import blocks
from reelbook.media.measuring.metrics import METRICS


def test_sentences_are_whole_and_aligned_left() -> None:
    """Where pandas aligns them right, and cuts each after fifty letters."""
    shell: Any = InteractiveShell()  # type: ignore[no-untyped-call]  # IPython is untyped here
    register(shell)

    html = shell.display_formatter.format(Reel(pd.DataFrame()).metrics)[0]["text/html"]

    words = unescape(re.sub(r"<[^>]*>", "|", html))
    for name, metric in METRICS.items():
        assert {name, metric.meaning, metric.definition, metric.unit} <= set(words.split("|"))
    cells = re.findall(r"<t[hd] [^>]*>", html)
    assert len(cells) == 5 * (len(METRICS) + 1)
    assert all("text-align:left" in cell for cell in cells)


def test_the_sign_of_a_state_has_one_colour_everywhere() -> None:
    """Green for what is done, as in tables, and never the colour of the words."""
    assert (
        blocks.state("completed", "2 <completed>")
        == '<span style="color:color-mix(in srgb,var(--rb-good) 75%,var(--rb-ink))">●</span> 2 &lt;completed&gt;'
    )
    assert "--rb-bad" in blocks.state("failed", "failed")
