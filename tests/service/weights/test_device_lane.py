"""The lane of a device, with a stand-in for the engine: what waits, what is put back, and what is charged."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reelbook_service import workers
from reelbook_service.hosted.models_file import ModelsFile
from reelbook_service.lanes import LaneTable
from reelbook_service.weights.config import LtxWeights
from reelbook_service.workers import DeviceGroup, WorkerLane
from tests.support import MOVE, TEXT, Serve, Served, as_data_uri, examples, png

MODULE = "tests.service.weights.stand_in_engine"
ROOT = Path(__file__).parents[3]
BALANCED = [("reserve", 53), ("refund", 53)]

Open = Callable[..., Served]


class StandIn(DeviceGroup):
    """A group whose workers load the stand-in."""

    def weights_on(self, device: str) -> dict[str, Any]:
        """What the worker of a device has to load."""
        return {**DeviceGroup.weights_on(self, device), "module": MODULE}


def lane_table(*rows: LtxWeights) -> LaneTable:
    """The lanes of these rows; those with the same devices share one."""
    file = ModelsFile(Path(), {}, {}, {row.endpoint_id: row for row in rows})
    groups = [StandIn(group.devices, group.rows) for group in file.groups()]
    return LaneTable(
        by_model={row.endpoint_id: group.lane for group in groups for row in group.rows},
        makers={group.lane: partial(WorkerLane, group=group) for group in groups},
        labels={group.lane: group.lane for group in groups},
    )


@pytest.fixture
def device(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """A service whose generative models run on a device, by the stand-in."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def opened(text: str = "ltx", move: str = "ltx", devices: tuple[str, ...] = ("cpu",), **more: Any) -> Served:
        for name in (text, move):
            (tmp_path / name).mkdir(exist_ok=True)
        moving = more.pop("move_devices", devices)
        rows = [
            LtxWeights(endpoint_id=TEXT, folder=tmp_path / text, devices=devices),
            LtxWeights(endpoint_id=MOVE, folder=tmp_path / move, devices=moving),
        ]
        return serve(workers=1, lanes=lane_table(*rows), data=tmp_path / "data", **more)

    return opened


def text(prompt: str = "a paper boat", **more: Any) -> dict[str, Any]:
    return {"prompt": prompt, "num_frames": 9, "seed": 7, **more}


def until(served: Served, request_id: str, words: str, model: str = TEXT) -> dict[str, Any]:
    """The status of a run, once these words are in it."""
    return served.until(re.escape(words), model, request_id)


def lane_of(served: Served) -> WorkerLane:
    (lane,) = [lane for name, lane in served.server.service.lanes.items() if name.startswith("weights:")]
    assert isinstance(lane, WorkerLane)
    return lane


def cancelled(served: Served, request_id: str) -> dict[str, Any]:
    served.cancel(TEXT, request_id)
    return served.finished(TEXT, request_id)


def kill_worker(served: Served, request_id: str, dead: int | None = None) -> int:
    """Kill the process of a run once it draws, and return its id; `dead` is the one that was killed before."""

    def draws(status: dict[str, Any]) -> bool:
        return status["metrics"].get("stage") == "drawing" and lane_of(served).pids.get(request_id, dead) != dead

    served.status_once(draws, TEXT, request_id)
    pid = lane_of(served).pids[request_id]
    os.kill(pid, signal.SIGKILL)
    return pid


def facts_of(status: dict[str, Any]) -> dict[str, Any]:
    """What the stand-in says of its process."""
    lines = [entry["message"] for entry in status["logs"]["entries"]]
    return dict(json.loads(next(line for line in lines if line.startswith("{"))))


