"""The door: clients, the default one, and calls from wherever a person may make them."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from reelbook import errors
from reelbook.api import table_accessor  # noqa: F401  # Gives tables their `.reel`.
from reelbook.current import session
from tests.support import Served, as_data_uri, png
from tests.transport.variants import Hosted, Reply, page

TINY = {"num_frames": 9, "resolution": "480p", "aspect_ratio": "1:1", "seed": 7}
FIELDS = {
    "prompt": {"type": "string"}, "seed": {"type": "integer", "minimum": 0},
    "strength": {"type": "number", "maximum": 1, "default": 0.5},
}  # fmt: skip
SCHEMA = {"type": "object", "required": ["prompt"], "properties": FIELDS}
CONTENT = {"content": {"application/json": {"schema": SCHEMA}}}
DOCUMENT = {"openapi": "3.1.0", "paths": {"/lab/echo": {"post": {"requestBody": CONTENT}}}}


def dot(rate: int) -> rb.ImagesToVideo:
    """The quickest run there is; another rate is another run."""
    return rb.ImagesToVideo(images=[rb.Frame(url=png(16, 16), frames=1)], fps=rate)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[rb.Client]:
    """A client of the embedded service: a real local port, no key, no cost."""
    with rb.connect(library=tmp_path_factory.mktemp("library")) as client:
        yield client


def test_a_prompt_becomes_a_video_on_this_machine(client: rb.Client) -> None:
    """Run, output, credits and media, all there when the call returns."""
    run = client.run(rb.TextToVideo(prompt="a paper boat", **TINY))

    assert (run.status, run.output.seed) == ("completed", 7)
    assert (run.credits, run.credits_source) == (53, "charged")
    assert (run.video.probe.frames, run.video.probe.width, run.video.probe.height) == (9, 480, 480)
    assert run.video.path.is_relative_to(client.library)
    assert run.request_id in repr(run)
    assert any("sketch" in line for line in run.logs)
    assert set(run.timings) == {"queued", "running", "total"}


def test_a_picture_becomes_pictures_of_other_sizes(client: rb.Client) -> None:
    """Typed to the last field: images in order, and the results that repeat them by size."""
    run = client.run(rb.SmartResize(image_url=as_data_uri(png(64, 32)), target_sizes=["32x32", "48x24"], seed=1))

    assert [(image.width, image.height) for image in run.output.images] == [(32, 32), (48, 24)]
    assert [result.images for result in run.output.results] == [run.output.images[:1], run.output.images[1:]]
    assert [(file.probe.width, file.probe.height) for file in run.images] == [(32, 32), (48, 24)]
    assert run.credits == 11
    assert run.row["output_images"] == [str(file.path) for file in run.images]


def test_a_run_can_be_started_awaited_and_picked_up_again(client: rb.Client) -> None:
    """start returns at once, await gives the run, attach finds it by its id."""
    started = client.start(dot(1))

    async def awaited() -> rb.Run:
        return await started

    same = asyncio.run(awaited())
    picked_up = client.attach(started.request_id, model=rb.TextToVideo.endpoint_id).wait(30)

    assert same is started
    assert picked_up.video.path == started.video.path


def test_a_failed_run_says_why_and_costs_nothing(client: rb.Client) -> None:
    """The service's sentence and its kind of error reach the caller."""
    with pytest.raises(errors.RunFailed, match="could not be used") as caught:
        client.run(rb.SmartResize(image_url=as_data_uri(png(64, 32)[:-30]), target_sizes=["16x16"]))

    assert caught.value.error_type == "image_load_error"


def test_the_latest_open_client_is_the_default_and_gives_its_place_back(tmp_path: Path) -> None:
    """rb.run and its kin use it; a closed client refuses to run."""
    with rb.connect(library=tmp_path / "a") as first:
        with rb.connect(library=tmp_path / "b") as second:
            assert session.client() is second
        assert session.client() is first
        with pytest.raises(errors.ReelbookError, match="closed"):
            second.start(rb.TextToVideo(prompt="x"))


def test_a_library_without_a_client_is_opened_once(tmp_path: Path) -> None:
    """However often it is named; and after a folder was replaced, what is there now is read."""
    for name in ("a", "b"):
        with rb.connect(library=tmp_path / name) as client:
            client.run(dot(1))

    def count_open() -> int:
        return [thread.name for thread in threading.enumerate()].count("reelbook-ledger")

    before = count_open()
    found = [rb.library(tmp_path / "a").run(1) for _ in range(20)]
    opened = count_open() - before
    shutil.rmtree(tmp_path / "a")
    (tmp_path / "b").rename(tmp_path / "a")
    other = rb.library(tmp_path / "a").run(1)

    assert len({run.request_id for run in found}) == 1
    assert opened == 1
    assert other.request_id != found[0].request_id


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("ftp://x", errors.ReelbookError),
        ("localhost:8600", errors.ReelbookError),
        ("http://127.0.0.1:9", errors.Unreachable),
    ],
)
def test_an_address_that_is_none_or_that_nobody_answers_is_a_clear_error(
    tmp_path: Path, address: str, kind: type[Exception], impatient: None
) -> None:
    """Told at connect or at the first call, in a sentence."""
    before = session.current
    with pytest.raises(kind, match=r"address|URL"), rb.connect(address, api_key="k", library=tmp_path) as client:
        client.estimate(rb.TextToVideo(prompt="x"))

    assert session.current == before


