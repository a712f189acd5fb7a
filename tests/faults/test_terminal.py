"""Words of a service in a terminal: none of them clears the screen, sets a title, fills the clipboard or turns the text around."""

from __future__ import annotations

import base64
import json
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Collection, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from reelbook.util.printable import CONTROLS
from tests.support import png

MODEL = "svc/smart-resize"
ORDERS = (
    "\x1b]52;c;ZXZpbA==\x07 \x1b]0;title\x1b\\ \x1b[2J\x1b[H \x9b31m \x9d0;c1\x9c \r overwritten \x08\x08 "
    "\u202egnp.exe\u202c \u2066isolated\u2069 \x7f\x00\x0b\x0c"
)
PICTURE = f"data:image/png;base64,{base64.b64encode(png()).decode()}"

STORIES = {
    "refused": "rb.run(boat)",
    "failed": "rb.run(boat)",
    "failed at its result": "rb.run(boat)",
    "completed": "run = rb.run(boat); print(run); print('\\n'.join(run.logs)); print(run.output)",
    "completed in a sweep": "print(rb.sweep(boat, seed=[1]).run(budget=100).T.to_string()); print(rb.library().frame.T.to_string())",
    "failed in a sweep": "print(rb.sweep(boat, seed=[1]).run(budget=100).T.to_string()); print(rb.library().frame.T.to_string())",
    "interrupted": "import _thread, threading; threading.Timer(0.3, _thread.interrupt_main).start(); rb.run(boat)",
}
"""What the service does, and what a script does with it."""

COMMANDS = ("refused", "failed", "failed at its result", "completed")
FEW = {"refused", "failed", "completed", "completed in a sweep", "interrupted"}
FEW_COMMANDS = {"refused", "completed"}
"""One of each kind; the others are for `make deep`."""
ASKED = json.dumps({"image_url": PICTURE, "target_sizes": ["16x16"]})

SCRIPT = """
import os, sys
from functools import partial
import reelbook as rb
from reelbook.cli import main
from reelbook.runs import follow
from reelbook.current import session
from reelbook.transport import http
follow.RESULT_SECONDS = 0.2
http.RetryPolicy = partial(http.RetryPolicy, backoff_seconds=0.005)
boat = rb.SmartResize(image_url={picture!r}, target_sizes=['16x16'])
for chapter, address, code in {chapters!r}:
    os.environ |= dict(REELBOOK_URL=address, REELBOOK_LIBRARY=os.path.abspath("library of " + chapter))
    try:
        exec(code)
    except (Exception, KeyboardInterrupt):
        # What Python does at the end of a script.
        sys.excepthook(*sys.exc_info())
    for client in session.clients:
        client.close()
    print("END OF", chapter, flush=True)
"""


