"""Runs against services that are unlike ours. They are fakes: the real one does not answer so."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from reelbook.current import session
from reelbook.display.run_card import format_failure
from reelbook.models.base import Output
from tests.support import png
from tests.sweeps.dots import Scripted
from tests.transport.variants import Hosted

Answers = dict[str, tuple[int, Any]]

MODEL = rb.TextToVideo.endpoint_id
BOAT = rb.TextToVideo(prompt="a boat", seed=7)


@pytest.fixture
def hosted() -> Iterator[tuple[str, Answers]]:
    """A service whose answers the test writes down: address → (code, body)."""
    answers: Answers = {}

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            status, body = answers.get(self.path.partition("?")[0], (404, {"detail": "nothing here"}))
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = answer

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", answers
    server.shutdown()
    server.server_close()


def test_an_output_of_another_shape_is_kept_because_it_is_paid_for(hosted: tuple[str, Answers], tmp_path: Path) -> None:
    """No seed, no prompt, the file under another name: the run succeeds, and its file is brought home."""
    address, answers = hosted
    root = f"/{MODEL}/requests/r1"
    answers["/models/run"] = (200, {"requestId": "r1"})
    answers[root + "/status"] = (202, {"status": "COMPLETED", "request_id": "r1", "logs": [{"message": "made"}]})
    answers[root] = (200, {"clips": [{"url": f"{address}/file", "label": "x"}], "seed": "seven"})
    answers["/file"] = (200, png())

    with rb.connect(address, api_key="k", library=tmp_path) as client:
        run = client.run(BOAT)

    assert type(run.output) is Output
    assert run.output.seed == "seven"
    assert run.images[0].path.read_bytes() == png()
    assert (run.credits, run.credits_source, run.logs) == (53, "estimated", ["made"])


def test_an_answer_that_holds_the_output_already_is_a_finished_run(hosted: tuple[str, Answers], tmp_path: Path) -> None:
    """A service that answers synchronously is not asked again."""
    address, answers = hosted
    output = {"video": {"url": f"{address}/file"}, "seed": 7, "prompt": "a boat"}
    answers["/models/run"] = (200, {"requestId": "r1", "output": output})
    answers["/file"] = (200, png())

    with rb.connect(address, api_key="k", library=tmp_path) as client:
        run = client.run(BOAT)

    assert run.output.seed == 7
    assert run.media[0].path.exists()


def test_a_file_with_a_hostile_name_and_type_is_stored_under_a_name_of_ours(
    hosted: tuple[str, Answers], tmp_path: Path
) -> None:
    """`../../x` and text/html change neither the place nor the suffix."""
    address, answers = hosted
    file = {"url": f"{address}/file", "file_name": "../../x.html", "content_type": "text/html"}
    answers["/models/run"] = (200, {"requestId": "r1", "output": {"video": file, "seed": 7, "prompt": "a boat"}})
    answers["/file"] = (200, png())

    with rb.connect(address, api_key="k", library=tmp_path) as client:
        path = client.run(BOAT).media[0].path

    assert path.parent == tmp_path / "media"
    assert path.suffix == ".png"


def test_a_file_that_cannot_be_fetched_leaves_the_run_to_be_picked_up(
    hosted: tuple[str, Answers], tmp_path: Path
) -> None:
    """The error names the request, and what to do."""
    address, answers = hosted
    output = {"video": {"url": f"{address}/gone"}, "seed": 7, "prompt": "a boat"}
    answers["/models/run"] = (200, {"requestId": "r1", "output": output})

    with rb.connect(address, api_key="k", library=tmp_path) as client, pytest.raises(rb.DownloadFailed, match="r1"):
        client.run(BOAT)

    assert list((tmp_path / "media").iterdir()) == []


def test_a_run_whose_client_is_closed_is_not_called_failed(tmp_path: Path) -> None:
    """It goes on at the service and is paid for: it says so, and counts its price."""
    with Hosted() as service:
        scripted = Scripted(service)
        with rb.connect(service.base_url, api_key="a-key-of-this-test", library=tmp_path / "library") as client:
            run = client.start(BOAT)
        with rb.connect(service.base_url, api_key="a-key-of-this-test", library=tmp_path / "library") as client:
            scripted.end.set()
            again = client.run(BOAT)

    assert (run.status, run.credits, run.credits_source) == ("unfinished", 53, "estimated")
    assert run.row["status"] == "unfinished"
    assert "goes on" in format_failure(run)
    assert (again.status, again.request_id, scripted.sent) == ("completed", run.request_id, 1)


def test_who_goes_on_after_closing_a_client_is_told_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Another service or another library would be used without a word, and what the first one had be paid again."""
    monkeypatch.setenv("REELBOOK_LIBRARY", str(tmp_path / "usual"))
    with rb.connect(library=tmp_path / "a"):
        pass

    with caplog.at_level("WARNING", "reelbook"):
        client = session.client()
        client.close()

    assert "The client was closed, so a new one is used" in caplog.text
    assert str(tmp_path / "usual") in caplog.text
