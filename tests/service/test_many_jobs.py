"""Jobs of all four models at once: all finish, within a memory that a laptop has to spare."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.service.test_addresses import MOVE, RESIZE, STITCH, TEXT
from tests.support import KEY, as_data_uri, png

MAX_MIB = 1500


def resident_mib(pid: int) -> float:
    """Memory in use by a process and all its children, which are the workers."""
    children = Path(f"/proc/{pid}/task").glob("*/children")
    try:
        pids = [pid, *(int(child) for task in children for child in task.read_text().split())]
        return sum(int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in pids) * 4096 / 2**20
    except FileNotFoundError:  # One of them ended between two looks.
        return 0.0


@pytest.mark.deep  # In `make test` each model runs in test_addresses, and test_hostile watches the size of workers.
@pytest.mark.parametrize("each", [1, 10])
def test_many_jobs_at_once_finish_within_the_memory_of_a_laptop(tmp_path: Path, each: int) -> None:
    """All of each model are accepted, all end well, each is charged once, and the whole service stays below 1.5 GB."""
    command = [sys.executable, "-m", "reelbook", "serve", "--port", "0", "--data", str(tmp_path / "data"), "--key", KEY]
    process = subprocess.Popen([*command, "--workers", "2"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = process.stdout.readline().rpartition(" ")[2].strip()
    picture = as_data_uri(png(48, 32))
    inputs = {
        TEXT: {"prompt": "a red boat", "num_frames": 9, "resolution": "480p", "aspect_ratio": "1:1"},
        MOVE: {"prompt": "closer", "image_url": picture},
        RESIZE: {"image_url": picture, "target_sizes": ["300x600", "728x90"]},
        STITCH: {"images": [{"url": picture, "frames": 48}] * 4},
    }
    seen, over = [0.0], threading.Event()

    def look() -> None:
        while not over.wait(0.1):
            seen.append(resident_mib(process.pid))

    watcher = threading.Thread(target=look)
    watcher.start()
    with process, httpx.Client(base_url=address, headers={"x-api-key": KEY}, timeout=60, trust_env=False) as http:
        jobs = [(model, asked) for model, asked in inputs.items() for _ in range(each)]
        answers = [http.post("/models/run", json={"endpointId": model, "input": asked}).json() for model, asked in jobs]
        finals = []
        for (model, _), answer in zip(jobs, answers, strict=True):
            path = f"/{model}/requests/{answer['requestId']}"
            while (status := http.get(f"{path}/status").json())["status"] != "COMPLETED":
                time.sleep(0.1)
            finals.append((status.get("error"), http.get(path).status_code))
        spent = http.get("/account").json()["credits_spent"]
        over.set()
        watcher.join()
        process.terminate()

    assert finals == [(None, 200)] * 4 * each
    assert spent == each * (53 + 53 + 11 + 53)
    if sys.platform == "linux":  # Elsewhere nobody tells the memory of another process.
        assert 50 < max(seen) <= MAX_MIB
