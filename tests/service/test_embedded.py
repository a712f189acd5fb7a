"""The embedded service: one for each library folder, whoever asks, as long as anybody lives."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import httpx

from reelbook_service.embedded import Embedded, ServiceAccess
from reelbook_service.service_settings import Settings
from tests.support import STITCH, TEXT, read_charges

KERNEL = """
import json, sys, time
import httpx
from pathlib import Path
from reelbook_service.embedded import Embedded
from reelbook_service.service_settings import Settings

folder, jobs = Path(sys.argv[1]), json.loads(sys.argv[2])
address = Embedded(folder, Settings(data=folder, workers=1)).address()
headers = {"x-api-key": address.key}
ids = [httpx.post(address.base_url + "/models/run", json=job, headers=headers).json()["requestId"] for job in jobs]
print(json.dumps({"base_url": address.base_url, "id": address.id, "ids": ids}), flush=True)
sys.stdin.read()
"""


def kernel(folder: Path, jobs: list[object]) -> tuple[subprocess.Popen[str], dict[str, object]]:
    """Another kernel: a process that connects to the folder's service, submits, and stays."""
    command = [sys.executable, "-c", KERNEL, str(folder), json.dumps(jobs)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


def status(address: ServiceAccess, endpoint_id: str, request_id: str) -> dict[str, object]:
    """The final status of a request, followed to its end."""
    url = f"{address.base_url}/{endpoint_id}/requests/{request_id}/status?logs=1"
    with httpx.Client(headers={"x-api-key": address.key}, trust_env=False) as http:
        while (answer := http.get(url).json())["status"] != "COMPLETED":
            time.sleep(0.02)
    return dict(answer)


def test_two_kernels_share_one_service_and_the_second_finishes_what_the_first_began(tmp_path: Path, dot: str) -> None:
    """The first is killed with jobs running; the second's next call starts the service again; each job is charged once."""
    jobs: list[object] = [
        {
            "endpointId": TEXT,
            "input": {"prompt": "a calm sea", "num_frames": 17, "resolution": "480p", "aspect_ratio": "1:1"},
        }
    ]
    jobs += [{"endpointId": STITCH, "input": {"images": [dot], "fps": fps}} for fps in (1, 2)]
    first, told = kernel(tmp_path, jobs)
    second = Embedded(tmp_path, Settings(data=tmp_path, workers=1))
    with first:
        joined = second.address()
        first.send_signal(signal.SIGKILL)

    taken_over = second.address()
    ids = told["ids"]
    assert isinstance(ids, list)
    finals = [status(taken_over, TEXT, ids[0]), *(status(taken_over, STITCH, request_id) for request_id in ids[1:])]
    second.close()

    assert (joined.base_url, joined.id) == (told["base_url"], told["id"])
    assert (taken_over.id, taken_over.key) == (joined.id, joined.key)
    assert all("error" not in final for final in finals)
    kinds = Counter((c["request_id"], c["kind"]) for c in read_charges(tmp_path))
    assert kinds == Counter((request_id, kind) for request_id in ids for kind in ("reserve", "settle"))


def test_an_address_that_another_program_has_taken_is_not_believed(tmp_path: Path) -> None:
    """What a crash left behind is checked by the service's id; a stranger at that port is passed over."""
    stranger = Embedded(tmp_path / "stranger")
    theirs = stranger.address()
    (tmp_path / "address.json").write_text(json.dumps({"base_url": theirs.base_url, "key": "k", "id": "someone else"}))

    ours = Embedded(tmp_path)
    address = ours.address()
    ours.close()
    stranger.close()

    assert address.base_url != theirs.base_url


SCRIPT = """
import sys
import reelbook as rb

rb.connect(library=sys.argv[1])
boat = rb.TextToVideo(prompt="a paper boat", num_frames=9, resolution="480p", aspect_ratio="1:1")
rb.run(boat)
rb.start(boat, fresh=True)
"""


def test_a_script_ends_without_a_traceback(tmp_path: Path) -> None:
    """Nobody closes the client, and a run is under way: the service ends with the process, silently, on every Python."""
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]

    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert (ended.returncode, ended.stderr) == (0, "")
