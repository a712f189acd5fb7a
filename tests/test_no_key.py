"""Figure 10: the key is in nothing that the package shows, keeps, sends to others or leaves behind.

A key with a spelling of its own goes through all of the package, against a service that repeats it wherever it can.
Then it is looked for. Only the embedded service's own key has a place on disk, in two files that nobody else may read.
"""

from __future__ import annotations

import base64
import json
import logging
import os
import stat
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from nbclient import NotebookClient

import reelbook as rb
from reelbook import cli
from reelbook.client import Client
from reelbook.current import session
from reelbook.transport import answers, downloader
from reelbook.transport.http import RetryPolicy
from reelbook_service.workers import worker_environment
from tests.faults.canary import Canary, verbose
from tests.support import png
from tests.transport.variants import Answering, Hosted, Received, Reply

CANARY = Canary()
RUN = "/models/run"
BOAT = rb.TextToVideo(prompt="a boat", num_frames=9, seed=7)
MODEL = BOAT.endpoint_id
ECHO = {"x-echo": CANARY.key, "x-request-id": CANARY.key, "set-cookie": f"key={CANARY.key}"}
QUOTED = quote(CANARY.key, safe="")
REPEATED = " ".join((CANARY.key, QUOTED, base64.b64encode(CANARY.key.encode()).decode()))
"""What a careless service says of a key."""


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key as users are told to give it, and everything that is written in one folder."""
    monkeypatch.setenv("REELBOOK_API_KEY", CANARY.key)
    monkeypatch.setenv("REELBOOK_LIBRARY", str(tmp_path / "library"))
    monkeypatch.delenv("REELBOOK_URL", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    with Hosted() as service:
        yield service


def a_run(hosted: Hosted, name: str, *, result: Answering = None, host: str | None = None) -> str:
    """A run that the service finishes, with the key in its log, its output and its headers; the address of its request."""
    one = f"/{MODEL}/requests/{name}"
    logs = [{"message": f"loading with {REPEATED}"}]
    output = {
        "video": {"url": f"{host or hosted.base_url}/file", "file_name": CANARY.key},
        "seed": 7,
        "prompt": REPEATED,
    }
    hosted.on("POST", RUN, Reply(200, {"requestId": name, "echo": REPEATED}, ECHO))
    hosted.on("GET", f"{one}/status", Reply(200, {"status": "COMPLETED", "request_id": name, "logs": logs}, ECHO))
    hosted.on("GET", one, result or Reply(200, output, ECHO))
    hosted.on("PUT", f"{one}/cancel", {"success": True, "detail": REPEATED})
    hosted.on("GET", "/file", Reply(200, png()))
    return one


REFUSALS: dict[str, Reply] = {
    **{f"{code}": Reply(code, {"detail": f"No, {REPEATED}", "error_type": REPEATED}, ECHO) for code in (401, 402, 404, 500)},
    "422": Reply(422, {"detail": [{"loc": ["body", "input", "prompt"], "msg": REPEATED, "input": CANARY.key}]}, ECHO),
    "a page": Reply(502, f"<html><head><title>{CANARY.key}</title></head><body>{REPEATED}</body></html>", {"content-type": "text/html", **ECHO}),
    "text": Reply(500, REPEATED, ECHO),
    "no JSON": Reply(200, REPEATED, ECHO),
    "no id": Reply(200, {"hello": REPEATED}, ECHO),
    "closed": Reply(fault="close"),
    "half": Reply(200, {"requestId": REPEATED}, fault="half"),
    "garbage": Reply(fault="garbage"),
    "silent": Reply(fault="hang"),
    "elsewhere": Reply(307, REPEATED, {"location": f"http://127.0.0.1:9/?key={QUOTED}"}),
}  # fmt: skip
"""Every kind of refusal."""
OTHERS = {f"{code}": replace(REFUSALS["500"], status=code) for code in (400, 403, 405, 409, 413, 415, 503)} | {
    "reset": Reply(fault="reset")
}
"""Further ones, of which the package makes the same errors."""


@dataclass
class Tour:
    """Everything that was seen on the way."""

    values: list[Any] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    def keep(self, *values: Any) -> None:
        self.values += values

    def fails(self, work: Callable[[], Any]) -> None:
        """Do what has to fail, and keep how."""
        try:
            work()
        except Exception as error:
            self.errors.append(error)
        else:
            raise AssertionError("it did not fail")


def good_runs(tour: Tour, hosted: Hosted, client: Client) -> None:
    """From connecting to the library and its files, all going well."""
    tour.keep(
        client, client.account(), client.models(), client.features(), client.estimate(BOAT), client.model("lab/other")
    )
    a_run(hosted, "r-good")
    run = client.run(BOAT)
    tour.keep(run, run.output, run.media, run.logs, run.row, run.timings, client.run(BOAT), client.attach("r-good"))
    one = a_run(hosted, "r-cancelled", result=Reply(499, {"detail": REPEATED, "error_type": "cancelled"}))
    gate = threading.Event()
    hosted.on("GET", f"{one}/status", Reply(200, {"status": "COMPLETED", "request_id": "r-cancelled"}, gate=gate))
    started = client.start(BOAT.revised(seed=8))
    tour.fails(lambda: started.wait(0.05))
    tour.keep(started.cancel())
    gate.set()
    tour.fails(started.wait)
    library = rb.library()
    folder = library.export(Path("export"))
    Path("copy").mkdir()
    copy = rb.library(Path("copy"))
    tour.keep(library, library.frame, library.frame.to_csv(), library.frame.to_html(), library.summary(), library.verify(),
              library.find(prompt="boat"), library.size, copy.adopt(library), copy)  # fmt: skip
    saved = run.media[0].save(Path("saved.png"))
    tour.keep(saved, rb.provenance(Path("saved.png")), *map(rb.provenance, folder.glob("*.png")))


def bad_runs(tour: Tour, hosted: Hosted, client: Client, refusals: dict[str, Reply]) -> None:
    """Every way in which a run, a call or a download can fail."""
    for seed, reply in enumerate(refusals.values(), 100):
        hosted.on("POST", RUN, reply)
        tour.fails(lambda seed=seed: client.run(BOAT.revised(seed=seed)))  # type: ignore[misc]
        if reply.status >= 300:
            hosted.on("GET", "/account", reply)
            tour.fails(client.account)
    tour.keep(rb.library().uncertain, rb.library().frame.to_csv())
    results = {
        "failed": Reply(422, {"detail": REPEATED, "error_type": REPEATED}, ECHO),
        "page": Reply(200, f"<html>{REPEATED}</html>", {"content-type": "text/html"}),
        "file": Reply(200, {"video": {"url": f"{hosted.base_url}/gone?signature={QUOTED}"}, "seed": 1}),
    }
    for seed, (name, reply) in enumerate(results.items(), 200):
        a_run(hosted, f"r-{name}", result=reply)
        run = client.start(BOAT.revised(seed=seed))
        tour.fails(run.wait)
        tour.keep(run)
    tour.fails(lambda: client.attach("r-unknown", model=MODEL))
    hosted.on("GET", "/models/openapi.json", Reply(404, {"detail": REPEATED}, ECHO))
    tour.fails(lambda: client.model("lab/none"))
    hosted.stop_listening()
    tour.fails(lambda: client.run(BOAT.revised(seed=300)))


def scripted(hosted: Hosted) -> None:
    """What the service says beside its runs."""
    hosted.on("GET", "/account", Reply(200, {"name": REPEATED, "credits_available": 9, "key": CANARY.key}, ECHO))
    hosted.on("GET", "/models", [{"id": MODEL, "description": REPEATED}])
    info = {"title": REPEATED, "version": "1", "description": REPEATED}
    schema = {
        "type": "object",
        "properties": {"prompt": {"type": "string", "description": REPEATED, "default": CANARY.key}},
    }
    hosted.on("GET", "/models/openapi.json", {"openapi": "3.1.0", "info": info, "paths": {"/lab/other": {"post": {"requestBody": {"content": {"application/json": {"schema": schema}}}}}}})  # fmt: skip


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("refusals", [pytest.param(REFUSALS, id="kinds"), pytest.param(REFUSALS | OTHERS, id="all", marks=pytest.mark.deep)])  # fmt: skip
def test_nothing_that_is_shown_or_kept_has_the_key(
    refusals: dict[str, Reply], hosted: Hosted, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Values, copies, pickles, errors, tracebacks, logs, warnings, output and files, of all that goes well or wrong."""
    monkeypatch.setattr(downloader, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(answers, "RESULT_SECONDS", 0.2)
    for name in (None, "httpx", "httpcore", "asyncio", "reelbook"):
        caplog.set_level(logging.DEBUG, name)
    scripted(hosted)
    tour = Tour()

    with warnings.catch_warnings(record=True) as warned, rb.connect(hosted.base_url) as client:
        warnings.simplefilter("always")
        client._context.http.policy = RetryPolicy(max_attempts=2, backoff_seconds=0.01, paid_seconds=0.3)
        good_runs(tour, hosted, client)
        bad_runs(tour, hosted, client, refusals)
        seen = CANARY.found_about(client, vars(client), client._context, *tour.values)

    assert seen == []
    # A verbose traceback takes a tenth of a second: one of all that have the same frames, and each with `make deep`.
    ways = {
        tuple((frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)): error
        for error in tour.errors
    }
    looked_into = {id(error) for error in (ways.values() if refusals is REFUSALS else tour.errors)}
    found_in = {str(error): CANARY.found_in_error(error, verbosely=id(error) in looked_into) for error in tour.errors}
    assert {words: found for words, found in found_in.items() if found} == {}
    assert CANARY.found_in(caplog.text + "".join(repr(vars(record)) for record in caplog.records)) == []
    assert CANARY.found_in("".join(str(warning) for warning in warned)) == []
    assert CANARY.found_in("".join(capfd.readouterr())) == []
    assert CANARY.found_below(tmp_path) == {}
    assert all(
        CANARY.key == one.headers["x-api-key"] for one in hosted.received if one.path != "/file" and one.path != "/gone"
    )
    assert len(tour.errors) > len(refusals)
    assert "httpcore" in caplog.text


def test_the_key_is_found_in_every_spelling(tmp_path: Path) -> None:
    """The control: in the middle of a file, in a value deep inside another, and in an error's words, cause and variables."""
    (tmp_path / "deep").mkdir()
    for name, forms in CANARY.spellings.items():
        for form in forms:
            (tmp_path / "deep" / "file.bin").write_bytes(b"\xff\0" + form.encode() + b"\0\xff")
            (tmp_path / "wide.txt").write_bytes(form.encode("utf-16"))
            error = ValueError("nothing to see")
            error.__cause__ = KeyError(form)

            assert name in CANARY.found_in(f"before{form}after")
            assert set(CANARY.found_below(tmp_path)) == {"deep/file.bin", "wide.txt"}
            assert CANARY.found_about([{"a": (1, [Tour(values=[form])])}])
            assert "traceback" in CANARY.found_in_error(error)


WRONG: dict[str, Callable[[Path], dict[str, Any]]] = {
    "a file for a library": lambda place: {"library": place / "file"},
    "no rates": lambda place: {"rates": place / "none.toml"},
    "a shelf of no kind": lambda place: {"shelf": "nowhere://bucket/folder"},
    "no address": lambda place: {"address": "ftp://example.org"},
}


@pytest.mark.parametrize("given", ["argument", "environment"])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_failing_connect_shows_no_key_in_its_frames(
    hosted: Hosted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str, given: str
) -> None:
    """Neither from its argument nor from the environment, whatever else is wrong, in the most talkative traceback."""
    (tmp_path / "file").write_text("not a folder")
    key = {"api_key": CANARY.key} if given == "argument" else {}
    if given == "argument":
        monkeypatch.delenv("REELBOOK_API_KEY")

    with pytest.raises((rb.ReelbookError, OSError)) as caught:
        rb.connect(**{"address": hosted.base_url, **key, **WRONG[wrong](tmp_path)})

    assert "current.py" in verbose(caught.value)
    assert CANARY.found_in_error(caught.value) == []


@pytest.mark.parametrize(
    "echo",
    [CANARY.key, QUOTED, quote(CANARY.key), base64.b64encode(CANARY.key.encode()).decode(),
     base64.urlsafe_b64encode(CANARY.key.encode()).decode()],
    ids=["plain", "quoted", "quoted as a path", "base64", "base64url"],
)  # fmt: skip
def test_a_service_that_repeats_the_key_in_some_spelling_is_not_quoted(hosted: Hosted, echo: str) -> None:
    """In its reasons, and in its results."""
    hosted.on("GET", "/account", Reply(401, {"detail": f"Unknown key {echo}."}), {"name": f"the lab of {echo}"})

    with pytest.raises(rb.Unauthorized, match="Unknown key") as caught:
        rb.connect(hosted.base_url)
    with rb.connect(hosted.base_url) as client:
        told = client.account()

    assert CANARY.found_in(str(caught.value)) == []
    assert CANARY.found_in(str(told)) == []


def test_no_other_host_ever_receives_the_key(hosted: Hosted, tmp_path: Path) -> None:
    """Neither the host of the files, nor where that one redirects to, nor what the service names as its other addresses."""
    with Hosted() as files, Hosted() as elsewhere:
        elsewhere.on("GET", "/file", Reply(200, png()))
        files.on("GET", "/file", Reply(302, "", {"location": f"{elsewhere.base_url}/file"}))
        one = a_run(hosted, "r1", host=files.base_url)
        away = {what: f"{elsewhere.base_url}{one}/{what}" for what in ("status_url", "response_url", "cancel_url")}
        hosted.on("POST", RUN, {"requestId": "r1", **away})
        moved = Reply(307, "", {"location": f"{elsewhere.base_url}/elsewhere"})
        hosted.on("GET", "/account", moved)
        with rb.connect(hosted.base_url) as client:
            run = client.run(BOAT)
            with pytest.raises(rb.ServiceError, match="another address"):
                client.account()
            hosted.on("POST", RUN, moved)
            with pytest.raises(rb.UncertainRun):
                client.run(BOAT.revised(seed=8))

    assert run.status == "completed"
    assert [one.path for one in files.received] == ["/file"]
    assert [one.path for one in elsewhere.received] == ["/file"]
    assert [CANARY.found_in(all_of(one)) for one in [*files.received, *elsewhere.received, *hosted.seen(path="/file")]] == [[], []]  # fmt: skip
    assert CANARY.found_in(all_of(hosted.received[0])), "the control: the service itself received it"


def all_of(one: Received) -> str:
    return f"{one.path}?{one.query} {dict(one.headers)} {one.body!r}"


# The embedded service.


def test_the_embedded_service_keeps_its_key_in_one_private_file_only(tmp_path: Path) -> None:
    """Nothing else in the library has it, nor anything that the client shows, and nobody else may read it."""
    private = tmp_path / "library" / "service"
    private.parent.mkdir(mode=0o700)
    private.mkdir(mode=0o700)
    kept = private / "address.json"
    kept.write_text(json.dumps({"base_url": "http://127.0.0.1:9", "key": CANARY.key, "id": "before"}))

    with rb.connect() as client:
        run = client.run(rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16), frames=1)]))
        run.video.save(tmp_path / "saved.mp4")
        rb.library().export(tmp_path / "export")
        inside = CANARY.found_in(kept.read_bytes())
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (kept, private, private.parent)]
        anywhere = CANARY.found_below(tmp_path, except_in=[kept])
        shown = [repr(vars(value)) for value in (client, client._context, client._embedded, run, rb.library())]
        shown += [repr(client._embedded and client._embedded.address()), repr(client.account()), repr(client)]

    assert "plain" in inside, "the control: this is the key that was used"
    assert modes == [0o600, 0o700, 0o700]
    assert anywhere == {}
    assert CANARY.found_in("".join(shown)) == []
    assert CANARY.found_below(tmp_path, except_in=[kept]) == {}


