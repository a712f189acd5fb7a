"""Who is alive and who is dead is never mistaken."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from reelbook.storage.ledger.owners import Owner

ENTERS = """
import sys
from pathlib import Path
from reelbook.storage.ledger.owners import Owner
owner = Owner(Path(sys.argv[1]))
print(owner.name, flush=True)
sys.stdin.read()
"""

FORKS = """
import os, sys
from pathlib import Path
from reelbook.storage.ledger.writer import Ledger

ledger = Ledger(Path(sys.argv[1]))
if os.fork() == 0:
    print(ledger._owner.name, os.getpid(), flush=True)
    sys.stdin.read()
    os._exit(0)
os.wait()
"""


@contextmanager
def running(script: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Another Python, and the words that it says first; it lives until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield process, process.stdout.readline().split()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stdin.close()


def test_a_living_process_is_alive_and_a_killed_one_is_dead(tmp_path: Path) -> None:
    """SIGKILL leaves no time to say goodbye; the lock goes all the same."""
    here = Owner(tmp_path)
    with running(ENTERS, tmp_path) as (process, (name,)):
        alive = not here.is_dead(name)

        process.send_signal(signal.SIGKILL)
        process.wait()

        assert alive
        assert here.is_dead(name)
        assert here.is_alone()


def test_who_leaves_in_order_is_gone_at_once(tmp_path: Path) -> None:
    """Nothing of it stays, and what it left is anybody's."""
    leaver, here = Owner(tmp_path), Owner(tmp_path)

    leaver.release()

    assert here.is_dead(leaver.name)
    assert [path.name for path in tmp_path.iterdir()] == [here.name]


def test_many_who_look_at_once_see_the_same(tmp_path: Path) -> None:
    """To look is to try the lock, and who looks must not be taken for the one who is looked for."""
    dead, alive = Owner(tmp_path), Owner(tmp_path)
    dead.drop()
    lookers = [Owner(tmp_path) for _ in range(8)]
    start = threading.Barrier(len(lookers))

    def look(looker: Owner) -> list[tuple[bool, bool]]:
        start.wait()
        return [(looker.is_dead(dead.name), looker.is_dead(alive.name)) for _ in range(50)]

    with ThreadPoolExecutor(len(lookers)) as pool:
        seen = {pair for pairs in pool.map(look, lookers) for pair in pairs}

    assert seen == {(True, False)}


def test_a_forked_child_does_not_keep_its_parent_alive(tmp_path: Path) -> None:
    """It has a copy of the handle, and lets go of it without being asked."""
    with running(FORKS, tmp_path) as (process, (name, child)):
        here = Owner(tmp_path / "owners")

        process.send_signal(signal.SIGKILL)
        process.wait()

        assert here.is_dead(name)
        os.kill(int(child), signal.SIGKILL)
