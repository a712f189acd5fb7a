"""rb.model: an input class from a service's description, kept for a day."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import reelbook as rb
from tests.support import png
from tests.transport.variants import Hosted, Reply

FIELDS = {
    "prompt": {"type": "string"}, "seed": {"type": "integer", "minimum": 0},
    "strength": {"type": "number", "maximum": 1, "default": 0.5},
}  # fmt: skip
SCHEMA = {"type": "object", "required": ["prompt"], "properties": FIELDS}
CONTENT = {"content": {"application/json": {"schema": SCHEMA}}}
DOCUMENT = {"openapi": "3.1.0", "paths": {"/lab/echo": {"post": {"requestBody": CONTENT}}}}


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    with Hosted() as service:
        service.on("GET", "/models/openapi.json", DOCUMENT)
        yield service


def test_a_model_that_nobody_here_knew_is_run_like_any_other(hosted: Hosted, tmp_path: Path) -> None:
    """Typed, checked before it is sent, its output kept as it comes, and served from the library the second time."""
    hosted.queue("lab/echo", output={"clip": {"url": f"{hosted.base_url}/file"}})
    hosted.on("GET", "/file", Reply(200, png()))
    with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path) as client:
        echo = rb.model("lab/echo")
        with pytest.raises(rb.InvalidInput, match="strength"):
            echo(prompt="x", strength=2)
        run = client.run(echo(prompt="x", seed=1))
        again = client.run(echo(prompt="x", seed=1))

    assert run.images[0].path.read_bytes() == png()
    assert run.credits is None
    assert again.from_library
    assert hosted.seen("POST", "/models/run")[0].json == {
        "endpointId": "lab/echo",
        "input": {"prompt": "x", "seed": 1, "strength": 0.5},
    }


def test_a_description_is_asked_for_once_a_day(hosted: Hosted, tmp_path: Path, impatient: None) -> None:
    """Kept in the library, read by the next client too, asked for again when it is old, and used when nobody answers."""
    path = "/models/openapi.json"
    for _ in range(2):
        with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path) as client:
            client.model("lab/echo")
            client.model("lab/echo")
    asked = len(hosted.seen("GET", path))
    for kept in (tmp_path / "descriptions").iterdir():
        os.utime(kept, (time.time() - 90_000,) * 2)
    with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path) as client:
        client.model("lab/echo")
        asked_when_old = len(hosted.seen("GET", path))
        for kept in (tmp_path / "descriptions").iterdir():
            os.utime(kept, (time.time() - 90_000,) * 2)
        hosted.stop_listening()
        unreachable = client.model("lab/echo")

    assert (asked, asked_when_old) == (1, 2)
    assert unreachable.endpoint_id == "lab/echo"


def test_a_model_that_is_not_there_is_named_with_the_nearest_that_is(hosted: Hosted, tmp_path: Path) -> None:
    """From the service's own list."""
    hosted.on("GET", "/models/openapi.json", Reply(404, {"detail": "Not Found"}))
    hosted.on("GET", "/models", [{"id": "lab/echo"}])
    with (
        rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path),
        pytest.raises(rb.UnknownModel, match="'lab/echo'"),
    ):
        rb.model("lab/ecko")