def test_a_worker_of_a_device_loads_once_and_stays(device: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two models on one folder share a worker, and it has neither tokens nor keys nor proxies."""
    monkeypatch.setenv("HF_TOKEN", "canary-of-a-token")
    monkeypatch.setenv("SOME_API_KEY", "canary-of-a-key")
    served = device()

    one = served.finished(TEXT, served.submitted(TEXT, text()))
    two = served.finished(MOVE, served.submitted(MOVE, {"prompt": "closer", "image_url": as_data_uri(png())}))

    here = facts_of(one)
    assert facts_of(two)["pid"] == here["pid"]
    assert "canary" not in json.dumps(here)
    assert here["nice"] == os.nice(0)
    assert (here["environment"]["HF_HUB_OFFLINE"], here["environment"]["CUDA_VISIBLE_DEVICES"]) == ("1", "")
    assert served.get("/").json()["engines"][TEXT] == "weights:cpu"


def test_a_cancelled_run_leaves_worker_and_weights(device: Open) -> None:
    """It is refunded; the next run is made by the same process without loading."""
    served = device()
    request_id = served.submitted(TEXT, text("slow"))
    pid = facts_of(until(served, request_id, '"stage": "drawing"'))["pid"]

    final = cancelled(served, request_id)
    after = served.finished(TEXT, served.submitted(TEXT, text()))

    assert final["error_type"] == "cancelled"
    assert served.money(request_id) == BALANCED
    assert facts_of(after)["pid"] == pid
    assert "Loaded" not in json.dumps(after["logs"])


def test_a_run_that_does_not_react_is_killed(device: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it is cancelled: a second request wins no time. It is refunded, and the next run has another process."""
    monkeypatch.setattr(workers, "DEVICE_CANCEL_SECONDS", 0.5)
    served = device()
    request_id = served.submitted(TEXT, text("deaf"))
    pid = facts_of(until(served, request_id, '\\"pid\\"'))["pid"]

    while served.cancel(TEXT, request_id).json()["success"]:
        pass
    after = served.finished(TEXT, served.submitted(TEXT, text()))

    assert served.finished(TEXT, request_id)["error_type"] == "cancelled"
    assert served.money(request_id) == BALANCED
    assert facts_of(after)["pid"] != pid


def test_every_failure_is_refunded(device: Open) -> None:
    """A lost device and a dead worker get one more try; the lane goes on after each."""
    served = device()
    for prompt, more, error_type, words in [
        ("lost", {}, "engine_error", "The device was lost 2 times"),
        ("crash", {}, "engine_error", "The worker died 2 times"),
        ("too large", {}, "engine_error", "1280x720 with 121 frames"),
        ("boat", {"loras": [{"path": "none", "scale": 1}]}, "lora_load_error", "no LoRA of that name"),
    ]:
        request_id = served.submitted(TEXT, text(prompt, **more))
        final = served.finished(TEXT, request_id)

        assert (final["error_type"], words in final["error"]) == (error_type, True)
        assert served.money(request_id) == BALANCED
        assert served.result(TEXT, request_id).status_code == (422 if "lora" in error_type else 500)
        assert "error" not in served.finished(TEXT, served.submitted(TEXT, text()))


def test_the_charge_log_is_balanced_after_kills(device: Open, tmp_path: Path) -> None:
    """Killed once, a run is made again and paid for once; killed twice, or cancelled after it, it is refunded."""
    served, hold = device(), tmp_path / "ltx" / "hold-run"
    ends: dict[str, list[tuple[str, int]]] = {}

    rounds = examples(1, 5)  # Four kills each.
    for how in ("again", "twice", "cancelled") * rounds:
        hold.touch()
        request_id = served.submitted(TEXT, text("held"))
        dead = kill_worker(served, request_id)
        if how == "twice":
            kill_worker(served, request_id, dead)
        if how == "again":
            hold.unlink()
        final = cancelled(served, request_id) if how == "cancelled" else served.finished(TEXT, request_id)
        ends[request_id] = [("reserve", 53), ("settle", 53)] if how == "again" else BALANCED
        assert ("error" in final) == (how != "again")

    assert {request_id: served.money(request_id) for request_id in ends} == ends
    account = served.get("/account").json()
    assert (account["credits_reserved"], account["credits_spent"]) == (0, rounds * 53)


def test_weights_that_cannot_be_loaded_are_named_by_each_run_and_the_others_go_on(device: Open) -> None:
    """It is refunded, and the lane of other devices is not held up."""
    served = device(text="broken", move="ltx", devices=("cpu",), move_devices=("cuda:0",))
    request_id = served.submitted(TEXT, text())

    ended = served.finished(TEXT, request_id)
    other = served.finished(MOVE, served.submitted(MOVE, {"prompt": "closer", "image_url": as_data_uri(png())}))

    assert (ended["error_type"], ended["error"]) == ("engine_error", "vae lacks a tensor.")
    assert served.money(request_id) == BALANCED
    assert "error" not in other
    assert facts_of(other)["environment"]["CUDA_VISIBLE_DEVICES"] == "0"
