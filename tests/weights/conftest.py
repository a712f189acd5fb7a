"""Fixtures of the tests of real weights, which run in an environment of their own: `make weights-test`."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from reelbook_service.weights.pipelines.engine import WeightsEngine
    from tests.weights.ltx_runs import Finished

# Before torch and its friends are imported: nothing here asks a network for anything.
os.environ.update(
    HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1", TOKENIZERS_PARALLELISM="false", DIFFUSERS_VERBOSITY="error",
    TRANSFORMERS_VERBOSITY="error", HF_HUB_DISABLE_IMPLICIT_TOKEN="1",
    OMP_NUM_THREADS="1",  # Two test processes with two threads each would wait for each other.
)  # fmt: skip

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["*.py"]
"""`make test` has no torch, which these modules import; `make weights-test` fails where it collects nothing."""


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tiny weights of every kind."""
    from tests.weights.tiny import make_weights

    folder = tmp_path_factory.mktemp("weights")
    make_weights(folder)
    return folder


@pytest.fixture(scope="module")
def engine(weights: Path) -> WeightsEngine:
    """One engine with LTX for both models."""
    from reelbook_service.weights.pipelines.engine import WeightsEngine
    from tests.weights.ltx_runs import IMAGE, TEXT, ltx_row

    return WeightsEngine({TEXT: ltx_row(weights), IMAGE: ltx_row(weights, IMAGE)}, "cpu")


@pytest.fixture(scope="module")
def usual(engine: WeightsEngine) -> Finished:
    """The clip that others are compared with; the first of its engine."""
    from tests.weights.ltx_runs import run, small

    return run(engine, small())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the libraries warn each other of what will change in them; their versions are pinned."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for library in ("diffusers", "peft", "torch", "transformers"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore:::{library}"))
