"""Words of a service in a terminal: none of them clears the screen, sets a title, fills the clipboard or turns the text around."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reelbook.util.printable import CONTROLS
from tests.support import as_data_uri, png
from tests.transport.variants import Hosted, Reply

MODEL = "svc/smart-resize"
ORDERS = (
    "\x1b]52;c;ZXZpbA==\x07 \x1b]0;title\x1b\\ \x1b[2J\x1b[H \x9b31m \x9d0;c1\x9c \r overwritten \x08\x08 "
    "\u202egnp.exe\u202c \u2066isolated\u2069 \x7f\x00\x0b\x0c"
)
STORIES = {
    "refused": "rb.run(boat)",
    "failed": "rb.run(boat)",
    "completed": "run = rb.run(boat); print(run); print('\\n'.join(run.logs)); print(run.output)",
    "a sweep": "print(rb.sweep(boat, seed=[1]).run(budget=100).T.to_string()); print(rb.library().frame.T.to_string())",
    "the command line": "main(['run', boat.endpoint_id, json.dumps(boat.wire())]); main(['library'])",
}
"""What a script does; the first ends at the submission, the second at the service, the others with a picture."""
SCRIPT = """
import json, sys
import reelbook as rb
from reelbook.cli import main
boat = rb.SmartResize(image_url={picture!r}, target_sizes=['16x16'])
for story, address, code in {stories!r}:
    try:
        with rb.connect(address, api_key="k", library="library of " + story):
            exec(code)
    except Exception:
        sys.excepthook(*sys.exc_info())  # What Python does at the end of a script.
    print("END OF", story, flush=True)
"""


def hostile(hosted: Hosted, story: str) -> None:
    """A service whose every text gives orders to terminals."""
    logs = {"entries": [{"message": ORDERS}, ORDERS], ORDERS: ORDERS}
    status = {"status": "COMPLETED", "request_id": "r-1", "logs": logs, "metrics": {"engine": ORDERS}}
    if story == "failed":
        status |= {"error": ORDERS, "error_type": ORDERS}
    picture = {
        "url": as_data_uri(png()),
        "file_name": ORDERS,
        "content_type": "image/png",
        "note": ORDERS,
    }
    refusal = {"detail": [{"loc": ["input", ORDERS], "msg": ORDERS, "type": ORDERS}], "error_type": ORDERS}
    accepted = {"requestId": "r-1", "status": ORDERS}
    hosted.on("POST", "/models/pricing/estimate", Reply(404, {"detail": ORDERS}))
    hosted.on("POST", "/models/run", Reply(422, refusal) if story == "refused" else accepted)
    hosted.on("GET", f"/{MODEL}/requests/r-1/status", status)
    hosted.on(
        "GET", f"/{MODEL}/requests/r-1", {"images": [picture], "results": [{ORDERS: ORDERS}], "description": ORDERS}
    )


def in_a_terminal(code: str, folder: Path) -> str:
    """All that a script writes to its terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "xterm", "COLUMNS": "200"}
    command = [sys.executable, "-c", code]
    child = subprocess.Popen(command, cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    text = b""
    try:
        while more := os.read(ours, 65536):
            text += more
    except OSError:
        pass  # This is how a terminal says that nobody has it open any more.
    finally:
        child.wait(60)
        os.close(ours)
    return text.decode("utf-8", "surrogateescape")


def orders_in(text: str) -> list[str]:
    """The control characters that are not the terminal's own line ends and our own progress line."""
    own = re.sub(r"\r\x1b\[K|\r+\n|\x1b\[[0-9;]*m", "", text)
    return sorted({letter for letter in own if ord(letter) in CONTROLS})


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What one script with all stories writes to its terminal, one after another."""
    services = {story: Hosted() for story in STORIES}
    for story, hosted in services.items():
        hosted.__enter__()
        hostile(hosted, story)
    stories = [(story, services[story].base_url, code) for story, code in STORIES.items()]
    script = SCRIPT.format(picture=as_data_uri(png()), stories=stories)
    text = in_a_terminal(script, tmp_path_factory.mktemp("script"))
    found = {}
    for story in STORIES:
        found[story], end, text = text.partition(f"END OF {story}\r\n")
        assert end, f"{story} did not end: {found[story]}"
    yield found
    for hosted in services.values():
        hosted.__exit__(None, None, None)


@pytest.mark.parametrize("story", STORIES)
def test_a_script_shows_the_words_of_a_service_without_its_orders(told: dict[str, str], story: str) -> None:
    """Tracebacks, progress, prints of runs, logs and tables: the words are there, and no control character is."""
    assert orders_in(told[story]) == []
    assert "overwritten" in told[story] or story == "the command line"
    assert ("Traceback" in told[story]) == (story in ("refused", "failed"))


def test_a_terminal_does_get_orders_that_nobody_takes_out(tmp_path: Path) -> None:
    """The control: printed as they are, they arrive."""
    text = in_a_terminal(f"print({ORDERS!r})", tmp_path)

    assert {"\x1b", "\x07", "\x9b", "\u202e"} <= set(orders_in(text))
