"""Who is alive and who is dead is never mistaken."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reelbook.storage.ledger.claims import Process

ENTERS = """
import sys
from pathlib import Path
from reelbook.storage.ledger.claims import Process
process = Process(Path(sys.argv[1]))
print(process.owner, flush=True)
sys.stdin.read()
"""


def test_a_living_process_is_alive_and_a_killed_one_is_dead(tmp_path: Path) -> None:
    """SIGKILL leaves no time to say goodbye; the lock goes all the same. Many who look at once see the same."""
    lookers = [Process(tmp_path) for _ in range(8)]
    alive, left = Process(tmp_path), Process(tmp_path)
    command = [sys.executable, "-W", "ignore", "-c", ENTERS, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        killed = process.stdout.readline().strip()
        was_dead = lookers[0].is_dead(killed)
        process.send_signal(signal.SIGKILL)
    left.leave()
    start = threading.Barrier(len(lookers))

    def look(looker: Process) -> list[tuple[bool, ...]]:
        start.wait()
        return [tuple(map(looker.is_dead, (killed, left.owner, alive.owner))) for _ in range(50)]

    with ThreadPoolExecutor(len(lookers)) as pool:
        seen = {answers for listed in pool.map(look, lookers) for answers in listed}

    assert not was_dead
    assert seen == {(True, True, False)}
    assert left.owner not in [path.name for path in (tmp_path / "owners").iterdir()]
    for each in (*lookers, alive):
        each.leave()
