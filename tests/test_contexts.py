"""Everywhere that Python runs: each place makes a clip, says nothing on stderr, and leaves no process behind.

A plain script, several threads, loops of their own, a bare fork and a call inside a running loop are in `test_client.py`
and `test_submission.py`.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.faults.nursery import DOT
from tests.support import KEY, Served

BEGIN = f"""
import asyncio, os, sys, threading
import reelbook as rb

def clip(number):
    return rb.ImagesToVideo(images=[rb.Frame(url={DOT!r}, frames=1)], fps=1 + number)

def there(run):
    return run.status == "completed" and run.video.path.exists()
"""

AWAITED = """
async def made(number):
    return there(await rb.start(clip(number)))

async def several():
    return await asyncio.gather(*map(made, range(3)))
"""


@pytest.fixture
def environment(shared: Served, tmp_path: Path) -> dict[str, str]:
    """A person's own, with a service of theirs."""
    return {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "REELBOOK_LIBRARY": str(tmp_path / "library"),
        "REELBOOK_URL": shared.base_url, "REELBOOK_API_KEY": KEY,
    }  # fmt: skip


def ended(script: str | Path, environment: dict[str, str], *, status: int = 0, errors: str = "") -> str:
    """What a script printed; it has to end by itself, with this status and this on stderr, and nobody of it may stay."""
    command = [sys.executable, str(script) if isinstance(script, Path) else "-"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        start_new_session=True,
    )  # fmt: skip
    try:
        out, err = process.communicate("" if isinstance(script, Path) else script, timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert (process.returncode, err) == (status, errors)
    assert left_of(process.pid) == []
    return out


def left_of(session: int, within: float = 5.0) -> list[str]:
    """Who of a session is still there after a while; a worker may need a moment to see that its pipe is closed."""
    deadline = time.monotonic() + within
    while (left := _of_session(session)) and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    return left


def _of_session(session: int) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # It ends while we look.
            state, _, _, its_session, *_ = (process / "stat").read_text().rpartition(")")[2].split()
            if int(its_session) == session and state != "Z":
                found.append((process / "cmdline").read_text().replace("\0", " "))
    return found


def test_in_pools_of_processes_spawned_and_forked(environment: dict[str, str], tmp_path: Path) -> None:
    """A spawned process has a client of its own in the one library; a forked one is told how to get one."""
    script = tmp_path / "pools.py"
    script.write_text(
        BEGIN + "import multiprocessing\n"
        "def made(number):\n"
        "    try:\n"
        "        return there(rb.run(clip(number)))\n"
        "    except rb.ReelbookError as error:\n"
        "        return 'spawn' in str(error)\n"
        "if __name__ == '__main__':\n"
        "    print(made(0))\n"
        "    for kind in ('spawn', 'fork'):\n"
        "        with multiprocessing.get_context(kind).Pool(2) as pool:\n"
        "            found = pool.map(made, [1, 2, 3, 4], chunksize=1)\n"
        "            pool.close()\n"
        "            pool.join()\n"
        "        print(kind, found)\n",
        encoding="utf-8",
    )

    out = ended(script, environment)

    assert out == f"True\nspawn {[True] * 4}\nfork {[True] * 4}\n"


def test_a_script_that_ends_in_a_hurry_is_not_held_up(environment: dict[str, str], shared: Served) -> None:
    """With a run under way and an error of its own, only the error is told, and the run is chosen by the service."""
    script = (
        BEGIN + "print(rb.start(rb.TextToVideo(prompt='a long one', num_frames=1441)).request_id)\nsys.exit('enough')\n"
    )

    began = time.monotonic()
    out = ended(script, environment, status=1, errors="enough\n")
    took = time.monotonic() - began
    path = f"/svc/text-to-video-13b-distilled/requests/{out.strip()}/cancel"
    cancelled = shared.http.put(path, headers={"x-api-key": KEY})

    assert cancelled.json()["success"]
    assert took < 30


def test_on_the_embedded_service_a_script_may_use_asyncio_and_end_with_a_run_under_way(
    environment: dict[str, str],
) -> None:
    """The service ends with the script, its workers too."""
    alone = {name: value for name, value in environment.items() if name not in ("REELBOOK_URL", "REELBOOK_API_KEY")}
    script = BEGIN + AWAITED + "print(asyncio.run(several()))\nrb.start(rb.TextToVideo(prompt='x', num_frames=1441))\n"

    out = ended(script, alone)

    assert out == "[True, True, True]\n"
