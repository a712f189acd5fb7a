"""Services and clients of the tests of sweeps: the shared one with an account of the test's own, and a hosted one by script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import reelbook as rb
from tests.support import Served
from tests.transport.variants import Hosted


@pytest.fixture
def served(shared: Served) -> Served:
    return shared.with_own_account()


@pytest.fixture
def client(served: Served, tmp_path: Path) -> Iterator[rb.Client]:
    with rb.connect(served.base_url, api_key=served.key, library=tmp_path / "library") as client:
        yield client


@pytest.fixture
def hosted() -> Iterator[Hosted]:
    with Hosted() as service:
        yield service


@pytest.fixture
def at_hosted(hosted: Hosted, tmp_path: Path) -> Iterator[rb.Client]:
    with rb.connect(hosted.base_url, api_key="a-key-of-this-test", library=tmp_path / "hosted") as client:
        yield client
