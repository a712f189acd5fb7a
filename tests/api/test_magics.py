"""The magics of a notebook: `%reel` and `%%sweep`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import reelbook as rb
from reelbook.display.cards import client_card


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A shell with the extension, in an empty folder, connected to the embedded service."""
    monkeypatch.chdir(tmp_path)
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "reelbook")
    with rb.connect():
        yield shell
    InteractiveShell.clear_instance()


def plan_toml() -> str:
    small = rb.TextToVideo(prompt="a kite", num_frames=9, resolution="480p", aspect_ratio="1:1")
    return str(rb.sweep(small, seed=[1, 2]).to_toml())


def test_reel_shows_the_client_with_what_is_left(shell: Any) -> None:
    """After a run of 53 credits, the account says so."""
    rb.run(rb.TextToVideo(prompt="a kite", num_frames=9, resolution="480p", aspect_ratio="1:1", seed=1))

    shown = shell.run_line_magic("reel", "")

    assert "999,947 left" in client_card(shown)


def test_a_sweep_in_a_cell_is_priced_first_and_run_under_a_budget(shell: Any) -> None:
    """Without a limit nothing is sent; with one, the named table has the runs."""
    plan = shell.run_cell_magic("sweep", "", plan_toml())
    assert (plan.credits, plan.credits_due) == (106, 106)

    shell.run_cell_magic("sweep", "--budget 53 table", plan_toml())

    table = shell.user_ns["table"]
    assert sorted(table["status"]) == ["completed", "not started"]
    assert table["credits"].sum() == 53


@pytest.mark.parametrize(
    ("line", "sentence"), [("--budget many", "invalid int value"), ("--bugdet 5", "unrecognized arguments")]
)
def test_a_wrong_word_is_an_error_of_the_cell(shell: Any, line: str, sentence: str) -> None:
    """It says what is wrong, and nothing is sent."""
    with pytest.raises(UsageError, match=sentence):
        shell.run_cell_magic("sweep", line, plan_toml())
