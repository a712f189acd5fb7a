"""Tiny weights behind the whole service: real HTTP, a real worker, and the charge log to the credit."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from reelbook_service.accounts import NewAccount
from reelbook_service.devices import DeviceGroup, group_rows
from reelbook_service.hosted import lane_table
from reelbook_service.hosted.models_file import read_models_file
from reelbook_service.server import Server, bind_socket
from reelbook_service.service_settings import Settings
from tests.support import KEY, Served, as_data_uri, png
from tests.weights.losing_engine import LOSES
from tests.weights.tiny import LORAS, LTX, UPSAMPLER

TEXT, MOVE = "svc/text-to-video-13b-distilled", "svc/video-gen/v2.1/master/image-to-video"
ENGINE = "tests.weights.losing_engine"
ROOT = Path(__file__).parents[2]
TOKEN = "canary-of-a-token"
REFUNDED = [("reserve", 53), ("refund", 53)]


class Place:
    """A data folder with a `models.toml`, and the service on it."""

    def __init__(self, folder: Path, weights: Path) -> None:
        self._data, self._models = folder / "data", folder / "models.toml"
        row = (
            f'engine = "diffusers"\nfamily = "ltx"\nfolder = "{weights / LTX}"\nupsampler = "{weights / UPSAMPLER}"\n'
            'device = "cpu"\ndtype = "float32"\ndownscale = 0.25\n'
        )
        self._models.write_text(
            f'[models."{TEXT}"]\n{row}[models."{MOVE}"]\n{row}[loras]\nfolders = ["{weights / LORAS}"]\n'
        )
        self.served = self._start()

    def _start(self) -> Served:
        table = lane_table.make_lane_table(read_models_file(self._models))
        server = Server(Settings(self._data, workers=1, lanes=table), bind_socket("127.0.0.1", 0))
        server.service.accounts.open([NewAccount("me", KEY, 100_000)])
        server.start()
        return Served(server, httpx.Client(base_url=server.base_url, timeout=60))

    @property
    def workers_log(self) -> str:
        """What the workers have written for whoever runs the service."""
        return (self._data / "workers.log").read_text()

    def stop(self) -> None:
        """Stop the service."""
        self.served.http.close()
        self.served.server.stop()


@pytest.fixture(scope="module")
def hub() -> Iterator[socket.socket]:
    """Where a library would look for a hub; nobody may connect to it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield listening


@pytest.fixture(scope="module")
def place(weights: Path, tmp_path_factory: pytest.TempPathFactory, hub: socket.socket) -> Iterator[Place]:
    """One service for all tests here: loading takes most of their time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_TOKEN", TOKEN)
        patch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{hub.getsockname()[1]}")
        patch.delenv("HF_HUB_OFFLINE")
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setattr(lane_table, "group_rows", losing_groups)
        found = Place(tmp_path_factory.mktemp("service"), weights)
        yield found
        found.stop()


def losing_groups(*arguments: Any) -> list[DeviceGroup]:
    """The groups of a file, whose devices a prompt can lose."""
    return [replace(group, engine_module=ENGINE) for group in group_rows(*arguments)]


def text(**more: Any) -> dict[str, Any]:
    return {
        "prompt": "a paper boat", "num_frames": 9, "seed": 7, "resolution": "480p", "aspect_ratio": "1:1", "expand_prompt": False,
        "enable_safety_checker": False, "first_pass_num_inference_steps": 2, "second_pass_num_inference_steps": 2,
        "second_pass_skip_initial_steps": 1, **more,
    }  # fmt: skip


def until(served: Served, request_id: str, words: str) -> dict[str, Any]:
    """The status of a run, once these words are in it."""
    return served.until(re.escape(words), TEXT, request_id)


def content(served: Served, request_id: str) -> bytes:
    return served.http.get(served.result(TEXT, request_id).json()["video"]["url"]).content


def kinds(served: Served, request_id: str) -> list[tuple[str, int]]:
    return [(line["kind"], line["credits"]) for line in served.charges() if line["request_id"] == request_id]


@pytest.fixture(scope="module")
def first(place: Place) -> tuple[str, bytes, list[str]]:
    """The first clip, sent while the weights are still being loaded: its id, its bytes and the states of its model."""
    request_id = place.served.submitted(TEXT, text())
    before = place.served.get("/").json()["weights"][TEXT]["state"]
    final = place.served.finished(TEXT, request_id)
    assert "error" not in final, final["error"]
    after = place.served.get("/").json()["weights"][TEXT]["state"]
    return request_id, content(place.served, request_id), [before, after]


def test_the_same_clip_comes_from_loading_and_loaded_weights(place: Place, first: tuple[str, bytes, list[str]]) -> None:
    """The first request waits while they are loaded; the second needs no loading and has the same bytes."""
    _, made, states = first

    again = place.served.submitted(TEXT, text())
    final = place.served.finished(TEXT, again)

    assert states == ["loading", "ready"]
    assert content(place.served, again) == made
    assert final["metrics"]["engine"].startswith(f"ltx {LTX}@")
    assert "not the hosted model" in json.dumps(final["logs"])
    assert kinds(place.served, again) == [("reserve", 53), ("settle", 53)]


def test_a_bad_lora_is_refunded_and_a_picture_moves_on_the_same_weights(
    place: Place, first: tuple[str, bytes, list[str]]
) -> None:
    """The LoRA is refused with its own error, and the plain model is the same afterwards."""
    served = place.served
    bad = served.submitted(TEXT, text(loras=[{"path": "no-lora", "scale": 1}]))

    final = served.finished(TEXT, bad)
    moved = served.submitted(MOVE, {"prompt": "closer", "image_url": as_data_uri(png(64, 32)), "duration": "5"})
    assert "Loaded" not in json.dumps(served.finished(MOVE, moved)["logs"])
    assert served.result(MOVE, moved).status_code == 200
    after = served.submitted(TEXT, text())
    served.finished(TEXT, after)

    assert (final["error_type"], kinds(served, bad)) == ("lora_load_error", REFUNDED)
    assert served.result(TEXT, bad).status_code == 422
    assert content(served, after) == first[1]


def test_a_lost_device_gets_one_more_try_and_no_hub_is_asked(place: Place, hub: socket.socket) -> None:
    """The worker leaves with a code of its own, a new one loads the weights, and the second loss ends the run."""
    served = place.served
    request_id = served.submitted(TEXT, text(prompt=LOSES))

    loading = until(served, request_id, '"stage": "importing libraries"')
    final = served.finished(TEXT, request_id)

    assert (loading["status"], loading["metrics"]["progress"]) == ("IN_PROGRESS", 0.0)
    assert (final["error_type"], kinds(served, request_id)) == ("engine_error", REFUNDED)
    assert "The device was lost; the run starts again, free of charge." in json.dumps(final["logs"])
    assert "The device was lost 2 times over this run. Nothing was charged" in final["error"]
    assert "illegal memory access" in place.workers_log
    assert TOKEN not in place.workers_log
    with pytest.raises(BlockingIOError):
        hub.accept()
