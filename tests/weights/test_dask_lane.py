"""A Dask cluster as the devices of a lane: two processes here stand for two machines, with tiny weights on the CPU."""

from __future__ import annotations

import copyreg
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from reelbook.util.data_address import parse_data_address
from reelbook_service import dask_cluster
from reelbook_service.hosted.models_file import make_lane_table, read_models_file
from reelbook_service.workers import WorkerLane
from tests.support import KEY, MOVE, TEXT, Served, png, running
from tests.weights.tiny import LTX, UPSAMPLER

DRAWING = r'"progress": 0\.0*[1-9]'
REFUNDED, PAID = [("reserve", 53), ("refund", 53)], [("reserve", 53), ("settle", 53)]
TOKEN = "canary-of-a-token"


class Cluster:
    """A scheduler and two workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self._folder = folder
        self.scheduler = self._command(
            "dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--no-show"
        )
        worker = ["--nthreads", "1", "--resources", "GPU=1", "--no-dashboard", "--no-nanny", "--death-timeout", "60"]
        self.workers = [
            self._command("dask_worker", self.address, "--local-directory", str(folder), *worker) for _ in range(2)
        ]

    def _command(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        with (self._folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen([sys.executable, "-m", f"distributed.cli.{name}", *words], stdout=log, stderr=log)

    def wait(self) -> None:
        """Wait until both workers are there."""
        from distributed import Client

        with Client(self.address, timeout=30, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=30)

    def stop(self) -> None:
        """Kill all of it."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Started before the weights are made, which takes as long."""
    before = dict(copyreg.dispatch_table)  # Importing Dask changes for the whole process how errors are pickled.
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    yield found
    found.stop()
    copyreg.dispatch_table.clear()
    copyreg.dispatch_table.update(before)


@contextmanager
def service(folder: Path, weights: Path, device: str) -> Iterator[Served]:
    """A service on tiny weights."""
    row = (
        f'engine = "diffusers"\nfamily = "ltx"\nfolder = "{weights / LTX}"\nupsampler = "{weights / UPSAMPLER}"\n'
        f'device = "{device}"\ndtype = "float32"\ndownscale = 0.25\n'
    )
    folder.mkdir(exist_ok=True)
    (folder / "models.toml").write_text(f'[models."{TEXT}"]\n{row}[models."{MOVE}"]\n{row}')
    table = make_lane_table(read_models_file(folder / "models.toml"))
    with running(folder / "data", workers=1, lanes=table) as served:
        yield served


@pytest.fixture(scope="module")
def served(cluster: Cluster, weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One service for all tests here: loading takes most of their time."""
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("HF_TOKEN", TOKEN)
        patch.setattr(dask_cluster, "CONNECT_SECONDS", 3.0)
        cluster.wait()
        yield stack.enter_context(service(tmp_path_factory.mktemp("there"), weights, f"dask:{cluster.address}/cpu"))


def text(**more: Any) -> dict[str, Any]:
    return {
        "prompt": "a paper boat", "num_frames": 9, "seed": 7, "resolution": "480p", "aspect_ratio": "1:1", "expand_prompt": False,
        "enable_safety_checker": False, "first_pass_num_inference_steps": 2, "second_pass_num_inference_steps": 2,
        "second_pass_skip_initial_steps": 1, **more,
    }  # fmt: skip


def pid_of(served: Served, request_id: str) -> int:
    (lane,) = [lane for name, lane in served.server.service.lanes.items() if name.startswith("weights:")]
    assert isinstance(lane, WorkerLane)
    return lane.pids[request_id]


def content(served: Served, request_id: str) -> bytes:
    return served.http.get(served.result(TEXT, request_id).json()["video"]["url"]).content


def long_runs(served: Served) -> list[str]:
    """Two runs that both have begun to draw."""
    ids = [served.submitted(TEXT, text(num_frames=121, seed=seed)) for seed in (1, 2)]
    for one in ids:
        served.until(DRAWING, TEXT, one)
    return ids


def cancel(served: Served, request_id: str, model: str = TEXT) -> dict[str, Any]:
    served.cancel(model, request_id)
    return served.finished(model, request_id)


def test_two_runs_at_once_and_a_cancellation(served: Served, cluster: Cluster) -> None:
    """Each has a process of its own and reports progress; cancelled, it is refunded and its process goes on."""
    ids = long_runs(served)
    pids = {pid_of(served, one) for one in ids}

    ends = [cancel(served, one) for one in ids]

    assert pids == {process.pid for process in cluster.workers}
    assert [end["error_type"] for end in ends] == ["cancelled"] * 2
    assert [served.money(one) for one in ids] == [REFUNDED] * 2
    assert [process.poll() for process in cluster.workers] == [None] * 2


def test_pictures_travel_as_bytes_and_neither_key_nor_token(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address of a file of the service has a token in it, and is replaced on the way."""
    from distributed import Client

    sent: list[dict[str, Any]] = []
    submit = Client.submit

    def record(self: Any, function: Any, task: dict[str, Any], *rest: Any, **options: Any) -> Any:
        sent.append(task)
        return submit(self, function, task, *rest, **options)

    monkeypatch.setattr(Client, "submit", record)
    file = {"file": ("boat.png", png(64, 32), "image/png")}
    address = served.http.post("/files", files=file, headers={"x-api-key": KEY}).json()["url"]
    request_id = served.submitted(MOVE, {"prompt": "closer", "image_url": address, "duration": "5"})

    served.until(DRAWING, MOVE, request_id)
    end = cancel(served, request_id, MOVE)

    (task,) = sent
    assert end["error_type"] == "cancelled"
    assert parse_data_address(task["order"]["input"]["image_url"]) == png(64, 32)
    assert [secret in repr(task) for secret in (TOKEN, KEY, address.split("/")[-2])] == [False] * 3


def test_a_lost_worker_costs_no_run(served: Served) -> None:
    """Killed in the middle, its run is made by the other one, from the beginning, and paid for once."""
    other, short = served.submitted(TEXT, text(num_frames=121)), served.submitted(TEXT, text(num_frames=33))
    for one in (other, short):
        served.until(DRAWING, TEXT, one)
    killed, left = pid_of(served, short), pid_of(served, other)
    os.kill(killed, signal.SIGKILL)
    cancel(served, other)
    served.until("The Dask worker was lost; the run starts again", TEXT, short)
    pid = pid_of(served, short)
    final = served.finished(TEXT, short)

    assert (pid, killed != left) == (left, True)
    assert "error" not in final
    assert served.money(short) == PAID
