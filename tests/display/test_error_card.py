"""Errors of ours in a notebook: the sentence and the person's own line first, everything else on demand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reelbook.display.error_card import _SECRET
from tests.faults.kernels import PATIENCE, Kernel

ROOT = Path(__file__).resolve().parents[2]
CELL = """
def ask(frames):
    return rb.TextToVideo(prompt="a paper boat", num_frames=frames)

ask(5000)
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("kernel")
    (folder / "helper.py").write_text("import reelbook as rb\n\ndef ask():\n    return rb.LoRA(path='ink', scale=99)\n")
    with Kernel(folder, PYTHONPATH=f"{ROOT}:{folder}", REELBOOK_URL="") as running:
        running.run("import reelbook as rb\nrb.options")
        yield running


def raised(kernel: Kernel, code: str) -> str:
    """What a cell shows of its error, without colours."""
    client: Any = kernel._client
    name, shown = client.execute(code), ""
    while True:
        message = client.get_iopub_msg(timeout=PATIENCE)
        if message["parent_header"].get("msg_id") != name:
            continue
        if message["msg_type"] == "error":
            shown += "\n".join(message["content"]["traceback"])
        elif message["msg_type"] == "stream":
            shown += message["content"]["text"]
        elif message["content"].get("execution_state") == "idle":
            return re.sub(r"\x1b\[[\d;]*m", "", shown)


def test_the_sentence_comes_first_then_the_lines_of_ones_own(kernel: Kernel) -> None:
    """Where it was called, and where in that; nothing of what is inside the package."""
    sentence, *lines = re.split(r"\n(?=\n)", raised(kernel, CELL))

    assert sentence.startswith("InvalidInput: TextToVideo: `num_frames` = 5000 is outside")
    lines = [sentence, *"\n".join(lines).splitlines()]
    assert [line.strip() for line in lines[1:] if line.strip()] == [
        lines[2].strip(),
        "ask(5000)",
        lines[5].strip(),
        'return rb.TextToVideo(prompt="a paper boat", num_frames=frames)',
        "%tb shows the full traceback.",
    ]
    assert re.fullmatch(r"Cell In\[\d+\], line 4", lines[2])
    assert re.fullmatch(r"Cell In\[\d+\], in ask, line 2", lines[5])


@pytest.mark.parametrize(
    "code",
    [
        "raise rb.ReelbookError('Nothing was sent: this plan may cost 1,272 credits, and spend=159 pays for three of 24 runs. ' * 3)",
        "raise rb.Interrupted('You stopped waiting; 8 runs go on at the service. client.cancel_queued() cancels those of them that wait.')",
        "raise rb.ReelbookError('A list:\\n  - ' + 'some words that are long enough to be broken somewhere, ' * 3)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("ask_again", [False, True], ids=["short", "%tb"])
def test_no_line_of_a_message_is_broken_within_a_word(kernel: Kernel, code: str, ask_again: bool) -> None:
    """A notebook breaks a line of more than about 95 letters anywhere; an amount stays with its unit."""
    kernel.run(
        f"from reelbook.errors import Interrupted\nrb.Interrupted = Interrupted\n{CELL.replace('ask(5000)', '')}"
    )
    shown = raised(kernel, code)
    if ask_again:
        shown = re.split(r"\n(?=\w+: )", raised(kernel, "%tb"))[-1]

    words = max(map(len, shown.split()), default=0)
    assert max(map(len, shown.splitlines())) <= max(95, words + 4)
    assert not re.search(r"\d\n\s*(credits|runs)", shown)


def test_everything_is_there_on_demand(kernel: Kernel) -> None:
    """`%tb` shows each frame, those of the package too."""
    short = raised(kernel, CELL)
    full = raised(kernel, "%tb")

    assert "base.py" not in short
    assert "base.py" in full
    assert "InvalidInput" in full


def test_other_errors_and_other_wishes_are_left_alone(kernel: Kernel) -> None:
    """An error of Python's own looks as always, and so does ours to somebody who asked for `%xmode Verbose`."""
    other = raised(kernel, "1 / 0")
    raised(kernel, "%xmode Verbose")
    verbose = raised(kernel, CELL)
    raised(kernel, "%xmode Context")

    assert "Traceback (most recent call last)" in other
    assert "Traceback (most recent call last)" in verbose


def test_no_key_is_shown_with_the_line_that_names_it(kernel: Kernel) -> None:
    """The line is one's own, and the screen may be somebody else's."""
    shown = raised(kernel, 'rb.connect("not an address", api_key="a-key-of-mine-1234")')

    assert "ReelbookError" in shown
    assert "a-key-of-mine" not in shown
    assert 'api_key="…"' in shown


@pytest.mark.parametrize(
    "line",
    [
        "connect(url, api_key='s3cret-value')",
        'os.environ["REELBOOK_API_KEY"] = "s3cret-value"',
        'dict(token = f"s3cret-value")',
        '{"password": "s3cret-value"}',
        'os.environ.setdefault("REELBOOK_API_KEY", "s3cret-value")',
        'connect(url, api_key="s3cret-value',
    ],
)
def test_what_looks_like_a_key_is_left_out(line: str) -> None:
    """However it is written."""
    assert "s3cret" not in _SECRET.sub(r"\1\2…\2", line)
