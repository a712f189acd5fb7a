"""Runs against services that are unlike ours. They are fakes: the real one does not answer so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import reelbook as rb
from reelbook.current import session
from reelbook.display.run_card import format_failure
from reelbook.models.base import Output
from reelbook.runs import submit
from tests.faults.standin import StandIn
from tests.support import png
from tests.sweeps.dots import Scripted
from tests.transport.variants import Hosted, Reply

MODEL = rb.TextToVideo.endpoint_id
BOAT = rb.TextToVideo(prompt="a boat", seed=7)


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    """A service that has one file."""
    with Hosted() as service:
        service.on("GET", "/file", Reply(200, png()))
        yield service


def test_an_output_of_another_shape_is_kept_because_it_is_paid_for(hosted: Hosted, tmp_path: Path) -> None:
    """No seed, no prompt, the file under another name and with odd facts: the run succeeds, and its file is brought home."""
    root = f"/{MODEL}/requests/r1"
    hosted.on("POST", "/models/run", {"requestId": "r1"})
    status = {"status": "COMPLETED", "request_id": "r1", "logs": [{"message": "made"}]}
    hosted.on("GET", f"{root}/status", Reply(202, status))
    facts = {"label": "x", "file_size": "41 kB", "content_type": 7, "file_name": ["a"]}
    hosted.on("GET", root, {"clips": [{"url": f"{hosted.base_url}/file", **facts}], "seed": "seven"})

    with rb.connect(hosted.base_url, api_key="k", library=tmp_path) as client:
        run = client.run(BOAT)

    assert type(run.output) is Output
    assert run.output.seed == "seven"
    assert run.images[0].path.read_bytes() == png()
    assert (run.credits, run.credits_source, run.logs) == (53, "estimated", ["made"])


def test_a_result_of_the_library_asks_the_service_for_no_price(tmp_path: Path) -> None:
    """Nor for anything else of the run, also in another notebook."""
    asked = []
    with StandIn(estimates=True) as service:
        for _ in range(2):
            with rb.connect(service.base_url, api_key="k", library=tmp_path) as client:
                before = len(service.received)
                run = client.run(BOAT)
                asked.append([one.path for one in service.received[before:] if one.method == "POST"])

    assert asked == [["/models/pricing/estimate", "/models/run"], []]
    assert run.from_library


def test_a_result_of_the_library_asks_a_service_elsewhere_nothing(
    hosted: Hosted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One on this machine is asked which one it is; a hosted one may be silent."""
    monkeypatch.setattr(submit, "is_loopback", lambda address: False)
    output = {"video": {"url": f"{hosted.base_url}/file"}, "seed": 7, "prompt": "a boat"}
    hosted.on("POST", "/models/run", {"requestId": "r1", "output": output})
    with rb.connect(hosted.base_url, api_key="k", library=tmp_path) as client:
        client.run(BOAT)
    with rb.connect(hosted.base_url, api_key="k", library=tmp_path) as client:
        before = len(hosted.seen())
        run = client.run(BOAT)
        asked = hosted.seen()[before:]

    assert run.from_library
    assert asked == []


def test_a_file_that_cannot_be_fetched_leaves_the_run_to_be_picked_up(hosted: Hosted, tmp_path: Path) -> None:
    """The error names the request, and what to do."""
    output = {"video": {"url": f"{hosted.base_url}/gone"}, "seed": 7, "prompt": "a boat"}
    hosted.on("POST", "/models/run", {"requestId": "r1", "output": output})

    with (
        rb.connect(hosted.base_url, api_key="k", library=tmp_path) as client,
        pytest.raises(rb.DownloadFailed, match="r1"),
    ):
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
