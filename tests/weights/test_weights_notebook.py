"""What a notebook does with weights of its own: the embedded service, tiny weights on the CPU, and `rb.` alone."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

import reelbook as rb
from reelbook.client import Client
from reelbook.display.cards import provenance_table
from reelbook_service.workers import WorkerLane
from tests.support import read_charges
from tests.weights.tiny import CHECK, LORAS, LTX, UPSAMPLER

PRICE = 53
WAIT = 120.0
BASE = rb.TextToVideo(
    prompt="a paper boat", num_frames=9, seed=7, resolution="480p", aspect_ratio="1:1", expand_prompt=False,
    enable_safety_checker=False, first_pass_num_inference_steps=2, second_pass_num_inference_steps=2,
    second_pass_skip_initial_steps=1, loras=[rb.LoRA(path="paper")],
)  # fmt: skip
PLAN = rb.sweep(BASE, seed=[1, 2, 3], **{"loras[0].scale": [0.0, 1.0]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("notebook")


@pytest.fixture(scope="module")
def client(folder: Path, weights: Path) -> Iterator[Client]:
    """The client of all cells: loading the weights takes most of the time here."""
    models = folder / "models.toml"
    models.write_text(
        f'[models."{BASE.endpoint_id}"]\nengine = "diffusers"\nfamily = "ltx"\nfolder = "{weights / LTX}"\n'
        f'upsampler = "{weights / UPSAMPLER}"\ndevice = "cpu"\ndtype = "float32"\ndownscale = 0.25\n'
        f'[loras]\nfolders = ["{weights / LORAS}"]\n'
    )
    with rb.connect(models=models, library=folder / "library") as client:
        yield client


@pytest.fixture(scope="module")
def swept(client: Client, folder: Path) -> pd.DataFrame:
    """The table of a sweep of six, during which the worker was killed in the middle of a run."""
    killed: list[int] = []

    def kill_once(job: Any) -> None:
        if job.progress.finished and not killed and (running := pids(client)):
            killed.append(running[0])
            os.kill(running[0], signal.SIGKILL)

    job = PLAN.start()
    job.on_change(kill_once)
    table = job.wait(timeout=WAIT)
    assert killed
    return table


def pids(client: Client) -> list[int]:
    """The processes that make a run on the device now."""
    assert client._embedded is not None
    assert client._embedded._server is not None
    (lane,) = [lane for name, lane in client._embedded._server.service.lanes.items() if name.startswith("weights:")]
    assert isinstance(lane, WorkerLane)
    return list(lane.pids.values())


def service_folder(folder: Path) -> Path:
    """The folder of the embedded service that runs these weights; another engine has another one."""
    (found,) = (folder / "library").glob("service-*")
    return found


def log_of(client: Client, folder: Path, request_id: str) -> str:
    """The log of a run that the service has, also of one that came out of the library."""
    key = json.loads((service_folder(folder) / "address.json").read_text())["key"]
    path = f"{client.base_url}/{BASE.endpoint_id}/requests/{request_id}/status"
    return httpx.get(path, params={"logs": 1}, headers={"x-api-key": key}).text


def charges(folder: Path, request_id: str) -> list[tuple[str, int]]:
    """What the service has written down about the credits of a run."""
    lines = read_charges(service_folder(folder))
    return [(line["kind"], line["credits"]) for line in lines if line["request_id"] == request_id]


def test_a_sweep_survives_its_worker(swept: pd.DataFrame, folder: Path, client: Client) -> None:
    """Six runs come out once and are paid once; each setting has a clip of its own, and scale 0 is not scale 1."""
    clips = [Path(path).read_bytes() for path in swept["output_video"]]

    assert list(swept["status"]) == ["completed"] * 6
    assert len(set(clips)) == 6
    assert (
        sum("The worker died; the run starts again" in log_of(client, folder, one) for one in swept["request_id"]) == 1
    )
    assert [charges(folder, one) for one in swept["request_id"]] == [[("reserve", PRICE), ("settle", PRICE)]] * 6
    assert int(swept.reel.cost()["credits"].item()) == 6 * PRICE
    assert list(swept.reel.cost("loras[0].scale")["credits"]) == [3 * PRICE] * 2
    assert client.account()["credits_reserved"] == 0


def test_a_file_names_the_weights_that_made_it(swept: pd.DataFrame) -> None:
    """Family, folder and hash of the weights, in the file itself; and the input, to be run again."""
    path = Path(swept["output_video"].iloc[1])

    found = rb.provenance(path)

    assert found.engine is not None
    assert found.engine.startswith("ltx")
    assert str(found.engine_version).startswith(f"{LTX}@")
    assert found.input == BASE.revised(seed=1, loras=[rb.LoRA(path="paper", scale=1.0)])
    assert f"{found.engine} {found.engine_version}" in provenance_table(found)


def test_refused_pictures_cost_nothing_and_are_not_kept(
    client: Client, folder: Path, weights: Path, tmp_path: Path
) -> None:
    """Also where the input turns the check off, without the permission to do so."""
    models = tmp_path / "models.toml"
    safety = f'[safety]\nfolder = "{weights / CHECK}"\nthreshold = 0\n'
    models.write_text((folder / "models.toml").read_text() + safety)

    with rb.connect(models=models, library=tmp_path / "library") as other:
        with pytest.raises(rb.RunFailed, match="refused the pictures") as refused:
            other.run(BASE.revised(loras=[], enable_safety_checker=False))
        reserved = other.account()["credits_reserved"]

    assert refused.value.error_type == "content_policy_violation"
    assert (reserved, charges(tmp_path, refused.value.request_id)) == (0, [("reserve", PRICE), ("refund", PRICE)])
    assert list(tmp_path.rglob("*.mp4")) == []


def test_a_clip_of_another_engine_is_not_taken_for_one_of_these_weights(
    client: Client, folder: Path, tmp_path: Path
) -> None:
    """The same input in the same library: the embedded engine and the weights each make their clip once."""
    boat, models = BASE.revised(loras=[]), folder / "models.toml"

    def make(**settings: Any) -> rb.Run:
        with rb.connect(library=tmp_path, **settings) as other:
            return other.run(boat)

    drawn, made, again, drawn_again = make(), make(models=models), make(models=models), make()

    assert [run.from_library for run in (drawn, made, again, drawn_again)] == [False, False, True, True]
    assert drawn.video.path.read_bytes() != made.video.path.read_bytes() == again.video.path.read_bytes()