@pytest.mark.parametrize("call", [rb.run, rb.start, rb.estimate])
@pytest.mark.parametrize("odd", [None, "x", rb.TextToVideo])
def test_what_is_no_input_is_refused_before_a_service_is_started_for_it(
    monkeypatch: pytest.MonkeyPatch, call: Callable[[Any], Any], odd: Any
) -> None:
    """The sentence says what was given, that nothing was sent, and what to give."""
    monkeypatch.setattr(session, "client", lambda: pytest.fail("a service was started"))

    with pytest.raises(errors.ReelbookError, match=r"needs a typed input, not .*Nothing was sent: give one, such as"):
        call(odd)


def test_runs_are_made_and_awaited_from_any_thread_and_loop(client: rb.Client) -> None:
    """A notebook's cell runs inside a loop: blocking calls work there, several runs are awaited at once, and so in threads."""
    found: list[str] = []

    async def made(rate: int) -> None:
        found.append((await client.start(dot(rate))).status)

    async def cell() -> None:
        found.append(client.run(dot(2)).status)
        await asyncio.gather(*map(made, (10, 11, 12)))

    threads = [threading.Thread(target=lambda n=n: found.append(client.run(dot(3 + n)).status)) for n in range(3)]
    threads.append(threading.Thread(target=lambda: asyncio.run(made(14))))
    for thread in threads:
        thread.start()
    asyncio.run(cell())
    for thread in threads:
        thread.join()

    assert found == ["completed"] * 8


def test_a_run_that_is_awaited_can_be_given_up_and_waited_for_again(client: rb.Client) -> None:
    """A timeout of asyncio ends the waiting only, in words that say so."""

    async def given_up() -> tuple[str, str]:
        run = client.start(dot(20))
        with pytest.raises(TimeoutError) as caught:
            async with asyncio.timeout(0):
                await run
        return str(caught.value.__cause__), (await run).status

    words, status = asyncio.run(given_up())

    assert "continues at the service" in words
    assert status == "completed"


def test_a_lab_s_own_rates_set_the_price_of_the_embedded_service(tmp_path: Path) -> None:
    """The estimate, the charge and the breakdown follow the table; another client may not change it meanwhile."""
    table, other = tmp_path / "rates.toml", tmp_path / "other.toml"
    table.write_text(f'["{rb.ImagesToVideo.endpoint_id}"]\nunit = "second"\nrate = "200.5"\n', encoding="utf-8")
    other.write_text("", encoding="utf-8")

    with rb.connect(library=tmp_path / "library", rates=table) as client:
        told, run = client.estimate(dot(2)), client.run(dot(2))
        with pytest.raises(errors.ReelbookError, match="other rates"):
            rb.connect(library=tmp_path / "library", rates=other)

    assert told.credits == run.credits == 101  # one frame at 2 per second: 0.5 s × 200.5, rounded up
    assert "your rates" in repr(told)


@pytest.mark.parametrize("is_spec_only", [False, True])
def test_a_mistyped_key_fails_where_it_is_given(
    shared: Served, shared_spec_only: Served, tmp_path: Path, is_spec_only: bool
) -> None:
    """The error says so, and the client before stays the current one."""
    served = shared_spec_only if is_spec_only else shared
    with rb.connect(served.base_url, api_key=served.key, library=tmp_path / "a") as client:
        with pytest.raises(rb.Unauthorized, match="key"):
            rb.connect(served.base_url, api_key="mistyped", library=tmp_path / "b")

        assert session.current is client


@pytest.mark.parametrize("answer", [page(502), Reply(500, {"detail": "busy"}), Reply(fault="close")])
def test_a_service_that_does_not_say_whether_it_knows_the_key_is_connected_to(answer: Reply, tmp_path: Path) -> None:
    """It may be in trouble, or speak another dialect; the first run tells."""
    with Hosted() as hosted:
        hosted.on("GET", "/account", answer)
        with rb.connect(hosted.base_url, api_key="a key", library=tmp_path) as client:
            assert session.current is client


def test_a_model_that_nobody_here_knew_is_run_like_any_other(tmp_path: Path) -> None:
    """Typed, checked before it is sent, its output kept as it comes, and served from the library the second time."""
    with Hosted() as hosted:
        hosted.on("GET", "/models/openapi.json", DOCUMENT, Reply(404, {"detail": "Not Found"}))
        hosted.queue("lab/echo", output={"clip": {"url": f"{hosted.base_url}/file"}})
        hosted.on("GET", "/file", Reply(200, png()))
        with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path) as client:
            echo = rb.model("lab/echo")
            assert rb.model("lab/echo") is echo
            with pytest.raises(rb.InvalidInput, match="strength"):
                echo(prompt="x", strength=2)
            with pytest.raises(rb.UnknownModel, match=r"no model 'lab/ecko'\. Compare it with the service's list"):
                rb.model("lab/ecko")
            run = client.run(echo(prompt="x", seed=1))
            again = client.run(echo(prompt="x", seed=1))
        sent = hosted.seen("POST", "/models/run")[0].json

    assert run.images[0].path.read_bytes() == png()
    assert run.credits is None
    assert again.from_library
    assert sent == {"endpointId": "lab/echo", "input": {"prompt": "x", "seed": 1, "strength": 0.5}}