def test_the_workers_that_open_strangers_media_do_not_have_the_key() -> None:
    """The key of a hosted service is in the environment of the notebook, and goes no further."""
    assert CANARY.found_in(str(os.environ)), "the control: it is in ours"
    assert CANARY.found_in(str(worker_environment())) == []


# Other processes.


def in_a_shell(*words: str, url: str) -> subprocess.CompletedProcess[str]:
    """`reelbook` on the command line, with the key where the manual says."""
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "reelbook", *words], capture_output=True, text=True, timeout=60,
        check=False, env={**os.environ, "REELBOOK_URL": url},
    )  # fmt: skip


def test_the_command_line_prints_and_keeps_no_key(
    hosted: Hosted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A run that goes well, and one that is refused."""
    a_run(hosted, "r1")
    monkeypatch.setenv("REELBOOK_URL", hosted.base_url)
    status, good = cli.main(["run", MODEL, json.dumps(BOAT.changed())]), capfd.readouterr()
    if session.current is not None:
        session.current.close()
    hosted.on("POST", RUN, REFUSALS["401"])
    bad = in_a_shell("run", MODEL, json.dumps(BOAT.revised(seed=8).changed()), url=hosted.base_url)

    assert (status, bad.returncode) == (0, 1), good.err + bad.stderr
    assert "[key]" in bad.stderr
    assert [CANARY.found_in(text) for text in (good.out, good.err, bad.stdout, bad.stderr)] == [[], [], [], []]
    assert CANARY.found_below(tmp_path) == {}


def in_a_kernel(notebook: Any, folder: Path, url: str) -> None:
    """Run all cells, with the key in the environment and everything that Jupyter writes in this folder."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
            patch.setenv(name, str(folder / name.lower()))
        patch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
        patch.setenv("REELBOOK_URL", url)
        NotebookClient(notebook, timeout=60, kernel_name="python3", allow_errors=True, resources={"metadata": {"path": str(folder)}}).execute()  # fmt: skip
