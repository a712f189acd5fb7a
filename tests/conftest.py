"""Fixtures that all tests share: real services on free ports."""

from __future__ import annotations

import gc
import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.internal.charmap import charmap_file
from xdist.scheduler.loadfile import LoadFileScheduling

from reelbook.current import session
from reelbook.display import live
from reelbook.transport import http
from reelbook_service import embedded
from reelbook_service.accounts import NewAccount
from reelbook_service.service_settings import Settings
from tests.support import Serve, Served, as_data_uri, png, running

# How long one example takes is a fact about the machine; claims about time have tests of their own.
settings.register_profile("reelbook", deadline=None, max_examples=40)
settings.register_profile("deep", deadline=None)
settings.load_profile("reelbook")


# jsonschema, which nbformat brings along, would read a grammar of addresses for two seconds, and nothing here asks for one.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]


# A shell that puts a command into the background has it ignore interrupts, and then no test could interrupt anything.
signal.signal(signal.SIGINT, signal.default_int_handler)


TOGETHER = [
    # One JupyterLab with its page takes ten seconds to start, and one notebook with everything half a minute to run.
    {f"tests/browser/test_{name}.py" for name in (
        "access", "survival", "form", "form_guest", "form_models", "form_sweep", "sweep_panel", "studio",
        "first_video", "originals", "hostile", "grid",
    )},
]  # fmt: skip
"""Modules that one worker runs, because they share what takes long to make."""


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # xdist ships no types.
    """A worker gets whole modules, and some of them together."""

    def _split_scope(self, nodeid: str) -> str:
        module = str(super()._split_scope(nodeid))
        return next((min(group) for group in TOGETHER if module in group), module)

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        # Asked after each test: counting modules that are done would take a minute of thousands of tests.
        for module in [module for module, tests in workload.items() if all(tests.values())]:
            del workload[module]
        return int(super()._pending_of(workload))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    """In place of `--dist loadfile`."""
    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--deep", action="store_true", help="run the large size of every measurement")
    parser.addoption("--site", help="run the tests of the documentation built in this folder")
    parser.addoption("--gpu", action="store_true", help="run the tests that need a CUDA device")


def pytest_configure(config: pytest.Config) -> None:
    """Before the first module asks how many examples there are to be."""
    if config.getoption("--deep"):
        settings.load_profile("deep")
    if not hasattr(config, "workerinput"):  # Once, before there are workers.
        subprocess.run([sys.executable, "src/frontend/hatch_build.py"], cwd=config.rootpath, check=True)


def _write_utf8_table() -> None:
    """Tell Hypothesis which characters UTF-8 has: in a new checkout it would try out each of a million, for ten seconds."""
    table = charmap_file("codec-v2-utf-8")
    if not table.exists():
        table.parent.mkdir(parents=True, exist_ok=True)
        part = table.with_name(f"{table.name}.{os.getpid()}")
        part.write_bytes(gzip.compress(json.dumps([[[0, 0xD7FF], [0xE000, 0x10FFFF]], []]).encode()))
        part.replace(table)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what is loaded for all tests out of every later search for garbage: half a million objects, all of them in use."""
    gc.disable()
    _write_utf8_table()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


SLOW_FIRST = ("browser", "notebooks", "faults", "kernels", "sweeps", "service")
"""Folders of modules that take minutes: begun last, one of them would keep one worker busy and the other idle."""


def _begins(item: pytest.Item) -> int:
    folder = item.path.relative_to(item.config.rootpath).parts[1]
    return SLOW_FIRST.index(folder) if folder in SLOW_FIRST else len(SLOW_FIRST)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put slow folders first; leave the large sizes to `make deep`, a CUDA device to `--gpu` or `-m gpu`, the site to `--site`.

    Those are deselected, not skipped, so nothing looks tested that is not.
    """
    items.sort(key=_begins)
    omitted = {"deep": not config.getoption("--deep")}
    omitted["gpu"] = not config.getoption("--gpu") and "gpu" not in (config.getoption("markexpr") or "")
    omitted["site"] = not config.getoption("--site")
    left = [item for item in items if any(omitted[name] and item.get_closest_marker(name) for name in omitted)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="module", autouse=True)
def _no_client_is_left() -> Iterator[None]:
    """A client that a module leaves open would be the latest one of whatever comes next."""
    yield
    left = session.current
    if left is not None:
        left.close()
        pytest.fail(f"This module has left a client of {left.base_url} open.", pytrace=False)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts services: real ones, on free ports, each with its folder; they stop with the test."""
    with ExitStack() as stack:

        def start(*, accounts: list[NewAccount] | None = None, data: Path | None = None, **settings: Any) -> Served:
            folder = data or tmp_path / f"service-{len(list(tmp_path.iterdir()))}"
            return stack.enter_context(running(folder, *(accounts or ()), **settings))

        yield start


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One service for all tests that leave no trace in each other's way."""
    with running(tmp_path_factory.mktemp("shared-service")) as served:
        yield served


@pytest.fixture(scope="session")
def shared_spec_only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The same of one that offers only what the specification lists."""
    with running(tmp_path_factory.mktemp("spec-only-service"), spec_only=True) as served:
        yield served


@pytest.fixture(scope="module")
def one_worker() -> Iterator[None]:
    """Embedded services of a module begin one process each for their runs: another one costs a second, and saves less."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedded, "Settings", partial(Settings, workers=1))
        yield


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that a test opens repeat failed calls as often as ever, and hardly pause in between."""
    monkeypatch.setattr(http, "RetryPolicy", partial(http.RetryPolicy, backoff_seconds=0.005))


@pytest.fixture
def quick_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs that keep up are told each hundredth of a second, where how often they are told is not the question."""
    monkeypatch.setattr(live, "UPDATE_SECONDS", 0.01)


@pytest.fixture(scope="session")
def dot() -> str:
    """A 16×16 picture as a data URI: the source of the quickest job there is."""
    return as_data_uri(png(16, 16))