class Hostile(BaseHTTPRequestHandler):
    """A service whose every text gives orders to terminals. The stand-in for what the real one never says.

    Each story has an address of its own.
    """

    @property
    def story(self) -> str:
        return unquote(self.path.split("/")[1])

    @property
    def place(self) -> str:
        """The path within the story."""
        return self.path[self.path.index("/", 1) :]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        if self.path.endswith("/estimate"):
            self._say(404, {"detail": ORDERS})
        elif self.story == "refused":
            self._say(
                422, {"detail": [{"loc": ["input", ORDERS], "msg": ORDERS, "type": ORDERS}], "error_type": ORDERS}
            )
        else:
            self._say(200, {"requestId": "r-1", "status": ORDERS})

    def do_GET(self) -> None:
        if self.place.startswith("/" + MODEL) and "/status" in self.place:
            going = self.story == "interrupted"
            told: dict[str, Any] = {"status": "IN_PROGRESS" if going else "COMPLETED", "request_id": "r-1"}
            told["logs"] = {"entries": [{"message": ORDERS}, ORDERS], ORDERS: ORDERS}
            told["metrics"] = {"engine": ORDERS}
            if "failed" in self.story and "result" not in self.story:
                told |= {"error": ORDERS, "error_type": ORDERS}
            self._say(200, told)
        elif self.place.startswith("/" + MODEL) and self.story.startswith("failed"):
            self._say(500, {"detail": ORDERS, "error_type": ORDERS})
        elif self.place.startswith("/" + MODEL):
            picture = {"url": PICTURE, "file_name": ORDERS, "content_type": "image/png", "note": ORDERS}
            self._say(200, {"images": [picture], "results": [{ORDERS: ORDERS}], "description": ORDERS})
        else:
            self._say(404, {"detail": ORDERS})

    def _say(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *parts: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def hostile() -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def in_a_terminal(command: list[str], folder: Path) -> str:
    """All that a command writes to its terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "REELBOOK_API_KEY": "k", "NO_COLOR": "1", "TERM": "xterm", "COLUMNS": "200"}
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
    own = re.sub(r"\r\x1b\[K|\r+\n|\x1b\[[0-9;]*m|\^C", "", text)
    return sorted({letter for letter in own if ord(letter) in CONTROLS})


def some(stories: Iterable[str], few: Collection[str]) -> list[Any]:
    return [pytest.param(story, marks=() if story in few else pytest.mark.deep) for story in stories]


def wanted(request: pytest.FixtureRequest, test: str) -> list[str]:
    """The stories with which this test of the module is to be run."""
    return [
        str(item.callspec.params["story"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and item.originalname == test
    ]


@pytest.fixture(scope="module")
def told(
    request: pytest.FixtureRequest, hostile: ThreadingHTTPServer, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """What one script with all wanted stories and commands writes to its terminal, one after another."""
    stories = wanted(request, "test_a_script_shows_the_words_of_a_service_without_its_orders")
    codes = {story: (story, f"with rb.connect():\n    {STORIES[story]}") for story in stories}
    for story in wanted(request, "test_so_does_the_command_line"):
        codes[f"run {story}"] = story, f"main(['run', {MODEL!r}, {ASKED!r}])"
        codes[f"library {story}"] = (
            story,
            f"os.environ['REELBOOK_LIBRARY'] = os.path.abspath('library of run {story}'); main(['library'])",
        )
    chapters = [
        (chapter, f"http://127.0.0.1:{hostile.server_port}/{quote(story)}", code)
        for chapter, (story, code) in codes.items()
    ]
    script = SCRIPT.format(picture=PICTURE, chapters=chapters)
    text = in_a_terminal([sys.executable, "-c", script], tmp_path_factory.mktemp("script"))
    found = {}
    for chapter in codes:
        found[chapter], end, text = text.partition(f"END OF {chapter}\r\n")
        assert end, f"{chapter} did not end: {found[chapter]}"
    return found


@pytest.mark.parametrize("story", some(STORIES, FEW))
def test_a_script_shows_the_words_of_a_service_without_its_orders(told: dict[str, str], story: str) -> None:
    """Tracebacks, progress, prints of runs, logs and tables: the words are there, and no control character is."""
    assert orders_in(told[story]) == []
    assert "overwritten" in told[story] or story == "interrupted"
    assert ("Traceback" in told[story]) == (story in ("refused", "failed", "failed at its result", "interrupted"))


@pytest.mark.parametrize("story", some(COMMANDS, FEW_COMMANDS))
def test_so_does_the_command_line(told: dict[str, str], story: str) -> None:
    """`reelbook run`, then `reelbook library`."""
    texts = [told[f"run {story}"], told[f"library {story}"]]

    assert [orders_in(text) for text in texts] == [[], []]
    assert ("overwritten" in texts[0]) == (story != "completed")
    assert MODEL in texts[1]


def test_a_terminal_does_get_orders_that_nobody_takes_out(tmp_path: Path) -> None:
    """The control: printed as they are, they arrive."""
    text = in_a_terminal([sys.executable, "-c", f"print({ORDERS!r})"], tmp_path)

    assert {"\x1b", "\x07", "\x9b", "\u202e"} <= set(orders_in(text))
