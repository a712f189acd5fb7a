"""Places beside JupyterLab where notebooks run: Notebook 7, Voilà and marimo, as real servers on free ports."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.browser.lab import PAUSE_SECONDS, PRIVATE, START_SECONDS, Lab, free_port
from tests.kernels.environments import environment

PREFIX = "/user/ana"
"""As JupyterHub gives each person one."""


class HubLab(Lab):
    """A JupyterLab below a prefix."""

    prefix = PREFIX


class Notebook7(HubLab):
    """A Notebook 7 below a prefix."""

    doc = "notebooks"
    app = ("notebook", "JupyterNotebookApp")

    def _environment(self) -> dict[str, str]:
        application = self._home / "application"
        if not application.exists():
            # Jupyter reads the schemas of settings from one folder only: those of JupyterLab and those of Notebook.
            added = environment("notebook")
            for folder in (Path(sys.prefix), *([added] if added else [])):
                shutil.copytree(
                    folder / "share" / "jupyter" / "lab" / "schemas", application / "schemas", dirs_exist_ok=True
                )
            for name in ("static", "themes"):
                (application / name).symlink_to(Path(sys.prefix) / "share" / "jupyter" / "lab" / name)
        return {**super()._environment(), **with_packages("notebook"), "JUPYTERLAB_DIR": str(application)}


def with_packages(name: str) -> dict[str, str]:
    """The variables with which this Python finds the packages of a list, and Jupyter what they bring along."""
    folder = environment(name)
    if folder is None:
        return {}
    share, settings = folder / "share" / "jupyter", folder / "etc" / "jupyter"
    return {"PYTHONPATH": str(folder), "JUPYTER_PATH": str(share), "JUPYTER_CONFIG_PATH": str(settings)}


@contextmanager
def served(name: str, home: Path, *command: str) -> Iterator[str]:
    """The address of a server of one notebook below the prefix; `command` is what Python runs, without its port."""
    port, log = free_port(), home / "server.log"
    kept = {key: value for key, value in os.environ.items() if key not in PRIVATE}
    own = {"HOME": str(home), "IPYTHONDIR": str(home / "ipython"), "JUPYTER_RUNTIME_DIR": str(home / "runtime")}
    with log.open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, *command, f"--port={port}"],
            env={**kept, **own, **with_packages(name), "JUPYTER_PREFER_ENV_PATH": "1"},
            cwd=home, stdout=said, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        address = f"http://127.0.0.1:{port}{PREFIX}/"
        deadline = time.monotonic() + START_SECONDS
        while not _answers(f"http://127.0.0.1:{port}{PREFIX}/static/"):
            is_late = process.poll() is not None or time.monotonic() > deadline
            assert not is_late, f"{name}: {log.read_text()[-3000:]}"
            time.sleep(PAUSE_SECONDS)
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        # Kernels that it has left behind.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _answers(address: str) -> bool:
    """Whether anything answers, be it a refusal."""
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
