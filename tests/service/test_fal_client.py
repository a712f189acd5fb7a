"""fal-client, a client of others that speaks the same HTTP API, works against this service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import fal_client
import pytest
from fal_client import client as fal

from reelbook.models.catalog import CATALOG
from tests.service.test_addresses import inputs
from tests.support import MOVE, RESIZE, STITCH, TEXT, Served, deep

Connect = Callable[..., fal_client.SyncClient]


@pytest.fixture(params=["serve", "spec-only"])
def served(request: pytest.FixtureRequest) -> Served:
    """A service with all its features, and one that offers only what the specification lists."""
    which = "shared" if request.param == "serve" else "shared_spec_only"
    running: Served = request.getfixturevalue(which)
    return running.with_own_account()


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Opens fal-client's own client; only the address and the name of the key's header are those of our service."""
    with ExitStack() as stack:

        def open_client(served: Served, key: str | None = None) -> fal_client.SyncClient:
            monkeypatch.setattr(fal, "QUEUE_URL_FORMAT", f"{served.base_url}/")
            client = fal_client.SyncClient(key="unused")
            stack.enter_context(client._client).headers["x-api-key"] = key or served.key
            return client

        yield open_client


@pytest.mark.parametrize("endpoint_id", [STITCH, RESIZE, *deep((TEXT,), (MOVE,))])
def test_a_run_is_submitted_watched_and_fetched(served: Served, dot: str, endpoint_id: str, connect: Connect) -> None:
    """Submit, status with and without the log, events, result and subscribe give what plain HTTP gives."""
    client = connect(served)
    job = inputs(dot)[endpoint_id]

    handle = client.submit(endpoint_id, job)
    first = handle.status()
    events = list(handle.iter_events(with_logs=True, interval=0.02))
    output = handle.get()
    updates: list[Any] = []
    other = client.subscribe(endpoint_id, job, interval=0.02, on_queue_update=updates.append, with_logs=True)

    assert isinstance(first, (fal_client.Queued, fal_client.InProgress, fal_client.Completed))
    assert isinstance(events[-1], fal_client.Completed)
    assert events[-1].metrics["credits"] == next(row.base_credits for row in CATALOG if row.id == endpoint_id)
    assert events[-1].error is None
    assert isinstance(updates[-1], fal_client.Completed)
    assert (
        output == client.result(endpoint_id, handle.request_id) == served.result(endpoint_id, handle.request_id).json()
    )
    assert output.keys() == other.keys()
    assert isinstance(client.status(endpoint_id, handle.request_id), fal_client.Completed)


@pytest.mark.parametrize("endpoint_id", [TEXT, *deep((MOVE,), (RESIZE,), (STITCH,))])
def test_a_run_is_cancelled(served: Served, dot: str, endpoint_id: str, connect: Connect) -> None:
    """A cancelled run is reported as completed, its result is the error, and nothing is charged."""
    client = connect(served)
    takes_long: dict[str, dict[str, Any]] = {
        TEXT: {"num_frames": 1441, "resolution": "720p"},
        MOVE: {"duration": "10"},
        RESIZE: {"target_sizes": ["4096x4096"] * 20},
        STITCH: {"images": [{"url": dot, "frames": 100_000}]},
    }

    handle = client.submit(endpoint_id, inputs(dot)[endpoint_id] | takes_long[endpoint_id])
    client.cancel(endpoint_id, handle.request_id)
    last = list(handle.iter_events(interval=0.02))[-1]

    assert isinstance(last, fal_client.Completed)
    with pytest.raises(fal_client.FalClientHTTPError) as refused:
        handle.get(interval=0.02)
    assert (refused.value.status_code, refused.value.error_type) == (499, "cancelled")
    assert served.moves() == ["reserve", "refund"]
